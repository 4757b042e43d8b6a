import assert from 'node:assert/strict'
import { type DerivedEvent, derivedId, type StoredEvent } from '../../packages/pillarbox/src/model/event.ts'
import type { EventPlan } from '../../packages/pillarbox/src/plan/plan-store.ts'
import { planEvents } from '../support/planning.ts'
import { dueNow, type Rule } from './fixtures.ts'

/** A domain event becomes events: all of them with it or none, and each of them once. */
export function domainEventRules(rule: Rule): void {
  rule('a domain event is published, and its events wait in its place, as old as it is', async (bench) => {
    const { store, event, tenant, storedEvent, advance } = bench
    const tenantId = await tenant()
    const given = event(tenantId, {
      type: 'CheckoutAbandoned',
      payload: { a: [1, { $sealed: 's1.x' }] },
      dueAt: null,
      occurredAt: 1_700_000_000_123,
      correlationId: 'c',
      topic: 'shop.events',
      locale: 'de-DE',
      recipients: [{ email: 'ada@example.test' }],
      channels: ['email'],
      conversation: { type: 'trip', id: '7' },
      schemaVersion: 3,
      publishedBy: 'key:shop',
    })
    await store.events.insert([given])
    const before = await storedEvent(tenantId, given.id)
    await advance(5)
    await store.events.insert([event(tenantId, { id: 'later' })])
    await advance(5)

    const planned = await planEvents(store, 1, derive('a', 'b'))

    assert.deepEqual(planned, { taken: 1, decided: 1, inserted: 0, lanes: [] })
    const published = await storedEvent(tenantId, given.id)
    assert.deepEqual([published.status, published.attemptCount, published.lastError], ['published', 1, null])
    assert.deepEqual((await store.schedules.list({ tenantId }, { limit: 10 })).items, [])
    for (const type of ['a', 'b']) {
      const id = derivedId(given.id, type)
      const { nextAttemptAt, ...stored } = await storedEvent(tenantId, id)
      const { nextAttemptAt: place, ...expected } = { ...before, id, type, derivedFrom: given.id }
      assert.deepEqual(stored, expected)
      assert.ok(Math.abs(nextAttemptAt - place) <= 1)
    }
    assert.deepEqual(
      (await store.events.list({ tenantId, derivedFrom: given.id }, { limit: 10 })).items
        .map(({ type }) => type)
        .toSorted(),
      ['a', 'b'],
    )
    const taken: string[] = []
    await planEvents(store, 10, ({ type }) => {
      taken.push(type)
      return { kind: 'later' }
    })
    assert.deepEqual(taken.slice(0, 2).toSorted(), ['a', 'b'])
    assert.deepEqual(taken.slice(2), ['booking.confirmed'])
  })

  rule('a domain event that is planned again makes no second event, and changes none', async (bench) => {
    const { store, event, tenant, newId, storedEvent } = bench
    const tenantId = await tenant()
    const given = event(tenantId)
    await store.events.insert([
      given,
      event(tenantId, { id: derivedId(given.id, 'a'), type: 'a', payload: { own: 1 } }),
    ])
    await planEvents(store, 2, ({ id }) => (id === given.id ? { kind: 'later' } : dueNow(newId(), [])))

    await planEvents(store, 10, derive('a', 'b', 'b'))

    const kept = await storedEvent(tenantId, derivedId(given.id, 'a'))
    assert.deepEqual([kept.status, kept.payload, kept.derivedFrom], ['published', { own: 1 }, null])
    assert.equal((await storedEvent(tenantId, derivedId(given.id, 'b'))).status, 'pending')
    assert.equal((await store.events.list({ tenantId }, { limit: 10 })).items.length, 3)
  })

  rule('a domain event that becomes nothing is published', async ({ store, event, tenant, storedEvent }) => {
    const given = event(await tenant())
    await store.events.insert([given])

    assert.equal((await planEvents(store, 10, derive())).decided, 1)

    assert.equal((await storedEvent(given.tenantId, given.id)).status, 'published')
    assert.equal((await store.events.list({ tenantId: given.tenantId }, { limit: 10 })).items.length, 1)
  })

  rule('a batch that is refused leaves no event that it derived', async (bench) => {
    const { store, lane, event, notification, newId, storedEvent } = bench
    const target = await lane()
    const [domain, ordinary] = [event(target.tenantId), event(target.tenantId)]
    await store.events.insert([domain, ordinary])
    const bad = notification(target, { accountId: null })

    await assert.rejects(
      planEvents(store, 10, (taken) => (taken.id === domain.id ? derive('a')(taken) : dueNow(newId(), [bad]))),
    )

    assert.equal((await storedEvent(target.tenantId, domain.id)).status, 'pending')
    assert.equal(await store.events.find(target.tenantId, derivedId(domain.id, 'a')), null)
  })

  rule('the events of a tenant’s domain events are its own', async ({ store, event, tenant, storedEvent }) => {
    const [a, b] = [await tenant(), await tenant()]
    await store.events.insert([event(a, { id: 'same' }), event(b, { id: 'same' })])

    await planEvents(store, 10, derive('t'))

    for (const tenantId of [a, b]) {
      const derived = await storedEvent(tenantId, derivedId('same', 't'))
      assert.deepEqual([derived.tenantId, derived.derivedFrom], [tenantId, 'same'])
    }
  })
}

function derive(...types: string[]) {
  return (event: StoredEvent): EventPlan => ({
    kind: 'derive',
    events: types.map(
      (type): DerivedEvent => ({ ...event, id: derivedId(event.id, type), type, derivedFrom: event.id }),
    ),
  })
}
