import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PillarboxError } from '../model/errors.ts'
import type { Progress } from '../model/schedule.ts'
import type { Store } from '../store/store.ts'
import { type Bench, openPlanning } from './fixture.ts'
import type { PlanStore } from './plan-store.ts'

/** A hundred thousand in the long run (`PILLARBOX_CHAOS=full`); fewer parts show the same. */
const MANY = process.env['PILLARBOX_CHAOS'] === 'full' ? 100_000 : 20_000
const ENGINES = ['sqlite', 'postgres'] as const

const sms = { channel: 'sms', body: 'Hello {{recipient.name}}' }
const catalogueOf = (fields: Record<string, unknown>) => ({
  entities: { broadcast: 'broadcasts' },
  eventTypes: { 'broadcast.sent': { entity: 'broadcast', templates: [sms], ...fields } },
})
const event = { type: 'broadcast.sent', entity: { type: 'broadcast', id: 'X-1' } }
const phoneOf = (i: number): string => `+1555${1_000_000 + i}`

describe('a send to very many', { timeout: 600_000 }, () => {
  for (const engine of ENGINES) {
    it(`in one payload, on ${engine}: in parts, through crashes, each of them once`, async (t) => {
      const bench = await openPlanning(t, {
        engine,
        catalogue: catalogueOf({ recipients: [{ phone: 'people[].phone', name: 'people[].name' }] }),
        accounts: ['sms'],
      })
      const people = Array.from({ length: MANY }, (_, i) => ({ phone: phoneOf(i), name: `P${i}` }))
      await bench.publish({ ...event, payload: { people } })

      await planThroughCrashes(bench)

      await everybodyOnce(bench)
    })

    it(`on one recipient list, on ${engine}: in parts, through crashes, each of them once`, async (t) => {
      const bench = await openPlanning(t, {
        engine,
        catalogue: catalogueOf({ recipients: [{ list: 'everybody', expand: true }] }),
        accounts: ['sms'],
      })
      await listOf(bench, 'everybody', MANY)
      await bench.publish({ ...event, payload: {} })

      await planThroughCrashes(bench)

      await everybodyOnce(bench)
    })
  }
})

