import { POISONED, SUSPECT } from '../model/crash.ts'
import { isPassing } from '../model/errors.ts'
import type { StoredEvent } from '../model/event.ts'
import type { Clock, IdSource, Logger, Meters, Random, Tracing } from '../model/ports.ts'
import { PLAN_RETRY_DELAYS_MS } from '../model/retry.ts'
import type { Hub } from '../runtime/hub.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import { createAllowance, type MeteredAllowance } from '../untrusted/allowance.ts'
import { PLANNING, type Untrusted } from '../untrusted/untrusted.ts'
import { type ComposeTools, composeGroups } from './compose.ts'
import type { ContextBook } from './context-book.ts'
import type { CrashGuard } from './crash-guard.ts'
import type { Gate } from './gate.ts'
import type { PeopleBook } from './people.ts'
import { draftEvent, draftSchedule, type PlanDraft } from './plan-event.ts'
import { meterPlans } from './plan-meter.ts'
import type {
  DueSchedule,
  EventPlan,
  PlanStore,
  RowRef,
  SchedulePlan,
  TakenBatch,
  TakeTurns,
  WrittenBatch,
} from './plan-store.ts'
import { type DueRow, type PreparedRow, prepare } from './prepare.ts'
import type { ResolveHook } from './resolve-hook.ts'
import { isTelling, reviveStanding } from './revive.ts'
import { isChain } from './routes.ts'
import type { SkipReport } from './skip-report.ts'
import type { SuppressionCheck } from './suppressed.ts'
import type { TemplateUses } from './template-uses.ts'
import { type TracedRows, traceRows } from './trace-rows.ts'
import type { TurnBook } from './turn-book.ts'

/**
 * How one batch is planned: taken, prepared, planned and written. When it is refused, its rows go one by one, and the row
 * that is at fault is set back alone, as often as there are delays, then failed: it cannot take the batch with it. What
 * strangers wrote may take so much time in a batch and no more; the rows that are left wait for the next, and the tenant that
 * took the most is planned apart, until its rows are quick or planned.
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
  meters: Meters
  tracing: Tracing
  /** `retryDelaysMs`: how long a row waits that cannot be planned, before each further try. Default: 1 to 16 minutes. */
  settings: { batchRows: number; pollMaxMs: number; retryDelaysMs?: readonly number[] }
}

/** Processor time that what strangers wrote may take in a batch for all tenants, and in one of a tenant that is slow. */
const BATCH_MS = 300
const APART_MS = 1_000
/** Of a tenant that is planned apart, in one batch. */
export const APART_ROWS = 20
/** A tenant whose rows take less than this each is planned with all others again. */
const QUICK_MS = 5

/** What the planner remembers from batch to batch is in `contexts`, `people`, `uses` and `turns`. */
export interface PlannerTools extends PlannerDeps {
  people: PeopleBook
  uses: TemplateUses
  turns: TurnBook
  gate: Gate
}

/** Which rows a batch may have, and who plans it. */
export interface BatchScope {
  hand: string
  limit: number
  /** The tenant that is planned apart; null: all others. */
  only: string | null
  /** Nothing else is under way. */
  isAlone?: boolean
}

/** Events and schedules are planned alike; only how they are taken, planned and set back differs. */
interface RowKind<Taken, Plan> {
  kind: RowRef['kind']
  take(plan: PlanStore, limit: number, turns: TakeTurns): Promise<TakenBatch<Taken, Plan>>
  rowOf(taken: Taken): DueRow
  draft(tools: PlannerTools, row: PreparedRow): PlanDraft<Plan>
  /** What is left to write of a plan, after what has to be done before it is written. */
  beforeWriting(tools: PlannerTools, row: PreparedRow, plan: Plan): Plan | Promise<Plan>
  defer(plan: PlanStore, row: DueRow, error: string, delayMs: number | null): Promise<void>
}

