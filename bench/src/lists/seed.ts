import { DatabaseSync } from 'node:sqlite'
import { withPostgres } from '../postgres-admin.ts'

/** How an engine spells what the rows below are made of. `i` is a row's number, `ms` a time. */
interface Words {
  table: (name: string) => string
  /** A table `g` with a column `i` from 0 up to `count`. */
  numbers: (count: number) => string
  id: (ms: string, i: string) => string
  uuid: (text: string) => string
  instant: (ms: string) => string
  true: string
  false: string
}

const SQLITE: Words = {
  table: (name) => `pillarbox_${name}`,
  numbers: (count) =>
    `(with recursive s (i) as (select 0 union all select i + 1 from s where i < ${count - 1}) select i from s) g`,
  id: (ms, i) => `printf('%08x-%04x-7000-8000-%012x', (${ms}) >> 16, (${ms}) & 65535, ${i})`,
  uuid: (text) => text,
  instant: (ms) => ms,
  true: '1',
  false: '0',
}

const POSTGRES: Words = {
  table: (name) => `pillarbox.${name}`,
  numbers: (count) => `(select i::bigint from generate_series(0, ${count - 1}) i) g`,
  id: (ms, i) =>
    `(substr(lpad(to_hex(${ms}), 12, '0'), 1, 8) || '-' || substr(lpad(to_hex(${ms}), 12, '0'), 9) || '-7000-8000-' || lpad(to_hex(${i}), 12, '0'))::uuid`,
  uuid: (text) => `${text}::uuid`,
  instant: (ms) => `to_timestamp((${ms}) / 1000.0)`,
  true: 'true',
  false: 'false',
}

export const TENANT = 'acme'
export const RARE = {
  eventType: 'booking.rare',
  accountId: '00000000-0000-7000-8000-0000000000d1',
  site: 'harbour',
  channel: 'webhook',
  reason: 'expired',
  fingerprint: 'rare',
} as const
const ACCOUNTS = {
  email: '00000000-0000-7000-8000-0000000000a1',
  sms: '00000000-0000-7000-8000-0000000000b1',
  whatsapp: '00000000-0000-7000-8000-0000000000c1',
} as const
const WEBHOOKS = '00000000-0000-7000-8000-0000000000e1'
const WORKER = '00000000-0000-7000-8000-0000000000f1'

/** The time that notification `i` was made at: one every half second, the last one now. */
export function timeOf(i: number, count: number, now: number): number {
  return now - (count - i) * 500
}

