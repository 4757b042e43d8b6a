import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { until } from '../../../../test/support/until.ts'
import { createEventParser, type ServerEvent } from './event-stream.ts'
import { PillarboxClient } from './pillarbox-client.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('the parser of event streams', () => {
  it('reads names, ids and data, and leaves comments out', () => {
    const parser = createEventParser()

    const events = parser.take(
      bytes(
        'retry: 3000\n\n: still here\n\nevent: message\nid: 7\ndata: {"a":1}\n\ndata: one\ndata: two\n\nevent: x\n\n',
      ),
    )

    assert.deepEqual(events, [
      { id: '7', name: 'message', data: '{"a":1}' },
      { id: '7', name: 'message', data: 'one\ntwo' },
    ])
    assert.equal(parser.retryMs, 3_000)
  })

  it('takes the same events from any cut of the bytes, with any line breaks', () => {
    const text = ['event: message', 'id: 1', 'data: Grüße 😀', '', ': beat', '', 'event:read', 'id:2', 'data:x', '', '']
    const expected: ServerEvent[] = [
      { id: '1', name: 'message', data: 'Grüße 😀' },
      { id: '2', name: 'read', data: 'x' },
    ]
    fc.assert(
      fc.property(
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 20 }),
        (lineBreak, cuts) => {
          // A lone carriage return at the very end could be half of a line break.
          const whole = bytes(`${text.join(lineBreak)}:`)
          const places = [0, ...cuts.filter((cut) => cut < whole.length).sort((a, b) => a - b), whole.length]
          const parser = createEventParser()
          const events = places.slice(1).flatMap((end, i) => parser.take(whole.subarray(places[i], end)))
          assert.deepEqual(events, expected)
        },
      ),
    )
  })

  it('gives up on what never ends', () => {
    const parser = createEventParser()
    const chunk = bytes('x'.repeat(100_000))

    assert.throws(
      () => {
        for (let i = 0; i < 100; i++) parser.take(chunk)
      },
      { code: 'unreadable' },
    )
  })
})

type Answer = (response: ServerResponse, request: IncomingMessage) => void

const events =
  (text: string, end = true): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(text)
    if (end) response.end()
  }
const problem =
  (status: number, code: string, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/problem+json', ...headers })
    response.end(JSON.stringify({ status, code, detail: 'because' }))
  }
const message = (id: number): string => `event: message\nid: ${id}\ndata: {"id":"m${id}"}\n\n`

