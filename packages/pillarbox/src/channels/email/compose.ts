import MailComposer from 'nodemailer/lib/mail-composer'
import type { Mail } from './mail.ts'

/** A mail as the bytes of one message. It can name no file and no URL to be read. */
export async function compose(mail: Mail): Promise<Buffer> {
  const composer = new MailComposer({
    from: mail.from,
    ...(mail.to
      ? { to: mail.to.name === null ? mail.to.address : { name: mail.to.name, address: mail.to.address } }
      : {}),
    ...(mail.replyTo === null ? {} : { replyTo: mail.replyTo }),
    subject: mail.subject,
    text: mail.text,
    ...(mail.html === null ? {} : { html: mail.html }),
    headers: { ...(mail.to ? {} : { To: 'undisclosed-recipients:;' }), ...mail.headers },
    messageId: mail.messageId,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return await new Promise((resolve, reject) => {
    composer.compile().build((error, raw) => (error ? reject(error) : resolve(raw)))
  })
}
