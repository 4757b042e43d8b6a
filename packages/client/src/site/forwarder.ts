import { PillarboxConnectionError, PillarboxHttpError } from '../http/problem.ts'
import type { BufferedItem, SiteBuffer } from './buffer.ts'
import type { Central } from './central.ts'

/**
 * Hands off what waits in a buffer, one request at a time, until each is acknowledged. Nothing leaves the buffer before the
 * server has said that it is on record, so whatever is lost on the way is handed off again; the server knows it by its id.
 *
 * - While the server cannot be reached, the pauses grow from one second to a minute, with jitter. `ring` does not shorten them.
 * - A request that the server cannot work on is halved, down to the one item that it cannot work on. That one is set aside,
 *   for longer and longer, so that it holds up nothing else.
 * - A server that is reached and has nothing to take hears of the site once a minute.
 */
export interface Forwarder {
  /** Hands off until `stop` aborts. Never rejects. */
  run(stop: AbortSignal): Promise<void>
  /** Something new waits. */
  ring(): void
  state(): ForwarderState
}

export interface ForwarderState {
  /** When the server last answered. */
  lastContactAt: number | null
  /** Why it does not go on, in words; null: all is well. */
  trouble: string | null
}

export interface ForwarderDeps {
  buffer: SiteBuffer
  central: Central
  now: () => number
  /** Milliseconds that only go forward: the clock of a site may be set at any time. */
  monotonic: () => number
  random: () => number
  /** Resolves after `ms`, or as soon as the signal aborts. */
  rest: (ms: number, signal: AbortSignal) => Promise<void>
  newIncarnation: () => string
  batchItems: number
  batchBytes: number
  heartbeatMs: number
  onTrouble: (message: string) => void
}

const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1_000, 60_000]
/** A server that asks for a longer pause is asked again nevertheless: it may have meant something else. */
const LONGEST_ASKED_PAUSE_MS = 300_000
const [FIRST_ASIDE_MS, LONGEST_ASIDE_MS] = [5_000, 600_000]
/** More than so many set aside means that it is not the items. */
const MOST_SET_ASIDE = 100

/**
 * What the server says where one item, or all that is asked at once, cannot be worked on. Only an acknowledgement refuses
 * something for good: a server of another version may find fault with every request.
 */
const UNWORKABLE = new Set(['invalid_body', 'malformed_json', 'body_too_large', 'bad_request', 'internal'])

