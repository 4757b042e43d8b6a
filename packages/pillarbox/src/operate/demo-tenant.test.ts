import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { wholeNotifications } from '../../../../test/support/notifications.ts'
import { sampleEvent, silent } from '../../../../test/support/samples.ts'
import { createSuppressionBook } from '../dispatch/suppressions.ts'
import { CHANNELS } from '../model/channel.ts'
import { noMeters, noTracing } from '../model/ports.ts'
import { createContextBook } from '../plan/context-book.ts'
import { bodyOf } from '../plan/fixture.ts'
import { createPlanner } from '../plan/planner.ts'
import { createSkipReport } from '../plan/skip-report.ts'
import { createHub } from '../runtime/hub.ts'
import { createIdSource } from '../runtime/ids.ts'
import { createPayloadSeal } from '../security/payload-seal.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { createTenantSnapshots } from '../tenant/snapshots.ts'
import { createUntrustedInProcess } from '../untrusted/untrusted.ts'
import { ensureDemo } from './demo-tenant.ts'

const untrusted = createUntrustedInProcess()

async function setup(t: TestContext) {
  const clock = createManualClock()
  const random = () => 0.5
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  const ids = createIdSource(clock, random)
  const planner = createPlanner({
    store,
    contexts: createContextBook(store, createTenantSnapshots(store, clock, 1_000)),
    suppressions: createSuppressionBook({
      suppressions: store.suppressions,
      clock,
      ids,
      logger: silent,
      maxAgeMs: 1_000,
    }),
    untrusted,
    guard: null,
    skips: createSkipReport({ logger: silent, meters: noMeters }),
    sealing: createPayloadSeal(Buffer.alloc(32, 7)),
    resolve: null,
    hub: createHub(clock, store.wake),
    clock,
    random,
    ids,
    logger: silent,
    meters: noMeters,
    tracing: noTracing,
    settings: { batchRows: 10, pollMaxMs: 200 },
  })
  const plan = async (type: string) => {
    const payload = { bookingId: 'B-42', guestName: 'Ada', guestPhone: '+12025550100', guestEmail: 'ada@example.test' }
    await store.events.insert([sampleEvent({ tenantId: 'demo', type, payload })])
    await planner.round()
    return wholeNotifications(store, { tenantId: 'demo' })
  }
  return { store, ids, plan }
}

it('makes a tenant with a sandbox account on every channel', async (t) => {
  const { store, ids } = await setup(t)

  assert.equal(await ensureDemo({ store, ids, untrusted }), 'demo')

  const accounts = await store.accounts.list('demo')
  assert.deepEqual(accounts.map(({ channel }) => channel).toSorted(), CHANNELS.toSorted())
  assert.ok(accounts.every(({ provider, status }) => provider === 'sandbox' && status === 'active'))
})

it('is made once, however often it is asked for', async (t) => {
  const { store, ids } = await setup(t)

  await ensureDemo({ store, ids, untrusted })
  assert.equal(await ensureDemo({ store, ids, untrusted }), 'demo')

  assert.equal((await store.accounts.list('demo')).length, CHANNELS.length)
  assert.equal((await store.keys.list('demo')).length, 1)
})

it('is made once when two processes start at the same time', async (t) => {
  const { store, ids } = await setup(t)

  const made = await Promise.all([ensureDemo({ store, ids, untrusted }), ensureDemo({ store, ids, untrusted })])

  assert.deepEqual(made, ['demo', 'demo'])
  assert.equal((await store.accounts.list('demo')).length, CHANNELS.length)
})

it('tells a guest of a confirmed booking on every channel there are words for', async (t) => {
  const { store, ids, plan } = await setup(t)
  await ensureDemo({ store, ids, untrusted })

  const planned = await plan('booking.confirmed')

  assert.deepEqual(planned.map(({ channel }) => channel).toSorted(), ['email', 'sms', 'whatsapp'])
  assert.ok(planned.every(({ status }) => status === 'queued'))
  assert.ok(planned.every((notification) => bodyOf(notification).includes('B-42')))
})

it('tells a guest of a cancelled booking on one channel, with others to fall back to', async (t) => {
  const { store, ids, plan } = await setup(t)
  await ensureDemo({ store, ids, untrusted })

  const planned = await plan('booking.cancelled')

  assert.deepEqual(
    planned.map(({ channel, fallback }) => [channel, fallback]),
    [['whatsapp', ['sms', 'email']]],
  )
})
