import { isPillarboxError } from '../model/errors.ts'
import type { StoredEvent } from '../model/event.ts'
import type { NewNotification } from '../model/notification.ts'
import type { Clock, IdSource, Logger, Random } from '../model/ports.ts'
import { type RetryPolicy, retryDelay } from '../model/retry.ts'
import type { Renderer } from '../render/render.ts'
import type { Hub } from '../runtime/hub.ts'
import { createPoll } from '../runtime/poll.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import type { ContextBook } from './context-book.ts'
import type { Stop } from './judge.ts'
import { progressOf } from './part.ts'
import { createPeopleBook, type PeopleBook } from './people.ts'
import { type Assignment, nobodyFound, planNotifications } from './plan-event.ts'
import type { Cancels, EventPlan, Planned, SchedulePlan } from './plan-store.ts'
import { type Brief, createPreparation, type Preparation, type Row } from './prepare.ts'
import type { ResolveHook } from './resolve-hook.ts'
import { createTemplateUses, type TemplateUses } from './template-uses.ts'

/**
 * The planning loop: pending events become schedules, due ones at once notifications; due schedules become
 * notifications. A batch is prepared, then planned in one transaction. When it is refused, its rows go one by one, and
 * the row that is at fault is set back alone, up to five times, then failed: it cannot take the batch with it.
 */
export interface PlannerDeps {
  store: Pick<Store, 'plan' | 'people' | 'lists' | 'templates'>
  contexts: ContextBook
  renderer: Renderer
  sealing: Pick<PayloadSeal, 'openPayload' | 'sealContent'>
  /** The host's, in embedded use. */
  resolve: ResolveHook | null
  hub: Hub
  clock: Clock
  random: Random
  ids: IdSource
  logger: Logger
  settings: { batchRows: number; pollMaxMs: number }
}

export interface Planner {
  /** One batch of events and one of schedules. Answers how many rows reached a decision. */
  round(): Promise<number>
  /** Rounds until `stop`, as soon as there is something to plan. */
  run(stop: AbortSignal): Promise<void>
}

/** Planning that fails is tried again after 1, 2, 4, 8 minutes, then given up. */
const RETRY: RetryPolicy = { kind: 'list', delaysMs: [60_000, 120_000, 240_000, 480_000] }

export function createPlanner(deps: PlannerDeps): Planner {
  const { store, clock, ids, logger } = deps
  const parts: Parts = {
    ...deps,
    people: createPeopleBook({ people: store.people, clock, ids }),
    uses: createTemplateUses(store.templates, logger),
  }
  const round = async (): Promise<number> =>
    (await planBatch(parts, eventRows)) + (await planBatch(parts, scheduleRows))
  return {
    round,
    async run(stop) {
      const poll = createPoll(deps.random, deps.settings.pollMaxMs)
      while (!stop.aborted) {
        let decided = 0
        try {
          decided = await round()
        } catch (error) {
          logger.warn({ error: String(error) }, 'planning failed; trying again')
        }
        if (decided > 0) poll.found()
        else await deps.hub.events.wait(poll.nextMs(), stop)
      }
    },
  }
}

/** The planner's parts; what it remembers from batch to batch is in `people`, `uses` and `contexts`. */
interface Parts extends PlannerDeps {
  people: PeopleBook
  uses: TemplateUses
}

/** Events and schedules are planned alike; only how they are taken, answered for and set back differs. */
interface Source {
  take(parts: Parts, limit: number, batch: Batch): Promise<Planned>
  defer(parts: Parts, row: Row, error: string, delayMs: number | null): Promise<void>
}

interface Batch {
  preparation: Preparation
  /** The row that was asked about last; null when it got to none. */
  last: Row | null
}

const eventRows: Source = {
  take(parts, limit, batch) {
    const rowOf = (event: StoredEvent): Row => ({ event, schedule: null })
    return parts.store.plan.events(limit, {
      prepare: (events) => prepare(parts, batch, events.map(rowOf)),
      plan: (event) => {
        batch.last = rowOf(event)
        return eventPlan(parts, batch, batch.last)
      },
    })
  },
  async defer({ store }, { event: { tenantId, id } }, error, delayMs) {
    await store.plan.deferEvent({ tenantId, id }, error, delayMs)
  },
}

const scheduleRows: Source = {
  take(parts, limit, batch) {
    return parts.store.plan.schedules(limit, {
      prepare: (due) => prepare(parts, batch, due),
      plan: (due) => {
        batch.last = due
        return schedulePlan(parts, batch, due)
      },
    })
  },
  async defer({ store }, { schedule }, error, delayMs) {
    if (schedule) await store.plan.deferSchedule({ tenantId: schedule.tenantId, id: schedule.id }, error, delayMs)
  },
}

function prepare(parts: Parts, batch: Batch, rows: readonly Row[]): Promise<void> | void {
  // A batch of one that cannot be prepared is that row's fault; of several it is not known whose.
  batch.last = rows.length === 1 ? (rows[0] ?? null) : null
  // A store may take rows a second time where a first take came to nothing.
  batch.preparation = createPreparation(parts)
  return batch.preparation.prepare(rows)
}

