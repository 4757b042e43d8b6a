import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { sealWith } from '@pillarbox/client'
import { parseCatalogue } from '../../packages/pillarbox/src/catalogue/parse.ts'
import { createSandboxVendor } from '../../packages/pillarbox/src/channels/sandbox/vendor.ts'
import { resolveConfig } from '../../packages/pillarbox/src/config/config.ts'
import { escapedKeyPart } from '../../packages/pillarbox/src/model/idempotency.ts'
import { openStore } from '../../packages/pillarbox/src/pillarbox.ts'
import { createIdSource } from '../../packages/pillarbox/src/runtime/ids.ts'
import { systemClock } from '../../packages/pillarbox/src/runtime/system.ts'
import { ENGINE_NAMES } from '../support/engines.ts'
import { placesOf } from '../support/kept.ts'
import { sampleEvent, sampleNotification, storedAccount } from '../support/samples.ts'
import { until } from '../support/until.ts'
import { BOTH, openWorld, type World } from '../support/world.ts'

const CATALOGUE = {
  entities: { trip: 'trips', bus: 'buses' },
  eventTypes: {
    'trip.changed': {
      entity: 'trip',
      recipients: [{ deviceToken: 'riders[].device.token', platform: 'riders[].device.platform' }],
      delivery: { channels: ['push'] },
      templates: [{ channel: 'push', locale: 'en', subject: 'Trip', body: 'The trip of {{riderName}} has changed' }],
    },
    'bus.late': {
      entity: 'bus',
      secrets: ['deviceToken'],
      recipients: [{ deviceToken: 'deviceToken', platform: 'platform' }],
      delivery: { channels: ['push'] },
      templates: [{ channel: 'push', locale: 'en', subject: 'Bus', body: 'The bus is late' }],
    },
  },
}

for (const engine of ENGINE_NAMES)
  it(`a device token is nowhere on the disk of ${engine}, and is found, sent to and suppressed by all the same`, async () => {
    await using world = await openWorld(engine)
    await world.start()
    const tenant = await world.tenant({ catalogue: CATALOGUE, channels: ['push'] })
    const at = (target: string): string => `${target}${target.includes('?') ? '&' : '?'}tenantId=${tenant.id}`
    const [direct, first, second, banned, corrected] = ['a', 'b', 'c', 'd', 'e'].map(
      (letter) => `device-token-${letter.repeat(30)}:APA91b`,
    )
    const rider = (token: string | undefined) => ({ name: 'Ana', device: { token, platform: 'fcm' } })

    const ban = await world.ops('POST', at('/api/suppressions'), { channel: 'push', address: banned })
    const to = { deviceToken: direct, platform: 'fcm' }
    const sent = await world.ops('POST', at('/api/notifications'), { channel: 'push', to, body: 'the bus leaves' })
    const event = {
      type: 'trip.changed',
      entity: { type: 'trip', id: '1' },
      payload: { riderName: 'Ana', riders: [rider(first), rider(second)] },
    }
    const published = await world.ops('POST', at('/api/events'), event)
    assert.deepEqual([sent.status, published.status, ban.status], [202, 202, 201])
    const messages = await until('all are sent', async () => {
      const { body } = await world.ops('GET', at('/api/sandbox/messages'))
      const { items } = body as { items: { to: { deviceToken: string } }[] }
      return items.length === 3 ? items : null
    })

    assert.deepEqual(messages.map((message) => message.to.deviceToken).sort(), [direct, first, second])
    const found = async (target: string): Promise<unknown[]> => {
      const { body } = await world.ops('GET', at(target))
      return (body as { items: unknown[] }).items
    }
    for (const [target, token] of [
      ['/api/notifications?q=', first],
      ['/api/sandbox/messages?to=', second],
      ['/api/suppressions?address=', banned],
    ])
      assert.equal((await found(`${target}${encodeURIComponent(token ?? '')}`)).length, 1, target)
    const refused = { channel: 'push', to: { deviceToken: banned, platform: 'fcm' }, body: 'not to be sent' }
    const stopped = await world.ops('POST', at('/api/notifications'), refused)
    await until('it is stopped', async () => {
      const { body } = await world.ops('GET', at(`/api/notifications/${String(stopped.body['id'])}`))
      return body['status'] === 'parked' && body['reason'] === 'suppressed'
    })

    const again = await world.ops('POST', at(`/api/notifications/${String(stopped.body['id'])}/retry`), {
      to: { deviceToken: corrected, platform: 'fcm' },
    })
    const resent = await world.ops('POST', at('/api/trips/1/resend-notification'), { channel: 'push' })
    assert.deepEqual([again.status, resent.status], [200, 202])
    await until('the corrected one and the resent ones are sent', async () => {
      const items = await found('/api/sandbox/messages')
      return items.length === 6
    })

    assert.notDeepEqual(await placesOf(world, 'the bus leaves'), [], 'the search finds what is kept in clear')
    for (const token of [direct, first, second, banned, corrected])
      assert.deepEqual(await placesOf(world, token ?? ''), [])
    await world.stop()
    for (const token of [direct, first, second, banned, corrected])
      assert.deepEqual(await placesOf(world, token ?? ''), [])
  })

