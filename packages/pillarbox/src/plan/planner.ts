import { CHANNELS, isChannel } from '../model/channel.ts'
import { isPillarboxError } from '../model/errors.ts'
import type { StoredEvent } from '../model/event.ts'
import type { Clock, IdSource, Logger, Random } from '../model/ports.ts'
import type { Reason } from '../model/reason.ts'
import { type RetryPolicy, retryDelay } from '../model/retry.ts'
import type { Renderer } from '../render/render.ts'
import type { Hub } from '../runtime/hub.ts'
import { createPoll } from '../runtime/poll.ts'
import type { EventPlan, Planned, SchedulePlan, Store, StoredSchedule } from '../store/store.ts'
import type { ContextBook, PlanContext } from './context-book.ts'
import { dueAt, planNotifications } from './plan-event.ts'

/**
 * The planning loop: pending events become schedules, due ones at once notifications; due schedules become
 * notifications. A batch is one transaction. When a batch is refused, its rows go one by one, and the row that is at
 * fault is set back alone, up to five times, then failed: it cannot take the batch with it.
 */
export interface PlannerDeps {
  store: Pick<Store, 'plan'>
  contexts: ContextBook
  renderer: Renderer
  hub: Hub
  clock: Clock
  random: Random
  ids: IdSource
  logger: Logger
  settings: { batchRows: number; pollMaxMs: number }
}

/** Planning that a store refuses is tried again after 1, 2, 4, 8 minutes, then fails. */
const RETRY: RetryPolicy = { kind: 'list', delaysMs: [60_000, 120_000, 240_000, 480_000] }

export async function runPlanner(deps: PlannerDeps, stop: AbortSignal): Promise<void> {
  const poll = createPoll(deps.random, deps.settings.pollMaxMs)
  while (!stop.aborted) {
    let decided = 0
    try {
      decided = await planRound(deps)
    } catch (error) {
      deps.logger.warn({ error: String(error) }, 'planning failed; trying again')
    }
    if (decided > 0) poll.found()
    else await deps.hub.events.wait(poll.nextMs(), stop)
  }
}

/** One batch of events and one of schedules. Answers how many rows reached a decision. */
export async function planRound(deps: PlannerDeps): Promise<number> {
  return (await planBatch(deps, eventSource(deps))) + (await planBatch(deps, scheduleSource(deps)))
}

/** Events and schedules are planned alike; only how they are taken and set back differs. */
interface Source {
  take(limit: number): Promise<Planned>
  /** The row that the last take asked about last; null when it got to none. */
  last(): { tenantId: string; id: string; attemptCount: number } | null
  defer(error: string, delayMs: number | null): Promise<void>
  needs: Needs
}

/** What planning a batch needs to know and does not yet, and what was loaded for it. */
interface Needs {
  missing: Map<string, { tenantId: string; eventType: string }>
  /** Good for this batch, however long reading it takes: otherwise large rows could outlast their contexts for ever. */
  loaded: Map<string, PlanContext>
}

async function planBatch(deps: PlannerDeps, source: Source): Promise<number> {
  let decided = 0
  const { missing, loaded } = source.needs
  for (let again = true; again; ) {
    missing.clear()
    const planned = await take(deps, source, deps.settings.batchRows)
    decided += planned.decided
    if (planned.lanes.length > 0) deps.hub.nudge('dispatch', planned.lanes)
    loaded.clear()
    await Promise.all(
      [...missing].map(async ([key, { tenantId, eventType }]) =>
        loaded.set(key, await deps.contexts.load(tenantId, eventType)),
      ),
    )
    again = missing.size > 0
  }
  return decided
}

async function take(deps: PlannerDeps, source: Source, limit: number): Promise<Planned> {
  try {
    return await source.take(limit)
  } catch (error) {
    if (isPillarboxError(error, 'store_unavailable')) throw error
    if (limit > 1) return oneByOne(deps, source, limit)
    await setBack(deps, source, error)
    return { taken: 1, decided: 1, inserted: 0, lanes: [] }
  }
}

async function oneByOne(deps: PlannerDeps, source: Source, limit: number): Promise<Planned> {
  const sum: Planned = { taken: 0, decided: 0, inserted: 0, lanes: [] }
  for (let i = 0; i < limit; i++) {
    const planned = await take(deps, source, 1)
    if (planned.taken === 0) break
    sum.taken += planned.taken
    sum.decided += planned.decided
    sum.inserted += planned.inserted
    sum.lanes.push(...planned.lanes)
    if (planned.decided === 0) break
  }
  return sum
}