async function planBatch(parts: Parts, source: Source): Promise<number> {
  const planned = await take(parts, source, parts.settings.batchRows)
  if (planned.lanes.length > 0) parts.hub.nudge('dispatch', planned.lanes)
  await parts.uses.flush()
  return planned.decided
}

async function take(parts: Parts, source: Source, limit: number): Promise<Planned> {
  const batch: Batch = { preparation: createPreparation(parts), last: null }
  try {
    const planned = await source.take(parts, limit, batch)
    const deferrals = batch.preparation.deferrals()
    for (const { row, error } of deferrals) await setBack(parts, source, row, error)
    return { ...planned, decided: planned.decided + deferrals.length }
  } catch (error) {
    if (isPillarboxError(error, 'store_unavailable')) throw error
    if (limit > 1) return oneByOne(parts, source, limit)
    if (!batch.last) throw error
    await setBack(parts, source, batch.last, error instanceof Error ? error.message : String(error))
    return { taken: 1, decided: 1, inserted: 0, lanes: [] }
  }
}

async function oneByOne(parts: Parts, source: Source, limit: number): Promise<Planned> {
  const sum: Planned = { taken: 0, decided: 0, inserted: 0, lanes: [] }
  for (let i = 0; i < limit; i++) {
    const planned = await take(parts, source, 1)
    if (planned.taken === 0) break
    sum.taken += planned.taken
    sum.decided += planned.decided
    sum.inserted += planned.inserted
    sum.lanes.push(...planned.lanes)
    if (planned.decided === 0) break
  }
  return sum
}

async function setBack(parts: Parts, source: Source, row: Row, error: string): Promise<void> {
  const { tenantId, id, attemptCount } = row.schedule ?? row.event
  const delayMs = retryDelay(RETRY, attemptCount + 1, parts.random())
  const { correlationId } = row.event
  parts.logger.error({ id, tenantId, correlationId, error, delayMs }, 'a row cannot be planned; it waits alone')
  await source.defer(parts, row, error, delayMs)
}

function eventPlan(parts: Parts, { preparation }: Batch, row: Row): EventPlan {
  const { event } = row
  const brief = preparation.brief(row)
  const context = preparation.context(event)
  if (brief.kind === 'later' || !context) return { kind: 'later' }
  if (brief.kind === 'failed') return failed(parts, event, brief)
  const scheduleId = parts.ids()
  const replaces = context.eventType?.replaces ?? false
  const cancels: Cancels | null =
    replaces || context.cancels.length > 0 ? { eventTypes: context.cancels, replaces } : null
  switch (brief.kind) {
    case 'wait':
      return { kind: 'schedule', scheduleId, dueAt: brief.dueAt, needsApproval: brief.needsApproval, cancels }
    case 'cancelled':
      return { kind: 'cancelled', scheduleId, reason: brief.reason, error: brief.error, cancels }
    case 'silent':
      return { kind: 'notifications', scheduleId, notifications: [], cancels }
    case 'tell':
      return { kind: 'notifications', scheduleId, notifications: told(parts, brief, scheduleId), cancels }
  }
}

function schedulePlan(parts: Parts, { preparation }: Batch, row: Row): SchedulePlan {
  const { event, schedule } = row
  const brief = preparation.brief(row)
  if (!schedule) return { kind: 'later' }
  switch (brief.kind) {
    case 'later':
    case 'wait':
      return { kind: 'later' }
    case 'failed':
      return failed(parts, event, brief)
    case 'cancelled':
      return { kind: 'cancelled', reason: brief.reason, error: brief.error }
    case 'silent':
      return { kind: 'notifications', notifications: [] }
    case 'tell': {
      const notifications = told(parts, brief, schedule.id)
      const { part } = brief
      // The last part, too, is written as a part, so that the progress ends where it should; then it is completed.
      const isWhole = schedule.progress === null ? part.isLast : part.isLast && part.taken === 0
      return isWhole
        ? { kind: 'notifications', notifications }
        : { kind: 'part', notifications, progress: progressOf(schedule.progress, part) }
    }
  }
}

function told(parts: Parts, brief: Brief & { kind: 'tell' }, scheduleId: string): NewNotification[] {
  const { due, dueAt, part, addressees } = brief
  const assignment: Assignment = { due, dueAt, scheduleId, manual: null, tools: parts }
  const notifications =
    part.isLast && part.next.found === 0
      ? [nobodyFound(assignment)]
      : planNotifications(assignment, { addressees, stopped: part.stopped })
  parts.uses.saw(notifications)
  return notifications
}

/** Committed by its host and never to be delivered as it is: somebody should hear of it. It can be replayed. */
function failed({ logger }: Parts, { tenantId, id, type, correlationId }: StoredEvent, { reason, error }: Stop) {
  logger.warn(
    { tenantId, eventId: id, eventType: type, correlationId, reason, error },
    'an event failed; replay it once that is mended',
  )
  return { kind: 'failed', reason, error } as const
}
