import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { PillarboxError } from '../model/errors.ts'
import type { Store } from '../store/store.ts'
import { type FixtureOptions, openFixture } from './fixture.ts'

const DAY_MS = 86_400_000

interface SiteAck {
  notificationId: string | null
  accepted: boolean
  error?: string
  permanent?: boolean
}

/** A tenant that can send mail, and a key of its site plant-1. */
async function setup(t: TestContext, options?: FixtureOptions) {
  const f = await openFixture(options)
  t.after(() => f.app.close())
  const tenant = await f.tenant('acme')
  const { keys } = tenant
  await f.call(keys.admin, 'POST', '/api/channel-accounts', { channel: 'email', provider: 'sandbox', name: 'mail' })
  await f.call(keys.admin, 'POST', '/api/recipient-lists', {
    name: 'operators',
    members: [{ email: 'o@example.test' }],
  })
  const key = await f.key({ tenantId: tenant.id, role: 'publisher', site: 'plant-1', name: 'plant-1' })
  const handOff = async (items: unknown[], about: object = {}, by = key) => {
    const answer = await f.call(by, 'POST', '/api/sites/plant-1/notifications', { items, ...about })
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json() as unknown as { acks: SiteAck[]; rewound: boolean }
  }
  const ledger = async () => (await f.call(keys.operator, 'GET', '/api/notifications?limit=200')).json().items
  return { f, tenant, key, handOff, ledger }
}

let counter = 0
/** As a script at a site made it: any GUID, in any case. */
const guid = (): string => `0B7C3F8E-7D0E-4A53-9F5C-${String(++counter).padStart(12, '0')}`

const alarm = (changes: object = {}) => ({
  notificationId: guid(),
  list: 'operators',
  subject: 'Pump 3 stopped',
  body: 'Pump 3 stopped at 12:04.',
  ...changes,
})

