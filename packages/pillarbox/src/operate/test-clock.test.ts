import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { refusalOf } from '../../../../test/support/refusal.ts'
import { sampleNotification } from '../../../../test/support/samples.ts'
import { bodyOf, openPlanning } from '../plan/fixture.ts'
import { moveTestClock, refuseAhead } from './test-clock.ts'

const DAY_MS = 86_400_000
const type = (timing: object) => ({
  entity: 'trip',
  recipients: [{ phone: 'phone', name: 'name' }],
  delivery: { channels: ['sms'] },
  timing,
  templates: [{ channel: 'sms', locale: 'en', body: "{{name}}: {{ 'now' | date: '%Y-%m-%d' }}" }],
})
const catalogue = {
  entities: { trip: 'trips' },
  eventTypes: {
    'trip.reminder': type({ before: 'PT24H', field: 'departure' }),
    'trip.feedback': type({ after: 'P1D' }),
    'trip.booked': type({ after: 'PT0S' }),
  },
}

async function setup(t: TestContext) {
  const bench = await openPlanning(t, { catalogue, accounts: ['sms'] })
  const { store, clock } = bench
  const sandbox = { provider: 'sandbox' }
  await store.accounts.update('acme', bench.accountId('sms'), sandbox)
  const nudged: string[] = []
  const outdated: string[] = []
  const deps = {
    store,
    snapshots: { outdate: (tenantId: string) => void outdated.push(tenantId) },
    nudge: (topic: string) => void nudged.push(topic),
  }
  const move = async (advanceMs: number | null, tenantId = 'acme') => {
    const moved = await moveTestClock(deps, { tenantId, actor: 'key:ada', advanceMs })
    // What was read of the tenant is a second old at most.
    await clock.advance(2_000)
    await bench.plan()
    return moved
  }
  return {
    ...bench,
    nudged,
    outdated,
    move,
    async happens(name: string, days = 3) {
      const departure = new Date(clock.now() + days * DAY_MS).toISOString()
      const payload = { departure, phone: '+4915112345678', name: 'Ada' }
      const id = await bench.publish({ type: name, payload, entity: { type: 'trip', id: `${name}-${bench.ids()}` } })
      await bench.plan()
      return id
    },
    bodies: async () => (await bench.notifications()).map(bodyOf),
    isoDay: (days: number) => new Date(clock.now() + days * DAY_MS).toISOString().slice(0, 10),
  }
}

