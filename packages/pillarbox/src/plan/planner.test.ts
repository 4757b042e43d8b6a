import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock, START } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, sampleEvent, silent, storedAccount } from '../../../../test/support/samples.ts'
import { parseCatalogue } from '../model/catalogue.ts'
import { PillarboxError } from '../model/errors.ts'
import type { NewEvent, StoredEvent } from '../model/event.ts'
import { createRenderer } from '../render/render.ts'
import { createHub } from '../runtime/hub.ts'
import { createIdSource } from '../runtime/ids.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { EventPlan, PlanStore, Store } from '../store/store.ts'
import { createContextBook } from './context-book.ts'
import { type PlannerDeps, planRound, runPlanner } from './planner.ts'

const MINUTE_MS = 60_000

const words = [{ channel: 'sms', body: 'Hello {{name}}' }]
const recipients = [{ phone: 'phone', name: 'name' }]
const CATALOGUE = {
  eventTypes: {
    'booking.confirmed': { entity: 'booking', recipients, templates: words },
    'booking.reminder': { entity: 'booking', recipients, templates: words, timing: { after: 'PT1H' } },
    'booking.broken': {
      entity: 'booking',
      recipients,
      templates: [{ channel: 'sms', body: '{{ x | no_such_filter }}' }],
    },
  },
}

type Plant = (base: Store) => Partial<PlanStore>

/** A planner over a real store, one round at a time. */
async function setup(
  t: TestContext,
  { plant = () => ({}), batchRows = 10 }: { plant?: Plant; batchRows?: number } = {},
) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const random = () => 0.5
  const ids = createIdSource(clock, random)
  const base = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => base.close())
  await base.migrate()
  const parsed = parseCatalogue(CATALOGUE)
  assert.ok('catalogue' in parsed)
  for (const id of ['acme', 'other']) {
    await base.tenants.insert({ id, name: id, defaultLocale: 'en', timeZone: 'UTC', settings: {} })
    await base.catalogue.replace(id, parsed.catalogue, ids)
    await base.accounts.insert(storedAccount({ id: id === 'acme' ? laneId : ids(), tenantId: id }))
  }
  const store: Store = { ...base, plan: { ...base.plan, ...plant(base) } }
  const hub = createHub(clock, base.wake)
  const loads: string[] = []
  const contexts = createContextBook(base, clock, 1_000)
  const deps: PlannerDeps = {
    store,
    contexts: {
      peek: contexts.peek,
      load: (tenantId, eventType) => {
        loads.push(`${tenantId} ${eventType}`)
        return contexts.load(tenantId, eventType)
      },
    },
    renderer: createRenderer(),
    hub,
    clock,
    random,
    ids,
    logger,
    settings: { batchRows, pollMaxMs: 200 },
  }
  let published = 0
  return {
    clock,
    logger,
    store: base,
    hub,
    loads,
    deps,
    round: () => planRound(deps),
    async publish(changes: Partial<NewEvent> = {}): Promise<string> {
      const id = changes.id ?? `event-${++published}`
      const {
        status: _s,
        attemptCount: _a,
        nextAttemptAt: _n,
        lastError: _l,
        createdAt: _c,
        publishedAt: _p,
        ...event
      } = sampleEvent()
      await base.events.insert([{ ...event, entity: { type: 'booking', id }, ...changes, id }])
      return id
    },
    async event(id: string, tenantId = 'acme') {
      const event = await base.events.find(tenantId, id)
      assert.ok(event)
      return event
    },
    /** In the order they were made. */
    async notifications() {
      return (await base.notifications.list({}, { limit: 100 })).items.toReversed()
    },
  }
}

const laneId = '019b7a00-0000-7000-8000-000000000001'

/** A store that refuses whatever comes from one event, as it would a value that does not fit its column. */
function refusing(badId: string): Plant {
  return (base) => ({
    events: (limit, plan) =>
      base.plan.events(limit, (event): EventPlan => {
        const answer = plan(event)
        return event.id === badId && answer.kind === 'notifications'
          ? { ...answer, notifications: answer.notifications.map((row) => ({ ...row, tenantId: null as never })) }
          : answer
      }),
  })
}

