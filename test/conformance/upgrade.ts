import assert from 'node:assert/strict'
import { fingerprintOf } from '../../packages/pillarbox/src/model/fingerprint.ts'
import type { ReceiptKind } from '../../packages/pillarbox/src/model/receipt.ts'
import { verifyChain } from '../../packages/pillarbox/src/operate/verify-audit.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { chainAudit } from '../support/audit.ts'
import { only, receiptOf } from './fixtures.ts'

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

  const catalogue = {
    name: 'atlas',
    defaultLocale: 'en',
    tenantDefaults: {},
    entities: {},
    eventTypes: [],
    domainEvents: {},
    sources: { hasura: {} },
  }
  const place = { eventType: 'booking.confirmed', channel: 'sms', locale: 'en', scope: null } as const
  const seed = { ...place, subject: null, body: 'new', format: null, providerTemplate: null }
  const source = { document: '', actor: 'system', newId: () => assert.fail('nothing is new') }
  assert.deepEqual(await store.catalogue.replace('atlas', { ...catalogue, templates: [seed] }, source), {
    version: 4,
    kept: [],
  })
  assert.equal((await store.templates.find('atlas', UNUSED))?.body, 'new')
  assert.equal(await store.templates.remove('atlas', UNUSED, 'key:ada'), 'removed')
  assert.notEqual(await store.templates.remove('atlas', USED, 'key:ada'), 'removed')
}

const SETTLED: readonly { id: string; status: string; reason: string | null; movedBy: ReceiptKind | null }[] = [
  { id: ID(5), status: 'delivered', reason: null, movedBy: 'read' },
  { id: ID(6), status: 'parked', reason: 'bounced', movedBy: 'complained' },
  { id: ID(7), status: 'parked', reason: 'complained', movedBy: 'read' },
  { id: ID(8), status: 'parked', reason: 'attempts_exhausted', movedBy: null },
  { id: ID(9), status: 'read', reason: null, movedBy: null },
]

/** What somebody had in a database of schema 2: notifications that came to rest in every way there was. */
export function rowsOfSchema2(prefix: string, now: string): string {
  const text = (value: string | null): string => (value === null ? 'null' : `'${value}'`)
  return `
    insert into ${prefix}tenants (id, name, default_locale, time_zone, created_at)
      values ('acme', 'Acme', 'en', 'UTC', ${now});
    insert into ${prefix}accounts (id, tenant_id, channel, provider, name, status, created_at, updated_at)
      values ('${ID(0)}', 'acme', 'email', 'ses', 'mail', 'active', ${now}, ${now});
    ${SETTLED.map(
      ({ id, status, reason }) => `
    insert into ${prefix}notifications (id, tenant_id, idempotency_key, channel, account_id, provider, recipient, triggered_by,
        created_at)
      values ('${id}', 'acme', '${id}', 'email', '${ID(0)}', 'ses', '{}', 'system', ${now});
    insert into ${prefix}attempts (notification_id, number, outcome, to_status, duration_ms, started_at, token, worker_id,
        provider, provider_message_id)
      values ('${id}', 1, 'accepted', 'sent', 1, ${now}, 1, '${ID(0)}', 'ses', 'message-${id}');
    insert into ${prefix}settled (notification_id, tenant_id, status, reason, attempt, settled_at)
      values ('${id}', 'acme', '${status}', ${text(reason)}, 1, ${now});`,
    ).join('')}`
}

/** What had stopped gets the fingerprint of its cause when somebody comes by, a few at a time, and once. */
export async function assertCausesUpgraded(store: Store): Promise<void> {
  const causes = async () => (await store.operations.causes({ tenantId: 'acme' }, { mostRows: 100, limit: 100 })).causes
  assert.deepEqual(await causes(), [])

  assert.deepEqual([await store.operations.printStopped(2), await store.operations.printStopped(2)], [2, 1])
  assert.equal(await store.operations.printStopped(2), 0)

  const found = await causes()
  assert.deepEqual(
    found.map(({ reason, count }) => [reason, count]).toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    [
      ['attempts_exhausted', 1],
      ['bounced', 1],
      ['complained', 1],
    ],
  )
  const exhausted = found.find(({ reason }) => reason === 'attempts_exhausted')
  const cause = { reason: 'attempts_exhausted', code: null, error: null, accountId: ID(0) }
  assert.equal(exhausted?.fingerprint, fingerprintOf(cause))
}

/** Each is where it was, is found by the vendor's message id, and is moved on by what outranks it and by nothing else. */
export async function assertReceiptsUpgraded(store: Store): Promise<void> {
  // Attempts of before have their place in the audit, and in its chain.
  const { items } = await store.audit.list({ tenantId: 'acme', action: 'attempt' }, { limit: 50 })
  assert.deepEqual(
    items.map((entry) => String(entry.notificationId)).toSorted(),
    SETTLED.map(({ id }) => id).toSorted(),
  )
  await chainAudit(store)
  const chain = await verifyChain(store.audit, 'acme')
  assert.deepEqual([chain.fault, chain.rows], [null, SETTLED.length])

  for (const { id, status, reason, movedBy } of SETTLED) {
    const report = { accountIds: [ID(0)], provider: 'ses', providerMessageId: `message-${id}`, notificationId: null }
    const view = await store.receipts.locate(report)
    assert.deepEqual([view?.id, view?.status, view?.reason], [id, status, reason])

    const heard = async (kind: ReceiptKind): Promise<string> =>
      store.receipts.merge(receiptOf({ tenantId: 'acme' }, id, kind))
    assert.equal(await heard('failed'), 'kept')
    assert.equal(await heard(movedBy ?? 'read'), movedBy === null ? 'kept' : 'moved')
  }
}

/** A list with somebody who is on it twice, in two spellings; behind the rows of schema 2. */
export function listOfSchema2(prefix: string, now: string): string {
  return `
    insert into ${prefix}recipient_lists (id, tenant_id, name, member_count, created_at, updated_at)
      values ('${ID(1)}', 'acme', 'team', 4, ${now}, ${now});
    insert into ${prefix}recipient_list_members (list_id, name, email, phone)
      values ('${ID(1)}', 'Ada', 'Ada@example.com', null), ('${ID(1)}', 'Bo', null, '+491'),
        ('${ID(1)}', 'again', 'ada@EXAMPLE.com', null), ('${ID(1)}', 'both', 'ada@example.com', '+491');`
}

/** Everybody is on it once, in the first spelling. */
export async function assertListUpgraded(store: Store): Promise<void> {
  const { members } = await store.lists.members('acme', ID(1), null, 10)
  assert.deepEqual(
    members.map(({ name, email }) => [name, email]),
    [
      ['Ada', 'Ada@example.com'],
      ['Bo', null],
      ['both', 'ada@example.com'],
    ],
  )
  assert.equal((await store.lists.find('acme', ID(1)))?.memberCount, 3)
}
