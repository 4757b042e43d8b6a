import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type InboxEvent, type InboxMessage, PillarboxClient } from '../../packages/client/src/index.ts'
import type { EngineName } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { onEachStore, openWorld, type World } from '../support/world.ts'

const CATALOGUE = {
  name: 'shop',
  defaultLocale: 'en',
  entities: { order: 'orders' },
  eventTypes: {
    'order.paid': {
      entity: 'order',
      once: 'per-event',
      recipients: [{ userId: 'userId' }],
      delivery: { channels: ['in_app'] },
      templates: [
        { channel: 'in_app', subject: 'Order {{orderId}}', body: 'Thanks, {{name}}. Order {{orderId}} is paid.' },
      ],
    },
    'order.shipped': {
      entity: 'order',
      once: 'per-event',
      recipients: [{ userId: 'userId' }],
      delivery: { channels: ['in_app'] },
      templates: [{ channel: 'in_app', subject: 'On its way', body: '<p>Dear {{name}}, <b>here it comes</b>.</p>' }],
    },
  },
}

/** Two instances on one database: one answers requests and streams, the other sends. */
async function openApart(engine: EngineName): Promise<World> {
  const world = await openWorld(engine, { settings: { PILLARBOX_INBOX_ORIGINS: 'https://shop.example.com' } })
  await world.start({ api: true, worker: false })
  await world.start({ api: false, worker: true })
  return world
}

