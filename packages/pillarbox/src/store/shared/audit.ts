import type { Dialect, Script } from './script.ts'

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
}

/** Which accounts a notification moved from and to, as its audit row says it. */
export function moveReason(from: string, to: string): string {
  return `account:${from} → account:${to}`
}

/** Writes the audit row of a transition, in the transaction of the script that makes it. */
export function* writeAudit(dialect: Dialect, row: AuditRow): Script<void> {
  yield {
    text: `insert into pillarbox.audit
      (tenant_id, at, actor, action, notification_id, subject, attempt, from_status, to_status, reason)
      values ($1, ${dialect.now}, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [
      row.tenantId,
      row.actor,
      row.action,
      row.notificationId ?? null,
      row.subject ?? null,
      row.attempt ?? null,
      row.from ?? null,
      row.to ?? null,
      row.reason ?? null,
    ],
  }
}
