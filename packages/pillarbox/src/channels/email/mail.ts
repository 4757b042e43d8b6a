import { compile } from 'html-to-text'
import type { SendRequest } from '../channel.ts'
import { textAt } from '../vendor-answers.ts'

/** A mail as every email provider needs it, whatever form it then takes on the wire. */
export interface Mail {
  from: string
  /** One recipient, or none where everybody is hidden from the others. */
  to: { address: string; name: string | null } | null
  bcc: readonly string[]
  replyTo: string | null
  subject: string
  text: string
  /** Null: plain text only. */
  html: string | null
  headers: Record<string, string>
  /** Ours; the same for every attempt, so that mail systems can see a repeat. */
  messageId: string
}

const toText = compile({ wordwrap: 78, selectors: [{ selector: 'img', format: 'skip' }] })

export function mailOf(request: SendRequest): Mail {
  const { account, to, content, notificationId } = request
  const from = textAt(account.settings, 'fromAddress') ?? ''
  const isHtml = content.isHtml === true
  return {
    from,
    to: to.email === undefined ? null : { address: to.email, name: to.name ?? null },
    bcc: to.bcc ?? [],
    replyTo: textAt(account.settings, 'replyTo'),
    subject: content.subject ?? '',
    text: isHtml ? toText(content.body) : content.body,
    html: isHtml ? content.body : null,
    headers: unsubscribeHeaders(request),
    messageId: `<${notificationId}@${/@([^<>@\s]+)>?$/.exec(from)?.[1] ?? 'pillarbox.invalid'}>`,
  }
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
