import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { offerLink, offerOpsLink } from '../operate/sessions.ts'
import { hashKey } from '../security/keys.ts'
import type { Store } from '../store/store.ts'
import { type Answer, type Fixture, type FixtureOptions, openFixture } from './fixture.ts'

const OURS = { 'sec-fetch-site': 'same-origin' }
const HOUR = 3_600_000

async function setup(t: TestContext, options: FixtureOptions = {}) {
  const f = await openFixture(options)
  t.after(() => f.app.close())
  const acme = await f.tenant('acme')
  const { key } = (await f.call(acme.keys.admin, 'POST', '/api/keys', { name: 'Ana', role: 'operator' })).json()
  return { f, acme, key }
}

function signIn(f: Fixture, body: object, headers: Record<string, string> = OURS): Promise<Answer> {
  return f.inject({
    method: 'POST',
    url: '/api/session',
    headers: { 'content-type': 'application/json', ...headers },
    payload: JSON.stringify(body),
  })
}

/** What a browser would send back. */
function cookieOf(answer: Answer): string {
  return String(answer.headers['set-cookie']).split(';', 1)[0] ?? ''
}

function withCookie(f: Fixture, cookie: string, method: string, url: string, headers: Record<string, string> = OURS) {
  return f.inject({ method, url, headers: { cookie, ...headers } })
}

it('lets the holder of a key in, with a cookie that scripts cannot read and other sites cannot use', async (t) => {
  const { f, key } = await setup(t)

  const answer = await signIn(f, { key })

  assert.deepEqual(
    [answer.statusCode, answer.json().tenantId, answer.json().role, answer.json().name],
    [200, 'acme', 'operator', 'Ana'],
  )
  const set = String(answer.headers['set-cookie'])
  assert.match(set, /^pbx_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/)
  assert.ok(!answer.body.includes(cookieOf(answer).slice(12)), 'the secret is in the answer')
  const who = await withCookie(f, cookieOf(answer), 'GET', '/api/session')
  assert.deepEqual([who.statusCode, who.json().name], [200, 'Ana'])
})

it('keeps only a hash of what opens a session', async (t) => {
  const { f, key } = await setup(t)
  const secret = cookieOf(await signIn(f, { key })).slice('pbx_session='.length)

  assert.equal(await f.store.sessions.find(secret), null)
  assert.ok(f.log.every((line) => !line.includes(secret)))
})

it('marks the cookie as secure where the console is reached over https', async (t) => {
  const f = await openFixture({ config: { publicUrl: 'https://notify.example.com' } })
  t.after(() => f.app.close())

  const answer = await signIn(f, { key: f.opsKey }, { origin: 'https://notify.example.com' })

  assert.match(String(answer.headers['set-cookie']), /; Secure$/)
})

it('acts with the role of the key, and is called console:<name> on record', async (t) => {
  const { f, key, acme } = await setup(t)
  const cookie = cookieOf(await signIn(f, { key }))
  await f.call(acme.keys.admin, 'POST', '/api/channel-accounts', { channel: 'email', provider: 'sandbox', name: 'a' })
  const mail = { channel: 'email', to: { email: 'ada@example.test' }, body: 'x' }
  const { id } = (await f.call(acme.keys.publisher, 'POST', '/api/notifications', mail)).json()

  const parked = await withCookie(f, cookie, 'POST', `/api/notifications/${id}/park`)
  const refused = await withCookie(f, cookie, 'GET', '/api/keys')

  assert.equal(parked.statusCode, 200, parked.body)
  assert.equal(refused.statusCode, 403)
  const [newest] = (await f.call(acme.keys.viewer, 'GET', '/api/audit?action=park')).json().items
  assert.equal(newest?.actor, 'console:Ana')
})

