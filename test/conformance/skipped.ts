import assert from 'node:assert/strict'
import type { Channel } from '../../packages/pillarbox/src/model/channel.ts'
import type { NewNotification, NotificationView } from '../../packages/pillarbox/src/model/notification.ts'
import { planEvents, planSchedules } from '../support/planning.ts'
import {
  type Bench,
  bornSkipped,
  completion,
  dueLater,
  dueNow,
  type Lane,
  only,
  type Rule,
  receiptOf,
  replacementOn,
} from './fixtures.ts'

/** Whoever is not notified leaves a row that says why: one for each place and channel of an event, and never two. */
export function skippedRules(rule: Rule): void {
  rule('what was born skipped rests there, is listed and counted as such, and is work for nobody', async (bench) => {
    const { store, lane, view, newId } = bench
    const target = await lane()
    const id = newId()

    const planned = await planOne(bench, target, (eventId) => [{ id, ...bornSkipped(eventId, '0') }])

    assert.deepEqual([planned.inserted, planned.lanes], [1, []])
    const { status, reason, lastError, place, duplicateOf } = await view(id)
    assert.deepEqual([status, reason, lastError], ['skipped', 'no_address', 'no address for email'])
    assert.deepEqual([place, duplicateOf], ['0', null])
    const { tenantId } = target
    const listed = await store.notifications.list({ tenantId, status: ['skipped'] }, { limit: 10 })
    const byReason = await store.notifications.list({ tenantId, reason: 'no_address' }, { limit: 10 })
    assert.deepEqual(
      [...listed.items, ...byReason.items].map((one) => one.id),
      [id, id],
    )
    const counts = await store.notifications.countByStatus(tenantId)
    assert.deepEqual([counts.skipped, counts.sent, counts.queued], [1, 0, 0])
  })

  rule('a key that another event has makes a skipped notification that names the first', async (bench) => {
    const { lane, newId, view } = bench
    const target = await lane()
    const [first, second] = [newId(), newId()]
    const told = { place: '0', idempotencyKey: 'told-once', fallback: ['sms' as const] }
    await planOne(bench, target, (eventId) => [{ id: first, eventId, ...told }])

    const planned = await planOne(bench, target, (eventId) => [{ id: second, eventId, ...told }])

    assert.deepEqual([planned.inserted, planned.lanes], [1, []])
    const { status, reason, duplicateOf, content, accountId, fallback } = await view(second)
    assert.deepEqual([status, reason, duplicateOf], ['skipped', 'duplicate', first])
    assert.deepEqual([content, accountId, fallback], [null, null, ['sms']])
    assert.equal((await view(first)).status, 'queued')
  })

  rule('a duplicate says so where the first was called off', async (bench) => {
    const { store, lane, newId, view } = bench
    const target = await lane()
    const [first, second] = [newId(), newId()]
    const told = { place: '0', idempotencyKey: 'told-once' }
    await planOne(bench, target, (eventId) => [{ id: first, eventId, ...told }])
    await store.notifications.act({ tenantId: target.tenantId, id: first, action: 'cancel', actor: 'key:ada' })

    await planOne(bench, target, (eventId) => [{ id: second, eventId, ...told }])

    assert.equal((await view(second)).lastError, `Notification ${first} was to tell the same, and is cancelled`)
  })

  rule('one that a later event called off untold gives its key to the next that may have it', async (bench) => {
    const { store, lane, newId, view, event, claim, worker } = bench
    const target = await lane()
    const { tenantId } = target
    const entity = { type: 'trip', id: '7' }
    const told = { place: '0', idempotencyKey: 'trip-7-at-nine', entity, eventType: 'trip.reminder' }
    const plan = async (id: string, changes: Partial<NewNotification> = {}) => {
      await bench.advance(2)
      return planOne(bench, target, (eventId) => [{ id, eventId, ...told, followsCancelled: true, ...changes }])
    }
    const callOff = async () => {
      await bench.advance(2)
      await store.events.insert([event(tenantId, { type: 'trip.moved', entity })])
      const cancels = { eventTypes: ['trip.reminder'], replaces: false }
      await planEvents(store, 10, () => ({ ...dueNow(newId()), cancels }))
    }
    const [first, second, third, fourth] = [newId(), newId(), newId(), newId()]

    await plan(first)
    await callOff()
    const again = await plan(second)
    assert.deepEqual([again.inserted, again.lanes, again.duplicates], [1, [target.id], undefined])
    assert.deepEqual([(await view(first)).status, (await view(second)).status], ['cancelled', 'queued'])
    assert.equal((await view(first)).idempotencyKey, `cancelled:${first}`)
    assert.equal((await view(second)).idempotencyKey, told.idempotencyKey)
    assert.equal((await plan(third)).duplicates?.length, 1)
    assert.equal((await view(third)).duplicateOf, second)

    const by = await worker()
    const [claimed] = await claim(by, target)
    assert.ok(claimed)
    await store.dispatch.complete(by, [
      completion(claimed, 'retrying', { outcome: 'unknown', possibleDuplicate: true, delayMs: 60_000 }),
    ])
    await callOff()
    assert.equal((await view(second)).status, 'cancelled')
    await plan(fourth)
    assert.equal((await view(fourth)).duplicateOf, second, 'somebody may have heard of it')
  })

  rule('one that was called off keeps its key where nobody may have it', async (bench) => {
    const { store, lane, newId, view, event } = bench
    const target = await lane()
    const entity = { type: 'trip', id: '7' }
    const told = { place: '0', idempotencyKey: 'trip-7', entity, eventType: 'trip.reminder' }
    const [first, second] = [newId(), newId()]
    await planOne(bench, target, (eventId) => [{ id: first, eventId, ...told }])
    await bench.advance(2)
    await store.events.insert([event(target.tenantId, { type: 'trip.moved', entity })])
    await planEvents(store, 10, () => {
      return { ...dueNow(newId()), cancels: { eventTypes: ['trip.reminder'], replaces: false } }
    })

    await planOne(bench, target, (eventId) => [{ id: second, eventId, ...told }])

    assert.deepEqual([(await view(second)).reason, (await view(second)).duplicateOf], ['duplicate', first])
  })

  rule('of two events of one batch with one key, the second is the duplicate', async (bench) => {
    const { store, lane, event, notification, newId, view } = bench
    const target = await lane()
    const ids = new Map<string, string>()
    for (const id of ['one', 'two']) {
      await store.events.insert([event(target.tenantId, { id })])
      await bench.advance(2)
    }

    await planEvents(store, 10, ({ id: eventId }) => {
      const id = newId()
      ids.set(eventId, id)
      return dueNow(newId(), [notification(target, { id, eventId, place: '0', idempotencyKey: 'told-once' })])
    })

    assert.equal((await view(ids.get('one') ?? '')).status, 'queued')
    const { status, duplicateOf } = await view(ids.get('two') ?? '')
    assert.deepEqual([status, duplicateOf], ['skipped', ids.get('one')])
  })

  rule('a second place of the same event with the same key is a duplicate, too', async (bench) => {
    const { lane, newId, view } = bench
    const target = await lane()
    const [first, second] = [newId(), newId()]

    await planOne(bench, target, (eventId) => [
      { id: first, eventId, place: '0', idempotencyKey: 'ada' },
      { id: second, eventId, place: '7', idempotencyKey: 'ada' },
    ])

    assert.deepEqual([(await view(second)).reason, (await view(second)).duplicateOf], ['duplicate', first])
  })

  rule('the same place planned again, told or skipped, leaves no second row', async (bench) => {
    const { store, lane, event, notification, newId, advance } = bench
    const target = await lane()
    const { tenantId } = target
    const { id: eventId } = only(await store.events.insert([event(tenantId)]))
    await planEvents(store, 10, () => dueLater(newId(), 0))
    const rows = (): NewNotification[] => [
      notification(target, { eventId, place: '0', idempotencyKey: 'ada' }),
      notification(target, bornSkipped(eventId, '1')),
    ]
    const progress = { cursor: 'x', planned: 1, total: 2 }
    await planSchedules(store, 10, () => ({ kind: 'part', notifications: rows(), progress }))
    await advance(2)

    const again = await planSchedules(store, 10, () => ({ kind: 'notifications', notifications: rows() }))

    assert.equal(again.inserted, 0)
    const { queued, skipped } = await store.notifications.countByStatus(tenantId)
    assert.deepEqual([queued, skipped], [1, 1])
  })

  rule('of two planners that write one key at once, one tells and the other says that it did not', async (bench) => {
    const { store, lane, event, notification, newId } = bench
    const target = await lane()
    const { tenantId } = target
    await store.events.insert([event(tenantId, { id: 'one' }), event(tenantId, { id: 'two' })])
    const plan = ({ id: eventId }: { id: string }) =>
      dueNow(newId(), [notification(target, { eventId, place: '0', idempotencyKey: 'told-once' })])

    // On SQLite both read the same event first, and only one of them writes it: the next round plans the other.
    await Promise.all([planEvents(store, 1, plan), planEvents(store, 1, plan)])
    await planEvents(store, 2, plan)

    const { items } = await store.notifications.list({ tenantId }, { limit: 10 })
    const told = items.filter(({ status }) => status === 'queued')
    assert.deepEqual([items.length, told.length], [2, 1])
    assert.equal(items.find(({ status }) => status === 'skipped')?.duplicateOf, only(told).id)
  })

  rule('a skipped one is retried with what planning answers now, and only with that', async (bench) => {
    const { store, lane, newId, view } = bench
    const target = await lane()
    const { tenantId } = target
    const id = newId()
    await planOne(bench, target, (eventId) => [{ id, ...bornSkipped(eventId, '0') }])
    const request = { tenantId, id, action: 'retry', actor: 'key:ada' } as const

    const without = await store.notifications.act(request)
    const moved = await store.notifications.act({ ...request, replacement: replacementOn(target) })

    assert.deepEqual([without?.moved, moved?.moved, moved?.from], [false, true, 'skipped'])
    const { status, reason, idempotencyKey, place } = await view(id)
    assert.deepEqual([status, reason, idempotencyKey, place], ['queued', null, 'planned-anew', '0'])
    const audit = (await store.notifications.audit(id)).at(-1)
    assert.deepEqual([audit?.action, audit?.from, audit?.to], ['retry', 'skipped', 'queued'])
  })

  rule('a skipped one cannot be cancelled or parked: it never was to be sent; it can be given up', async (bench) => {
    const { store, lane, newId, view } = bench
    const target = await lane()
    const id = newId()
    await planOne(bench, target, (eventId) => [{ id, ...bornSkipped(eventId, '0') }])
    const by = { tenantId: target.tenantId, id, actor: 'key:ada' }

    for (const action of ['cancel', 'park'] as const) {
      const answer = await store.notifications.act({ ...by, action })
      assert.deepEqual([answer?.moved, answer?.from], [false, 'skipped'], action)
    }
    const answer = await store.notifications.act({ ...by, action: 'discard' })
    assert.deepEqual([answer?.moved, answer?.from], [true, 'skipped'])
    const { status, reason, lastError } = await view(id)
    assert.deepEqual([status, reason, lastError], ['discarded', 'discarded_by_operator', 'no address for email'])
  })

  rule('a skipped one stays skipped for the reason that stands in the way of its retry', async (bench) => {
    const { store, lane, newId, view, enqueue } = bench
    const target = await lane()
    const { tenantId } = target
    const id = newId()
    await planOne(bench, target, (eventId) => [{ id, ...bornSkipped(eventId, '0') }])
    const obstacle = { reason: 'no_template', error: 'no active template' } as const
    const request = { tenantId, action: 'retry', actor: 'key:ada', note: 'once more', obstacle } as const

    const answer = await store.notifications.act({ ...request, id })

    assert.deepEqual([answer?.moved, answer?.from], [true, 'skipped'])
    const { status, reason, lastError } = await view(id)
    assert.deepEqual([status, reason, lastError], ['skipped', 'no_template', 'no active template'])
    const [audit, ...more] = await store.notifications.audit(id)
    assert.deepEqual([audit?.action, audit?.from, audit?.to, more], ['retry', 'skipped', 'skipped', []])
    assert.deepEqual([audit?.reason, audit?.note], ['no_address → no_template', 'once more'])
    const parked = only(await enqueue(target, 1))
    await store.notifications.act({ tenantId, id: parked, action: 'park', actor: 'key:ada' })
    assert.equal((await store.notifications.act({ ...request, id: parked }))?.moved, false, 'nothing else is skipped')
  })

  rule('a schedule that told nobody is completed by what is retried of it, and by nothing else', async (bench) => {
    const { store, lane, event, notification, newId, schedule } = bench
    const target = await lane()
    const { tenantId } = target
    const untold = { reason: 'no_recipient', error: 'No recipient: nobody' } as const
    const made: { scheduleId: string; ids: string[] }[] = []
    for (let i = 0; i < 2; i++) {
      const [scheduleId, ids] = [newId(), [newId(), newId()]]
      const { id: eventId } = only(await store.events.insert([event(tenantId)]))
      const rows = ids.map((id, n) => notification(target, { id, scheduleId, ...bornSkipped(eventId, String(n)) }))
      await planEvents(store, 10, () => ({ ...dueNow(scheduleId, rows), untold }))
      made.push({ scheduleId, ids })
    }
    const [retried, unplanned] = made
    assert.ok(retried && unplanned)
    await store.schedules.act({ tenantId, id: unplanned.scheduleId, action: 'replay', actor: 'key:ada' })
    await store.plan.deferSchedule({ tenantId, id: unplanned.scheduleId }, 'refused', null)

    for (const { ids } of made)
      for (const [n, id] of ids.entries())
        await store.notifications.act({
          tenantId,
          id,
          action: 'retry',
          actor: 'key:bo',
          replacement: { ...replacementOn(target), idempotencyKey: `${id}-${n}` },
        })

    const { status, lastError, completedAt } = await schedule(tenantId, retried.scheduleId)
    assert.deepEqual([status, lastError, completedAt !== null], ['completed', null, true])
    assert.equal((await schedule(tenantId, unplanned.scheduleId)).status, 'failed')
  })

  rule('a schedule that told nobody has failed, with its words, whether it was due at once or later', async (bench) => {
    const { store, event, tenant, newId, schedule } = bench
    const tenantId = await tenant()
    const untold = { reason: 'no_templates_found', error: 'Template not found: none' } as const
    const [now, later] = [newId(), newId()]
    await store.events.insert([event(tenantId)])
    await planEvents(store, 10, () => ({ ...dueNow(now), untold }))
    await store.events.insert([event(tenantId)])
    await planEvents(store, 10, () => dueLater(later, 0))
    await planSchedules(store, 10, () => ({ kind: 'notifications', notifications: [], untold }))

    for (const id of [now, later]) {
      const { status, lastError, attemptCount, completedAt } = await schedule(tenantId, id)
      assert.deepEqual([status, lastError], ['failed', 'Template not found: none'])
      assert.deepEqual([attemptCount, completedAt], [1, null])
    }
  })

  rule('a failed schedule is replayed from its beginning, and knows that it was', async (bench) => {
    const { store, event, tenant, newId, schedule } = bench
    const tenantId = await tenant()
    const id = newId()
    await store.events.insert([event(tenantId)])
    await planEvents(store, 10, () => dueLater(id, 0))
    const progress = { cursor: 'x', planned: 1, total: 2 }
    await planSchedules(store, 10, () => ({ kind: 'part', notifications: [], progress }))
    await bench.advance(2)
    await planSchedules(store, 10, () => ({ kind: 'failed', reason: 'no_recipient', error: 'nobody' }))

    await store.schedules.act({ tenantId, id, action: 'replay', actor: 'key:ada' })

    const { status, isReplayed, progress: left } = await schedule(tenantId, id)
    assert.deepEqual([status, isReplayed, left], ['pending', true, null])
  })

  rule('a schedule is cancelled together with what was skipped by that', async (bench) => {
    const { store, lane, event, notification, newId, schedule, view } = bench
    const target = await lane()
    const [scheduleId, id] = [newId(), newId()]
    const { id: eventId } = only(await store.events.insert([event(target.tenantId)]))
    const reason = 'cancelled_by_host'
    const skipped = notification(target, { id, ...bornSkipped(eventId, '0') })

    await planEvents(store, 10, () => {
      const why = { reason, error: 'called off' } as const
      return { kind: 'cancelled', scheduleId, ...why, notifications: [skipped], cancels: null }
    })

    assert.equal((await schedule(target.tenantId, scheduleId)).status, 'cancelled')
    assert.equal((await view(id)).status, 'skipped')
  })

  rule('what a chain passed over is written with the notification that takes over', async (bench) => {
    const { store, lane, worker, enqueue, claim, view, notification, newId } = bench
    const email = await lane()
    const sms = await lane({ tenantId: email.tenantId, channel: 'sms' })
    const by = await worker()
    const skippedBy = (id: string) => notification(email, { id, ...bornSkipped(newId(), '0') })
    const [called, reported] = [newId(), newId()]
    const [failed] = await enqueue(email, 1, { fallback: ['push', 'sms'] })
    const next = { ...notification(sms, { fallbackOf: failed ?? null }), passedOver: [skippedBy(called)] }
    await store.dispatch.complete(by, [completion(only(await claim(by, email)), 'failed', { next })])
    const [sent] = await enqueue(email, 1, { fallback: ['push', 'sms'] })
    await store.dispatch.complete(by, [completion(only(await claim(by, email)), 'sent')])
    const taker = { ...notification(sms, { fallbackOf: sent ?? null }), passedOver: [skippedBy(reported)] }
    await store.receipts.merge(receiptOf(email, sent ?? '', 'bounced', { next: taker }))

    assert.deepEqual([(await view(called)).status, (await view(reported)).status], ['skipped', 'skipped'])
    assert.deepEqual([(await view(next.id)).status, (await view(taker.id)).status], ['queued', 'queued'])
  })

  rule('a chain that nobody takes over on ends with a row for each of its channels', async (bench) => {
    const { store, lane, worker, enqueue, claim, view, notification, newId } = bench
    const email = await lane()
    const by = await worker()
    const skippedOf = (of: string | undefined, id: string) => {
      return [notification(email, { id, ...bornSkipped(newId(), '0'), channel: 'push', fallbackOf: of ?? null })]
    }
    const [called, reported, untouched] = [newId(), newId(), newId()]
    const [parked, waiting] = await enqueue(email, 2, { fallback: ['push'] })
    for (const { notificationId, ...rest } of await claim(by, email, 2)) {
      const to = notificationId === parked ? 'parked' : 'retrying'
      const skipped = skippedOf(notificationId, notificationId === parked ? called : untouched)
      await store.dispatch.complete(by, [completion({ notificationId, ...rest }, to, { skipped })])
    }
    const [sent] = await enqueue(email, 1, { fallback: ['push'] })
    await store.dispatch.complete(by, [completion(only(await claim(by, email)), 'sent')])
    await store.receipts.merge(receiptOf(email, sent ?? '', 'bounced', { skipped: skippedOf(sent, reported) }))

    for (const [first = '', id] of [
      [parked, called],
      [sent, reported],
    ]) {
      const { status, fallback, fallbackTo } = await view(first)
      assert.deepEqual([status, fallback, fallbackTo], ['parked', [], null])
      const skipped = await view(id ?? '')
      assert.deepEqual([skipped.status, skipped.channel, skipped.fallbackOf], ['skipped', 'push', first])
    }
    assert.deepEqual((await view(waiting ?? '')).fallback, ['push'], 'it is tried again, and so is its chain')
    assert.equal(await store.notifications.find(email.tenantId, untouched), null)
  })

  rule('recipients × channels = rows + channels held by chains, however its chains go on (P1)', async (bench) => {
    const { store, lane, worker, claim, notification, newId } = bench
    const email = await lane()
    const { tenantId } = email
    const sms = await lane({ tenantId, channel: 'sms' })
    const by = await worker()
    const places = ['0', '1', '2', '3']
    const chain = { channel: 'email', fallback: ['sms', 'push'] } as const
    const plan = () =>
      planOne(bench, email, (eventId) =>
        places.map((place) => ({
          ...chain,
          fallback: [...chain.fallback],
          eventId,
          place,
          idempotencyKey: `told-${place}`,
        })),
      )
    const check = async (events: number): Promise<void> => {
      const { items } = await store.notifications.list({ tenantId }, { limit: 100 })
      const held = items.flatMap(({ fallback, fallbackTo }) => (fallbackTo === null ? fallback : []))
      assert.equal(items.length + held.length, events * places.length * 3)
    }
    const rowOf = ({ eventId, place, id }: NotificationView, channel: Channel) => {
      const skipped = { ...bornSkipped(eventId ?? '', place ?? ''), idempotencyKey: `fallback:${id}:${channel}` }
      return notification(email, { id: newId(), ...skipped, channel, fallbackOf: id })
    }

    await plan()
    await check(1)
    await plan()
    await check(2)
    const [taken, passing, parked, sent] = await claim(by, email, 4)
    assert.ok(taken && passing && parked && sent)
    const [second, third, ended, reported] = await Promise.all(
      [taken, passing, parked, sent].map(({ notificationId }) => bench.view(notificationId)),
    )
    assert.ok(second && third && ended && reported)
    const next = ({ eventId, place, id: fallbackOf }: NotificationView, fallback: Channel[]) =>
      notification(sms, { eventId, place, fallbackOf, channel: 'sms', fallback })
    await store.dispatch.complete(by, [
      completion(taken, 'failed', { next: next(second, ['push']) }),
      completion(passing, 'failed', {
        next: { ...next(third, []), passedOver: [rowOf(third, 'push')] },
      }),
      completion(parked, 'parked', { skipped: [rowOf(ended, 'sms'), rowOf(ended, 'push')] }),
      completion(sent, 'sent'),
    ])
    await check(2)
    const skipped = [rowOf(reported, 'sms'), rowOf(reported, 'push')]
    await store.receipts.merge(receiptOf(email, reported.id, 'bounced', { skipped }))
    await check(2)
  })

  rule(
    'what was done about an event is found: failures, replays, and what people did to its notifications',
    async (bench) => {
      const { store, lane, event, notification, newId } = bench
      const target = await lane()
      const { tenantId } = target
      const [scheduleId, ids] = [newId(), [newId(), newId()] as const]
      const { id: eventId } = only(await store.events.insert([event(tenantId)]))
      await planEvents(store, 10, () => ({ kind: 'failed', reason: 'unknown_event_type', error: 'no such type' }))
      await store.events.replay(tenantId, eventId, 'key:ada')
      const untold = { reason: 'no_recipient', error: 'No recipient: nobody' } as const
      const rows = ids.map((id, n) => notification(target, { id, scheduleId, ...bornSkipped(eventId, String(n)) }))
      await planEvents(store, 10, () => ({ ...dueNow(scheduleId, rows), untold }))
      const [retried, discarded] = ids
      const by = { tenantId, actor: 'key:bo' }
      await store.notifications.act({ ...by, id: discarded, action: 'discard', note: 'gone' })
      await store.notifications.act({ ...by, id: retried, action: 'retry', replacement: replacementOn(target) })

      const about = { eventId, scheduleIds: [scheduleId], notificationIds: [...ids, 'no id at all'] }
      const acts = await store.events.acts(tenantId, about)

      assert.deepEqual(
        acts.map(({ actor, action, subject, notificationId, from, to }) => [
          actor,
          action,
          subject ?? notificationId,
          from,
          to,
        ]),
        [
          ['system', 'fail', `event:${eventId}`, 'pending', 'failed'],
          ['key:ada', 'replay', `event:${eventId}`, 'failed', 'pending'],
          ['system', 'fail', `schedule:${scheduleId}`, null, 'failed'],
          ['key:bo', 'discard', discarded, 'skipped', 'discarded'],
          ['key:bo', 'retry', retried, 'skipped', 'queued'],
          ['key:bo', 'retry', `schedule:${scheduleId}`, 'failed', 'completed'],
        ],
      )
      assert.deepEqual(await store.events.acts(await bench.tenant(), about), [], 'of another tenant')
      assert.deepEqual(
        await store.events.acts(tenantId, { ...about, scheduleIds: [], notificationIds: [] }),
        acts.slice(0, 2),
      )
    },
  )

  rule('what an event was planned as before is found by its places', async (bench) => {
    const { store, lane, event, notification, newId } = bench
    const target = await lane()
    const { tenantId } = target
    const entity = { type: 'trip', id: '7' }
    const { id: eventId } = only(await store.events.insert([event(tenantId, { entity })]))
    const [told, skipped] = [newId(), newId()]
    const rows = [
      notification(target, { id: told, eventId, entity, place: '0' }),
      notification(target, { id: skipped, entity, ...bornSkipped(eventId, '1/44') }),
      notification(target, { eventId, entity, place: '2' }),
      notification(target, { eventId: 'another', entity, place: '0' }),
      notification(target, { eventId, entity, place: null }),
    ]
    await planEvents(store, 10, () => dueNow(newId(), rows))

    const places = ['0', '1/44', '9']
    const request = { tenantId, eventId, entity, places }
    const [found = [], none] = await store.plan.standing([request, { ...request, eventId: 'nothing' }])

    assert.deepEqual(
      found.toSorted((a, b) => (a.place < b.place ? -1 : 1)),
      [
        { id: told, place: '0', channel: 'email', status: 'queued' },
        { id: skipped, place: '1/44', channel: 'email', status: 'skipped' },
      ],
    )
    assert.deepEqual(none, [])
  })
}

/** Publishes an event and plans it, due now, as these notifications. */
async function planOne(
  { store, event, notification, newId }: Bench,
  lane: Lane,
  rows: (eventId: string) => Partial<NewNotification>[],
) {
  await store.events.insert([event(lane.tenantId)])
  return planEvents(store, 10, ({ id }) =>
    dueNow(
      newId(),
      rows(id).map((changes) => notification(lane, changes)),
    ),
  )
}