describe('a round', () => {
  it('turns pending events into notifications, and says how many were decided', async (t) => {
    const { round, publish, event, notifications } = await setup(t)
    for (let i = 0; i < 3; i++) await publish()

    assert.equal(await round(), 3)

    assert.equal((await event('event-1')).status, 'published')
    assert.deepEqual(
      (await notifications()).map(({ status, content, eventId }) => [status, content?.body, eventId]),
      [
        ['queued', 'Hello Ada', 'event-1'],
        ['queued', 'Hello Ada', 'event-2'],
        ['queued', 'Hello Ada', 'event-3'],
      ],
    )
    assert.equal(await round(), 0)
  })

  it('takes no more than a batch', async (t) => {
    const { round, publish } = await setup(t, { batchRows: 2 })
    for (let i = 0; i < 5; i++) await publish()
    await round()

    assert.deepEqual([await round(), await round(), await round()], [2, 1, 0])
  })

  it('loads what it needs to know once for all events of a kind, and leaves them until then', async (t) => {
    const { round, publish, loads, event } = await setup(t)
    for (let i = 0; i < 4; i++) await publish()
    await publish({ tenantId: 'other', id: 'elsewhere' })

    assert.equal(await round(), 5)

    assert.deepEqual(loads.toSorted(), ['acme booking.confirmed', 'other booking.confirmed'])
    assert.equal((await event('event-1')).attemptCount, 1)
  })

  it('plans rows that take longer to read than contexts are good for', async (t) => {
    const { round, publish, clock } = await setup(t, {
      plant: (base) => ({
        events: async (limit, plan) => {
          await clock.advance(2_000)
          return base.plan.events(limit, plan)
        },
      }),
    })
    await publish()

    assert.equal(await round(), 1)
  })

  it('tells the dispatcher which lanes have work', async (t) => {
    const { round, publish, hub } = await setup(t)
    await publish()

    await round()

    assert.deepEqual(hub.takeLanes(), [laneId])
  })

  it('makes one row for one key, however often the event is repeated (P2)', async (t) => {
    const { round, publish, notifications } = await setup(t)
    const entity = { type: 'booking', id: 'B-1' }
    await publish({ entity })
    await publish({ entity })

    assert.equal(await round(), 2)

    assert.equal((await notifications()).length, 1)
  })
})

describe('an event that is due later', () => {
  it('becomes a schedule, and notifications when its time has come', async (t) => {
    const { round, publish, event, notifications, clock } = await setup(t)
    const id = await publish({ type: 'booking.reminder' })

    assert.equal(await round(), 1)
    assert.equal((await event(id)).status, 'published')
    assert.deepEqual(await notifications(), [])
    await clock.advance(60 * MINUTE_MS - 1)
    assert.equal(await round(), 0)
    await clock.advance(1)
    assert.equal(await round(), 1)

    assert.equal((await notifications()).length, 1)
  })

  it('is planned as things stand then: templates, accounts and catalogue are bound late', async (t) => {
    const { round, publish, notifications, clock, store } = await setup(t)
    await publish({ type: 'booking.reminder' })
    await round()

    await store.accounts.setStatus(laneId, 'suspended', null, 'test')
    await clock.advance(60 * MINUTE_MS)
    await round()

    assert.deepEqual(
      (await notifications()).map(({ reason }) => reason),
      ['no_active_channels'],
    )
  })

  it('may name its own time, which wins over the catalogue’s', async (t) => {
    const { round, publish, notifications } = await setup(t)
    await publish({ type: 'booking.reminder', dueAt: START })

    await round()

    assert.equal((await notifications()).length, 1)
  })

  it('whose event type is gone by then fails alone', async (t) => {
    const { round, publish, notifications, clock, store } = await setup(t)
    const id = await publish({ type: 'booking.reminder' })
    await publish({ type: 'booking.confirmed', dueAt: START + 60 * MINUTE_MS })
    await round()
    const { eventTypes } = CATALOGUE
    const parsed = parseCatalogue({ eventTypes: { 'booking.confirmed': eventTypes['booking.confirmed'] } })
    assert.ok('catalogue' in parsed)
    await store.catalogue.replace('acme', parsed.catalogue, () => laneId)

    await clock.advance(60 * MINUTE_MS)
    assert.equal(await round(), 2)

    assert.deepEqual(
      (await notifications()).map(({ eventId }) => eventId === id),
      [false],
    )
  })
})

