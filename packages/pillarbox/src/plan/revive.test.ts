import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { storedAccount } from '../../../../test/support/samples.ts'
import type { Channel } from '../model/channel.ts'
import type { NewEvent } from '../model/event.ts'
import { isSealedContent } from '../security/payload-seal.ts'
import { createTenantSnapshots } from '../tenant/snapshots.ts'
import { createContextBook } from './context-book.ts'
import { type Bench, bodyOf, type Options, openPlanning } from './fixture.ts'
import { replan } from './replan.ts'

const sms = { channel: 'sms', locale: 'en', body: 'text {{name}}' }
const email = { channel: 'email', locale: 'en', subject: 'S', body: 'mail {{name}}' }
const catalogueOf = (fields: Record<string, unknown> = {}) => ({
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      recipients: [{ phone: 'phone', email: 'email', name: 'name' }],
      templates: [sms, email],
      ...fields,
    },
  },
})

/** An event that could tell nobody anything. */
async function setup(t: TestContext, options: Partial<Options> = {}, event: Partial<NewEvent> = {}) {
  const bench = await openPlanning(t, { catalogue: catalogueOf(), accounts: [], ...options })
  await bench.publish(event)
  await bench.plan()
  assert.equal((await bench.schedule()).status, 'failed')
  return bench
}

/** One that could tell nobody for want of accounts, and by now has one for the first of its notifications. */
async function setupMended(t: TestContext) {
  const bench = await setup(t)
  await addAccount(bench, 'sms')
  await bench.clock.advance(1_000)
  const [text = assert.fail()] = await bench.notifications()
  const answer = await replan(bench.chain, text)
  assert.ok('replacement' in answer)
  const { tenantId, id } = text
  const retry = () =>
    bench.store.notifications.act({ tenantId, id, action: 'retry', actor: 'key:ada', replacement: answer.replacement })
  return { bench, retry }
}

async function replay(bench: Bench): Promise<void> {
  const { tenantId, id } = await bench.schedule()
  const answer = await bench.store.schedules.act({ tenantId, id, action: 'replay', actor: 'key:ada' })
  assert.ok(answer?.moved)
  await replanned(bench)
}

async function replanned(bench: Bench): Promise<void> {
  // One that has read nothing yet of what was mended meanwhile.
  const planner = bench.planner({
    contexts: createContextBook(bench.store, createTenantSnapshots(bench.store, bench.clock, 1_000)),
  })
  while ((await planner.round()) > 0);
}

async function addAccount(bench: Bench, channel: Channel): Promise<void> {
  await bench.store.accounts.insert(storedAccount({ id: bench.ids(), channel }))
}

const brief = async (bench: Bench): Promise<string[]> =>
  (await bench.notifications()).map(({ channel, status, reason }) => `${channel} ${reason ?? status}`)

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`a schedule that told nobody, replayed on ${engine}`, () => {
    it('sends what can be sent by then, as the notifications that stand', async (t) => {
      const bench = await setup(t, { engine })
      assert.deepEqual(await brief(bench), ['sms no_active_account', 'email no_active_account'])
      const before = (await bench.notifications()).map(({ id }) => id)
      await addAccount(bench, 'sms')

      await replay(bench)

      assert.deepEqual(await brief(bench), ['sms queued', 'email no_active_account'])
      const after = await bench.notifications()
      assert.deepEqual(
        after.map(({ id }) => id),
        before,
      )
      assert.equal(bodyOf(after[0]), 'text Ada')
      const { status, lastError } = await bench.schedule()
      assert.deepEqual([status, lastError], ['completed', null])
    })

    it('fails again, in today’s words, where nothing was mended', async (t) => {
      const bench = await setup(t, { engine })

      await replay(bench)

      assert.equal((await bench.notifications()).length, 2)
      const { status, lastError } = await bench.schedule()
      assert.deepEqual(
        [status, lastError],
        ['failed', 'No active channel: the tenant has no active account for sms, email'],
      )
    })
  })

