import type { Account, Pace } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import type { Clock, Logger, Random } from '../model/ports.ts'
import type { Hub } from '../runtime/hub.ts'
import { createPoll } from '../runtime/poll.ts'
import type { Store } from '../store/store.ts'
import type { AccountBook } from './account-book.ts'
import { type AttemptDeps, attempt, type Landed } from './attempt.ts'
import type { Completer } from './completer.ts'
import type { Custody } from './custody.ts'
import { type CallTimes, createDeadline } from './deadline.ts'
import type { Claim, Completion, DueLane } from './dispatch-store.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { LaneGuard } from './lane-guard.ts'
import { report } from './report.ts'
import { createInFlight, shareSlots } from './rotation.ts'

/**
 * The dispatch loop: which lanes have work ─▶ how much may each take ─▶ claim ─▶ one attempt each ─▶ results in batches.
 *
 * It never claims more than it is about to send: every claimed row's call starts at once. After `stop` it claims
 * nothing more and resolves when the last call has ended.
 */
export interface DispatcherDeps {
  store: Pick<Store, 'dispatch' | 'lanes'>
  accounts: AccountBook
  attempt: AttemptDeps
  completer: Completer
  custody: Custody
  heartbeat: Heartbeat
  guard: LaneGuard
  hub: Hub
  clock: Clock
  random: Random
  logger: Logger
  settings: DispatchSettings
}

export interface DispatchSettings extends CallTimes {
  /** Only these channels; null: all. */
  channels: readonly Channel[] | null
  /** Provider calls under way at once, per channel. */
  slotsPerChannel: number
  /** The most rows one claim takes. */
  claimRows: number
  pollMaxMs: number
  /** Lanes are looked up at most this often while the known ones keep giving. */
  discoverEveryMs: number
}

const MOST_LANES = 1_000

export interface Dispatcher {
  run(stop: AbortSignal, abortCalls: AbortSignal): Promise<void>
  inFlight(): number
}

