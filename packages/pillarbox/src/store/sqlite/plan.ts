import type { StoredEvent } from '../../model/event.ts'
import { cancelledKey } from '../../model/idempotency.ts'
import type { NewNotification } from '../../model/notification.ts'
import type { Clock } from '../../model/ports.ts'
import type { DueSchedule, EventPlan, PlanStore, SchedulePlan, TakenBatch } from '../../plan/plan-store.ts'
import { duplicateOf, givesKeyTo } from '../shared/duplicates.ts'
import { eventOf, scheduleOf } from '../shared/events.ts'
import { jsonText, textOrNull } from '../shared/fields.ts'
import { eventChange, type NewSchedule, type PlanAudit, scheduleChange } from '../shared/plan-changes.ts'
import type { Row } from '../shared/script.ts'
import { holdsSealed } from '../shared/scrub.ts'
import { insertAudit } from './audit.ts'
import { cancel } from './cancel.ts'
import type { Connection } from './connection.ts'
import { insertDerived } from './events.ts'
import { type Gathered, gather, insertGathered } from './marks.ts'
import { insertNotification } from './notifications.ts'
import type { Connections } from './scripts.ts'
import { createTaking, type RowPlace } from './take.ts'
import { untilFree } from './until-free.ts'

/**
 * Events and schedules are read without a lock; one transaction then writes the plans of those rows that are still as they
 * were read. Batches of events that are under way at once have no row in common; those with rows of the same tenant are
 * written in the order in which they were taken, so that what cancels an event finds what was planned of it. So are batches
 * of schedules. Between the two no order is needed: a schedule that was cancelled meanwhile is not as it was read.
 */
export function sqlitePlan(connections: Connections): Pick<PlanStore, 'takeEvents' | 'takeSchedules'> {
  const [events, eventsUnderWay] = [createTaking(connections, 'events'), createUnderWay(connections.clock)]
  const [schedules, schedulesUnderWay] = [createTaking(connections, 'schedules'), createUnderWay(connections.clock)]
  return {
    takeEvents: (limit, turns) =>
      takeBatch<StoredEvent, EventPlan>(connections, eventsUnderWay, {
        take: (held) => events(limit, turns, held),
        read: eventOf,
        apply: applyEvent,
      }),
    takeSchedules: (limit, turns) =>
      takeBatch<DueSchedule, SchedulePlan>(connections, schedulesUnderWay, {
        take: (held) => schedules(limit, turns, held),
        read: (found) => ({ schedule: scheduleOf(found), event: eventOf(found) }),
        apply: applySchedule,
      }),
  }
}

interface UnlockedBatchKind<Due, Plan> {
  take(held: Iterable<RowPlace>): Row[]
  read(found: Row): Due
  /** False, with nothing written, where the plan is `later` or the row is not as it was found. */
  apply(writing: PlanWriting, found: Row, due: Due, plan: Plan): boolean
}

interface PlanWriting {
  connection: Connection
  now: number
  tally: { inserted: number; lanes: Set<string>; duplicates: NewNotification[]; gathered: Gathered }
}

async function takeBatch<Due, Plan>(
  { connection, writer, clock }: Connections,
  underWay: UnderWay,
  { take, read, apply }: UnlockedBatchKind<Due, Plan>,
): Promise<TakenBatch<Due, Plan>> {
  const found = await untilFree(clock, () => take(underWay.held()))
  const rows = found.map(read)
  const { turn, end } = underWay.begin(found.map(placeOf), new Set(found.map((row) => String(row['tenant_id']))))
  return {
    rows,
    crashes: found.map((row) => Number(row['crashes'])),
    async write(plans) {
      try {
        await turn()
        return await writer.write((now) => {
          const tally: PlanWriting['tally'] = { inserted: 0, lanes: new Set(), duplicates: [], gathered: gather() }
          const decided = rows.filter((row, i) => {
            const [source, plan] = [found[i], plans[i]]
            return source && plan && apply({ connection, now, tally }, source, row, plan)
          }).length
          insertGathered(connection, tally.gathered)
          const { inserted, lanes, duplicates } = tally
          return { decided, inserted, lanes: [...lanes], ...(duplicates.length > 0 && { duplicates }) }
        })
      } finally {
        end()
      }
    },
    release: async () => end(),
  }
}

function placeOf(found: Row): RowPlace {
  return found['place'] as RowPlace
}

/** A batch that was not ended by then is given up by whoever took it: its rows are free, and nobody waits for it. */
const HOLD_MS = 15_000

/** The batches of one kind that this process has not ended. */
interface UnderWay {
  /** Their rows. */
  held(): Iterable<RowPlace>
  begin(places: readonly RowPlace[], tenants: ReadonlySet<string>): HeldBatch
}

interface HeldBatch {
  /** Resolves when every batch that was taken before and has rows of the same tenants has ended. */
  turn(): Promise<void>
  end(): void
}

interface OpenBatch {
  places: readonly RowPlace[]
  tenants: ReadonlySet<string>
  /** When it is given up. */
  until: number
  over: AbortController
}

