import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { PillarboxClient, type PillarboxClientOptions } from './pillarbox-client.ts'
import { PillarboxConnectionError, PillarboxHttpError } from './problem.ts'

interface Seen {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: unknown
}

type Reply = { status: number; body?: unknown; headers?: Record<string, string> } | 'hang up' | 'silence'

/** A server that answers one request after the other from `replies`, and a client that waits without waiting. */
async function setup(t: TestContext, replies: Reply[], options: Partial<PillarboxClientOptions> = {}) {
  const seen: Seen[] = []
  const waits: number[] = []
  const server = createServer((request, response) => {
    void answer(request, response)
  })
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await request.toArray()).map(String).join('')
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    seen.push({
      method: request.method ?? '',
      path: pathname,
      query: searchParams,
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
    })
    const reply = replies.shift() ?? { status: 500, body: 'no reply left' }
    if (reply === 'silence') return
    if (reply === 'hang up') {
      request.socket.destroy()
      return
    }
    const { status, body, headers } = reply
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new PillarboxClient({
    url,
    key: 'pbx_secret',
    sources: {
      now: () => Date.UTC(2026, 0, 1),
      random: () => 0.5,
      sleep: async (ms, signal) => {
        waits.push(ms)
        signal?.throwIfAborted()
      },
    },
    ...options,
  })
  return { client, seen, url, waits }
}

const EVENT = { type: 'booking.confirmed', entity: { type: 'booking', id: '1' }, payload: { bookingId: 1 } }
const EMAIL = { channel: 'email' as const, to: { email: 'a@example.com' }, subject: 'Paid', body: 'Thanks' }

async function allOf<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of pages) items.push(item)
  return items
}

function problem(status: number, code: string, more: Record<string, unknown> = {}): Reply {
  return {
    status,
    headers: { 'content-type': 'application/problem+json' },
    body: { type: 'about:blank', title: 'No', status, code, detail: 'because', requestId: 'r1', ...more },
  }
}

