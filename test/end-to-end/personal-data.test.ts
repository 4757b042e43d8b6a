import assert from 'node:assert/strict'
import { it } from 'node:test'
import { verifyChain } from '../../packages/pillarbox/src/operate/verify-audit.ts'
import { systemClock } from '../../packages/pillarbox/src/runtime/system.ts'
import { openPostgres } from '../../packages/pillarbox/src/store/postgres/open.ts'
import { openSqlite } from '../../packages/pillarbox/src/store/sqlite/open.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { chainAudit } from '../support/audit.ts'
import { ENGINE_NAMES } from '../support/engines.ts'
import { placesOf } from '../support/kept.ts'
import { silent } from '../support/samples.ts'
import type { Notification } from '../support/tenant.ts'
import { until } from '../support/until.ts'
import { openWorld, type World } from '../support/world.ts'

const CHANNELS = ['email', 'sms', 'whatsapp', 'push']

const CATALOGUE = {
  entities: { trip: 'trips' },
  eventTypes: {
    'trip.booked': {
      entity: 'trip',
      recipients: [
        {
          name: 'guests[].name',
          phone: 'guests[].phone',
          email: 'guests[].email',
          userId: 'guests[].userId',
          profileId: 'guests[].profileId',
        },
      ],
      delivery: { channels: CHANNELS },
      templates: CHANNELS.map((channel) => ({
        channel,
        locale: 'en',
        subject: 'Trip',
        body: 'Dear {{name}}, your trip is booked',
      })),
    },
  },
}

interface Guest {
  name: string
  phone: string
  email: string
  userId: string
  profileId: string
}

const ADA: Guest = {
  name: 'Adelheid Canaria',
  phone: '+4915112345001',
  email: 'adelheid.canaria@example.test',
  userId: 'user-adelheid-canaria',
  profileId: 'profile-adelheid-canaria',
}
const BEN: Guest = {
  name: 'Benedikt Bystander',
  phone: '+4915112345002',
  email: 'benedikt.bystander@example.test',
  userId: 'user-benedikt-bystander',
  profileId: 'profile-benedikt-bystander',
}
const TOKEN = { ada: `token-${'a'.repeat(40)}`, ben: `token-${'b'.repeat(40)}` }

/** As a vendor writes the number: without its plus. */
const digits = ({ phone }: Guest): string => phone.slice(1)

/** Everything of a person that must not be found again. */
const CANARIES = [ADA.name, digits(ADA), ADA.email, ADA.userId, ADA.profileId, TOKEN.ada, 'Canaria']

/** The same database as another process has it. */
const another = (world: World): Promise<Store> => {
  const options = { clock: systemClock, logger: silent }
  return world.engine === 'postgres'
    ? openPostgres({ url: world.databaseUrl, ...options })
    : openSqlite({ path: world.databaseUrl.slice('sqlite:'.length), ...options })
}

