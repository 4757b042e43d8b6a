import assert from 'node:assert/strict'
import type { Store } from '../store.ts'
import { only } from './fixtures.ts'

const ID = (n: number): string => `019b7a00-0000-7000-8000-00000000000${n}`
const [USED, UNUSED, SCHEDULE, NOTIFICATION] = [ID(1), ID(2), ID(3), ID(4)] as const

/** What somebody had in a database of schema 1. `prefix` stands before each table's name, `now` is an instant in SQL. */
export function rowsOfSchema1(prefix: string, now: string): string {
  const type = {
    name: 'booking.confirmed',
    entity: 'booking',
    once: 'per-event',
    recipients: [{ phone: 'guestPhone' }],
    delivery: { kind: 'fallback', channels: ['sms', 'email'] },
    afterMs: 60_000,
  }
  return `
    insert into ${prefix}tenants (id, name, default_locale, time_zone, entities, catalogue_version, created_at)
      values ('atlas', 'Atlas', 'en', 'UTC', '{"booking":"bookings"}', 3, ${now});
    insert into ${prefix}event_types (tenant_id, name, definition)
      values ('atlas', 'booking.confirmed', '${JSON.stringify(type)}');
    insert into ${prefix}templates (id, tenant_id, event_type, channel, locale, subject, body, version, created_at, updated_at)
      values ('${USED}', 'atlas', 'booking.confirmed', 'email', 'en', 'S', 'used', 2, ${now}, ${now}),
        ('${UNUSED}', 'atlas', 'booking.confirmed', 'sms', 'en', null, 'unused', 1, ${now}, ${now});
    insert into ${prefix}events (tenant_id, id, type, entity_type, entity_id, payload, status, next_attempt_at, created_at,
        published_at)
      values ('atlas', 'e', 'booking.confirmed', 'booking', '42', '{}', 'published', ${now}, ${now}, ${now});
    insert into ${prefix}schedules (id, tenant_id, event_id, due_at, status, next_attempt_at, created_at)
      values ('${SCHEDULE}', 'atlas', 'e', ${now}, 'pending', ${now}, ${now});
    insert into ${prefix}notifications (id, tenant_id, idempotency_key, channel, recipient, template_id, triggered_by,
        created_at)
      values ('${NOTIFICATION}', 'atlas', 'k', 'email', '{}', '${USED}', 'system', ${now});`
}

/** All of it is still there, in the form of today. */
export async function assertUpgraded(store: Store): Promise<void> {
  const type = await store.catalogue.eventType('atlas', 'booking.confirmed')
  assert.deepEqual(type, {
    name: 'booking.confirmed',
    description: null,
    entity: 'booking',
    once: 'per-event',
    payload: null,
    recipients: [{ phone: 'guestPhone' }],
    delivery: { kind: 'fallback', channels: ['sms', 'email'] },
    timing: { offsetMs: 60_000, field: null, at: null, ifPast: 'send' },
    replaces: false,
    cancelledBy: [],
    approval: false,
    secrets: [],
    scopes: [],
    conversation: null,
    expiresAfterMs: null,
    retry: null,
    onUndeliverable: null,
  })
  assert.deepEqual(await store.catalogue.eventTypes('atlas'), [type])
  assert.deepEqual(await store.catalogue.entities('atlas'), { booking: 'bookings' })
  assert.equal(await store.catalogue.current('atlas'), null)

  const [used, unused] = await store.templates.ofEventType('atlas', 'booking.confirmed')
  assert.deepEqual([used?.id, used?.version, used?.isEdited, used?.scope], [USED, 2, false, null])
  assert.deepEqual([unused?.id, unused?.body, unused?.providerTemplate], [UNUSED, 'unused', null])
  assert.equal(only(await store.templates.versions('atlas', USED)).version, 2)

  const schedule = await store.schedules.find('atlas', SCHEDULE)
  assert.deepEqual(
    [schedule?.eventType, schedule?.entity, schedule?.status],
    ['booking.confirmed', { type: 'booking', id: '42' }, 'pending'],
  )

  const catalogue = { name: 'atlas', defaultLocale: 'en', entities: {}, eventTypes: [], sources: { hasura: {} } }
  const place = { eventType: 'booking.confirmed', channel: 'sms', locale: 'en', scope: null } as const
  const seed = { ...place, subject: null, body: 'new', providerTemplate: null }
  const source = { document: '', actor: 'system', newId: () => assert.fail('nothing is new') }
  assert.deepEqual(await store.catalogue.replace('atlas', { ...catalogue, templates: [seed] }, source), {
    version: 4,
    kept: [],
  })
  assert.equal((await store.templates.find('atlas', UNUSED))?.body, 'new')
  assert.equal(await store.templates.remove('atlas', UNUSED, 'key:ada'), 'removed')
  assert.notEqual(await store.templates.remove('atlas', USED, 'key:ada'), 'removed')
}
