import { LONGEST_ANSWER, type Outcome } from '../model/outcome.ts'
import type { Reason } from '../model/reason.ts'
import type { SendRequest } from './channel.ts'
import type { Outbound, OutboundAnswer, OutboundFailure, OutboundRequest } from './outbound.ts'

/** What one line of a vendor's error table comes to. Tables are data: one line per code, one test per line. */
export type Rule =
  | { does: 'retry'; afterMs?: number }
  | { does: 'throttle'; scope?: 'account' | 'recipient'; afterMs?: number }
  /** Not for hours: a quota, or a policy about when one may write to somebody. */
  | { does: 'defer'; afterMs: number }
  /** Can never succeed as written, on this channel; the address may be fine. */
  | { does: 'fail'; reason: Reason }
  /**
   * The address will never be any good on this channel, and is remembered: only where the vendor says so of the address
   * itself, and never where a mistake in the account would look the same.
   */
  | { does: 'dead' }
  /** The account, its credentials or its sender is broken. */
  | { does: 'halt' }
  /** A refusal that is in no table: the account's `onUnmapped` says whether it is tried again or given up. */
  | { does: 'unmapped' }
  | { does: 'unknown' }

/** Anything but that the vendor took the message. */
export type Failure = Exclude<Outcome, { kind: 'accepted' }>

export function outcomeOf(rule: Rule, code: string, error: string, retryAfterMs?: number): Failure {
  const after = retryAfterMs ?? ('afterMs' in rule ? rule.afterMs : undefined)
  const wait = after === undefined ? {} : { retryAfterMs: after }
  switch (rule.does) {
    case 'retry':
      return { kind: 'transient', code, error, ...wait }
    case 'throttle':
      return { kind: 'throttled', code, error, ...wait, ...(rule.scope === undefined ? {} : { scope: rule.scope }) }
    case 'defer':
      return { kind: 'transient', code, error, ...wait, isDeferred: true }
    case 'fail':
      return { kind: 'permanent', code, error, reason: rule.reason }
    case 'dead':
      return { kind: 'permanent', code, error, reason: 'invalid_recipient', isDead: true }
    case 'halt':
      return { kind: 'unauthorized', code, error }
    case 'unmapped':
      return { kind: 'transient', code, error, ...wait, isUnmapped: true }
    case 'unknown':
      return { kind: 'unknown', code, error }
  }
}

/**
 * What a status means by itself, where the vendor has not said anything of its own. 500 and 503 are refusals; any other 5xx
 * may come from a gateway behind which the message was taken, so nobody knows, unless `serverError` says what the vendor
 * means by it.
 */
export function ruleOfStatus(status: number, serverError: 'unknown' | 'retry' = 'unknown'): Rule {
  if (status === 401 || status === 403) return { does: 'halt' }
  if (status === 429) return { does: 'throttle' }
  if (status === 408 || status === 500 || status === 503) return { does: 'retry' }
  return { does: status >= 500 ? serverError : 'unmapped' }
}

/** A call that got no answer: nothing was sent and it may be tried again, or nobody knows. */
export function outcomeOfFailure({ code, error, hasLeft }: OutboundFailure): Failure {
  if (hasLeft) return { kind: 'unknown', code, error }
  // An address we will not dial, or a URL that is none, does not get better by waiting; the account is set up wrong.
  if (code === 'address_refused' || code === 'invalid_request') return { kind: 'unauthorized', code, error }
  return { kind: 'transient', code, error }
}

/** One call to a vendor: its answer, or what a call without one comes to. `json` is sent as the body. */
export async function callVendor(
  outbound: Outbound,
  { json, ...request }: OutboundRequest & { json?: unknown },
): Promise<OutboundAnswer | Failure> {
  if (json !== undefined) {
    request.headers = { ...request.headers, 'content-type': 'application/json' }
    request.body = JSON.stringify(json)
  }
  const answer = await outbound.request(request)
  return answer.kind === 'failure' ? outcomeOfFailure(answer) : answer
}

/** Writes down what the vendor answered, to be kept with the attempt. */
export function noted({ exchange }: Pick<SendRequest, 'exchange'>, answer: OutboundAnswer): OutboundAnswer {
  const body = answer.body.subarray(0, LONGEST_ANSWER).toString('utf8')
  exchange.answer = `${answer.status} ${body}`
  return answer
}

/** A success that does not name the message is none: nobody knows what became of it. */
export function acceptedAs(id: string | null | undefined, vendor: string): Outcome {
  return id ? { kind: 'accepted', providerMessageId: id } : unclear(`${vendor} answered without a message id`)
}

export function unclear(error: string): Failure {
  return { kind: 'unknown', code: 'malformed_reply', error }
}

// ── what is refused before anything is sent ──

export function badSettings(error: string): Failure {
  return { kind: 'unauthorized', code: 'bad_settings', error }
}

export function nobodyToSendTo(): Failure {
  return outcomeOf({ does: 'dead' }, 'no_recipient', 'there is nobody to send it to')
}

export function tooLong(limit: string): Failure {
  return outcomeOf({ does: 'fail', reason: 'content_rejected' }, 'too_long', `longer than ${limit}`)
}

// ── reading what a vendor sent ──

/** The answer's JSON; undefined where it is none. */
export function jsonOf({ body }: OutboundAnswer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

/** A value deep inside something a vendor sent, by own properties only. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = (found as Record<string | number, unknown>)[step]
  }
  return found
}

export function textAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const found = at(value, ...path)
  if (typeof found === 'number') return String(found)
  return typeof found === 'string' && found !== '' ? found : null
}

/** Only the fields that have a value. */
export function present<T extends object>(fields: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
  const found = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(found) as { [Name in keyof T]?: NonNullable<T[Name]> }
}

const LONGEST_WAIT_MS = 24 * 3_600_000

/** What a `Retry-After` header asks for: seconds, or a date. No more than a day, whatever it says. */
export function retryAfterOf({ headers }: OutboundAnswer, now: number): number | undefined {
  const text = headers['retry-after']?.trim()
  if (!text) return undefined
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now
  return Number.isNaN(ms) ? undefined : Math.min(LONGEST_WAIT_MS, Math.max(0, ms))
}

/** The base to build a vendor's URLs on: the account's own endpoint, or the vendor's. */
export function baseOf(settings: Record<string, unknown>, vendors: string): string {
  const own = settings['endpoint']
  return (typeof own === 'string' && own !== '' ? own : vendors).replace(/\/+$/, '')
}
