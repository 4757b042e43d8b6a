import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { START } from '../../../../test/support/manual-clock.ts'
import { changedBatch, planEvents } from '../../../../test/support/planning.ts'
import { PillarboxError } from '../model/errors.ts'
import { type Bench, bodyOf, type Options, openPlanning } from './fixture.ts'
import type { EventPlan, PlanStore, SchedulePlan } from './plan-store.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const templates = [{ channel: 'sms', body: 'Hello {{name}}' }]
const recipients = [{ phone: 'phone', name: 'name' }]
const type = (fields: Record<string, unknown> = {}) => ({ entity: 'booking', recipients, templates, ...fields })
const CATALOGUE = {
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': type(),
    'booking.reminder': type({ timing: { after: 'PT1H' } }),
    'booking.broken': type({ templates: [{ channel: 'sms', body: '{{ x | date: }}{% if %}' }] }),
  },
}

interface Given extends Partial<Omit<Options, 'plant'>> {
  plant?: (base: PlanStore) => Partial<PlanStore>
}

/** A planner whose store does something else in places. */
function setup(t: TestContext, { plant, ...options }: Given = {}): Promise<Bench> {
  return openPlanning(t, {
    catalogue: CATALOGUE,
    accounts: ['sms'],
    ...options,
    ...(plant && { plant: ({ plan }) => ({ plan: { ...plan, ...plant(plan) } }) }),
  })
}

/** A store that refuses whatever comes from one event, as it would a value that does not fit its column. */
function refusing(badId: string): (base: PlanStore) => Partial<PlanStore> {
  const spoilt = <Plan extends EventPlan | SchedulePlan>(plan: Plan): Plan =>
    'notifications' in plan
      ? { ...plan, notifications: plan.notifications.map((row) => ({ ...row, tenantId: null as never })) }
      : plan
  return (base) => ({
    takeEvents: async (limit) =>
      changedBatch(await base.takeEvents(limit), (plan, event) => (event.id === badId ? spoilt(plan) : plan)),
    takeSchedules: async (limit) =>
      changedBatch(await base.takeSchedules(limit), (plan, { event }) => (event.id === badId ? spoilt(plan) : plan)),
  })
}

