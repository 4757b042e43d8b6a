import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { completion } from '../../../../test/conformance/fixtures.ts'
import { refusalOf } from '../../../../test/support/refusal.ts'
import { sampleNotification } from '../../../../test/support/samples.ts'
import type { Completion } from '../dispatch/dispatch-store.ts'
import { isPillarboxError, PillarboxError } from '../model/errors.ts'
import type { NotificationView } from '../model/notification.ts'
import type { BulkAction, Operation } from '../model/operation.ts'
import { bodyOf, openPlanning } from '../plan/fixture.ts'
import { replan } from '../plan/replan.ts'
import { createRewrite } from '../plan/rewrite.ts'
import { createTenantSnapshots } from '../tenant/snapshots.ts'
import { actOnNotification } from './act.ts'
import { type PreviewRequest, previewBulk, type StartBulk, startBulk, steerOperation } from './bulk.ts'
import type { SteerAction } from './operation-store.ts'
import { CANARY_MS, type OperationsDeps, operate } from './run-operations.ts'

const sms = { channel: 'sms', locale: 'en', body: 'text {{name}}' }
const catalogueOf = (words: string = sms.body) => ({
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      recipients: [{ phone: 'phone', name: 'name' }],
      delivery: { channels: ['sms'] },
      templates: [{ ...sms, body: words }],
    },
  },
})

const ME = { tenantId: 'acme', actor: 'key:desk' }
const forever = new AbortController().signal

async function setup(t: TestContext, plant: (deps: OperationsDeps) => Partial<OperationsDeps> = () => ({})) {
  const bench = await openPlanning(t, { catalogue: catalogueOf(), batchRows: 1_000 })
  const { store, clock, ids, logger, meters } = bench
  const snapshots = createTenantSnapshots(store, clock, 0)
  const nudged: string[] = []
  const common = { store, snapshots, clock, random: () => 0.5, logger, meters, everyMs: 250 }
  const real: OperationsDeps = {
    ...common,
    replan: (notification) => replan(bench.chain, notification),
    rewrite: createRewrite(bench.chain),
    skips: bench.chain.skips,
    nudge: (topic) => void nudged.push(topic),
  }
  const deps = { ...real, ...plant(real) }
  const workerId = ids()
  await store.workers.register({ id: workerId, host: 'host', pid: 1, version: '0', channels: null })

  const act = (id: string, action: 'park' | 'retry' | 'discard') => actOnNotification(real, { ...ME, id, action })
  const view = async (id: string): Promise<NotificationView> => {
    const found = await store.notifications.find('acme', id)
    assert.ok(found)
    return found
  }
  return {
    ...bench,
    deps,
    nudged,
    act,
    view,
    /** So many that somebody has parked, oldest first. */
    async parked(count: number): Promise<string[]> {
      const events: string[] = []
      for (let i = 0; i < count; i++) events.push(await bench.publish())
      await bench.plan()
      const made = (await bench.notifications()).filter(({ eventId }) => events.includes(eventId ?? ''))
      for (const { id } of made) await act(id, 'park')
      await clock.advance(2_000)
      return made.map(({ id }) => id)
    },
    /** Everything that is due is claimed, and this becomes of it. */
    async dispatch(to: Completion['to'], limit = 1_000): Promise<string[]> {
      const answer = await store.dispatch.claim(workerId, [{ accountId: bench.accountId('sms'), limit }])
      assert.ok(!answer.fenced)
      await store.dispatch.complete(
        workerId,
        answer.claims.map((claim) => completion(claim, to)),
      )
      return answer.claims.map(({ notificationId }) => notificationId)
    },
    preview: (action: BulkAction, changes: Partial<PreviewRequest> = {}) =>
      previewBulk(
        { ...common, ids },
        { ...ME, action, options: {}, ...(changes.ids ? {} : { filter: {} }), ...changes },
      ),
    start: (token: string, changes: Partial<StartBulk> = {}) =>
      startBulk(common, { ...ME, token, graceMs: 0, canary: 0, ...changes }),
    steer: (id: string, action: SteerAction) => steerOperation(common, { ...ME, id, action }),
    operation: async (id: string): Promise<Operation> => (await store.operations.find('acme', id)) ?? assert.fail(),
    operate: () => operate(deps, forever),
    items: async (id: string) => (await store.operations.items(id, {}, { limit: 200 })).items,
    waiting: async () =>
      (await store.notifications.list({ tenantId: 'acme', status: ['queued'] }, { limit: 200 })).items.map(
        ({ id }) => id,
      ),
  }
}