it('refuses with a cookie what another site makes a browser send', async (t) => {
  const { f, key } = await setup(t)
  const cookie = cookieOf(await signIn(f, { key }))
  const out = (headers: Record<string, string>) => withCookie(f, cookie, 'DELETE', '/api/session', headers)

  const others: Record<string, string>[] = [
    {},
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: 'http://localhost:80' },
    { 'sec-fetch-site': 'none' },
  ]
  for (const headers of others) {
    const answer = await out(headers)
    assert.deepEqual([answer.statusCode, answer.json().code], [403, 'forbidden'], JSON.stringify(headers))
  }
  assert.equal((await withCookie(f, cookie, 'GET', '/api/session', { 'sec-fetch-site': 'cross-site' })).statusCode, 403)
  assert.equal((await withCookie(f, cookie, 'GET', '/api/session', {})).statusCode, 200)
  assert.equal((await signIn(f, { key }, { origin: 'https://evil.example' })).statusCode, 403)
  assert.equal((await out({ origin: 'http://localhost:80' })).statusCode, 204)
})

it('ends when its holder signs out, here or everywhere', async (t) => {
  const { f, key } = await setup(t)
  const [first, second, third] = [
    cookieOf(await signIn(f, { key })),
    cookieOf(await signIn(f, { key })),
    cookieOf(await signIn(f, { key })),
  ]
  const isIn = async (cookie: string) => (await withCookie(f, cookie, 'GET', '/api/session')).statusCode === 200

  const out = await withCookie(f, first, 'DELETE', '/api/session')

  assert.match(String(out.headers['set-cookie']), /^pbx_session=; .*Max-Age=0/)
  assert.deepEqual([await isIn(first), await isIn(second), await isIn(third)], [false, true, true])
  await withCookie(f, second, 'DELETE', '/api/session?everywhere=true')
  assert.deepEqual([await isIn(second), await isIn(third)], [false, false])
})

it('outlives a request that came with a key and said to sign out', async (t) => {
  const { f, key } = await setup(t)
  const cookie = cookieOf(await signIn(f, { key }))

  const out = await f.inject({
    method: 'DELETE',
    url: '/api/session',
    headers: { authorization: `Bearer ${key}`, cookie },
  })

  assert.deepEqual([out.statusCode, out.headers['set-cookie']], [204, undefined])
  assert.equal((await withCookie(f, cookie, 'GET', '/api/session')).statusCode, 200)
})

it('ends with its key, and with time', async (t) => {
  const { f, acme, key } = await setup(t)
  const cookie = cookieOf(await signIn(f, { key }))
  const isIn = async (one: string) => (await withCookie(f, one, 'GET', '/api/session')).statusCode === 200
  const keys = (await f.call(acme.keys.admin, 'GET', '/api/keys')).json().items
  const { id } = keys.find(({ name }) => name === 'Ana') ?? assert.fail()

  await f.call(acme.keys.admin, 'DELETE', `/api/keys/${id}`)

  assert.equal(await isIn(cookie), false)
  const viewer = cookieOf(await signIn(f, { key: acme.keys.viewer }))
  f.advance(12 * HOUR - 1)
  assert.equal(await isIn(viewer), true)
  f.advance(2 + 60_000)
  assert.equal(await isIn(viewer), false)
})

it('exchanges the secret once an hour, and takes the former one a little longer', async (t) => {
  const { f, key } = await setup(t)
  const old = cookieOf(await signIn(f, { key }))
  assert.equal((await withCookie(f, old, 'GET', '/api/session')).headers['set-cookie'], undefined)
  f.advance(HOUR)

  const fresh = cookieOf(await withCookie(f, old, 'GET', '/api/session'))

  assert.match(fresh, /^pbx_session=[\w-]{43}$/)
  assert.notEqual(fresh, old)
  assert.equal((await withCookie(f, old, 'GET', '/api/session')).statusCode, 200)
  f.advance(60_001)
  assert.equal((await withCookie(f, old, 'GET', '/api/session')).statusCode, 401)
  assert.equal((await withCookie(f, fresh, 'GET', '/api/session')).statusCode, 200)
})

it('ends the session that a browser had when somebody signs in anew', async (t) => {
  const { f, key } = await setup(t)
  const old = cookieOf(await signIn(f, { key }))

  const fresh = cookieOf(await signIn(f, { key }, { ...OURS, cookie: old }))

  assert.equal((await withCookie(f, old, 'GET', '/api/session')).statusCode, 401)
  assert.equal((await withCookie(f, fresh, 'GET', '/api/session')).statusCode, 200)
})