describe('PillarboxClient', () => {
  it('publishes an event with the key, and with an id so that it can be repeated', async (t) => {
    const accepted = { id: 'made', duplicate: false }
    const { client, seen } = await setup(t, [{ status: 202, body: accepted }], { newId: () => 'made' })

    const answer = await client.publish({ ...EVENT, dueAt: new Date(0) }, { traceparent: '00-trace-01' })

    assert.deepEqual(answer, accepted)
    assert.equal(seen[0]?.method, 'POST')
    assert.equal(seen[0]?.path, '/api/events')
    assert.equal(seen[0]?.headers.authorization, 'Bearer pbx_secret')
    assert.equal(seen[0]?.headers['content-type'], 'application/json')
    assert.equal(seen[0]?.headers['traceparent'], '00-trace-01')
    assert.deepEqual(seen[0]?.body, { ...EVENT, id: 'made', dueAt: '1970-01-01T00:00:00.000Z' })
  })

  it('has each user’s inbox, whatever the user is called', async (t) => {
    const message = { id: 'm1', text: 'Hello' }
    const { client, seen } = await setup(t, [
      { status: 200, body: { items: [message], nextCursor: 'next' } },
      { status: 200, body: { items: [], nextCursor: null } },
      { status: 200, body: { count: 3 } },
      { status: 200, body: { ...message, readAt: 'now' } },
      { status: 200, body: { marked: 2, unreadCount: 0 } },
      { status: 204, body: '' },
      { status: 201, body: { token: 'pbu_x', userId: 'a/b', expiresAt: 'soon' } },
    ])
    const { inbox } = client

    assert.deepEqual(await allOf(inbox.list('a/b', { isUnread: true }, { limit: 1 })), [message])
    assert.equal(await inbox.unreadCount('a/b'), 3)
    assert.deepEqual(await inbox.markRead('a/b', 'm1'), { ...message, readAt: 'now' })
    assert.deepEqual(await inbox.markAllRead('a/b'), { marked: 2, unreadCount: 0 })
    await inbox.remove('a/b', 'm1')
    assert.equal((await inbox.issueToken('a/b', { expiresIn: 'PT15M' })).token, 'pbu_x')

    assert.deepEqual(
      seen.map(({ method, path, query }) => `${method} ${path} ${query.toString()}`.trim()),
      [
        'GET /api/inbox/a%2Fb/messages isUnread=true&limit=1',
        'GET /api/inbox/a%2Fb/messages isUnread=true&limit=1&cursor=next',
        'GET /api/inbox/a%2Fb/unread-count',
        'POST /api/inbox/a%2Fb/messages/m1/read',
        'POST /api/inbox/a%2Fb/read-all',
        'DELETE /api/inbox/a%2Fb/messages/m1',
        'POST /api/inbox/a%2Fb/tokens',
      ],
    )
    assert.deepEqual(seen[6]?.body, { expiresIn: 'PT15M' })
  })

  it('tells a known event by the answer, not by an error', async (t) => {
    const { client } = await setup(t, [{ status: 200, body: { id: 'e1', duplicate: true } }])

    assert.deepEqual(await client.publish({ ...EVENT, id: 'e1' }), { id: 'e1', duplicate: true })
  })

  it('publishes many events as one array and answers each one’s result', async (t) => {
    const results = [
      { index: 0, id: 'e1', status: 202 },
      { index: 1, status: 422, code: 'unknown_event_type' },
    ]
    const { client, seen } = await setup(t, [{ status: 200, body: { results } }], { newId: () => 'made' })

    assert.deepEqual(await client.publishMany([{ ...EVENT, id: 'e1' }, EVENT]), results)
    assert.deepEqual(seen[0]?.body, [
      { ...EVENT, id: 'e1' },
      { ...EVENT, id: 'made' },
    ])
  })

  it('sends a notification, and many as items', async (t) => {
    const accepted = { id: 'n1', status: 'queued', links: { self: '/api/notifications/n1' } }
    const results = [{ index: 0, id: 'n2', status: 202 }]
    const { client, seen } = await setup(t, [
      { status: 202, body: accepted },
      { status: 200, body: { results } },
    ])
    const push = { targetPlatform: 'FCM' as const, deviceToken: 't', title: 'Hi', body: 'there', idempotencyKey: 'k' }

    assert.deepEqual(await client.send(EMAIL), accepted)
    assert.deepEqual(await client.sendMany([push]), results)

    assert.deepEqual(
      seen.map(({ path, body }) => [path, body]),
      [
        ['/api/notifications', EMAIL],
        ['/api/notifications/batch', { items: [push] }],
      ],
    )
  })

  it('expands a recipient list, and may repeat that', async (t) => {
    const expanded = { ids: ['a', 'b'], count: 2, duplicates: 0, skipped: 1 }
    const replies: Reply[] = [{ status: 503 }, { status: 202, body: expanded }]
    const { client, seen } = await setup(t, replies, { retries: 1 })
    const alarm = { channel: 'sms', to: { list: 'ops-team' }, body: 'Pump 7', idempotencyKey: 'alarm-7' } as const

    assert.deepEqual(await client.sendToEach(alarm), expanded)

    assert.deepEqual(
      seen.map(({ path, body }) => [path, body]),
      [0, 1].map(() => ['/api/notifications', { ...alarm, expand: true }]),
    )
  })

  it('fetches the key that secrets are sealed with', async (t) => {
    const { client, seen } = await setup(t, [{ status: 200, body: { sealingKey: 'sealing-v1.x.y' } }])

    assert.equal(await client.sealingKey(), 'sealing-v1.x.y')
    assert.equal(seen[0]?.path, '/api/sealing-key')
  })

  it('asks nothing of the server for an empty list', async (t) => {
    const { client, seen } = await setup(t, [])

    assert.deepEqual(await client.publishMany([]), [])
    assert.deepEqual(await client.sendMany([]), [])

    assert.deepEqual(seen, [])
  })

  it('rejects a repeated idempotency key with the first notification’s id', async (t) => {
    const { client } = await setup(t, [problem(409, 'duplicate_notification', { notificationId: 'n1' })])

    await assert.rejects(client.send({ ...EMAIL, idempotencyKey: 'k' }), (error) => {
      assert.ok(error instanceof PillarboxHttpError)
      assert.equal(error.status, 409)
      assert.equal(error.code, 'duplicate_notification')
      assert.equal(error.notificationId, 'n1')
      assert.equal(error.requestId, 'r1')
      assert.match(error.message, /409 duplicate_notification: because/)
      return true
    })
  })

  it('rejects a refused body with what is wrong where', async (t) => {
    const errors = [{ path: '/to/email', message: 'must be an email address' }]
    const { client } = await setup(t, [problem(422, 'invalid_body', { errors: [...errors, 'noise'] })])

    await assert.rejects(client.send(EMAIL), { code: 'invalid_body', errors })
  })

  it('says so when something else answers in the server’s place, and never shows the key', async (t) => {
    const { client } = await setup(t, [
      { status: 502, body: '<html>Bad gateway</html>', headers: { 'x-request-id': 'proxy-1' } },
      { status: 307, headers: { location: 'https://elsewhere.example/' } },
      { status: 200, body: '<html>Welcome</html>' },
      { status: 202, body: '' },
    ])

    await assert.rejects(client.send(EMAIL), { code: 'unexpected_answer', status: 502, requestId: 'proxy-1' })
    await assert.rejects(client.send(EMAIL), { code: 'unexpected_answer', status: 307 })
    await assert.rejects(client.send(EMAIL), (error) => {
      assert.ok(error instanceof PillarboxConnectionError)
      assert.equal(error.code, 'unreadable')
      assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, /pbx_secret/)
      return true
    })
    await assert.rejects(client.send(EMAIL), { code: 'unreadable' })
  })

  it('reads no answer without end', async (t) => {
    const { client } = await setup(t, [{ status: 200, body: ' '.repeat(64 * 1024 * 1024 + 1) }])

    await assert.rejects(client.health(), { code: 'unreadable', message: /more than 67108864 bytes/ })
  })

  it('sends nothing that JSON cannot hold, and does not blame the server', async (t) => {
    const { client, seen, waits } = await setup(t, [], { retries: 3 })
    const circle: Record<string, unknown> = {}
    circle['itself'] = circle

    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1n, circle])
      await assert.rejects(client.send({ ...EMAIL, data: { value } }), { name: 'TypeError' })
    const changed = [() => 1, Symbol('x'), { [Symbol('x')]: 1 }, [undefined], new Date(Number.NaN), new Map([[1, 2]])]
    for (const value of [Number.NaN, 1n, circle, ...changed]) {
      const event = { type: 'a.b', entity: { type: 'a', id: '1' }, payload: { rows: [{ value }] } }
      const refusal = { name: 'InvalidEventError', message: /^Invalid event: payload\.rows\[0\]\.value/ }
      await assert.rejects(client.publish(event), refusal)
      const inList = { name: 'InvalidEventError', message: /^Invalid event: \[1\]\.payload\.rows\[0\]\.value/ }
      await assert.rejects(client.publishMany([{ ...event, payload: {} }, event]), inList)
    }

    assert.deepEqual([seen, waits], [[], []])
  })

  it('leaves to the server what only spoils its own item of a list', async (t) => {
    const { client, seen } = await setup(t, [{ status: 200, body: { results: [] } }])
    let deep: object = {}
    for (let level = 0; level < 100; level += 1) deep = { deep }
    const payloads = [{ text: 'x'.repeat(300_000) }, { text: 'a\0b' }, deep, { at: new Date(0), none: undefined }]

    await client.publishMany(payloads.map((payload) => ({ type: 'a.b', entity: { type: 'a', id: '1' }, payload })))

    const sent = seen[0]?.body as { payload: unknown }[]
    assert.deepEqual(
      sent.map(({ payload }) => payload),
      [...payloads.slice(0, 3), { at: '1970-01-01T00:00:00.000Z' }],
    )
  })

  it('reads a notification and its status', async (t) => {
    const status = { notificationId: 'a/b', status: 'sent', retryCount: 0, lastError: null }
    const { client, seen } = await setup(t, [
      { status: 200, body: { id: 'a/b', status: 'sent' } },
      { status: 200, body: status },
    ])

    assert.equal((await client.notification('a/b')).status, 'sent')
    assert.deepEqual(await client.status('a/b'), status)
    assert.deepEqual(
      seen.map(({ path }) => path),
      ['/api/notifications/a%2Fb', '/api/notifications/a%2Fb/status'],
    )
  })

  it('walks all pages of a list, and fetches none that nobody asked for', async (t) => {
    const page = (ids: string[], nextCursor: string | null): Reply => ({
      status: 200,
      body: { items: ids.map((id) => ({ id })), nextCursor },
    })
    const { client, seen } = await setup(t, [
      page(['1', '2'], 'c1'),
      page([], 'c2'),
      page(['3'], null),
      page(['9'], 'x'),
    ])
    const filter = { status: ['parked', 'uncertain'], stuck: true, from: new Date(0), q: 'a b&c' } as const

    const ids: string[] = []
    for await (const { id } of client.notifications(filter, { limit: 2 })) ids.push(id)
    for await (const { id } of client.notifications()) {
      assert.equal(id, '9')
      break
    }

    assert.deepEqual(ids, ['1', '2', '3'])
    assert.deepEqual(
      seen.map(({ query }) => query.get('cursor')),
      [null, 'c1', 'c2', null],
    )
    assert.deepEqual(seen[1]?.query.getAll('status'), ['parked', 'uncertain'])
    assert.equal(seen[1]?.query.get('limit'), '2')
    assert.equal(seen[1]?.query.get('stuck'), 'true')
    assert.equal(seen[1]?.query.get('from'), '1970-01-01T00:00:00.000Z')
    assert.equal(seen[1]?.query.get('q'), 'a b&c')
    assert.deepEqual([...(seen[3]?.query.keys() ?? [])], [])
  })

  it('retries, discards, cancels, parks and restores', async (t) => {
    const done: Reply = { status: 200, body: { id: 'n1', status: 'queued' } }
    const { client, seen } = await setup(t, [done, done, done, done, problem(409, 'not_waiting')])

    assert.equal((await client.retry('n1', { rerender: true, to: { email: 'right@example.test' } })).status, 'queued')
    await client.discard('n1', { note: 'a test of ours', signal: new AbortController().signal })
    await client.restore('n1')
    await client.cancel('n1')
    await assert.rejects(client.park('n1'), { code: 'not_waiting' })

    assert.deepEqual(
      seen.map(({ method, path }) => `${method} ${path}`),
      ['retry', 'discard', 'restore', 'cancel', 'park'].map((action) => `POST /api/notifications/n1/${action}`),
    )
    assert.deepEqual(
      seen.slice(0, 3).map(({ body }) => body),
      [{ rerender: true, to: { email: 'right@example.test' } }, { note: 'a test of ours' }, undefined],
    )
  })

  it('keeps templates: makes, reads, changes, removes, previews and tests them', async (t) => {
    const template = { id: 't1', version: 1, warnings: [] }
    const gone: Reply = { status: 204 }
    const { client, seen } = await setup(t, [
      { status: 201, body: template },
      { status: 200, body: template },
      { status: 200, body: template },
      { status: 200, body: template },
      gone,
      { status: 200, body: { ...template, isActive: false } },
      { status: 200, body: { subject: null, body: 'Hi' } },
      { status: 200, body: { subject: null, body: 'Hi' } },
      { status: 202, body: { id: 'n1' } },
    ])
    const words = { eventType: 'booking.confirmed', channel: 'sms', body: 'Hi {{name}}' } as const
    const context = { name: 'Guest' }

    assert.equal((await client.templates.create(words)).id, 't1')
    assert.equal((await client.templates.get('t1')).version, 1)
    await client.templates.replace('t1', words)
    await client.templates.update('t1', { isActive: false })
    assert.equal(await client.templates.remove('t1'), null)
    assert.equal((await client.templates.remove('t1'))?.isActive, false)
    assert.equal((await client.templates.preview({ channel: 'sms', body: 'Hi {{name}}', context })).body, 'Hi')
    await client.templates.previewOf('t1', { context })
    assert.deepEqual(await client.templates.testSend('t1', { to: { phone: '+15550100' }, context }), { id: 'n1' })

    assert.deepEqual(
      seen.map(({ method, path }) => `${method} ${path.replace('/api/message-templates', '')}`),
      [
        'POST ',
        'GET /t1',
        'PUT /t1',
        'PATCH /t1',
        'DELETE /t1',
        'DELETE /t1',
        'POST /preview',
        'POST /t1/preview',
        'POST /t1/test-send',
      ],
    )
    assert.deepEqual(seen[0]?.body, words)
    assert.equal(seen[4]?.body, undefined)
  })

  it('lists templates, versions, contacts, members and schedules page by page', async (t) => {
    const pages: Reply[] = ['1', '2', '3', '4', '5', '6'].flatMap((id) => [
      { status: 200, body: { items: [{ id }], nextCursor: 'more' } },
      { status: 200, body: { items: [], nextCursor: null } },
    ])
    const { client, seen } = await setup(t, pages)

    const ids = [
      await allOf(client.templates.list({ channel: 'sms', isActive: true }, { limit: 1 })),
      await allOf(client.templates.versions('t1')),
      await allOf(client.contacts.list({ q: '+15550100' })),
      await allOf(client.lists.members('ops team')),
      await allOf(client.schedules.list({ status: ['pending', 'failed'], dueTo: new Date(0) })),
      await allOf(client.communicationLogs({ type: 'booking', id: '12345' })),
    ]

    assert.deepEqual(
      ids.flat().map((item) => (item as { id: string }).id),
      ['1', '2', '3', '4', '5', '6'],
    )
    assert.deepEqual(
      seen.filter((_, i) => i % 2 === 0).map(({ path, query }) => `${path}?${query.toString()}`),
      [
        '/api/message-templates?channel=sms&isActive=true&limit=1',
        '/api/message-templates/t1/versions?',
        '/api/contacts?q=%2B15550100',
        '/api/recipient-lists/ops%20team/members?',
        '/api/automation-schedules?status=pending&status=failed&dueTo=1970-01-01T00%3A00%3A00.000Z',
        '/api/communication-logs?entityType=booking&entityId=12345',
      ],
    )
    for (const { query } of seen.filter((_, i) => i % 2 === 1)) assert.equal(query.get('cursor'), 'more')
  })

  it('keeps contacts and recipient lists, and removes them without an answer', async (t) => {
    const done: Reply = { status: 200, body: { id: 'x' } }
    const gone: Reply = { status: 204 }
    const { client, seen } = await setup(t, [done, done, done, gone, done, done, done, done, gone])

    await client.contacts.create({ email: 'a@example.com' })
    await client.contacts.replace('c1', { email: 'a@example.com' })
    await client.contacts.update('c1', { name: null })
    assert.equal(await client.contacts.remove('c1'), undefined)
    await client.lists.create({ name: 'ops', members: [] })
    await client.lists.replace('ops', { name: 'ops', members: [{ email: 'a@example.com' }] })
    await client.lists.rename('ops', 'operators')
    await client.lists.add('operators', [{ phone: '+15550100' }])
    assert.equal(await client.lists.remove('operators'), undefined)

    assert.deepEqual(
      seen.map(({ method, path }) => `${method} ${path.replace('/api/', '')}`),
      [
        'POST contacts',
        'PUT contacts/c1',
        'PATCH contacts/c1',
        'DELETE contacts/c1',
        'POST recipient-lists',
        'PUT recipient-lists/ops',
        'PATCH recipient-lists/ops',
        'POST recipient-lists/operators/members',
        'DELETE recipient-lists/operators',
      ],
    )
    assert.deepEqual(seen[2]?.body, { name: null })
    assert.deepEqual(seen[7]?.body, { members: [{ phone: '+15550100' }] })
  })

  it('lists, makes and lifts suppressions', async (t) => {
    const one = { id: 's1', channel: 'push', address: 'device-1' }
    const { client, seen } = await setup(t, [
      { status: 200, body: { items: [one], nextCursor: null } },
      { status: 200, body: one },
      { status: 201, body: one },
      { status: 204 },
    ])

    const found = await allOf(client.suppressions.list({ channel: 'push', address: 'device-1' }))
    assert.deepEqual(found, [one])
    assert.equal((await client.suppressions.get('s1')).id, 's1')
    assert.equal((await client.suppressions.create({ channel: 'push', address: 'device-1' })).id, 's1')
    assert.equal(await client.suppressions.lift('s1'), undefined)

    assert.deepEqual(
      seen.map(({ method, path, query }) => `${method} ${path}?${query.toString()}`),
      [
        'GET /api/suppressions?channel=push&address=device-1',
        'GET /api/suppressions/s1?',
        'POST /api/suppressions?',
        'DELETE /api/suppressions/s1?',
      ],
    )
    assert.deepEqual(seen[2]?.body, { channel: 'push', address: 'device-1' })
  })

  it('moves schedules, with a reason where one is given, and resends', async (t) => {
    const done: Reply = { status: 200, body: { id: 's1', status: 'pending' } }
    const resent = { requestId: 'r1', notifications: ['n1'] }
    const { client, seen } = await setup(t, [
      done,
      done,
      done,
      problem(409, 'not_awaiting_approval'),
      { status: 202, body: resent },
    ])

    assert.equal((await client.schedules.approve('s1')).status, 'pending')
    await client.schedules.cancel('s1', { reason: 'rain' })
    await client.schedules.replay('s1')
    await assert.rejects(client.schedules.reject('s1'), { code: 'not_awaiting_approval' })
    assert.deepEqual(await client.resend('bookings', '1/2', { channel: 'sms' }), resent)

    assert.deepEqual(
      seen.map(({ method, path, body }) => [method, path, body]),
      [
        ['POST', '/api/automation-schedules/s1/approve', undefined],
        ['POST', '/api/automation-schedules/s1/cancel', { reason: 'rain' }],
        ['POST', '/api/automation-schedules/s1/replay', undefined],
        ['POST', '/api/automation-schedules/s1/reject', undefined],
        ['POST', '/api/bookings/1%2F2/resend-notification', { channel: 'sms' }],
      ],
    )
  })

  it('answers the health of an unhealthy server too', async (t) => {
    const { client } = await setup(t, [
      { status: 200, body: { status: 'ok' } },
      { status: 503, body: { status: 'down' } },
      problem(503, 'overloaded'),
    ])

    assert.deepEqual(await client.health(), { status: 'ok' })
    assert.deepEqual(await client.health(), { status: 'down' })
    await assert.rejects(client.health(), { code: 'overloaded' })
  })

  it('names the tenant for an ops key, and keeps a path in front of the API', async (t) => {
    const replies: Reply[] = [{ status: 200, body: { results: [] } }]
    const { seen, url } = await setup(t, replies)
    const client = new PillarboxClient({ url: `${url}/notify?x=1#y`, key: 'pbx_ops', tenantId: 'atlas' })

    await client.sendMany([EMAIL])

    assert.equal(seen[0]?.path, '/notify/api/notifications/batch')
    assert.equal(seen[0]?.query.toString(), 'tenantId=atlas')
  })

  it('refuses options that cannot work', () => {
    const good = { url: 'https://pillarbox.example.com', key: 'pbx_x' }

    for (const bad of [
      { url: 'ftp://x' },
      { url: 'x' },
      { url: 'https://user:password@pillarbox.example.com' },
      { key: '' },
      { key: 'a\nb' },
      { timeoutMs: 0 },
      { retries: -1 },
    ]) {
      assert.throws(() => new PillarboxClient({ ...good, ...bad }), TypeError)
    }
  })
})

