import type { Failure } from '../channels/vendor-answers.ts'
import type { Account } from '../model/account.ts'
import type { ReceiptKind } from '../model/receipt.ts'

export type { Failure } from '../channels/vendor-answers.ts'

/**
 * The contract for what vendors call back with. A source knows one vendor's webhook: whether a request really comes from
 * the vendor, and what it says. It touches neither the store nor the web framework: somebody takes the request in, asks
 * `verify`, keeps the raw bytes, answers, and later has `parse` read what was kept, as often as needed.
 */
export interface ReceiptSource {
  /** The last part of the webhook's path: `meta` of `/api/webhooks/meta/{tenantId}`. */
  readonly name: string
  /** The providers whose accounts' messages it speaks of. */
  readonly providers: readonly string[]
  /** One path for everybody, proven by an account's token at most. Otherwise the path names the tenant. */
  readonly isShared?: true
  /** What the vendor asks with, before it ever posts, whether the webhook is ours. */
  readonly handshake?: 'GET' | 'OPTIONS'
  /** The headers that `parse` reads, in lower case: no other is kept. */
  readonly keptHeaders?: readonly string[]
  /**
   * Whether the callback is genuine, judged on the raw bytes. `accounts`: those of the source's providers that may be
   * meant: the tenant's where the path names one, else everybody's. Never throws.
   */
  verify(callback: Callback, accounts: readonly Account[]): Promise<Verified>
  /** What a genuine callback says. Never throws, whatever it holds. */
  parse(kept: KeptCallback): Parsed
}

/** A request to a webhook. */
export interface Callback {
  /** The name of the source. */
  provider: string
  method: string
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>
  query: URLSearchParams
  rawBody: Buffer
}

/** What is kept of a genuine one. */
export interface KeptCallback {
  rawBody: Buffer
  headers: Readonly<Record<string, string>>
  /** When it came, in ms: stands in for a time that the vendor does not tell or nobody can believe. */
  receivedAt: number
}

export type Verified =
  /**
   * It comes from the vendor. `accounts` are those it may speak for, never none: a receipt about a message of any other
   * account must change nothing. `account` is the only one of them; null where there are several, and the message's own
   * account decides, which for SES and SNS may be another tenant's. `note`: it asks for something that somebody has to
   * do, in words.
   */
  | { kind: 'good'; account: Account | null; accounts: readonly Account[]; note?: string }
  /** Nothing to keep, only this to be answered: a handshake, or a request to come again later. `note` is for the log. */
  | { kind: 'answer'; status: number; body: string; contentType: string; headers: Record<string, string>; note: string }
  /** Not from the vendor, or not to be believed. To be refused and counted; changes nothing. */
  | { kind: 'forged'; why: Distrust }

/** Why a callback is not believed. A closed set, so that it can be counted by. */
export type Distrust =
  /** Nobody has an account that it could be about. */
  | 'no_account'
  | 'wrong_method'
  | 'too_large'
  /** Not what the vendor's envelope looks like. */
  | 'malformed'
  | 'signature_missing'
  | 'signature_wrong'
  | 'token_wrong'
  /** Signed too long ago. */
  | 'replayed'
  /** The very same bytes came before. That is the vendor's right: it is answered as if it were new, and changes nothing. */
  | 'repeated'
  /** Genuine, but more than its account may keep in so short a time: the vendor is asked to send it again later. */
  | 'too_many'
  /** Of a topic that no account names. */
  | 'unknown_topic'
  /** The certificate is on a host that is not the vendor's. */
  | 'certificate_host'
  /** The vendor's host has no such certificate, or it is none. */
  | 'certificate_unusable'
  | 'certificate_expired'
  /** The address that would confirm a subscription is not the vendor's. */
  | 'subscribe_host'

export interface Parsed {
  events: readonly ReceiptEvent[]
  /** How many reports were in it that could not be read. What is no report, such as an incoming message, does not count. */
  unreadable: number
}

/** What a vendor says of one message, or of one recipient of it. */
export type ReceiptEvent = ReceiptFacts & ReceiptNews

export interface ReceiptFacts {
  /** Whose message it is, as attempts name it. */
  provider: string
  /** The id that the vendor gave the message. Null only where `notificationId` is not (MSG91's v4 has none). */
  providerMessageId: string | null
  /**
   * Our own reference, as the vendor repeats it: what a receipt can be matched by when the answer to the call was lost.
   * Only a hint: it may be anything that somebody once sent through the account.
   */
  notificationId: string | null
  /** When it happened, in ms. */
  at: number
  /** An E.164 number or an email address. */
  recipient: string | null
  /** The message went to others too, of whom this says nothing. */
  isPartial: boolean
  /** The vendor's own id of the event, the same when it is repeated. With several recipients they share it. */
  eventId: string | null
}

export type ReceiptNews =
  /** `sent`: the vendor has it and is under way with it, which settles an unknown outcome and nothing else. */
  | { kind: Exclude<ReceiptKind, 'bounced' | 'failed'> }
  /**
   * `bounced` (email) may follow a delivery; `failed` may not, and counts only while nothing better was heard. Either
   * way the vendor has given the message up. `failure` is what the provider would have answered had it known at once, by
   * the same table: permanent, with a fallback or a dead address, or something that waiting or an operator can mend.
   */
  | { kind: 'bounced' | 'failed'; failure: Failure }

/** The verdict for these accounts, which the callback proved to know a secret of; `why` where there are none. */
export function goodFor(accounts: readonly Account[], why: Distrust): Verified {
  const [first] = accounts
  if (!first) return { kind: 'forged', why }
  return { kind: 'good', account: accounts.length === 1 ? first : null, accounts }
}

export function forged(why: Distrust): Verified {
  return { kind: 'forged', why }
}

export function answer(
  note: string,
  {
    status = 200,
    body = '',
    contentType = 'text/plain; charset=utf-8',
    headers = {},
  }: Partial<Omit<HandshakeAnswer, 'kind'>> = {},
): Verified {
  return { kind: 'answer', status, body, contentType, headers, note }
}

type HandshakeAnswer = Extract<Verified, { kind: 'answer' }>
