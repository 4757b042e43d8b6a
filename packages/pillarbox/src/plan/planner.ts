import { POISONED, SUSPECT } from '../model/crash.ts'
import { isPassing } from '../model/errors.ts'
import type { StoredEvent } from '../model/event.ts'
import type { Clock, IdSource, Logger, Random } from '../model/ports.ts'
import { PLAN_RETRY_DELAYS_MS } from '../model/retry.ts'
import type { Hub } from '../runtime/hub.ts'
import { createPoll } from '../runtime/poll.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import { PLANNING, type Untrusted } from '../untrusted/untrusted.ts'
import type { ContextBook } from './context-book.ts'
import type { CrashGuard } from './crash-guard.ts'
import { createPeopleBook, type PeopleBook } from './people.ts'
import { planEvent, planSchedule } from './plan-event.ts'
import type {
  DueSchedule,
  EventPlan,
  PlanStore,
  RowRefs,
  SchedulePlan,
  TakenBatch,
  WrittenBatch,
} from './plan-store.ts'
import { type DueRow, type PreparedRow, prepare } from './prepare.ts'
import type { ResolveHook } from './resolve-hook.ts'
import { isTelling, reviveStanding } from './revive.ts'
import { isChain } from './routes.ts'
import type { SkipReport } from './skip-report.ts'
import type { SuppressionCheck } from './suppressed.ts'
import { createTemplateUses, type TemplateUses } from './template-uses.ts'

/**
 * The planning loop: pending events become schedules, due ones at once notifications; due schedules become
 * notifications. A batch is taken, prepared, planned and written. When it is refused, its rows go one by one, and the row
 * that is at fault is set back alone, as often as there are delays, then failed: it cannot take the batch with it.
 */
export interface PlannerDeps {
  store: Pick<Store, 'plan' | 'people' | 'lists' | 'templates' | 'notifications'>
  contexts: ContextBook
  suppressions: SuppressionCheck
  untrusted: Untrusted
  sealing: Pick<PayloadSeal, 'openPayload' | 'sealContent' | 'sealedFor'>
  /** The host's, in embedded use. */
  resolve: ResolveHook | null
  hub: Hub
  skips: SkipReport
  /** Null: rows that end the process are not looked for. */
  guard: CrashGuard | null
  clock: Clock
  random: Random
  ids: IdSource
  logger: Logger
  /** `retryDelaysMs`: how long a row waits that cannot be planned, before each further try. Default: 1 to 16 minutes. */
  settings: { batchRows: number; pollMaxMs: number; retryDelaysMs?: readonly number[] }
}

export interface Planner {
  /** One batch of events and one of schedules. Answers how many rows reached a decision. */
  round(): Promise<number>
  /** Rounds until `stop`, as soon as there is something to plan. */
  run(stop: AbortSignal): Promise<void>
}