describe('a request that fails', () => {
  const taken: Reply = { status: 202, body: { id: 'n1', status: 'queued' } }
  const busy: Reply = problem(503, 'overloaded')

  it('is not repeated unless asked for', async (t) => {
    const { client, seen } = await setup(t, ['hang up', busy])

    await assert.rejects(client.publish(EVENT), { name: 'PillarboxConnectionError', code: 'unreachable' })
    await assert.rejects(client.publish(EVENT), { code: 'overloaded' })

    assert.equal(seen.length, 2)
  })

  it('is repeated as it was, with growing pauses, when it carries a key', async (t) => {
    const { client, seen, waits } = await setup(t, ['hang up', busy, busy, taken], { retries: 3 })

    await client.send({ ...EMAIL, idempotencyKey: 'k' })

    assert.equal(seen.length, 4)
    assert.deepEqual(waits, [187.5, 375, 750])
    for (const { body } of seen) assert.deepEqual(body, { ...EMAIL, idempotencyKey: 'k' })
  })

  it('repeats reads, previews and members, which change nothing the second time', async (t) => {
    const done: Reply = { status: 200, body: { added: 1 } }
    const { client, seen } = await setup(t, [busy, done, busy, done, busy, done], { retries: 1 })

    await client.contacts.get('c1')
    await client.templates.preview({ channel: 'sms', body: 'x', context: {} })
    await client.lists.add('ops', [{ email: 'a@example.com' }])

    assert.equal(seen.length, 6)
  })

  it('repeats events under the same id', async (t) => {
    const { client, seen } = await setup(t, ['hang up', { status: 202, body: { id: 'x', duplicate: false } }], {
      retries: 1,
    })

    await client.publish(EVENT)

    const ids = seen.map(({ body }) => (body as { id: string }).id)
    assert.equal(ids.length, 2)
    assert.equal(ids[0], ids[1])
  })

  it('is not repeated without a key, nor in a batch where one has none, nor as an action', async (t) => {
    const { client, seen } = await setup(t, ['hang up', busy, busy, busy, 'hang up'], { retries: 5 })

    await assert.rejects(client.send(EMAIL))
    await assert.rejects(client.sendMany([{ ...EMAIL, idempotencyKey: 'k' }, EMAIL]))
    await assert.rejects(client.retry('n1'))
    await assert.rejects(client.resend('bookings', '1', { channel: 'sms' }))
    await assert.rejects(client.contacts.create({ email: 'a@example.com' }))

    assert.equal(seen.length, 5)
  })

  it('is not repeated when the server refused it for good', async (t) => {
    const { client, seen } = await setup(t, [problem(422, 'invalid_body'), problem(500, 'internal')], { retries: 5 })

    await assert.rejects(client.publish(EVENT), { code: 'invalid_body' })
    await assert.rejects(client.publish(EVENT), { code: 'internal' })

    assert.equal(seen.length, 2)
  })

  it('waits as long as the server asks, in seconds or until a date, but not for minutes', async (t) => {
    const limited = (retryAfter: string): Reply => ({
      status: 429,
      headers: { 'retry-after': retryAfter },
      body: { code: 'rate_limited' },
    })
    const { client, waits } = await setup(t, [limited('7'), limited('Thu, 01 Jan 2026 00:00:02 GMT'), limited('61')], {
      retries: 5,
    })

    await assert.rejects(client.status('n1'), { code: 'rate_limited', retryAfterMs: 61_000 })

    assert.deepEqual(waits, [7_000, 2_000])
  })

  it('ends after the last retry with the last error', async (t) => {
    const { client, seen } = await setup(t, [busy, busy, 'hang up'], { retries: 2 })

    await assert.rejects(client.publish(EVENT), { code: 'unreachable' })

    assert.equal(seen.length, 3)
  })

  it('ends at the time limit, and says so', async (t) => {
    const { client } = await setup(t, ['silence'], { timeoutMs: 20 })

    await assert.rejects(client.publish(EVENT), { name: 'PillarboxConnectionError', code: 'timeout' })
  })

  it('ends at once, with the caller’s own reason, when the caller aborts', async (t) => {
    const { client, seen } = await setup(t, ['silence', busy], { retries: 3 })
    const reason = new Error('changed my mind')
    const before = AbortSignal.abort(reason)
    const during = new AbortController()

    await assert.rejects(client.publish(EVENT, { signal: before }), reason)
    assert.equal(seen.length, 0)
    const call = client.publish(EVENT, { signal: during.signal })
    during.abort(reason)
    await assert.rejects(call, reason)
  })
})