async function setup(t: TestContext, answers: Answer[], { silenceMs = null as number | null } = {}) {
  const seen: { url: string; lastEventId: string | null; authorization: string }[] = []
  const open = new Set<ServerResponse>()
  const waits: number[] = []
  const server = createServer((request, response) => {
    const { 'last-event-id': lastEventId = null, authorization = '' } = request.headers
    seen.push({ url: request.url ?? '', lastEventId: lastEventId as string | null, authorization })
    open.add(response)
    response.on('close', () => open.delete(response))
    const answer = answers.shift() ?? events(': nothing left\n\n', false)
    answer(response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const client = new PillarboxClient({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: 'pbu_token',
    sources: {
      now: () => Date.UTC(2026, 0, 1),
      random: () => 1,
      // Pauses between connections take no time; silence only where a test wants it.
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          signal?.throwIfAborted()
          signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
          if (ms !== 45_000) {
            waits.push(ms)
            setImmediate(resolve)
          } else if (silenceMs !== null) setTimeout(resolve, silenceMs)
        }),
    },
  })
  return { client, seen, open, waits }
}

async function take(stream: AsyncGenerator<object, void, undefined>, count: number): Promise<object[]> {
  const found: object[] = []
  while (found.length < count) {
    const { value, done } = await stream.next()
    assert.ok(!done && value)
    found.push(value)
  }
  return found
}

describe('the stream of an inbox', () => {
  it('answers what happens, with the token, and closes the connection when it is left', async (t) => {
    const text = [
      'retry: 3000\n\nevent: unread\nid: 4\ndata: {"count":2}\n\n',
      message(5),
      'event: read\nid: 6\ndata: {"id":"m1","readAt":"2026-01-01T00:00:00.000Z"}\n\n',
      'event: removed\nid: 7\ndata: {"id":"m1"}\n\n',
      'event: something_new\nid: 8\ndata: {}\n\n',
      message(9),
    ]
    const { client, seen, open } = await setup(t, [events(text.join(''), false)])
    const stream = client.inbox.stream('a/b')

    assert.deepEqual(await take(stream, 5), [
      { type: 'unread', eventId: '4', count: 2 },
      { type: 'message', eventId: '5', message: { id: 'm5' } },
      { type: 'read', eventId: '6', id: 'm1', readAt: '2026-01-01T00:00:00.000Z' },
      { type: 'removed', eventId: '7', id: 'm1' },
      { type: 'message', eventId: '9', message: { id: 'm9' } },
    ])
    await stream.return()

    assert.deepEqual(seen, [{ url: '/api/inbox/a%2Fb/stream', lastEventId: null, authorization: 'Bearer pbu_token' }])
    await until('every connection is closed', () => open.size === 0)
  })

  it('connects again when the server ends it, and goes on after the last event', async (t) => {
    const { client, seen, waits } = await setup(t, [
      events(`retry: 3000\n\n${message(1)}${message(2)}`),
      events(': nothing\n\n'),
      events(message(3), false),
    ])
    const stream = client.inbox.stream('ada')

    const ids = (await take(stream, 3)).map((event) => (event as { eventId: string }).eventId)
    await stream.return()

    assert.deepEqual(ids, ['1', '2', '3'])
    assert.deepEqual(
      seen.map(({ lastEventId }) => lastEventId),
      [null, '2', '2'],
    )
    assert.deepEqual(waits, [3_000, 3_000])
  })

  it('begins after an event of an earlier stream', async (t) => {
    const { client, seen } = await setup(t, [events(message(42), false)])
    const stream = client.inbox.stream('ada', { lastEventId: '41' })

    await take(stream, 1)
    await stream.return()

    assert.equal(seen[0]?.lastEventId, '41')
  })

  it('comes again after trouble, later and later, or when the server says', async (t) => {
    const { client, waits } = await setup(t, [
      (response) => response.socket?.destroy(),
      problem(502, 'unexpected_answer'),
      problem(503, 'overloaded', { 'retry-after': '10' }),
      problem(429, 'rate_limited', { 'retry-after': '7' }),
      events(message(1), false),
    ])
    const stream = client.inbox.stream('ada')

    await take(stream, 1)
    await stream.return()

    assert.deepEqual(waits, [500, 1_000, 10_000, 7_000])
  })

  for (const status of [401, 403, 404, 422])
    it(`ends with the refusal where the server answers ${status}`, async (t) => {
      const { client, seen } = await setup(t, [problem(status, 'some_code')])

      await assert.rejects(client.inbox.stream('ada').next(), { status, code: 'some_code' })

      assert.equal(seen.length, 1)
    })

  it('takes silence for a broken connection', async (t) => {
    const { client, seen } = await setup(t, [events(message(1), false), events(message(2), false)], { silenceMs: 50 })
    const stream = client.inbox.stream('ada')

    await take(stream, 2)
    await stream.return()

    assert.deepEqual(
      seen.map(({ lastEventId }) => lastEventId),
      [null, '1'],
    )
  })

  it('ends with the reason of a signal, while it waits for an event and before it connects', async (t) => {
    const { client, open } = await setup(t, [events(message(1), false)])
    const leaving = new AbortController()
    const stream = client.inbox.stream('ada', { signal: leaving.signal })
    await take(stream, 1)

    const waiting = stream.next()
    leaving.abort(new Error('enough'))

    await assert.rejects(waiting, /enough/)
    await assert.rejects(client.inbox.stream('ada', { signal: leaving.signal }).next(), /enough/)
    await until('every connection is closed', () => open.size === 0)
  })
})