export const EVENTS: RowKind<StoredEvent, EventPlan> = {
  kind: 'event',
  take: (plan, limit, turns) => plan.takeEvents(limit, turns),
  rowOf: (event) => ({ event, schedule: null }),
  draft: draftEvent,
  beforeWriting: (_tools, _row, plan) => plan,
  defer: (plan, { event: { tenantId, id } }, error, delayMs) => plan.deferEvent({ tenantId, id }, error, delayMs),
}

export const SCHEDULES: RowKind<DueSchedule, SchedulePlan> = {
  kind: 'schedule',
  take: (plan, limit, turns) => plan.takeSchedules(limit, turns),
  rowOf: (due) => due,
  draft: draftSchedule,
  async beforeWriting(tools, { judgement }, plan) {
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

/** One batch; alone where one of its rows may have ended a process, so that the next time tells which. */
export async function planSome<Taken, Plan extends EventPlan | SchedulePlan>(
  tools: PlannerTools,
  kind: RowKind<Taken, Plan>,
  scope: BatchScope,
): Promise<number> {
  const decided = await tools.gate.together(() => planBatch(tools, kind, scope))
  if (decided !== SUSPECTS) return decided
  const alone = await tools.gate.alone(() => oneByOne(tools, kind, { ...scope, isAlone: true }))
  return alone === SUSPECTS ? 0 : alone
}

const SUSPECTS = 'suspects'

/** Takes, prepares, plans and writes a batch. Answers how many rows reached a decision. */
async function planBatch<Taken, Plan extends EventPlan | SchedulePlan>(
  tools: PlannerTools,
  kind: RowKind<Taken, Plan>,
  scope: BatchScope,
): Promise<number | typeof SUSPECTS> {
  const { hand, limit, only, isAlone = false } = scope
  const allowance = createAllowance(only === null ? BATCH_MS : APART_MS)
  const own = { ...tools, allowance, ...(only === null && { turn: PLANNING }) }
  const begunAt = tools.clock.monotonic()
  let batch: TakenBatch<Taken, Plan> | null = null
  let traced: TracedRows<DueRow> | null = null
  let planned: { rows: readonly PreparedRow[]; plans: readonly Plan[]; written: WrittenBatch }
  try {
    batch = await kind.take(tools.store.plan, limit, only === null ? tools.turns.next(kind.kind) : { only })
    if (batch.rows.length === 0) return 0
    const { crashes } = batch
    const hasSuspect = crashes.some((known) => known >= SUSPECT && known < POISONED)
    if (hasSuspect && (!isAlone || batch.rows.length > 1)) {
      await batch.release()
      return SUSPECTS
    }
    const due = batch.rows.map((taken, i) => ({ ...kind.rowOf(taken), crashes: crashes[i] ?? 0 }))
    const dead = (await tools.guard?.begin(hand, due.map(refOf))) ?? []
    if (dead.length > 0) {
      await batch.release()
      await tools.guard?.count(dead)
      return await planBatch(tools, kind, scope)
    }
    traced = traceRows(tools.tracing, due)
    const rows = await prepare(own, traced.rows)
    const plans = await plansOf(own, kind, rows, only !== null)
    // First, as every intake does: a template that is taken for used is deactivated instead of removed, which harms nobody.
    await tools.uses.note(plans.flatMap((plan) => ('notifications' in plan ? plan.notifications : [])))
    planned = { rows, plans, written: await batch.write(plans) }
    traced.end(plans)
  } catch (error) {
    traced?.end(null)
    await batch?.release()
    if (isPassing(error)) throw error
    const [first, ...others] = batch?.rows ?? []
    // The planner cannot tell which of several rows is at fault, nor which row could not even be read: each is tried alone.
    if (limit > 1 && (first === undefined || others.length > 0)) return oneByOne(tools, kind, scope)
    if (first === undefined) throw error
    await setBack(tools, kind, kind.rowOf(first), error instanceof Error ? error.message : String(error))
    return 1
  }
  const { rows, plans, written } = planned
  meterPlans(tools.meters, kind.kind, plans, tools.clock.monotonic() - begunAt)
  reportSkips(tools, rows, plans, written)
  if (written.lanes.length > 0) tools.hub.nudge('dispatch', written.lanes)
  const isTurnMade = passTurn(tools, kind, scope, planned, allowance)
  const decided = written.decided + (await afterWrite(tools, kind, rows, plans))
  return isTurnMade ? Math.max(1, decided) : decided
}

/** The words of all rows are made at once. A row for which there is no time left waits. */
async function plansOf<Taken, Plan extends EventPlan | SchedulePlan>(
  tools: PlannerTools & ComposeTools,
  kind: RowKind<Taken, Plan>,
  rows: readonly PreparedRow[],
  isApart: boolean,
): Promise<Plan[]> {
  const drafts = rows.map((row) => kind.draft(tools, row))
  const groups = drafts.map(({ compositions }) => compositions)
  // Of a tenant that is planned apart, one row has all the time it needs.
  const unlimited = isApart ? 1 : 0
  const patient = { ...tools, allowance: tools.allowance ? { ...tools.allowance, leftMs: () => Infinity } : null }
  const composed = [
    ...(await composeGroups(patient, groups.slice(0, unlimited))),
    ...(await composeGroups(tools, groups.slice(unlimited))),
  ]
  const plans: Plan[] = []
  for (const [i, row] of rows.entries()) {
    const notifications = composed[i]
    const plan = notifications && drafts[i]?.finish(notifications)
    plans.push(plan ? await kind.beforeWriting(tools, row, plan) : ({ kind: 'later' } as Plan))
  }
  return plans
}

/** Whose turn comes next, and who is planned apart. True where that leaves something to be done at once. */
function passTurn<Taken, Plan extends EventPlan | SchedulePlan>(
  { turns, logger }: PlannerTools,
  { kind }: RowKind<Taken, Plan>,
  { only }: BatchScope,
  { rows, plans }: { rows: readonly PreparedRow[]; plans: readonly Plan[] },
  allowance: MeteredAllowance,
): boolean {
  if (only !== null) {
    const planned = plans.filter((plan) => plan.kind !== 'later').length
    if (APART_MS - allowance.leftMs() < planned * QUICK_MS) turns.rejoin(only)
    return false
  }
  turns.served(
    kind,
    rows.map(({ event: { tenantId } }, i) => ({ tenantId, isDecided: plans[i]?.kind !== 'later' })),
  )
  const slow = allowance.toBlame()
  if (slow === null) return false
  turns.setApart(slow)
  logger.warn({ tenantId: slow }, 'what a tenant wrote takes long; its rows are planned apart from all others')
  return true
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

function refOf({ event, schedule }: DueRow): RowRef {
  const { tenantId, id } = schedule ?? event
  return { kind: schedule ? 'schedule' : 'event', tenantId, id }
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
  scope: BatchScope,
): Promise<number | typeof SUSPECTS> {
  let decided = 0
  for (let i = 0; i < scope.limit; i++) {
    const more = await planBatch(tools, kind, { ...scope, limit: 1 })
    if (more === SUSPECTS) return SUSPECTS
    if (more === 0) break
    decided += more
  }
  return decided
}

async function setBack<Taken, Plan>(
  { store, settings, logger, meters }: PlannerTools,
  kind: RowKind<Taken, Plan>,
  row: DueRow,
  error: string,
): Promise<void> {
  const { tenantId, id, attemptCount } = row.schedule ?? row.event
  const delayMs = (settings.retryDelaysMs ?? PLAN_RETRY_DELAYS_MS)[attemptCount] ?? null
  const { correlationId } = row.event
  logger.error({ id, tenantId, correlationId, error, delayMs }, 'a row cannot be planned; it waits alone')
  meters.count('rows_set_back', { kind: kind.kind })
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
