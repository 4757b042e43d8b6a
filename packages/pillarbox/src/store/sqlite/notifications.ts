import type { NewNotification } from '../../model/notification.ts'
import { addressOf } from '../../model/recipient.ts'
import type { NotificationStore } from '../../plan/notification-store.ts'
import { isSealed, jsonText } from '../shared/fields.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './scripts.ts'

export function sqliteNotifications({ connection, writer }: Connections): Pick<NotificationStore, 'insert'> {
  return {
    insert: (notifications) =>
      writer.write((now) =>
        notifications.map((notification) => {
          const { id, duplicate } = insertNotification(connection, notification, now)
          return { id, duplicate }
        }),
      ),
  }
}

const INSERT = `insert into pillarbox.notifications
  (id, tenant_id, idempotency_key, channel, account_id, provider, recipient, address, content, event_id, event_type,
   schedule_id, entity_type, entity_id, template_id, template_version, locale, correlation_id, execution_id,
   parent_execution_id, site, triggered_by, fallback, fallback_of, warnings, contact_id, conversation_id, policy, due_at,
   expires_at, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
   $25, $26, $27, $28, $29, $30, $31)
  on conflict (tenant_id, idempotency_key) do nothing`

const ENQUEUE = 'insert into pillarbox.dispatch (notification_id, lane_id, visible_at) values ($1, $2, $3)'

const PARK = `insert into pillarbox.settled (notification_id, tenant_id, status, reason, last_error, settled_at)
  values ($1, $2, 'parked', $3, $4, $5)`

const SEAL = 'insert into pillarbox.sealed_contents (notification_id, tenant_id, event_id) values ($1, $2, $3)'

/**
 * One ledger row with its dispatch or settled row, inside a transaction. `lane`: the account that now has due work.
 * A repeated key answers the first one's id and writes nothing.
 */
export function insertNotification(
  connection: Connection,
  n: NewNotification,
  now: number,
): { id: string; duplicate: boolean; lane: string | null } {
  const written = connection
    .prepare(INSERT)
    .run(
      n.id,
      n.tenantId,
      n.idempotencyKey,
      n.channel,
      n.accountId,
      n.provider,
      JSON.stringify(n.to),
      addressOf(n.channel, n.to),
      jsonText(n.content),
      n.eventId,
      n.eventType,
      n.scheduleId,
      n.entity?.type ?? null,
      n.entity?.id ?? null,
      n.templateId,
      n.templateVersion,
      n.locale,
      n.correlationId,
      n.executionId,
      n.parentExecutionId,
      n.site,
      n.triggeredBy,
      n.fallback.length > 0 ? JSON.stringify(n.fallback) : null,
      n.fallbackOf,
      n.warnings.length > 0 ? JSON.stringify(n.warnings) : null,
      n.contactId,
      n.conversationId,
      jsonText(n.policy),
      n.dueAt,
      n.expiresAt,
      now,
    )
  if (written.changes === 0) {
    const first = connection
      .prepare('select id from pillarbox.notifications where tenant_id = $1 and idempotency_key = $2')
      .get(n.tenantId, n.idempotencyKey)
    return { id: String(first?.['id']), duplicate: true, lane: null }
  }
  if (isSealed(n.content)) connection.prepare(SEAL).run(n.id, n.tenantId, n.eventId)
  if (n.parked) {
    connection.prepare(PARK).run(n.id, n.tenantId, n.parked.reason, n.parked.error, now)
    return { id: n.id, duplicate: false, lane: null }
  }
  const visibleAt = Math.max(n.dueAt ?? now, now)
  connection.prepare(ENQUEUE).run(n.id, n.accountId, visibleAt)
  return { id: n.id, duplicate: false, lane: visibleAt <= now ? n.accountId : null }
}
