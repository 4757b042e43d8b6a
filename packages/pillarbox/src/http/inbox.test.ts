import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { type Scope, shared } from '../../../../test/support/shared.ts'
import { until } from '../../../../test/support/until.ts'
import { systemClock } from '../runtime/system.ts'
import { createUserTokens } from '../security/user-token.ts'
import { type Fixture, openFixture, type TestTenant } from './fixture.ts'

interface Setup {
  f: Fixture
  tenant: TestTenant
  /** A user's token, made as the API makes it. */
  tokenFor(userId: string, lifeMs?: number): string
  /** Puts a message into an inbox and tells the streams, as the provider does; answers its id. */
  put(userId: string, words?: { subject?: string; text?: string; html?: string; data?: object }): Promise<string>
}

async function setup(t: Scope, options: Parameters<typeof openFixture>[0] = {}): Promise<Setup> {
  const f = await openFixture({ ...options, deps: { clock: systemClock, ...options.deps } })
  t.after(() => f.app.close())
  const tenant = await f.tenant('acme')
  return {
    f,
    tenant,
    tokenFor: (userId, lifeMs = 60_000) =>
      createUserTokens(f.deps.seal).issue({ tenantId: 'acme', userId, expiresAt: Date.now() + lifeMs }),
    async put(userId, { subject = null, text = 'Hello', html = null, data = {} } = {}) {
      const id = f.deps.ids()
      const place = { tenantId: 'acme', table: 'inbox_messages', rowId: id }
      const sealed = f.deps.seal.seal(JSON.stringify({ subject, text, html, data }), place)
      await f.store.inbox.put({ id, tenantId: 'acme', userId, sealed })
      f.deps.inboxFeed.changed({ tenantId: 'acme', userId })
      return id
    },
  }
}

