import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { cancelSchedules, SCHEDULE_RECORD } from '../../../../../test/conformance/cancel.ts'
import { createBench } from '../../../../../test/conformance/fixtures.ts'
import { createManualClock } from '../../../../../test/support/manual-clock.ts'
import { planEvents, planSchedules } from '../../../../../test/support/planning.ts'
import { sampleEvent, sampleNotification, silent, storedAccount } from '../../../../../test/support/samples.ts'
import type { NewNotification } from '../../model/notification.ts'
import type { EventPlan, SchedulePlan } from '../../plan/plan-store.ts'
import type { Store } from '../store.ts'
import { localText, openConnection } from './connection.ts'
import { openSqlite } from './open.ts'
import { TAKE_TEXTS } from './take.ts'

const ACCOUNT = '019b7a00-0000-7000-8000-000000000001'
const SCHEDULE = '019b7a00-0000-7000-8000-000000000002'
const NOTIFICATION = '019b7a00-0000-7000-8000-000000000003'

async function setup(t: TestContext, path = ':memory:') {
  const clock = createManualClock()
  const store = await openSqlite({ path, clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  await store.tenants.insert({ id: 'acme', name: 'acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  await store.accounts.insert(storedAccount({ id: ACCOUNT }))
  await store.events.insert([sampleEvent()])
  return { clock, store }
}

/** The same, and the store of another process on the same file. */
async function setupTwo(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'store.db')
  const { clock, store } = await setup(t, path)
  const other = await openSqlite({ path, clock, logger: silent })
  t.after(() => other.close())
  return { store, other }
}

const notification = (changes: Partial<NewNotification> = {}): NewNotification =>
  sampleNotification({ id: NOTIFICATION, accountId: ACCOUNT, ...changes })

const dueNow = (): EventPlan => {
  return { kind: 'notifications', scheduleId: SCHEDULE, notifications: [notification()], cancels: null }
}

/** Puts the event's schedule into the store, due at once. */
async function schedule(store: Store): Promise<void> {
  const dueAt = await store.now()
  await planEvents(store, 1, () => ({
    kind: 'schedule',
    scheduleId: SCHEDULE,
    dueAt,
    needsApproval: false,
    cancels: null,
  }))
}

describe('rows that were taken', () => {
  it('are planned if they are still as they were', async (t) => {
    const { store } = await setup(t)
    const batch = await store.plan.takeEvents(1)

    const written = await batch.write([dueNow()])

    assert.deepEqual(written, { decided: 1, inserted: 1, lanes: [ACCOUNT] })
  })

  it('are left alone if they were set back meanwhile', async (t) => {
    const { store } = await setup(t)
    const batch = await store.plan.takeEvents(1)
    await store.plan.deferEvent({ tenantId: 'acme', id: 'event-1' }, 'not now', 60_000)

    assert.deepEqual(await batch.write([dueNow()]), { decided: 0, inserted: 0, lanes: [] })
  })

  it('are left alone if a second planner was faster', async (t) => {
    const { store, other } = await setupTwo(t)
    const batch = await store.plan.takeEvents(1)
    await planEvents(other, 1, dueNow)

    assert.equal((await batch.write([dueNow()])).decided, 0)
    assert.equal((await store.notifications.countByStatus(null)).queued, 1)
  })

  it('are left alone if their schedule was cancelled meanwhile', async (t) => {
    const { store } = await setup(t)
    await schedule(store)
    const batch = await store.plan.takeSchedules(1)
    await store.schedules.act({ tenantId: 'acme', id: SCHEDULE, action: 'cancel', actor: 'key:ada' })

    const written = await batch.write([{ kind: 'notifications', notifications: [notification()] }])

    assert.deepEqual(written, { decided: 0, inserted: 0, lanes: [] })
    assert.equal((await store.schedules.find('acme', SCHEDULE))?.status, 'cancelled')
  })

  it('are left alone if the same part of their schedule was planned in the same millisecond', async (t) => {
    const { store, other } = await setupTwo(t)
    await schedule(store)
    const part = (cursor: string, rows: NewNotification[]): SchedulePlan => {
      return { kind: 'part', notifications: rows, progress: { cursor, planned: 1, total: 2 } }
    }
    const batch = await store.plan.takeSchedules(1)
    await planSchedules(other, 1, () => part('2', [notification()]))

    assert.equal((await batch.write([part('3', [])])).decided, 0)
    assert.equal((await store.schedules.find('acme', SCHEDULE))?.progress?.cursor, '2')
  })
})

describe('batches that are under way at once', () => {
  it('are written in the order in which they were taken where they are of one tenant', async (t) => {
    const { store } = await setup(t)
    await store.events.insert([{ ...sampleEvent(), id: 'second' }])
    await store.events.insert([{ ...sampleEvent(), id: 'third', tenantId: 'other' }])
    const failure = { kind: 'failed', reason: 'invalid_event', error: 'no' } as const
    const [first, second] = [await store.plan.takeEvents(1), await store.plan.takeEvents(1, { after: 'other' })]
    const third = await store.plan.takeEvents(1, { only: 'other' })
    let isWritten = false

    const writing = second.write([failure]).then((written) => {
      isWritten = true
      return written
    })
    assert.equal((await third.write([failure])).decided, 1)
    assert.equal(isWritten, false)
    await first.write([failure])

    assert.equal((await writing).decided, 1)
  })

  it('are given up after a while: their rows can be taken again, and nobody waits for them', async (t) => {
    const { store, clock } = await setup(t)
    await store.events.insert([{ ...sampleEvent(), id: 'second' }])
    assert.equal((await store.plan.takeEvents(1)).rows.length, 1)

    await clock.advance(15_000)
    const again = await store.plan.takeEvents(2)

    assert.equal(again.rows.length, 2)
    const failure = { kind: 'failed', reason: 'invalid_event', error: 'no' } as const
    assert.equal((await again.write([failure, failure])).decided, 2)
  })
})

describe('the record of schedules', () => {
  it('has each that was cancelled, why, and what it was before', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
    const path = join(folder, 'store.db')
    const clock = createManualClock()
    const store = await openSqlite({ path, clock, logger: silent })
    t.after(async () => {
      await store.close()
      await rm(folder, { recursive: true })
    })
    await store.migrate()

    const expected = await cancelSchedules(
      await createBench({ store, advance: async () => {}, close: () => store.close() }),
    )

    const reader = openConnection({ path, readOnly: true, now: clock.now })
    t.after(() => reader.close())
    assert.deepEqual(
      reader.all(SCHEDULE_RECORD, []).map((row) => ({ ...row })),
      expected,
    )
  })
})

describe('taking what is due', () => {
  it('goes through no table, whatever SQLite counted in them before', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
    t.after(() => rm(folder, { recursive: true }))
    const path = join(folder, 'store.db')
    const { store, clock } = await setup(t, path)
    const events = Array.from({ length: 2_000 }, (_, i) => sampleEvent({ id: `counted-${i}` }))
    await store.events.insert(events)
    const connection = openConnection({ path, readOnly: false, now: clock.now })
    t.after(() => connection.close())
    // As it is counted while there are events and no schedules yet.
    connection.db.exec('pragma optimize')

    const plans = Object.values(TAKE_TEXTS).flatMap((texts) =>
      Object.values(texts).map((text) =>
        connection.db
          .prepare(`explain query plan ${localText(text)}`)
          .all()
          .map(({ detail }) => String(detail)),
      ),
    )

    assert.ok(plans.every((steps) => steps.length > 0))
    assert.deepEqual(
      plans.flat().filter((step) => step.startsWith('SCAN') && !step.startsWith('SCAN json_each')),
      [],
    )
  })
})