/** Puts both into every table that may have somebody: on every channel, sent, skipped, failed, waiting and called off. */
async function seed(world: World) {
  const tenant = await world.tenant({ catalogue: CATALOGUE, channels: CHANNELS })
  await tenant.account({ channel: 'in_app', provider: 'inbox', name: 'inbox' })
  const call = async (method: string, target: string, body?: unknown): Promise<Record<string, unknown>> => {
    const answer = await tenant.call(method, target, body)
    assert.ok(answer.status < 300, `${method} ${target}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  // Before anything is sent: a worker that knows of none asks again only after a second.
  for (const { phone } of [ADA, BEN]) await call('POST', '/api/suppressions', { channel: 'whatsapp', address: phone })
  const members = [ADA, BEN].map(({ name, email, phone }) => ({ name, email, phone }))
  await call('POST', '/api/recipient-lists', { name: 'guests', members })
  for (const guest of [ADA, BEN]) {
    await call('POST', '/api/events', {
      id: `alone-${guest.email}`,
      type: 'trip.booked',
      entity: { type: 'trip', id: `of-${guest.email}` },
      payload: { guests: [guest], wish: `${guest.name} likes the window` },
      conversation: { type: 'trip', id: `of-${guest.email}` },
    })
    const [token, name] = [guest === ADA ? TOKEN.ada : TOKEN.ben, guest.name]
    for (const to of [
      { channel: 'push', to: { deviceToken: token, platform: 'fcm', name } },
      { channel: 'in_app', to: { userId: guest.userId, name } },
    ])
      await call('POST', '/api/notifications', { ...to, subject: 'Hello', body: `Hello ${name}` })
    const later = {
      channel: 'sms',
      to: { phone: guest.phone, name },
      body: `Hello ${name}`,
      dueAt: '2099-01-01T00:00:00Z',
    }
    await call('POST', '/api/notifications', { ...later, idempotencyKey: `later-${guest.email}` })
    const off = await call('POST', '/api/notifications', { ...later, idempotencyKey: `off-${guest.phone}` })
    await call('POST', `/api/notifications/${String(off['id'])}/cancel`, { note: `${name} called from ${guest.phone}` })
  }
  await call('POST', '/api/events', {
    id: 'together',
    type: 'trip.booked',
    entity: { type: 'trip', id: 'together' },
    payload: { guests: [ADA, BEN], contacts: { 'first ': ADA.email, phone: '0151 12345001' } },
  })
  await call('POST', '/api/notifications', {
    channel: 'email',
    to: { list: 'guests' },
    subject: 'All',
    body: 'Hello all',
  })
  await call('POST', '/api/notifications', {
    channel: 'email',
    to: { email: 'host@example.test' },
    subject: 'Guests',
    body: `Your guests: ${ADA.email} and ${BEN.email}`,
  })
  const count = async (target: string): Promise<number> => ((await call('GET', target))['items'] as unknown[]).length
  await until('all but what waits for 2099 is at rest', async () => {
    if ((await count('/api/events?status=published')) < 3) return false
    return (await count('/api/notifications?status=queued&status=retrying&status=sending')) === 2
  })
  const store = await another(world)
  const [account] = (await store.accounts.list(tenant.id)).map(({ id }) => id)
  for (const guest of [ADA, BEN]) {
    const report = { statuses: [{ id: 'm', status: 'failed', recipient_id: digits(guest), text: guest.email }] }
    const body = Buffer.from(JSON.stringify(report))
    await store.receipts.keep({ source: 'meta', tenantId: tenant.id, accountIds: [String(account)], headers: {}, body })
  }
  await store.close()
  const ledger = async (): Promise<Notification[]> =>
    ((await call('GET', '/api/notifications?limit=200'))['items'] as Notification[]).toReversed()
  return { tenant, call, ledger }
}

for (const engine of ENGINE_NAMES)
  it(`one person’s data is exported, and erased from every table and file of ${engine}, while another’s stays`, async () => {
    await using world = await openWorld(engine)
    await world.start()
    const { tenant, call, ledger } = await seed(world)
    const before = await ledger()
    for (const canary of CANARIES.filter((text) => text !== TOKEN.ada))
      assert.notDeepEqual(await placesOf(world, canary), [], `${canary} is kept at first`)

    const exported = await call('POST', '/api/personal-data/export', { address: ADA.phone })
    assert.equal(exported['nextCursor'], null)
    const text = JSON.stringify(exported['items'])
    const tables = new Set((exported['items'] as { table: string }[]).map(({ table }) => table))
    for (const table of [
      'contacts',
      'events',
      'notifications',
      'attempts',
      'callbacks',
      'audit',
      'suppressions',
      'sandbox',
    ])
      assert.ok(tables.has(table), `${table} is exported`)
    for (const table of ['inbox_messages', 'recipient_list_members', 'conversations'])
      assert.ok(tables.has(table), `${table} is exported`)
    for (const word of [ADA.name, ADA.email, 'likes the window']) assert.ok(text.includes(word), word)
    for (const theirs of [BEN.name, BEN.email, BEN.userId, digits(BEN)])
      assert.ok(!text.includes(theirs), `${theirs} is somebody else's`)

    for (const address of [ADA.phone, TOKEN.ada]) {
      const report = await call('POST', '/api/personal-data/erase', { address, note: 'asked for it by letter' })
      assert.equal(report['nextCursor'], null)
      assert.ok((report['remains'] as unknown[]).length >= 3)
    }

    // On PostgreSQL a row that was replaced is there until the next vacuum, and no query finds it.
    for (const canary of CANARIES) assert.deepEqual(await placesOf(world, canary), [], `${canary} is gone`)
    for (const theirs of [BEN.name, digits(BEN), BEN.email, BEN.userId, BEN.profileId])
      assert.notDeepEqual(await placesOf(world, theirs), [], `${theirs} is untouched`)
    const after = await ledger()
    assert.deepEqual(
      after.map(({ id }) => id),
      before.map(({ id }) => id),
      'every ledger row is still a row',
    )
    const waiting = before.filter(({ status }) => status === 'queued').map(({ id }) => id)
    const now = new Map(after.map((each) => [each.id, each]))
    assert.deepEqual(new Set(waiting.map((id) => now.get(id)?.status)), new Set(['cancelled', 'queued']))
    assert.equal(waiting.map((id) => now.get(id)).find((each) => each?.status === 'cancelled')?.reason, 'erased')

    const refused = await tenant.submit({ channel: 'whatsapp', to: { phone: ADA.phone }, body: 'Hello again' })
    await until(
      'the ban outlives the erasure',
      async () => (await tenant.notification(refused)).reason === 'suppressed',
    )
    const store = await another(world)
    await chainAudit(store)
    assert.equal((await verifyChain(store.audit, tenant.id)).fault, null, 'the audit can still be verified')
    await store.close()
    const nobody = await call('POST', '/api/personal-data/export', { address: ADA.email })
    assert.deepEqual(nobody['items'], [])
  })
