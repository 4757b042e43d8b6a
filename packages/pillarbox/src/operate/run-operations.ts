import { errorText, isPassing, isPillarboxError } from '../model/errors.ts'
import { isLive, type NotificationStatus } from '../model/notification.ts'
import { type ItemOutcome, type Operation, sends } from '../model/operation.ts'
import type { Meters } from '../model/ports.ts'
import { type ChoreDeps, runChore } from '../runtime/chore.ts'
import type { Store } from '../store/store.ts'
import { type ActDeps, actOnNotification } from './act.ts'
import type { CanaryItem, Checkpoint, TakenOperation } from './operation-store.ts'
import { type ResendOneDeps, resendNotification } from './resend.ts'

/**
 * Works on operations, a slice of one at a time and each in turn, so that a long one holds no other up. An item is moved
 * and marked in one transaction, so it does not matter when the process ends, nor whether two workers have the same
 * operation: its lease only keeps them from doing the same work.
 *
 *   take ─▶ move the next items ─▶ count them ─▶ give it back        canary: … ─▶ wait for what became of them ─▶ the rest
 */
export interface OperationsDeps extends ChoreDeps, Omit<ActDeps, 'store'>, Omit<ResendOneDeps, 'store' | 'rewrite'> {
  store: Pick<Store, 'operations' | 'notifications' | 'suppressions'>
  meters: Meters
}

/** Several times what a page takes. Where a worker is gone, another one goes on after it. */
const LEASE_MS = 5_000
/** Moved between two looks at the clock, and so many of them side by side: PostgreSQL has a connection left for people. */
const PAGE_ITEMS = 100
const AT_ONCE = 3
/** After so long the next operation has its turn. */
const SLICE_MS = 2_000
/** How long what became of a canary is waited for, and how often it is looked at. */
export const CANARY_MS = 10 * 60_000
const LOOK_EVERY_MS = 500

export function runOperations(deps: OperationsDeps, stop: AbortSignal): Promise<void> {
  const work = (): Promise<boolean> => operate(deps, stop)
  return runChore(deps, { work, trouble: 'operations could not be worked on' }, stop)
}

/** Works on the operation whose turn it is; false: there is none. */
export async function operate(deps: OperationsDeps, stop: AbortSignal): Promise<boolean> {
  const operation = await deps.store.operations.take(LEASE_MS)
  if (operation) await workOn(deps, operation, stop)
  return operation !== null
}

const MOST_DROPPED = 1_000
const REMEMBERED_MS = 86_400_000

/** Removes what previews chose that nobody started. */
export function runPreviewDropper(
  deps: ChoreDeps & { store: Pick<Store, 'operations'> },
  stop: AbortSignal,
): Promise<void> {
  const limits = { rows: MOST_DROPPED, rememberMs: REMEMBERED_MS }
  const work = async (): Promise<boolean> => (await deps.store.operations.dropPreviews(limits)) >= MOST_DROPPED
  return runChore(deps, { work, trouble: 'previews that expired could not be removed' }, stop)
}

async function workOn(deps: OperationsDeps, operation: TakenOperation, stop: AbortSignal): Promise<void> {
  const { clock, store } = deps
  const sliceEnd = clock.monotonic() + SLICE_MS
  let taken = operation
  for (;;) {
    const next = taken.status === 'canary' ? await flyCanary(deps, taken, stop) : await goOn(deps, taken, stop)
    const isKept = next.isBusy && next.checkpoint.to !== 'failed' && clock.monotonic() < sliceEnd && !stop.aborted
    await store.operations.checkpoint({ ...next.checkpoint, ...(isKept && { leaseMs: LEASE_MS }) })
    if (next.checkpoint.to === 'done' || next.checkpoint.to === 'failed') {
      deps.meters.count('operations_ended', { status: next.checkpoint.to })
      deps.logger.info(
        { operationId: taken.id, tenantId: taken.tenantId, status: next.checkpoint.to },
        'operation ended',
      )
    }
    if (!isKept) return
    taken = {
      ...taken,
      position: next.checkpoint.position,
      status: next.checkpoint.to === 'running' ? 'running' : taken.status,
    }
  }
}

interface Step {
  checkpoint: Checkpoint
  /** There is more to do at once. */
  isBusy: boolean
}

/** The next page, at the operation's pace. */
async function goOn(deps: OperationsDeps, operation: TakenOperation, stop: AbortSignal): Promise<Step> {
  const { perSecond } = operation
  // At most what one second allows, so that somebody who pauses it is obeyed soon.
  const size = perSecond === null ? PAGE_ITEMS : Math.min(PAGE_ITEMS, Math.max(1, Math.floor(perSecond)))
  const { position, isEnd } = await moveItems(deps, operation, size, stop)
  const moved = position - operation.position
  const leaseMs = perSecond === null ? 0 : Math.ceil((moved / perSecond) * 1_000)
  const checkpoint = { ...standing(operation), position, to: isEnd ? ('done' as const) : null, leaseMs }
  return { checkpoint, isBusy: !isEnd && perSecond === null }
}

