import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { sampleNotification, storedAccount } from '../../../../test/support/samples.ts'
import { isPillarboxError } from '../model/errors.ts'
import type { EventRecipient } from '../model/event.ts'
import type { NotificationView } from '../model/notification.ts'
import { createContextBook } from '../plan/context-book.ts'
import { createEventBook } from '../plan/event-book.ts'
import { type Bench, bodyOf, type Options, openPlanning } from '../plan/fixture.ts'
import { nextInChain } from '../plan/next-in-chain.ts'
import { replan } from '../plan/replan.ts'
import { createRewrite } from '../plan/rewrite.ts'
import { isSealedContent } from '../security/payload-seal.ts'
import { createTenantSnapshots } from '../tenant/snapshots.ts'
import { actOnNotification, type NotificationAct } from './act.ts'

const email = { channel: 'email', locale: 'en', subject: 'S {{name}}', body: 'mail {{name}}' }
const sms = { channel: 'sms', locale: 'en', body: 'text {{name}}' }
const catalogueOf = (fields: Record<string, unknown> = {}) => ({
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      recipients: [{ phone: 'phone', email: 'email', name: 'name' }],
      delivery: { fallback: ['email', 'sms'] },
      templates: [email, sms],
      ...fields,
    },
  },
})

/** The first notification of an event, parked by hand, and what an operator does to it. */
async function setup(t: TestContext, options: Partial<Options> = {}) {
  const bench = await openPlanning(t, { catalogue: catalogueOf(), ...options })
  const nudged: string[] = []
  const { store, clock, seal: sealing } = bench
  const snapshots = createTenantSnapshots(store, clock, 0)
  const contexts = createContextBook(store, snapshots)
  const events = createEventBook({ store, contexts, sealing, resolve: null, clock, maxAgeMs: 0 })
  const chain = { ...bench.chain, events }
  const deps = {
    store,
    snapshots,
    replan: (notification: NotificationView) => replan(chain, notification),
    rewrite: createRewrite(chain),
    skips: chain.skips,
    nudge: (topic: string) => void nudged.push(topic),
  }
  const act = (id: string, changes: Partial<NotificationAct>) =>
    actOnNotification(deps, { tenantId: 'acme', id, action: 'retry', actor: 'key:desk', ...changes })
  const { suppress } = bench
  return { bench, act, nudged, suppress, parked: () => parkedOf(bench, act) }
}

async function parkedOf(bench: Bench, act: (id: string, changes: Partial<NotificationAct>) => Promise<unknown>) {
  await bench.publish()
  await bench.plan()
  const [first] = await bench.notifications()
  assert.ok(first)
  await act(first.id, { action: 'park' })
  await bench.clock.advance(2_000)
  return first
}

async function refusalOf(acting: Promise<unknown>): Promise<string> {
  try {
    await acting
    return 'done'
  } catch (error) {
    assert.ok(isPillarboxError(error), String(error))
    return `${error.code}: ${error.message}`
  }
}

describe('a retry in today’s words', () => {
  it('says what the template says now, at the same address and under the same key', async (t) => {
    const { bench, act, parked } = await setup(t)
    const first = await parked()
    await bench.import(catalogueOf({ templates: [{ ...email, body: 'mended {{name}}' }, sms] }))
    await bench.clock.advance(2_000)

    const retried = await act(first.id, { rerender: true })

    assert.deepEqual([bodyOf(first), bodyOf(retried)], ['mail Ada', 'mended Ada'])
    assert.equal(retried.templateVersion, (first.templateVersion ?? 0) + 1)
    const same = ({ id, idempotencyKey, channel, to, fallback }: NotificationView) => ({
      id,
      idempotencyKey,
      channel,
      to,
      fallback,
    })
    assert.deepEqual(same(retried), same(first))
    assert.equal(retried.status, 'queued')
  })

  it('keeps the words it has where nobody asks for others', async (t) => {
    const { bench, act, parked } = await setup(t)
    const first = await parked()
    await bench.import(catalogueOf({ templates: [{ ...email, body: 'mended {{name}}' }, sms] }))
    await bench.clock.advance(2_000)

    assert.equal(bodyOf(await act(first.id, {})), 'mail Ada')
  })

  it('is refused where the words cannot be made, and leaves it parked', async (t) => {
    const { bench, act, parked } = await setup(t)
    const first = await parked()
    await bench.import(catalogueOf({ templates: [sms] }))
    for (const { id, channel } of (await bench.store.templates.list('acme', {}, { limit: 10 })).items)
      if (channel === 'email') await bench.store.templates.update('acme', id, { isActive: false }, 'test')
    await bench.clock.advance(2_000)

    assert.match(await refusalOf(act(first.id, { rerender: true })), /^not_plannable: no_template: /)
    assert.equal((await bench.notifications())[0]?.status, 'parked')
  })

  it('is refused for one that came without an event: its words are those that were given', async (t) => {
    const { bench, act } = await setup(t)
    const id = bench.ids()
    const to = { email: 'ada@example.test' }
    await bench.store.notifications.insert([
      sampleNotification({ id, channel: 'email', accountId: bench.accountId('email'), to }),
    ])
    await act(id, { action: 'park' })

    assert.match(
      await refusalOf(act(id, { rerender: true })),
      /^not_plannable: invalid_event: it came without an event/,
    )
  })
})

