import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { SiteOutbox, type SiteOutboxOptions } from '@pillarbox/client'
import type { InjectOptions } from 'fastify'
import { recordingLogger } from '../../../../test/support/samples.ts'
import { until } from '../../../../test/support/until.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemClock, systemRandom } from '../runtime/system.ts'
import { buildLocalApi } from './local-api.ts'

const LOCAL = 'localhost:4401'
const ALARM = { list: 'operators', subject: 'Pump 3', body: 'stopped' }

/** The API over an outbox in memory. What the server answers is the test's; by default it is away. */
function setup(t: TestContext, options: Partial<SiteOutboxOptions> = {}) {
  const outbox = new SiteOutbox({
    path: ':memory:',
    central: 'http://central.test',
    key: 'pbx_key',
    site: 'plant-1',
    fetch: async () => {
      throw new TypeError('fetch failed')
    },
    ...options,
  })
  const logger = recordingLogger()
  const app = buildLocalApi({ outbox, ids: createIdSource(systemClock, systemRandom()), logger })
  t.after(async () => {
    await app.close()
    await outbox.close()
  })
  const call = async (method: 'GET' | 'POST' | 'DELETE', url: string, given: Omit<InjectOptions, 'method'> = {}) => {
    const { headers, ...rest } = given
    const answer = await app.inject({ method, url, headers: { host: LOCAL, ...headers }, ...rest })
    const body = answer.body === '' ? {} : answer.json<Record<string, unknown>>()
    return { status: answer.statusCode, body, type: answer.headers['content-type'] }
  }
  const send = (payload: object) => call('POST', '/notifications', { payload })
  return { app, outbox, logger, call, send }
}

describe('the local API of a site', () => {
  it('answers 202 with an id once it is kept, and where it stands', async (t) => {
    const { call, send } = setup(t)

    const { status, body } = await send(ALARM)

    assert.equal(status, 202)
    assert.deepEqual(Object.keys(body).toSorted(), ['notificationId', 'status'])
    assert.equal(body['status'], 'forwarding')
    const there = await call('GET', `/notifications/${String(body['notificationId'])}/status`)
    assert.deepEqual(there, {
      status: 200,
      body: { notificationId: body['notificationId'], status: 'forwarding', lastError: null },
      type: 'application/json; charset=utf-8',
    })
    const health = await call('GET', '/health')
    assert.equal(health.status, 200)
    assert.deepEqual([health.body['site'], health.body['waiting'], health.body['refused']], ['plant-1', 1, 0])
  })

  it('says what is wrong with what it does not take, as a problem', async (t) => {
    const { call, send } = setup(t)

    const wrong = await send({ subject: 'x' })
    assert.deepEqual(
      [wrong.status, wrong.body['code'], wrong.type],
      [422, 'invalid_body', 'application/problem+json; charset=utf-8'],
    )
    assert.deepEqual(
      (wrong.body['errors'] as { path: string }[]).map(({ path }) => path),
      ['/to', '/body'],
    )
    const post = async (payload: string, type = 'application/json') => {
      const { status, body } = await call('POST', '/notifications', { payload, headers: { 'content-type': type } })
      return [status, body['code']]
    }
    assert.deepEqual(await post('{'), [400, 'malformed_json'])
    assert.deepEqual(await post('[]'), [422, 'invalid_body'])
    assert.deepEqual(await post('{"__proto__": {"x": 1}}'), [400, 'malformed_json'])
    assert.deepEqual(await post(JSON.stringify(ALARM), 'text/plain'), [415, 'unsupported_media_type'])
    assert.deepEqual(await post(JSON.stringify({ ...ALARM, body: 'x'.repeat(2_000_000) })), [413, 'body_too_large'])
    assert.deepEqual((await call('GET', '/nothing')).status, 404)
    assert.equal((await call('GET', '/health')).body['waiting'], 0)
  })

  it('is 507 where the buffer is full, and its health is 503', async (t) => {
    const { call, send } = setup(t, { maxItems: 1 })
    await send(ALARM)

    const full = await send(ALARM)

    assert.deepEqual([full.status, full.body['code']], [507, 'buffer_full'])
    const health = await call('GET', '/health')
    assert.deepEqual([health.status, health.body['status'], health.body['waiting']], [503, 'full', 1])
  })

  it('asks the server about what has left, and says so where it cannot', async (t) => {
    const id = '0b7c3f8e-7d0e-4a53-9f5c-000000000001'
    let isAway = false
    const { call } = setup(t, {
      fetch: async () => {
        if (isAway) throw new TypeError('fetch failed')
        return new Response('{"code":"not_found"}', { status: 404 })
      },
    })

    assert.deepEqual((await call('GET', `/notifications/${id}/status`)).status, 404)
    isAway = true
    const { status, body } = await call('GET', `/notifications/${id}/status`)
    assert.deepEqual([status, body['code']], [503, 'central_unreachable'])
    for (const odd of ['x', '%00', '..%2fhealth', `${id}0`])
      assert.equal((await call('GET', `/notifications/${odd}/status`)).status, 404, odd)
  })

  it('shows what was refused, and has it tried again or forgotten', async (t) => {
    const { call, send, outbox } = setup(t, {
      fetch: async (_, init) => {
        const { items } = JSON.parse(init?.body as string) as { items: { notificationId: string }[] }
        const acks = items.map(({ notificationId }) => ({
          notificationId,
          accepted: false,
          permanent: true,
          error: 'No.',
        }))
        return Response.json({ acks })
      },
    })
    const { body } = await send(ALARM)
    const id = String(body['notificationId'])
    await until('it is refused', () => outbox.health().refused === 1)

    const { items } = (await call('GET', '/notifications/refused')).body as { items: Record<string, unknown>[] }
    assert.deepEqual(
      items.map(({ notificationId, error }) => [notificationId, error]),
      [[id, 'No.']],
    )
    assert.equal((await call('POST', `/notifications/${id}/retry`)).status, 202)
    await until('it is refused again', () => outbox.health().refused === 1)
    assert.equal((await call('DELETE', `/notifications/${id}`)).status, 204)
    assert.equal((await call('DELETE', `/notifications/${id}`)).status, 404)
  })

  it('is not for pages in a browser of this machine, under whatever name they call it', async (t) => {
    const { call } = setup(t)
    for (const headers of [
      { origin: 'https://evil.test' },
      { 'sec-fetch-site': 'cross-site' },
      { host: 'evil.test' },
      { host: '127.0.0.1.evil.test:4401' },
    ])
      assert.equal(
        (await call('POST', '/notifications', { payload: ALARM, headers })).status,
        403,
        JSON.stringify(headers),
      )
    assert.equal((await call('GET', '/health', { headers: { host: '127.0.0.1:4401' } })).status, 200)
  })

  it('lets nobody hold it up who begins a request and goes silent', async (t) => {
    const { app } = setup(t)
    const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
    const silent = connect(Number(url.port), '127.0.0.1')
    t.after(() => silent.destroy())
    silent.write(
      'POST /notifications HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    )

    assert.equal((await fetch(new URL('/health', url))).status, 200)
  })
})