it('lets whoever opens a link first in, within its time', async (t) => {
  const { f } = await setup(t)
  const tokenOf = (link: string | null) => link?.split('?t=')[1] ?? assert.fail()
  const token = tokenOf(await offerOpsLink(f.deps, f.now()))

  const answer = await signIn(f, { token })

  assert.deepEqual([answer.statusCode, answer.json().role, answer.json().tenantId], [200, 'ops', null])
  assert.equal((await signIn(f, { token })).statusCode, 401)
  const late = tokenOf(await offerOpsLink(f.deps, f.now()))
  f.advance(15 * 60_000 + 1)
  assert.equal((await signIn(f, { token: late })).statusCode, 401)
})

it('takes a link back with its key', async (t) => {
  const { f, acme } = await setup(t)
  const { id, key } = (await f.call(acme.keys.admin, 'POST', '/api/keys', { name: 'Bo', role: 'viewer' })).json()
  const link = await offerLink(f.deps, id)
  await f.call(acme.keys.admin, 'DELETE', `/api/keys/${id}`)

  assert.equal((await signIn(f, { token: link.split('?t=')[1] })).statusCode, 401)
  assert.equal((await signIn(f, { key })).statusCode, 401)
  await assert.rejects(offerLink(f.deps, id), { code: 'not_found' })
})

it('lets nobody in who only sends, nobody with both or neither, and nobody who guesses for long', async (t) => {
  const { f, acme } = await setup(t)

  assert.equal((await signIn(f, { key: acme.keys.publisher })).statusCode, 403)
  assert.equal((await signIn(f, {})).statusCode, 422)
  assert.equal((await signIn(f, { key: f.opsKey, token: 'x' })).statusCode, 422)
  for (let i = 0; i < 10; i++) assert.equal((await signIn(f, { key: `pbx_guess-${i}` })).statusCode, 401)
  const refused = await signIn(f, { key: f.opsKey })
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '5'])
  f.advance(5_001)
  assert.equal((await signIn(f, { key: f.opsKey })).statusCode, 200)
})

it('lets the session of an ops key name a tenant, and no other', async (t) => {
  const { f, key } = await setup(t)
  const ops = cookieOf(await signIn(f, { key: f.opsKey }))
  const own = cookieOf(await signIn(f, { key }))

  assert.equal((await withCookie(f, ops, 'GET', '/api/kpis?tenantId=acme')).statusCode, 200)
  assert.equal((await withCookie(f, own, 'GET', '/api/kpis?tenantId=acme')).statusCode, 422)
})

it('goes on where others bring unknown cookies from the same address', async (t) => {
  const { f, key } = await setup(t, { config: { failedKeysPerSecond: 0.00001, failedKeysBurst: 3 } })
  const cookie = cookieOf(await signIn(f, { key }))
  const forged = `pbx_session=${'x'.repeat(43)}`
  const isIn = async (one: string) => (await withCookie(f, one, 'GET', '/api/session')).statusCode

  assert.deepEqual(
    [await isIn(forged), await isIn(forged), await isIn(forged), await isIn(forged)],
    [401, 401, 401, 429],
  )

  assert.equal(await isIn(cookie), 200)
  f.advance(HOUR)
  const fresh = cookieOf(await withCookie(f, cookie, 'GET', '/api/session'))
  assert.notEqual(fresh, cookie)
  assert.equal(await isIn(fresh), 200)
  await f.store.sessions.end(hashKey(fresh.slice('pbx_session='.length)))
  f.advance(2_000)
  assert.deepEqual([await isIn(fresh), await isIn(fresh)], [401, 429])
})

it('is read from the store at most once in two seconds, however many requests come', async (t) => {
  let reads = 0
  const wrapStore = (store: Store): Store => ({
    ...store,
    sessions: {
      ...store.sessions,
      find: (hash) => {
        reads++
        return store.sessions.find(hash)
      },
    },
  })
  const { f, key } = await setup(t, { wrapStore })
  const cookie = cookieOf(await signIn(f, { key }))
  const ask = () => withCookie(f, cookie, 'GET', '/api/session')

  await Promise.all(Array.from({ length: 20 }, ask))
  assert.equal(reads, 1)
  f.advance(2_000)
  await ask()
  assert.equal(reads, 2)
})