describe('what a site hands off', () => {
  it('is on record when it is acknowledged, once, with the site and the caller’s own ids', async (t) => {
    const { f, tenant, handOff, ledger } = await setup(t)
    const item = alarm({ executionId: 'run-7', parentExecutionId: 'run-1' })

    assert.deepEqual(
      (await handOff([item])).acks.map(({ notificationId, accepted }) => [notificationId, accepted]),
      [[item.notificationId, true]],
    )
    assert.deepEqual(
      (await handOff([item, item])).acks.map(({ accepted }) => accepted),
      [true, true],
      'a repeat is acknowledged, too',
    )

    const [row, ...others] = (await ledger()) as unknown as Record<string, unknown>[]
    assert.deepEqual(others, [])
    const id = item.notificationId.toLowerCase()
    assert.deepEqual(
      ['channel', 'status', 'site', 'idempotencyKey', 'correlationId', 'executionId', 'parentExecutionId'].map(
        (field) => row?.[field],
      ),
      ['email', 'queued', 'plant-1', id, id, 'run-7', 'run-1'],
    )
    assert.equal(f.nudges.includes('dispatch'), true)
    const audit = (await f.call(tenant.keys.viewer, 'GET', `/api/audit?notificationId=${String(row?.['id'])}`)).json()
    assert.deepEqual(
      audit.items.map(({ actor, action, executionId }) => [actor, action, executionId]),
      [['site:plant-1', 'notify_send', 'run-7']],
    )
    const found = (await f.call(tenant.keys.viewer, 'GET', `/api/notifications?site=plant-1&q=${id}`)).json()
    assert.equal(found.items.length, 1)
  })

  it('is acknowledged item by item: what is wrong is refused for good, with words, and spoils no other', async (t) => {
    const { handOff, ledger } = await setup(t)
    const wrong: [string, object][] = [
      ['is no GUID', alarm({ notificationId: 'alarm-1' })],
      ['goes to nobody', alarm({ list: undefined })],
      ['goes to two', alarm({ to: { email: 'a@example.test' } })],
      ['has no words', alarm({ body: undefined })],
      ['has an unknown field', alarm({ recipients: [] })],
      ['has an unknown channel', alarm({ channel: 'fax' })],
      ['brings a key of its own', alarm({ idempotencyKey: 'x' })],
      ['has a sequence that is none', alarm({ sequence: 0 })],
      ['has a time that is none', alarm({ expiresAt: 'tomorrow' })],
    ]

    const { acks } = await handOff([alarm(), ...wrong.map(([, item]) => item), 7, null, 'x', [], alarm()])

    assert.deepEqual([acks[0]?.accepted, acks.at(-1)?.accepted], [true, true])
    for (const [i, ack] of acks.slice(1, -1).entries()) {
      assert.deepEqual([ack.accepted, ack.permanent], [false, true], wrong[i]?.[0])
      assert.ok(ack.error && ack.error.length > 5, wrong[i]?.[0])
    }
    assert.equal((await ledger()).length, 2)
  })

  it('is to be kept where the store is away, and is written when it is handed off again', async (t) => {
    let isAway = false
    const wrapStore = (store: Store): Store => ({
      ...store,
      sites: {
        ...store.sites,
        handOff: async (...given) => {
          if (isAway) throw new PillarboxError('store_unavailable', 'The database cannot be reached.')
          return await store.sites.handOff(...given)
        },
      },
    })
    const { handOff, ledger } = await setup(t, { wrapStore })
    const items = [alarm(), alarm()]
    isAway = true

    const { acks } = await handOff([...items, alarm({ body: undefined })])

    assert.deepEqual(
      acks.map(({ accepted, permanent }) => [accepted, permanent]),
      [
        [false, false],
        [false, false],
        [false, false],
      ],
    )
    isAway = false
    assert.ok((await handOff(items)).acks.every(({ accepted }) => accepted))
    assert.equal((await ledger()).length, 2)
  })

  it('goes to an address or a list, on any channel, in words or by a template', async (t) => {
    const { f, tenant, handOff, ledger } = await setup(t)
    await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', {
      channel: 'sms',
      provider: 'sandbox',
      name: 'sms',
    })

    const { acks } = await handOff([
      alarm({ list: undefined, to: { email: 'a@example.test', name: 'A' } }),
      alarm({ list: undefined, to: { list: 'operators' } }),
      alarm({ list: undefined, channel: 'SMS', to: { phone: '+4915112345678' }, subject: undefined }),
    ])

    assert.deepEqual(
      acks.map(({ accepted, error }) => error ?? accepted),
      [true, true, true],
    )
    assert.deepEqual((await ledger()).map(({ channel }) => String(channel)).toSorted(), ['email', 'email', 'sms'])
  })

  it('has its times moved where the clock of the site is off: what was to expire in an hour does so', async (t) => {
    const { f, tenant, handOff, ledger } = await setup(t)
    const siteNow = f.now() - DAY_MS
    const at = new Date(siteNow).toISOString()
    const inAnHour = new Date(siteNow + 3_600_000).toISOString()

    await handOff([alarm({ expiresAt: inAnHour, sentAt: at })], { at })

    const [row] = (await ledger()) as unknown as Record<string, unknown>[]
    assert.equal(row?.['expiresAt'], new Date(f.now() + 3_600_000).toISOString())
    const [site] = (await f.call(tenant.keys.viewer, 'GET', '/api/sites')).json().items as unknown as Record<
      string,
      unknown
    >[]
    assert.equal(site?.['clockAheadMs'], -DAY_MS)
  })

  it('keeps its times within what can be kept, however far the clock of the site is off', async (t) => {
    const { handOff, ledger } = await setup(t)

    await handOff([alarm({ expiresAt: '9998-06-01T00:00:00Z' })], { at: '1970-01-01T00:00:10Z' })
    await handOff([alarm({ dueAt: '1970-01-01T00:00:00Z' })], { at: '9998-01-01T00:00:00Z' })

    const [due, expiring] = (await ledger()) as unknown as Record<string, unknown>[]
    assert.equal(expiring?.['expiresAt'], '9998-12-31T23:59:59.999Z')
    assert.equal(due?.['dueAt'], '1970-01-01T00:00:00.000Z')
  })

  it('is refused whole where the body is none: nothing is acknowledged, nothing is written', async (t) => {
    const { f, key, ledger } = await setup(t)
    const post = async (body: unknown) =>
      (await f.call(key, 'POST', '/api/sites/plant-1/notifications', body)).statusCode

    for (const body of [[], {}, { items: {} }, { items: [alarm()], extra: 1 }, { items: [alarm()], backlog: -1 }])
      assert.equal(await post(body), 422, JSON.stringify(body))
    assert.equal(await post({ items: Array.from({ length: 1_001 }, () => alarm()) }), 422)
    const huge = { items: [alarm({ body: 'x'.repeat(5_000_000) })] }
    assert.equal(await post(huge), 413)
    assert.equal((await ledger()).length, 0)
  })
})

describe('the status of what a site handed off', () => {
  it('is found by the id that the site has for it, in any case', async (t) => {
    const { f, key, handOff } = await setup(t)
    const item = alarm()
    await handOff([item])

    const answer = await f.call(key, 'GET', `/api/sites/plant-1/notifications/${item.notificationId}/status`)

    assert.equal(answer.statusCode, 200)
    const { notificationId, status } = answer.json()
    assert.deepEqual([notificationId, status], [item.notificationId.toLowerCase(), 'queued'])
  })

  it('is nobody else’s: not of another site, another tenant, another key', async (t) => {
    const { f, tenant, handOff } = await setup(t)
    const item = alarm()
    await handOff([item])
    const path = (site: string): string => `/api/sites/${site}/notifications/${item.notificationId}/status`
    const other = await f.key({ tenantId: tenant.id, role: 'publisher', site: 'plant-2' })
    const stranger = (await f.tenant('other')).keys

    assert.equal((await f.call(other, 'GET', path('plant-1'))).statusCode, 403)
    assert.equal((await f.call(other, 'GET', path('plant-2'))).statusCode, 404)
    for (const key of [stranger.admin, stranger.publisher, tenant.keys.publisher])
      assert.equal((await f.call(key, 'GET', path('plant-1'))).statusCode, 404)
    assert.equal((await f.call(tenant.keys.viewer, 'GET', path('plant-1'))).statusCode, 200)
  })
})