export function createForwarder(deps: ForwarderDeps): Forwarder {
  const { buffer, central, now, monotonic, random, rest } = deps
  const state: ForwarderState = { lastContactAt: null, trouble: null }
  /** Until when each is set aside, and how often it was. */
  const aside = new Map<string, { until: number; times: number }>()
  let failures = 0
  let batchItems = deps.batchItems
  let heartbeatAt = monotonic()
  let wake: (() => void) | null = null
  let hasRung = false

  /** Whoever is told of trouble does not stop the rest by having trouble of their own. */
  function tell(message: string): void {
    try {
      deps.onTrouble(message)
    } catch {
      // Theirs to know.
    }
  }

  function ring(): void {
    hasRung = true
    wake?.()
  }

  /** Waits for so long; `canRing`: or until something new waits. */
  async function pause(ms: number, stop: AbortSignal, canRing: boolean): Promise<void> {
    if (stop.aborted || (canRing && hasRung)) return
    const end = new AbortController()
    const finish = (): void => end.abort()
    stop.addEventListener('abort', finish, { once: true })
    if (canRing) wake = finish
    await rest(ms, end.signal)
    wake = null
    stop.removeEventListener('abort', finish)
  }

  async function run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      hasRung = false
      let waitMs: number
      let canRing = true
      try {
        waitMs = await round(stop)
      } catch (error) {
        if (stop.aborted) return
        waitMs = pauseAfter(error)
        canRing = false
      }
      if (waitMs > 0) await pause(waitMs, stop, canRing)
    }
  }

  /** One request, or none. Answers how long nothing is to be done; rejects where the server could not be asked. */
  async function round(stop: AbortSignal): Promise<number> {
    buffer.expire(now())
    const at = monotonic()
    for (const id of aside.keys()) if (!buffer.find(id)) aside.delete(id)
    const resting = new Set([...aside].filter(([, { until }]) => until > at).map(([id]) => id))
    const items = buffer.next({ items: batchItems, bytes: deps.batchBytes }, resting)
    if (items.length === 0 && at < heartbeatAt) return nextWait()
    const { waiting, expired } = buffer.totals()
    const request = {
      incarnation: buffer.incarnation(),
      backlog: Math.max(0, waiting + expired - items.length),
      now: now(),
      items,
    }
    let reply: Awaited<ReturnType<Central['handOff']>>
    try {
      reply = await central.handOff(request, stop)
    } catch (error) {
      if (!isUnworkable(error) || items.length === 0) throw error
      narrowDown(items, error)
      return 0
    }
    heartbeatAt = monotonic() + deps.heartbeatMs
    buffer.settle(reply.acknowledged, reply.refused)
    for (const { id, error } of reply.refused) tell(`${id} was refused for good: ${error}`)
    for (const id of [...reply.acknowledged, ...reply.refused.map(({ id: one }) => one)]) aside.delete(id)
    if (reply.isRewound) {
      buffer.renew(deps.newIncarnation())
      tell('this buffer was restored from a copy or cloned: it goes on under a new incarnation')
    }
    state.lastContactAt = now()
    const [first] = reply.kept
    // Not one was taken: it is the server that cannot, not the items.
    if (first && reply.kept.length === items.length) throw new Error(`the server keeps nothing for now: ${first.error}`)
    for (const { id } of reply.kept) setAside(id)
    failures = 0
    state.trouble = null
    batchItems = Math.min(deps.batchItems, batchItems * 2)
    return 0
  }

  /** Until the next heartbeat, or until the first that is set aside is to be tried again. */
  function nextWait(): number {
    const times = [heartbeatAt, ...[...aside.values()].map(({ until }) => until)]
    return Math.max(1, Math.min(...times) - monotonic())
  }

  function narrowDown(items: readonly BufferedItem[], error: PillarboxHttpError): void {
    batchItems = Math.max(1, Math.floor(items.length / 2))
    const [only, another] = items
    if (!only || another) return
    if (aside.size >= MOST_SET_ASIDE) throw error
    setAside(only.id)
    tell(`${only.id} is set aside for a while: ${error.message}`)
    batchItems = deps.batchItems
  }

  function setAside(id: string): void {
    const times = (aside.get(id)?.times ?? 0) + 1
    const ms = Math.min(LONGEST_ASIDE_MS, FIRST_ASIDE_MS * 2 ** Math.min(times - 1, 10))
    if (aside.size < MOST_SET_ASIDE || aside.has(id)) aside.set(id, { until: monotonic() + ms, times })
  }

  function pauseAfter(error: unknown): number {
    failures += 1
    const words = wordsOf(error)
    if (state.trouble !== words) tell(words)
    state.trouble = words
    const asked = error instanceof PillarboxHttpError ? (error.retryAfterMs ?? 0) : 0
    const backoff = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10))
    return Math.max(Math.min(asked, LONGEST_ASKED_PAUSE_MS), backoff * (0.5 + random() / 2))
  }

  return { run, ring, state: () => ({ ...state }) }
}

/** Nothing but the server itself may say so: a proxy that refuses everything must not have everything refused. */
function isUnworkable(error: unknown): error is PillarboxHttpError {
  return error instanceof PillarboxHttpError && UNWORKABLE.has(error.code)
}

function wordsOf(error: unknown): string {
  if (error instanceof PillarboxHttpError && [401, 403].includes(error.status))
    return `the server refuses the key of this site (${error.message}); what waits is kept`
  if (error instanceof PillarboxHttpError || error instanceof PillarboxConnectionError)
    return `${error.message}; what waits is kept`
  return error instanceof Error ? error.message : String(error)
}