describe('parts', () => {
  const fromPayload = catalogueOf({ recipients: [{ phone: 'people[].phone' }] })
  const payloadOf = (count: number, from = 0) => ({
    people: Array.from({ length: count }, (_, i) => ({ phone: phoneOf(from + i) })),
  })

  it('are of a thousand: a thousand are planned at once, one more is a schedule with progress', async (t) => {
    const bench = await openPlanning(t, { catalogue: fromPayload })
    await bench.publish({ ...event, payload: payloadOf(1_000) })
    await bench.round()
    assert.equal((await bench.schedule()).status, 'completed')
    assert.equal((await bench.schedule()).progress, null)

    await bench.publish({ ...event, entity: { type: 'broadcast', id: 'X-2' }, payload: payloadOf(1_001) })
    await bench.round()

    const [, second] = await bench.schedules()
    assert.deepEqual([second?.status, second?.progress?.planned, second?.progress?.total], ['pending', 1_000, 1_001])
    await bench.plan()
    assert.equal((await bench.store.notifications.countByStatus('acme')).queued, 2_001)
  })

  it('are smaller where each recipient is told on several channels', async (t) => {
    const email = { channel: 'email', subject: 'S', body: 'Hello' }
    const push = { channel: 'push', body: 'Hello' }
    const catalogue = catalogueOf({ recipients: [{ phone: 'people[].phone' }], templates: [sms, email, push] })
    const bench = await openPlanning(t, { catalogue })
    await bench.publish({ ...event, payload: payloadOf(1_000) })

    await bench.round()

    assert.equal((await bench.schedule()).progress?.planned, 666)
  })

  it('leave room for others, and take turns', async (t) => {
    const bench = await openPlanning(t, { catalogue: fromPayload })
    for (const id of ['big-1', 'big-2'])
      await bench.publish({ ...event, id, entity: { type: 'broadcast', id }, payload: payloadOf(20_000) })
    await bench.round()
    const small = { type: 'broadcast', id: 'small' }
    await bench.publish({ ...event, id: 'small', entity: small, payload: payloadOf(2), dueAt: bench.clock.now() + 1 })

    for (let i = 0; i < 3; i++) {
      await bench.clock.advance(1)
      await bench.round()
    }

    const { items } = await bench.store.notifications.list({ eventId: 'small' }, { limit: 10 })
    assert.equal(items.length, 2)
    const progress = (await bench.schedules()).map((schedule) => schedule.progress?.planned ?? 0)
    assert.ok(progress.filter((planned) => planned >= 2_000).length === 2, String(progress))
  })

  it('make a batch of no more than two thousand notifications, however many events there are', async (t) => {
    const inserted: number[] = []
    const bench = await openPlanning(t, {
      catalogue: fromPayload,
      plant: (base) => ({
        plan: {
          ...base.plan,
          takeEvents: async (limit) => {
            const batch = await base.plan.takeEvents(limit)
            if (batch.rows.length === 0) inserted.push(0)
            return {
              ...batch,
              write: async (plans) => {
                const written = await batch.write(plans)
                inserted.push(written.inserted)
                return written
              },
            }
          },
        },
      }),
    })
    for (let i = 0; i < 8; i++)
      await bench.publish({ ...event, entity: { type: 'broadcast', id: `X-${i}` }, payload: payloadOf(600) })

    await bench.plan()

    assert.deepEqual(inserted, [1_800, 1_800, 1_200, 0])
  })

  it('say of each element without an address that it has none, in whichever part it stands', async (t) => {
    const bench = await openPlanning(t, { catalogue: fromPayload })
    await bench.publish({ ...event, payload: { people: Array.from({ length: 2_500 }, () => ({ name: 'Nobody' })) } })

    await bench.plan()

    assert.equal((await bench.store.notifications.countByStatus('acme')).skipped, 2_500)
    const errors = new Set((await bench.notifications()).map(({ reason, lastError }) => `${reason}: ${lastError}`))
    assert.equal(errors.size, 200)
    assert.ok(errors.has('no_address: people[2499] has no address for sms'))
    const { status, lastError, progress } = await bench.schedule()
    assert.deepEqual([status, progress?.planned], ['failed', 2_500])
    assert.match(lastError ?? '', /^No recipient: /)
  })

  it('complete their schedule where one of them was told, in whichever part that was', async (t) => {
    const bench = await openPlanning(t, { catalogue: fromPayload })
    const nobody = Array.from({ length: 1_500 }, () => ({ name: 'Nobody' }))
    await bench.publish({ ...event, payload: { people: [{ phone: '+15550100' }, ...nobody] } })

    await bench.plan()

    assert.deepEqual([(await bench.schedule()).status, (await bench.schedule()).lastError], ['completed', null])
  })

  it('that are empty make nothing, and the schedule says so', async (t) => {
    const bench = await openPlanning(t, { catalogue: fromPayload })
    await bench.publish({ ...event, payload: { people: [] } })

    await bench.plan()

    assert.deepEqual(await bench.notifications(), [])
    const { status, lastError } = await bench.schedule()
    assert.deepEqual([status, lastError], ['failed', 'No recipient: the event names nobody'])
  })

  it('name the same person once, in whichever parts they stand', async (t) => {
    const bench = await openPlanning(t, { catalogue: fromPayload })
    const { people } = payloadOf(1_500)
    await bench.publish({ ...event, payload: { people: [...people, ...people] } })

    await bench.plan()

    assert.equal((await bench.store.notifications.countByStatus('acme')).queued, 1_500)
  })

  it('begin anew where the progress cannot be read, and repeat nobody', async (t) => {
    const bench = await openPlanning(t, { catalogue: fromPayload })
    await bench.publish({ ...event, payload: payloadOf(1_500) })
    await bench.round()
    let isSpoilt = false
    const planner = bench.planner({
      store: withPlan(bench.store, {
        takeSchedules: async (limit) => {
          const batch = await bench.store.plan.takeSchedules(limit)
          const spoilt = batch.rows.map((due) => {
            const { progress } = due.schedule
            if (isSpoilt || !progress) return due
            isSpoilt = true
            return { ...due, schedule: { ...due.schedule, progress: { ...progress, cursor: 'not ours' } } }
          })
          return { ...batch, rows: spoilt }
        },
      }),
    })

    while ((await planner.round()) > 0);

    assert.equal((await bench.store.notifications.countByStatus('acme')).queued, 1_500)
    assert.equal((await bench.schedule()).status, 'completed')
  })
})

