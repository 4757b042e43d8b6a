import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { ApiKey } from '../model/api-key.ts'
import type { KeyStore } from '../operate/key-store.ts'
import { systemClock } from '../runtime/system.ts'
import { hashKey } from '../security/keys.ts'
import type { Store } from '../store/store.ts'
import { createKeyCache } from './auth.ts'
import { type Fixture, openFixture } from './fixture.ts'

async function setup(t: TestContext, options: Parameters<typeof openFixture>[0] = {}): Promise<Fixture> {
  const f = await openFixture(options)
  t.after(() => f.app.close())
  return f
}

describe('keys', () => {
  it('stop working the moment they are revoked here, and within 5 seconds elsewhere', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    const issue = async () => {
      const answer = await f.call(tenant.keys.admin, 'POST', '/api/keys', { name: 'erp', role: 'viewer' })
      return answer.json()
    }
    const [here, elsewhere] = [await issue(), await issue()]
    for (const { key } of [here, elsewhere])
      assert.equal((await f.call(key, 'GET', '/api/notifications')).statusCode, 200)

    await f.call(tenant.keys.admin, 'DELETE', `/api/keys/${here.id}`)
    await f.store.keys.revoke('acme', elsewhere.id)

    assert.equal((await f.call(here.key, 'GET', '/api/notifications')).statusCode, 401)
    f.advance(4_999)
    assert.equal((await f.call(elsewhere.key, 'GET', '/api/notifications')).statusCode, 401)
    assert.equal((await f.call(tenant.keys.admin, 'DELETE', `/api/keys/${here.id}`)).statusCode, 404)
  })

  it('stop working when they expire, and cannot be made expired', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    const expiresAt = new Date(f.now() + 60_000).toISOString()
    const body = { name: 'short', role: 'viewer', expiresAt }
    const { key } = (await f.call(tenant.keys.admin, 'POST', '/api/keys', body)).json()

    assert.equal((await f.call(key, 'GET', '/api/notifications')).statusCode, 200)
    f.advance(60_000)
    assert.equal((await f.call(key, 'GET', '/api/notifications')).statusCode, 401)
    assert.equal((await f.call(tenant.keys.admin, 'POST', '/api/keys', body)).statusCode, 422)
  })

  it('are shown once and never again', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    const issued = await f.call(tenant.keys.admin, 'POST', '/api/keys', {
      name: 'erp',
      role: 'publisher',
      ratePerSecond: 5,
    })

    assert.equal(issued.statusCode, 201)
    const { key, ...rest } = issued.json()
    assert.match(key, /^pbx_[\w-]{43}$/)
    assert.deepEqual(rest, {
      id: rest.id,
      tenantId: 'acme',
      name: 'erp',
      role: 'publisher',
      site: null,
      ratePerSecond: 5,
      expiresAt: null,
    })
    const listed = await f.call(tenant.keys.admin, 'GET', '/api/keys')
    assert.equal(listed.json().items.length, 5)
    assert.equal(listed.json().items[0]?.id, rest.id)
    assert.ok(!listed.body.includes(key) && !listed.body.includes('hash'))
    const dump = JSON.stringify(await f.store.keys.list('acme'))
    assert.ok(!dump.includes(key))
  })

  it('cannot be made with more than a tenant may have', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    for (const body of [
      { name: 'x', role: 'ops' },
      { name: 'x', role: 'root' },
      { name: '', role: 'viewer' },
      { name: 'a\nb', role: 'viewer' },
      { name: 'x', role: 'viewer', site: 'plant-1' },
      { name: 'x', role: 'viewer', ratePerSecond: 0 },
      { name: 'x', role: 'viewer', ratePerSecond: 1.5 },
      { name: 'x', role: 'viewer', id: 'x' },
      { role: 'viewer' },
    ])
      assert.equal((await f.call(tenant.keys.admin, 'POST', '/api/keys', body)).statusCode, 422, JSON.stringify(body))
  })

  it('page through lists, newest first', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    const seen: string[] = []
    let cursor = ''
    do {
      const page = (await f.call(tenant.keys.admin, 'GET', `/api/keys?limit=3${cursor}`)).json()
      seen.push(...page.items.map((key) => key.name))
      cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`
    } while (cursor)

    assert.deepEqual(seen, ['admin', 'operator', 'viewer', 'publisher'])
  })

  it('are held to their own rate, and told when to come back', async (t) => {
    const f = await setup(t)
    await f.tenant('acme')
    const slow = await f.key({ tenantId: 'acme', role: 'viewer', ratePerSecond: 2 })
    const fast = await f.key({ tenantId: 'acme', role: 'viewer' })
    const status = async (key: string) => (await f.call(key, 'GET', '/api/notifications')).statusCode

    assert.deepEqual([await status(slow), await status(slow), await status(slow)], [200, 200, 429])
    const refused = await f.call(slow, 'GET', '/api/notifications')
    assert.equal(refused.json().code, 'rate_limited')
    assert.equal(refused.headers['retry-after'], '1')
    assert.equal(await status(fast), 200)
    f.advance(500)
    assert.deepEqual([await status(slow), await status(slow)], [200, 429])
  })

  it('bound to a site may only hand off for it, and ask for status', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    const body = { name: 'plant', role: 'publisher', site: 'plant-1' }
    const { key } = (await f.call(tenant.keys.admin, 'POST', '/api/keys', body)).json()

    const email = { channel: 'email', to: { email: 'a@example.test' }, body: 'x' }
    assert.equal((await f.call(key, 'POST', '/api/notifications', email)).statusCode, 403)
    assert.equal((await f.call(key, 'POST', '/api/sites/plant-1/notifications', { items: [] })).statusCode, 200)
    assert.equal((await f.call(key, 'POST', '/api/sites/plant-2/notifications', { items: [] })).statusCode, 403)
    assert.equal((await f.call(key, 'GET', '/api/sites')).statusCode, 403)
    const random = '019bc186-0000-7000-8000-000000000000'
    assert.equal((await f.call(key, 'GET', `/api/notifications/${random}/status`)).statusCode, 404)
  })

  it('are read from the store at most once in two seconds each, however many requests come', async (t) => {
    let reads = 0
    const f = await setup(t, { wrapStore: counting(() => reads++) })
    const tenant = await f.tenant('acme')

    await Promise.all(Array.from({ length: 20 }, () => f.call(tenant.keys.viewer, 'GET', '/api/notifications')))
    assert.equal(reads, 1)
    f.advance(2_000)
    await f.call(tenant.keys.viewer, 'GET', '/api/notifications')
    assert.equal(reads, 2)
  })

  it('that are guessed cost the database nothing after a while, and good keys go on working', async (t) => {
    let reads = 0
    const f = await setup(t, {
      wrapStore: counting(() => reads++),
      config: { failedKeysPerSecond: 1, failedKeysBurst: 10 },
    })
    const tenant = await f.tenant('acme')
    await f.call(tenant.keys.viewer, 'GET', '/api/notifications')
    const guesses: number[] = []
    for (let i = 0; i < 30; i++) guesses.push((await f.call(`pbx_guess${i}`, 'GET', '/api/notifications')).statusCode)

    assert.deepEqual([guesses.filter((status) => status === 401).length, guesses.at(-1)], [10, 429])
    assert.equal(reads, 11)
    assert.equal((await f.call(tenant.keys.viewer, 'GET', '/api/notifications')).statusCode, 200)
    f.advance(1_000)
    assert.equal((await f.call('pbx_guess', 'GET', '/api/notifications')).statusCode, 401)
  })

  it('that are not known are asked for again each time, and are limited as long as they are not', async (t) => {
    let reads = 0
    const f = await setup(t, {
      wrapStore: counting(() => reads++),
      config: { failedKeysPerSecond: 1, failedKeysBurst: 3 },
    })
    await f.tenant('acme')
    const status = async () => (await f.call('pbx_later', 'GET', '/api/notifications')).statusCode

    assert.deepEqual([await status(), await status(), await status(), await status()], [401, 401, 401, 429])
    assert.equal(reads, 3)
    f.advance(1_000)
    await f.store.keys.insert(
      {
        id: f.deps.ids(),
        tenantId: 'acme',
        name: 'x',
        role: 'viewer',
        site: null,
        ratePerSecond: null,
        expiresAt: null,
      },
      hashKey('pbx_later'),
    )
    assert.equal(await status(), 200)
  })

  it('are remembered up to a number, and neither unknown ones nor failed reads are', async () => {
    const asked: string[] = []
    const findByHash = async (hash: string): Promise<ApiKey | null> => {
      asked.push(hash)
      if (hash === 'broken') throw new Error('the store is away')
      return hash === 'unknown' ? null : ({ id: hash } as ApiKey)
    }
    const cache = createKeyCache({ findByHash } as KeyStore, { ...systemClock, monotonic: () => 0 }, 1_000)

    await assert.rejects(cache.find('unknown'), { code: 'unauthorized' })
    await assert.rejects(cache.find('broken'), { message: 'the store is away' })
    assert.deepEqual([cache.has('unknown'), cache.has('broken')], [false, false])
    for (let i = 0; i <= 10_000; i++) await cache.find(`hash${i}`)
    assert.deepEqual([cache.has('hash0'), cache.has('hash1'), cache.has('hash10000')], [false, true, true])
    await cache.find('hash10000')
    assert.equal(asked.length, 10_003)
  })

  it('are read again where they are forgotten while they are read', async () => {
    const { promise: first, resolve } = Promise.withResolvers<ApiKey>()
    const answers = [first, Promise.resolve({ id: 'key', revokedAt: 1 } as ApiKey)]
    const findByHash = async (): Promise<ApiKey | null> => (await answers.shift()) ?? null
    const cache = createKeyCache({ findByHash } as unknown as KeyStore, { ...systemClock, monotonic: () => 0 }, 1_000)

    const finding = cache.find('hash')
    cache.forget('key')
    resolve({ id: 'key', revokedAt: null } as ApiKey)

    assert.equal((await finding).revokedAt, 1)
  })

  it('that may not do something are told which may', async (t) => {
    const f = await setup(t)
    const { keys } = await f.tenant('acme')
    const detail = async (key: string, method: string, url: string) => {
      const answer = await f.call(key, method, url)
      assert.equal(answer.statusCode, 403)
      return answer.json().detail
    }

    assert.equal(
      await detail(keys.viewer, 'POST', '/api/channel-accounts'),
      'A key with the role viewer may not do this: use a key with the role admin or ops.',
    )
    assert.equal(
      await detail(keys.publisher, 'GET', '/api/notifications'),
      'A key with the role publisher may not do this: use a key with the role viewer, operator, admin, or ops.',
    )
    assert.equal(
      await detail(keys.viewer, 'GET', '/api/inbox/ada/messages'),
      'A key with the role viewer may not do this: use a key with the role publisher or a token of the user.',
    )
  })

  it('unknown, revoked and expired get the same answer', async (t) => {
    const f = await setup(t)
    await f.tenant('acme')
    const revoked = await f.key({ tenantId: 'acme', role: 'viewer', name: 'revoked' })
    const expired = await f.key({ tenantId: 'acme', role: 'viewer', expiresAt: f.now() - 1 })
    const record = (await f.store.keys.list('acme')).find((key) => key.name === 'revoked')
    await f.store.keys.revoke('acme', record?.id ?? '')

    const answers = []
    for (const key of ['pbx_unknown', revoked, expired]) {
      const { requestId: _, ...rest } = (await f.call(key, 'GET', '/api/notifications')).json()
      answers.push(rest)
    }
    assert.equal(answers[0]?.status, 401)
    assert.deepEqual(answers[1], answers[0])
    assert.deepEqual(answers[2], answers[0])
  })
})

function counting(count: () => unknown): (store: Store) => Store {
  return (store) => ({
    ...store,
    keys: {
      ...store.keys,
      findByHash: (hash) => {
        count()
        return store.keys.findByHash(hash)
      },
    },
  })
}
