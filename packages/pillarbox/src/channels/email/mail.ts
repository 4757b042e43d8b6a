import { plainTextOf } from '../../model/plain-text.ts'
import type { SendRequest } from '../channel.ts'
import { type Failure, nobodyToSendTo, outcomeOf, textAt } from '../vendor-answers.ts'

export interface Mailbox {
  address: string
  name: string | null
}

/** A mail as every email provider needs it, whatever form it then takes on the wire. */
export interface Mail {
  from: Mailbox
  /** One recipient, or none where everybody is hidden from the others. */
  to: Mailbox | null
  bcc: readonly string[]
  /** The addresses of `to` and `bcc`; never none. */
  recipients: readonly string[]
  replyTo: Mailbox | null
  subject: string
  text: string
  /** Null: plain text only. */
  html: string | null
  headers: Record<string, string>
  /** Ours; the same for every attempt, so that mail systems can see a repeat. */
  messageId: string
}

/** The mail, or why it cannot be sent. `most`: how many recipients the vendor takes in one message. */
export function mailOf(request: SendRequest, vendor: string, most = Number.POSITIVE_INFINITY): Mail | Failure {
  const { account, content, notificationId } = request
  const { email, name = null, bcc = [] } = request.to
  const recipients = [...(email === undefined ? [] : [email]), ...bcc]
  if (recipients.length === 0) return nobodyToSendTo()
  if (recipients.length > most)
    return outcomeOf(
      { does: 'fail', reason: 'permanent_refusal' },
      'too_many_recipients',
      `${recipients.length} recipients, and ${vendor} takes ${most} a message: send to the list with expand`,
    )
  const from = mailboxOf(textAt(account.settings, 'fromAddress') ?? '')
  const replyTo = textAt(account.settings, 'replyTo')
  const isHtml = content.isHtml === true
  const plain =
    isHtml && content.text === undefined ? plainTextOf(content.body, 'email') : { text: content.text ?? content.body }
  if ('problem' in plain)
    return outcomeOf({ does: 'fail', reason: 'content_rejected' }, 'unreadable_html', plain.problem)
  return {
    from,
    to: email === undefined ? null : { address: email, name },
    bcc,
    recipients,
    replyTo: replyTo === null ? null : mailboxOf(replyTo),
    subject: content.subject ?? '',
    text: plain.text,
    html: isHtml ? content.body : null,
    headers: unsubscribeHeaders(request),
    messageId: `<${notificationId}@${/@([^@\s]+)$/.exec(from.address)?.[1] ?? 'pillarbox.invalid'}>`,
  }
}

/** `Name <address>`, or an address alone. */
function mailboxOf(given: string): Mailbox {
  const [, name = '', address = given] = /^([^<>]*)<([^<>]+)>\s*$/.exec(given) ?? []
  return { address, name: name.trim().replace(/^"(.*)"$/, '$1') || null }
}

/** How to leave a list, where the account or the event says so: an address or a URL, `{notificationId}` filled in. */
function unsubscribeHeaders({ account, content, notificationId }: SendRequest): Record<string, string> {
  const wanted = textAt(content.data, 'listUnsubscribe') ?? textAt(account.settings, 'listUnsubscribe')
  if (wanted === null || !/^(?:https:\/\/|mailto:)[^\s<>]+$/.test(wanted)) return {}
  const target = wanted.replaceAll('{notificationId}', encodeURIComponent(notificationId))
  return {
    'List-Unsubscribe': `<${target}>`,
    ...(target.startsWith('https://') ? { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } : {}),
  }
}