describe('a retry to a corrected address', () => {
  it('sends another notification there, and discards and links the first', async (t) => {
    const { bench, act, parked, nudged } = await setup(t)
    const first = await parked()

    const made = await act(first.id, { to: { email: 'Right@EXAMPLE.test' }, note: 'a typing mistake' })

    assert.deepEqual(
      [made.to, made.status, made.triggeredBy, made.correctedFrom],
      [{ ...first.to, email: 'Right@example.test' }, 'queued', 'key:desk', first.id],
    )
    assert.equal(bodyOf(made), 'mail Ada')
    assert.deepEqual([made.eventId, made.entity, made.fallback], [first.eventId, first.entity, first.fallback])
    const before = await bench.store.notifications.find('acme', first.id)
    assert.deepEqual(
      [before?.status, before?.reason, before?.correctedTo],
      ['discarded', 'corrected_by_operator', made.id],
    )
    const audited = async (id: string) =>
      (await bench.store.notifications.audit(id)).map(({ actor, action, to, note }) => [actor, action, to, note]).at(-1)
    assert.deepEqual(await audited(first.id), ['key:desk', 'discard', 'discarded', 'a typing mistake'])
    assert.deepEqual(await audited(made.id), ['key:desk', 'correct', 'queued', 'a typing mistake'])
    assert.deepEqual(nudged, ['dispatch'])
    await assert.rejects(act(first.id, { action: 'restore' }), { code: 'not_discarded', message: /in its place/ })
  })

  it('is sent after the expiry of the first, too', async (t) => {
    const { act, parked } = await setup(t, { catalogue: catalogueOf({ expiresAfter: 'PT1H' }) })
    const first = await parked()
    assert.ok(first.expiresAt)

    assert.equal((await act(first.id, { to: { email: 'right@example.test' } })).expiresAt, null)
  })

  it('has to be an address of the channel', async (t) => {
    const { act, parked } = await setup(t)
    const { id } = await parked()

    assert.match(await refusalOf(act(id, { to: { phone: '+15550100' } })), /^invalid_body: \/to\/email is required/)
  })

  it('may be corrected again', async (t) => {
    const { bench, act, parked } = await setup(t)
    const first = await parked()
    const second = await act(first.id, { to: { email: 'second@example.test' } })
    await act(second.id, { action: 'park' })

    const third = await act(second.id, { to: { email: 'third@example.test' }, rerender: true })

    assert.deepEqual([third.correctedFrom, third.to.email], [second.id, 'third@example.test'])
    assert.equal((await bench.notifications()).length, 3)
  })

  it('is where its fallback and its next retry go, too', async (t) => {
    const { bench, act, parked } = await setup(t)
    const first = await parked()
    const made = await act(first.id, { to: { email: 'right@example.test', phone: '+15550199' } })

    const next = await nextInChain(bench.chain, { tenantId: 'acme', notificationId: made.id }, ['sms'])
    await act(made.id, { action: 'park' })
    const again = await act(made.id, { rerender: true })

    assert.equal(next && 'to' in next && next.to.phone, '+15550199')
    assert.equal(again.to.email, 'right@example.test')
  })

  it('gives somebody a message who was skipped for want of an address', async (t) => {
    const { bench, act } = await setup(t)
    await bench.publish({ payload: { phone: '+15550100', name: 'Ada' } })
    await bench.plan()
    const skipped = (await bench.notifications()).find(({ status }) => status === 'skipped')
    assert.equal(skipped?.reason, 'no_address')

    const made = await act(skipped.id, { to: { email: 'ada@example.test' } })

    assert.deepEqual([made.status, made.channel, bodyOf(made)], ['queued', 'email', 'mail Ada'])
    assert.equal((await bench.store.notifications.find('acme', skipped.id))?.correctedTo, made.id)
  })

  it('seals words with secrets for the new one', async (t) => {
    const templates = [{ ...email, body: 'code {{token}}' }]
    const { bench, act } = await setup(t, { catalogue: catalogueOf({ secrets: ['token'], templates }) })
    await bench.publish({ payload: { email: 'ada@example.test', token: 's3cret' } })
    await bench.plan()
    const [first] = await bench.notifications()
    assert.ok(first)
    await act(first.id, { action: 'park' })

    const made = await act(first.id, { to: { email: 'right@example.test' } })

    assert.ok(made.content && isSealedContent(made.content))
    const opened = bench.seal.openContent(made.content, { tenantId: 'acme', notificationId: made.id })
    assert.ok('content' in opened)
    assert.equal(opened.content.body, 'code s3cret')
  })

  it('is refused where the address cannot be used or is suppressed, and changes nothing', async (t) => {
    const { bench, act, parked, suppress } = await setup(t)
    const first = await parked()
    await suppress('banned@example.test')
    const before = await bench.notifications()

    assert.match(await refusalOf(act(first.id, { to: { email: 'no address' } })), /^invalid_body: \/to\/email must be/)
    assert.match(await refusalOf(act(first.id, { to: { email: 'banned@example.test' } })), /^address_suppressed: /)
    const both = { to: { email: 'right@example.test' }, override: 'suppression' } as const
    assert.match(await refusalOf(act(first.id, both)), /^invalid_body: \/override cannot stand beside to/)
    assert.deepEqual(await bench.notifications(), before)
  })

  it('is refused for what is still on its way', async (t) => {
    const { act, parked } = await setup(t)
    const first = await parked()
    await act(first.id, {})

    assert.equal(
      await refusalOf(act(first.id, { to: { email: 'right@example.test' } })),
      'not_parked: The notification is queued.',
    )
  })
})