describe('user tokens over HTTP', () => {
  it('are made for an hour, or for as long as is asked, but for no more than a day', async (t) => {
    const { f, tenant } = await setup(t)
    const issue = (body: object) => f.call(tenant.keys.publisher, 'POST', '/api/inbox/ada/tokens', body)
    const lifeOf = (answer: { json(): { expiresAt: unknown } }) =>
      Date.parse(String(answer.json().expiresAt)) - Date.now()

    const hour = await issue({})
    assert.equal(hour.statusCode, 201)
    assert.equal(hour.json().userId, 'ada')
    assert.ok(Math.abs(lifeOf(hour) - 3_600_000) < 10_000)
    assert.ok(Math.abs(lifeOf(await issue({ expiresIn: 'P1D' })) - 86_400_000) < 10_000)
    for (const expiresIn of ['P1DT1S', 'PT59S', 'PT0S', '-PT1H', '1h', '', 'P1Y', 'PT1E9S'])
      assert.equal((await issue({ expiresIn })).statusCode, 422, expiresIn)
    assert.equal((await issue({ userId: 'bob' })).statusCode, 422)
  })

  it('are made for an hour without a body, too', async (t) => {
    const { f, tenant } = await setup(t)
    const headers = { authorization: `Bearer ${tenant.keys.publisher}` }

    for (const more of [{}, { 'content-type': 'application/json' }]) {
      const answer = await f.inject({
        method: 'POST',
        url: '/api/inbox/ada/tokens',
        headers: { ...headers, ...more },
      })
      assert.equal(answer.statusCode, 201, answer.body)
      assert.ok(Math.abs(Date.parse(String(answer.json().expiresAt)) - Date.now() - 3_600_000) < 10_000)
    }
  })

  it('open the inbox of their user, as bearer or in the query', async (t) => {
    const { f, tokenFor, put } = await setup(t)
    const token = tokenFor('ada')
    await put('ada')

    for (const answer of [
      await f.call(token, 'GET', '/api/inbox/ada/messages'),
      await f.call(null, 'GET', `/api/inbox/ada/messages?token=${token}`),
    ]) {
      assert.equal(answer.statusCode, 200, answer.body)
      assert.equal(answer.json().items.length, 1)
    }
  })

  it('open nobody else’s, nothing else, and nothing once they have expired', async (t) => {
    const { f, tokenFor } = await setup(t)
    const token = tokenFor('ada')
    const attempts: [string | null, string][] = [
      [token, '/api/inbox/bob/messages'],
      [null, `/api/inbox/bob/messages?token=${token}`],
      [token, '/api/inbox/Ada/messages'],
      [token, '/api/inbox/ada%20/messages'],
      [token, '/api/notifications'],
      [token, '/api/tenant'],
      [token.replace('acme', 'other'), '/api/inbox/ada/messages'],
      [`${token}x`, '/api/inbox/ada/messages'],
      [tokenFor('ada', -1), '/api/inbox/ada/messages'],
      [null, `/api/inbox/ada/messages?token=${tokenFor('ada', -1)}`],
      [null, '/api/inbox/ada/messages?token='],
      [null, '/api/inbox/ada/messages?token=x'],
    ]

    for (const [key, url] of attempts) {
      const answer = await f.call(key, 'GET', url)
      assert.equal(answer.statusCode, 401, `${url}: ${answer.body}`)
      assert.equal(answer.json().code, 'unauthorized')
    }
    assert.equal((await f.call(token, 'POST', '/api/inbox/ada/tokens', {})).statusCode, 401)
  })

  it('stand in addresses where keys may not', async (t) => {
    const { f, tenant } = await setup(t)

    for (const key of [tenant.keys.publisher, tenant.keys.admin])
      assert.equal((await f.call(null, 'GET', `/api/inbox/ada/messages?token=${key}`)).statusCode, 401)
  })

  it('bring their tenant with them', async (t) => {
    const { f, tokenFor } = await setup(t)
    const token = tokenFor('ada')

    for (const tenantId of ['acme', 'other'])
      for (const [key, query] of [
        [token, ''],
        [null, `&token=${token}`],
      ] as const) {
        const answer = await f.call(key, 'GET', `/api/inbox/ada/messages?tenantId=${tenantId}${query}`)
        assert.deepEqual([answer.statusCode, answer.json().errors[0]?.path], [422, 'tenantId'])
      }
    const answer = await f.inject({
      method: 'GET',
      url: '/api/inbox/ada/messages',
      headers: { authorization: `Bearer ${token}`, 'x-tenant-id': 'other' },
    })
    assert.equal(answer.statusCode, 400)
  })

  it('are for a pace that a person’s browser keeps', async (t) => {
    const { f, tokenFor } = await setup(t)
    const tokens = [tokenFor('ada'), tokenFor('ada')]

    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, i) => f.call(tokens[i % 2] ?? '', 'GET', '/api/inbox/ada/unread-count')),
    )

    assert.ok(answers.some(({ statusCode }) => statusCode === 429))
    assert.ok(answers.filter(({ statusCode }) => statusCode === 200).length >= 100)
    assert.equal((await f.call(tokenFor('bob'), 'GET', '/api/inbox/bob/unread-count')).statusCode, 200)
  })

  it('are in no log', async (t) => {
    const { f, tokenFor } = await setup(t)
    const token = tokenFor('ada')

    await f.call(null, 'GET', `/api/inbox/ada/messages?token=${token}`)
    await f.call(null, 'GET', `/api/inbox/bob/messages?token=${token}`)

    assert.ok(f.log.length >= 2)
    assert.ok(!f.log.join('\n').includes(token.slice(0, 30)))
  })
})