function createUnderWay(clock: Clock): UnderWay {
  const batches = new Set<OpenBatch>()

  function end(batch: OpenBatch): void {
    if (batches.delete(batch)) batch.over.abort()
  }

  function giveUp(): void {
    for (const batch of batches) if (batch.until <= clock.monotonic()) end(batch)
  }

  return {
    held() {
      giveUp()
      return [...batches].flatMap(({ places }) => places)
    },
    begin(places, tenants) {
      const before = [...batches].filter((other) => [...tenants].some((tenantId) => other.tenants.has(tenantId)))
      const batch = { places, tenants, until: clock.monotonic() + HOLD_MS, over: new AbortController() }
      if (places.length > 0) batches.add(batch)
      return {
        async turn() {
          for (const { until, over } of before)
            if (!over.signal.aborted) await clock.sleep(until - clock.monotonic(), over.signal)
        },
        end: () => end(batch),
      }
    },
  }
}

const SETTLE_EVENT = `update pillarbox.events set status = $4, last_error = $5, published_at = $6,
    attempt_count = attempt_count + 1
  where tenant_id = $1 and id = $2 and status = 'pending' and next_attempt_at = $3`
/** For `scrub`, once nothing needs them any more. */
const NOTE_SEALED_PAYLOAD =
  'insert into pillarbox.sealed_payloads (tenant_id, event_id) values ($1, $2) on conflict do nothing'

function applyEvent(writing: PlanWriting, found: Row, event: StoredEvent, plan: EventPlan): boolean {
  const { connection, now } = writing
  const { tenantId, id } = event
  const change = eventChange(event, plan)
  if (!change) return false
  const isPublished = change.status === 'published'
  const settled = connection
    .prepare(SETTLE_EVENT)
    .run(tenantId, id, Number(found['next_attempt_at']), change.status, change.lastError, isPublished ? now : null)
  if (settled.changes === 0) return false
  for (const ending of change.endings) cancel(connection, ending)
  if (change.schedule) insertSchedule(writing, event, change.schedule)
  insertPlanned(writing, change.notifications)
  for (const derived of change.derived) insertDerived(connection, derived, event)
  auditPlan(writing, tenantId, change.audit)
  if (isPublished && holdsSealed(found['payload'])) connection.prepare(NOTE_SEALED_PAYLOAD).run(tenantId, id)
  return true
}

const INSERT_SCHEDULE = `insert into pillarbox.schedules
  (id, tenant_id, event_id, event_type, entity_type, entity_id, due_at, status, attempt_count, next_attempt_at, last_error,
   created_at, completed_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`

function insertSchedule({ connection, now }: PlanWriting, event: StoredEvent, schedule: NewSchedule): void {
  const { tenantId, id, type, entity } = event
  const { status, attemptCount, lastError, isWaiting, isCompleted } = schedule
  const dueAt = schedule.dueAt ?? now
  connection
    .prepare(INSERT_SCHEDULE)
    .run(
      schedule.id,
      tenantId,
      id,
      type,
      entity.type,
      entity.id,
      dueAt,
      status,
      attemptCount,
      isWaiting ? dueAt : null,
      lastError,
      now,
      isCompleted ? now : null,
    )
}

/** A part that was planned meanwhile may have left everything but the progress as it was. */
const SETTLE_SCHEDULE = `update pillarbox.schedules set status = $4, last_error = $5, next_attempt_at = $6,
    completed_at = $7, attempt_count = attempt_count + $8, progress = coalesce($9, progress),
    crashes = coalesce($10, crashes)
  where id = $1 and status = 'pending' and next_attempt_at = $2 and progress is $3`

function applySchedule(writing: PlanWriting, found: Row, due: DueSchedule, plan: SchedulePlan): boolean {
  const { connection, now } = writing
  const { id, tenantId } = due.schedule
  const change = scheduleChange(due, plan)
  if (!change) return false
  const settled = connection
    .prepare(SETTLE_SCHEDULE)
    .run(
      id,
      Number(found['schedule_next_attempt_at']),
      textOrNull(found['schedule_progress']),
      change.status,
      change.lastError,
      change.isWaiting ? now : null,
      change.isCompleted ? now : null,
      change.attempts,
      jsonText(change.progress),
      change.crashes,
    )
  if (settled.changes === 0) return false
  insertPlanned(writing, change.notifications)
  auditPlan(writing, tenantId, change.audit)
  return true
}

function insertPlanned({ connection, now, tally }: PlanWriting, notifications: readonly NewNotification[]): void {
  for (const notification of notifications) {
    const { duplicate: first, lane } = insertInTurn(connection, notification, now, tally.gathered)
    const skipped = first && duplicateOf(notification, first)
    const isWritten = skipped ? !insertNotification(connection, skipped, now, tally.gathered).duplicate : !first
    if (isWritten) tally.inserted += 1
    if (isWritten && skipped) tally.duplicates.push(skipped)
    if (lane !== null) tally.lanes.add(lane)
  }
}

const GIVE_KEY = 'update pillarbox.notifications set idempotency_key = $2 where id = $1'

/** As its own, or under the key that another one has given up. */
function insertInTurn(connection: Connection, notification: NewNotification, now: number, gathered: Gathered) {
  const written = insertNotification(connection, notification, now, gathered)
  const { duplicate: first } = written
  if (!first || !givesKeyTo(notification, first)) return written
  connection.prepare(GIVE_KEY).run(first.id, cancelledKey(first.id))
  return insertNotification(connection, notification, now, gathered)
}

function auditPlan({ connection }: PlanWriting, tenantId: string, audit: PlanAudit | null): void {
  if (!audit) return
  const { from, ...row } = audit
  insertAudit(connection, { tenantId, actor: 'system', ...row, ...(from !== null && { from }) })
}
