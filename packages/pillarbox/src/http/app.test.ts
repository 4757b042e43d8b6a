import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import type { Store } from '../store/store.ts'
import { buildApp } from './app.ts'
import { type Fixture, openFixture } from './fixture.ts'

async function setup(t: TestContext, options: Parameters<typeof openFixture>[0] = {}): Promise<Fixture> {
  const f = await openFixture(options)
  t.after(() => f.app.close())
  return f
}

describe('the app', () => {
  it('gives every answer a request id, and keeps a sane one', async (t) => {
    const f = await setup(t)
    const ask = (id?: string, url = '/health/live') =>
      f.inject({ method: 'GET', url, headers: id === undefined ? {} : { 'x-request-id': id } })

    for (const url of ['/health/live', '/nothing', '/api/keys', '/docs/', '/api/%ff'])
      assert.match(String((await ask(undefined, url)).headers['x-request-id']), /^[0-9a-f-]{36}$/, url)
    assert.equal((await ask('abc.DEF_1:2-3')).headers['x-request-id'], 'abc.DEF_1:2-3')
    assert.equal((await ask('abc', '/nothing')).json().requestId, 'abc')
    for (const bad of ['', 'a b', 'a"b', 'x'.repeat(101), '<script>', 'a\tb'])
      assert.notEqual((await ask(bad)).headers['x-request-id'], bad)
  })

  it('sets its security headers on every answer, errors included', async (t) => {
    const f = await setup(t)
    for (const url of ['/health', '/nothing', '/api/keys', '/openapi.json']) {
      const { headers } = await f.call(null, 'GET', url)
      assert.equal(headers['cache-control'], url === '/openapi.json' ? 'no-cache' : 'no-store', url)
      assert.equal(headers['x-content-type-options'], 'nosniff', url)
      assert.equal(headers['referrer-policy'], 'no-referrer', url)
      assert.equal(headers['x-frame-options'], 'DENY', url)
      assert.match(String(headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/)
      assert.match(String(headers['strict-transport-security']), /max-age=31536000/)
      assert.equal(headers['access-control-allow-origin'], undefined)
    }
  })

  it('tells 404 and 405 apart, and says what is allowed', async (t) => {
    const f = await setup(t)

    const wrongMethod = await f.call(null, 'DELETE', '/api/notifications')
    assert.equal(wrongMethod.statusCode, 405)
    assert.equal(wrongMethod.headers.allow, 'GET, POST')
    assert.equal((await f.call(null, 'GET', '/api/nothing')).statusCode, 404)
    assert.equal((await f.call(null, 'POST', '/api/notifications/x/status')).statusCode, 405)
    assert.equal((await f.inject({ method: 'OPTIONS', url: '/api/notifications' })).statusCode, 405)
  })

  for (const method of ['QUERY', 'PROPFIND', 'TRACE', 'BREW'])
    it(`answers the method ${method} with 405 where the path exists, before any of the body`, async (t) => {
      const f = await setup(t)
      const ask = (path: string) =>
        raw(f, `${method} ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\nconnection: close\r\n\r\n`)

      const known = await ask('/api/notifications')
      assert.match(known, /^HTTP\/1.1 405 /)
      assert.match(known, /\r\nallow: GET, POST\r\n/)
      assert.match(known, new RegExp(`This path does not take ${method}\\.`))
      assert.match(await ask('/api/nothing'), /^HTTP\/1.1 404 /)
    })

  it('turns requests away while too many are in flight, but still answers for its health', async (t) => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const f = await setup(t, { config: { maxInFlight: 2 }, wrapStore: slowOutbox(held) })
    // Those whose key is not known yet are counted apart.
    assert.equal((await f.call(f.opsKey, 'GET', '/ops/tenants')).statusCode, 200)
    const waiting = [f.call(f.opsKey, 'GET', '/ops/outbox'), f.call(f.opsKey, 'GET', '/ops/outbox')]
    await new Promise((resolve) => setImmediate(resolve))

    const refused = await f.call(f.opsKey, 'GET', '/ops/tenants')
    assert.equal(refused.statusCode, 503)
    assert.equal(refused.json().code, 'overloaded')
    assert.equal(refused.headers['retry-after'], '1')
    assert.equal((await f.call(null, 'GET', '/health/live')).statusCode, 200)

    release()
    for (const answer of await Promise.all(waiting)) assert.equal(answer.statusCode, 200)
    assert.equal((await f.call(f.opsKey, 'GET', '/ops/tenants')).statusCode, 200)
  })

  it('gives up on an answer that takes too long', async (t) => {
    const f = await setup(t, { config: { handlerTimeoutMs: 20 }, wrapStore: slowOutbox(new Promise(() => undefined)) })

    const answer = await f.call(f.opsKey, 'GET', '/ops/outbox')

    assert.equal(answer.statusCode, 503)
    assert.equal(answer.json().code, 'overloaded')
  })

  it('has every timeout set', async (t) => {
    const { app } = await setup(t)

    for (const timeout of ['requestTimeout', 'headersTimeout', 'keepAliveTimeout', 'timeout'] as const)
      assert.ok(app.server[timeout] > 0, timeout)
    assert.equal((app.initialConfig as { handlerTimeout?: number }).handlerTimeout, 30_000)
    assert.ok(app.server.headersTimeout <= app.server.requestTimeout)
  })

  it('believes no forwarded header', async (t) => {
    const f = await setup(t, { config: { failedKeysPerSecond: 1, failedKeysBurst: 2 } })
    const statuses: number[] = []
    for (let i = 0; i < 4; i++) {
      const answer = await f.inject({
        method: 'GET',
        url: '/api/keys',
        headers: { authorization: `Bearer different-${i}-${i}`, 'x-forwarded-for': `10.0.0.${i}` },
      })
      statuses.push(answer.statusCode)
    }

    assert.deepEqual(statuses, [401, 401, 429, 429])
  })

  for (const [what, bytes, status] of [
    ['something that is not HTTP', 'hello\r\n\r\n', 400],
    ['headers without end', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
    [
      'two content lengths',
      'POST /api/events HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      400,
    ],
    [
      'length and chunks together',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
      400,
    ],
  ] as const)
    it(`answers ${what} with a problem and cuts the line`, async (t) => {
      const f = await setup(t)

      const answer = await raw(f, bytes)

      assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
      const problem = JSON.parse(answer.split('\r\n\r\n')[1] ?? '') as { status: number; requestId: string }
      assert.equal(problem.status, status)
      assert.ok(answer.includes('application/problem+json') && problem.requestId)
    })

  it('cuts a client that is too slow to send its request', async (t) => {
    const f = await setup(t, { config: { connectionTimeoutMs: 50 } })

    const answer = await raw(f, 'POST /api/events HTTP/1.1\r\nhost: x\r\n')

    assert.ok(answer === '' || answer.startsWith('HTTP/1.1 408'), answer)
  })

  it('refuses to be built with a route that does not say who may use it', async (t) => {
    const f = await setup(t)
    const app = await buildApp(f.deps)
    t.after(() => app.close())

    assert.throws(() => app.get('/api/open', async () => 'hello'), /does not say who may use it/)
  })
})

/** Sends bytes and answers what came back until the server closed the line. */
async function raw(f: Fixture, bytes: string): Promise<string> {
  const socket = connect(await portOf(f), '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8').on('data', (text) => {
    answer += String(text)
  })
  socket.on('error', () => undefined)
  socket.write(bytes)
  await once(socket, 'close')
  return answer
}

async function portOf(f: Fixture): Promise<number> {
  if (!f.app.server.listening) await f.app.listen({ port: 0, host: '127.0.0.1' })
  const address = f.app.server.address()
  return typeof address === 'object' && address ? address.port : 0
}

function slowOutbox(until: Promise<void>): (store: Store) => Store {
  return (store) => ({
    ...store,
    events: {
      ...store.events,
      list: async (...given) => {
        await until
        return store.events.list(...given)
      },
    },
  })
}