describe('the inbox over HTTP', () => {
  it('is empty for somebody whom nobody has written to', async (t) => {
    const { f, tenant } = await setup(t)
    const get = async (path: string) => (await f.call(tenant.keys.publisher, 'GET', `/api/inbox/nobody/${path}`)).json()

    assert.deepEqual(await get('messages'), { items: [], nextCursor: null })
    assert.deepEqual(await get('unread-count'), { count: 0 })
  })

  it('takes users by any id that a notification can have, and no other', async (t) => {
    const { f, tenant, put } = await setup(t)
    for (const userId of ['a/b', 'ada@example.test', '用户', 'a b', "o'hara", '%', 'x'.repeat(200)]) {
      await put(userId, { text: userId })
      const path = `/api/inbox/${encodeURIComponent(userId)}/messages`
      const answer = await f.call(tenant.keys.publisher, 'GET', path)
      assert.deepEqual(
        answer.json().items.map(({ text }) => text),
        [userId],
        userId,
      )
    }
    for (const userId of ['%00', 'a%0Ab', '%E2%80%A8', 'x'.repeat(201)])
      for (const [method, path] of [
        ['GET', 'messages'],
        ['GET', 'unread-count'],
        ['POST', 'read-all'],
        ['POST', 'tokens'],
      ] as const) {
        const body = path === 'tokens' ? {} : undefined
        const answer = await f.call(tenant.keys.publisher, method, `/api/inbox/${userId}/${path}`, body)
        assert.equal(answer.statusCode, 404, `${path} of ${userId}: ${answer.body}`)
      }
  })

  it('answers 404 for messages that are not in it, and 422 for nonsense', async (t) => {
    const { f, tokenFor, put } = await setup(t)
    const token = tokenFor('ada')
    const id = await put('bob')

    for (const wrong of [id, f.deps.ids(), 'x', '%00', '..%2f..']) {
      assert.equal((await f.call(token, 'POST', `/api/inbox/ada/messages/${wrong}/read`)).statusCode, 404)
      assert.equal((await f.call(token, 'DELETE', `/api/inbox/ada/messages/${wrong}`)).statusCode, 404)
    }
    for (const query of ['limit=0', 'limit=201', 'cursor=x', 'isUnread=maybe', 'q=1'])
      assert.equal((await f.call(token, 'GET', `/api/inbox/ada/messages?${query}`)).statusCode, 422, query)
    assert.equal((await f.call(token, 'POST', '/api/inbox/ada/read-all', { ids: [id] })).statusCode, 422)
    assert.equal((await f.call(token, 'GET', '/api/inbox/ada/stream?nonsense=1')).statusCode, 422)
  })

  it('shows the others where one message cannot be opened', async (t) => {
    const { f, tenant, put } = await setup(t)
    await put('ada', { text: 'first' })
    const id = f.deps.ids()
    await f.store.inbox.put({ id, tenantId: 'acme', userId: 'ada', sealed: 's1.00000000.broken' })
    await put('ada', { text: 'third' })

    const answer = await f.call(tenant.keys.publisher, 'GET', '/api/inbox/ada/messages')

    assert.equal(answer.statusCode, 200)
    assert.deepEqual(
      answer.json().items.map(({ text }) => text),
      ['third', '', 'first'],
    )
  })

  it('can be read although it cannot be marked', async (t) => {
    const { f, tokenFor, put } = await setup(t, {
      wrapStore: (store) => ({ ...store, inbox: { ...store.inbox, mark: () => Promise.reject(new Error('busy')) } }),
    })
    await put('ada')

    assert.equal((await f.call(tokenFor('ada'), 'GET', '/api/inbox/ada/messages')).json().items.length, 1)
  })
})

