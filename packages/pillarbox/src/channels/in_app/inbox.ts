import { errorText } from '../../model/errors.ts'
import type { Outcome } from '../../model/outcome.ts'
import { plainTextOf } from '../../model/plain-text.ts'
import { isUserId } from '../../model/recipient.ts'
import type { Provider, ProviderContent, SendRequest } from '../channel.ts'
import { outcomeOf, tooLong } from '../vendor-answers.ts'

/** What the provider needs of the store and the seal, and no more. */
export interface InboxPort {
  /** Keeps a message for its user; repeating it changes nothing. */
  put(message: { id: string; tenantId: string; userId: string; sealed: string }): Promise<void>
  /** The words as they are kept: nobody reads them in the database. */
  seal(words: string, place: { tenantId: string; table: 'inbox_messages'; rowId: string }): string
}

/** The words of a message as they stand, sealed, in its row. */
export interface InboxWords {
  subject: string | null
  /** Plain text, whatever it was made from. */
  text: string
  /** The body where it is HTML. */
  html: string | null
  data: Record<string, unknown>
}

/** A page of a list has up to 200 messages. */
const LONGEST_WORDS = 32_768

/**
 * Our own inbox: a message is kept for its user, who gets it over HTTP. The row is the notification's, so a call may be made
 * again as often as one likes.
 */
export function inboxProvider({ inbox }: { inbox: InboxPort }): Provider {
  async function send({ account, notificationId, to, content }: SendRequest): Promise<Outcome> {
    const { userId = '' } = to
    if (!isUserId(userId)) {
      const error = 'there is no user id of 1 to 200 characters without control characters'
      return outcomeOf({ does: 'fail', reason: 'invalid_recipient' }, 'no_user', error)
    }
    const made = wordsOf(content)
    if ('problem' in made)
      return outcomeOf({ does: 'fail', reason: 'content_rejected' }, 'unreadable_html', made.problem)
    const words = JSON.stringify(made)
    if (Buffer.byteLength(words) > LONGEST_WORDS) return tooLong(`${LONGEST_WORDS} bytes`)
    const { tenantId } = account
    try {
      const sealed = inbox.seal(words, { tenantId, table: 'inbox_messages', rowId: notificationId })
      await inbox.put({ id: notificationId, tenantId, userId, sealed })
    } catch (error) {
      // It may have been committed all the same; the next call finds out by changing nothing.
      return outcomeOf({ does: 'unknown' }, 'not_kept', errorText(error))
    }
    return { kind: 'accepted', providerMessageId: notificationId }
  }

  return {
    name: 'inbox',
    channels: ['in_app'],
    words:
      'Messages for the users of your own application, kept here: lists, unread counts and a live stream over HTTP.',
    capability: () => 'key',
    fields: { settings: {}, secrets: {} },
    send,
    verify: async () => ({ isGood: true, detail: 'The inbox needs no credentials.' }),
  }
}

function wordsOf({ subject, body, data, isHtml = false, text }: ProviderContent): InboxWords | { problem: string } {
  const plain = isHtml && text === undefined ? plainTextOf(body, 'in_app') : { text: text ?? body }
  return 'problem' in plain ? plain : { subject, text: plain.text, html: isHtml ? body : null, data }
}