describe('one bad event stops nobody (P7)', () => {
  it('of an unknown type or tenant: it fails, the others are planned', async (t) => {
    const { round, publish, event, notifications } = await setup(t)
    await publish({ id: 'no-type', type: 'no.such.type' })
    await publish({ id: 'no-tenant', tenantId: 'nobody' })
    await publish({ id: 'fine' })

    assert.equal(await round(), 3)

    const [type, tenant] = [await event('no-type'), await event('no-tenant', 'nobody')]
    assert.deepEqual([type.status, tenant.status], ['failed', 'failed'])
    assert.match(type.lastError ?? '', /no\.such\.type/)
    assert.match(tenant.lastError ?? '', /nobody/)
    assert.equal((await notifications()).length, 1)
  })

  it('with a template that cannot be rendered: its notification is parked', async (t) => {
    const { round, publish, event, notifications } = await setup(t)
    await publish({ id: 'broken', type: 'booking.broken' })
    await publish({ id: 'fine' })

    await round()

    assert.equal((await event('broken')).status, 'published')
    assert.deepEqual(
      (await notifications()).map(({ status, reason }) => [status, reason]),
      [
        ['parked', 'render_failed'],
        ['queued', null],
      ],
    )
  })

  it('that the store refuses: the rest of its batch is planned one by one, and it waits alone', async (t) => {
    const { round, publish, event, notifications, logger, hub } = await setup(t, { plant: refusing('poison') })
    await publish({ id: 'before' })
    await publish({ id: 'poison' })
    await publish({ id: 'after' })

    assert.equal(await round(), 3)

    assert.deepEqual(
      (await notifications()).map(({ eventId }) => eventId),
      ['before', 'after'],
    )
    const poison = await event('poison')
    assert.deepEqual([poison.status, poison.attemptCount, poison.nextAttemptAt], ['pending', 1, START + MINUTE_MS])
    assert.ok(poison.lastError)
    assert.deepEqual(
      logger.lines.map(({ fields }) => fields['id']),
      ['poison'],
    )
    assert.deepEqual(hub.takeLanes(), [laneId])
  })

  it('that the store refuses again and again: it is tried five times, ever later, then fails', async (t) => {
    const { round, publish, event, clock } = await setup(t, { plant: refusing('poison') })
    await publish({ id: 'poison' })
    const waits: number[] = []

    for (let i = 0; i < 4; i++) {
      assert.equal(await round(), 1)
      const { nextAttemptAt, status } = await event('poison')
      assert.equal(status, 'pending')
      waits.push((nextAttemptAt - clock.now()) / MINUTE_MS)
      await clock.advance(nextAttemptAt - clock.now())
    }
    assert.equal(await round(), 1)

    assert.deepEqual(waits, [1, 2, 4, 8])
    assert.deepEqual([(await event('poison')).status, (await event('poison')).attemptCount], ['failed', 5])
    await clock.advance(60 * MINUTE_MS)
    assert.equal(await round(), 0)
  })

  it('with recipients or channels that are not what they should be: it fails alone, and somebody hears of it', async (t) => {
    const { round, publish, event, notifications, logger } = await setup(t)
    await publish({ id: 'null-recipient', recipients: [null] as never })
    await publish({ id: 'text-recipients', recipients: 'everybody' as never })
    await publish({ id: 'text-channels', channels: 'sms' as never })
    await publish({ id: 'fax', channels: ['fax'] as never })
    await publish({ id: 'fine' })

    assert.equal(await round(), 5)

    for (const id of ['null-recipient', 'text-recipients', 'text-channels', 'fax']) {
      assert.equal((await event(id)).status, 'failed', id)
      assert.ok(logger.lines.some(({ fields }) => fields['eventId'] === id))
    }
    assert.equal((await notifications()).length, 1)
  })

  it('that cannot even be read: no other one is set back in its place', async (t) => {
    let isBroken = true
    const deferred: string[] = []
    const { round, publish, event } = await setup(t, {
      plant: (base) => ({
        events: async (limit, plan) => {
          const first = (await base.events.list({ status: 'pending' }, { limit: 100 })).items.at(-1)
          if (isBroken && (limit > 1 || first?.id === 'event-2')) {
            const asked = (one: StoredEvent): EventPlan => {
              plan(one)
              return { kind: 'later' }
            }
            if (limit > 1) await base.plan.events(limit, asked)
            throw new Error('Unexpected token in JSON')
          }
          return base.plan.events(limit, plan)
        },
        deferEvent: async (ref, ...rest) => {
          deferred.push(ref.id)
          await base.plan.deferEvent(ref, ...rest)
        },
      }),
    })
    await publish()
    await publish()

    await assert.rejects(round(), /Unexpected token/)
    assert.deepEqual(deferred, [])
    assert.equal((await event('event-1')).status, 'published')
    isBroken = false

    assert.equal(await round(), 1)
  })
})