describe('request', () => {
  it('calls any route, with the key, the tenant, a query and a body, and repeats only reads', async (t) => {
    const unavailable = { status: 503, body: { code: 'overloaded' } }
    const replies = [unavailable, { status: 200, body: { items: [] } }, { status: 200, body: { id: 'a' } }, unavailable]
    const { client, seen } = await setup(t, replies, { tenantId: 'acme', retries: 1 })

    assert.deepEqual(await client.request('GET', '/ops/workers', { query: { status: ['a', 'b'], none: undefined } }), {
      items: [],
    })
    assert.deepEqual(await client.request('PATCH', '/api/tenant', { body: { region: 'IN' } }), { id: 'a' })
    await assert.rejects(client.request('POST', '/ops/purge'), { code: 'overloaded' })

    const [, read, changed] = seen
    assert.equal(seen.length, 4)
    assert.deepEqual([read?.path, String(read?.query)], ['/ops/workers', 'status=a&status=b&tenantId=acme'])
    assert.deepEqual([changed?.method, changed?.body], ['PATCH', { region: 'IN' }])
    assert.equal(changed?.headers.authorization, 'Bearer pbx_secret')
  })

  it('takes the key nowhere else', async (t) => {
    const { client, seen } = await setup(t, [])

    for (const path of [
      'https://example.com/x',
      '/https://example.com/x',
      '///example.com',
      '/\\\\example.com',
      'api',
      '',
    ])
      await assert.rejects(client.request('GET', path), TypeError, path)
    assert.deepEqual(seen, [])
  })
})
