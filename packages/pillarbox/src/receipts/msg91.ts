import { dead, fail, unreachable } from '../channels/error-lines.ts'
import { at, textAt } from '../channels/vendor-answers.ts'
import { accountsWithToken } from './proof.ts'
import {
  believed,
  failed,
  idAt,
  instantIn,
  type Judged,
  jsonIn,
  type Meaning,
  meaningOf,
  phoneAt,
  type Reading,
  receiptSource,
  referenceAt,
  secondsAt,
} from './reading.ts'
import { goodFor, type KeptCallback, type ReceiptSource } from './receipt-source.ts'

/**
 * MSG91's statuses, by number and by the words that v4 and the newer webhooks have in place of it. A number on the
 * do-not-disturb register (9) refuses advertising only, so it is not remembered as dead.
 */
export const MSG91_STATUSES: Readonly<Record<string, Meaning & { also: readonly string[] }>> = {
  1: { means: 'delivered', words: 'It is on the recipient’s phone.', also: ['delivered'] },
  2: { ...failed(unreachable('It could not be delivered.')), also: ['failed', 'undelivered', 'expired'] },
  9: {
    ...failed(fail('The number is on the do-not-disturb register.', 'suppressed')),
    also: ['ndnc', 'dnd', 'ndnc number'],
  },
  16: {
    ...failed(fail('The operator rejected it: sender and text must be those registered.', 'content_rejected')),
    also: ['rejected'],
  },
  17: { ...failed(dead('The number is blocked.')), also: ['blocked number', 'blocked'] },
  25: {
    ...failed(fail('The operator rejected it: sender and text must be those registered.', 'content_rejected')),
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
  return receiptSource({
    name: 'msg91',
    providers: ['msg91'],
    vendor: 'MSG91',
    verify: (callback, accounts) => goodFor(accountsWithToken(callback, accounts), 'token_wrong'),
    read,
  })
}

function read(kept: KeptCallback, reading: Reading): void {
  const json = bodyOf(kept.rawBody)
  const items = Array.isArray(json) ? (json as unknown[]) : [json]
  for (const item of items) readItem(reading, kept, item)
}

/** v2 is a form with JSON in the field `data`; it is also seen as JSON with JSON in it. */
function bodyOf(rawBody: Buffer): unknown {
  const text = rawBody.toString('utf8').trim()
  const json = /^[[{]/.test(text) ? jsonIn(text) : jsonIn(new URLSearchParams(text).get('data') ?? '')
  const inner = at(json, 'data')
  if (typeof inner === 'string') return jsonIn(inner)
  return Array.isArray(inner) && at(json, 'event') === undefined ? inner : json
}

function readItem(reading: Reading, kept: KeptCallback, item: unknown): void {
  const reports = at(item, 'report')
  const data = at(item, 'data')
  if (Array.isArray(reports)) for (const report of reports as unknown[]) add(reading, kept, report, item)
  else if (Array.isArray(data)) for (const each of data as unknown[]) addV4(reading, kept, each, item)
  else add(reading, kept, item, item)
}

/** v2, v3, and the newer webhooks, whose owner chooses the names among MSG91's. */
function add(reading: Reading, kept: KeptCallback, report: unknown, request: unknown): void {
  const status = first(report, 'status', 'desc')
  const providerMessageId = idAt(first(request, 'requestId', 'request_id'))
  // A webhook for requests tells what was sent, not what became of it.
  if (status === null && providerMessageId !== null) return
  const notificationId = referenceAt(first(report, 'CRQID', 'crqid')) ?? referenceAt(first(report, 'UUID'))
  const time = first(report, 'deliveryTime', 'date', 'timestamp', 'requestedAt')
  const facts = {
    provider: 'msg91',
    providerMessageId,
    notificationId,
    at: believed(kept, instantIn(time, '+05:30')),
    recipient: phoneAt(first(report, 'number', 'telNum', 'mobile')),
  }
  reading.add(facts, judge(status, first(report, 'desc')))
}

/** It names neither the request nor the number, only our own reference. */
function addV4(reading: Reading, kept: KeptCallback, each: unknown, item: unknown): void {
  const facts = {
    provider: 'msg91',
    providerMessageId: null,
    notificationId: referenceAt(each, 'meta'),
    at: believed(kept, secondsAt(each, 'ts')),
    recipient: null,
  }
  reading.add(facts, judge(textAt(each, 'description'), textAt(item, 'event')))
}

/** By the first of these words that MSG91 is known to say. */
function judge(...words: (string | null)[]): Judged {
  const code = words.map((word) => BY_WORD.get((word ?? '').trim().toLowerCase())).find((known) => known !== undefined)
  return { code: code ?? '', meaning: meaningOf(MSG91_STATUSES, code ?? null) }
}

/** The first of these fields that holds something; some come as a list in a text. */
function first(value: unknown, ...names: readonly string[]): string | null {
  for (const name of names) {
    const text = textAt(value, name)
    if (text !== null) return text.startsWith('[') ? textAt(jsonIn(text), 0) : text
  }
  return null
}