describe('one bad schedule stops nobody (P7)', () => {
  it('that the store refuses: it waits alone and fails in the end', async (t) => {
    const { round, publish, notifications, clock, store } = await setup(t, {
      plant: (base) => ({
        schedules: (limit, plan) =>
          base.plan.schedules(limit, (schedule, event) => {
            const answer = plan(schedule, event)
            return event.id === 'poison' && answer.kind === 'notifications'
              ? {
                  kind: 'notifications',
                  notifications: answer.notifications.map((row) => ({ ...row, tenantId: null as never })),
                }
              : answer
          }),
      }),
    })
    await publish({ id: 'poison', type: 'booking.reminder' })
    await publish({ id: 'fine', type: 'booking.reminder' })
    await round()
    await clock.advance(60 * MINUTE_MS)

    assert.equal(await round(), 2)
    const rows = await notifications()
    assert.deepEqual(
      rows.map(({ eventId }) => eventId),
      ['fine'],
    )
    for (const minutes of [1, 2, 4, 8]) {
      await clock.advance(minutes * MINUTE_MS)
      assert.equal(await round(), 1)
    }
    await clock.advance(60 * MINUTE_MS)

    assert.equal(await round(), 0)
    assert.equal((await store.notifications.schedule('acme', rows[0]?.scheduleId ?? ''))?.status, 'completed')
  })
})

describe('the planner', () => {
  it('plans as soon as it is nudged, and otherwise by polling, until it is told to stop', async (t) => {
    const { deps, publish, notifications, clock, hub } = await setup(t)
    const stop = new AbortController()
    let ended = false
    void runPlanner(deps, stop.signal).then(() => {
      ended = true
    })
    await clock.advance(5_000)

    await publish()
    hub.nudge('events')
    await clock.settle()
    assert.equal((await notifications()).length, 1)
    await clock.advance(5_000)
    await publish()
    await clock.advance(240)
    assert.equal((await notifications()).length, 2)
    stop.abort()
    await clock.settle()

    assert.equal(ended, true)
  })

  it('goes on when the store was away, and sets nothing back for it', async (t) => {
    let isAway = true
    const { deps, publish, event, clock, logger } = await setup(t, {
      plant: (base) => ({
        events: async (limit, plan) => {
          if (isAway) throw new PillarboxError('store_unavailable', 'connection reset')
          return base.plan.events(limit, plan)
        },
      }),
    })
    await publish()
    const stop = new AbortController()
    void runPlanner(deps, stop.signal)

    await clock.advance(5_000)
    assert.ok(logger.lines.every(({ message }) => message === 'planning failed; trying again'))
    assert.equal((await event('event-1')).attemptCount, 0)
    isAway = false
    await clock.advance(240)

    assert.equal((await event('event-1')).status, 'published')
    stop.abort()
  })
})
