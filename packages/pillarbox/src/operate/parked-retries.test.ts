import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { completion } from '../../../../test/conformance/fixtures.ts'
import { recordingMeters } from '../../../../test/support/samples.ts'
import type { Completion } from '../dispatch/dispatch-store.ts'
import { openPlanning } from '../plan/fixture.ts'
import { replan } from '../plan/replan.ts'
import { createRewrite } from '../plan/rewrite.ts'
import { createTenantSnapshots } from '../tenant/snapshots.ts'
import { actOnNotification } from './act.ts'
import { PASSING_REASONS, runParkedRetries } from './parked-retries.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const CATALOGUE = {
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      recipients: [{ email: 'email', name: 'name' }],
      delivery: { channels: ['email'] },
      templates: [{ channel: 'email', locale: 'en', subject: 'Hello', body: 'text {{name}}' }],
    },
  },
}

/** A tenant whose account retries after an hour, or after nothing; any number of workers do so. */
async function setup(t: TestContext, options: { afterMs?: number | null; workers?: number } = {}) {
  const { afterMs = HOUR_MS, workers = 1 } = options
  const bench = await openPlanning(t, { catalogue: CATALOGUE })
  const { store, clock, ids, logger } = bench
  const accountId = bench.accountId('email')
  await store.accounts.update('acme', accountId, { parkedRetryAfterMs: afterMs })
  const meters = recordingMeters()
  const deps = {
    store,
    snapshots: createTenantSnapshots(store, clock, 0),
    replan: (found: Parameters<typeof replan>[1]) => replan(bench.chain, found),
    rewrite: createRewrite(bench.chain),
    skips: bench.chain.skips,
    nudge: () => {},
    clock,
    random: () => 0.5,
    ids,
    logger,
    meters,
    everyMs: 30_000,
  }
  const stop = new AbortController()
  t.after(() => stop.abort())
  for (let i = 0; i < workers; i++) void runParkedRetries(deps, stop.signal)
  const workerId = ids()
  await store.workers.register({ id: workerId, host: 'host', pid: 1, version: '0', channels: null })
  const status = async (id: string): Promise<string | undefined> => (await store.notifications.find('acme', id))?.status
  return {
    ...bench,
    meters,
    status,
    act: (id: string, action: 'park' | 'retry') =>
      actOnNotification(deps, { tenantId: 'acme', id, action, actor: 'key:desk' }),
    async make(): Promise<string> {
      const eventId = await bench.publish()
      await bench.plan()
      const made = (await bench.notifications()).find((each) => each.eventId === eventId)
      return made?.id ?? assert.fail()
    },
    /** What is due is tried, and given up. */
    async giveUp(reason: Completion['reason'] = 'attempts_exhausted'): Promise<void> {
      const answer = await store.dispatch.claim(workerId, [{ accountId, limit: 100 }])
      assert.ok(!answer.fenced && answer.claims.length > 0)
      const results = answer.claims.map((claim) => completion(claim, 'parked', { outcome: 'transient', reason }))
      await store.dispatch.complete(workerId, results)
    },
    audits: async (id: string) =>
      (await store.audit.list({ tenantId: 'acme', notificationId: id }, { limit: 50 })).items
        .filter(({ action }) => action === 'retry')
        .map(({ actor, note }) => ({ actor, note })),
  }
}

describe('what was parked', () => {
  it('is retried once after the account’s time, on record as done by nobody', async (t) => {
    const { clock, make, giveUp, status, audits, act, meters, logger } = await setup(t, { workers: 2 })
    const id = await make()
    await giveUp()

    await clock.advance(HOUR_MS - MINUTE_MS)
    assert.equal(await status(id), 'parked')
    await clock.advance(3 * MINUTE_MS)
    assert.equal(await status(id), 'queued')
    assert.deepEqual(await audits(id), [{ actor: 'system', note: 'parkedRetryAfter PT1H' }])
    assert.deepEqual(meters.counts, { parked_retried: 1 })
    assert.equal(logger.lines.filter(({ message }) => message.includes('after their time')).length, 1)

    await giveUp()
    await clock.advance(5 * HOUR_MS)
    assert.equal(await status(id), 'parked', 'it stays for somebody to look at')
    await act(id, 'retry')
    await giveUp()
    await clock.advance(2 * HOUR_MS)
    assert.equal(await status(id), 'queued', 'after somebody retried it, once more')
  })

  it('stays where the account says nothing', async (t) => {
    const { clock, make, giveUp, status } = await setup(t, { afterMs: null })
    const id = await make()
    await giveUp()

    await clock.advance(20 * HOUR_MS)

    assert.equal(await status(id), 'parked')
  })

  for (const reason of [
    'invalid_recipient',
    'template_rejected',
    'bounced',
    'complained',
    'permanent_refusal',
  ] as const)
    it(`stays where a retry would make no sense: ${reason}`, async (t) => {
      const { clock, make, giveUp, status } = await setup(t)
      const id = await make()
      await giveUp(reason)

      await clock.advance(3 * HOUR_MS)

      assert.equal(await status(id), 'parked')
    })

  it('stays where somebody parked it by hand', async (t) => {
    const { clock, make, act, status } = await setup(t)
    const id = await make()
    await act(id, 'park')

    await clock.advance(3 * HOUR_MS)

    assert.equal(await status(id), 'parked')
    assert.ok(!(PASSING_REASONS as readonly string[]).includes('parked_by_operator'))
  })

  it('stays where it was parked a day before its time began to count', async (t) => {
    const { clock, make, giveUp, status, store, accountId } = await setup(t, { afterMs: null })
    const id = await make()
    await giveUp()
    await clock.advance(26 * HOUR_MS)

    await store.accounts.update('acme', accountId('email'), { parkedRetryAfterMs: HOUR_MS })
    await clock.advance(3 * HOUR_MS)

    assert.equal(await status(id), 'parked')
  })

  it('stays, said once, where its address was suppressed, and holds no other up', async (t) => {
    const { clock, make, giveUp, status, suppress, logger } = await setup(t)
    const first = await make()
    await giveUp()
    await suppress('ada@example.test')

    await clock.advance(3 * HOUR_MS)

    assert.equal(await status(first), 'parked')
    const refused = logger.lines.filter(({ message }) => message.includes('could not be retried after its time'))
    assert.equal(refused.length, 1)
  })
})