describe('a test clock', () => {
  it('makes due today what is for another day, and templates take that day for now', async (t) => {
    const { happens, move, bodies, isoDay, schedule, nudged, outdated } = await setup(t)
    await happens('trip.reminder')
    await move(DAY_MS)
    assert.deepEqual(await bodies(), [])
    const moved = await move(DAY_MS + 60_000)

    assert.deepEqual(moved, { aheadMs: 2 * DAY_MS + 60_000, schedules: 1, notifications: 0 })
    assert.deepEqual(await bodies(), [`Ada: ${isoDay(2)}`])
    assert.equal((await schedule()).status, 'completed')
    assert.deepEqual([...new Set(nudged)], ['events', 'dispatch'])
    assert.deepEqual([...new Set(outdated)], ['acme'])
  })

  it('is the one that later events are judged by', async (t) => {
    const { happens, move, bodies, isoDay } = await setup(t)
    await move(10 * DAY_MS)
    await happens('trip.booked')
    assert.deepEqual(await bodies(), [`Ada: ${isoDay(10)}`])
    await happens('trip.feedback')
    // A day before the departure is past, by its clock.
    await happens('trip.reminder', 10.5)
    assert.equal((await bodies()).length, 2)
    await move(DAY_MS)
    assert.equal((await bodies()).length, 3)
  })

  it('goes back, and what still waits waits for its own time again', async (t) => {
    const { happens, move, bodies, schedules, clock, plan } = await setup(t)
    await happens('trip.feedback')
    const [before] = await schedules()
    await move(DAY_MS / 2)
    await move(null)

    const [after] = await schedules()
    assert.deepEqual([after?.status, after?.dueAt], ['pending', before?.dueAt])
    await clock.advance(DAY_MS)
    await plan()
    assert.equal((await bodies()).length, 1)
  })

  it('moves notifications that are due later, and when they expire', async (t) => {
    const { store, clock, accountId, ids, move } = await setup(t)
    const [dueAt, expiresAt] = [clock.now() + DAY_MS, clock.now() + 2 * DAY_MS]
    const waiting = {
      id: ids(),
      tenantId: 'acme',
      channel: 'sms',
      accountId: accountId('sms'),
      dueAt,
      expiresAt,
    } as const
    await store.notifications.insert([sampleNotification(waiting)])
    const workerId = ids()
    await store.workers.register({ id: workerId, host: 'host', pid: 1, version: '0', channels: null })
    const claimed = async (): Promise<number> => {
      const answer = await store.dispatch.claim(workerId, [{ accountId: accountId('sms'), limit: 9 }])
      return answer.fenced ? -1 : answer.claims.length
    }
    await move(DAY_MS / 2)
    await move(null)
    const back = await store.notifications.find('acme', waiting.id)
    assert.deepEqual([back?.dueAt, back?.expiresAt, back?.nextAttemptAt], [dueAt, expiresAt, dueAt])
    assert.equal(await claimed(), 0)
    const moved = await move(DAY_MS)

    assert.equal(moved.notifications, 1)
    const view = await store.notifications.find('acme', waiting.id)
    assert.deepEqual([view?.dueAt, view?.expiresAt], [dueAt - DAY_MS, expiresAt - DAY_MS])
    assert.equal(await claimed(), 1)
  })

  it('is each tenant’s own', async (t) => {
    const { happens, move, store, accountId, schedules } = await setup(t)
    await happens('trip.feedback')
    await store.accounts.update('other', accountId('sms', 'other'), { provider: 'sandbox' })
    await move(2 * DAY_MS, 'other')

    assert.equal((await schedules())[0]?.status, 'pending')
  })

  it('is refused to whoever reaches real people, but goes back all the same', async (t) => {
    const { store, accountId, move } = await setup(t)
    await move(DAY_MS)
    await store.accounts.update('acme', accountId('sms'), { provider: 'vendor' })

    assert.match(await refusalOf(move(DAY_MS)), /^in_use: The account "main" \(sms, vendor\) reaches real people/)
    assert.equal((await move(null)).aheadMs, 0)
    await store.accounts.setStatus(accountId('sms'), 'suspended', null, 'key:ada')
    assert.equal((await move(DAY_MS)).aheadMs, DAY_MS)
    const account = { provider: 'vendor' }
    assert.match(
      await refusalOf(refuseAhead({ store }, 'acme', account)),
      /^in_use: The tenant’s test clock is P1D ahead/,
    )
    await refuseAhead({ store }, 'acme', { provider: 'sandbox' })
    await refuseAhead({ store }, 'other', account)
  })

  it('has an end', async (t) => {
    const { move } = await setup(t)
    for (let year = 0; year < 10; year++) await move(366 * DAY_MS)

    assert.match(
      await refusalOf(move(366 * DAY_MS)),
      /^invalid_body: \/advance would put the clock more than ten years/,
    )
    assert.match(await refusalOf(move(1, 'nobody')), /^not_found/)
  })

  it('stays when other settings change, and is on record', async (t) => {
    const { move, store } = await setup(t)
    await store.tenants.update('acme', { settings: { region: 'DE' } })
    await move(DAY_MS)
    assert.deepEqual((await store.tenants.find('acme'))?.settings, { region: 'DE', testClockMs: DAY_MS })
    await move(null)
    assert.deepEqual((await store.tenants.find('acme'))?.settings, { region: 'DE' })
  })
})