onEachStore('the inbox', openApart, (world) => {
  /** A tenant with an account for in_app, the client of its application, and clients of its users. */
  async function setup() {
    const { url } = world()
    const tenant = await world().tenant({ catalogue: CATALOGUE })
    await tenant.account({ channel: 'in_app', provider: 'inbox', name: 'inbox' })
    const app = new PillarboxClient({ url, key: await tenant.key('publisher') })
    const admin = new PillarboxClient({ url, key: tenant.adminKey })
    const asUser = async (userId: string): Promise<PillarboxClient> =>
      new PillarboxClient({ url, key: (await app.inbox.issueToken(userId)).token })
    const publish = (userId: string, payload: object = {}, type = 'order.paid') =>
      app.publish({
        type,
        entity: { type: 'order', id: '7' },
        payload: { userId, orderId: 7, name: 'Ada', ...payload },
      })
    return { app, admin, asUser, publish }
  }

  it('gets what an event says, live, and its notification follows until it is read', async () => {
    const { asUser, publish, admin } = await setup()
    const ada = await asUser('ada')
    const stream = ada.inbox.stream('ada')
    assert.deepEqual(await next(stream, 'unread'), { type: 'unread', eventId: '0', count: 0 })

    await publish('ada')
    const { message } = await next(stream, 'message')

    const { seenAt: _, createdAt, ...words } = message
    assert.deepEqual(words, {
      id: message.id,
      subject: 'Order 7',
      text: 'Thanks, Ada. Order 7 is paid.',
      html: null,
      data: {},
      readAt: null,
    })
    assert.ok(!Number.isNaN(Date.parse(createdAt)))
    assert.equal((await next(stream, 'unread')).count, 1)
    assert.equal(await ada.inbox.unreadCount('ada'), 1)
    const [listed, ...others] = await all(ada.inbox.list('ada'))
    assert.deepEqual([listed?.id, others], [message.id, []])
    await until('it is delivered', async () => (await admin.status(message.id)).status === 'delivered')

    const read = await ada.inbox.markRead('ada', message.id)

    assert.notEqual(read.readAt, null)
    const told = await next(stream, 'read')
    assert.deepEqual([told.id, told.readAt], [message.id, read.readAt])
    assert.equal((await next(stream, 'unread')).count, 0)
    await until('it is read', async () => (await admin.status(message.id)).status === 'read')
    const { receipts, readAt, provider } = await admin.notification(message.id)
    assert.deepEqual([provider, readAt], ['inbox', read.readAt])
    assert.deepEqual(
      receipts.map(({ kind }) => kind),
      ['delivered', 'read'],
    )
    await ada.inbox.remove('ada', message.id)
    assert.equal((await next(stream, 'removed')).id, message.id)
    assert.deepEqual(await all(ada.inbox.list('ada')), [])
    await stream.return()
  })

  it('answers HTML apart from text, and what is filled in is escaped', async () => {
    const { asUser, publish } = await setup()
    const ada = await asUser('ada')

    await publish('ada', { name: '<script>alert(1)</script>' }, 'order.shipped')
    const [message] = await allWhen(() => all(ada.inbox.list('ada')), 1)

    assert.equal(message?.html, '<p>Dear &lt;script&gt;alert(1)&lt;/script&gt;, <b>here it comes</b>.</p>')
    assert.equal(message?.text, 'Dear <script>alert(1)</script>, here it comes.')
  })

  it('shows nothing to another user, or to the same user of another tenant', async () => {
    const [own, foreign] = [await setup(), await setup()]
    const [ada, bob, otherAda] = [await own.asUser('ada'), await own.asUser('bob'), await foreign.asUser('ada')]
    await own.publish('ada')
    const [message] = await allWhen(() => all(ada.inbox.list('ada')), 1)
    assert.ok(message)

    for (const [client, userId] of [
      [bob, 'bob'],
      [otherAda, 'ada'],
    ] as const) {
      assert.deepEqual(await all(client.inbox.list(userId)), [])
      assert.equal(await client.inbox.unreadCount(userId), 0)
      await assert.rejects(client.inbox.markRead(userId, message.id), { status: 404 })
      await assert.rejects(client.inbox.remove(userId, message.id), { status: 404 })
      assert.deepEqual(await client.inbox.markAllRead(userId), { marked: 0, unreadCount: 0 })
    }
    await assert.rejects(all(bob.inbox.list('ada')), { status: 401 })
    await assert.rejects(bob.inbox.stream('ada').next(), { status: 401 })
    assert.equal(await ada.inbox.unreadCount('ada'), 1)
  })

  it('goes through a thousand messages page by page, and marks them all', async () => {
    const { app, admin, asUser } = await setup()
    const ada = await asUser('ada')
    const stream = ada.inbox.stream('ada')
    await next(stream, 'unread')
    const bodies = Array.from({ length: 1_000 }, (_, i) => `message ${i}`)
    const results = await app.sendMany(bodies.map((body) => ({ channel: 'in_app', to: { userId: 'ada' }, body })))
    assert.ok(results.every(({ status }) => status === 202))

    const streamed = new Set<string>()
    while (streamed.size < 1_000) streamed.add((await next(stream, 'message')).message.id)
    await stream.return()
    const listed = await all(ada.inbox.list('ada', {}, { limit: 70 }))

    assert.deepEqual(new Set(listed.map(({ id }) => id)), streamed)
    assert.deepEqual(listed.map(({ text }) => text).sort(), bodies.toSorted())
    assert.equal(await ada.inbox.unreadCount('ada'), 1_000)
    assert.deepEqual(await ada.inbox.markAllRead('ada'), { marked: 1_000, unreadCount: 0 })
    assert.deepEqual(await all(ada.inbox.list('ada', { isUnread: true })), [])
    await until('all are read', async () => {
      const page = await admin.notificationPage({ channel: 'in_app', status: ['sent', 'delivered', 'sending'] })
      return page.items.length === 0
    })
  })

  it('goes on after the last event that was heard, and says nothing twice', async () => {
    const { app, asUser } = await setup()
    const ada = await asUser('ada')
    const send = async (body: string) => app.send({ channel: 'in_app', to: { userId: 'ada' }, body })
    const first = ada.inbox.stream('ada')
    await next(first, 'unread')
    await send('one')
    const heard = await next(first, 'message')
    await first.return()

    await ada.inbox.markRead('ada', heard.message.id)
    await send('two')
    await send('three')
    const second = ada.inbox.stream('ada', { lastEventId: heard.eventId })
    const events: InboxEvent[] = []
    while (events.filter(({ type }) => type === 'message').length < 2) {
      const { value } = await second.next()
      if (value) events.push(value)
    }
    await second.return()

    const texts = events.flatMap((event) => (event.type === 'message' ? [event.message.text] : []))
    assert.deepEqual(texts.sort(), ['three', 'two'])
    assert.deepEqual(
      events.flatMap((event) => (event.type === 'read' ? [event.id] : [])),
      [heard.message.id],
    )
  })

  it('lets the application look for its user, and nobody else', async () => {
    const { app, admin } = await setup()
    const { id } = await app.send({ channel: 'in_app', to: { userId: 'ada' }, body: 'Hello' })
    await until('it is sent', async () => (await admin.status(id)).status === 'sent')

    await assert.rejects(all(admin.inbox.list('ada')), { status: 403 })
    assert.equal((await admin.status(id)).status, 'sent')
    assert.equal((await all(app.inbox.list('ada'))).length, 1)
    assert.equal((await admin.status(id)).status, 'delivered')
  })

  it('is open to the pages of the named origins, and to no other', async () => {
    const { app } = await setup()
    const { token } = await app.inbox.issueToken('ada')
    const ask = (origin: string, method = 'GET', url = `${world().url}/api/inbox/ada/messages?token=${token}`) =>
      fetch(url, { method, headers: { origin, 'access-control-request-method': 'POST' } })

    const allowed = await ask('https://shop.example.com')
    assert.equal(allowed.status, 200)
    assert.equal(allowed.headers.get('access-control-allow-origin'), 'https://shop.example.com')
    const preflight = await ask('https://shop.example.com', 'OPTIONS')
    assert.equal(preflight.status, 204)
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /authorization/)
    const refused = await ask('https://shop.example.com', 'GET', `${world().url}/api/inbox/ada/messages`)
    assert.deepEqual(
      [refused.status, refused.headers.get('access-control-allow-origin')],
      [401, 'https://shop.example.com'],
    )
    for (const origin of ['https://evil.example.com', 'null', 'https://shop.example.com.evil.example'])
      for (const method of ['GET', 'OPTIONS'])
        assert.equal((await ask(origin, method)).headers.get('access-control-allow-origin'), null)
    const elsewhere = await ask('https://shop.example.com', 'OPTIONS', `${world().url}/api/notifications`)
    assert.equal(elsewhere.headers.get('access-control-allow-origin'), null)
  })
})

