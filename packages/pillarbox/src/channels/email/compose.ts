import MailComposer from 'nodemailer/lib/mail-composer'
import { present } from '../vendor-answers.ts'
import type { Mail, Mailbox } from './mail.ts'

/** A mail as the bytes of one message. It can name no file and no URL to be read. */
export async function compose({ from, to, replyTo, subject, text, html, headers, messageId }: Mail): Promise<Buffer> {
  const composer = new MailComposer({
    ...present({ from: written(from), to: to && written(to), replyTo: replyTo && written(replyTo), html }),
    subject,
    text,
    headers: { ...(to ? {} : { To: 'undisclosed-recipients:;' }), ...headers },
    messageId,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return await new Promise((resolve, reject) => {
    composer.compile().build((error, raw) => (error ? reject(error) : resolve(raw)))
  })
}

function written({ name, address }: Mailbox): string | { name: string; address: string } {
  return name === null ? address : { name, address }
}
