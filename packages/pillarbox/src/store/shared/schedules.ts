import type { ScheduleStatus } from '../../model/event.ts'
import type { Page, PageOf } from '../../model/page.ts'
import { REASONS, type Reason } from '../../model/reason.ts'
import type { StoredSchedule } from '../../model/schedule.ts'
import type { ScheduleFilter, ScheduleStore } from '../../operate/schedule-store.ts'
import { writeAudit } from './audit.ts'
import { decodeCursor, invalidCursor, pageOf } from './cursor.ts'
import { SCHEDULE_COLUMNS, scheduleOf } from './events.ts'
import { uuidOrNull } from './fields.ts'
import { parameters } from './parameters.ts'
import { type Dialect, row, rows, type Script, type ScriptRunner } from './script.ts'

export function sharedSchedules({ dialect, read, write }: ScriptRunner): ScheduleStore {
  return {
    find: (tenantId, id) => read(() => findSchedule(tenantId, id)),
    list: (filter, page) => read(() => listSchedules(dialect, filter, page)),
    act: (request) => write(() => act(dialect, request)),
  }
}

function* findSchedule(tenantId: string, id: string): Script<StoredSchedule | null> {
  const scheduleId = uuidOrNull(id)
  if (scheduleId === null) return null
  const found = yield* row(
    `select ${SCHEDULE_COLUMNS} from pillarbox.schedules s where s.tenant_id = $1 and s.id = $2`,
    [tenantId, scheduleId],
  )
  return found && scheduleOf(found)
}

function* listSchedules(dialect: Dialect, filter: ScheduleFilter, page: Page): Script<PageOf<StoredSchedule>> {
  const { add, values } = parameters()
  const where: string[] = []
  if (filter.tenantId !== undefined) where.push(`s.tenant_id = ${add(filter.tenantId)}`)
  if (filter.status?.length) {
    where.push(`s.status in (${filter.status.map((status) => add(status)).join(', ')})`)
    // Says in so many words what an index on the few unfinished ones asks for.
    if (!filter.status.includes('completed')) where.push(`s.status <> 'completed'`)
  }
  if (filter.eventType !== undefined) where.push(`s.event_type = ${add(filter.eventType)}`)
  if (filter.entityType !== undefined) where.push(`s.entity_type = ${add(filter.entityType)}`)
  if (filter.entityId !== undefined) where.push(`s.entity_id = ${add(filter.entityId)}`)
  if (filter.dueFrom !== undefined) where.push(`s.due_at >= ${dialect.instant(add(filter.dueFrom))}`)
  if (filter.dueTo !== undefined) where.push(`s.due_at < ${dialect.instant(add(filter.dueTo))}`)
  if (page.cursor !== undefined) {
    const before = uuidOrNull(decodeCursor(page.cursor, 1)[0] ?? '')
    if (before === null) throw invalidCursor()
    where.push(`s.id < ${add(before)}`)
  }
  const found = yield* rows(
    `select ${SCHEDULE_COLUMNS} from pillarbox.schedules s ${where.length ? `where ${where.join(' and ')}` : ''}
      order by s.id desc limit ${add(page.limit + 1)}`,
    values,
  )
  return pageOf(found.map(scheduleOf), page.limit, ({ id }) => [id])
}

type ActRequest = Parameters<ScheduleStore['act']>[0]
type Acted = Awaited<ReturnType<ScheduleStore['act']>>

/** From where each action moves a schedule, to where, and the reason it is then on record with. */
const MOVES = {
  cancel: { from: ['pending', 'awaiting_approval'], to: 'cancelled', reason: 'cancelled_by_operator' },
  approve: { from: ['awaiting_approval'], to: 'pending', reason: null },
  reject: { from: ['awaiting_approval'], to: 'cancelled', reason: 'rejected_by_operator' },
  replay: { from: ['failed'], to: 'pending', reason: null },
} as const satisfies Record<
  ActRequest['action'],
  { from: readonly ScheduleStatus[]; to: ScheduleStatus; reason: Reason | null }
>

function* act(dialect: Dialect, { tenantId, id, action, actor, reason: words }: ActRequest): Script<Acted> {
  const scheduleId = uuidOrNull(id)
  if (scheduleId === null) return null
  // Changes nothing, but locks the row, so that the status read here is the one that is moved from.
  const found = yield* row(
    'update pillarbox.schedules set status = status where tenant_id = $1 and id = $2 returning status',
    [tenantId, scheduleId],
  )
  if (!found) return null
  const from = String(found['status']) as ScheduleStatus
  const { to, reason, ...move } = MOVES[action]
  if (!move.from.some((status) => status === from)) return { moved: false, from }
  if (action === 'approve')
    yield {
      text: `update pillarbox.schedules set status = 'pending', next_attempt_at = due_at, approved_by = $2,
        approved_at = ${dialect.now} where id = $1`,
      values: [scheduleId, actor],
    }
  else if (action === 'replay')
    yield {
      text: `update pillarbox.schedules set status = 'pending', next_attempt_at = ${dialect.now}, attempt_count = 0,
        last_error = null where id = $1`,
      values: [scheduleId],
    }
  else
    yield {
      text: `update pillarbox.schedules set status = 'cancelled', next_attempt_at = null, last_error = $2 where id = $1`,
      values: [scheduleId, words || REASONS[MOVES[action].reason]],
    }
  yield* writeAudit(dialect, { tenantId, actor, action, subject: `schedule:${scheduleId}`, from, to, reason })
  return { moved: true, from }
}