describe('a preview', () => {
  it('says what an action would do, and why not to the rest', async (t) => {
    const { parked, preview, act, dispatch, accountId, publish, plan, store, ids } = await setup(t)
    const [first, second] = await parked(3)
    await act(second ?? '', 'retry')
    await dispatch('uncertain')
    await act(first ?? '', 'discard')
    await publish()
    await plan()

    const answer = await preview('retry')
    assert.deepEqual([answer.count, answer.possibleDuplicates], [2, 1])
    assert.deepEqual(
      answer.skipped.toSorted((a, b) => (a.why < b.why ? -1 : 1)),
      [
        { why: 'it is discarded', count: 1 },
        { why: 'it is queued', count: 1 },
      ],
    )
    assert.deepEqual([answer.by.channel, answer.by.accountId], [{ sms: 2 }, { [accountId('sms')]: 2 }])
    assert.deepEqual(Object.values(answer.by.fingerprint), [1, 1])
    assert.equal(answer.estimatedSeconds, 0)

    await store.accounts.update('acme', accountId('sms'), { pace: { perSecond: 0.5, burst: 1 } })
    assert.equal((await preview('retry')).estimatedSeconds, 4)
    assert.equal((await preview('discard')).estimatedSeconds, 0)
    const named = await preview('retry', { ids: [first ?? '', ids(), 'nonsense'] })
    assert.deepEqual([named.count, named.skipped.map(({ count }) => count)], [0, [1, 2]])
  })

  it('counts what is suppressed as what cannot be retried, and moves nothing', async (t) => {
    const { parked, preview, store, view, ids } = await setup(t)
    const [id] = await parked(2)
    const address = (await view(id ?? '')).to.phone ?? ''
    const ban = { cause: 'operator', error: null, notificationId: null, createdBy: 'key:ada' } as const
    await store.suppressions.insert({ id: ids(), tenantId: 'acme', channel: 'sms', address, ...ban })

    const { count, skipped } = await preview('retry')
    assert.deepEqual([count, skipped], [0, [{ why: 'its address is suppressed', count: 2 }]])
    assert.equal((await preview('discard')).count, 2)
    assert.equal((await view(id ?? '')).status, 'parked')
  })

  it('is refused to whoever has made too many, and expires', async (t) => {
    const { parked, preview, start, clock } = await setup(t)
    await parked(1)
    const first = await preview('retry')
    for (let i = 1; i < 20; i++) await preview('retry')
    assert.match(await refusalOf(preview('retry')), /^rate_limited: There are 20 previews that nobody has started/)
    await clock.advance(15 * 60_000)
    assert.match(await refusalOf(start(first.token)), /^preview_expired: .*preview again/)
    assert.equal((await preview('retry')).count, 1)
    assert.match(await refusalOf(start('nonsense')), /^not_found/)
  })
})

