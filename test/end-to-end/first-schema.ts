/**
 * What somebody had in a database that the first version had made: a row of every table and every state there was. Written
 * for that schema and never to be changed with a later one; what the first version did not know is not in it.
 */

/** Milliseconds of the past, and how the two stores write an instant and a truth. */
export interface Dialect {
  /** What stands before each table's name. */
  prefix: string
  /** An instant so many seconds ago. */
  ago(seconds: number): string
  truth(value: boolean): string
  /** So many claims were made. */
  claims(count: number): string
}

export const DIALECTS: Readonly<Record<'sqlite' | 'postgres', Dialect>> = {
  sqlite: {
    prefix: 'pillarbox_',
    ago: (seconds) => `(cast(unixepoch('subsec') * 1000 as integer) - ${seconds * 1_000})`,
    truth: (value) => (value ? '1' : '0'),
    claims: (count) => `update pillarbox_claim_tokens set value = ${count};`,
  },
  postgres: {
    prefix: 'pillarbox.',
    ago: (seconds) => `(now() - interval '${seconds} seconds')`,
    truth: String,
    claims: (count) => `select setval('pillarbox.claim_tokens', ${count});`,
  },
}

export const TENANT = 'first'

const id = (group: number, n: number): string => `019a0000-000${group}-7000-8000-${String(n).padStart(12, '0')}`
const ACCOUNT = id(1, 1)
const TEMPLATE = id(2, 1)
const WORKER = id(5, 1)

/** Schedules, by the state that each is in; each has an event of its own. */
export const SCHEDULES = ['awaiting_approval', 'pending', 'completed', 'failed', 'cancelled'] as const

/** Notifications, by the state that each is in, and what an upgrade with a running worker makes of it. */
export const NOTIFICATIONS = {
  queued: 'sent',
  retrying: 'sent',
  sending: 'sent',
  sent: 'sent',
  delivered: 'delivered',
  read: 'read',
  parked: 'parked',
  uncertain: 'uncertain',
  failed: 'failed',
  discarded: 'discarded',
  cancelled: 'cancelled',
} as const
export type State = keyof typeof NOTIFICATIONS
export const STATES = Object.keys(NOTIFICATIONS) as State[]

export const notificationId = (state: State): string => id(4, STATES.indexOf(state) + 1)
export const scheduleId = (status: (typeof SCHEDULES)[number]): string => id(3, SCHEDULES.indexOf(status) + 1)

const CALLED: readonly State[] = ['retrying', 'sent', 'delivered', 'read', 'parked', 'uncertain', 'failed', 'discarded']
const WAITING: readonly State[] = ['queued', 'retrying', 'sending']