describe('a retry to a suppressed address', () => {
  it('is refused with a warning, and goes ahead where somebody says so, on record', async (t) => {
    const { bench, act, parked, suppress } = await setup(t)
    const first = await parked()
    await suppress('ada@example.test')

    assert.match(
      await refusalOf(act(first.id, {})),
      /^address_suppressed: .*\(operator, since .*\).*override: "suppression", or lift it: DELETE \/api\/suppressions\//,
    )
    const retried = await act(first.id, { override: 'suppression', note: 'she asked for it' })

    assert.equal(retried.status, 'queued')
    const last = (await bench.store.notifications.audit(first.id)).at(-1)
    assert.deepEqual(
      [last?.actor, last?.action, last?.reason, last?.note],
      ['key:desk', 'retry', 'suppression_overridden', 'she asked for it'],
    )
  })

  it('may be of one that planning skipped for it', async (t) => {
    const { bench, act, suppress } = await setup(t, { catalogue: catalogueOf({ delivery: { all: true } }) })
    await suppress('ada@example.test')
    await bench.publish()
    await bench.plan()
    const skipped = (await bench.notifications()).find(({ reason }) => reason === 'suppressed')
    assert.equal(skipped?.status, 'skipped')

    assert.match(await refusalOf(act(skipped.id, {})), /^address_suppressed: /)
    const retried = await act(skipped.id, { override: 'suppression' })

    assert.deepEqual([retried.status, retried.channel, bodyOf(retried)], ['queued', 'email', 'mail Ada'])
  })

  it('has to be said every time', async (t) => {
    const { bench, act, parked, suppress } = await setup(t)
    const first = await parked()
    const worker = bench.ids()
    await bench.store.workers.register({ id: worker, host: 'h', pid: 1, version: '1', channels: null })
    const claimed = async () => {
      const answer = await bench.store.dispatch.claim(worker, [{ accountId: bench.accountId('email'), limit: 1 }])
      assert.ok(!answer.fenced)
      const [claim] = answer.claims
      assert.ok(claim)
      await bench.store.dispatch.release(worker, [claim])
      return claim.overridesSuppression
    }
    await suppress('ada@example.test')

    await act(first.id, { override: 'suppression' })
    assert.equal(await claimed(), true)
    await act(first.id, { action: 'park' })
    const [ban] = await bench.store.suppressions.among('acme', 'email', ['ada@example.test'])
    await bench.store.suppressions.remove('acme', ban?.id ?? '', 'test')
    await act(first.id, {})
    assert.equal(await claimed(), false)
  })

  it('cannot be had for a list: nobody asked for its members one by one', async (t) => {
    const { bench, act } = await setup(t)
    const id = bench.ids()
    const [to, accountId] = [{ list: 'crew' }, bench.accountId('email')]
    await bench.store.notifications.insert([sampleNotification({ id, channel: 'email', accountId, to })])
    await act(id, { action: 'park' })

    assert.match(await refusalOf(act(id, { override: 'suppression' })), /^invalid_body: \/override is for one address/)
  })
})