/** The first few; then it waits until each of them was sent, and fails where one was not. */
async function flyCanary(deps: OperationsDeps, operation: TakenOperation, stop: AbortSignal): Promise<Step> {
  const { operations } = deps.store
  const before = judgeCanary(operation, await operations.canary(operation.id))
  const missing = operation.canary - before.moved
  // Of those that could not be moved none is left: others go in their place.
  const { position, isEnd } =
    missing > 0 && before.failure === null
      ? await moveItems(deps, operation, missing, stop)
      : { position: operation.position, isEnd: false }
  const { moved, waiting, failure } = judgeCanary(operation, await operations.canary(operation.id))
  const at = { ...standing(operation), position }
  if (failure !== null) {
    const problem = `Of the ${operation.canary} that went first, ${failure}. The others were left as they are.`
    return { checkpoint: { ...at, to: 'failed', problem }, isBusy: false }
  }
  if (isEnd) return { checkpoint: { ...at, to: 'done' }, isBusy: false }
  if (moved < operation.canary) return { checkpoint: at, isBusy: true }
  if (waiting === 0) return { checkpoint: { ...at, to: 'running' }, isBusy: true }
  const { canaryLeftMs } = operation
  if (canaryLeftMs !== null && canaryLeftMs <= 0) {
    const problem = `Of the ${moved} that went first, ${waiting} were not sent within ${CANARY_MS / 60_000} minutes. The others were left as they are.`
    return { checkpoint: { ...at, to: 'failed', problem }, isBusy: false }
  }
  const wait = { leaseMs: LOOK_EVERY_MS, ...(canaryLeftMs === null && { canaryMs: CANARY_MS }) }
  return { checkpoint: { ...at, ...wait }, isBusy: false }
}

/** How many were moved, of how many the outcome is not known yet, and what went wrong with the first that failed. */
function judgeCanary({ action }: Operation, items: readonly CanaryItem[]) {
  const moved = items.filter(({ outcome }) => outcome === 'done')
  const isAwaited = sends(action)
  const refused = items.find(({ outcome }) => outcome === 'failed')
  const stopped = isAwaited && moved.find(({ status }) => !isLive(status) && !ARRIVED.includes(status))
  const failure = refused
    ? `notification ${refused.notificationId} could not be moved: ${refused.why}`
    : stopped
      ? `notification ${stopped.notificationId} is ${stopped.status}: ${stopped.reason}`
      : null
  return { moved: moved.length, waiting: isAwaited ? moved.filter(({ status }) => isLive(status)).length : 0, failure }
}

const ARRIVED: readonly NotificationStatus[] = ['sent', 'delivered', 'read']

function standing({ id, position }: TakenOperation): Checkpoint {
  return { operationId: id, from: position, position, to: null, leaseMs: 0 }
}

/**
 * Moves the items behind where the operation stands. Answers up to where every one has its outcome, as far as is known
 * here: one whose operation was stopped meanwhile has none.
 */
async function moveItems(
  deps: OperationsDeps,
  operation: TakenOperation,
  limit: number,
  stop: AbortSignal,
): Promise<{ position: number; isEnd: boolean }> {
  const { operations } = deps.store
  const items = await operations.nextItems(operation.id, operation.position, limit)
  const open = items.filter(({ outcome }) => outcome === null).values()
  const movers = Array.from({ length: AT_ONCE }, async () => {
    for (const { place, notificationId } of open) {
      if (stop.aborted) return
      await moveItem(deps, operation, { place, notificationId })
    }
  })
  // All of them, so that nothing is under way any more when this ends.
  const ended = await Promise.allSettled(movers)
  for (const each of ended) if (each.status === 'rejected') throw each.reason
  const now = await operations.nextItems(operation.id, operation.position, limit)
  const firstOpen = now.findIndex(({ outcome }) => outcome === null)
  const settled = firstOpen === -1 ? now : now.slice(0, firstOpen)
  const position = settled.at(-1)?.place ?? operation.position
  return { position, isEnd: position >= operation.total }
}

/** They are where nobody expected them: nothing is wrong with them. */
const LEFT_ALONE = ['not_parked', 'not_waiting', 'not_discarded', 'not_found', 'changed_meanwhile'] as const

/** Moves one as if somebody had asked for it alone, and writes down where it was refused. */
async function moveItem(
  deps: OperationsDeps,
  { id: operationId, tenantId, action, options, startedBy: actor, note }: TakenOperation,
  { place, notificationId: id }: { place: number; notificationId: string },
): Promise<void> {
  const item = { operationId, place }
  const request = { tenantId, id, actor, item, ...(note !== null && { note }) }
  try {
    if (action === 'resend') await resendNotification(deps, request)
    else await actOnNotification(deps, { ...request, action, ...options })
  } catch (error) {
    // The store is away, or nobody could make the words: the same is tried again later.
    if (isPassing(error)) throw error
    const isLeftAlone = LEFT_ALONE.some((code) => isPillarboxError(error, code))
    const outcome: ItemOutcome = isLeftAlone ? 'left_alone' : 'failed'
    if (!isPillarboxError(error))
      deps.logger.error({ operationId, notificationId: id, error: errorText(error) }, 'an item of an operation failed')
    const why = isPillarboxError(error) ? `${error.code}: ${error.message}` : 'internal: see the server’s log'
    await deps.store.operations.settleItem(item, { outcome, why: why.slice(0, MOST_OF_WHY) })
  }
}

const MOST_OF_WHY = 500
