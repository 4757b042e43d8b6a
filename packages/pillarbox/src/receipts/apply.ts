import type { CallbackResult, StoredCallback } from '../model/callback.ts'
import { errorText, isPassing } from '../model/errors.ts'
import { type EndedChain, type NotificationView, skippedByChain, type Takeover } from '../model/notification.ts'
import type { Clock, IdSource, Logger, Meters, Random, TraceSpan, Tracing } from '../model/ports.ts'
import { reasonWord } from '../model/reason.ts'
import { isFoundByMessageId, landingOf, wordOfOne } from '../model/receipt.ts'
import type { SkipReport } from '../plan/skip-report.ts'
import type { Hub } from '../runtime/hub.ts'
import { createPoll } from '../runtime/poll.ts'
import type { Store } from '../store/store.ts'
import type { AccountBook } from '../tenant/account-book.ts'
import type { ReceiptEvent, ReceiptSource } from './receipt-source.ts'
import { type ReceiptVerdict, verdictOn } from './verdict.ts'

/**
 * The receipt loop: kept callbacks become receipts of their notifications.
 *
 *   take ─▶ parse ─▶ for each report: locate ─▶ judge ─▶ merge, with whoever takes over ─▶ settle
 *
 * Applying a callback again changes nothing, so any number of workers may do it, and a worker may die anywhere in it.
 */
export interface ReceiptApplier {
  /** One batch. Answers how many callbacks it took. */
  round(): Promise<number>
  /** Rounds until `stop`, as soon as there is something to apply. */
  run(stop: AbortSignal): Promise<void>
}

export interface ReceiptApplierDeps {
  store: Pick<Store, 'receipts' | 'suppressions'>
  sources: ReadonlyMap<string, Pick<ReceiptSource, 'parse'>>
  accounts: Pick<AccountBook, 'get'>
  /** The notification that takes over on the next channel, or why none can reach the recipient either. */
  fallBack(view: NotificationView): Promise<Takeover | EndedChain | null>
  hub: Pick<Hub, 'receipts' | 'nudge'>
  skips: SkipReport
  clock: Clock
  random: Random
  ids: IdSource
  logger: Logger
  meters: Meters
  tracing: Tracing
  settings: {
    pollMaxMs: number
    /** Many times what a batch takes; whoever needs longer is dead, and nothing is lost but time. */
    leaseMs: number
  }
}

/** Applied side by side: each waits for its own commits. */
const BATCH = 50
/** Twice what any vendor puts into one callback. More would keep everybody else's waiting. */
const MOST_REPORTS = 2_000
/** What has to wait is looked at after a second, then each time after as long again, but every hour. */
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 3_600_000
/** A message that nobody knows by then is not ours. */
const GIVE_UP_MS = 24 * 3_600_000

export function createReceiptApplier(deps: ReceiptApplierDeps): ReceiptApplier {
  const { store, logger } = deps

  async function round(): Promise<number> {
    const taken = await store.receipts.take(BATCH, deps.settings.leaseMs)
    const settled = await Promise.allSettled(taken.map((callback) => applyCallback(deps, callback)))
    for (const one of settled) if (one.status === 'rejected') throw one.reason
    return taken.length
  }

  return {
    round,
    async run(stop) {
      const poll = createPoll(deps.random, deps.settings.pollMaxMs)
      while (!stop.aborted) {
        let taken = 0
        try {
          taken = await round()
        } catch (error) {
          logger.warn({ error: errorText(error) }, 'receipts could not be applied; trying again')
        }
        if (taken > 0) poll.found()
        else await deps.hub.receipts.wait(poll.nextMs(), stop)
      }
    },
  }
}

type ReportEffect = Awaited<ReturnType<Store['receipts']['merge']>>

/** What became of the reports of one callback. */
interface ReportTally {
  matched: number
  moved: number
  /** Not ours, or not yet: our own commit may still be under way. */
  missing: number
  /** Their notifications are being sent again. */
  waiting: number
}

/** Rejects only when the store is away or nobody can plan the next channel: the callback then comes back when its lease has run out. */
async function applyCallback(deps: ReceiptApplierDeps, callback: StoredCallback): Promise<void> {
  const { store, sources, logger } = deps
  const { id, source: name, receivedAt, body: rawBody, headers } = callback
  const source = sources.get(name)
  // Kept by a newer version perhaps, which also runs somewhere.
  if (!source) logger.warn({ callbackId: id, source: name }, 'this version cannot read callbacks of that source')
  const parsed = source?.parse({ rawBody, headers, receivedAt }) ?? { events: [], unreadable: 0 }
  const events = parsed.events.slice(0, MOST_REPORTS)
  const unreadable = parsed.unreadable + parsed.events.length - events.length
  const tally: ReportTally = { matched: 0, moved: 0, missing: source ? 0 : 1, waiting: 0 }
  for (const event of events) await applyReport(deps, callback, event, tally)
  const reports = events.length
  const moved = Math.min(reports, tally.moved + (callback.result?.moved ?? 0))
  const counts = { reports, matched: tally.matched, moved, unreadable }
  const end = statusAfter(deps, callback, reports, tally)
  await store.receipts.settle(id, { ...counts, ...end })
  const foreign = end.status === 'unmatched' ? reports - tally.matched : 0
  if (foreign > 0)
    await store.receipts.countRefused([{ source: name, tenantId: callback.tenantId, why: 'foreign', count: foreign }])
}