interface Signals {
  stop: AbortSignal
  abortCalls: AbortSignal
}

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { store, accounts, completer, custody, heartbeat, guard, hub, clock, logger, settings } = deps
  const poll = createPoll(deps.random, settings.pollMaxMs)
  const inFlight = createInFlight()
  const running = new Set<Promise<void>>()
  /** Lanes that probably have work. */
  const lanes = new Map<string, DueLane>()
  const servedAt = new Map<string, number>()
  /** Paced lanes whose bucket is empty until then. */
  const notBefore = new Map<string, number>()
  /** How many rows of a paused account were found that cannot move: they are looked past, so that others can. */
  const leftBehind = new Map<string, number>()
  let discoveredAt = Number.NEGATIVE_INFINITY
  /** There was work and no room for it: the next freed slot rings the bell. */
  let starved = false

  async function run(stop: AbortSignal, abortCalls: AbortSignal): Promise<void> {
    const signals = { stop, abortCalls }
    while (!stop.aborted) {
      let claimed = 0
      try {
        claimed = await round(signals)
      } catch (error) {
        lanes.clear()
        logger.warn({ error: String(error) }, 'claiming failed; trying again')
      }
      if (claimed > 0) poll.found()
      else await hub.dispatch.wait(idleMs(), stop)
    }
    while (running.size > 0) await Promise.all(running)
  }

  /** One claim round over all lanes with work. Answers how many rows it started. */
  async function round(signals: Signals): Promise<number> {
    starved = isBehind()
    if (starved || !heartbeat.mayStart()) return 0
    await discover()
    const asks = await ask()
    if (asks.length === 0) return 0
    const workerId = heartbeat.id()
    const answer = await custody.take(
      () => store.dispatch.claim(workerId, asks),
      (given) => (given.fenced ? [] : given.claims),
    )
    if (answer.fenced) {
      if (heartbeat.id() === workerId) await heartbeat.fenced()
      return 0
    }
    const got = new Map<string, number>()
    for (const claim of answer.claims) got.set(claim.laneId, (got.get(claim.laneId) ?? 0) + 1)
    for (const { laneId, limit, account, pace } of asks) {
      const unused = limit - (got.get(laneId) ?? 0)
      servedAt.set(laneId, clock.monotonic())
      // A lane that gave less than it was asked for is drained, as far as we know.
      if (unused > 0) lanes.delete(laneId)
      if (unused === 0 || !account || !pace) continue
      // With these the bucket is not empty after all.
      notBefore.delete(laneId)
      void giveBack(account, unused, pace)
    }
    return begin(answer.claims, asks, signals)
  }

  /** Results wait to be written, more than there are slots. */
  function isBehind(): boolean {
    return completer.backlog() >= 2 * settings.slotsPerChannel
  }

  /** Answers how many calls were started. */
  async function begin(claims: readonly Claim[], asks: readonly Ask[], { stop, abortCalls }: Signals): Promise<number> {
    if (claims.length === 0) return 0
    if (!stop.aborted) return start(claims, asks, abortCalls)
    await giveBackUnsent(claims)
    return 0
  }

  /** Fair shares of the free slots. */
  function sharesOf(some: readonly { laneId: string; channel: Channel }[]): Map<string, number> {
    const candidates = some.map(({ laneId, channel }) => ({
      laneId,
      channel,
      inFlight: inFlight.ofLane(laneId),
      servedAt: servedAt.get(laneId) ?? Number.NEGATIVE_INFINITY,
    }))
    return shareSlots(candidates, settings.slotsPerChannel, inFlight.byChannel(), settings.claimRows)
  }

  async function discover(): Promise<void> {
    const named = hub.takeLanes().filter((laneId) => !lanes.has(laneId))
    if (named.length > 0)
      for (const [laneId, { channel }] of await accounts.get(named))
        if (settings.channels?.includes(channel) ?? true) lanes.set(laneId, { laneId, channel, breaker: 'closed' })
    // What was just named is claimed first: looking for others would only keep it waiting.
    const restMs = settings.discoverEveryMs * (named.length > 0 ? 5 : 1)
    if (lanes.size > 0 && clock.monotonic() - discoveredAt < restMs) return
    discoveredAt = clock.monotonic()
    for (const lane of await store.dispatch.dueLanes(settings.channels, MOST_LANES)) lanes.set(lane.laneId, lane)
  }

  interface Ask {
    laneId: string
    limit: number
    probe: boolean
    /** Null: it was removed. Its rows are claimed all the same, and parked. */
    account: Account | null
    /** What its calls need tokens of. */
    pace: Pace | null
  }

  /** How much to claim from each lane: fair shares of the free slots, cut down by breaker and pace. */
  async function ask(): Promise<Ask[]> {
    const now = clock.monotonic()
    const waiting = [...lanes.values()].filter((lane) => (notBefore.get(lane.laneId) ?? now) <= now)
    const known = await read(waiting.map((lane) => lane.laneId))
    const ready: DueLane[] = []
    for (const lane of waiting) {
      const account = known.get(lane.laneId)
      if (account?.status !== 'paused' || (await canMove(account))) ready.push(lane)
    }
    const shares = sharesOf(ready)
    const asks: Ask[] = []
    for (const { laneId, breaker } of ready) {
      const account = known.get(laneId) ?? null
      const limit = shares.get(laneId) ?? 0
      if (limit === 0) starved = true
      if (limit === 0) continue
      if (account && account.status !== 'active') {
        // No call is made: its rows move or stop, and neither hold nor breaker nor pace is in their way.
        const behind = leftBehind.get(laneId) ?? 0
        // Past those that cannot move, and as far again, for there may be more of them.
        const most = limit + behind + Math.min(behind, settings.claimRows)
        asks.push({ laneId, limit: most, probe: true, account, pace: null })
        continue
      }
      const pace = account?.pace ?? null
      if (breaker === 'closed') {
        asks.push({ laneId, limit, probe: false, account, pace })
        continue
      }
      lanes.delete(laneId)
      if (!(await store.lanes.probe(laneId, settings.callTimeoutMs + settings.callGraceMs))) continue
      guard.probing(laneId)
      asks.push({ laneId, limit: 1, probe: true, account, pace })
    }
    return paced(asks)
  }

  /** Those that are not active are read afresh, so that nothing stops or moves that may be sent again since a moment ago. */
  async function read(ids: readonly string[]): Promise<ReadonlyMap<string, Account>> {
    const known = await accounts.get(ids)
    const halted = ids.filter((id) => (known.get(id)?.status ?? 'active') !== 'active' && !accounts.isLocked(id))
    if (halted.length === 0) return known
    for (const id of halted) accounts.outdate(id)
    return accounts.get(ids)
  }

  /** A paused account's rows wait until its credentials are mended, unless another account takes them over. */
  async function canMove(account: Account): Promise<boolean> {
    if (accounts.isLocked(account.id)) return false
    if (await accounts.standIn(account, 'any')) return true
    lanes.delete(account.id)
    await guard.stillPaused(account)
    return false
  }

  async function paced(asks: Ask[]): Promise<Ask[]> {
    const requests = asks.flatMap(({ laneId, limit, pace }) => (pace ? [{ laneId, want: limit, pace }] : []))
    if (requests.length === 0) return asks
    const grants = new Map((await store.lanes.take(requests)).map((grant) => [grant.laneId, grant]))
    return asks.flatMap((ask) => {
      const grant = grants.get(ask.laneId)
      if (!grant) return [ask]
      if (grant.granted < ask.limit) notBefore.set(ask.laneId, clock.monotonic() + grant.waitMs)
      return grant.granted > 0 ? [{ ...ask, limit: grant.granted }] : []
    })
  }

  async function giveBack(account: Account, count: number, pace: Pace): Promise<void> {
    await store.lanes
      .giveBack(account.id, count, pace)
      .catch((error: unknown) => logger.debug({ error: String(error) }, 'unused tokens were lost'))
  }

  /** Starts one call per claim. They share a deadline, because they start together. Answers how many were not given back. */
  function start(claims: readonly Claim[], asks: readonly Ask[], abortCalls: AbortSignal): number {
    const deadline = createDeadline(clock, settings, abortCalls)
    // What was claimed only to move or stop has no token for a call, whatever becomes of its account meanwhile.
    const halted = asks.flatMap(({ account }) => (account && account.status !== 'active' ? [account] : []))
    const accountOf = (laneId: string): Account | null =>
      halted.find(({ id }) => id === laneId) ?? accounts.peek(laneId)
    const unsent: Claim[] = []
    const { promise: all, resolve: allOver } = Promise.withResolvers<void>()
    running.add(all)
    // Each claim lands (its slot is free), then is over (its result is written, or it went back); then all end.
    let left = claims.length
    const over = (token: Pick<Claim, 'token'>): void => {
      custody.ended(token)
      if (starved) hub.dispatch.ring()
      left--
      if (left === 0) void end()
    }
    const end = async (): Promise<void> => {
      deadline.end()
      for (const account of halted) if (account.status === 'paused') await lookPast(account, claims, unsent)
      running.delete(all)
      allOver()
    }
    const landed: Landed = (claim, completion) => {
      inFlight.remove(claim)
      if (starved) hub.dispatch.ring()
      if (completion) completer.add(completion, completion.to === 'sent' ? over : () => stopped(claim, completion))
      else {
        unsent.push(claim)
        void release([claim]).then(() => over(claim))
      }
    }
    const stopped = (claim: Claim, completion: Completion): void => {
      report(logger, claim, completion)
      // Its account was paused by this: what else waits there need not wait for the hold to end.
      if (completion.moveTo && completion.outcome === 'unauthorized') revisit(claim)
      over(claim)
    }
    for (const claim of claims) {
      inFlight.add(claim)
      try {
        attempt(deps.attempt, claim, accountOf(claim.laneId), deadline, landed)
      } catch (error) {
        // Before its call: that fails as data.
        logger.error({ notificationId: claim.notificationId, error: String(error) }, 'a call could not be begun')
        landed(claim, null)
      }
    }
    return claims.length - unsent.length
  }

  /** Rows in doubt stay with a paused account. Once there are no others left, its lane is left alone for a while. */
  async function lookPast(account: Account, claims: readonly Claim[], unsent: readonly Claim[]): Promise<void> {
    const countOf = (some: readonly Claim[]): number => some.filter(({ laneId }) => laneId === account.id).length
    const count = countOf(unsent)
    if (count === 0) leftBehind.delete(account.id)
    // The most of one claim, for claims of the same lane may overlap.
    else leftBehind.set(account.id, Math.max(count, leftBehind.get(account.id) ?? 0))
    if (count === 0 || count < countOf(claims)) return
    lanes.delete(account.id)
    await guard.stillPaused(account)
  }

  function revisit({ laneId, channel }: Claim): void {
    accounts.outdate(laneId)
    lanes.set(laneId, { laneId, channel, breaker: 'closed' })
    hub.dispatch.ring()
  }

  /** Claimed while we were told to stop: no call has begun. */
  async function giveBackUnsent(claims: readonly Claim[]): Promise<void> {
    await release(claims)
    for (const claim of claims) custody.ended(claim)
  }

  async function release(claims: readonly Claim[]): Promise<void> {
    if (claims.length === 0) return
    try {
      await store.dispatch.release(heartbeat.id(), claims)
    } catch (error) {
      custody.answerLost()
      logger.warn({ claims: claims.length, error: String(error) }, 'unsent claims could not be given back yet')
    }
  }

  function idleMs(): number {
    const now = clock.monotonic()
    let ms = poll.nextMs()
    for (const [laneId, at] of notBefore) {
      if (at <= now) notBefore.delete(laneId)
      else ms = Math.min(ms, at - now)
    }
    return ms
  }

  return { run, inFlight: () => inFlight.total() }
}
