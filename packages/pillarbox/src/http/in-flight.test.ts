import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { metaCallback } from '@pillarbox/vendors'
import { storedAccount } from '../../../../test/support/samples.ts'
import { until } from '../../../../test/support/until.ts'
import { sealAccountSecrets } from '../security/account-secrets.ts'
import type { Store } from '../store/store.ts'
import { type Answer, CATALOGUE, type Fixture, type FixtureOptions, openFixture } from './fixture.ts'

const APP_SECRET = 'secret of the app'
const LIMITS = {
  trustedProxies: 1,
  maxInFlight: 40,
  maxPublicInFlight: 20,
  maxPublicInFlightPerSource: 5,
  publicBodyTimeoutMs: 5_000,
}
const EVENT = { type: 'booking.confirmed', entity: { type: 'booking', id: '1' } }

/** A server with a tenant whom Meta calls back, and another that publishes. */
async function setup(t: TestContext) {
  const f = await openFixture({ config: LIMITS })
  t.after(async () => {
    f.app.server.closeAllConnections()
    await f.app.close()
  })
  await f.tenant('called')
  const other = await f.tenant('other')
  await f.call(other.keys.admin, 'PUT', '/api/event-types', CATALOGUE)
  const id = f.deps.ids()
  const sealed = sealAccountSecrets(f.deps.seal, { tenantId: 'called', id }, { appSecret: APP_SECRET })
  await f.store.accounts.insert(
    storedAccount({ id, tenantId: 'called', channel: 'whatsapp', provider: 'meta', name: id, settings: {}, ...sealed }),
  )
  await f.app.listen({ port: 0, host: '127.0.0.1' })
  return { f, other }
}

interface SlowClient {
  /** What came back so far. */
  received(): string
  isClosed(): boolean
  write(text: string): void
}

