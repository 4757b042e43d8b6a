import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFile, stat } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { until } from '../../../../test/support/until.ts'
import { PillarboxConnectionError } from '../http/problem.ts'
import { SiteBufferFullError } from './buffer.ts'
import { alarm, json, openOutbox, problem } from './fixture.ts'
import { InvalidSiteNotificationError, type SiteNotification } from './site-notification.ts'
import type { SiteOutbox } from './site-outbox.ts'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const emptied = (outbox: SiteOutbox): Promise<boolean> =>
  until('nothing waits', () => outbox.health().waiting + outbox.health().expired === 0)

describe('what is sent at a site', () => {
  it('has an id at once, and is handed off in order until it is acknowledged', async (t) => {
    const { central, open } = await openOutbox(t, { batchItems: 10 })
    const outbox = open()

    const sent = Array.from({ length: 25 }, (_, i) => outbox.send(alarm(`a${i}`, { executionId: 'run-1' })))

    for (const { notificationId, status } of sent) {
      assert.match(notificationId, UUID)
      assert.equal(status, 'forwarding')
    }
    await emptied(outbox)
    const items = [...central.ledger.values()]
    assert.deepEqual(
      items.map(({ subject }) => subject),
      Array.from({ length: 25 }, (_, i) => `a${i}`),
    )
    assert.deepEqual(
      items.map(({ sequence }) => sequence),
      Array.from({ length: 25 }, (_, i) => i + 1),
    )
    assert.deepEqual(
      [...central.ledger.keys()],
      sent.map(({ notificationId }) => notificationId),
    )
    assert.ok(central.requests.every(({ items: { length } }) => length <= 10))
    assert.equal(outbox.health().trouble, null)
  })

  it('is kept while the server is away, over restarts, with growing pauses, and arrives once', async (t) => {
    const { central, open, pauses, troubles } = await openOutbox(t)
    central.isAway = true
    const first = open()
    const ids = Array.from({ length: 50 }, (_, i) => first.send(alarm(`a${i}`)).notificationId)
    await until('the pauses have grown', () => pauses.filter((ms) => ms > 30_000).length > 5)
    assert.match(first.health().trouble ?? '', /could not be reached; what waits is kept$/)
    assert.equal(troubles.length, 1, 'the same trouble is told once')
    await first.close()
    assert.ok(pauses.every((ms) => ms <= 60_000))

    central.isAway = false
    const second = open()
    await emptied(second)

    assert.deepEqual([...central.ledger.keys()], ids)
    assert.equal(second.health().trouble, null)
  })

  it('is handed off again where the answer was lost, and the server has it once', async (t) => {
    const { central, open } = await openOutbox(t)
    central.losesAnswers = 3
    const outbox = open()
    for (let i = 0; i < 5; i++) outbox.send(alarm(`a${i}`))

    await emptied(outbox)

    assert.equal(central.ledger.size, 5)
    assert.ok(central.requests.length >= 4)
  })

  it('is kept where the server has trouble with its store, and refused for good with its words where it is wrong', async (t) => {
    const { central, open, troubles } = await openOutbox(t)
    let isStoreAway = true
    const outbox = open({ forwards: true })
    const bad = new Set<string>()
    central.ack = (ack) => {
      if (bad.has(ack.notificationId))
        return { ...ack, accepted: false, permanent: true, error: '/to/list is no\u0000list.' }
      return isStoreAway ? { ...ack, accepted: false, permanent: false, error: 'The database cannot be reached.' } : ack
    }
    const { notificationId } = outbox.send(alarm('good'))
    await until('the server says so', () => /database cannot be reached/.test(outbox.health().trouble ?? ''))
    assert.equal((await outbox.status(notificationId))?.status, 'forwarding')
    isStoreAway = false
    await emptied(outbox)

    const id = '0b7c3f8e-7d0e-4a53-9f5c-000000000001'
    bad.add(id)
    outbox.send(alarm('bad', { notificationId: id.toUpperCase() }))
    await until('it is refused', () => outbox.health().refused === 1)

    assert.deepEqual(await outbox.status(id), {
      notificationId: id,
      status: 'refused',
      lastError: '/to/list is no list.',
    })
    assert.deepEqual(
      outbox.refused().map(({ notificationId: one, error, notification }) => [one, error, notification['subject']]),
      [[id, '/to/list is no list.', 'bad']],
    )
    assert.ok(troubles.includes(`${id} was refused for good: /to/list is no list.`))

    bad.clear()
    assert.equal(outbox.retry(id), true)
    await emptied(outbox)
    assert.deepEqual([outbox.health().refused, outbox.retry(id), outbox.discard(id)], [0, false, false])
  })

  it('is handed off in its new words where it was refused and is sent again under its id', async (t) => {
    const { central, open } = await openOutbox(t)
    const outbox = open({ forwards: true })
    let isWrong = true
    central.ack = (ack) =>
      isWrong ? { ...ack, accepted: false, permanent: true, error: 'There is no such list.' } : ack
    const { notificationId } = outbox.send(alarm('wrong'))
    await until('it is refused', () => outbox.health().refused === 1)
    isWrong = false

    assert.equal(outbox.send(alarm('right', { notificationId })).status, 'forwarding')
    await emptied(outbox)

    assert.equal(outbox.health().refused, 0)
    assert.equal(central.requests.flatMap(({ items }) => items).at(-1)?.subject, 'right')
  })

  it('goes before a long backlog where it is urgent, which still moves', async (t) => {
    const { central, open } = await openOutbox(t, { batchItems: 8 })
    const writer = open({ forwards: false })
    for (let i = 0; i < 40; i++) writer.send(alarm(`a${i}`))
    for (let i = 0; i < 10; i++) writer.send(alarm(`urgent${i}`, { urgent: true }))

    await emptied(open())

    const order = [...central.ledger.values()].map(({ subject }) => subject)
    assert.deepEqual(order.slice(0, 8), ['urgent0', 'urgent1', 'urgent2', 'urgent3', 'urgent4', 'urgent5', 'a0', 'a1'])
    assert.deepEqual(
      order.filter((subject) => subject?.startsWith('a')),
      Array.from({ length: 40 }, (_, i) => `a${i}`),
    )
    assert.equal(order.length, 50)
  })

  it('is reported last where it has expired meanwhile, and status says so', async (t) => {
    const { central, open, time } = await openOutbox(t, { batchItems: 1 })
    const writer = open({ forwards: false })
    const { notificationId } = writer.send(alarm('late', { expiresAt: new Date(time.now + 60_000) }))
    writer.send(alarm('good'))
    time.now += 60_000
    central.isAway = true
    const outbox = open()
    await until('it is seen to have expired', () => outbox.health().expired === 1)
    assert.equal((await outbox.status(notificationId))?.status, 'expired')

    central.isAway = false
    await emptied(outbox)

    const items = [...central.ledger.values()]
    assert.deepEqual(
      items.map(({ subject }) => subject),
      ['good', 'late'],
    )
    assert.equal(items[1]?.expiresAt, '2026-01-15T12:01:00.000Z')
  })

  it('is refused clearly where the buffer is full, and nothing that waits is dropped', async (t) => {
    const { central, open } = await openOutbox(t)
    central.isAway = true
    const outbox = open({ maxItems: 3 })
    for (let i = 0; i < 3; i++) outbox.send(alarm(`a${i}`))

    assert.throws(() => outbox.send(alarm('a3')), SiteBufferFullError)
    assert.throws(
      () => outbox.send(alarm('a3')),
      /the buffer of this site is full \(3 that wait and 0 that were refused/,
    )
    assert.equal(outbox.health().isFull, true)
    central.isAway = false
    await emptied(outbox)
    outbox.send(alarm('a3'))
    await emptied(outbox)
    assert.equal(central.ledger.size, 4)

    const small = open({ path: ':memory:', maxBytes: 2_000, forwards: false })
    small.send(alarm('x'.repeat(1_000)))
    assert.throws(() => small.send(alarm('x'.repeat(1_000))), SiteBufferFullError)
  })

  it('is refused at once where it can be seen to be wrong, with what and where', async (t) => {
    const { open } = await openOutbox(t)
    const outbox = open({ forwards: false })
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    const wrong: [string, unknown][] = [
      ['', 'text'],
      ['', null],
      ['/notificationId', alarm('x', { notificationId: 'alarm-1' })],
      ['/notificationId', alarm('x', { notificationId: 7 })],
      ['/to', { subject: 's', body: 'b' }],
      ['/to', alarm('x', { to: { email: 'a@example.test' } })],
      ['/to', { to: 'a@example.test', body: 'b' }],
      ['/list', { list: '', body: 'b' }],
      ['/channel', alarm('x', { channel: 'fax' })],
      ['/body', { list: 'operators', subject: 's' }],
      ['/body', alarm('x', { body: 7 })],
      ['/expiresAt', alarm('x', { expiresAt: 'tomorrow' })],
      ['/urgent', alarm('x', { urgent: 'yes' })],
      ['/recipients', alarm('x', { recipients: [] })],
      ['/data/self', alarm('x', { data: circle })],
      ['/data/n', alarm('x', { data: { n: Number.NaN } })],
      ['', alarm('x', { body: 'x'.repeat(1_100_000) })],
    ]

    for (const [where, notification] of wrong)
      assert.throws(
        () => outbox.send(notification as SiteNotification),
        (error: unknown) =>
          error instanceof InvalidSiteNotificationError &&
          error.errors.some(({ path, message }) => path.startsWith(where) && message.length > 5),
        JSON.stringify([where, String(notification)]),
      )
    assert.equal(outbox.health().waiting, 0)
  })

  it('is kept once where it is sent twice under one id', async (t) => {
    const { central, open } = await openOutbox(t)
    const writer = open({ forwards: false })
    const notificationId = '0b7c3f8e-7d0e-4a53-9f5c-000000000001'
    writer.send(alarm('first', { notificationId }))
    writer.send(alarm('second', { notificationId }))
    assert.equal(writer.health().waiting, 1)

    await emptied(open())

    assert.deepEqual(
      [...central.ledger.values()].map(({ subject }) => subject),
      ['first'],
    )
  })

  it('is on the disk in a file that nobody else may read', async (t) => {
    const { file, open } = await openOutbox(t)
    open({ forwards: false }).send(alarm('a'))

    assert.equal((await stat(file)).mode & 0o777, 0o600)
  })
})

describe('the status of what was sent at a site', () => {
  it('is answered by the server once it is acknowledged, and by nobody where it never was', async (t) => {
    const { central, open } = await openOutbox(t)
    const outbox = open()
    const { notificationId } = outbox.send(alarm('a'))
    await emptied(outbox)
    central.statuses.set(notificationId, 'delivered')

    assert.deepEqual(await outbox.status(notificationId.toUpperCase()), {
      notificationId,
      status: 'delivered',
      lastError: null,
      retryCount: 1,
      nextAttemptAt: null,
      deliveredAt: null,
    })
    assert.equal(await outbox.status('0b7c3f8e-7d0e-4a53-9f5c-00000000000f'), null)
    central.isAway = true
    await assert.rejects(outbox.status(notificationId), PillarboxConnectionError)
  })
})

describe('a server that misbehaves', () => {
  it('is believed in nothing that it does not say clearly', async (t) => {
    const answers: [string, unknown][] = [
      ['text', 'accepted'],
      ['no acks', {}],
      ['acks that are none', { acks: { accepted: true } }],
      ['nonsense for acks', { acks: [null, 7, 'x', [], {}, { notificationId: 7, accepted: true }] }],
      [
        'acks of something else',
        { acks: [{ notificationId: '0b7c3f8e-7d0e-4a53-9f5c-00000000000f', accepted: true }] },
      ],
    ]
    for (const [what, body] of answers) {
      const { central, open } = await openOutbox(t)
      central.instead = () => json(200, body)
      const outbox = open()
      outbox.send(alarm('a'))
      await until(`${what} was answered`, () => central.requests.length > 3)
      assert.equal(outbox.health().waiting, 1, what)
      assert.notEqual(outbox.health().trouble, null, what)
      central.instead = null
      await emptied(outbox)
      assert.equal(central.ledger.size, 1, what)
    }
  })

  it('that says two things of one is asked again, and holds up nothing else', async (t) => {
    const { central, open } = await openOutbox(t)
    const writer = open({ forwards: false })
    const odd = writer.send(alarm('odd')).notificationId
    writer.send(alarm('even'))
    central.instead = ({ items }) =>
      json(200, {
        acks: items.flatMap(({ notificationId }) => [
          { notificationId, accepted: true },
          ...(notificationId === odd ? [{ notificationId, accepted: false, permanent: true, error: 'no' }] : []),
        ]),
      })
    const outbox = open()
    await until('the other one is handed off', () => outbox.health().waiting === 1)
    assert.equal((await outbox.status(odd))?.status, 'forwarding')
    central.instead = null

    await emptied(outbox)

    assert.equal(outbox.health().refused, 0)
  })

  it('is not a proxy in its place: whatever that refuses is kept', async (t) => {
    for (const answer of [
      () => new Response('<html>', { status: 200 }),
      () => new Response('<html>', { status: 422 }),
      () => new Response('<html>', { status: 413 }),
      () => new Response(null, { status: 302, headers: { location: 'http://elsewhere.test' } }),
      () => problem(401, 'unauthorized'),
      () => problem(403, 'forbidden'),
      () => problem(429, 'rate_limited'),
      () => problem(503, 'store_unavailable'),
    ]) {
      const { central, open } = await openOutbox(t)
      central.instead = answer
      const outbox = open()
      outbox.send(alarm('a'))
      await until('it was tried a few times', () => central.requests.length > 3)
      assert.deepEqual([outbox.health().waiting, outbox.health().refused], [1, 0])
      central.instead = null
      await emptied(outbox)
    }
  })

  it('that cannot work on one item has all others, and that one is tried again', async (t) => {
    for (const [code, status] of [
      ['internal', 500],
      ['invalid_body', 422],
    ] as const) {
      const { central, open } = await openOutbox(t, { batchItems: 16 })
      const writer = open({ forwards: false })
      for (let i = 0; i < 40; i++) writer.send(alarm(`a${i}`))
      central.instead = ({ items }) => (items.some(({ subject }) => subject === 'a21') ? problem(status, code) : null)
      const outbox = open()

      await until('all others have come', () => central.ledger.size === 39)

      assert.deepEqual([outbox.health().waiting, outbox.health().refused], [1, 0])
      central.instead = null
      await emptied(outbox)
    }
  })

  it('is cut off where its answer never ends, or never comes', async (t) => {
    const answers: [RegExp, (response: ServerResponse) => void][] = [
      [
        /has more than 4194304 bytes/,
        (response) => {
          const more = (): void => {
            while (!response.destroyed && response.write('"x",'.repeat(50_000)));
          }
          response.on('drain', more).writeHead(200, { 'content-type': 'application/json' }).write('{"acks":[')
          more()
        },
      ],
      [/no answer within 200 ms/, (response) => void response.writeHead(200).write('{')],
      [/no answer within 200 ms/, () => {}],
      [/could not be reached/, (response) => void response.destroy()],
    ]
    for (const [words, answer] of answers) {
      const server = createServer((request, response) => void request.resume().on('end', () => answer(response)))
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const { port } = server.address() as AddressInfo
      const { open } = await openOutbox(t)
      const timeoutMs = words.source.includes('200 ms') ? 200 : 30_000
      const outbox = open({ central: `http://127.0.0.1:${port}`, fetch, timeoutMs })
      outbox.send(alarm('a'))

      await until(String(words), () => words.test(outbox.health().trouble ?? ''))

      assert.equal(outbox.health().waiting, 1)
      await outbox.close()
      server.closeAllConnections()
      server.close()
    }
  })

  it('that asks for a pause gets it, up to five minutes', async (t) => {
    const { central, open, pauses } = await openOutbox(t)
    const asked = ['30', '999999']
    central.instead = () => {
      const after = asked.shift()
      return after === undefined ? null : new Response('', { status: 429, headers: { 'retry-after': after } })
    }
    const outbox = open()
    outbox.send(alarm('a'))

    await emptied(outbox)

    assert.deepEqual(pauses.filter((ms) => ms >= 30_000).slice(0, 2), [30_000, 300_000])
  })
})

describe('a buffer', () => {
  it('keeps its incarnation and its numbers over restarts, and tells what waits', async (t) => {
    const { central, open } = await openOutbox(t, { batchItems: 2 })
    const writer = open({ forwards: false })
    for (let i = 0; i < 5; i++) writer.send(alarm(`a${i}`))
    const { incarnation } = writer.health()
    await writer.close()

    const outbox = open()
    await emptied(outbox)
    outbox.send(alarm('a5'))
    await emptied(outbox)

    const handedOff = central.requests.filter(({ items }) => items.length > 0)
    assert.deepEqual(new Set(central.requests.map((request) => request.incarnation)), new Set([incarnation]))
    assert.deepEqual(
      handedOff.map(({ backlog, items }) => [backlog, items.map(({ sequence }) => sequence)]),
      [
        [3, [1, 2]],
        [1, [3, 4]],
        [0, [5]],
        [0, [6]],
      ],
    )
  })

  it('that was restored from a copy goes on under a new incarnation once the server has noticed', async (t) => {
    const { central, file, open, troubles } = await openOutbox(t)
    const first = open()
    first.send(alarm('a1'))
    await emptied(first)
    const { incarnation } = first.health()
    await first.close()
    await copyFile(file, `${file}-copy`)

    const restored = open({ path: `${file}-copy`, forwards: false })
    for (let i = 0; i < 3; i++) restored.send(alarm(`b${i}`))
    await restored.close()
    central.rewinds = true
    central.isAway = true
    const outbox = open({ path: `${file}-copy`, batchItems: 1 })
    central.isAway = false
    await until('it has a new incarnation', () => outbox.health().incarnation !== incarnation)
    central.rewinds = false
    await emptied(outbox)

    assert.equal(central.ledger.size, 4)
    assert.ok(troubles.some((words) => words.startsWith('this buffer was restored from a copy or cloned')))
  })

  it('says that it is there once a minute while nothing waits', async (t) => {
    const { central, open, pauses } = await openOutbox(t)
    open()

    await until('it was heard of a few times', () => central.requests.length > 3)

    assert.ok(central.requests.every(({ items }) => items.length === 0))
    assert.ok(pauses.every((ms) => ms === 60_000))
  })

  it('may be used by several processes at once', async (t) => {
    const { central, open } = await openOutbox(t, { batchItems: 7 })
    const outboxes = [open(), open(), open({ forwards: false })]
    for (let i = 0; i < 60; i++) outboxes[i % 3]?.send(alarm(`a${i}`))

    await emptied(outboxes[0] as SiteOutbox)

    assert.equal(central.ledger.size, 60)
    assert.deepEqual(
      [...central.ledger.values()].map(({ sequence }) => sequence).toSorted((a, b) => a - b),
      Array.from({ length: 60 }, (_, i) => i + 1),
    )
  })

  it('does not mind a clock that is set back or ahead by a day', async (t) => {
    const { central, open, time } = await openOutbox(t)
    const outbox = open()
    for (const days of [-1, 2, -3]) {
      time.now += days * 86_400_000
      outbox.send(alarm(`a${days}`))
      await emptied(outbox)
    }

    assert.equal(central.ledger.size, 3)
    assert.equal(new Set(central.ledger.keys()).size, 3)
  })

  it('refuses options that cannot work', async (t) => {
    const { open } = await openOutbox(t)
    for (const wrong of [
      { site: '' },
      { site: '../x' },
      { key: 'two words' },
      { central: 'central' },
      { central: 'ftp://central.test' },
      { maxItems: 0 },
      { batchItems: 1_001 },
      { timeoutMs: Number.NaN },
    ])
      assert.throws(() => open(wrong), TypeError, JSON.stringify(wrong))
  })
})