describe('the stream of an inbox', () => {
  const refusing = shared(setup)

  it('tells what happens from now on, and first how much is unread', async (t) => {
    const { f, tokenFor, put } = await setup(t)
    await put('ada', { text: 'old' })
    const stream = await open(t, f, 'ada', { token: tokenFor('ada') })
    await stream.until('event: unread\nid: 1\ndata: {"count":1}\n\n')

    const id = await put('ada', { subject: 'New', text: 'Hello' })
    await stream.until('data: {"count":2}')
    await f.call(tokenFor('ada'), 'POST', `/api/inbox/ada/messages/${id}/read`)
    await stream.until('event: read\nid: 3')
    await f.call(tokenFor('ada'), 'DELETE', `/api/inbox/ada/messages/${id}`)
    await stream.until('event: removed\nid: 4')

    const text = stream.text()
    assert.doesNotMatch(text, /"old"/)
    assert.match(text, /event: message\nid: 2\ndata: \{"id":"[0-9a-f-]{36}","subject":"New","text":"Hello","html":null/)
    const message = await f.store.inbox.since('acme', 'ada', 0, 10)
    assert.notEqual(message.find((each) => each.id === id)?.seenAt, null)
  })

  it('carries headers that keep others from holding it back, and ends with its connection', async (t) => {
    const { f, tokenFor } = await setup(t)
    const { headers } = await open(t, f, 'ada', { token: tokenFor('ada') })

    assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('x-accel-buffering'), 'no')
    assert.equal(headers.get('connection'), 'close')
    assert.ok(headers.get('x-request-id'))
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
  })

  it('is for users only', async (t) => {
    const { f, tenant } = await setup(t)

    for (const key of [...Object.values(tenant.keys), f.opsKey])
      assert.equal((await f.call(key, 'GET', '/api/inbox/ada/stream')).statusCode, 403)
    assert.equal((await f.call(null, 'GET', '/api/inbox/ada/stream')).statusCode, 401)
  })

  it('goes on after the event that was heard last, by header or in the query', async (t) => {
    const { f, tokenFor, put } = await setup(t)
    for (const text of ['one', 'two', 'three']) await put('ada', { text })

    for (const options of [{ lastEventId: '1' }, { query: 'lastEventId=1' }]) {
      const stream = await open(t, f, 'ada', { token: tokenFor('ada'), ...options })
      await stream.until('"count":3')
      const texts = [...stream.text().matchAll(/"text":"(\w+)"/g)].map(([, text]) => text)
      assert.deepEqual(texts, ['two', 'three'])
    }
  })

  it('does not wait for what a restored database has not got yet', async (t) => {
    const { f, tokenFor, put } = await setup(t)
    const stream = await open(t, f, 'ada', { token: tokenFor('ada'), lastEventId: '999' })
    await stream.until('id: 0\n')

    await put('ada')

    await stream.until('event: message\nid: 1')
  })

  for (const lastEventId of ['x', '-1', '1.5', '1e3', '9999999999999999', "1' or '1'='1"])
    it(`refuses ${JSON.stringify(lastEventId)} as the id of an event`, async () => {
      const { f, tokenFor } = await refusing()
      const answer = await f.inject({
        method: 'GET',
        url: '/api/inbox/ada/stream',
        headers: { authorization: `Bearer ${tokenFor('ada')}`, 'last-event-id': lastEventId },
      })

      assert.equal(answer.statusCode, 422)
      assert.equal(answer.json().code, 'invalid_query')
    })

  it('cannot be made to say something else by what a message says', async (t) => {
    const { f, tokenFor, put } = await setup(t)
    const stream = await open(t, f, 'ada', { token: tokenFor('ada') })
    await stream.until('"count":0')

    const text = 'a\n\nevent: message\ndata: {"forged":true}\n\n\r\rid: 99\r\n: \u2028\u2029\u0085'
    await put('ada', { subject: 'x\r\n\r\nevent: read', text, data: { 'a\nb': '\n\n' } })
    await stream.until('"count":1')

    const lines = stream.text().split(/\r\n|\r|\n/)
    assert.deepEqual(
      lines.filter((line) => line !== '').map((line) => line.split(': ', 1)[0]),
      ['retry', 'event', 'id', 'data', 'event', 'id', 'data', 'event', 'id', 'data'],
    )
    const [, data] = /event: message\nid: 1\ndata: ([^\n]*)\n/.exec(stream.text()) ?? []
    assert.equal((JSON.parse(data ?? '{}') as { text: string }).text, text)
  })

  it('finds what other processes put there without being told', async (t) => {
    const { f, tokenFor } = await setup(t)
    const stream = await open(t, f, 'ada', { token: tokenFor('ada') })
    await stream.until('"count":0')

    await f.store.inbox.put({ id: f.deps.ids(), tenantId: 'acme', userId: 'ada', sealed: 'unreadable' })

    await stream.until('event: message\nid: 1')
  })

  it('says that it is still there, and is neither ended nor counted by what limits other requests', async (t) => {
    const { f, tokenFor, put } = await setup(t, {
      config: { streamBeatMs: 40, handlerTimeoutMs: 100, maxInFlight: 1, connectionTimeoutMs: 200 },
    })
    const stream = await open(t, f, 'ada', { token: tokenFor('ada') })

    await stream.until(/(: still here\n\n){8}/)
    assert.equal((await f.call(tokenFor('ada'), 'GET', '/api/inbox/ada/unread-count')).statusCode, 200)
    await put('ada')

    await stream.until('"count":1')
  })

  it('ends when the token does', async (t) => {
    const { f, tokenFor } = await setup(t)
    const stream = await open(t, f, 'ada', { token: tokenFor('ada', 300) })

    await stream.ended

    assert.equal((await f.call(tokenFor('ada', -1), 'GET', '/api/inbox/ada/stream')).statusCode, 401)
  })

  it('is open so many times for one user, and so many times in all', async (t) => {
    const { f, tokenFor } = await setup(t, { config: { maxInboxStreams: 3, maxInboxStreamsPerUser: 2 } })
    const status = async (userId: string) => {
      const answer = await f.call(tokenFor(userId), 'GET', `/api/inbox/${userId}/stream`)
      return [answer.statusCode, answer.json().code, answer.headers['retry-after']]
    }
    const [first] = [
      await open(t, f, 'ada', { token: tokenFor('ada') }),
      await open(t, f, 'ada', { token: tokenFor('ada') }),
    ]
    assert.deepEqual(await status('ada'), [429, 'rate_limited', '10'])
    await open(t, f, 'bob', { token: tokenFor('bob') })
    assert.deepEqual(await status('bob'), [503, 'overloaded', '10'])

    first?.leave()

    await eventually(async () => (await open(t, f, 'ada', { token: tokenFor('ada') })).headers !== null)
  })

  it('frees its place when it cannot begin', async (t) => {
    let isAway = true
    const { f, tokenFor } = await setup(t, {
      config: { maxInboxStreamsPerUser: 1 },
      wrapStore: (store) => ({
        ...store,
        inbox: {
          ...store.inbox,
          revisions: (inboxes) => (isAway ? Promise.reject(new Error('away')) : store.inbox.revisions(inboxes)),
        },
      }),
    })
    assert.equal((await f.call(tokenFor('ada'), 'GET', '/api/inbox/ada/stream')).statusCode, 500)
    isAway = false

    await (await open(t, f, 'ada', { token: tokenFor('ada') })).until('"count":0')
  })

  it('goes on after the store was away', async (t) => {
    let isAway = false
    let refusals = 0
    const { f, tokenFor, put } = await setup(t, {
      wrapStore: (store) => ({
        ...store,
        inbox: {
          ...store.inbox,
          since: async (...range) => {
            if (!isAway) return store.inbox.since(...range)
            refusals += 1
            throw new Error('away')
          },
        },
      }),
    })
    const stream = await open(t, f, 'ada', { token: tokenFor('ada') })
    await stream.until('"count":0')
    isAway = true
    await put('ada', { text: 'meanwhile' })
    await until('the feed has asked in vain', () => refusals > 0)
    isAway = false

    await stream.until('"meanwhile"')
  })

  it('lets a client go that takes nothing, and stops in time although one is left', { timeout: 30_000 }, async (t) => {
    const { f, tokenFor, put } = await setup(t, { config: { slowReaderMs: 200, maxInboxStreamsPerUser: 1 } })
    const text = 'x'.repeat(30_000)
    // More than the sockets on the way hold.
    for (let i = 0; i < 400; i++) await put('ada', { text })
    const deaf = async (): Promise<void> => {
      const { hostname, port } = new URL(await listen(f))
      const socket = connect(Number(port), hostname)
      t.after(() => socket.destroy())
      await once(socket, 'connect')
      const request = [
        `GET /api/inbox/ada/stream?lastEventId=0 HTTP/1.1`,
        'host: x',
        `authorization: Bearer ${tokenFor('ada')}`,
      ]
      socket.write(`${request.join('\r\n')}\r\n\r\n`)
      // It hears the beginning, and then no more than its buffer takes.
      await once(socket, 'readable')
    }
    const isTaken = async (): Promise<boolean> => {
      try {
        const stream = await open(t, f, 'ada', { token: tokenFor('ada') })
        stream.leave()
        return false
      } catch (error) {
        return String(error).startsWith('Error: 429')
      }
    }
    await deaf()
    await eventually(isTaken)
    await eventually(async () => !(await isTaken()))

    await deaf()
    await eventually(isTaken)
    const begunAt = performance.now()
    await f.app.close()

    assert.ok(performance.now() - begunAt < 3_000)
  })
})