/** Announces a body of a hundred bytes and sends one of them. */
function halfSent(f: Fixture, { from, path }: { from: string; path: string }): SlowClient {
  const address = f.app.server.address()
  const socket = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1')
  let received = ''
  socket.setEncoding('utf8').on('data', (text) => {
    received += String(text)
  })
  socket.on('error', () => undefined)
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\nx-forwarded-for: ${from}\r\ncontent-length: 100\r\n\r\nx`)
  return { received: () => received, isClosed: () => socket.closed, write: (text) => void socket.write(text) }
}

const statusOf = ({ received }: SlowClient): string => received().slice(9, 12)

/** A hundred clients, ten of each address, once all but those that may stay were turned away. */
async function besieged(f: Fixture, path: string): Promise<SlowClient[]> {
  const clients = Array.from({ length: 100 }, (_, i) => halfSent(f, { from: `192.0.2.${i % 10}`, path }))
  await until('all but twenty are turned away', () => clients.filter((one) => statusOf(one) !== '').length === 80)
  return clients
}

function callback(f: Fixture, from: string) {
  const { headers, body } = metaCallback(APP_SECRET, [{ id: 'wamid.1', status: 'delivered', at: f.now() }])
  const url = '/api/webhooks/meta/called'
  return f.inject({ method: 'POST', url, headers: { ...headers, 'x-forwarded-for': from }, payload: body })
}

describe('bodies that do not come to a path that needs no key', () => {
  it('keep nobody with a key out, and are turned away beyond their own number', async (t) => {
    const { f, other } = await setup(t)

    const clients = await besieged(f, '/api/webhooks/meta/called')

    assert.deepEqual(new Set(clients.map(statusOf)), new Set(['', '503']))
    for (let i = 0; i < 50; i++) {
      const answer = await f.call(other.keys.publisher, 'POST', '/api/events', EVENT)
      assert.equal(answer.statusCode, 202, answer.body)
    }
    assert.equal((await f.call(null, 'GET', '/health/live')).statusCode, 200)
  })

  it('leave other addresses their part', async (t) => {
    const { f } = await setup(t)
    const path = '/api/webhooks/meta/called'
    const clients = Array.from({ length: 30 }, () => halfSent(f, { from: '192.0.2.1', path }))
    await until('all but five are turned away', () => clients.filter((one) => statusOf(one) === '429').length === 25)

    assert.equal((await callback(f, '192.0.2.1')).statusCode, 429)
    assert.equal((await callback(f, '192.0.2.2')).statusCode, 200)
  })

  it('are given up after seconds, however often a byte comes, and make room', async (t) => {
    const { f } = await setup(t)
    const clients = (await besieged(f, '/api/webhooks/meta/called')).filter((one) => statusOf(one) === '')
    assert.equal((await callback(f, '198.51.100.1')).statusCode, 503)

    f.advance(4_999)
    for (const { write } of clients) write('x')
    assert.deepEqual(new Set(clients.map(statusOf)), new Set(['']))
    f.advance(1)

    await until('all were told, and cut', () => clients.every((one) => statusOf(one) === '408' && one.isClosed()))
    assert.match(clients[0]?.received() ?? '', /"code":"request_timeout".*within 5 seconds/)
    await until('there is room', async () => (await callback(f, '198.51.100.1')).statusCode === 200)
  })

  it('are not waited for where there is nothing at the path', async (t) => {
    const { f } = await setup(t)
    const clients = Array.from({ length: 30 }, () => halfSent(f, { from: '192.0.2.1', path: '/api/nothing' }))

    await until('all are answered', () => clients.every((one) => statusOf(one) === '404'))
  })
})

describe('somebody whose key is known', () => {
  const HEALTH = '/health/live'

  /** An app whose turns of the event loop, as far as others wait for them, the test makes. */
  async function held(t: TestContext, config: FixtureOptions['config'] = {}, rest: FixtureOptions = {}) {
    const turns: (() => void)[] = []
    const f = await openFixture({ ...rest, config, deps: { nextTurn: (run) => void turns.push(run) } })
    t.after(() => f.app.close())
    /** Calls, and makes turns until it is answered. */
    const answered = async (call: Promise<Answer>): Promise<Answer> => {
      let isDone = false
      void call.finally(() => {
        isDone = true
      })
      await until('it is answered', async () => {
        turns.shift()?.()
        await nextTurn()
        return isDone
      })
      return call
    }
    const { keys } = await f.tenant('acme')
    for (const key of [keys.admin, keys.publisher]) await answered(f.call(key, 'GET', '/api/sealing-key'))
    await answered(f.call(keys.admin, 'PUT', '/api/event-types', CATALOGUE))
    while (turns.length > 0) turns.shift()?.()
    return { f, keys, turns, answered }
  }

  it('does not wait for strangers, who are let in a few at a time', async (t) => {
    const { f, keys, answered } = await held(t, { turnstile: { perTurn: 2, mostRefusals: 100 } })
    let isAnswered = 0
    const strangers = [
      ...Array.from({ length: 30 }, (_, i) => f.call(`unknown ${i}`, 'GET', '/api/notifications')),
      ...Array.from({ length: 30 }, () => f.call(null, 'POST', '/api/webhooks/meta/acme', {})),
      ...Array.from({ length: 30 }, () => f.call(null, 'GET', '/nothing')),
    ]
    for (const each of strangers) void each.then(() => isAnswered++)

    const answer = await f.call(keys.publisher, 'POST', '/api/events', EVENT)

    assert.equal(answer.statusCode, 202)
    assert.equal((await f.call(null, 'GET', HEALTH)).statusCode, 200)
    assert.ok(isAnswered <= 2, `${isAnswered} strangers were answered before`)
    const codes = (await Promise.all(strangers.map(answered))).map(({ statusCode }) => statusCode)
    assert.deepEqual(new Set(codes), new Set([401, 403, 404]))
  })

  it('does not wait either where it is signed in at the console', async (t) => {
    const { f, keys, turns, answered } = await held(t, { turnstile: { perTurn: 2, mostRefusals: 100 } })
    const signedIn = await answered(f.call(null, 'POST', '/api/session', { key: keys.viewer }))
    const cookie = String(signedIn.headers['set-cookie']).split(';', 1)[0] ?? ''
    while (turns.length > 0) turns.shift()?.()
    let isAnswered = 0
    const forgers = Array.from({ length: 30 }, (_, i) =>
      f.inject({ method: 'GET', url: '/api/session', headers: { cookie: `pbx_session=${'x'.repeat(40)}${i}` } }),
    )
    for (const each of forgers) void each.then(() => isAnswered++)

    const answer = await f.inject({ method: 'GET', url: '/api/session', headers: { cookie } })

    assert.equal(answer.statusCode, 200)
    assert.ok(isAnswered <= 2, `${isAnswered} forgers were answered before`)
    for (const each of forgers) assert.equal((await answered(each)).statusCode, 401)
  })

  it('is looked up before strangers who ask for streams, too', async (t) => {
    let lookUps = 0
    const wrapStore = (store: Store): Store => ({
      ...store,
      keys: {
        ...store.keys,
        findByHash: (hash) => {
          lookUps++
          return store.keys.findByHash(hash)
        },
      },
    })
    const { f, keys, answered } = await held(t, { turnstile: { perTurn: 2, mostRefusals: 100 } }, { wrapStore })
    lookUps = 0
    const strangers = Array.from({ length: 30 }, (_, i) => f.call(`pbx_unknown${i}`, 'GET', '/api/stream'))

    await f.call(keys.publisher, 'POST', '/api/events', EVENT)

    assert.ok(lookUps <= 2, `${lookUps} strangers were looked up before`)
    for (const each of strangers) assert.equal((await answered(each)).statusCode, 401)
  })

  it('has its streams counted only until they begin', async (t) => {
    const f = await openFixture({ config: { maxInFlight: 1 } })
    t.after(() => f.app.close())
    const { keys } = await f.tenant('acme')
    const open = () =>
      f.app.inject({
        method: 'GET',
        url: '/api/stream',
        headers: { authorization: `Bearer ${keys.viewer}` },
        payloadAsStream: true,
      })

    for (let i = 0; i < 3; i++) {
      const stream = await open()
      t.after(() => stream.stream().destroy())
      assert.equal(stream.statusCode, 200)
    }

    assert.equal((await f.call(keys.viewer, 'GET', '/api/notifications')).statusCode, 200)
  })

  it('does not wait while others are told that it was too much', async (t) => {
    const { f, keys, answered } = await held(t, { turnstile: { perTurn: 2, mostRefusals: 40 }, maxPublicInFlight: 0 })
    let isAnswered = 0
    const refused = Array.from({ length: 30 }, () => f.call(null, 'GET', '/nothing'))
    for (const each of refused) void each.then(() => isAnswered++)

    const answer = await f.call(keys.publisher, 'POST', '/api/events', EVENT)

    assert.equal(answer.statusCode, 202)
    assert.ok(isAnswered <= 2, `${isAnswered} were told before`)
    for (const each of await Promise.all(refused.map(answered))) {
      assert.deepEqual([each.statusCode, each.json().code], [503, 'overloaded'])
      assert.ok(each.headers['retry-after'])
    }
  })
})