describe('an operation', () => {
  it('does to each what somebody could have done alone, with the note and its id in the audit', async (t) => {
    const { parked, preview, start, operate: work, operation, view, store, nudged } = await setup(t)
    const ids = await parked(3)
    const { token } = await preview('retry')
    await start(token, { note: 'gateway is back' })

    assert.equal(await work(), true)
    assert.equal(await work(), false)
    const { status, total, done, leftAlone, failed, startedBy, note } = await operation(token)
    assert.deepEqual([status, total, done, leftAlone, failed], ['done', 3, 3, 0, 0])
    assert.deepEqual([startedBy, note], ['key:desk', 'gateway is back'])
    for (const id of ids) {
      assert.equal((await view(id)).status, 'queued')
      const last = (await store.notifications.audit(id)).at(-1)
      assert.deepEqual(
        [last?.action, last?.actor, last?.note, last?.operationId],
        ['retry', 'key:desk', 'gateway is back', token],
      )
    }
    assert.ok(nudged.includes('dispatch'))
  })

  it('moves from every place where its action may be asked for', async (t) => {
    const { parked, preview, start, operate: work, view } = await setup(t)
    const [id = ''] = await parked(1)
    const seen: string[] = []
    for (const action of ['discard', 'restore', 'retry', 'park', 'retry', 'cancel'] as const) {
      await start((await preview(action)).token)
      await work()
      seen.push((await view(id)).status)
    }
    assert.deepEqual(seen, ['discarded', 'parked', 'queued', 'parked', 'queued', 'cancelled'])
  })

  it('retries in today’s words where that was asked for', async (t) => {
    const { parked, preview, start, operate: work, view, clock, import: imported } = await setup(t)
    const [id = ''] = await parked(1)
    await imported(catalogueOf('mended {{name}}'))
    await clock.advance(2_000)
    await start((await preview('retry', { options: { rerender: true } })).token)
    await work()

    assert.equal(bodyOf(await view(id)), 'mended Ada')
  })

  it('resends to the recipient of each notification alone, as a new one', async (t) => {
    const { publish, plan, preview, start, operate: work, dispatch, items, view, notifications } = await setup(t)
    const recipients = [
      { name: 'Ada', phone: '+4915112345671' },
      { name: 'Bo', phone: '+4915112345672' },
    ]
    await publish({ recipients })
    await plan()
    const [first] = (await dispatch('sent')).toSorted()
    const { token, count, skipped } = await preview('resend', { filter: { q: '+4915112345671' } })
    assert.deepEqual([count, skipped], [1, []])
    await start(token)
    await work()

    const [item] = await items(token)
    assert.deepEqual([item?.notificationId, item?.outcome], [first, 'done'])
    const resent = await view(item?.resultId ?? '')
    assert.deepEqual([resent.status, resent.to.phone, resent.triggeredBy], ['queued', '+4915112345671', 'key:desk'])
    assert.equal((await notifications()).length, 3)
    assert.equal((await view(first ?? '')).status, 'sent')
  })

  it('resends a notification that came without an event in its own words', async (t) => {
    const { store, ids, accountId, preview, start, operate: work, dispatch, items, view } = await setup(t)
    const direct = sampleNotification({
      id: ids(),
      tenantId: 'acme',
      channel: 'sms',
      accountId: accountId('sms'),
      eventId: null,
    })
    await store.notifications.insert([direct])
    await dispatch('sent')
    const { token } = await preview('resend', { ids: [direct.id] })
    await start(token)
    await work()

    const [item] = await items(token)
    assert.equal(item?.why, null)
    assert.equal(bodyOf(await view(item?.resultId ?? '')), bodyOf(direct))
  })

  it('leaves alone what has moved since, and counts it', async (t) => {
    const { parked, preview, start, operate: work, operation, items, act, view } = await setup(t)
    const [discarded = '', again = '', same = ''] = await parked(3)
    const { token } = await preview('retry')
    await act(discarded, 'discard')
    await act(again, 'retry')
    await act(again, 'park')
    await start(token)
    await work()

    const { status, done, leftAlone } = await operation(token)
    assert.deepEqual([status, done, leftAlone], ['done', 1, 2])
    const whys = new Map((await items(token)).map(({ notificationId, why }) => [notificationId, why]))
    assert.match(whys.get(discarded) ?? '', /not_parked: The notification is discarded/)
    assert.match(whys.get(again) ?? '', /it has moved, and is parked again/)
    assert.equal(whys.get(same), null)
    assert.equal((await view(again)).status, 'parked')
  })

  it('says of each why it could not be moved, and goes on', async (t) => {
    const { parked, preview, start, operate: work, operation, items, import: imported, clock } = await setup(t)
    await parked(2)
    const { 'booking.confirmed': type } = catalogueOf().eventTypes
    await imported({ entities: { booking: 'bookings' }, eventTypes: { 'booking.other': type } })
    await clock.advance(2_000)
    const { token } = await preview('retry', { options: { rerender: true } })
    await start(token)
    await work()

    const { status, done, failed } = await operation(token)
    assert.deepEqual([status, done, failed], ['done', 0, 2])
    assert.match((await items(token))[0]?.why ?? '', /^not_plannable: unknown_event_type/)
  })

  it('does nothing in its grace, and can be undone until then', async (t) => {
    const { parked, preview, start, steer, operate: work, operation, clock, waiting } = await setup(t)
    await parked(2)
    const [undone, begun] = [await preview('retry'), await preview('retry')]
    await start(undone.token, { graceMs: 10_000 })
    assert.equal(await work(), false)
    assert.equal((await steer(undone.token, 'undo')).status, 'cancelled')
    await start(begun.token, { graceMs: 10_000 })
    await clock.advance(10_000)
    assert.equal(await work(), true)

    assert.deepEqual([(await operation(undone.token)).done, (await operation(begun.token)).done], [0, 2])
    assert.equal((await waiting()).length, 2)
    assert.match(await refusalOf(steer(begun.token, 'undo')), /^operation_over: .*done and has begun \(2 done\)/)
    assert.match(await refusalOf(steer(begun.token, 'pause')), /^operation_over: The operation is done/)
    assert.match(await refusalOf(steer(begun.token, 'resume')), /only a paused one/)
  })

  it('keeps to the pace that was asked for', async (t) => {
    const { parked, preview, start, operate: work, operation, clock } = await setup(t)
    await parked(5)
    const { token } = await preview('discard')
    await start(token, { perSecond: 2 })
    const done: number[] = []
    for (let i = 0; i < 4; i++) {
      assert.equal(await work(), i < 3)
      assert.equal(await work(), false)
      done.push((await operation(token)).done)
      await clock.advance(1_000)
    }
    assert.deepEqual(done, [2, 4, 5, 5])
  })

  it('is paused and resumed, and cancelled for good', async (t) => {
    const { parked, preview, start, steer, operate: work, operation, clock, waiting } = await setup(t)
    await parked(4)
    const { token } = await preview('retry')
    await start(token, { perSecond: 1 })
    await work()
    await steer(token, 'pause')
    await clock.advance(5_000)
    assert.equal(await work(), false)
    await steer(token, 'resume')
    await work()
    const { status, done } = await steer(token, 'cancel')
    await clock.advance(5_000)

    assert.equal(await work(), false)
    assert.deepEqual([status, done, (await operation(token)).done, (await waiting()).length], ['cancelled', 2, 2, 2])
  })

  it('takes turns with others', async (t) => {
    const { parked, preview, start, operate: work, operation, clock } = await setup(t)
    const ids = await parked(4)
    const tokens = [await preview('retry', { ids: ids.slice(0, 2) }), await preview('retry', { ids: ids.slice(2) })]
    for (const { token } of tokens) {
      await start(token, { perSecond: 1 })
      await clock.advance(1)
    }
    await work()
    await work()

    for (const { token } of tokens) assert.equal((await operation(token)).done, 1)
  })
})

