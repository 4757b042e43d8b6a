import { unreachable } from '../channels/error-lines.ts'
import { at, textAt } from '../channels/vendor-answers.ts'
import { META_ERRORS, metaRule } from '../channels/whatsapp/meta-errors.ts'
import type { Account } from '../model/account.ts'
import { isSame, isSignedWith } from './proof.ts'
import {
  believed,
  failed,
  idAt,
  type Judged,
  jsonIn,
  listAt,
  type Meanings,
  meaningOf,
  phoneAt,
  type Reading,
  receiptSource,
  referenceAt,
  secondsAt,
} from './reading.ts'
import {
  answer,
  type Callback,
  forged,
  goodFor,
  type KeptCallback,
  type ReceiptSource,
  type Verified,
} from './receipt-source.ts'

/** Meta leaves `delivered` out where `read` follows at once. A failure is judged by its error code. */
export const META_STATUSES: Meanings = {
  sent: { means: 'sent', words: 'WhatsApp has it.' },
  delivered: { means: 'delivered', words: 'It is on the recipient’s device.' },
  read: { means: 'read', words: 'The recipient has seen it.' },
  played: { means: 'read', words: 'The recipient has listened to it.' },
  deleted: { means: 'nothing', words: 'The recipient deleted it.' },
}

const LONGEST_CHALLENGE = 1_024

/** WhatsApp by Meta's Cloud API: signed with the secret of the app, of which one tenant may have several. */
export function metaReceipts(): ReceiptSource {
  return receiptSource({ name: 'meta', providers: ['meta'], vendor: 'Meta', handshake: 'GET', verify, read })
}

function verify(callback: Callback, accounts: readonly Account[]): Verified {
  if (callback.method === 'GET') return challenge(callback, accounts)
  const signature = callback.headers['x-hub-signature-256']
  if (!signature) return forged('signature_missing')
  // Meta writes `sha256=` before it, always.
  const proven = accounts.filter(({ secrets }) =>
    isSignedWith(signature.startsWith('sha256=') ? secrets['appSecret'] : undefined, callback.rawBody, signature),
  )
  return goodFor(proven, 'signature_wrong')
}

/** Meta asks whether the webhook is ours, and wants its own words back. */
function challenge({ query }: Callback, accounts: readonly Account[]): Verified {
  const words = query.get('hub.challenge') ?? ''
  if (query.get('hub.mode') !== 'subscribe' || words === '' || words.length > LONGEST_CHALLENGE)
    return forged('malformed')
  const token = query.get('hub.verify_token')
  const isKnown = accounts.filter(({ secrets }) => isSame(token, secrets['verifyToken'])).length > 0
  return isKnown ? answer('Meta set the webhook up', { body: words }) : forged('token_wrong')
}

function read(kept: KeptCallback, reading: Reading): void {
  const json = jsonIn(kept.rawBody)
  if (textAt(json, 'object') === null) reading.miss()
  for (const entry of listAt(json, 'entry'))
    for (const change of listAt(entry, 'changes'))
      for (const status of listAt(change, 'value', 'statuses')) {
        const facts = {
          provider: 'meta',
          providerMessageId: idAt(status, 'id'),
          notificationId: referenceAt(status, 'biz_opaque_callback_data'),
          at: believed(kept, secondsAt(status, 'timestamp')),
          recipient: phoneAt(status, 'recipient_id'),
        }
        reading.add(facts, judge(status))
      }
}

function judge(status: unknown): Judged {
  const word = textAt(status, 'status')
  if (word !== 'failed') return { code: '', meaning: meaningOf(META_STATUSES, word) }
  return metaFailure(at(status, 'errors', 0, 'code'))
}

/** A failure by Meta's error code, which Interakt passes on as well. */
export function metaFailure(given: unknown): Judged {
  const code = given === null || given === '' ? Number.NaN : Number(given)
  if (!Number.isSafeInteger(code) || code < 0)
    return { code: 'unknown', meaning: failed(unreachable('It gave no reason.')) }
  const words = META_ERRORS[code]?.words ?? 'This code is not in its table.'
  return { code: String(code), meaning: { means: 'failed', rule: metaRule(code), words } }
}
