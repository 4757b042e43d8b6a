import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { createBench, dueLater } from '../../../../../test/conformance/fixtures.ts'
import { planEvents } from '../../../../../test/support/planning.ts'
import { openSqlite } from '../sqlite/open.ts'

const TENANT = 'atlas'

/** A store, and what its audit table says about a subject: the scripts that write it are the same for both engines. */
async function setup(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
  const path = join(folder, 'store.db')
  let now = 1_800_000_000_000
  const store = await openSqlite({
    path,
    clock: { now: () => ++now, monotonic: () => now, sleep: () => Promise.resolve() },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  t.after(async () => {
    await store.close()
    await rm(folder, { recursive: true })
  })
  await store.migrate()
  const bench = await createBench({ store, advance: () => Promise.resolve(), close: () => Promise.resolve() })
  await store.tenants.insert({ id: TENANT, name: TENANT, defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  const audit = (subject: string): unknown[][] => {
    const database = new DatabaseSync(path, { readOnly: true })
    const found = database
      .prepare(`select tenant_id, actor, action, from_status, to_status, reason from pillarbox_audit
        where subject = ? order by id`)
      .all(subject)
    database.close()
    assert.ok(found.every((row) => row['tenant_id'] === TENANT))
    return found.map((row) =>
      [row['actor'], row['action'], row['from_status'], row['to_status'], row['reason']].filter(
        (part) => part !== null,
      ),
    )
  }
  return { store, bench, newId: bench.newId, audit }
}

describe('the audit', () => {
  it('has every change of a template, with who made it', async (t) => {
    const { store, newId, audit } = await setup(t)
    const place = { eventType: 't', channel: 'sms', locale: 'en', scope: null } as const
    const words = { subject: null, body: 'Hi', format: null, providerTemplate: null, isActive: true }
    const [used, unused] = [newId(), newId()]
    await store.templates.insert({ id: used, tenantId: TENANT, ...place, ...words }, 'key:ada')
    await store.templates.insert({ id: unused, tenantId: TENANT, ...place, locale: 'de', ...words }, 'key:ada')

    await store.templates.update(TENANT, used, { body: 'Hello' }, 'key:bob')
    await store.templates.update(TENANT, used, { body: 'Hello' }, 'key:bob')
    await store.templates.update(TENANT, unused, { locale: 'en' }, 'key:bob')
    await store.templates.markUsed([used])
    await store.templates.remove(TENANT, used, 'key:eve')
    await store.templates.remove(TENANT, unused, 'key:eve')

    assert.deepEqual(audit(`template:${used}`), [
      ['key:ada', 'create'],
      ['key:bob', 'update'],
      ['key:eve', 'deactivate'],
    ])
    assert.deepEqual(audit(`template:${unused}`), [
      ['key:ada', 'create'],
      ['key:eve', 'remove'],
    ])
  })

  it('has every import of a catalogue', async (t) => {
    const { store, newId, audit } = await setup(t)
    const nothing = {
      name: 'atlas',
      defaultLocale: 'en',
      tenantDefaults: {},
      entities: {},
      eventTypes: [],
      templates: [],
      domainEvents: {},
    }

    for (const actor of ['key:ada', 'key:bob'])
      await store.catalogue.replace(TENANT, { ...nothing, sources: { hasura: {} } }, { document: '', actor, newId })

    assert.deepEqual(audit('catalogue:1'), [['key:ada', 'import']])
    assert.deepEqual(audit('catalogue:2'), [['key:bob', 'import']])
  })

  it('has what is done to contacts by hand, and merges; not that an event made one', async (t) => {
    const { store, newId, audit } = await setup(t)
    const resolve = async (facts: { phone?: string; email?: string }): Promise<string> => {
      const [person] = await store.people.resolve([{ tenantId: TENANT, conversation: null, ...facts }], newId)
      return person?.contact?.id ?? ''
    }
    const older = await resolve({ phone: '+491' })
    const younger = await resolve({ email: 'a@example.com' })
    const id = newId()
    const facts = { profileId: null, userId: 'u', name: null, phone: null, email: null, locale: null }
    await store.people.insertContact({ id, tenantId: TENANT, ...facts }, 'key:ada')

    await resolve({ phone: '+491', email: 'a@example.com' })
    await store.people.insertContact({ id: newId(), tenantId: TENANT, ...facts }, 'key:eve')
    await store.people.updateContact(TENANT, id, { name: 'Guest' }, 'key:bob')
    await store.people.updateContact(TENANT, id, { phone: '+491' }, 'key:eve')
    await store.people.removeContact(TENANT, id, 'key:bob')

    assert.deepEqual(audit(`contact:${younger}`), [['system', 'merge', `into contact:${older}`]])
    assert.deepEqual(audit(`contact:${older}`), [])
    assert.deepEqual(audit(`contact:${id}`), [
      ['key:ada', 'create'],
      ['key:bob', 'update'],
      ['key:bob', 'remove'],
    ])
  })

  it('has every status a conversation was given', async (t) => {
    const { store, newId, audit } = await setup(t)
    const request = { tenantId: TENANT, phone: '+491', conversation: { type: 'trip', id: '7' } }
    const [person] = await store.people.resolve([request], newId)
    const id = person?.conversationId ?? ''

    for (const status of ['snoozed', 'snoozed', 'closed', 'open'] as const)
      await store.people.setConversationStatus(TENANT, id, status, 'key:ada')

    assert.deepEqual(audit(`conversation:${id}`), [
      ['key:ada', 'snooze', 'open', 'snoozed'],
      ['key:ada', 'close', 'snoozed', 'closed'],
      ['key:ada', 'open', 'closed', 'open'],
    ])
  })

  it('has every change of a recipient list', async (t) => {
    const { store, newId, audit } = await setup(t)
    const id = newId()
    const members = [{ name: null, email: 'a@example.com', phone: null }]
    await store.lists.insert({ id, tenantId: TENANT, name: 'ops', members: [] }, 'key:ada')
    await store.lists.insert({ id: newId(), tenantId: TENANT, name: 'ops', members: [] }, 'key:eve')

    await store.lists.addMembers(TENANT, id, members, 'key:bob')
    await store.lists.addMembers(TENANT, id, members, 'key:bob')
    await store.lists.update(TENANT, id, { name: 'ops-team' }, 'key:bob')
    await store.lists.remove(TENANT, id, 'key:eve')

    assert.deepEqual(audit(`list:${id}`), [
      ['key:ada', 'create'],
      ['key:bob', 'add_members'],
      ['key:bob', 'update'],
      ['key:eve', 'remove'],
    ])
  })

  it('has who suppressed an address and who lifted that, with the cause', async (t) => {
    const { store, newId, audit } = await setup(t)
    const [id, second] = [newId(), newId()]
    const address = {
      tenantId: TENANT,
      channel: 'push',
      address: 'device-1',
      error: null,
      notificationId: null,
    } as const

    await store.suppressions.insert({ id, ...address, cause: 'dead_address', createdBy: 'system' })
    await store.suppressions.insert({ id: second, ...address, cause: 'operator', createdBy: 'key:ada' })
    await store.suppressions.remove(TENANT, id, 'key:bob')
    await store.suppressions.remove(TENANT, id, 'key:eve')

    assert.deepEqual(audit(`suppression:${id}`), [
      ['system', 'suppress', 'dead_address'],
      ['key:bob', 'lift', 'dead_address'],
    ])
    assert.deepEqual(audit(`suppression:${second}`), [])
  })

  it('has what operators decided about schedules, with the reason', async (t) => {
    const { store, bench, newId, audit } = await setup(t)
    const schedule = async (): Promise<string> => {
      const id = newId()
      await store.events.insert([bench.event(TENANT)])
      await planEvents(store, 1, () => dueLater(id, 1_900_000_000_000, { needsApproval: true }))
      return id
    }
    const [approved, rejected] = [await schedule(), await schedule()]
    const act = (id: string, action: 'approve' | 'reject' | 'cancel' | 'replay') =>
      store.schedules.act({ tenantId: TENANT, id, action, actor: 'key:ada', reason: 'in my own words' })

    for (const action of ['approve', 'approve', 'cancel', 'replay'] as const) await act(approved, action)
    await act(rejected, 'reject')

    assert.deepEqual(audit(`schedule:${approved}`), [
      ['key:ada', 'approve', 'awaiting_approval', 'pending'],
      ['key:ada', 'cancel', 'pending', 'cancelled', 'cancelled_by_operator'],
    ])
    assert.deepEqual(audit(`schedule:${rejected}`), [
      ['key:ada', 'reject', 'awaiting_approval', 'cancelled', 'rejected_by_operator'],
    ])
  })
})
