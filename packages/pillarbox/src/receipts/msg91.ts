import { at, textAt } from '../channels/vendor-answers.ts'
import type { Account } from '../model/account.ts'
import { accountsWithToken } from './proof.ts'
import {
  believed,
  idAt,
  instantIn,
  jsonIn,
  listAt,
  type Meaning,
  phoneAt,
  type Reading,
  referenceAt,
  secondsAt,
  startReading,
} from './reading.ts'
import {
  type Callback,
  forged,
  goodFor,
  type KeptCallback,
  type Parsed,
  type ReceiptSource,
  type Verified,
} from './receipt-source.ts'

/**
 * MSG91's statuses, by number and by the words that v4 and the newer webhooks have in place of it. A number on the
 * do-not-disturb register (9) refuses advertising only, so it is not remembered as dead.
 */
export const MSG91_STATUSES: Readonly<Record<string, Meaning & { also: readonly string[] }>> = {
  1: { means: 'delivered', words: 'It is on the recipient’s phone.', also: ['delivered'] },
  2: {
    means: 'failed',
    rule: { does: 'fallback' },
    words: 'It could not be delivered.',
    also: ['failed', 'undelivered', 'expired'],
  },
  9: {
    means: 'failed',
    rule: { does: 'fallback', reason: 'suppressed' },
    words: 'The number is on the do-not-disturb register.',
    also: ['ndnc', 'dnd', 'ndnc number'],
  },
  16: {
    means: 'failed',
    rule: { does: 'fail', reason: 'content_rejected' },
    words: 'The operator rejected it: sender and text must be those registered.',
    also: ['rejected'],
  },
  17: { means: 'failed', rule: { does: 'dead' }, words: 'The number is blocked.', also: ['blocked number', 'blocked'] },
  25: {
    means: 'failed',
    rule: { does: 'fail', reason: 'content_rejected' },
    words: 'The operator rejected it: sender and text must be those registered.',
    also: [],
  },
  sent: {
    means: 'sent',
    words: 'The operator has it.',
    also: ['submitted', 'pending', 'queued', 'accepted'],
  },
}

const BY_WORD: ReadonlyMap<string, string> = new Map(
  Object.entries(MSG91_STATUSES).flatMap(([code, { also }]) => [code, ...also].map((word) => [word, code] as const)),
)

/** SMS by MSG91, which signs nothing: the webhook's address carries the account's token. */
export function msg91Receipts(): ReceiptSource {
  return { name: 'msg91', providers: ['msg91'], verify: async (...given) => verify(...given), parse }
}

function verify(callback: Callback, accounts: readonly Account[]): Verified {
  if (accounts.length === 0) return forged('no_account')
  if (callback.method !== 'POST') return forged('wrong_method')
  return goodFor(accountsWithToken(callback, accounts), 'token_wrong')
}

function parse(kept: KeptCallback): Parsed {
  const reading = startReading('MSG91')
  const json = bodyOf(kept.rawBody)
  const items = Array.isArray(json) ? (json as unknown[]) : [json]
  for (const item of items) read(reading, kept, item)
  return reading.result()
}

/** v2 is a form with JSON in the field `data`; it is also seen as JSON with JSON in it. */
function bodyOf(rawBody: Buffer): unknown {
  const text = rawBody.toString('utf8').trim()
  const json = /^[[{]/.test(text) ? jsonIn(text) : jsonIn(new URLSearchParams(text).get('data') ?? '')
  const inner = at(json, 'data')
  if (typeof inner === 'string') return jsonIn(inner)
  return Array.isArray(inner) && at(json, 'event') === undefined ? inner : json
}

function read(reading: Reading, kept: KeptCallback, item: unknown): void {
  const reports = at(item, 'report')
  const data = at(item, 'data')
  if (Array.isArray(reports)) for (const report of reports as unknown[]) add(reading, kept, report, item)
  else if (Array.isArray(data)) for (const each of data as unknown[]) addV4(reading, kept, each, item)
  else add(reading, kept, item, item)
}

/** v2, v3, and the newer webhooks, whose owner chooses the names among MSG91's. */
function add(reading: Reading, kept: KeptCallback, report: unknown, request: unknown): void {
  const status = first(report, 'status', 'desc')
  const providerMessageId = idAt({ id: first(request, 'requestId', 'request_id') }, 'id')
  // A webhook for requests tells what was sent, not what became of it.
  if (status === null && providerMessageId !== null) return
  const notificationId =
    referenceAt({ id: first(report, 'CRQID', 'crqid') }, 'id') ?? referenceAt({ id: first(report, 'UUID') }, 'id')
  const time = first(report, 'deliveryTime', 'date', 'timestamp', 'requestedAt')
  const facts = {
    provider: 'msg91',
    providerMessageId,
    notificationId,
    at: believed(kept, instantIn(time, '+05:30')),
    recipient: phoneAt({ number: first(report, 'number', 'telNum', 'mobile') }, 'number'),
    isPartial: false,
    eventId: null,
  }
  const code = codeOf(status) ?? codeOf(first(report, 'desc'))
  reading.add(facts, code ?? '', code === null ? undefined : MSG91_STATUSES[code])
}

/** It names neither the request nor the number, only our own reference. */
function addV4(reading: Reading, kept: KeptCallback, each: unknown, item: unknown): void {
  const facts = {
    provider: 'msg91',
    providerMessageId: null,
    notificationId: referenceAt(each, 'meta'),
    at: believed(kept, secondsAt(each, 'ts')),
    recipient: null,
    isPartial: false,
    eventId: null,
  }
  const code = codeOf(textAt(each, 'description')) ?? codeOf(textAt(item, 'event'))
  reading.add(facts, code ?? '', code === null ? undefined : MSG91_STATUSES[code])
}

function codeOf(word: string | null): string | null {
  return BY_WORD.get((word ?? '').trim().toLowerCase()) ?? null
}

/** The first of these fields that holds something; some come as a list in a text. */
function first(value: unknown, ...names: readonly string[]): string | null {
  for (const name of names) {
    const text = textAt(value, name)
    if (text !== null) return text.startsWith('[') ? textAt(listAt({ list: jsonIn(text) }, 'list'), 0) : text
  }
  return null
}