describe('a retry of what was skipped', () => {
  it('plans it anew once its cause is mended, and is refused with the cause until then', async (t) => {
    const { bench, act } = await setup(t, { accounts: ['sms'], catalogue: catalogueOf({ delivery: { all: true } }) })
    await bench.publish()
    await bench.plan()
    const [skipped = assert.fail()] = (await bench.notifications()).filter(({ status }) => status === 'skipped')

    assert.match(await refusalOf(act(skipped.id, {})), /^not_plannable: no_active_account: no active account for email/)
    await bench.store.accounts.insert(storedAccount({ id: bench.ids(), channel: 'email' }))
    await bench.clock.advance(2_000)
    const queued = await act(skipped.id, {})

    assert.deepEqual([queued.id, queued.status, bodyOf(queued)], [skipped.id, 'queued', 'mail Ada'])
    assert.equal((await bench.notifications()).length, 2)
  })

  it('is refused for a duplicate, which names the one that tells the same', async (t) => {
    const { bench, act } = await setup(t)
    const entity = { type: 'booking', id: 'B-1' }
    await bench.publish({ entity })
    await bench.publish({ entity })
    await bench.plan()
    const [told, repeated] = await bench.notifications()

    const refusal = await refusalOf(act(repeated?.id ?? '', {}))

    assert.match(refusal, /^not_plannable: duplicate: /)
    assert.ok(refusal.includes(told?.id ?? 'nothing'))
  })

  for (const engine of ['sqlite', 'postgres'] as const)
    it(`for want of a template says what stands in the way once there is one, and always has a way out, on ${engine}`, async (t) => {
      const { bench, act, unworded, suppress } = await setupUnworded(t, engine)
      const [first, second, third] = await unworded({ phone: '+12025550101' }, { phone: '+12025550102' }, {})
      assert.deepEqual([first.reason, second.reason, third.reason], ['no_template', 'no_template', 'no_template'])

      assert.match(await refusalOf(act(first.id, {})), /^not_plannable: no_address: no address for email/)
      const stays = await bench.store.notifications.find('acme', first.id)
      assert.deepEqual([stays?.status, stays?.reason], ['skipped', 'no_address'])
      assert.match(stays?.lastError ?? '', /^no address for email/)
      const [audit] = await bench.store.notifications.audit(first.id)
      const { actor, action, from, to, reason } = audit ?? assert.fail()
      assert.deepEqual([actor, action, from, to], ['key:desk', 'retry', 'skipped', 'skipped'])
      assert.equal(reason, 'no_template → no_address')
      assert.match(await refusalOf(act(first.id, {})), /^not_plannable: no_address/)
      assert.equal((await bench.store.notifications.audit(first.id)).length, 1, 'what is known is not said again')
      const warned = bench.logger.lines.filter(({ message, fields }) => {
        return message === 'a notification was skipped' && fields['notificationId'] === first.id
      })
      assert.deepEqual(
        warned.map(({ fields }) => fields['reason']),
        ['no_template', 'no_address', 'no_address'],
      )
      assert.deepEqual(bench.meters.counts, {
        'rows_planned event notifications': 1,
        'notifications_skipped no_template': 3,
        'notifications_skipped no_address': 2,
      })

      await suppress('ada@example.test')
      assert.match(await refusalOf(act(first.id, { to: { email: 'ada@example.test' } })), /^address_suppressed: /)
      const made = await act(first.id, { to: { email: 'bo@example.test' } })
      assert.deepEqual([made.status, made.to.email, made.correctedFrom], ['queued', 'bo@example.test', first.id])
      const straight = await act(second.id, { to: { email: 'cy@example.test' } })
      assert.deepEqual([straight.status, straight.correctedFrom], ['queued', second.id])

      const discarded = await act(third.id, { action: 'discard', note: 'they have left' })
      assert.deepEqual([discarded.status, discarded.reason], ['discarded', 'discarded_by_operator'])
      assert.equal((await act(third.id, { action: 'restore' })).status, 'parked')
      assert.match(await refusalOf(act(third.id, {})), /^not_plannable: no_address/)
      assert.equal((await act(third.id, { to: { email: 'di@example.test' } })).status, 'queued')
    })

  it('is refused where the address it would go to by now is suppressed, and says so from then on', async (t) => {
    const { bench, act, unworded, suppress } = await setupUnworded(t)
    const [row] = await unworded({ email: 'ada@example.test' })
    await suppress('ada@example.test')

    assert.match(await refusalOf(act(row.id, {})), /^address_suppressed: The address is suppressed \(operator/)
    const stays = await bench.store.notifications.find('acme', row.id)

    assert.deepEqual([stays?.status, stays?.reason], ['skipped', 'suppressed'])
    assert.equal((await act(row.id, { override: 'suppression' })).status, 'queued')
  })

  it('takes a corrected address unless it is a duplicate, and is refused with the cause as long as that stands', async (t) => {
    const { bench, act } = await setup(t, { accounts: ['sms'] })
    await bench.publish()
    await bench.plan()
    const [skipped = assert.fail()] = await bench.notifications()
    const corrected = { to: { email: 'bo@example.test' } }

    assert.equal(skipped.status, 'skipped')
    assert.match(await refusalOf(act(skipped.id, corrected)), /^not_plannable: no_active_account: /)

    const other = await setup(t)
    const entity = { type: 'booking', id: 'B-1' }
    await other.bench.publish({ entity })
    await other.bench.publish({ entity })
    await other.bench.plan()
    const [told, repeated] = await other.bench.notifications()
    const refusal = await refusalOf(other.act(repeated?.id ?? '', corrected))
    assert.match(refusal, /^invalid_body: .*discard this one/)
    assert.ok(refusal.includes(told?.id ?? 'nothing'))
    assert.equal((await other.act(repeated?.id ?? '', { action: 'discard' })).status, 'discarded')
  })
})

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`a schedule that told nobody, on ${engine}`, () => {
    it('is completed by a retry of one of its notifications, and by a corrected address, as by a replay', async (t) => {
      for (const way of [{}, { to: { email: 'bo@example.test' } }]) {
        const { bench, act, unworded } = await setupUnworded(t, engine)
        const [row] = await unworded({ email: 'ada@example.test' })
        assert.equal((await bench.schedule()).status, 'failed')

        await act(row.id, way)

        const { status, lastError, completedAt } = await bench.schedule()
        assert.deepEqual([status, lastError, completedAt !== null], ['completed', null, true])
      }
    })

    it('stays failed where a retry leads nowhere, and where it was not planned to its end', async (t) => {
      const { bench, act, unworded } = await setupUnworded(t, engine)
      const [row] = await unworded({})
      await refusalOf(act(row.id, {}))
      await act(row.id, { action: 'discard' })
      const { status, lastError } = await bench.schedule()
      assert.equal(status, 'failed')
      assert.match(lastError ?? '', /^Template not found: /)

      const other = await setupUnworded(t, engine)
      const [skipped] = await other.unworded({ email: 'ada@example.test' })
      const { tenantId, id } = await other.bench.schedule()
      await other.bench.store.schedules.act({ tenantId, id, action: 'replay', actor: 'key:ada' })
      await other.bench.store.plan.deferSchedule({ tenantId, id }, 'the database refused it', null)
      await other.act(skipped.id, {})
      const left = await other.bench.schedule()
      assert.deepEqual([left.status, left.lastError], ['failed', 'the database refused it'])
    })
  })

/** An event for these recipients on email, for which there was no template when it was planned, and is by now. */
async function setupUnworded(t: TestContext, engine: 'sqlite' | 'postgres' = 'sqlite') {
  const delivery = { channels: ['email'] }
  const { bench, act, suppress } = await setup(t, { engine, catalogue: catalogueOf({ delivery, templates: [] }) })
  return {
    bench,
    act,
    suppress,
    async unworded(...recipients: EventRecipient[]) {
      await bench.publish({ recipients })
      await bench.plan()
      await bench.import(catalogueOf({ delivery }))
      await bench.clock.advance(2_000)
      const [first = assert.fail(), second = first, third = first] = await bench.notifications()
      return [first, second, third] as const
    },
  }
}