describe('a replay', () => {
  it('leaves alone what was retried by hand, though it could not be planned any more', async (t) => {
    const { bench, retry } = await setupMended(t)
    const { tenantId, id } = await bench.schedule()
    await bench.store.schedules.act({ tenantId, id, action: 'replay', actor: 'key:ada' })
    await retry()
    await bench.import(catalogueOf({ templates: [email], delivery: { channels: ['sms', 'email'] } }))

    await replanned(bench)

    assert.deepEqual(await brief(bench), ['sms queued', 'email no_active_account'])
    assert.equal((await bench.schedule()).status, 'completed', 'somebody is told, though not by the replay')
  })

  it('is not needed any more once a notification was retried by hand', async (t) => {
    const { bench, retry } = await setupMended(t)
    await retry()

    const { tenantId, id } = await bench.schedule()
    const replayed = await bench.store.schedules.act({ tenantId, id, action: 'replay', actor: 'key:ada' })

    assert.deepEqual(replayed, { moved: false, from: 'completed' })
  })

  it('begins a chain of which an operator gave a channel up that was skipped', async (t) => {
    const bench = await setup(t, { catalogue: catalogueOf({ delivery: { fallback: ['sms', 'email'] } }) })
    const [text = assert.fail()] = await bench.notifications()
    await bench.store.notifications.act({ tenantId: 'acme', id: text.id, action: 'discard', actor: 'key:ada' })
    for (const channel of ['sms', 'email'] as const) await addAccount(bench, channel)

    await replay(bench)

    assert.deepEqual(await brief(bench), ['sms discarded_by_operator', 'email queued'])
  })

  it('begins a chain at its first channel that can be used, and holds none that has a row of its own', async (t) => {
    const bench = await setup(t, { catalogue: catalogueOf({ delivery: { fallback: ['sms', 'email'] } }) })
    await addAccount(bench, 'email')
    await replay(bench)
    assert.deepEqual(await brief(bench), ['sms no_active_account', 'email queued'])

    const other = await setup(t, { catalogue: catalogueOf({ delivery: { fallback: ['sms', 'email'] } }) })
    for (const channel of ['sms', 'email'] as const) await addAccount(other, channel)
    await replay(other)

    assert.deepEqual(await brief(other), ['sms queued', 'email no_active_account'])
    assert.deepEqual((await other.notifications())[0]?.fallback, [])
  })

  it('tells whom the event names by then', async (t) => {
    const bench = await setup(t, {
      catalogue: catalogueOf({ recipients: [{ phone: 'tel' }], templates: [sms] }),
      accounts: ['sms'],
    })
    assert.deepEqual(await brief(bench), [])
    assert.equal((await bench.schedule()).lastError, 'No recipient: the event names nobody')
    await bench.import(catalogueOf({ templates: [sms] }))

    await replay(bench)

    assert.deepEqual(await brief(bench), ['sms queued'])
  })

  it('finds the templates that all channels are made of by then', async (t) => {
    const bench = await setup(t, { catalogue: catalogueOf({ templates: [] }), accounts: ['sms'] })
    assert.deepEqual(await brief(bench), [])
    assert.match((await bench.schedule()).lastError ?? '', /^Template not found: /)
    await bench.import(catalogueOf({ templates: [sms] }))

    await replay(bench)

    assert.deepEqual(await brief(bench), ['sms queued'])
  })

  it('goes through all parts of a large event', async (t) => {
    const recipients = Array.from({ length: 1_500 }, (_, i) => ({ phone: `+1202555${1_000 + i}` }))
    const bench = await setup(t, { catalogue: catalogueOf({ templates: [sms] }) }, { recipients })
    await addAccount(bench, 'sms')

    await replay(bench)

    const { queued, skipped } = await bench.store.notifications.countByStatus('acme')
    assert.deepEqual([queued, skipped, (await bench.schedule()).status], [1_500, 0, 'completed'])
  })

  it('seals words with secrets for the notification that stands', async (t) => {
    const secret = { ...sms, body: 'code {{token}}' }
    const catalogue = catalogueOf({ secrets: ['token'], templates: [secret] })
    const bench = await setup(t, { catalogue }, { payload: { phone: '+15550100', token: 's3cret' } })
    await addAccount(bench, 'sms')

    await replay(bench)

    const [{ id, content } = assert.fail()] = await bench.notifications()
    assert.ok(content && isSealedContent(content))
    const opened = bench.seal.openContent(content, { tenantId: 'acme', notificationId: id })
    assert.ok('content' in opened && opened.content.body === 'code s3cret')
  })
})

describe('a duplicate', () => {
  it('is not retried while the notification that tells the same stands', async (t) => {
    const bench = await openPlanning(t, { catalogue: catalogueOf({ templates: [sms] }) })
    const entity = { type: 'booking', id: 'B-1' }
    await bench.publish({ entity })
    await bench.publish({ entity })
    await bench.plan()
    const [told, repeated] = await bench.notifications()
    assert.ok(told && repeated)

    const answer = await replan(bench.chain, repeated)

    assert.ok('problem' in answer)
    assert.equal(answer.problem.reason, 'duplicate')
    assert.match(answer.problem.error, new RegExp(told.id))
  })
})