describe('a canary', () => {
  it('goes first, and the rest once it was sent', async (t) => {
    const { parked, preview, start, operate: work, operation, dispatch, waiting, clock } = await setup(t)
    await parked(6)
    const { token } = await preview('retry')
    await start(token, { canary: 2 })
    await work()
    assert.equal((await waiting()).length, 2)
    assert.deepEqual([(await operation(token)).status, (await operation(token)).done], ['canary', 2])
    assert.equal(await work(), false)
    await dispatch('sent', 1)
    await clock.advance(500)
    await work()
    assert.equal((await operation(token)).status, 'canary')
    await dispatch('sent', 1)
    await clock.advance(500)
    await work()

    assert.deepEqual([(await operation(token)).status, (await waiting()).length], ['done', 4])
  })

  it('stops the rest where one of it fails, and says which', async (t) => {
    const { parked, preview, start, operate: work, operation, dispatch, waiting, clock, meters } = await setup(t)
    await parked(6)
    const { token } = await preview('retry')
    await start(token, { canary: 2 })
    await work()
    const [failed] = await dispatch('parked', 1)
    await clock.advance(500)
    await work()

    const { status, problem, done } = await operation(token)
    assert.deepEqual([status, done, (await waiting()).length], ['failed', 2, 1])
    assert.match(
      problem ?? '',
      new RegExp(`^Of the 2 that went first, notification ${failed} is parked: invalid_recipient`),
    )
    assert.equal(meters.counts['operations_ended failed'], 1)
    assert.equal(await work(), false)
  })

  it('stops the rest where nothing is heard of it for too long', async (t) => {
    const { parked, preview, start, operate: work, operation, waiting, clock } = await setup(t)
    await parked(4)
    const { token } = await preview('retry')
    await start(token, { canary: 1 })
    await work()
    await clock.advance(CANARY_MS)
    await work()

    const { status, problem } = await operation(token)
    assert.deepEqual([status, (await waiting()).length], ['failed', 1])
    assert.match(problem ?? '', /^Of the 1 that went first, 1 were not sent within 10 minutes/)
  })

  it('is as many as were moved, whatever else had moved before', async (t) => {
    const { parked, preview, start, operate: work, operation, act, waiting } = await setup(t)
    const ids = await parked(6)
    const { token } = await preview('retry')
    for (const id of ids.slice(3)) await act(id, 'discard')
    await start(token, { canary: 2 })
    await work()

    const { status, done, leftAlone } = await operation(token)
    assert.deepEqual([status, done, leftAlone, (await waiting()).length], ['canary', 2, 3, 2])
  })

  it('of what sends nothing is only waited for until it is done', async (t) => {
    const { parked, preview, start, operate: work, operation } = await setup(t)
    await parked(4)
    const { token } = await preview('discard')
    await start(token, { canary: 1 })
    await work()

    assert.equal((await operation(token)).status, 'done')
  })

  it('is five where something is sent and nobody says otherwise', async (t) => {
    const { parked, preview, deps } = await setup(t)
    await parked(1)
    const canaries: number[] = []
    for (const action of ['retry', 'resend', 'discard'] as const) {
      const { token } = await preview(action)
      canaries.push((await startBulk(deps, { ...ME, token, graceMs: 0 })).canary)
    }
    assert.deepEqual(canaries, [5, 5, 0])
  })
})

