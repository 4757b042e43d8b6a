import type { Channel } from '../../model/channel.ts'
import type { EventRecipient, EventStatus, ScheduleStatus, StoredEvent } from '../../model/event.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type { Progress, StoredSchedule } from '../../model/schedule.ts'
import type { EventFilter, EventStore } from '../../plan/event-store.ts'
import { writeAudit } from './audit.ts'
import { decodeCursor, invalidCursor, pageOf } from './cursor.ts'
import { entityOrNull, textOrNull } from './fields.ts'
import { parameters } from './parameters.ts'
import {
  type Dialect,
  instantOf,
  instantOrNull,
  jsonOf,
  jsonOrNull,
  type Row,
  row,
  rows,
  type Script,
  type ScriptRunner,
} from './script.ts'

/** Reading events and replaying them. */
export function sharedEvents({ dialect, read, write }: ScriptRunner): Pick<EventStore, 'find' | 'list' | 'replay'> {
  return {
    find: (tenantId, id) => read(() => findEvent(tenantId, id)),
    list: (filter, page) => read(() => listEvents(dialect, filter, page)),
    replay: (tenantId, id, actor) => write(() => replayEvent(dialect, tenantId, id, actor)),
  }
}

/** The columns `eventOf` reads, of a table or alias named `e`. */
export const EVENT_COLUMNS = `e.tenant_id, e.id, e.type, e.entity_type, e.entity_id, e.payload, e.occurred_at, e.due_at,
  e.correlation_id, e.locale, e.recipients, e.channels, e.conversation, e.schema_version, e.status, e.attempt_count,
  e.next_attempt_at, e.last_error, e.created_at, e.published_at`

export function eventOf(found: Row): StoredEvent {
  const conversation = jsonOrNull<{ type: string; id: string }>(found['conversation'])
  return {
    id: String(found['id']),
    tenantId: String(found['tenant_id']),
    type: String(found['type']),
    entity: { type: String(found['entity_type']), id: String(found['entity_id']) },
    payload: jsonOf<Record<string, unknown>>(found['payload']),
    occurredAt: instantOrNull(found['occurred_at']),
    dueAt: instantOrNull(found['due_at']),
    correlationId: textOrNull(found['correlation_id']),
    locale: textOrNull(found['locale']),
    recipients: jsonOrNull<EventRecipient[]>(found['recipients']),
    channels: jsonOrNull<Channel[]>(found['channels']),
    conversation: conversation === null ? null : entityOrNull(conversation.type, conversation.id),
    schemaVersion: Number(found['schema_version']),
    status: String(found['status']) as EventStatus,
    attemptCount: Number(found['attempt_count']),
    nextAttemptAt: instantOf(found['next_attempt_at']),
    lastError: textOrNull(found['last_error']),
    createdAt: instantOf(found['created_at']),
    publishedAt: instantOrNull(found['published_at']),
  }
}

/** The columns `scheduleOf` reads, of a schedule `s`; named apart from those of its event, which may stand beside them. */
export const SCHEDULE_COLUMNS = `s.id as schedule_id, s.tenant_id as schedule_tenant, s.event_id as schedule_event,
  s.event_type as schedule_event_type, s.entity_type as schedule_entity_type, s.entity_id as schedule_entity_id,
  s.due_at as schedule_due_at, s.status as schedule_status, s.attempt_count as schedule_attempt_count,
  s.last_error as schedule_last_error, s.created_at as schedule_created_at, s.completed_at as schedule_completed_at,
  s.progress as schedule_progress, s.approved_by as schedule_approved_by, s.approved_at as schedule_approved_at`

export function scheduleOf(found: Row): StoredSchedule {
  return {
    id: String(found['schedule_id']),
    tenantId: String(found['schedule_tenant']),
    eventId: String(found['schedule_event']),
    eventType: String(found['schedule_event_type']),
    entity: { type: String(found['schedule_entity_type']), id: String(found['schedule_entity_id']) },
    dueAt: instantOf(found['schedule_due_at']),
    status: String(found['schedule_status']) as ScheduleStatus,
    attemptCount: Number(found['schedule_attempt_count']),
    lastError: textOrNull(found['schedule_last_error']),
    createdAt: instantOf(found['schedule_created_at']),
    completedAt: instantOrNull(found['schedule_completed_at']),
    progress: jsonOrNull<Progress>(found['schedule_progress']),
    approvedBy: textOrNull(found['schedule_approved_by']),
    approvedAt: instantOrNull(found['schedule_approved_at']),
  }
}

function* findEvent(tenantId: string, id: string): Script<StoredEvent | null> {
  const found = yield* row(`select ${EVENT_COLUMNS} from pillarbox.events e where e.tenant_id = $1 and e.id = $2`, [
    tenantId,
    id,
  ])
  return found && eventOf(found)
}

/** Newest first. The cursor names the last event itself: its time is finer in PostgreSQL than a cursor could say. */
function* listEvents(dialect: Dialect, filter: EventFilter, page: Page): Script<PageOf<StoredEvent>> {
  const { add, values } = parameters()
  const where: string[] = []
  if (filter.tenantId !== undefined) where.push(`e.tenant_id = ${add(filter.tenantId)}`)
  if (filter.status !== undefined) where.push(`e.status = ${add(filter.status)}`)
  if (filter.from !== undefined) where.push(`e.created_at >= ${dialect.instant(add(filter.from))}`)
  if (filter.to !== undefined) where.push(`e.created_at < ${dialect.instant(add(filter.to))}`)
  if (page.cursor !== undefined) {
    const [tenantId = '', id = ''] = decodeCursor(page.cursor, 2)
    // An event that is gone marks no place: better to say so than to end the list early.
    if ((yield* findEvent(tenantId, id)) === null) throw invalidCursor()
    where.push(`(e.created_at, e.tenant_id, e.id) <
      (select c.created_at, c.tenant_id, c.id from pillarbox.events c where c.tenant_id = ${add(tenantId)} and c.id = ${add(id)})`)
  }
  const found = yield* rows(
    `select ${EVENT_COLUMNS} from pillarbox.events e ${where.length ? `where ${where.join(' and ')}` : ''}
      order by e.created_at desc, e.tenant_id desc, e.id desc limit ${add(page.limit + 1)}`,
    values,
  )
  return pageOf(found.map(eventOf), page.limit, (event) => [event.tenantId, event.id])
}

function* replayEvent(dialect: Dialect, tenantId: string, id: string, actor: string): Script<boolean> {
  const moved = yield* row(
    `update pillarbox.events set status = 'pending', attempt_count = 0, next_attempt_at = ${dialect.now}, last_error = null
      where tenant_id = $1 and id = $2 and status = 'failed' returning id`,
    [tenantId, id],
  )
  if (!moved) return false
  yield* writeAudit(dialect, {
    tenantId,
    actor,
    action: 'replay',
    subject: `event:${id}`,
    from: 'failed',
    to: 'pending',
  })
  return true
}