describe('an expanded list', () => {
  it('stands beside other recipients, in their order', async (t) => {
    const recipients = [{ phone: 'first' }, { list: 'a', expand: true }, { phone: 'last' }, { list: 'b', expand: true }]
    const bench = await openPlanning(t, { catalogue: catalogueOf({ recipients }) })
    await listOf(bench, 'a', 1_500)
    await listOf(bench, 'b', 3)
    await bench.publish({ ...event, payload: { first: '+15559990001', last: '+15559990002' } })

    await bench.plan()

    assert.equal((await bench.store.notifications.countByStatus('acme')).queued, 1_502)
    const { progress, status } = await bench.schedule()
    assert.deepEqual([status, progress?.planned, progress?.total], ['completed', 1_505, 1_505])
  })

  it('that is small is planned in one go', async (t) => {
    const bench = await openPlanning(t, { catalogue: catalogueOf({ recipients: [{ list: 'a', expand: true }] }) })
    await listOf(bench, 'a', 2)
    await bench.publish({ ...event, payload: {} })

    await bench.round()

    const { status, progress } = await bench.schedule()
    assert.deepEqual([status, progress], ['completed', null])
    assert.deepEqual(
      (await bench.notifications()).map(({ idempotencyKey, templateId }) => idempotencyKey.split(`${templateId}:`)[1]),
      [phoneOf(0), phoneOf(1)],
    )
  })

  it('that is missing or empty is parked, and says which', async (t) => {
    const recipients = [
      { list: 'none', expand: true },
      { list: 'empty', expand: true },
    ]
    const bench = await openPlanning(t, { catalogue: catalogueOf({ recipients }) })
    await listOf(bench, 'empty', 0)
    await bench.publish({ ...event, payload: {} })

    await bench.plan()

    assert.deepEqual((await bench.notifications()).map(({ reason, to }) => `${reason} ${to.list}`).toSorted(), [
      'list_empty empty',
      'list_not_found none',
    ])
  })
})

async function listOf(bench: Bench, name: string, count: number): Promise<string> {
  const id = bench.ids()
  await bench.store.lists.insert({ id, tenantId: 'acme', name, members: [] }, 'test')
  for (let from = 0; from < count; from += 5_000) {
    const members = Array.from({ length: Math.min(5_000, count - from) }, (_, i) => {
      return { name: `P${from + i}`, email: null, phone: phoneOf(from + i) }
    })
    await bench.store.lists.addMembers('acme', id, members, 'test')
  }
  return id
}

/** Every few parts the process dies: half of the times with its last part written, half without. */
async function planThroughCrashes(bench: Bench): Promise<void> {
  let parts = 0
  const seen: Progress[] = []
  for (let isDone = false; !isDone; ) {
    const crashAt = parts + 7
    const planner = bench.planner({
      store: withPlan(bench.store, {
        takeSchedules: async (limit) => {
          parts += 1
          const batch = await bench.store.plan.takeSchedules(limit)
          if (parts !== crashAt) return batch
          const write: typeof batch.write = async (plans) => {
            if (parts % 2) await batch.write(plans)
            throw new PillarboxError('store_unavailable', 'killed')
          }
          return { ...batch, write }
        },
      }),
    })
    try {
      while ((await planner.round()) > 0) {
        const { progress } = await bench.schedule()
        if (progress) seen.push(progress)
      }
      isDone = true
    } catch (error) {
      assert.ok(error instanceof PillarboxError)
    }
  }
  assert.ok(seen.every(({ total }) => total === MANY))
  const planned = seen.map((progress) => progress.planned)
  assert.deepEqual(
    planned,
    planned.toSorted((a, b) => a - b),
  )
  assert.ok(new Set(planned).size >= MANY / 2_000, 'progress can be watched')
}

async function everybodyOnce(bench: Bench): Promise<void> {
  const { status, progress, attemptCount } = await bench.schedule()
  assert.equal(status, 'completed')
  assert.deepEqual([progress?.planned, progress?.total], [MANY, MANY])
  assert.ok(attemptCount <= 1)
  const counts = await bench.store.notifications.countByStatus('acme')
  assert.equal(counts.queued, MANY)
  const phones = new Set<string>()
  let cursor: string | null = null
  do {
    const page = await bench.store.notifications.list({ tenantId: 'acme' }, { limit: 5_000, ...(cursor && { cursor }) })
    for (const { to } of page.items) phones.add(to.phone ?? '')
    cursor = page.nextCursor
  } while (cursor !== null)
  assert.equal(phones.size, MANY)
}

function withPlan(store: Store, changes: Partial<PlanStore>): Store {
  return { ...store, plan: { ...store.plan, ...changes } }
}
