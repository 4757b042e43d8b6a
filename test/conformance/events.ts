import assert from 'node:assert/strict'
import type { NewEvent } from '../../packages/pillarbox/src/model/event.ts'
import { planEvents } from '../support/planning.ts'
import { allPages, assertBetween, type Bench, dueNow, only, type Rule } from './fixtures.ts'

/** Facts go in once, and are found again. */
export function eventRules(rule: Rule): void {
  rule('keeps every field of an event', async ({ store, event, tenant, storedEvent }) => {
    const tenantId = await tenant()
    const given: NewEvent = event(tenantId, {
      id: 'caller’s own: id/1',
      type: 'trip.delayed',
      entity: { type: 'trip', id: 'T/7' },
      payload: { minutes: 45, stops: ['Ulm', 'Köln'], nested: { deep: [null, true, 0.5] } },
      occurredAt: 1_700_000_000_123,
      dueAt: 1_900_000_000_456,
      correlationId: 'corr-1',
      topic: 'trips.late',
      locale: 'de-DE',
      recipients: [{ profileId: 'p-1', name: 'Ada', phone: '+49151', email: 'ada@example.test', locale: 'de' }],
      channels: ['sms', 'email'],
      conversation: { type: 'trip', id: 'T/7' },
      schemaVersion: 3,
      publishedBy: 'key:booking system',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    })
    const before = await store.now()

    await store.events.insert([given])

    const { status, attemptCount, nextAttemptAt, lastError, createdAt, publishedAt, ...kept } = await storedEvent(
      tenantId,
      given.id,
    )
    assert.deepEqual(kept, { ...given, derivedFrom: null })
    assert.deepEqual(
      { status, attemptCount, lastError, publishedAt },
      { status: 'pending', attemptCount: 0, lastError: null, publishedAt: null },
    )
    assertBetween(createdAt, before, await store.now())
    assert.ok(Number.isFinite(nextAttemptAt))
  })

  rule('keeps an event that says no more than it must', async ({ store, event, tenant, storedEvent }) => {
    const given = event(await tenant())

    await store.events.insert([given])

    const kept = await storedEvent(given.tenantId, given.id)
    assert.deepEqual(
      [kept.dueAt, kept.correlationId, kept.locale, kept.recipients, kept.channels, kept.conversation],
      [null, kept.id, null, null, null, null],
    )
  })

  rule('keeps whatever JSON a payload holds', async ({ store, event, tenant, storedEvent }) => {
    const payload = {
      empty: '',
      quotes: `it's "quoted" \\ and {{liquid}} $1 ?`,
      emoji: '👩‍🚀',
      nul: 'a\u0000b',
      loneSurrogate: '\ud800',
      large: 'x'.repeat(100_000),
      numbers: [0.1, 1e21, -5, Number.MAX_SAFE_INTEGER],
      '': { '': [] },
    }
    const given = event(await tenant(), { payload })

    await store.events.insert([given])

    assert.deepEqual((await storedEvent(given.tenantId, given.id)).payload, payload)
  })

  rule('answers events in the order they were given', async ({ store, event, tenant }) => {
    const tenantId = await tenant()
    const ids = ['c', 'a', 'd', 'b']

    const answers = await store.events.insert(ids.map((id) => event(tenantId, { id })))

    assert.deepEqual(
      answers,
      ids.map((id) => ({ id, duplicate: false })),
    )
  })

  rule('a repeated event is a duplicate and changes nothing', async ({ store, event, tenant, storedEvent }) => {
    const first = event(await tenant(), { id: 'same', payload: { version: 1 } })
    await store.events.insert([first])
    const kept = await storedEvent(first.tenantId, 'same')

    const answers = await store.events.insert([
      event(first.tenantId, { id: 'new' }),
      { ...first, payload: { version: 2 }, type: 'other' },
    ])

    assert.deepEqual(answers, [
      { id: 'new', duplicate: false },
      { id: 'same', duplicate: true },
    ])
    assert.deepEqual(await storedEvent(first.tenantId, 'same'), kept)
  })

  rule(
    'a repeat inside one call is a duplicate, and the first one counts',
    async ({ store, event, tenant, storedEvent }) => {
      const tenantId = await tenant()
      const versions = [1, 2, 3].map((version) => event(tenantId, { id: 'same', payload: { version } }))

      const answers = await store.events.insert(versions)

      assert.deepEqual(
        answers.map(({ duplicate }) => duplicate),
        [false, true, true],
      )
      assert.deepEqual((await storedEvent(tenantId, 'same')).payload, { version: 1 })
    },
  )

  rule('of the same event from many callers at once, exactly one is new', async ({ store, event, tenant }) => {
    const tenantId = await tenant()
    const calls = Array.from({ length: 8 }, () => [event(tenantId, { id: 'x' }), event(tenantId, { id: 'y' })])

    // Half of them in the opposite order: writers that lock rows in the order given would wait for each other.
    const answers = await Promise.all(calls.map((rows, i) => store.events.insert(i % 2 ? rows : rows.toReversed())))

    for (const id of ['x', 'y'])
      assert.equal(answers.flat().filter((answer) => answer.id === id && !answer.duplicate).length, 1)
  })

  rule('one event id of two tenants is two events', async ({ store, event, tenant, storedEvent }) => {
    const [a, b] = [await tenant(), await tenant()]

    const answers = await store.events.insert([
      event(a, { id: 'same', payload: { of: 'a' } }),
      event(b, { id: 'same', payload: { of: 'b' } }),
    ])

    assert.deepEqual(
      answers.map(({ duplicate }) => duplicate),
      [false, false],
    )
    assert.deepEqual((await storedEvent(a, 'same')).payload, { of: 'a' })
    assert.deepEqual((await storedEvent(b, 'same')).payload, { of: 'b' })
  })

  rule('writing no events answers nothing', async ({ store }) => {
    assert.deepEqual(await store.events.insert([]), [])
  })

  rule('an event of another tenant, or of nobody, is not found', async ({ store, event, tenant }) => {
    const [mine, other] = [await tenant(), await tenant()]
    await store.events.insert([event(mine, { id: 'e' })])

    assert.equal(await store.events.find(other, 'e'), null)
    assert.equal(await store.events.find(mine, 'unknown'), null)
  })

  rule('lists events of one tenant, one status and one span of time', async (bench) => {
    const { store, event, tenant, advance } = bench
    const [mine, other] = [await tenant(), await tenant()]
    await store.events.insert([event(mine, { id: 'old' }), event(other, { id: 'foreign' })])
    await advance(10)
    const middle = await store.now()
    await advance(10)
    await store.events.insert([event(mine, { id: 'failed' })])
    await store.plan.deferEvent({ tenantId: mine, id: 'failed' }, 'cannot be planned', null)
    const ids = async (filter: Parameters<typeof store.events.list>[0]): Promise<string[]> =>
      (await store.events.list(filter, { limit: 50 })).items.map(({ id }) => id).sort()

    assert.deepEqual(await ids({ tenantId: mine }), ['failed', 'old'])
    assert.deepEqual(await ids({ tenantId: other }), ['foreign'])
    assert.deepEqual(await ids({}), ['failed', 'foreign', 'old'])
    assert.deepEqual(await ids({ status: 'failed' }), ['failed'])
    assert.deepEqual(await ids({ status: 'pending', tenantId: mine }), ['old'])
    assert.deepEqual(await ids({ status: 'published' }), [])
    assert.deepEqual(await ids({ from: middle }), ['failed'])
    assert.deepEqual(await ids({ to: middle }), ['foreign', 'old'])
    assert.deepEqual(await ids({ tenantId: mine, from: middle, to: middle }), [])
  })

  rule('lists events of one type, one entity and one key', async ({ store, event, tenant }) => {
    const tenantId = await tenant()
    const entity = { type: 'trip', id: '42' }
    await store.events.insert([
      event(tenantId, { id: 'booking' }),
      event(tenantId, { id: 'late', type: 'trip.late', entity }),
      event(tenantId, { id: 'over', type: 'trip.over', entity, publishedBy: 'key:ada' }),
      event(tenantId, { id: 'other', type: 'trip.over', entity: { type: 'trip', id: '43' } }),
      event(await tenant(), { id: 'foreign', type: 'trip.late', entity, publishedBy: 'key:ada' }),
    ])
    const ids = async (filter: Parameters<typeof store.events.list>[0]): Promise<string[]> =>
      (await allPages((page) => store.events.list({ tenantId, ...filter }, page), 1)).map(({ id }) => id).sort()

    assert.deepEqual(await ids({ type: 'trip.over' }), ['other', 'over'])
    assert.deepEqual(await ids({ entityType: 'trip' }), ['late', 'other', 'over'])
    assert.deepEqual(await ids({ entityType: 'trip', entityId: '42' }), ['late', 'over'])
    assert.deepEqual(await ids({ entityType: 'booking', entityId: '42' }), ['booking'])
    assert.deepEqual(await ids({ publishedBy: 'key:ada' }), ['over'])
    assert.deepEqual(await ids({ type: 'trip.late', publishedBy: 'key:ada' }), [])
    assert.deepEqual(await ids({ type: 'trip.late', entityId: '42', status: 'pending' }), ['late'])
  })

  rule('counts the notifications of events by where they stand', async (bench) => {
    const { store, event, lane, tenant, worker, enqueue, claim } = bench
    const tenantId = await tenant()
    const target = await lane({ tenantId })
    const entity = { type: 'booking', id: '42' }
    const [first, second, none] = ['first', 'second', 'none'].map((id) => event(tenantId, { id })) as [
      NewEvent,
      NewEvent,
      NewEvent,
    ]
    const elsewhere = event(tenantId, { id: 'elsewhere', entity: { type: 'trip', id: '42' } })
    await store.events.insert([first, second, none, elsewhere])
    await enqueue(target, 2, { eventId: 'first', entity })
    await claim(await worker(), target)
    const stopped = { status: 'parked', reason: 'no_recipient', error: 'nobody' } as const
    await enqueue(target, 1, { eventId: 'first', entity, stopped })
    await enqueue(target, 3, { eventId: 'second', entity })
    await enqueue(target, 1, { eventId: 'elsewhere', entity: elsewhere.entity })
    await enqueue(await lane(), 1, { eventId: 'first', entity })
    await enqueue(target, 1, { entity })

    const counts = await store.events.counts(tenantId, [second, none, elsewhere, first])

    assert.deepEqual(
      counts.map((ofEvent) => Object.fromEntries(Object.entries(ofEvent).filter(([, count]) => count > 0))),
      [{ queued: 3 }, {}, { queued: 1 }, { queued: 1, sending: 1, parked: 1 }],
    )
    assert.deepEqual(await store.events.counts(tenantId, []), [])
  })

  rule('lists events newest first', async ({ store, event, tenant, advance }) => {
    const tenantId = await tenant()
    for (const id of ['b', 'a', 'c']) {
      await store.events.insert([event(tenantId, { id })])
      await advance(3)
    }

    const { items, nextCursor } = await store.events.list({ tenantId }, { limit: 10 })

    assert.deepEqual(
      items.map(({ id }) => id),
      ['c', 'a', 'b'],
    )
    assert.equal(nextCursor, null)
  })

  rule('pages through events without gap or repeat while events are added', async ({ store, event, tenant }) => {
    const tenants = [await tenant(), await tenant(), await tenant()]
    const name = ({ tenantId, id }: { tenantId: string; id: string }): string => `${tenantId} ${id}`
    // The same ids of several tenants at the same instant: only a cursor that names all of a row's place tells them apart.
    const rows = tenants.flatMap((tenantId) => Array.from({ length: 9 }, (_, i) => event(tenantId, { id: `e-${i}` })))
    await store.events.insert(rows)

    const seen = await allPages(
      (page) => store.events.list({}, page),
      4,
      () => store.events.insert(tenants.map((tenantId) => event(tenantId))),
    )

    const names = seen.map(name)
    assert.equal(new Set(names).size, names.length, 'an event came twice')
    for (const row of rows) assert.ok(names.includes(name(row)), `${name(row)} is missing`)
  })

  rule('a failed event is replayed with a fresh count, and planned again', async (bench) => {
    const { store, storedEvent } = bench
    const ref = await failedEvent(bench)

    const replayed = await store.events.replay(ref.tenantId, ref.id, 'key:ada')

    assert.equal(replayed, true)
    const event = await storedEvent(ref.tenantId, ref.id)
    assert.equal(event.status, 'pending')
    assert.equal(event.attemptCount, 0)
    const taken: string[] = []
    await planEvents(store, 10, ({ id }) => {
      taken.push(id)
      return { kind: 'later' }
    })
    assert.deepEqual(taken, [ref.id])
  })

  rule('events given together are planned in the order they were given', async ({ store, event, tenant }) => {
    const tenantId = await tenant()
    const ids = Array.from({ length: 12 }, (_, i) => `e-${12 - i}`)
    await store.events.insert(ids.map((id) => event(tenantId, { id })))
    const taken: string[] = []

    await planEvents(store, 20, ({ id }) => {
      taken.push(id)
      return { kind: 'later' }
    })

    assert.deepEqual(taken, ids)
  })

  rule('only a failed event is replayed', async (bench) => {
    const { store, event, tenant, newId, storedEvent } = bench
    const pending = event(await tenant())
    const published = event(pending.tenantId)
    await store.events.insert([published])
    await planEvents(store, 1, () => dueNow(newId()))
    await store.events.insert([pending])

    for (const { tenantId, id } of [pending, published]) {
      const before = await storedEvent(tenantId, id)
      assert.equal(await store.events.replay(tenantId, id, 'key:ada'), false)
      assert.deepEqual(await storedEvent(tenantId, id), before)
    }
    assert.equal(await store.events.replay(pending.tenantId, 'unknown', 'key:ada'), false)
  })

  rule('an event is replayed by its own tenant only, and only once', async (bench) => {
    const { store, storedEvent, tenant } = bench
    const ref = await failedEvent(bench)

    assert.equal(await store.events.replay(await tenant(), ref.id, 'key:mallory'), false)
    assert.equal((await storedEvent(ref.tenantId, ref.id)).status, 'failed')
    const answers = await Promise.all([1, 2, 3].map(() => store.events.replay(ref.tenantId, ref.id, 'key:ada')))

    assert.equal(answers.filter(Boolean).length, 1)
  })
}

async function failedEvent({ store, event, tenant, storedEvent }: Bench): Promise<{ tenantId: string; id: string }> {
  const { tenantId, id } = event(await tenant())
  only(await store.events.insert([event(tenantId, { id })]))
  await store.plan.deferEvent({ tenantId, id }, 'refused once', 0)
  await store.plan.deferEvent({ tenantId, id }, 'refused for good', null)
  assert.equal((await storedEvent(tenantId, id)).status, 'failed')
  return { tenantId, id }
}