interface OpenStream {
  headers: Headers
  text(): string
  until(wanted: string | RegExp): Promise<void>
  /** Resolves when the server has ended it. */
  ended: Promise<void>
  leave(): void
}

async function listen({ app }: Fixture): Promise<string> {
  return app.server.listening ? app.listeningOrigin : app.listen({ host: '127.0.0.1', port: 0 })
}

/** Opens a stream and collects what comes. */
async function open(
  t: TestContext,
  f: Fixture,
  userId: string,
  { token, lastEventId, query = '' }: { token: string; lastEventId?: string; query?: string },
): Promise<OpenStream> {
  const url = await listen(f)
  const leaving = new AbortController()
  t.after(() => leaving.abort())
  const response = await fetch(`${url}/api/inbox/${userId}/stream?${query}`, {
    headers: { authorization: `Bearer ${token}`, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
    signal: leaving.signal,
  })
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  let text = ''
  const collect = async (): Promise<void> => {
    const decoder = new TextDecoder()
    const body = response.body as AsyncIterable<Uint8Array>
    for await (const chunk of body) text += decoder.decode(chunk, { stream: true })
  }
  const ended = collect()
  ended.catch(() => {})
  return {
    headers: response.headers,
    text: () => text,
    until: (wanted) => eventually(async () => (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text))),
    ended,
    leave: () => leaving.abort(),
  }
}

/** Asks until it is so; a refusal counts as not yet. */
async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  await until('it is so', () => isSo().catch(() => false))
}