it('a server that stops ends its streams at once', async () => {
  const world = await openApart('sqlite')
  const { call } = await world.tenant()
  const { body } = await call('POST', '/api/inbox/ada/tokens', {})
  const stream = await fetch(`${world.url}/api/inbox/ada/stream?token=${String(body['token'])}`)
  assert.equal(stream.status, 200)
  assert.equal(stream.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const begunAt = performance.now()

  const [text] = await Promise.all([stream.text(), world[Symbol.asyncDispose]()])

  assert.match(text, /^retry: 3000\n\nevent: unread\nid: 0\ndata: \{"count":0\}\n\n/)
  assert.ok(performance.now() - begunAt < 5_000)
})

async function next<T extends InboxEvent['type']>(
  stream: AsyncGenerator<InboxEvent, void, undefined>,
  type: T,
): Promise<Extract<InboxEvent, { type: T }>> {
  for (;;) {
    const { value, done } = await stream.next()
    assert.ok(!done && value, 'the stream has ended')
    if (value.type === type) return value as Extract<InboxEvent, { type: T }>
    // Counts come with every change; everything else is expected in order.
    assert.equal(value.type, 'unread', `expected ${type}, got ${JSON.stringify(value)}`)
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

async function allWhen(list: () => Promise<InboxMessage[]>, count: number): Promise<InboxMessage[]> {
  return until(`there are ${count} messages`, async () => {
    const found = await list()
    return found.length >= count && found
  })
}
