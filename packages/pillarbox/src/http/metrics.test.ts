import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { CATALOGUE, openFixture } from './fixture.ts'

async function setup(t: TestContext, options: Parameters<typeof openFixture>[0] = {}) {
  const f = await openFixture(options)
  t.after(() => f.app.close())
  const acme = await f.tenant('acme')
  const series = async (): Promise<Record<string, string>> => {
    const answer = await f.call(f.opsKey, 'GET', '/metrics')
    const lines = answer.body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), line.split(' ').at(-1) ?? '']))
  }
  return { ...f, acme, series }
}

describe('GET /metrics', () => {
  it('answers Prometheus’ text format to an ops key', async (t) => {
    const { call, opsKey } = await setup(t)

    const answer = await call(opsKey, 'GET', '/metrics')

    assert.equal(answer.statusCode, 200)
    assert.equal(answer.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
    assert.match(answer.body, /^# TYPE pillarbox_attempts_total counter$/m)
  })

  it('counts requests by route, never by what the path held', async (t) => {
    const { call, acme, opsKey, series } = await setup(t)
    await call(acme.keys.viewer, 'GET', '/api/notifications/11111111-1111-7111-8111-111111111111')
    await call(acme.keys.viewer, 'GET', '/api/notifications/22222222-2222-7222-8222-222222222222')
    await call(opsKey, 'GET', '/no/such/path/ada@example.test')

    const found = await series()

    const requests = Object.keys(found).filter((key) => key.startsWith('pillarbox_http_requests_total'))
    assert.deepEqual(requests, [
      'pillarbox_http_requests_total{method="GET",route="/api/notifications/:id",status="4xx"}',
      'pillarbox_http_requests_total{method="GET",route="none",status="4xx"}',
    ])
    assert.equal(found[requests[0] ?? ''], '2')
    assert.equal(found['pillarbox_http_request_duration_seconds_count'], '3')
  })

  it('counts what is turned away', async (t) => {
    const { call, acme, series, deps } = await setup(t)
    deps.config.maxInFlight = 0
    await call(acme.keys.viewer, 'GET', '/api/tenant')
    deps.config.maxInFlight = 10

    const found = await series()

    assert.equal(found['pillarbox_http_requests_refused_total{status="503"}'], '1')
    assert.equal(found['pillarbox_http_requests_refused_total{status="429"}'], '0')
  })

  it('counts what came in by each way, and what became of it', async (t) => {
    const { call, acme, series } = await setup(t)
    const { admin, publisher } = acme.keys
    await call(admin, 'PUT', '/api/event-types', CATALOGUE)
    const event = { id: 'e1', type: 'booking.confirmed', entity: { type: 'booking', id: '1' } }
    await call(publisher, 'POST', '/api/events', event)
    await call(publisher, 'POST', '/api/events', [event, { ...event, id: 'e2', type: 'no.such' }])
    const request = { event_id: 'e3', tenant_id: 'acme', trigger_event: 'booking.confirmed', context: {} }
    await call(publisher, 'POST', '/api/notification-requests', { ...request, recipients: [{ name: 'Ada' }] })
    const message = { channel: 'email', to: { email: 'ada@example.test' }, body: 'Hello', idempotencyKey: 'k' }
    await call(publisher, 'POST', '/api/notifications', message)
    await call(publisher, 'POST', '/api/notifications', message)

    const found = await series()

    const taken = (way: string, result: string): string | undefined =>
      found[`pillarbox_intake_total{way="${way}",result="${result}"}`]
    assert.equal(taken('events', 'accepted'), '1')
    assert.equal(taken('events', 'duplicate'), '1')
    assert.equal(taken('events', 'refused'), '1')
    assert.equal(taken('notification_requests', 'accepted'), '1')
    assert.equal(taken('notifications', 'accepted'), '1')
    assert.equal(taken('notifications', 'duplicate'), '1')
  })
})
