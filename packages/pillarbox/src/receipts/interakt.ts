import { at, textAt } from '../channels/vendor-answers.ts'
import type { Account } from '../model/account.ts'
import { metaFailure } from './meta.ts'
import { accountsWithToken, isSignedWith } from './proof.ts'
import {
  believed,
  idAt,
  instantIn,
  jsonIn,
  type Meanings,
  meaningOf,
  phoneAt,
  type Reading,
  receiptSource,
  referenceAt,
} from './reading.ts'
import { type Callback, goodFor, type KeptCallback, type ReceiptSource, type Verified } from './receipt-source.ts'

/** By the type of the callback. A failure is judged by Meta's error code. */
export const INTERAKT_TYPES: Meanings = {
  message_api_sent: { means: 'sent', words: 'WhatsApp has it.' },
  message_api_delivered: { means: 'delivered', words: 'It is on the recipient’s device.' },
  message_api_read: { means: 'read', words: 'The recipient has seen it.' },
  message_api_clicked: { means: 'read', words: 'The recipient pressed one of its buttons.' },
}

/**
 * WhatsApp by Interakt. An account with a `webhookSecret` is believed by signature only; one without, by the token in the
 * webhook's address. Interakt gives a webhook up after five answers that are not 200, and repeats nothing.
 */
export function interaktReceipts(): ReceiptSource {
  return receiptSource({ name: 'interakt', providers: ['interakt'], vendor: 'Interakt', verify, read })
}

function verify(callback: Callback, accounts: readonly Account[]): Verified {
  const signature = callback.headers['interakt-signature'] ?? callback.headers['x-interakt-signature']
  const signing = accounts.filter(({ secrets }) => secrets['webhookSecret'])
  const proven = [
    ...signing.filter(({ secrets }) => isSignedWith(secrets['webhookSecret'], callback.rawBody, signature ?? '')),
    ...accountsWithToken(
      callback,
      accounts.filter((account) => !signing.includes(account)),
    ),
  ]
  if (signature) return goodFor(proven, 'signature_wrong')
  return goodFor(proven, signing.length === accounts.length ? 'signature_missing' : 'token_wrong')
}

function read(kept: KeptCallback, reading: Reading): void {
  const json = jsonIn(kept.rawBody)
  const type = textAt(json, 'type')
  if (type === null) reading.miss()
  // Incoming messages, campaigns, templates and the test of the webhook are none of ours.
  if (!type?.startsWith('message_api_')) return
  const message = at(json, 'data', 'message')
  const time = (name: string): number | null => instantIn(textAt(message, name), 'Z')
  const own = type === 'message_api_delivered' ? 'delivered_at_utc' : type === 'message_api_read' ? 'seen_at_utc' : null
  const facts = {
    provider: 'interakt',
    providerMessageId: idAt(message, 'id'),
    notificationId: referenceAt(message, 'meta_data', 'source_data', 'callback_data'),
    at: believed(kept, own === null ? null : time(own), instantIn(textAt(json, 'timestamp'), 'Z')),
    recipient: phoneAt(json, 'data', 'customer', 'channel_phone_number'),
  }
  const judged =
    type === 'message_api_failed'
      ? metaFailure(at(message, 'channel_error_code'))
      : { code: '', meaning: meaningOf(INTERAKT_TYPES, type) }
  reading.add(facts, judged)
}
