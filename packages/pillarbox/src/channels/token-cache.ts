import { createHash } from 'node:crypto'
import { errorText } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
import type { Outbound, OutboundAnswer } from './outbound.ts'
import { at, callVendor, type Failure, jsonOf, outcomeOf, textAt } from './vendor-answers.ts'

/** A bearer token, or why there is none: nothing was sent to the vendor yet, so that is no doubt about the message. */
export type Token = { kind: 'token'; token: string } | Failure

export interface TokenRequest {
  /** What the token depends on: another secret needs another token. */
  of: readonly string[]
  url: string
  form: () => Record<string, string>
  signal: AbortSignal
}

/** Access tokens of the OAuth2 kind, asked for once for all who need one, and kept until shortly before they expire. */
export interface TokenCache {
  get(request: TokenRequest): Promise<Token>
  /** The vendor no longer takes it: the next one is asked for anew. */
  forget(of: readonly string[]): void
  /** Makes a call with a token. One that was good a moment ago may be refused: then the call is made again, once. */
  call(request: TokenRequest, make: CallWithToken, isRefused: (answer: OutboundAnswer) => boolean): TokenCall
}

type TokenCall = Promise<OutboundAnswer | Failure>
type CallWithToken = (token: string) => TokenCall

/** Renewed this long before it expires, so that none expires on its way. */
const MARGIN_MS = 60_000
const SHORTEST_LIFE_MS = 10_000
const MOST_TOKENS = 1_000

export function createTokenCache({ outbound, clock }: { outbound: Outbound; clock: Clock }): TokenCache {
  const known = new Map<string, { token: Promise<Token>; until: number }>()
  const keys = new WeakMap<readonly string[], string>()

  /** Whoever hands in the same list again saves the hashing. */
  function keyOf(of: readonly string[]): string {
    const key = keys.get(of) ?? hashOf(of)
    keys.set(of, key)
    return key
  }

  async function ask({ url, form, signal }: TokenRequest): Promise<{ token: Token; lifeMs: number }> {
    const answer = await callVendor(outbound, {
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams(form()).toString(),
      signal,
    })
    // What may have left was a question for a token, not the message.
    if (answer.kind === 'unknown')
      return { token: { ...answer, kind: 'transient', error: `no token: ${answer.error}` }, lifeMs: 0 }
    if (answer.kind !== 'answer') return { token: answer, lifeMs: 0 }
    const json = jsonOf(answer)
    const token = textAt(json, 'access_token')
    const seconds = Number(at(json, 'expires_in') ?? 3_600)
    if (answer.status === 200 && token !== null)
      return { token: { kind: 'token', token }, lifeMs: (Number.isFinite(seconds) ? seconds : 3_600) * 1_000 }
    const words = textAt(json, 'error_description') ?? textAt(json, 'error') ?? `status ${answer.status}`
    const isPassing = answer.status >= 500 || answer.status === 429
    const error = `the token endpoint says: ${words}`
    return { token: outcomeOf({ does: isPassing ? 'retry' : 'halt' }, `token_${answer.status}`, error), lifeMs: 0 }
  }

  async function get(request: TokenRequest): Promise<Token> {
    const key = keyOf(request.of)
    const kept = known.get(key)
    if (kept && clock.monotonic() < kept.until) return await kept.token
    // A request that cannot even be made, such as one that its key cannot sign, is an outcome too: whoever waits for the
    // token hears of it, and nobody else.
    const asked = ask(request).catch((error: unknown) => ({
      token: outcomeOf({ does: 'halt' }, 'token_request', `no token can be asked for: ${errorText(error)}`),
      lifeMs: 0,
    }))
    const entry = { token: asked.then(({ token }) => token), until: Number.POSITIVE_INFINITY }
    if (known.size >= MOST_TOKENS) known.delete(known.keys().next().value ?? '')
    known.set(key, entry)
    const { token, lifeMs } = await asked
    if (token.kind === 'token') entry.until = clock.monotonic() + Math.max(SHORTEST_LIFE_MS, lifeMs - MARGIN_MS)
    else if (known.get(key) === entry) known.delete(key)
    return token
  }

  async function callOnce(request: TokenRequest, make: CallWithToken): TokenCall {
    const token = await get(request)
    return token.kind === 'token' ? await make(token.token) : token
  }

  const forget = (of: readonly string[]): void => void known.delete(keyOf(of))

  return {
    get,
    forget,
    async call(request, make, isRefused) {
      const first = await callOnce(request, make)
      if (first.kind !== 'answer' || !isRefused(first)) return first
      forget(request.of)
      return await callOnce(request, make)
    },
  }
}

/** Hashed, so that no secret is kept as a key. */
function hashOf(of: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(of)).digest('base64')
}