describe('a site', () => {
  it('is bound by its key, whatever the path says', async (t) => {
    const { f, key, tenant } = await setup(t)

    const answer = await f.call(key, 'POST', '/api/sites/plant-2/notifications', { items: [alarm()] })

    assert.deepEqual([answer.statusCode, answer.json().code], [403, 'forbidden'])
    assert.deepEqual((await f.call(tenant.keys.viewer, 'GET', '/api/sites')).json().items, [])
    assert.equal((await f.call(key, 'POST', '/api/sites/..%2fplant-1/notifications', { items: [] })).statusCode, 400)
  })

  it('is shown with its backlog, its last contact and the numbers of its buffer, to its own tenant', async (t) => {
    const { f, tenant, handOff } = await setup(t)
    const stranger = await f.tenant('other')
    const numbered = (...sequences: number[]) => sequences.map((sequence) => alarm({ sequence }))
    await handOff(numbered(1, 2, 4), { incarnation: 'buffer-1', backlog: 12 })
    f.advance(60_000)
    await handOff([], { incarnation: 'buffer-1', backlog: 9 })

    const { items } = (await f.call(tenant.keys.viewer, 'GET', '/api/sites')).json()

    assert.deepEqual(items, [
      {
        tenantId: 'acme',
        site: 'plant-1',
        backlog: 9,
        firstContactAt: new Date(f.now() - 60_000).toISOString(),
        lastContactAt: new Date(f.now()).toISOString(),
        incarnation: 'buffer-1',
        sequence: 2,
        missing: 1,
        rewoundAt: null,
        clockAheadMs: null,
      },
    ])
    assert.deepEqual((await f.call(stranger.keys.viewer, 'GET', '/api/sites')).json().items, [])
    assert.equal((await f.call(f.opsKey, 'GET', '/api/sites')).json().items.length, 1)
  })

  it('whose buffer was restored or cloned is told so, and loses nothing', async (t) => {
    const { f, handOff, ledger } = await setup(t)
    await handOff([alarm({ sequence: 1 }), alarm({ sequence: 2 })], { incarnation: 'buffer-1' })

    const { acks, rewound } = await handOff([alarm({ sequence: 2 })], { incarnation: 'buffer-1' })

    assert.deepEqual([acks[0]?.accepted, rewound], [true, true])
    assert.equal((await ledger()).length, 3)
    assert.ok(f.log.some((line) => line.startsWith('the buffer of a site was restored or cloned')))
  })

  it('that is gone is forgotten by an admin, on record, and what it handed off stays', async (t) => {
    const { f, tenant, handOff, ledger } = await setup(t)
    await handOff([alarm()], { incarnation: 'buffer-1' })

    assert.equal((await f.call(tenant.keys.operator, 'DELETE', '/api/sites/plant-1')).statusCode, 403)
    assert.equal((await f.call(tenant.keys.admin, 'DELETE', '/api/sites/plant-1')).statusCode, 204)
    assert.equal((await f.call(tenant.keys.admin, 'DELETE', '/api/sites/plant-1')).statusCode, 404)

    assert.deepEqual((await f.call(tenant.keys.viewer, 'GET', '/api/sites')).json().items, [])
    assert.equal((await ledger()).length, 1)
    const audit = (await f.call(tenant.keys.viewer, 'GET', '/api/audit?action=forget')).json()
    assert.deepEqual(
      audit.items.map(({ actor, subject }) => [actor, subject]),
      [['key:admin', 'site:plant-1']],
    )
  })

  it('has numbers of its own among the KPIs', async (t) => {
    const { f, tenant, handOff } = await setup(t)
    await f.store.rollups.rebuild('rebuild-1', () => {})
    await handOff([alarm(), alarm()])
    const { keys } = tenant

    const { groups = [] } = (await f.call(keys.viewer, 'GET', '/api/kpis?by=site')).json() as unknown as {
      groups?: { site: string | null; queueDepth: number }[]
    }

    assert.deepEqual(
      groups.map(({ site, queueDepth }) => [site, queueDepth]),
      [['plant-1', 2]],
    )
  })
})
