import { changeOf, type Picture } from './audit-pictures.ts'
import { type Dialect, givenRows, rows, type Script } from './script.ts'

/** One row of the audit table; what is left out is null. */
export interface AuditRow {
  tenantId: string | null
  /** `system`, `key:<name>` or `console:<name>`. */
  actor: string
  /** A verb of the states: `park`, `retry`, `replay`, `suspend`, … */
  action: string
  notificationId?: string
  /** What it is about where that is no notification, e.g. `event:<id>`. */
  subject?: string
  /** How many attempts had been made by then. */
  attempt?: number
  from?: string
  to?: string
  reason?: string | null
  /** Why somebody did it, in their own words. */
  note?: string | null
  /** The operation that it was part of. */
  operationId?: string | null
  /** How what was changed stood before and after, where something was: see audit-pictures.ts. */
  before?: object | null
  after?: object | null
}

/** Which accounts a notification moved from and to, as its audit row says it. */
export function moveReason(from: string, to: string): string {
  return `account:${from} → account:${to}`
}

/** For what a notification was skipped, and for what it is since, as its audit row says it. */
export function skipReason(before: string | null, now: string): string {
  return `${before} → ${now}`
}

const COLUMNS = {
  place: 'bigint',
  tenant_id: 'text',
  actor: 'text',
  action: 'text',
  notification_id: 'uuid',
  subject: 'text',
  attempt: 'bigint',
  from_status: 'text',
  to_status: 'text',
  reason: 'text',
  note: 'text',
  operation_id: 'uuid',
  before: 'json',
  after: 'json',
} as const

/** Writes the audit rows of transitions, in their order and in the transaction of the script that makes them. */
export function* writeAudit(dialect: Dialect, ...audits: AuditRow[]): Script<void> {
  if (audits.length === 0) return
  const given = audits.map((audit, place) => ({
    place,
    tenant_id: audit.tenantId,
    actor: audit.actor,
    action: audit.action,
    notification_id: audit.notificationId ?? null,
    subject: audit.subject ?? null,
    attempt: audit.attempt ?? null,
    from_status: audit.from ?? null,
    to_status: audit.to ?? null,
    reason: audit.reason ?? null,
    note: audit.note ?? null,
    operation_id: audit.operationId ?? null,
    before: audit.before ?? null,
    after: audit.after ?? null,
  }))
  yield* rows(
    `insert into pillarbox.audit
        (tenant_id, at, actor, action, notification_id, subject, attempt, from_status, to_status, reason, note,
          operation_id, before, after, salt)
      select g.tenant_id, ${dialect.now}, g.actor, g.action, g.notification_id, g.subject, g.attempt, g.from_status,
        g.to_status, g.reason, g.note, g.operation_id, g.before, g.after,
        case when g.note is not null or g.before is not null or g.after is not null then ${dialect.salt} end
      from :g order by g.place`,
    { g: givenRows(COLUMNS, given) },
  )
}

/** Writes that a noun was made, changed or removed, with what differs. */
export function* writeChange<T extends { tenantId: string; id: string }>(
  dialect: Dialect,
  noun: string,
  { before, after, pictureOf }: { before: T | null; after: T | null; pictureOf: (noun: T) => Picture },
  { action, actor }: { action: string; actor: string },
): Script<void> {
  const changed = after ?? before
  if (!changed) return
  const { tenantId, id } = changed
  const change = changeOf(before && pictureOf(before), after && pictureOf(after))
  yield* writeAudit(dialect, { tenantId, actor, action, subject: `${noun}:${id}`, ...change })
}