export function createPlanner(deps: PlannerDeps): Planner {
  const { store, clock, ids, logger, settings } = deps
  const tools: PlannerTools = {
    ...deps,
    turn: PLANNING,
    people: createPeopleBook({ people: store.people, clock, ids }),
    uses: createTemplateUses(store.templates, logger),
  }
  const round = async (): Promise<number> => {
    try {
      return (
        (await planBatch(tools, EVENTS, settings.batchRows)) + (await planBatch(tools, SCHEDULES, settings.batchRows))
      )
    } finally {
      await deps.guard?.end()
    }
  }
  return {
    round,
    async run(stop) {
      const leave = (): void =>
        void deps.guard
          ?.leave()
          .catch((error: unknown) => logger.warn({ error: String(error) }, 'a planning note could not be withdrawn'))
      stop.addEventListener('abort', leave, { once: true })
      const poll = createPoll(deps.random, settings.pollMaxMs)
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

/** What the planner remembers from batch to batch is in `contexts`, `people` and `uses`. */
interface PlannerTools extends PlannerDeps {
  turn: string
  people: PeopleBook
  uses: TemplateUses
}

/** Events and schedules are planned alike; only how they are taken, planned and set back differs. */
interface RowKind<Taken, Plan> {
  take(plan: PlanStore, limit: number): Promise<TakenBatch<Taken, Plan>>
  rowOf(taken: Taken): DueRow
  plan(tools: PlannerTools, row: PreparedRow): Promise<Plan>
  defer(plan: PlanStore, row: DueRow, error: string, delayMs: number | null): Promise<void>
}

const EVENTS: RowKind<StoredEvent, EventPlan> = {
  take: (plan, limit) => plan.takeEvents(limit),
  rowOf: (event) => ({ event, schedule: null }),
  plan: planEvent,
  defer: (plan, { event: { tenantId, id } }, error, delayMs) => plan.deferEvent({ tenantId, id }, error, delayMs),
}

const SCHEDULES: RowKind<DueSchedule, SchedulePlan> = {
  take: (plan, limit) => plan.takeSchedules(limit),
  rowOf: (due) => due,
  async plan(tools, row) {
    const plan = await planSchedule(tools, row)
    const { judgement } = row
    const isAgain = judgement.kind === 'tell' && judgement.standing.length > 0
    if (!isAgain || !('notifications' in plan)) return plan
    await tools.uses.note(plan.notifications ?? [])
    const { standing, due } = judgement
    const rest = await reviveStanding(tools.store.notifications, plan, { standing, isChain: isChain(due) })
    tools.hub.nudge('dispatch')
    // What was retried by hand meanwhile tells somebody.
    return standing.some(isTelling) && 'untold' in rest ? { ...rest, untold: null } : rest
  },
  async defer(plan, { schedule }, error, delayMs) {
    if (schedule) await plan.deferSchedule({ tenantId: schedule.tenantId, id: schedule.id }, error, delayMs)
  },
}

/** Takes, prepares, plans and writes up to `limit` rows. Answers how many reached a decision. */
async function planBatch<Taken, Plan extends EventPlan | SchedulePlan>(
  tools: PlannerTools,
  kind: RowKind<Taken, Plan>,
  limit: number,
): Promise<number> {
  let batch: TakenBatch<Taken, Plan> | null = null
  let planned: { rows: readonly PreparedRow[]; plans: readonly Plan[]; written: WrittenBatch }
  try {
    batch = await kind.take(tools.store.plan, limit)
    if (batch.rows.length === 0) return 0
    const { crashes } = batch
    // One of them may have ended a process: alone, the next time tells which.
    if (batch.rows.length > 1 && crashes.some((known) => known >= SUSPECT && known < POISONED)) {
      await batch.release()
      return await oneByOne(tools, kind, limit)
    }
    const due = batch.rows.map((taken, i) => ({ ...kind.rowOf(taken), crashes: crashes[i] ?? 0 }))
    const dead = (await tools.guard?.begin(refsOf(due))) ?? []
    if (dead.length > 0) {
      await batch.release()
      await tools.guard?.count(dead)
      return await planBatch(tools, kind, limit)
    }
    const rows = await prepare(tools, due)
    const plans = await Promise.all(rows.map((row) => kind.plan(tools, row)))
    // First, as every intake does: a template that is taken for used is deactivated instead of removed, which harms nobody.
    await tools.uses.note(plans.flatMap((plan) => ('notifications' in plan ? plan.notifications : [])))
    planned = { rows, plans, written: await batch.write(plans) }
  } catch (error) {
    await batch?.release()
    if (isPassing(error)) throw error
    const [first, ...others] = batch?.rows ?? []
    // The planner cannot tell which of several rows is at fault, nor which row could not even be read: each is tried alone.
    if (limit > 1 && (first === undefined || others.length > 0)) return oneByOne(tools, kind, limit)
    if (first === undefined) throw error
    await setBack(tools, kind, kind.rowOf(first), error instanceof Error ? error.message : String(error))
    return 1
  }
  const { rows, plans, written } = planned
  reportSkips(tools, rows, plans, written)
  if (written.lanes.length > 0) tools.hub.nudge('dispatch', written.lanes)
  return written.decided + (await afterWrite(tools, kind, rows, plans))
}

function reportSkips(
  { skips }: PlannerTools,
  rows: readonly PreparedRow[],
  plans: readonly (EventPlan | SchedulePlan)[],
  { duplicates = [] }: WrittenBatch,
): void {
  const repeated = new Map(duplicates.map((each) => [each.id, each]))
  for (const [i, { schedule }] of rows.entries()) {
    const plan = plans[i]
    if (!plan || !('notifications' in plan)) continue
    const written = (plan.notifications ?? []).map((each) => repeated.get(each.id) ?? each)
    skips.note(written, schedule !== null && schedule.progress !== null)
  }
}

function refsOf(rows: readonly DueRow[]): RowRefs {
  const refs = rows.map(({ event, schedule }) => schedule ?? event)
  return { kind: rows[0]?.schedule ? 'schedule' : 'event', rows: refs.map(({ tenantId, id }) => ({ tenantId, id })) }
}

/** Answers how many rows were set back. */
async function afterWrite<Taken, Plan extends EventPlan | SchedulePlan>(
  tools: PlannerTools,
  kind: RowKind<Taken, Plan>,
  rows: readonly PreparedRow[],
  plans: readonly Plan[],
): Promise<number> {
  for (const [i, { event }] of rows.entries()) if (plans[i]?.kind === 'failed') warnOfFailure(tools, event, plans[i])
  const refused = rows.filter((row) => row.setBack !== null)
  for (const row of refused) await setBack(tools, kind, row, row.setBack ?? '')
  return refused.length
}

async function oneByOne<Taken, Plan extends EventPlan | SchedulePlan>(
  tools: PlannerTools,
  kind: RowKind<Taken, Plan>,
  limit: number,
): Promise<number> {
  let decided = 0
  for (let i = 0; i < limit; i++) {
    const more = await planBatch(tools, kind, 1)
    if (more === 0) break
    decided += more
  }
  return decided
}

async function setBack<Taken, Plan>(
  { store, settings, logger }: PlannerTools,
  kind: RowKind<Taken, Plan>,
  row: DueRow,
  error: string,
): Promise<void> {
  const { tenantId, id, attemptCount } = row.schedule ?? row.event
  const delayMs = (settings.retryDelaysMs ?? PLAN_RETRY_DELAYS_MS)[attemptCount] ?? null
  const { correlationId } = row.event
  logger.error({ id, tenantId, correlationId, error, delayMs }, 'a row cannot be planned; it waits alone')
  await kind.defer(store.plan, row, error, delayMs)
}

/** Tells the operator of an event that its host committed and that will not be delivered as it is. */
function warnOfFailure(
  { logger }: PlannerTools,
  { tenantId, id, type, correlationId }: StoredEvent,
  { reason, error }: Extract<EventPlan, { kind: 'failed' }>,
): void {
  const fields = { tenantId, eventId: id, eventType: type, correlationId, reason, error }
  logger.warn(fields, 'an event failed; replay it once its cause is mended')
}