describe('a worker', () => {
  it('that dies between any two statements is followed by one that does each item once', async (t) => {
    for (let deathAt = 1; deathAt <= 30; deathAt++) {
      let statements = 0
      const dying = <T extends object>(part: T): T =>
        new Proxy(part, {
          get: (target, name) => {
            const method = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>
            return async (...given: unknown[]) => {
              const when = ++statements
              // Odd ones before the statement, even ones after its commit.
              if (when === deathAt) throw new PillarboxError('store_unavailable', 'killed')
              const answer = await method(...given)
              if (when + 1 === deathAt) throw new PillarboxError('store_unavailable', 'killed')
              return answer
            }
          },
        })
      const { parked, preview, start, operation, clock, deps, store, items } = await setup(t)
      const ids = await parked(3)
      const { token } = await preview('retry')
      await start(token)
      const { operations, notifications, suppressions } = store
      const mortal = { operations: dying(operations), notifications: dying(notifications), suppressions }
      await operate({ ...deps, store: mortal }, forever).catch((error: unknown) =>
        assert.ok(isPillarboxError(error, 'store_unavailable')),
      )
      await clock.advance(5_000)
      while (await operate(deps, forever));

      const { status, done } = await operation(token)
      assert.deepEqual([status, done], ['done', 3], `death at ${deathAt}`)
      for (const id of ids) {
        const retries = (await store.notifications.audit(id)).filter(({ operationId }) => operationId === token)
        assert.equal(retries.length, 1, `death at ${deathAt}`)
      }
      assert.ok((await items(token)).every(({ outcome }) => outcome === 'done'))
    }
  })

  it('that has the same operation as another one does no item twice', async (t) => {
    const { parked, preview, start, deps, operation, store } = await setup(t, ({ store: real }) => ({
      store: {
        ...real,
        operations: {
          ...real.operations,
          // The lease is lost.
          take: () => real.operations.take(0),
        },
      },
    }))
    const ids = await parked(20)
    const { token } = await preview('retry')
    await start(token)
    await Promise.all([operate(deps, forever), operate(deps, forever), operate(deps, forever)])
    while (await operate(deps, forever));

    assert.deepEqual([(await operation(token)).status, (await operation(token)).done], ['done', 20])
    for (const id of ids) {
      const retries = (await store.notifications.audit(id)).filter(({ action }) => action === 'retry')
      assert.equal(retries.length, 1)
    }
  })

  it('goes on where a row is beyond it, and says so in the log', async (t) => {
    const { parked, preview, start, deps, operation, items, logger } = await setup(t)
    await parked(2)
    const { token } = await preview('retry', { options: { rerender: true } })
    await start(token)
    let calls = 0
    const { rerender } = deps.rewrite
    const rewrite = {
      ...deps.rewrite,
      rerender: async (notification: NotificationView) => {
        if (++calls === 1) throw new TypeError('no such method')
        return rerender(notification)
      },
    }
    await operate({ ...deps, rewrite }, forever)

    const { status, done, failed } = await operation(token)
    assert.deepEqual([status, done, failed], ['done', 1, 1])
    assert.ok((await items(token)).some(({ why }) => why === 'internal: see the server’s log'))
    assert.ok(
      logger.lines.some(({ level, message }) => level === 'error' && message === 'an item of an operation failed'),
    )
  })

  it('stops in the middle when it is told to, and loses nothing', async (t) => {
    const { parked, preview, start, deps, operation } = await setup(t)
    await parked(10)
    const { token } = await preview('retry')
    await start(token)
    const stop = new AbortController()
    const { act } = deps.store.notifications
    let acts = 0
    const notifications = {
      ...deps.store.notifications,
      act: (request: Parameters<typeof act>[0]) => {
        if (++acts === 3) stop.abort()
        return act(request)
      },
    }
    await operate({ ...deps, store: { ...deps.store, notifications } }, stop.signal)
    const before = (await operation(token)).done
    assert.ok(before >= 3 && before < 10)
    await operate(deps, forever)

    assert.deepEqual([(await operation(token)).status, (await operation(token)).done], ['done', 10])
  })
})