describe('a round', () => {
  it('turns pending events into notifications, and says how many were decided', async (t) => {
    const { round, publish, event, notifications } = await setup(t)
    for (let i = 0; i < 3; i++) await publish()

    assert.equal(await round(), 3)

    assert.equal((await event('event-1')).status, 'published')
    assert.deepEqual(
      (await notifications()).map((one) => [one.status, bodyOf(one), one.eventId]),
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

    assert.deepEqual([await round(), await round(), await round(), await round()], [2, 2, 1, 0])
  })

  it('loads what it needs to know once for all events of a kind', async (t) => {
    const { round, publish, loads, event } = await setup(t)
    for (let i = 0; i < 4; i++) await publish()
    await publish({ tenantId: 'other', id: 'elsewhere' })

    assert.equal(await round(), 5)

    assert.deepEqual(loads.toSorted(), ['acme booking.confirmed', 'other booking.confirmed'])
    assert.equal((await event('event-1')).attemptCount, 1)
  })

  it('plans rows that take longer to read than contexts are good for', async (t) => {
    const bench: Bench = await setup(t, {
      plant: (base) => ({
        takeEvents: async (limit) => {
          const batch = await base.takeEvents(limit)
          await bench.clock.advance(2_000)
          return batch
        },
      }),
    })
    await bench.publish()

    assert.equal(await bench.round(), 1)
  })

  it('tells the dispatcher which lanes have work', async (t) => {
    const { round, publish, hub, accountId } = await setup(t)
    await publish()

    await round()

    assert.deepEqual(hub.takeLanes(), [accountId('sms')])
  })

  it('tells nobody twice, however often the event is repeated, and says that it did not (P1, P2)', async (t) => {
    const { round, publish, notifications, schedules } = await setup(t)
    const entity = { type: 'booking', id: 'B-1' }
    await publish({ entity })
    await publish({ entity })

    assert.equal(await round(), 2)

    const [told, repeated, ...others] = await notifications()
    assert.deepEqual([told?.status, told?.duplicateOf, others], ['queued', null, []])
    const { status, reason, duplicateOf, content, accountId, eventId } = repeated ?? assert.fail()
    assert.deepEqual([status, reason, duplicateOf, content, accountId], ['skipped', 'duplicate', told?.id, null, null])
    assert.equal(eventId, 'event-2')
    assert.deepEqual(
      (await schedules()).map((schedule) => schedule.status),
      ['completed', 'completed'],
    )
  })

  it('remembers which templates are in use, once', async (t) => {
    const marked: string[][] = []
    const bench = await openPlanning(t, {
      catalogue: CATALOGUE,
      plant: (base) => ({
        templates: {
          ...base.templates,
          markUsed: (ids) => {
            marked.push([...ids])
            return base.templates.markUsed(ids)
          },
        },
      }),
    })
    await bench.publish()
    await bench.plan()
    await bench.publish()
    await bench.plan()

    const [used] = await bench.notifications()
    assert.deepEqual(marked, [[used?.templateId]])
    assert.equal((await bench.store.templates.remove('acme', used?.templateId ?? '', 'test')) === 'removed', false)
  })

  it('goes on when that cannot be remembered, and tries again', async (t) => {
    let isBroken = true
    let marks = 0
    const bench = await openPlanning(t, {
      catalogue: CATALOGUE,
      plant: (base) => ({
        templates: {
          ...base.templates,
          markUsed: async () => {
            if (isBroken) throw new Error('no room')
            marks += 1
          },
        },
      }),
    })
    await bench.publish()
    await bench.plan()
    assert.equal((await bench.notifications()).length, 1)
    isBroken = false

    await bench.publish()
    await bench.plan()

    assert.equal(marks, 1)
    assert.ok(bench.logger.lines.some(({ message }) => message.includes('templates are in use')))
  })
})

describe('an event that is due later', () => {
  it('becomes a schedule, and notifications when its time has come', async (t) => {
    const { round, publish, event, notifications, clock } = await setup(t)
    const id = await publish({ type: 'booking.reminder' })

    assert.equal(await round(), 1)
    assert.equal((await event(id)).status, 'published')
    assert.deepEqual(await notifications(), [])
    await clock.advance(HOUR_MS - 1)
    assert.equal(await round(), 0)
    await clock.advance(1)
    assert.equal(await round(), 1)

    assert.equal((await notifications()).length, 1)
  })

  it('is planned as things stand then: templates, accounts and catalogue are bound late', async (t) => {
    const { round, publish, notifications, clock, store, accountId } = await setup(t)
    await publish({ type: 'booking.reminder' })
    await round()

    await store.accounts.setStatus(accountId('sms'), 'suspended', null, 'test')
    await clock.advance(HOUR_MS)
    await round()

    assert.deepEqual(
      (await notifications()).map(({ reason }) => reason),
      ['no_active_account'],
    )
  })

  it('may name its own time, which wins over the catalogue’s', async (t) => {
    const { round, publish, notifications } = await setup(t)
    await publish({ type: 'booking.reminder', dueAt: START })

    await round()

    assert.equal((await notifications()).length, 1)
  })

  it('whose event type is gone by then fails alone', async (t) => {
    const bench = await setup(t)
    const id = await bench.publish({ type: 'booking.reminder' })
    await bench.publish({ type: 'booking.confirmed', dueAt: START + HOUR_MS })
    await bench.round()
    await bench.import({ ...CATALOGUE, eventTypes: { 'booking.confirmed': type() } })

    await bench.clock.advance(HOUR_MS)
    assert.equal(await bench.round(), 2)

    assert.deepEqual(
      (await bench.notifications()).map(({ eventId }) => eventId === id),
      [false],
    )
  })
})

describe('timing', () => {
  const timed = (timing: Record<string, unknown>, fields: Record<string, unknown> = {}): Given => ({
    catalogue: { ...CATALOGUE, eventTypes: { 'booking.confirmed': type({ timing, ...fields }) } },
    tenant: { timeZone: 'Europe/Berlin' },
  })
  const payload = (fields: Record<string, unknown>) => ({ phone: '+15550100', name: 'Ada', ...fields })

  it('before a date of the payload, in the tenant’s zone', async (t) => {
    const { round, publish, schedule } = await setup(t, timed({ before: 'P1D', field: 'departure', at: '09:00' }))
    await publish({ payload: payload({ departure: '2026-03-30' }) })

    await round()

    const { dueAt, status } = await schedule()
    assert.equal(new Date(dueAt).toISOString(), '2026-03-29T07:00:00.000Z')
    assert.equal(status, 'pending')
  })

  it('whose date is past is born cancelled, and says so', async (t) => {
    const { round, publish, schedule, notifications, event } = await setup(
      t,
      timed({ before: 'PT24H', field: 'departure' }),
    )
    const id = await publish({ payload: payload({ departure: '2025-12-24T10:00:00Z' }) })

    await round()

    const { status, lastError } = await schedule()
    assert.equal(status, 'cancelled')
    assert.match(lastError ?? '', /departure was 2025-12-24/)
    assert.equal((await event(id)).status, 'published')
    assert.deepEqual(await notifications(), [])
  })

  it('whose date is near is sent at once', async (t) => {
    const { round, publish, notifications } = await setup(t, timed({ before: 'PT24H', field: 'departure' }))
    await publish({ payload: payload({ departure: '2026-01-01T10:00:00Z' }) })

    await round()

    assert.equal((await notifications()).length, 1)
  })

  it('whose date cannot be read fails the event, and names the field', async (t) => {
    const { round, publish, event } = await setup(t, timed({ before: 'PT24H', field: 'departure' }))
    await publish({ id: 'soon', payload: payload({ departure: 'soon' }) })
    await publish({ id: 'never', payload: payload({}) })

    assert.equal(await round(), 2)

    for (const id of ['soon', 'never']) {
      const { status, lastError } = await event(id)
      assert.equal(status, 'failed')
      assert.match(lastError ?? '', /departure/)
    }
  })

  it('of an event from a clock that is a little ahead is from now; from a day ahead it is from then', async (t) => {
    const { round, publish, schedules } = await setup(t)
    await publish({ occurredAt: START + MINUTE_MS })
    await publish({ occurredAt: START + DAY_MS })

    await round()

    assert.deepEqual(
      (await schedules()).map(({ status, dueAt }) => [status, dueAt]),
      [
        ['completed', START],
        ['pending', START + DAY_MS],
      ],
    )
  })

  it('sets when a notification expires, counted from when it was due', async (t) => {
    const { round, publish, notifications, clock } = await setup(t, timed({ after: 'PT1H' }, { expiresAfter: 'PT30M' }))
    await publish()
    await round()
    await clock.advance(HOUR_MS + 10 * MINUTE_MS)
    await round()

    assert.deepEqual(
      (await notifications()).map(({ expiresAt }) => expiresAt),
      [START + HOUR_MS + 30 * MINUTE_MS],
    )
  })
})

describe('an expiry', () => {
  it('is counted from when the event happened where it was due before that', async (t) => {
    const { round, publish, notifications } = await setup(t, {
      catalogue: { ...CATALOGUE, eventTypes: { 'booking.confirmed': type({ expiresAfter: 'PT30M' }) } },
    })
    await publish({ dueAt: START - DAY_MS })
    await round()

    assert.deepEqual(
      (await notifications()).map(({ expiresAt }) => expiresAt),
      [START + 30 * MINUTE_MS],
    )
  })

  it('is counted from when the event happened also where its schedule was due before that', async (t) => {
    const { round, publish, notifications, store } = await setup(t, {
      catalogue: { ...CATALOGUE, eventTypes: { 'booking.confirmed': type({ expiresAfter: 'PT30M' }) } },
    })
    await publish()
    const scheduleId = '019b7a00-0000-7000-8000-000000000001'
    const dueAt = START - DAY_MS
    await planEvents(store, 1, () => ({ kind: 'schedule', scheduleId, dueAt, needsApproval: false, cancels: null }))
    await round()

    assert.deepEqual(
      (await notifications()).map(({ expiresAt }) => expiresAt),
      [START + 30 * MINUTE_MS],
    )
  })
})

describe('approval', () => {
  const catalogue = {
    ...CATALOGUE,
    eventTypes: { 'booking.confirmed': type({ approval: true, expiresAfter: 'PT1H' }) },
  }

  it('is waited for; then it is planned at once, and is not late for having waited', async (t) => {
    const { round, publish, schedule, notifications, store, clock } = await setup(t, { catalogue })
    await publish()
    await round()
    const { id, status } = await schedule()
    assert.equal(status, 'awaiting_approval')
    await clock.advance(3 * DAY_MS)
    assert.equal(await round(), 0)

    await store.schedules.act({ tenantId: 'acme', id, action: 'approve', actor: 'console:test' })
    assert.equal(await round(), 1)

    assert.deepEqual(
      (await notifications()).map(({ expiresAt }) => expiresAt),
      [START + 3 * DAY_MS + HOUR_MS],
    )
    assert.equal((await schedule()).status, 'completed')
  })
})

describe('cancelling', () => {
  const catalogue = {
    ...CATALOGUE,
    eventTypes: {
      'booking.reminder': type({ timing: { after: 'PT1H' }, cancelledBy: ['booking.cancelled'] }),
      'booking.confirmed': type({ cancelledBy: ['booking.cancelled'] }),
      'booking.cancelled': { entity: 'booking', delivery: { none: true } },
    },
  }
  const entity = { type: 'booking', id: 'B-1' }

  it('ends what is scheduled and queued for the entity, and for no other', async (t) => {
    const { plan, publish, schedules, notifications, clock } = await setup(t, { catalogue })
    await publish({ type: 'booking.reminder', entity })
    await publish({ type: 'booking.confirmed', entity })
    await publish({ type: 'booking.reminder', entity: { type: 'booking', id: 'B-2' } })
    await plan()
    await clock.advance(1_000)

    await publish({ type: 'booking.cancelled', entity, payload: {} })
    await plan()

    assert.deepEqual(
      (await schedules()).map(({ eventType, entity: { id }, status }) => `${eventType} ${id} ${status}`).toSorted(),
      [
        'booking.cancelled B-1 completed',
        'booking.confirmed B-1 completed',
        'booking.reminder B-1 cancelled',
        'booking.reminder B-2 pending',
      ],
    )
    assert.deepEqual(
      (await notifications()).map(({ status, reason }) => [status, reason]),
      [['cancelled', 'cancelled_by_event']],
    )
  })

  it('also ends what is planned only after it, if that happened before it', async (t) => {
    const { plan, publish, schedules, notifications } = await setup(t, { catalogue })
    await publish({ type: 'booking.cancelled', entity, payload: {}, occurredAt: START })
    await plan()

    await publish({ type: 'booking.confirmed', entity, occurredAt: START - 1 })
    await publish({ type: 'booking.reminder', entity, occurredAt: START - 1 })
    await publish({ type: 'booking.confirmed', entity: { type: 'booking', id: 'B-2' }, occurredAt: START - 1 })
    await plan()

    assert.deepEqual(
      (await schedules()).map(({ status }) => status),
      ['completed', 'cancelled', 'cancelled', 'completed'],
    )
    assert.deepEqual(
      (await notifications()).map(({ entity: of }) => of?.id),
      ['B-2'],
    )
  })

  it('does not end what happened after it', async (t) => {
    const { plan, publish, notifications } = await setup(t, { catalogue })
    await publish({ type: 'booking.cancelled', entity, payload: {}, occurredAt: START })
    await plan()

    await publish({ type: 'booking.confirmed', entity, occurredAt: START })
    await plan()

    assert.equal((await notifications())[0]?.status, 'queued')
  })

  it('is looked for only where a type can be cancelled', async (t) => {
    let asked = 0
    const { plan, publish } = await setup(t, {
      catalogue: { ...CATALOGUE, eventTypes: { ...CATALOGUE.eventTypes, ...catalogue.eventTypes, plain: type() } },
      plant: (base) => ({
        cancelledAt: (requests) => {
          asked += requests.length
          return base.cancelledAt(requests)
        },
      }),
    })
    await publish({ type: 'plain' })
    await plan()
    assert.equal(asked, 0)

    await publish({ type: 'booking.confirmed' })
    await plan()

    assert.equal(asked, 1)
  })

  it('is looked for again when a schedule is due', async (t) => {
    let cancelledAt: number | null = null
    const { plan, publish, schedule, notifications, clock } = await setup(t, {
      catalogue,
      plant: () => ({ cancelledAt: async (requests) => requests.map(() => cancelledAt) }),
    })
    await publish({ type: 'booking.reminder', entity })
    await plan()

    cancelledAt = START + 1
    await clock.advance(HOUR_MS)
    await plan()

    assert.equal((await schedule()).status, 'cancelled')
    assert.deepEqual(await notifications(), [])
  })
})

describe('replacing', () => {
  const catalogue = {
    ...CATALOGUE,
    eventTypes: {
      'trip.reminder': type({ timing: { before: 'PT24H', field: 'departure' }, replaces: true, once: 'per-event' }),
    },
  }

  it('moves a reminder when the trip is moved', async (t) => {
    const { plan, publish, schedules, clock, notifications } = await setup(t, { catalogue })
    const entity = { type: 'booking', id: 'B-1' }
    const trip = (departure: string) => ({ type: 'trip.reminder', entity, payload: { phone: '+15550100', departure } })
    await publish(trip('2026-01-10T10:00:00Z'))
    await plan()
    await publish(trip('2026-01-20T10:00:00Z'))
    await plan()
    await clock.advance(30 * DAY_MS)
    await plan()

    assert.deepEqual(
      (await schedules()).map(({ status, dueAt }) => [status, new Date(dueAt).toISOString().slice(0, 10)]),
      [
        ['cancelled', '2026-01-09'],
        ['completed', '2026-01-19'],
      ],
    )
    assert.deepEqual(
      (await notifications()).map(({ eventId }) => eventId),
      ['event-2'],
    )
  })
})

describe('once per occurrence', () => {
  const reminder = { timing: { before: 'PT24H', field: 'departure' }, once: 'per-occurrence' }
  const entity = { type: 'booking', id: 'B-1' }
  const trip = (departure: string) => ({ type: 'trip.reminder', entity, payload: { phone: '+15550100', departure } })

  it('reminds anew of a trip that moved after its reminder, and not of one that is published again', async (t) => {
    const catalogue = { ...CATALOGUE, eventTypes: { 'trip.reminder': type(reminder) } }
    const { plan, publish, clock, notifications } = await setup(t, { catalogue })
    const tell = async (departure: string) => {
      await publish(trip(departure))
      await plan()
      await clock.advance(10 * DAY_MS)
      await plan()
    }

    await tell('2026-01-10T10:00:00Z')
    await tell('2026-01-20T10:00:00Z')
    await publish(trip('2026-01-20T10:00:00Z'))
    await plan()

    assert.deepEqual(
      (await notifications()).map(({ eventId, idempotencyKey }) => [eventId, idempotencyKey.split(':')[0]]),
      [
        ['event-1', 'B-1@20260109T100000Z'],
        ['event-2', 'B-1@20260119T100000Z'],
      ],
    )
  })
})

describe('an occurrence that is called off and on again', () => {
  const entity = { type: 'booking', id: 'B-1' }
  const setupTrip = async (t: TestContext, once: string) => {
    const reminder = { timing: { before: 'PT24H', field: 'departure' }, once, cancelledBy: ['trip.moved'] }
    const eventTypes = {
      'trip.reminder': type(reminder),
      'trip.moved': { entity: 'booking', delivery: { none: true } },
    }
    const bench = await setup(t, { catalogue: { ...CATALOGUE, eventTypes } })
    const { publish, plan, clock } = bench
    const happens = async (changes: Parameters<typeof publish>[0]): Promise<void> => {
      await clock.advance(1_000)
      await publish({ entity, ...changes })
      await plan()
    }
    return {
      ...bench,
      /** Its reminder is due at once. */
      reminded: () => {
        const departure = new Date(START + DAY_MS).toISOString()
        return happens({ type: 'trip.reminder', payload: { phone: '+15550100', departure } })
      },
      moved: () => happens({ type: 'trip.moved', payload: {} }),
      standing: async () =>
        (await bench.notifications()).map(({ eventId, status, reason }) => [eventId, reason ?? status]),
    }
  }

  it('is told again once per occurrence, as often as that happens, and only once each time', async (t) => {
    const { reminded, moved, standing, notifications } = await setupTrip(t, 'per-occurrence')

    await reminded()
    await moved()
    await reminded()
    await reminded()
    assert.deepEqual(await standing(), [
      ['event-1', 'cancelled_by_event'],
      ['event-3', 'queued'],
      ['event-4', 'duplicate'],
    ])
    await moved()
    await reminded()

    assert.deepEqual((await standing()).slice(1), [
      ['event-3', 'cancelled_by_event'],
      ['event-4', 'duplicate'],
      ['event-6', 'queued'],
    ])
    const keys = (await notifications()).map(({ idempotencyKey }) => idempotencyKey)
    assert.equal(new Set(keys).size, 4)
    assert.match(keys.at(-1) ?? '', /^B-1@/, 'whoever is on has the key')
  })

  it('stays untold where an operator called it off, and once per entity', async (t) => {
    const byHand = await setupTrip(t, 'per-occurrence')
    await byHand.reminded()
    const [first] = await byHand.notifications()
    const act = { tenantId: 'acme', id: first?.id ?? '', action: 'cancel', actor: 'key:ada' } as const
    await byHand.store.notifications.act(act)
    await byHand.reminded()
    assert.deepEqual((await byHand.standing()).at(-1), ['event-2', 'duplicate'])

    const perEntity = await setupTrip(t, 'per-entity')
    await perEntity.reminded()
    await perEntity.moved()
    await perEntity.reminded()
    assert.deepEqual((await perEntity.standing()).at(-1), ['event-3', 'duplicate'])
  })
})

describe('an event type that says nothing to anybody', () => {
  it('completes without notifications', async (t) => {
    const catalogue = { ...CATALOGUE, eventTypes: { quiet: { entity: 'booking', delivery: { none: true } } } }
    const { plan, publish, schedule, notifications } = await setup(t, { catalogue })
    await publish({ type: 'quiet' })

    await plan()

    assert.equal((await schedule()).status, 'completed')
    assert.deepEqual(await notifications(), [])
  })
})

describe('the payload’s schema', () => {
  const payload = { type: 'object', required: ['phone'], properties: { nights: { type: 'integer' } } }
  const catalogue = { ...CATALOGUE, eventTypes: { 'booking.confirmed': type({ payload }) } }

  it('is checked for what a host wrote in its own transaction: it fails alone, and says where', async (t) => {
    const { plan, publish, event, notifications } = await setup(t, { catalogue })
    await publish({ id: 'wrong', payload: { nights: 'two' } })
    await publish({ id: 'right', payload: { phone: '+15550100', nights: 2 } })

    await plan()

    const { status, lastError } = await event('wrong')
    assert.equal(status, 'failed')
    assert.match(lastError ?? '', /\/phone is required/)
    assert.match(lastError ?? '', /\/nights must be integer/)
    assert.equal((await notifications()).length, 1)
  })
})

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`on ${engine}`, () => {
    const both = [...templates, { channel: 'email', subject: 'S', body: 'Mail for {{name}}' }]
    const catalogue = {
      ...CATALOGUE,
      eventTypes: {
        'booking.confirmed': type({
          recipients: [{ phone: 'phone', email: 'email', name: 'name' }],
          templates: both,
          conversation: 'entity',
          cancelledBy: ['booking.cancelled'],
        }),
        'booking.cancelled': { entity: 'booking', delivery: { none: true } },
        'team.told': type({ recipients: [{ list: 'team' }], templates: both }),
      },
    }
    const entity = { type: 'booking', id: 'B-1' }

    it('an event becomes notifications of one contact in one conversation', async (t) => {
      const { plan, publish, notifications } = await setup(t, { engine, catalogue, accounts: ['sms', 'email'] })
      await publish({ entity })
      await publish({ entity, id: 'again' })

      await plan()

      const rows = await notifications()
      assert.deepEqual(rows.map(({ channel, status }) => `${channel} ${status}`).toSorted(), [
        'email queued',
        'email skipped',
        'sms queued',
        'sms skipped',
      ])
      assert.equal(new Set(rows.map(({ contactId }) => contactId)).size, 1)
      assert.equal(new Set(rows.map(({ conversationId }) => conversationId)).size, 1)
      assert.ok(rows[0]?.contactId && rows[0].conversationId)
    })

    it('a list is one email to all of it', async (t) => {
      const { plan, publish, notifications } = await setup(t, { engine, catalogue, accounts: ['sms', 'email'] })
      await publish({ type: 'team.told' })

      await plan()

      assert.deepEqual(
        (await notifications()).map(({ channel, to, status }) => [channel, to, status]),
        [
          ['sms', { list: 'team' }, 'skipped'],
          ['email', { list: 'team' }, 'queued'],
        ],
      )
    })

    it('an event cancels what came before it, planned or not', async (t) => {
      const { plan, publish, schedules, notifications, clock } = await setup(t, { engine, catalogue })
      const now = clock.now()
      await publish({ entity, occurredAt: now - 2_000 })
      await plan()
      await publish({ type: 'booking.cancelled', entity, payload: {}, occurredAt: now - 1_000 })
      await plan()
      await publish({ entity, id: 'late', occurredAt: now - 1_500 })
      await plan()

      assert.deepEqual((await schedules()).map(({ eventId, status }) => `${eventId} ${status}`).toSorted(), [
        'event-1 completed',
        'event-2 completed',
        'late cancelled',
      ])
      assert.deepEqual(
        (await notifications()).map(({ channel, status }) => `${channel} ${status}`),
        ['sms cancelled', 'email skipped'],
      )
    })

    it('a row that cannot be prepared is set back alone', async (t) => {
      const { plan, publish, event, notifications } = await setup(t, {
        engine,
        catalogue,
        resolve: ({ id }) => {
          if (id === 'bad') throw new Error('no connection')
          return undefined
        },
      })
      await publish({ id: 'bad' })
      await publish({ id: 'good' })

      await plan()

      const { status, attemptCount, lastError } = await event('bad')
      assert.deepEqual([status, attemptCount], ['pending', 1])
      assert.match(lastError ?? '', /no connection/)
      assert.deepEqual(
        (await notifications()).map(({ eventId }) => eventId),
        ['good', 'good'],
      )
    })
  })

