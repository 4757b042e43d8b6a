import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { type FreshDatabase, migratedDatabase } from '../../../../../test/support/postgres/database.ts'
import type { NotificationFilter } from '../../plan/notification-store.ts'
import { listEvents } from '../shared/events.ts'
import { listNotifications } from '../shared/notification-list.ts'
import { listContacts } from '../shared/people.ts'
import { listSchedules } from '../shared/schedules.ts'
import { boundStatement, type Row, type Script } from '../shared/script.ts'
import { dialect } from './scripts.ts'

const ID = '019b7a00-0000-7000-8000-000000000001'
const PAGE = { limit: 50 }
const ROWS = 20_000

/** The id of row `i`. */
const IDS = `('019b7a00-' || lpad(to_hex(i / 65536), 4, '0') || '-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid`

const SEED = `
  insert into pillarbox.tenants (id, name, default_locale, time_zone, settings) values ('acme', 'Acme', 'en', 'UTC', '{}');
  insert into pillarbox.notifications (id, tenant_id, idempotency_key, channel, account_id, recipient, address, event_type,
      entity_type, entity_id, contact_id, triggered_by)
    select ${IDS}, 'acme', 'key-' || i, (array['email', 'sms'])[i % 2 + 1], ('019b7a00-0000-7000-8000-00000000000' || i % 3)::uuid, '{}', 'a' || i, 'type-' || i % 20, 'booking',
      i / 4, ${IDS}, 'system' from generate_series(1, ${ROWS}) i;
  insert into pillarbox.settled (notification_id, tenant_id, status, reason, last_error, fingerprint)
    select ${IDS}, 'acme', case when i % 50 = 0 then 'parked' else 'delivered' end, case when i % 50 = 0 then 'expired' end, null,
      case when i % 50 = 0 then 'print-' || i % 100 end from generate_series(1, ${ROWS}) i;
  insert into pillarbox.events (tenant_id, id, type, entity_type, entity_id, payload, status, published_at, created_at)
    select 'acme', 'event-' || i, 'type-' || i % 20, 'booking', i, '{}', 'published', now(), now() - i * interval '1 second'
      from generate_series(1, ${ROWS}) i;
  insert into pillarbox.schedules (id, tenant_id, event_id, event_type, entity_type, entity_id, due_at, status, completed_at)
    select ${IDS}, 'acme', 'event-' || i, 'type-' || i % 20, 'booking', i, now(), 'completed', now()
      from generate_series(1, ${ROWS}) i;
  insert into pillarbox.contacts (id, tenant_id, name, phone, email)
    select ${IDS}, 'acme', 'Person ' || i, '+49' || i, 'p' || i || '@example.test' from generate_series(1, ${ROWS}) i;
  analyze`

describe('a list on PostgreSQL', () => {
  let database: FreshDatabase
  let client: pg.Client

  before(async () => {
    database = await migratedDatabase()
    client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(SEED)
  })
  after(async () => {
    await client.end()
    await database.drop()
  })

  /** How PostgreSQL goes about each statement of a script, and the answers it goes on with. */
  async function plansOf(script: Script<unknown>): Promise<string> {
    const lines: string[] = []
    let step = script.next()
    while (!step.done) {
      const { text, values } = boundStatement(dialect, step.value)
      const plan = await client.query<Record<string, string>>(`explain ${text}`, values)
      lines.push(...plan.rows.map((line) => String(line['QUERY PLAN'])))
      const { rows } = await client.query<Row>(text, values)
      step = script.next(rows)
    }
    return lines.join('\n')
  }

  const FILTERS: [NotificationFilter, RegExp][] = [
    [{ tenantId: 'small' }, /notifications_newest/],
    [{ status: ['parked'] }, /settled_(?:status|parked)/],
    [{ channel: 'sms' }, /notifications_route/],
    [{ eventType: 'type-3' }, /notifications_type/],
    [{ accountId: ID }, /notifications_route/],
    [{ site: 'harbour' }, /notifications_site/],
    [{ entityType: 'booking', entityId: '42' }, /notifications_entity/],
    [{ contactId: ID }, /notifications_contact/],
    [{ conversationId: ID }, /notifications_conversation/],
    [{ reason: 'expired', status: ['parked'] }, /settled_reason/],
    [{ from: 1_000, to: 2_000 }, /notifications_newest|notifications_pkey/],
    [{ q: 'a17' }, /notifications_address/],
    [{ q: 'key-17' }, /notifications_tenant_id_idempotency_key_key/],
  ]
  for (const [filter, index] of FILTERS)
    it(`finds notifications by ${JSON.stringify(filter)} through ${index.source}`, async () => {
      const plan = await plansOf(listNotifications(dialect, { tenantId: 'acme', ...filter }, PAGE))
      assert.match(plan, index)
      assert.doesNotMatch(plan, /Seq Scan on notifications/)
    })

  it('finds events, schedules and contacts through indexes of theirs', async () => {
    const outbox = await plansOf(listEvents(dialect, {}, PAGE))
    assert.match(outbox, /events_newest/)
    assert.doesNotMatch(outbox, /Seq Scan on events/)
    assert.match(await plansOf(listSchedules(dialect, { tenantId: 'small' }, PAGE)), /schedules_completed/)
    const contacts = await plansOf(listContacts(dialect, 'acme', { q: 'person 17' }, PAGE))
    for (const index of [/contacts_phone/, /contacts_email/, /contacts_name/]) assert.match(contacts, index)
  })
})