/** A callback stays pending while a report of it waits for its notification, or may still find one. */
function statusAfter(
  { clock }: ReceiptApplierDeps,
  { receivedAt, attemptCount }: StoredCallback,
  reports: number,
  { matched, missing, waiting }: ReportTally,
): Pick<CallbackResult, 'status' | 'delayMs'> {
  const mayStillCome = missing > 0 && clock.now() - receivedAt < GIVE_UP_MS
  if (waiting === 0 && !mayStillCome)
    return { status: matched < reports || missing > 0 ? 'unmatched' : 'applied', delayMs: 0 }
  return { status: 'pending', delayMs: Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attemptCount - 1, 20)) }
}

/** One report. What is wrong with it stops no other: it is looked at again, and given up in the end. */
async function applyReport(
  deps: ReceiptApplierDeps,
  callback: StoredCallback,
  event: ReceiptEvent,
  tally: ReportTally,
): Promise<void> {
  const { store, logger } = deps
  const { provider, providerMessageId, notificationId } = event
  try {
    const { accountIds } = callback
    const view = await store.receipts.locate({ accountIds, provider, providerMessageId, notificationId })
    if (!view) {
      deps.meters.count('receipts', { provider, kind: event.kind, effect: 'unmatched' })
      // Our reference is known before the call is made; a vendor's message id only with its answer.
      if (notificationId === null && isFoundByMessageId(provider)) tally.missing++
      return
    }
    tally.matched++
    const span = beginReceiptSpan(deps, view, event)
    const answer = await mergeReport(deps, callback, event, view).catch((error: unknown) => {
      span?.end({}, true)
      throw error
    })
    span?.end({ effect: answer })
    deps.meters.count('receipts', { provider, kind: event.kind, effect: answer })
    if (answer === 'waiting') tally.waiting++
    if (answer === 'moved') tally.moved++
  } catch (error) {
    if (isPassing(error)) throw error
    logger.error({ callbackId: callback.id, provider, error: errorText(error) }, 'a receipt could not be applied')
    tally.missing++
  }
}

function beginReceiptSpan(
  { tracing }: ReceiptApplierDeps,
  view: NotificationView,
  event: ReceiptEvent,
): TraceSpan | null {
  if (!tracing.isOn()) return null
  const { tenantId, id: notificationId, accountId, channel, traceparent = null } = view
  const { provider, kind } = event
  return tracing.begin('pillarbox.receipt', traceparent, {
    tenantId,
    notificationId,
    accountId,
    channel,
    provider,
    kind,
  })
}

/** Merges a report into the notification that it is about, with whoever takes over. */
async function mergeReport(
  deps: ReceiptApplierDeps,
  callback: StoredCallback,
  event: ReceiptEvent,
  view: NotificationView,
): Promise<ReportEffect> {
  const { store, accounts } = deps
  const account = view.accountId === null ? null : (await accounts.get([view.accountId])).get(view.accountId)
  const verdict = verdictOn(event, view, account?.settings['onUndeliverable'])
  const handed = verdict.mayFallBack ? await fallBack(deps, view) : null
  const continued = handed && 'skipped' in handed ? { next: null, ...handed } : { next: handed }
  const answer = await store.receipts.merge({ ...verdict.receipt, ...continued })
  if (answer === 'moved') {
    meterMove(deps, view, verdict.receipt, continued.next?.channel ?? null)
    deps.skips.note(skippedByChain({ to: 'failed', ...continued }))
    const lane = continued.next?.accountId ?? null
    if (lane !== null) deps.hub.nudge('dispatch', [lane])
  }
  if (verdict.dead && isNews(answer, callback, verdict)) {
    const { tenantId, channel, id } = view
    const ban = { id: deps.ids(), tenantId, channel, ...verdict.dead, notificationId: id, createdBy: 'system' }
    await store.suppressions.insert(ban)
  }
  return answer
}

/** Counts where a report that moved its notification brought it. */
function meterMove(
  { meters }: ReceiptApplierDeps,
  { channel }: NotificationView,
  { kind, recipient, failure }: ReceiptVerdict['receipt'],
  takenOverBy: string | null,
): void {
  const word = recipient === null ? kind : (wordOfOne(kind) ?? kind)
  const { status: to, reason } = landingOf(word, failure, takenOverBy)
  meters.count('notifications_settled', { channel, to })
  if (reason !== null) meters.count('notifications_stopped', { reason: reasonWord(reason) })
}

/**
 * Whether an address is learnt to be no good by this. Not by a repetition: somebody may have lifted the ban since. One
 * that was taken before and never settled is the exception: whoever had it may have died in between.
 */
function isNews(answer: ReportEffect, { result, attemptCount }: StoredCallback, { receipt }: ReceiptVerdict): boolean {
  if (answer === 'repeated') return result === null && attemptCount > 1
  // A message that failed after it was delivered says little about the address.
  return answer === 'moved' || (answer === 'kept' && (receipt.kind !== 'failed' || receipt.recipient !== null))
}

/** A notification that cannot be planned takes over from nobody. */
async function fallBack(deps: ReceiptApplierDeps, view: NotificationView): Promise<Takeover | EndedChain | null> {
  try {
    return await deps.fallBack(view)
  } catch (error) {
    if (isPassing(error)) throw error
    const { id: notificationId, correlationId } = view
    const fields = { notificationId, correlationId, error: errorText(error) }
    deps.logger.error(fields, 'the next channel could not be planned; the notification is parked')
    return null
  }
}