describe('one bad event stops nobody (P7)', () => {
  it('of an unknown type or tenant: it fails, the others are planned', async (t) => {
    const { round, publish, event, notifications, logger } = await setup(t)
    await publish({ id: 'no-type', type: 'no.such.type', correlationId: 'order-77' })
    await publish({ id: 'no-tenant', tenantId: 'nobody' })
    await publish({ id: 'fine' })

    assert.equal(await round(), 3)

    const [unknown, tenant] = [await event('no-type'), await event('no-tenant', 'nobody')]
    assert.deepEqual([unknown.status, tenant.status], ['failed', 'failed'])
    assert.match(unknown.lastError ?? '', /no\.such\.type/)
    assert.match(tenant.lastError ?? '', /nobody/)
    assert.equal((await notifications()).length, 1)
    const told = logger.lines.map(({ fields }) => [fields['eventId'], fields['correlationId']])
    assert.deepEqual(told, [
      ['no-type', 'order-77'],
      ['no-tenant', 'no-tenant'],
    ])
  })

  it('about something else than its type is about: it fails and says so', async (t) => {
    const { round, publish, event, notifications } = await setup(t)
    await publish({ id: 'astray', entity: { type: 'guest', id: '7' } })
    await publish({ id: 'fine' })

    await round()

    const { status, lastError } = await event('astray')
    assert.equal(status, 'failed')
    assert.match(lastError ?? '', /it is about a guest, but booking\.confirmed is about a booking/)
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
    const { round, publish, event, notifications, logger, hub, accountId } = await setup(t, {
      plant: refusing('poison'),
    })
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
    assert.deepEqual(hub.takeLanes(), [accountId('sms')])
  })

  it('whose preparation fails: the rest of its batch is planned, and it waits alone', async (t) => {
    const { round, publish, event, notifications } = await openPlanning(t, {
      catalogue: CATALOGUE,
      plant: (base) => ({
        people: {
          ...base.people,
          resolve: (requests, newId) => {
            if (requests.some(({ name }) => name === 'Poison')) throw new Error('invalid byte sequence')
            return base.people.resolve(requests, newId)
          },
        },
      }),
    })
    await publish({ id: 'before' })
    await publish({ id: 'poison', payload: { phone: '+15550199', name: 'Poison' } })
    await publish({ id: 'after', payload: { phone: '+15550101', name: 'Eve' } })

    assert.equal(await round(), 3)

    assert.deepEqual(
      (await notifications()).map(({ eventId }) => eventId),
      ['before', 'after'],
    )
    assert.match((await event('poison')).lastError ?? '', /invalid byte sequence/)
  })

  it('is tried again as often and as late as the settings say', async (t) => {
    const { planner, deps, publish, event, clock } = await setup(t, { plant: refusing('poison') })
    const { round } = planner({ settings: { ...deps.settings, retryDelaysMs: [5_000] } })
    await publish({ id: 'poison' })

    await round()
    assert.equal((await event('poison')).nextAttemptAt - clock.now(), 5_000)
    await clock.advance(5_000)
    await round()

    assert.equal((await event('poison')).status, 'failed')
  })

  it('that the store refuses again and again: it is tried six times, ever later, then fails', async (t) => {
    const { round, publish, event, clock } = await setup(t, { plant: refusing('poison') })
    await publish({ id: 'poison' })
    const waits: number[] = []

    for (let i = 0; i < 5; i++) {
      assert.equal(await round(), 1)
      const { nextAttemptAt, status } = await event('poison')
      assert.equal(status, 'pending')
      waits.push((nextAttemptAt - clock.now()) / MINUTE_MS)
      await clock.advance(nextAttemptAt - clock.now())
    }
    assert.equal(await round(), 1)

    assert.deepEqual(waits, [1, 2, 4, 8, 16])
    assert.deepEqual([(await event('poison')).status, (await event('poison')).attemptCount], ['failed', 6])
    await clock.advance(HOUR_MS)
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
    const { round, publish, event } = await openPlanning(t, {
      catalogue: CATALOGUE,
      plant: (base) => ({
        plan: {
          ...base.plan,
          takeEvents: async (limit) => {
            const first = (await base.events.list({ status: 'pending' }, { limit: 100 })).items.at(-1)
            if (isBroken && (limit > 1 || first?.id === 'event-2')) throw new Error('Unexpected token in JSON')
            return base.plan.takeEvents(limit)
          },
          deferEvent: async (ref, ...rest) => {
            deferred.push(ref.id)
            await base.plan.deferEvent(ref, ...rest)
          },
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
    const { round, publish, notifications, clock, store } = await setup(t, { plant: refusing('poison') })
    await publish({ id: 'poison', type: 'booking.reminder' })
    await publish({ id: 'fine', type: 'booking.reminder' })
    await round()
    await clock.advance(HOUR_MS)

    assert.equal(await round(), 2)
    const rows = await notifications()
    assert.deepEqual(
      rows.map(({ eventId }) => eventId),
      ['fine'],
    )
    for (const minutes of [1, 2, 4, 8, 16]) {
      await clock.advance(minutes * MINUTE_MS)
      assert.equal(await round(), 1)
    }
    await clock.advance(HOUR_MS)

    assert.equal(await round(), 0)
    assert.equal((await store.schedules.find('acme', rows[0]?.scheduleId ?? ''))?.status, 'completed')
  })
})

describe('the planner', () => {
  it('plans as soon as it is nudged, and otherwise by polling, until it is told to stop', async (t) => {
    const { planner, publish, notifications, clock, hub } = await setup(t)
    const stop = new AbortController()
    let ended = false
    void planner()
      .run(stop.signal)
      .then(() => {
        ended = true
      })
    await clock.advance(5_000)

    await publish()
    hub.nudge('events')
    await clock.advance(1)
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
    const { planner, publish, event, clock, logger } = await setup(t, {
      plant: (base) => ({
        takeEvents: async (limit) => {
          if (isAway) throw new PillarboxError('store_unavailable', 'connection reset')
          return base.takeEvents(limit)
        },
      }),
    })
    await publish()
    const stop = new AbortController()
    void planner().run(stop.signal)

    await clock.advance(5_000)
    assert.ok(logger.lines.every(({ message }) => message === 'planning failed; trying again'))
    assert.equal((await event('event-1')).attemptCount, 0)
    isAway = false
    await clock.advance(500)

    assert.equal((await event('event-1')).status, 'published')
    stop.abort()
  })
})