async function setBack(deps: PlannerDeps, source: Source, error: unknown): Promise<void> {
  const row = source.last()
  if (!row) throw error
  const delayMs = retryDelay(RETRY, row.attemptCount + 1, deps.random())
  deps.logger.error(
    { id: row.id, tenantId: row.tenantId, error: String(error), delayMs },
    'a row cannot be planned; it waits alone',
  )
  await source.defer(error instanceof Error ? error.message : String(error), delayMs)
}

function eventSource(deps: PlannerDeps): Source {
  let last: StoredEvent | null = null
  const needs: Needs = { missing: new Map(), loaded: new Map() }
  return {
    needs,
    last: () => last,
    take: (limit) => {
      last = null
      return deps.store.plan.events(limit, (event) => {
        last = event
        return planEvent(deps, event, needs)
      })
    },
    async defer(error, delayMs) {
      if (last) await deps.store.plan.deferEvent({ tenantId: last.tenantId, id: last.id }, error, delayMs)
    },
  }
}

function scheduleSource(deps: PlannerDeps): Source {
  let last: StoredSchedule | null = null
  const needs: Needs = { missing: new Map(), loaded: new Map() }
  return {
    needs,
    last: () => last,
    take: (limit) => {
      last = null
      return deps.store.plan.schedules(limit, (schedule, event) => {
        last = schedule
        return planSchedule(deps, schedule, event, needs)
      })
    },
    async defer(error, delayMs) {
      if (last) await deps.store.plan.deferSchedule({ tenantId: last.tenantId, id: last.id }, error, delayMs)
    },
  }
}

function planEvent(deps: PlannerDeps, event: StoredEvent, needs: Needs): EventPlan {
  const context = contextOf(deps, event, needs)
  if (!context) return { kind: 'later' }
  const wrong = malformed(event)
  if (wrong) return failed(deps, event, 'invalid_event', wrong)
  if (!context.tenant) return failed(deps, event, 'invalid_event', `no tenant "${event.tenantId}"`)
  if (!context.eventType)
    return failed(deps, event, 'unknown_event_type', `the catalogue has no event type "${event.type}"`)
  const due = dueAt(event, context.eventType)
  const scheduleId = deps.ids()
  if (due > deps.clock.now()) return { kind: 'schedule', scheduleId, dueAt: due }
  const notifications = planNotifications(event, context.eventType, context, scheduleId, deps)
  return { kind: 'notifications', scheduleId, notifications }
}

function planSchedule(deps: PlannerDeps, schedule: StoredSchedule, event: StoredEvent, needs: Needs): SchedulePlan {
  const context = contextOf(deps, event, needs)
  if (!context) return { kind: 'later' }
  if (!context.eventType)
    return failed(deps, event, 'unknown_event_type', `the catalogue has no event type "${event.type}"`)
  return {
    kind: 'notifications',
    notifications: planNotifications(event, context.eventType, context, schedule.id, deps),
  }
}

/** Committed by its host and never to be delivered as it is: somebody should hear of it. It can be replayed. */
function failed(deps: PlannerDeps, { tenantId, id, type }: StoredEvent, reason: Reason, error: string) {
  deps.logger.warn(
    { tenantId, eventId: id, eventType: type, reason, error },
    'an event failed; replay it once that is mended',
  )
  return { kind: 'failed', reason, error } as const
}

/** What planning this event needs to know; noted as missing where it has to be loaded first. */
function contextOf(deps: PlannerDeps, { tenantId, type: eventType }: StoredEvent, needs: Needs): PlanContext | null {
  const key = `${tenantId}\n${eventType}`
  const context = needs.loaded.get(key) ?? deps.contexts.peek(tenantId, eventType)
  if (!context) needs.missing.set(key, { tenantId, eventType })
  return context
}

/** What a row written past the client may hold in place of what it should; null when it can be planned. */
function malformed({ payload, recipients, channels }: StoredEvent): string | null {
  const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isRecord(payload)) return 'the payload is not an object'
  if (recipients !== null && !(Array.isArray(recipients) && recipients.every(isRecord)))
    return 'recipients is not a list of objects'
  if (channels !== null && !(Array.isArray(channels) && channels.every(isChannel)))
    return `channels is not a list of ${CHANNELS.join(', ')}`
  return null
}
