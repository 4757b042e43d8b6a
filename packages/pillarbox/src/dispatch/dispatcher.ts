import type { Account } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import type { Clock, Logger, Random, Tracing } from '../model/ports.ts'
import type { Hub } from '../runtime/hub.ts'
import { createPoll } from '../runtime/poll.ts'
import type { Store } from '../store/store.ts'
import type { AccountBook } from '../tenant/account-book.ts'
import { type AttemptDeps, attempt } from './attempt.ts'
import type { Completer } from './completer.ts'
import type { Custody } from './custody.ts'
import { type CallDeadline, type CallTimes, createDeadline } from './deadline.ts'
import type { Claim, Completion } from './dispatch-store.ts'
import type { Heartbeat } from './heartbeat.ts'
import { createLaneBook } from './lane-book.ts'
import type { LaneGuard } from './lane-guard.ts'
import { report } from './report.ts'
import { type LaneShare, shareOut } from './share-out.ts'
import { beginAttemptSpan, endAttemptSpan } from './trace-attempt.ts'

/**
 * The dispatch loop: look for work ─▶ share out the free slots ─▶ claim ─▶ start one attempt per claim ─▶ wait.
 *
 * It never claims more than it is about to send: every claimed row's call starts at once. After `stop` it claims
 * nothing more and resolves when the last call has ended. What it remembers between two rounds is in lane-book.ts.
 */
