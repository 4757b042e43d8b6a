import type { ScheduleStatus } from '../../model/event.ts'
import type { Page, PageOf } from '../../model/page.ts'
import { REASONS, type Reason } from '../../model/reason.ts'
import type { StoredSchedule } from '../../model/schedule.ts'
import type { ScheduleFilter, ScheduleStore } from '../../operate/schedule-store.ts'
import { writeAudit } from './audit.ts'
import { encodeCursor, pageOf } from './cursor.ts'
import { SCHEDULES } from './events.ts'
import { conditionsOf, findBy, uuidOfCursor, whereAll } from './noun.ts'
import { type Dialect, givenList, row, rows, type Script, type ScriptRunner } from './script.ts'

export function sharedSchedules({ dialect, read, report, write }: ScriptRunner): ScheduleStore {
  return {
    find: (tenantId, id) => read(() => findBy(SCHEDULES, { tenantId, id })),
    list: (filter, page) => report(() => listSchedules(dialect, filter, page)),
    act: (request) => write(() => act(dialect, request)),
  }
}

/** In the words of the two indexes by which a tenant's schedules are read, each of one kind. */
const KINDS = { unfinished: `s.status <> 'completed'`, completed: `s.status = 'completed'` } as const

/** So many of either kind are looked at for one page, whatever the filter leaves of them. */
const WINDOW = 10_000

/**
 * Newest first by id. Where no index has just what is asked for, a page ends after so many that were looked at, and says
 * where to go on.
 */
export function* listSchedules(dialect: Dialect, filter: ScheduleFilter, page: Page): Script<PageOf<StoredSchedule>> {
  const before = page.cursor === undefined ? null : uuidOfCursor(page.cursor)
  const values = { ...filter, status: givenList(filter.status ?? []), before, limit: page.limit + 1 }
  const isOfFew = filter.entityId !== undefined || filter.eventId !== undefined
  const kinds = kindsOf(filter)
  const started = before === null ? [] : ['s.id < :before']
  const end = isOfFew || hasOnlyTenant(filter) ? null : yield* endOf(kinds, [...ofTenant(filter), ...started], values)
  const all = [...scheduleConditions(dialect, filter), ...started, ...(end === null ? [] : ['s.id >= :end'])]
  const order = `order by ${isOfFew ? dialect.unindexed('s.id') : 's.id'} desc limit :limit`
  const branches = kinds.map(
    (kind, i) =>
      `select id from (select s.id from pillarbox.schedules s ${whereAll([kind, ...all])} ${order}) source_${i}`,
  )
  const found = yield* rows(
    `select ${SCHEDULES.columnsOf('s')} from (${branches.join(' union all ')}) page cross join pillarbox.schedules s
      where s.id = page.id order by s.id desc limit :limit`,
    { ...values, end },
  )
  const { items, nextCursor } = pageOf(found.map(SCHEDULES.of), page.limit, ({ id }) => [id])
  return { items, nextCursor: nextCursor ?? (end === null ? null : encodeCursor([end])) }
}

/** Below which id one page looks no further; null: it looks at everything. */
function* endOf(kinds: readonly string[], where: readonly string[], values: object): Script<string | null> {
  const ends: string[] = []
  for (const kind of kinds) {
    const found = yield* row(
      `select s.id from pillarbox.schedules s ${whereAll([kind, ...where])} order by s.id desc limit 1 offset ${WINDOW}`,
      values,
    )
    if (found) ends.push(String(found['id']))
  }
  return ends.toSorted().at(-1) ?? null
}

function kindsOf({ status }: ScheduleFilter): string[] {
  if (!status?.length) return Object.values(KINDS)
  const isCompleted = status.includes('completed')
  const isOther = status.some((each) => each !== 'completed')
  return [...(isOther ? [KINDS.unfinished] : []), ...(isCompleted ? [KINDS.completed] : [])]
}

function hasOnlyTenant({ tenantId, ...others }: ScheduleFilter): boolean {
  const { eventType, entityType, dueFrom, dueTo, status } = others
  const isNarrowed = [eventType, entityType, dueFrom, dueTo].some((each) => each !== undefined)
  return !isNarrowed && (tenantId !== undefined ? !status?.some((each) => each !== 'completed') : !status?.length)
}

function ofTenant(filter: ScheduleFilter): string[] {
  return conditionsOf(filter, { tenantId: 's.tenant_id = :tenantId' })
}

function scheduleConditions(dialect: Dialect, filter: ScheduleFilter): string[] {
  const where = conditionsOf(filter, {
    tenantId: 's.tenant_id = :tenantId',
    eventId: 's.event_id = :eventId',
    eventType: 's.event_type = :eventType',
    entityType: 's.entity_type = :entityType',
    entityId: 's.entity_id = :entityId',
    dueFrom: `s.due_at >= ${dialect.instant(':dueFrom')}`,
    dueTo: `s.due_at < ${dialect.instant(':dueTo')}`,
  })
  return filter.status?.length ? [...where, 's.status in (:status)'] : where
}

type ScheduleAct = Parameters<ScheduleStore['act']>[0]
type ScheduleActed = Awaited<ReturnType<ScheduleStore['act']>>

/** From where each action moves a schedule, to where, and the reason it is then on record with. */
const MOVES = {
  cancel: { from: ['pending', 'awaiting_approval'], to: 'cancelled', reason: 'cancelled_by_operator' },
  approve: { from: ['awaiting_approval'], to: 'pending', reason: null },
  reject: { from: ['awaiting_approval'], to: 'cancelled', reason: 'rejected_by_operator' },
  replay: { from: ['failed'], to: 'pending', reason: null },
  'send-now': { from: ['pending'], to: 'pending', reason: null },
} as const satisfies Record<
  ScheduleAct['action'],
  { from: readonly ScheduleStatus[]; to: ScheduleStatus; reason: Reason | null }
>

function* act(dialect: Dialect, { tenantId, id, action, actor, reason: words }: ScheduleAct): Script<ScheduleActed> {
  const schedule = yield* findBy(SCHEDULES, { tenantId, id }, { lockedBy: dialect })
  if (!schedule) return null
  const { status: from } = schedule
  const { to, reason, ...move } = MOVES[action]
  if (!move.from.some((status) => status === from)) return { moved: false, from }
  const changes = {
    approve: `next_attempt_at = due_at, approved_by = :actor, approved_at = ${dialect.now}`,
    replay: `next_attempt_at = ${dialect.now}, attempt_count = 0, crashes = 0, last_error = null, progress = null, is_replayed = true`,
    'send-now': `next_attempt_at = ${dialect.now}`,
    cancel: 'next_attempt_at = null, last_error = :error',
    reject: 'next_attempt_at = null, last_error = :error',
  }[action]
  const error = reason === null ? null : words || REASONS[reason]
  yield* rows(`update pillarbox.schedules set status = :to, ${changes} where id = :id`, {
    id: schedule.id,
    to,
    actor,
    error,
  })
  const subject = `schedule:${schedule.id}`
  yield* writeAudit(dialect, { tenantId, actor, action, subject, from, to, reason, note: words || null })
  return { moved: true, from }
}