/** The text of a notification's id. */
export function idOf(i: number, count: number, now: number): string {
  const ms = timeOf(i, count, now).toString(16).padStart(12, '0')
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-${i.toString(16).padStart(12, '0')}`
}

/**
 * A ledger of one tenant (and a hundredth of another's): most delivered, a third sent, one in a hundred stopped. What is rare
 * are twenty rows among the oldest hundredth.
 */
function statements(w: Words, count: number, now: number): string[] {
  const ms = `(${now} - (${count} - i) * 500)`
  const isRare = (k: number): string => `(i < ${count / 100} and i % ${count / 2000} = ${k})`
  const tenant = `case when i % 100 = 99 then 'small' else '${TENANT}' end`
  const channel = `case when ${isRare(1)} then 'webhook' when i % 10 < 6 then 'email' when i % 10 < 9 then 'sms' else 'whatsapp' end`
  const account = `case when ${isRare(1)} then ${w.uuid(`'${WEBHOOKS}'`)} when ${isRare(2)} then ${w.uuid(`'${RARE.accountId}'`)}
    when i % 10 < 6 then ${w.uuid(`'${ACCOUNTS.email}'`)} when i % 10 < 9 then ${w.uuid(`'${ACCOUNTS.sms}'`)} else ${w.uuid(`'${ACCOUNTS.whatsapp}'`)} end`
  const type = `case when ${isRare(3)} then '${RARE.eventType}' else 'booking.type' || (i % 20) end`
  const provider = `case when ${isRare(4)} then 'meta' else 'sandbox' end`
  const people = Math.max(1, count / 20)
  const isStopped = '(i % 100 = 7)'
  const isDelivered = `(i % 10 < 7 and not ${isStopped} and not ${isRare(4)})`
  const ledger = `${w.numbers(count)}`
  const accounts = Object.entries({ ...ACCOUNTS, webhook: WEBHOOKS, 'email ': RARE.accountId }).map(
    ([
      name,
      id,
    ]) => `insert into ${w.table('accounts')} (id, tenant_id, channel, provider, name, settings, secret_names, on_unknown, breaker,
      priority, status, created_at, updated_at) values ('${id}', '${TENANT}', '${name.trim()}', 'sandbox', '${id}', '{}', '[]', 'resend',
      '{"failures":5,"resetAfterMs":30000}', 0, 'active', ${w.instant(String(now))}, ${w.instant(String(now))})`,
  )
  return [
    ...[TENANT, 'small'].map(
      (id) => `insert into ${w.table('tenants')} (id, name, default_locale, time_zone, settings, created_at)
        values ('${id}', '${id}', 'en', 'UTC', '{}', ${w.instant(String(now))})`,
    ),
    ...accounts,
    `insert into ${w.table('contacts')} (id, tenant_id, name, phone, email, created_at, updated_at)
      select ${w.id('1000', 'i')}, '${TENANT}', 'Person ' || i, '+49151' || (10000000 + i), 'person' || i || '@example.test',
        ${w.instant(String(now))}, ${w.instant(String(now))} from ${w.numbers(people)}`,
    `insert into ${w.table('contact_identifiers')} (tenant_id, kind, value, contact_id)
      select '${TENANT}', 'email', 'person' || i || '@example.test', ${w.id('1000', 'i')} from ${w.numbers(people)}`,
    `insert into ${w.table('notifications')} (id, tenant_id, idempotency_key, channel, account_id, provider, recipient, address, content,
        event_id, event_type, schedule_id, place, entity_type, entity_id, template_version, site, triggered_by, contact_id, created_at)
      select ${w.id(ms, 'i')}, ${tenant}, 'key-' || i, ${channel}, ${account}, ${provider}, '{"name":"Asha","email":"asha@example.test"}',
        'person' || (i % ${people}) || '@example.test', '{"subject":"Hello","body":"It will arrive on Thursday between nine and noon."}',
        'event-' || (i / 2), ${type}, ${w.id(ms, '(i / 2)')}, '0', 'booking', '' || (i / 4), 1,
        case when ${isRare(5)} then '${RARE.site}' end, 'system', ${w.id('1000', `(i % ${people})`)}, ${w.instant(ms)} from ${ledger}`,
    `insert into ${w.table('settled')} (notification_id, tenant_id, status, reason, last_error, fingerprint, settled_at)
      select ${w.id(ms, 'i')}, ${tenant}, case when ${isStopped} then 'parked' else 'delivered' end,
        case when ${isStopped} then case when i < ${count / 100} then '${RARE.reason}' else 'invalid_recipient' end end,
        case when ${isStopped} then 'no such user' end,
        case when ${isStopped} then case when i < ${count / 100} then '${RARE.fingerprint}' else 'common' end end, ${w.instant(ms)}
      from ${ledger} where (${isDelivered} or ${isStopped}) and i < ${count - 1000}`,
    `insert into ${w.table('attempts')} (notification_id, number, outcome, to_status, possible_duplicate, duration_ms, started_at, token,
        worker_id, provider, provider_message_id, account_id, tenant_id, audit_id)
      select ${w.id(ms, 'i')}, 1, 'accepted', 'sent', case when ${isRare(6)} then ${w.true} else ${w.false} end, 20, ${w.instant(ms)}, i,
        ${w.uuid(`'${WORKER}'`)}, ${provider}, 'message-' || i, ${account}, ${tenant}, i + 1 from ${ledger} where i < ${count - 1000}`,
    `insert into ${w.table('dispatch')} (notification_id, lane_id, visible_at)
      select ${w.id(ms, 'i')}, ${w.uuid(`'${ACCOUNTS.email}'`)}, ${w.instant(`${now} + 86400000`)} from ${ledger} where i >= ${count - 1000}`,
    `insert into ${w.table('events')} (tenant_id, id, type, entity_type, entity_id, payload, status, created_at, published_at)
      select ${tenant}, 'event-' || i, ${type}, 'booking', '' || (i / 2), '{"guest":"Ada"}', 'published', ${w.instant(ms)}, ${w.instant(ms)}
      from ${w.numbers(count / 2)}`,
    `insert into ${w.table('schedules')} (id, tenant_id, event_id, event_type, entity_type, entity_id, due_at, status, created_at, completed_at)
      select ${w.id(ms, 'i')}, ${tenant}, 'event-' || i, ${type}, 'booking', '' || (i / 2), ${w.instant(ms)}, 'completed', ${w.instant(ms)},
        ${w.instant(ms)} from ${w.numbers(count / 2)}`,
  ]
}

export async function seedPostgres(database: string, count: number, now: number): Promise<void> {
  await withPostgres(database, async (client) => {
    await client.query('set synchronous_commit = off')
    for (const text of statements(POSTGRES, count, now)) await client.query(text)
    await client.query(`select setval('pillarbox.audit_ids', ${count + 1})`)
    await client.query('vacuum analyze')
  })
}

export function seedSqlite(path: string, count: number, now: number): void {
  const db = new DatabaseSync(path)
  db.exec('pragma synchronous = off; pragma cache_size = -262144; begin')
  for (const text of statements(SQLITE, count, now)) db.exec(text)
  for (const [kind, column] of Object.entries({
    site: 'site',
    event_type: 'event_type',
    account: 'account_id',
    channel: 'channel',
  }))
    db.exec(`insert into pillarbox_notification_marks select distinct tenant_id, '${kind}', ${column}, substr(id, 1, 12)
      from pillarbox_notifications where ${column} is not null on conflict do nothing`)
  db.exec(`update sqlite_sequence set seq = ${count + 1} where name = 'pillarbox_audit'`)
  db.exec('commit; pragma wal_checkpoint(truncate)')
  db.close()
}