export interface Dispatcher {
  run(stop: AbortSignal, abortCalls: AbortSignal): Promise<void>
  inFlight(): number
}

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
  tracing: Tracing
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

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { store, accounts, completer, custody, heartbeat, guard, hub, clock, logger, settings } = deps
  const book = createLaneBook(settings)
  const poll = createPoll(deps.random, settings.pollMaxMs)
  /** One for each claim whose attempts are not all over. */
  const batches = new Set<Promise<void>>()
  let lookedAt = Number.NEGATIVE_INFINITY

  async function run(stop: AbortSignal, abortCalls: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const claimed = await round(stop, abortCalls).catch((error: unknown) => {
        book.forgetDue()
        logger.warn({ error: String(error) }, 'claiming failed; trying again')
        return 0
      })
      if (claimed > book.takeUnsent()) poll.found()
      else await hub.dispatch.wait(Math.min(poll.nextMs(), book.nextReadyMs(clock.monotonic())), stop)
    }
    while (batches.size > 0) await Promise.all(batches)
  }

  /** Answers how many attempts it started. */
  async function round(stop: AbortSignal, abortCalls: AbortSignal): Promise<number> {
    const isBehind = completer.backlog() >= 2 * settings.slotsPerChannel
    book.beginRound(isBehind)
    if (isBehind || !heartbeat.mayStart()) return 0
    await lookForWork()
    const shares = await shareOut(deps, book)
    const claims = shares.length > 0 ? await claim(shares) : []
    if (stop.aborted) {
      await giveBack(claims)
      return 0
    }
    if (claims.length > 0) start(claims, shares, abortCalls)
    return claims.length
  }

  async function lookForWork(): Promise<void> {
    const named = book.idleAmong(hub.takeLanes())
    if (named.length > 0)
      for (const [accountId, { channel }] of await accounts.get(named))
        if (settings.channels?.includes(channel) ?? true) book.isDue({ accountId, channel, breaker: 'closed' })
    // The lanes just named are claimed from first: looking for others would only keep them waiting.
    const restMs = settings.discoverEveryMs * (named.length > 0 ? 5 : 1)
    if (book.hasDue() && clock.monotonic() - lookedAt < restMs) return
    lookedAt = clock.monotonic()
    for (const lane of await store.dispatch.dueLanes(settings.channels, MOST_LANES)) book.isDue(lane)
  }

  async function claim(shares: readonly LaneShare[]): Promise<readonly Claim[]> {
    const workerId = heartbeat.id()
    const answer = await custody.take(
      () => store.dispatch.claim(workerId, shares),
      (claimed) => (claimed.fenced ? [] : claimed.claims),
    )
    if (answer.fenced) {
      if (heartbeat.id() === workerId) await heartbeat.fenced()
      return []
    }
    const given = countByLane(answer.claims)
    for (const { accountId, account, limit, pace } of shares) {
      const unused = limit - (given.get(accountId) ?? 0)
      book.wasServed(accountId, unused, clock.monotonic())
      if (unused > 0 && account?.status === 'paused') await guard.stillPaused(account)
      if (unused === 0 || !pace) continue
      book.endPace(accountId)
      store.lanes
        .giveBack(accountId, unused, pace)
        .catch((error: unknown) => logger.debug({ error: String(error) }, 'unused tokens were lost'))
    }
    return answer.claims
  }

  function start(claims: readonly Claim[], shares: readonly LaneShare[], abortCalls: AbortSignal): void {
    const batch = attemptAll(claims, shares, abortCalls).finally(() => batches.delete(batch))
    batches.add(batch)
  }

  /** One attempt per claim. They share a deadline, because they start together. */
  async function attemptAll(
    claims: readonly Claim[],
    shares: readonly LaneShare[],
    abortCalls: AbortSignal,
  ): Promise<void> {
    const deadline = createDeadline(clock, settings, abortCalls)
    const accountOf = new Map(shares.map(({ accountId, account }) => [accountId, account]))
    const completions = await Promise.all(
      claims.map((each) => attemptOne(each, accountOf.get(each.accountId) ?? null, deadline)),
    )
    deadline.end()
    const claimed = countByLane(claims)
    const unsent = countByLane(claims.filter((_, i) => completions[i] === null))
    for (const { account } of shares)
      if (account?.status === 'paused')
        await lookPast(account, claimed.get(account.id) ?? 0, unsent.get(account.id) ?? 0)
  }

  /** From a claim to the commit of its result; null: it went back unsent. */
  async function attemptOne(each: Claim, account: Account | null, deadline: CallDeadline): Promise<Completion | null> {
    book.callBegins(each)
    const span = beginAttemptSpan(deps.tracing, each, account)
    const completion = span
      ? await span.within(() => attempt(deps.attempt, { ...each, traceparent: span.traceparent }, account, deadline))
      : await attempt(deps.attempt, each, account, deadline)
    book.callEnds(each)
    if (book.isStarved()) hub.dispatch.ring()
    if (completion) {
      await completer.write(completion)
      custody.ended(each)
      report(logger, each, completion)
      if (completion.outcome === 'unauthorized') accountPaused(each)
    } else {
      book.wentBack()
      await giveBack([each])
    }
    if (span) endAttemptSpan(span, completion)
    if (book.isStarved()) hub.dispatch.ring()
    return completion
  }

  /** A call paused its account: rows there that another account or channel takes over need not wait for the hold to end. */
  function accountPaused({ accountId, channel }: Claim): void {
    accounts.outdate(accountId)
    book.isDue({ accountId, channel, breaker: 'closed' })
    hub.dispatch.ring()
  }

  /** Rows in doubt stay with a paused account. Once there are no others left, its lane is left alone for a while. */
  async function lookPast(account: Account, claimed: number, stuck: number): Promise<void> {
    book.foundStuck(account.id, stuck)
    if (stuck === 0 || stuck < claimed) return
    book.isDrained(account.id)
    await guard.stillPaused(account)
  }

  /** No call was made. */
  async function giveBack(claims: readonly Claim[]): Promise<void> {
    if (claims.length === 0) return
    try {
      await store.dispatch.release(heartbeat.id(), claims)
    } catch (error) {
      custody.answerLost()
      logger.warn({ claims: claims.length, error: String(error) }, 'unsent claims could not be given back yet')
    }
    for (const each of claims) custody.ended(each)
  }

  return { run, inFlight: book.inFlight }
}

function countByLane(claims: readonly Claim[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { accountId } of claims) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  return counts
}