/** The statements that fill a database of the first schema. */
export function rowsOfFirstSchema({ prefix, ago, truth, claims }: Dialect): string {
  const type = {
    name: 'order.paid',
    entity: 'order',
    once: 'per-event',
    recipients: [{ email: 'email' }],
    delivery: { kind: 'channels', channels: ['email'] },
    afterMs: 0,
  }
  const payload = JSON.stringify({ orderId: 7, email: 'ada@example.test' })
  const event = (name: string, status: string, more: { error?: string; at?: string } = {}): string => `
    insert into ${prefix}events (tenant_id, id, type, entity_type, entity_id, payload, status, next_attempt_at, last_error,
        created_at, published_at)
      values ('${TENANT}', '${name}', 'order.paid', 'order', '${name}', '${payload}', '${status}', ${ago(60)},
        ${text(more.error)}, ${ago(60)}, ${more.at ?? 'null'});`
  return `
    insert into ${prefix}tenants (id, name, default_locale, time_zone, entities, catalogue_version, created_at)
      values ('${TENANT}', 'First', 'en', 'UTC', '{"order":"orders"}', 1, ${ago(9_000)});
    insert into ${prefix}api_keys (id, tenant_id, name, role, hash, created_at)
      values ('${id(6, 1)}', '${TENANT}', 'shop', 'publisher', '${'a'.repeat(64)}', ${ago(9_000)});
    insert into ${prefix}event_types (tenant_id, name, definition)
      values ('${TENANT}', 'order.paid', '${JSON.stringify(type)}');
    insert into ${prefix}templates (id, tenant_id, event_type, channel, locale, subject, body, created_at, updated_at)
      values ('${TEMPLATE}', '${TENANT}', 'order.paid', 'email', 'en', 'Paid', 'Order {{orderId}}', ${ago(9_000)}, ${ago(9_000)});
    insert into ${prefix}accounts (id, tenant_id, channel, provider, name, created_at, updated_at)
      values ('${ACCOUNT}', '${TENANT}', 'email', 'sandbox', 'mail', ${ago(9_000)}, ${ago(9_000)});
    insert into ${prefix}lanes (account_id) values ('${ACCOUNT}');
    insert into ${prefix}workers (id, host, pid, version, started_at, beat_at)
      values ('${WORKER}', 'gone', 4711, '0.1.0', ${ago(9_000)}, ${ago(3_600)});
    ${claims(100)}
    ${event('e-pending', 'pending')}
    ${event('e-failed', 'failed', { error: 'there was no template' })}
    ${SCHEDULES.map((status) => event(`e-${status}-schedule`, 'published', { at: ago(50) })).join('')}
    ${SCHEDULES.map((status) => schedule(status)).join('')}
    ${STATES.map((state) => notification(state)).join('')}
    insert into ${prefix}receipts (tenant_id, provider, provider_message_id, kind, at, received_at, notification_id)
      values ('${TENANT}', 'sandbox', 'message-read', 'read', ${ago(20)}, ${ago(20)}, '${notificationId('read')}');
    insert into ${prefix}audit (tenant_id, at, actor, action, notification_id, from_status, to_status, reason)
      values ('${TENANT}', ${ago(20)}, 'key:ops', 'discard', '${notificationId('discarded')}', 'parked', 'discarded', 'by hand');`

  function schedule(status: (typeof SCHEDULES)[number]): string {
    const waits = status === 'pending' || status === 'awaiting_approval'
    const error = status === 'failed' || status === 'cancelled' ? 'no longer wanted' : undefined
    return `
    insert into ${prefix}schedules (id, tenant_id, event_id, due_at, status, next_attempt_at, last_error, created_at, completed_at)
      values ('${scheduleId(status)}', '${TENANT}', 'e-${status}-schedule', ${ago(40)}, '${status}',
        ${waits ? ago(40) : 'null'}, ${text(error)}, ${ago(50)}, ${status === 'completed' ? ago(40) : 'null'});`
  }

  function notification(state: State): string {
    const of = notificationId(state)
    const outcome = state === 'retrying' ? 'transient' : state === 'uncertain' ? 'unknown' : 'accepted'
    const after = { retrying: 'retrying', uncertain: 'uncertain' }[state as string] ?? 'sent'
    const reason = { cancelled: 'cancelled', uncertain: 'unknown_outcome', failed: 'fallback_triggered:sms' }[
      state as string
    ]
    const isClaimed = state === 'sending'
    const tried = state === 'retrying' || isClaimed ? 1 : 0
    return `
    insert into ${prefix}notifications (id, tenant_id, idempotency_key, channel, account_id, provider, recipient, address, content,
        event_type, entity_type, entity_id, template_id, template_version, locale, triggered_by, due_at, created_at)
      values ('${of}', '${TENANT}', 'key-${state}', 'email', '${ACCOUNT}', 'sandbox', '{"email":"ada@example.test"}',
        'ada@example.test', '{"subject":"Paid","body":"Order 7","data":{}}', 'order.paid', 'order', '${state}', '${TEMPLATE}', 1,
        'en', 'system', ${ago(40)}, ${ago(40)});
    ${
      CALLED.includes(state)
        ? `insert into ${prefix}attempts (notification_id, number, outcome, to_status, duration_ms, started_at, token, worker_id,
        provider, provider_message_id, code, error)
      values ('${of}', 1, '${outcome}', '${after}', 12, ${ago(30)}, 1, '${WORKER}', 'sandbox',
        ${outcome === 'accepted' ? `'message-${state}'` : 'null'}, null, null);`
        : ''
    }
    ${
      WAITING.includes(state)
        ? `insert into ${prefix}dispatch (notification_id, lane_id, visible_at, attempt, spent, token, worker_id, claimed_at)
      values ('${of}', '${ACCOUNT}', ${ago(30)}, ${tried}, ${isClaimed ? 0 : tried},
        ${isClaimed ? `2, '${WORKER}', ${ago(30)}` : 'null, null, null'});`
        : state === 'sent'
          ? ''
          : `insert into ${prefix}settled (notification_id, tenant_id, status, reason, last_error, spent, attempt, possible_duplicate,
        settled_at, delivered_at, read_at)
      values ('${of}', '${TENANT}', '${state}', ${settledReason(state, reason)}, null, 1, 1, ${truth(state === 'uncertain')}, ${ago(20)},
        ${state === 'delivered' || state === 'read' ? ago(25) : 'null'}, ${state === 'read' ? ago(20) : 'null'});`
    }`
  }
}

function settledReason(state: State, reason: string | undefined): string {
  return state === 'delivered' || state === 'read' ? 'null' : text(reason ?? 'permanent_refusal')
}

function text(value: string | undefined): string {
  return value === undefined ? 'null' : `'${value}'`
}