for (const engine of ENGINE_NAMES)
  it(`a device token that a host sealed is sent to, and is nowhere on the disk of ${engine}`, async () => {
    await using world = await openWorld(engine)
    await world.start()
    const tenant = await world.tenant({ catalogue: CATALOGUE, channels: ['push'] })
    const { body } = await world.ops('GET', `/api/sealing-key?tenantId=${tenant.id}`)
    const seal = sealWith(String(body['sealingKey']), { tenantId: tenant.id })
    const token = `device-token-${'h'.repeat(30)}:APA91b`

    const payload = { deviceToken: seal(token), platform: 'wns' }
    const event = { tenantId: tenant.id, type: 'bus.late', entity: { type: 'bus', id: '12' }, payload }
    await (await world.host()).transact({ events: [event] })
    await until('it is sent', async () => {
      const { body: page } = await world.ops('GET', `/api/sandbox/messages?tenantId=${tenant.id}`)
      const [message] = (page as { items: { to: { deviceToken: string } }[] }).items
      return message?.to.deviceToken === token
    })

    assert.deepEqual(await placesOf(world, token), [])
  })

for (const engine of ENGINE_NAMES)
  it(`device tokens that an earlier version kept in clear on ${engine} are sealed, found and suppressed`, async () => {
    await using world = await openWorld(engine)
    const [sent, taken, banned, published, tried] = OLD
    await writeUnsealed(world)
    for (const token of OLD) assert.notDeepEqual(await placesOf(world, token), [], 'the rows are of the old form')

    const log: string[] = []
    const note = (_fields: unknown, message: string): void => void log.push(message)
    await world.start(BOTH, { logger: { debug: note, info: note, warn: note, error: note } })
    await until('all are sealed', async () => log.includes('device tokens that were kept in clear are sealed'))
    const found = async (target: string): Promise<{ to: { deviceToken: string } }[]> => {
      const { body } = await world.ops('GET', `${target}&tenantId=acme`)
      return (body as { items: { to: { deviceToken: string } }[] }).items
    }
    await until('the event is told', async () => {
      const messages = await found('/api/sandbox/messages?limit=50')
      return messages.some(({ to }) => to.deviceToken === published)
    })
    for (const [target, token] of [
      ['/api/notifications?q=', sent],
      ['/api/notifications?q=', taken],
      ['/api/sandbox/messages?to=', tried],
      ['/api/suppressions?address=', banned],
    ] as const)
      assert.equal((await found(`${target}${encodeURIComponent(token)}`)).length, 1, `${target} ${token}`)

    await world.stop()
    for (const token of OLD) assert.deepEqual(await placesOf(world, token), [])
  })

const OLD = ['m', 'n', 'o', 'p', 'q'].map((letter) => `device-token-${letter.repeat(30)}:APA91b`) as [
  string,
  string,
  string,
  string,
  string,
]

/** A database and a sandbox as they were before tokens were sealed. */
async function writeUnsealed({ settings, dataDir }: World): Promise<void> {
  const [sent, taken, banned, published, tried] = OLD
  const read = resolveConfig({ flags: {}, env: settings, file: null, cwd: dataDir })
  assert.ok('config' in read)
  const clock = systemClock
  const ids = createIdSource(clock, Math.random)
  const store = await openStore(read.config, { debug() {}, info() {}, warn() {}, error() {} })
  await store.migrate()
  const tenantId = 'acme'
  await store.tenants.insert({ id: tenantId, name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  const catalogue = parseCatalogue({ name: 'trips', ...CATALOGUE })
  assert.ok('catalogue' in catalogue)
  await store.catalogue.replace(tenantId, catalogue.catalogue, { document: '{}', actor: 'test', newId: ids })
  const accountId = ids()
  const account = { id: accountId, tenantId, channel: 'push', provider: 'sandbox', name: 'push' } as const
  await store.accounts.insert(storedAccount(account))
  const to = (deviceToken: string) => ({ deviceToken, platform: 'fcm' as const })
  const key = (deviceToken: string): string => `1:trip.changed:push:template:${escapedKeyPart(deviceToken)}`
  const notification = (deviceToken: string, idempotencyKey: string) =>
    sampleNotification({
      id: ids(),
      tenantId,
      channel: 'push',
      accountId: null,
      to: to(deviceToken),
      idempotencyKey,
      stopped: { status: 'parked', reason: 'no_active_channels', error: 'written before' },
    })
  const hash = createHash('sha256').update(taken).digest('base64url')
  await store.notifications.insert([
    notification(sent, key(sent)),
    notification(taken, key(taken)),
    // The same was told since, under the key of today.
    notification('another', `1:trip.changed:push:template:device-${hash}`),
  ])
  const ban = {
    tenantId,
    channel: 'push',
    cause: 'operator',
    error: null,
    notificationId: null,
    createdBy: 'x',
  } as const
  await store.suppressions.insert({ id: ids(), ...ban, address: banned })
  const payload = { riderName: 'Ana', riders: [{ device: { token: published, platform: 'fcm' } }] }
  const entity = { type: 'trip', id: '9' }
  await store.events.insert([sampleEvent({ tenantId, id: 'old', type: 'trip.changed', entity, payload })])
  await store.close()
  const file = path.join(dataDir, 'sandbox.db')
  const vendor = createSandboxVendor({ path: file, clock })
  const submission = { tenantId, accountId, channel: 'push' as const, key: 'k', notificationId: ids(), attempt: 1 }
  await vendor.accept(
    {
      ...submission,
      to: to(tried),
      subject: null,
      body: 'b',
      data: {},
      correlationId: null,
      providerTemplate: null,
    },
    { honoursKeys: false, perSecond: null },
  )
  vendor.close()
  const sandbox = new DatabaseSync(file)
  sandbox.exec('pragma user_version = 2')
  sandbox.close()
}
