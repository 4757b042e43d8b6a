import assert from 'node:assert/strict'
import type { Content, NewNotification } from '../../packages/pillarbox/src/model/notification.ts'
import { ACTIONS, type Action, NOTIFICATION_STATUSES } from '../../packages/pillarbox/src/model/notification.ts'
import type { REASONS } from '../../packages/pillarbox/src/model/reason.ts'
import type { NotificationFilter } from '../../packages/pillarbox/src/plan/notification-store.ts'
import {
  allPages,
  assertBetween,
  at,
  type Bench,
  bornParked,
  completion,
  content,
  FAR_MS,
  only,
  REACHABLE,
  type Rule,
  reach,
  replacementOn,
  sum,
} from './fixtures.ts'

/** The ledger: one row per key, found by its tenant only, and always in exactly one status. */
export function notificationRules(rule: Rule): void {
  insertRules(rule)
  readRules(rule)
  ageRules(rule)
  actRules(rule)
}

function ageRules(rule: Rule): void {
  for (const actions of [['retry'], ['park', 'retry']] as const)
    rule(`flags an uncertain notification that is sent again (${actions.join(', then ')})`, async (bench) => {
      const { store, lane, enqueue, worker, claim, view } = bench
      const target = await lane()
      const [id = ''] = await enqueue(target)
      const by = await worker()
      const held = completion(only(await claim(by, target)), 'uncertain', { possibleDuplicate: false })
      await store.dispatch.complete(by, [held])
      assert.equal((await view(id)).possibleDuplicate, false)

      for (const action of actions)
        await store.notifications.act({ tenantId: target.tenantId, id, action, actor: 'system' })

      assert.equal((await view(id)).possibleDuplicate, true)
    })

  rule('a retry by hand does not bring forward what is not due yet', async ({ store, lane, enqueue, view }) => {
    const target = await lane()
    const dueAt = (await store.now()) + FAR_MS
    const [id = ''] = await enqueue(target, 1, { dueAt })
    for (const action of ['park', 'retry'] as const)
      await store.notifications.act({ tenantId: target.tenantId, id, action, actor: 'system' })

    assert.equal((await view(id)).nextAttemptAt, dueAt)
    assert.deepEqual(await store.dispatch.dueLanes(null, 10), [])
  })

  rule(
    'finds what is stuck: live, and due for longer than asked',
    async ({ store, lane, enqueue, worker, claim, advance }) => {
      const target = await lane()
      const [waiting = '', sending = ''] = await enqueue(target, 2)
      await enqueue(target, 1, { dueAt: (await store.now()) + FAR_MS })
      await store.notifications.act({ tenantId: target.tenantId, id: waiting, action: 'park', actor: 'system' })
      await store.notifications.act({ tenantId: target.tenantId, id: waiting, action: 'retry', actor: 'system' })
      await claim(await worker(), target, 1)
      await advance(20)
      const stuck = async (stuckForMs: number) =>
        (await store.notifications.list({ tenantId: target.tenantId, stuckForMs }, { limit: 10 })).items
          .map(({ id }) => id)
          .sort()

      assert.deepEqual(await stuck(10), [waiting, sending].sort())
      assert.deepEqual(await stuck(FAR_MS), [])
    },
  )

  rule(
    'what is sent through a provider without receipts is delivered when it is accepted, and never stale',
    async (bench) => {
      const { store, advance, view } = bench
      const untold = await reach(bench, 'sent')
      const told = await reach(bench, 'sent', undefined, { provider: 'meta' })
      await advance(10)

      const { sentAt, deliveredAt } = await view(untold.id)
      assert.ok(sentAt !== null)
      assert.equal(deliveredAt, sentAt)
      assert.equal((await view(told.id)).deliveredAt, null)
      for (const [{ lane }, expected] of [
        [untold, []],
        [told, [told.id]],
      ] as const) {
        const { items } = await store.notifications.list({ tenantId: lane.tenantId, staleForMs: 5 }, { limit: 10 })
        assert.deepEqual(
          items.map(({ id }) => id),
          expected,
        )
      }
      const { items } = await store.notifications.list({ tenantId: untold.lane.tenantId }, { limit: 10 })
      assert.equal(items[0]?.deliveredAt, sentAt)
    },
  )

  rule('finds what is stale: sent longer ago than asked', async ({ store, lane, enqueue, worker, claim, advance }) => {
    const target = await lane()
    await enqueue(target, 2, { provider: 'meta' })
    const by = await worker()
    const [first] = await claim(by, target, 1)
    assert.ok(first)
    await store.dispatch.complete(by, [completion(first, 'sent')])
    await advance(20)
    const stale = async (staleForMs: number) =>
      (await store.notifications.list({ tenantId: target.tenantId, staleForMs }, { limit: 10 })).items.map(
        ({ id }) => id,
      )

    assert.deepEqual(await stale(5), [first.notificationId])
    assert.deepEqual(await stale(FAR_MS), [])
  })

  rule(
    'tells how long the longest-waiting due work has been due',
    async ({ store, lane, enqueue, worker, claim, event, advance }) => {
      const target = await lane()
      await enqueue(target, 1, { dueAt: (await store.now()) + FAR_MS })
      assert.equal(await store.notifications.oldestDueMs(), null)

      await enqueue(target)
      await advance(20)
      assertBetween((await store.notifications.oldestDueMs()) ?? -1, 15, FAR_MS)
      await claim(await worker(), target, 1)
      assert.equal(await store.notifications.oldestDueMs(), null)

      await store.events.insert([event(target.tenantId)])
      await advance(20)
      assertBetween((await store.notifications.oldestDueMs()) ?? -1, 15, FAR_MS)
    },
  )
}

function insertRules(rule: Rule): void {
  rule('keeps every field of a notification', async ({ store, lane, notification, newId, view }) => {
    const target = await lane()
    const before = await store.now()
    const given = notification(target, {
      to: {
        name: 'Ada',
        email: 'ada@example.test',
        phone: '+49151',
        userId: 'u',
        deviceToken: 'd',
        platform: 'fcm',
        url: 'https://x.test/',
      },
      content: {
        subject: 'Hi',
        body: '<p>Hi</p>',
        data: { a: [1, null, { b: 'c' }] },
        providerTemplate: { name: 'hi', language: 'en' },
      },
      contactId: newId(),
      conversationId: newId(),
      policy: { retry: { maxAttempts: 2, fixed: 'PT1M' }, onUndeliverable: 'fail' },
      eventId: 'event-1',
      eventType: 'booking.confirmed',
      scheduleId: newId(),
      entity: { type: 'booking', id: '42' },
      templateId: newId(),
      templateVersion: 3,
      locale: 'de-DE',
      correlationId: 'corr-1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      executionId: 'exec-1',
      parentExecutionId: 'exec-0',
      site: 'plant-7',
      triggeredBy: 'key:ada',
      fallback: ['sms', 'push'],
      fallbackOf: newId(),
      correctedFrom: newId(),
      warnings: [{ code: 'missing_placeholder', key: 'guestName', message: 'guestName is missing' }],
      dueAt: before - 1_000,
      expiresAt: before + FAR_MS,
    })

    await store.notifications.insert([given])

    const { stopped: _, ...expected } = given
    const { createdAt, nextAttemptAt: __, ...kept } = await view(given.id)
    assertBetween(createdAt, before, await store.now())
    assert.deepEqual(kept, {
      ...expected,
      resolvedTargets: null,
      isSealed: false,
      isScrubbed: false,
      status: 'queued',
      reason: null,
      lastError: null,
      attemptCount: 0,
      possibleDuplicate: false,
      providerMessageId: null,
      fallbackTo: null,
      correctedTo: null,
      sentAt: null,
      deliveredAt: null,
      readAt: null,
    })
  })

  rule('keeps a notification that says no more than it must', async ({ store, lane, notification, view }) => {
    const given = notification(await lane())

    await store.notifications.insert([given])

    const kept = await view(given.id)
    assert.deepEqual(
      [kept.entity, kept.eventId, kept.fallback, kept.warnings, kept.site, kept.dueAt, kept.expiresAt],
      [null, null, [], [], null, null, null],
    )
    assert.deepEqual([kept.contactId, kept.conversationId, kept.policy], [null, null, null])
    assert.deepEqual(kept.content, content('Hello'))
  })

  rule('answers notifications in the order they were given', async ({ store, lane, notification }) => {
    const target = await lane()
    const rows = [1, 2, 3, 4].map(() => notification(target)).toReversed()

    const answers = await store.notifications.insert(rows)

    assert.deepEqual(
      answers,
      rows.map(({ id }) => ({ id, duplicate: false })),
    )
  })

  rule('a repeated key answers the first one’s id and writes nothing', async ({ store, lane, notification, view }) => {
    const target = await lane()
    const first = notification(target, { idempotencyKey: 'order-123-paid' })
    await store.notifications.insert([first])
    const kept = await view(first.id)
    const repeat = notification(target, { idempotencyKey: 'order-123-paid', content: content('other'), site: 'b' })

    const answers = await store.notifications.insert([notification(target), repeat])

    assert.deepEqual(answers[1], { id: first.id, duplicate: true })
    assert.equal(answers[0]?.duplicate, false)
    assert.equal(await store.notifications.find(null, repeat.id), null)
    assert.deepEqual(await view(first.id), kept)
  })

  rule('a key repeated after its notification is over is still a repeat', async (bench) => {
    const { store, lane, notification, worker, claim } = bench
    const target = await lane()
    const first = notification(target)
    await store.notifications.insert([first])
    const by = await worker()
    await store.dispatch.complete(by, [completion(only(await claim(by, target)), 'sent')])

    const answers = await store.notifications.insert([notification(target, { idempotencyKey: first.idempotencyKey })])

    assert.deepEqual(answers, [{ id: first.id, duplicate: true }])
    assert.equal((await store.notifications.countByStatus(null)).queued, 0)
  })

  rule('a key repeated inside one call answers the first one’s id', async ({ store, lane, notification }) => {
    const target = await lane()
    const rows = [1, 2, 3].map(() => notification(target, { idempotencyKey: 'same' }))

    const answers = await store.notifications.insert(rows)

    const first = at(rows, 0).id
    assert.deepEqual(answers, [
      { id: first, duplicate: false },
      { id: first, duplicate: true },
      { id: first, duplicate: true },
    ])
    assert.equal((await store.notifications.countByStatus(null)).queued, 1)
  })

  rule('of the same key from many callers at once, one row is written and all are told its id', async (bench) => {
    const { store, lane, notification } = bench
    const target = await lane()
    const call = (reverse: boolean): Promise<{ id: string; duplicate: boolean }[]> => {
      const rows = ['a', 'b'].map((key) => notification(target, { idempotencyKey: key }))
      return store.notifications.insert(reverse ? rows.reverse() : rows)
    }

    // Half of them in the opposite order: writers that lock rows in the order given would wait for each other.
    const answers = (await Promise.all(Array.from({ length: 8 }, (_, i) => call(i % 2 === 1)))).flat()

    assert.equal(answers.filter(({ duplicate }) => !duplicate).length, 2)
    const { items } = await store.notifications.list({ tenantId: target.tenantId }, { limit: 10 })
    assert.deepEqual(new Set(answers.map(({ id }) => id)), new Set(items.map(({ id }) => id)))
    assert.equal(items.length, 2)
  })

  rule('one key of two tenants is two notifications', async ({ store, lane, notification }) => {
    const rows = [await lane(), await lane()].map((target) => notification(target, { idempotencyKey: 'same' }))

    const answers = await store.notifications.insert(rows)

    assert.deepEqual(
      answers,
      rows.map(({ id }) => ({ id, duplicate: false })),
    )
  })

  rule('writing no notifications answers nothing', async ({ store }) => {
    assert.deepEqual(await store.notifications.insert([]), [])
  })

  rule('a row that waits for nobody is refused, and the whole call with it', async ({ store, lane, notification }) => {
    const target = await lane()
    const [good, withoutLane] = [notification(target), notification(target, { accountId: null })]

    await assert.rejects(store.notifications.insert([good, withoutLane]))

    assert.equal(await store.notifications.find(null, good.id), null)
    assert.equal(await store.notifications.find(null, withoutLane.id), null)
    assert.equal(sum(await store.notifications.countByStatus(null)), 0)
  })

  rule('an id that is taken under another key is refused, not mistaken for a repeat', async (bench) => {
    const { store, lane, notification, view } = bench
    const target = await lane()
    const first = notification(target)
    await store.notifications.insert([first])

    await assert.rejects(store.notifications.insert([notification(target, { id: first.id })]))

    assert.equal((await view(first.id)).idempotencyKey, first.idempotencyKey)
  })

  rule('a notification that is due later says when', async ({ store, lane, notification, view }) => {
    const dueAt = (await store.now()) + FAR_MS
    const given = notification(await lane(), { dueAt })

    await store.notifications.insert([given])

    const { status, nextAttemptAt } = await view(given.id)
    assert.deepEqual([status, nextAttemptAt], ['queued', dueAt])
  })

  rule('one that is born parked is visible, says why, and waits for no worker', async (bench) => {
    const { store, lane, notification, view } = bench
    const given = notification(await lane(), bornParked())

    const answers = await store.notifications.insert([given])

    assert.deepEqual(answers, [{ id: given.id, duplicate: false }])
    const { status, reason, lastError, accountId, provider, content, nextAttemptAt, attemptCount } = await view(
      given.id,
    )
    assert.deepEqual(
      { status, reason, lastError, accountId, provider, content, nextAttemptAt, attemptCount },
      {
        status: 'parked',
        reason: 'no_active_channels',
        lastError: 'the tenant has no active email account',
        accountId: null,
        provider: null,
        content: null,
        nextAttemptAt: null,
        attemptCount: 0,
      },
    )
    assert.deepEqual(await store.dispatch.dueLanes(null, 10), [])
  })
}

function readRules(rule: Rule): void {
  for (const status of REACHABLE)
    rule(`a notification that is ${status} is told so by find, list and count alike`, async (bench) => {
      const { store, lane, enqueue, view } = bench
      const { id, lane: target } = await reach(bench, status)
      const other = await lane({ tenantId: target.tenantId })
      if (status !== 'queued') await enqueue(other)

      assert.equal((await view(id)).status, status)
      const listed = await store.notifications.list({ status: [status] }, { limit: 10 })
      const { content: _, ...known } = await view(id)
      assert.deepEqual(listed.items, [known])
      const counts = await store.notifications.countByStatus(target.tenantId)
      assert.deepEqual(Object.keys(counts).sort(), [...NOTIFICATION_STATUSES].sort())
      assert.equal(counts[status], 1)
      assert.equal(sum(counts), status === 'queued' ? 1 : 2)
    })

  rule('shows a reason and an error exactly where a notification has stopped', async (bench) => {
    for (const status of REACHABLE) {
      const { reason, lastError } = await bench.view((await reach(bench, status)).id)
      const stopped = ['parked', 'uncertain', 'failed', 'discarded', 'cancelled'].includes(status)
      assert.equal(reason !== null, stopped, `${status}: ${reason}`)
      if (status === 'queued' || status === 'sent') assert.equal(lastError, null, status)
      if (status === 'retrying') assert.equal(lastError, 'try again')
      if (status === 'parked') assert.equal(lastError, 'no such user')
    }
  })

  rule(
    'a notification of another tenant, or of nobody, is not found',
    async ({ store, lane, enqueue, tenant, newId }) => {
      const target = await lane()
      const id = only(await enqueue(target))

      assert.equal((await store.notifications.find(target.tenantId, id))?.id, id)
      assert.equal((await store.notifications.find(null, id))?.id, id)
      assert.equal(await store.notifications.find(await tenant(), id), null)
      assert.equal(await store.notifications.find(target.tenantId, newId()), null)
      assert.equal(await store.notifications.find(target.tenantId, 'no id at all'), null)
      assert.equal(await store.notifications.find(null, ''), null)
    },
  )

  rule('what never was has no attempts and no history', async ({ store, newId }) => {
    for (const id of [newId(), 'no id at all']) {
      assert.deepEqual(await store.notifications.attempts(id), [])
      assert.deepEqual(await store.notifications.audit(id), [])
    }
  })

  filterRules(rule)

  rule('a span of time filters by when a notification was written', async ({ store, lane, enqueue, advance }) => {
    const target = await lane()
    const old = only(await enqueue(target))
    await advance(10)
    const middle = await store.now()
    await advance(10)
    const young = only(await enqueue(target))
    const ids = async (filter: NotificationFilter): Promise<string[]> =>
      (await store.notifications.list(filter, { limit: 10 })).items.map(({ id }) => id)

    assert.deepEqual(await ids({ from: middle }), [young])
    assert.deepEqual(await ids({ to: middle }), [old])
    assert.deepEqual(await ids({ from: middle, to: middle }), [])
    assert.deepEqual(await ids({ tenantId: target.tenantId, from: 0 }), [young, old])
  })

  rule('lists newest first, at most the limit, and says when there is no more', async ({ store, lane, enqueue }) => {
    const target = await lane()
    const ids = await enqueue(target, 6)

    const first = await store.notifications.list({ tenantId: target.tenantId }, { limit: 4 })
    assert.ok(first.nextCursor !== null)
    const second = await store.notifications.list({ tenantId: target.tenantId }, { limit: 4, cursor: first.nextCursor })

    assert.deepEqual(
      [...first.items, ...second.items].map(({ id }) => id),
      ids.toReversed(),
    )
    assert.equal(second.nextCursor, null)
  })

  rule('pages through notifications without gap or repeat while rows are added', async ({ store, lane, enqueue }) => {
    const lanes = [await lane(), await lane()]
    const ids = (await Promise.all(lanes.map((target) => enqueue(target, 13)))).flat()

    const seen = await allPages(
      (page) => store.notifications.list({}, page),
      5,
      () => enqueue(at(lanes, 0), 2),
    )

    const names = seen.map(({ id }) => id)
    assert.equal(new Set(names).size, names.length, 'a notification came twice')
    for (const id of ids) assert.ok(names.includes(id), `${id} is missing`)
  })

  rule('pages through one status without gap or repeat while rows of all kinds are added', async (bench) => {
    const { store, lane, enqueue } = bench
    const target = await lane()
    const parked: string[] = []
    for (let i = 0; i < 7; i++) {
      parked.push(...(await enqueue(target, 1, bornParked())))
      await enqueue(target, 2)
    }

    const seen = await allPages(
      (page) => store.notifications.list({ tenantId: target.tenantId, status: ['parked', 'failed'] }, page),
      2,
      async () => {
        await enqueue(target, 1, bornParked())
        await enqueue(target, 1)
      },
    )

    const names = seen.map(({ id }) => id)
    assert.equal(new Set(names).size, names.length, 'a notification came twice')
    for (const id of parked) assert.ok(names.includes(id), `${id} is missing`)
    for (const { status } of seen) assert.equal(status, 'parked')
  })

  rule('counts every notification in exactly one status, per tenant and in all', async (bench) => {
    const tenants = [await bench.tenant(), await bench.tenant()] as const
    const expected = { [tenants[0]]: 0, [tenants[1]]: 0 }
    for (const [i, status] of REACHABLE.entries()) {
      const tenantId = at(tenants, i % 2)
      await reach(bench, status, tenantId)
      expected[tenantId] = (expected[tenantId] ?? 0) + 1

      for (const tenantId of tenants)
        assert.equal(sum(await bench.store.notifications.countByStatus(tenantId)), expected[tenantId])
    }
    const all = await bench.store.notifications.countByStatus(null)
    for (const status of NOTIFICATION_STATUSES)
      assert.equal(all[status], (REACHABLE as readonly string[]).includes(status) ? 1 : 0, status)
  })

  rule('counts nothing as zero in every status', async ({ store, tenant }) => {
    for (const tenantId of [null, await tenant(), 'unknown']) {
      const counts = await store.notifications.countByStatus(tenantId)
      assert.deepEqual(Object.keys(counts).sort(), [...NOTIFICATION_STATUSES].sort())
      assert.equal(sum(counts), 0)
    }
  })
}

const SOMEBODY = '019b7a00-0000-7000-8000-00000000000a'
const NOBODY = '019b7a00-0000-7000-8000-00000000000b'

/** Each filter picks the one row made for it and leaves the plain one. */
function filterRules(rule: Rule): void {
  const filters: [string, Partial<NewNotification>, NotificationFilter, NotificationFilter][] = [
    ['channel', { channel: 'sms' }, { channel: 'sms' }, { channel: 'push' }],
    ['event', { eventId: 'order-1' }, { eventId: 'order-1' }, { eventId: 'order' }],
    ['event type', { eventType: 'trip.late' }, { eventType: 'trip.late' }, { eventType: 'trip' }],
    [
      'entity',
      { entity: { type: 'trip', id: '7' } },
      { entityType: 'trip', entityId: '7' },
      { entityType: 'trip', entityId: '8' },
    ],
    ['entity type alone', { entity: { type: 'trip', id: '7' } }, { entityType: 'trip' }, { entityType: 'bus' }],
    ['contact', { contactId: SOMEBODY }, { contactId: SOMEBODY }, { contactId: NOBODY }],
    ['conversation', { conversationId: SOMEBODY }, { conversationId: SOMEBODY }, { conversationId: NOBODY }],
    ['contact that is no id', { contactId: SOMEBODY }, { contactId: SOMEBODY.toUpperCase() }, { contactId: 'nobody' }],
    ['site', { site: 'plant-7' }, { site: 'plant-7' }, { site: 'plant' }],
    ['who triggered it', { triggeredBy: 'key:ada' }, { triggeredBy: 'key:ada' }, { triggeredBy: 'key:bob' }],
    ['status', bornParked(), { status: ['parked', 'uncertain'] }, { status: ['uncertain'] }],
    ['reason', bornParked(), { reason: 'no_active_channels' }, { reason: 'expired' }],
    ['its key', { idempotencyKey: 'order-123' }, { q: 'order-123' }, { q: 'order-12' }],
    ['its address', { to: { email: 'grace@example.test' } }, { q: 'grace@example.test' }, { q: 'grace@example' }],
    ['two things at once', { site: 's', eventType: 't' }, { site: 's', eventType: 't' }, { site: 's', eventType: 'u' }],
  ]
  for (const [what, changes, hit, miss] of filters)
    rule(`lists notifications by ${what}`, async ({ store, lane, tenant, notification, enqueue }) => {
      const target = await lane()
      const given = notification(target, changes)
      await enqueue(target, 2)
      await store.notifications.insert([given])
      const ids = async (filter: NotificationFilter): Promise<string[]> =>
        (await store.notifications.list(filter, { limit: 10 })).items.map(({ id }) => id)

      assert.deepEqual(await ids(hit), [given.id])
      assert.deepEqual(await ids({ tenantId: target.tenantId, ...hit }), [given.id])
      assert.deepEqual(await ids({ tenantId: await tenant(), ...hit }), [])
      assert.deepEqual(await ids(miss), [])
    })

  rule('lists the notifications of an event, and not those of others for the same entity', async (bench) => {
    const { store, lane, event, notification, enqueue } = bench
    const target = await lane()
    const [mine, other] = [event(target.tenantId), event(target.tenantId)]
    await store.events.insert([mine, other])
    await enqueue(target, 2, { eventId: other.id, entity: other.entity })
    const rows = [1, 2].map(() => notification(target, { eventId: mine.id, entity: mine.entity }))
    await store.notifications.insert(rows)

    for (const filter of [{ eventId: mine.id }, { eventId: mine.id, tenantId: target.tenantId }]) {
      const { items } = await store.notifications.list(filter, { limit: 10 })
      assert.deepEqual(
        items.map(({ id }) => id),
        rows.map(({ id }) => id).reverse(),
      )
    }
  })

  rule('lists notifications by account, by id and by the provider’s id', async (bench) => {
    const { store, lane, enqueue, worker, claim } = bench
    const [target, other] = [await lane(), await lane()]
    const id = only(await enqueue(target))
    await enqueue(other)
    const by = await worker()
    const sent = completion(only(await claim(by, target)), 'sent', { providerMessageId: 'wamid.1' })
    await store.dispatch.complete(by, [sent])

    for (const filter of [{ accountId: target.id }, { q: id }, { q: 'wamid.1' }]) {
      const { items } = await store.notifications.list(filter, { limit: 10 })
      assert.deepEqual(
        items.map((item) => item.id),
        [id],
      )
      assert.deepEqual(
        (await store.notifications.list({ ...filter, tenantId: other.tenantId }, { limit: 10 })).items,
        [],
      )
    }
  })

  rule('a key with % or _ in it is found by exactly that text, and no other key is', async (bench) => {
    const { store, lane, enqueue } = bench
    const target = await lane()
    const keys = ['100%', '100%3A', '100', 'a_b', 'axb', '%']
    const ids = new Map<string, string>()
    for (const idempotencyKey of keys) ids.set(idempotencyKey, only(await enqueue(target, 1, { idempotencyKey })))

    for (const q of keys) {
      const { items } = await store.notifications.list({ tenantId: target.tenantId, q }, { limit: 10 })
      assert.deepEqual(
        items.map(({ id }) => id),
        [ids.get(q)],
        q,
      )
    }
  })

  rule('lists notifications that may have been sent twice', async (bench) => {
    const { store, lane, enqueue, worker, claim } = bench
    const target = await lane()
    const ids = await enqueue(target, 5)
    const by = await worker()
    const claims = await claim(by, target, 4)
    const flag = { possibleDuplicate: true }
    await store.dispatch.complete(by, [
      completion(at(claims, 0), 'sent', flag),
      completion(at(claims, 1), 'retrying', flag),
      completion(at(claims, 2), 'uncertain', flag),
      completion(at(claims, 3), 'sent'),
    ])
    const list = async (possibleDuplicate: boolean): Promise<string[]> =>
      (await store.notifications.list({ possibleDuplicate }, { limit: 10 })).items.map(({ id }) => id).sort()

    assert.deepEqual(await list(true), ids.slice(0, 3))
    assert.deepEqual(await list(false), ids.slice(3))
    for (const id of ids.slice(0, 3)) assert.equal((await bench.view(id)).possibleDuplicate, true)
  })
}

function actRules(rule: Rule): void {
  const wrong: Record<Action, keyof typeof REASONS | null> = {
    retry: null,
    discard: 'discarded_by_operator',
    cancel: 'cancelled_by_operator',
    park: 'parked_by_operator',
    restore: 'restored_by_operator',
  }
  for (const action of Object.keys(ACTIONS) as Action[])
    for (const status of REACHABLE) {
      const { from, to } = ACTIONS[action]
      if ((from as readonly string[]).includes(status))
        rule(`${action} moves a ${status} notification to ${to}, on record`, async (bench) => {
          const { store, view } = bench
          const { id, lane } = await reach(bench, status)

          const answer = await store.notifications.act({ tenantId: lane.tenantId, id, action, actor: 'key:ada' })

          assert.equal(answer?.moved, true)
          assert.equal(answer?.from, status)
          const moved = await view(id)
          assert.equal(moved.status, to)
          assert.equal(moved.reason, wrong[action])
          const last = (await store.notifications.audit(id)).at(-1)
          assert.deepEqual(
            [last?.actor, last?.action, last?.from, last?.to, last?.notificationId],
            ['key:ada', action, status, to, id],
          )
        })
      else
        rule(`${action} leaves a ${status} notification alone, and says where it is`, async (bench) => {
          const { store, view } = bench
          const { id, lane } = await reach(bench, status)
          const [before, history] = [await view(id), await store.notifications.audit(id)]

          const answer = await store.notifications.act({ tenantId: lane.tenantId, id, action, actor: 'key:ada' })

          assert.equal(answer?.moved, false)
          assert.equal(answer?.from, status)
          assert.deepEqual(await view(id), before)
          assert.deepEqual(await store.notifications.audit(id), history)
        })
    }

  rule('why somebody acted is kept in their own words, and only where they said so', async (bench) => {
    const { store } = bench
    const { id, lane } = await reach(bench, 'parked')
    const act = { tenantId: lane.tenantId, id, actor: 'key:ada' }

    await store.notifications.act({ ...act, action: 'discard', note: 'a test of ours' })
    await store.notifications.act({ ...act, action: 'restore' })

    assert.deepEqual(
      (await store.notifications.audit(id)).map(({ action, note }) => [action, note]),
      [
        ['attempt', null],
        ['park', null],
        ['discard', 'a test of ours'],
        ['restore', null],
      ],
    )
  })

  rule('one that was discarded in doubt and restored may be a second one when it is retried', async (bench) => {
    const { store, enqueue, claim, worker, view } = bench
    const lane = await bench.lane()
    const [id, by] = [only(await enqueue(lane)), await worker()]
    const held = completion(only(await claim(by, lane)), 'uncertain')
    await store.dispatch.complete(by, [{ ...held, possibleDuplicate: false }])
    const act = (action: Action) => store.notifications.act({ tenantId: lane.tenantId, id, action, actor: 'key:ada' })

    await act('discard')
    assert.equal((await view(id)).possibleDuplicate, false)
    await act('restore')
    await act('retry')

    const { status, possibleDuplicate } = await view(id)
    assert.deepEqual([status, possibleDuplicate], ['queued', true])
  })

  rule('a retry by hand begins the count, the time and the error anew, and keeps the attempts', async (bench) => {
    const { store, claim, worker, view } = bench
    const { id, lane } = await reach(bench, 'parked')
    assert.equal((await view(id)).attemptCount, 1)

    await store.notifications.act({ tenantId: lane.tenantId, id, action: 'retry', actor: 'key:ada' })

    const { attemptCount, nextAttemptAt, lastError } = await view(id)
    assert.deepEqual([attemptCount, lastError], [0, null])
    assert.ok((nextAttemptAt ?? Infinity) <= (await store.now()))
    const by = await worker()
    await store.dispatch.complete(by, [completion(only(await claim(by, lane)), 'parked')])
    assert.equal((await view(id)).attemptCount, 1)
    assert.equal((await store.notifications.attempts(id)).length, 2)
  })

  rule('nobody acts on a notification of another tenant', async (bench) => {
    const { store, tenant, newId, view } = bench
    const { id } = await reach(bench, 'parked')
    const before = await view(id)

    for (const action of Object.keys(ACTIONS) as Action[]) {
      const tenantId = await tenant()
      assert.equal(await store.notifications.act({ tenantId, id, action, actor: 'key:mallory' }), null)
      assert.equal(await store.notifications.act({ tenantId, id: newId(), action, actor: 'key:mallory' }), null)
      assert.equal(await store.notifications.act({ tenantId, id: 'no id at all', action, actor: 'key:mallory' }), null)
    }
    assert.deepEqual(await view(id), before)
  })

  rule('a correction discards the first notification and writes the other, linked, in one commit', async (bench) => {
    const { store, notification, claim, worker, view } = bench
    const { id, lane } = await reach(bench, 'parked')
    const correction = notification(lane, { correctedFrom: id, to: { email: 'right@example.test' } })
    const act = { tenantId: lane.tenantId, id, action: 'discard', actor: 'key:ada', note: 'typo', correction } as const

    assert.equal((await store.notifications.act(act))?.moved, true)
    assert.equal((await store.notifications.act({ ...act, correction: notification(lane) }))?.moved, false)

    const [before, after] = [await view(id), await view(correction.id)]
    assert.deepEqual(
      [before.status, before.reason, before.correctedTo, after.status, after.correctedFrom],
      ['discarded', 'corrected_by_operator', correction.id, 'queued', id],
    )
    assert.deepEqual(
      (await store.notifications.audit(correction.id)).map(({ actor, action, to, note }) => [actor, action, to, note]),
      [['key:ada', 'correct', 'queued', 'typo']],
    )
    assert.equal(only(await claim(await worker(), lane)).notificationId, correction.id)
  })

  rule('what is sent by hand is on record with who did it', async (bench) => {
    const { store, lane, notification, view } = bench
    const target = await lane()
    const made = [notification(target), notification(target, bornParked())]

    await store.notifications.insertByHand(made, { actor: 'key:ada', action: 'resend', note: 'lost' })

    const audits = await Promise.all(made.map(({ id }) => store.notifications.audit(id)))
    assert.deepEqual(
      audits.flat().map(({ actor, action, from, to, note }) => [actor, action, from, to, note]),
      [
        ['key:ada', 'resend', null, 'queued', 'lost'],
        ['key:ada', 'resend', null, 'parked', 'lost'],
      ],
    )
    assert.equal((await view(at(made, 0).id)).status, 'queued')
  })

  rule('that somebody overrides a suppression is told by the claim, until the next retry', async (bench) => {
    const { store, claim, worker } = bench
    const { id, lane } = await reach(bench, 'parked')
    const by = await worker()
    const retry = { tenantId: lane.tenantId, id, action: 'retry', actor: 'key:ada' } as const

    await store.notifications.act({ ...retry, overridesSuppression: true })
    const first = only(await claim(by, lane))
    await store.dispatch.complete(by, [completion(first, 'parked')])
    await store.notifications.act(retry)

    assert.deepEqual([first.overridesSuppression, only(await claim(by, lane)).overridesSuppression], [true, false])
    const overridden = (await store.notifications.audit(id)).filter(({ reason }) => reason === 'suppression_overridden')
    assert.deepEqual(
      overridden.map(({ actor, action }) => [actor, action]),
      [['key:ada', 'retry']],
    )
  })

  rule('a retried notification can be claimed at once, with all its attempts before it', async (bench) => {
    const { store, claim, worker, view } = bench
    const { id, lane } = await reach(bench, 'parked')

    const answer = await store.notifications.act({ tenantId: lane.tenantId, id, action: 'retry', actor: 'key:ada' })

    assert.equal(answer?.accountId, lane.id)
    const by = await worker()
    const again = only(await claim(by, lane))
    assert.equal(again.notificationId, id)
    assert.equal(again.attempt, 2, 'the number of a provider call is never used twice')
    assert.equal(again.spent, 0, 'a retry by hand starts a fresh retry policy')
    await store.dispatch.complete(by, [completion(again, 'sent')])
    assert.deepEqual(
      (await store.notifications.attempts(id)).map(({ number, outcome }) => [number, outcome]),
      [
        [1, 'permanent'],
        [2, 'accepted'],
      ],
    )
    const { status, reason } = await view(id)
    assert.deepEqual([status, reason], ['sent', null])
  })

  rule('a retry by hand keeps the mark of a possible duplicate', async (bench) => {
    const { store, claim, worker, view } = bench
    const { id, lane } = await reach(bench, 'uncertain')

    await store.notifications.act({ tenantId: lane.tenantId, id, action: 'retry', actor: 'key:ada' })

    assert.equal((await view(id)).possibleDuplicate, true)
    assert.equal(only(await claim(await worker(), lane)).possibleDuplicate, true)
  })

  rule('a retry by hand is sent, however late', async (bench) => {
    const { store, lane, enqueue, view, advance } = bench
    const target = await lane()
    const [id = ''] = await enqueue(target, 1, { expiresAt: (await store.now()) + 5 })
    const request = { tenantId: target.tenantId, id, actor: 'key:ada' }
    await store.notifications.act({ ...request, action: 'park' })
    await advance(20)

    await store.notifications.act({ ...request, action: 'retry' })

    await store.dispatch.expire(10)
    const { status, expiresAt } = await view(id)
    assert.deepEqual([status, expiresAt], ['queued', null])
  })

  rule('a retry of one that never had an account takes the replacement', async (bench) => {
    const { store, lane, notification, claim, worker, view, newId } = bench
    const target = await lane()
    const parked = notification(target, bornParked())
    await store.notifications.insert([parked])
    const words: Content = { subject: 'Hi', body: 'now there are words', data: { a: 1 } }
    const sms = await lane({ tenantId: target.tenantId, channel: 'sms' })
    const replacement = replacementOn(sms, {
      provider: 'other',
      content: words,
      templateId: newId(),
      templateVersion: 2,
      locale: 'de',
      to: { phone: '+4915198765432', name: 'Ada' },
      fallback: ['email'],
      warnings: [{ code: 'missing_key', key: 'name', message: 'There is no name.' }],
    })

    const answer = await store.notifications.act({
      tenantId: target.tenantId,
      id: parked.id,
      action: 'retry',
      actor: 'key:ada',
      replacement,
    })

    assert.deepEqual(answer, { moved: true, from: 'parked', accountId: sms.id })
    const { status, ...after } = await view(parked.id)
    assert.deepEqual({ ...after, ...replacement }, after)
    assert.equal(status, 'queued')
    const claimed = only(await claim(await worker(), sms))
    assert.deepEqual([claimed.notificationId, claimed.content, claimed.attempt], [parked.id, words, 1])
    assert.deepEqual([claimed.channel, claimed.to, claimed.fallback], ['sms', replacement.to, ['email']])
    const byAddress = await store.notifications.list({ q: '+4915198765432' }, { limit: 10 })
    assert.deepEqual(
      byAddress.items.map(({ id }) => id),
      [parked.id],
    )
  })

  rule('a retry moves nothing when another notification has the key by now, and names it', async (bench) => {
    const { store, lane, notification, view } = bench
    const target = await lane()
    const [parked, told] = [notification(target, bornParked()), notification(target)]
    await store.notifications.insert([parked, told])
    const replacement = replacementOn(target, { idempotencyKey: told.idempotencyKey })
    const { tenantId } = target

    const answer = await store.notifications.act({
      tenantId,
      id: parked.id,
      action: 'retry',
      actor: 'key:ada',
      replacement,
    })

    assert.deepEqual(answer, { moved: false, from: 'parked', accountId: target.id, twin: told.id })
    const after = await view(parked.id)
    assert.deepEqual([after.status, after.idempotencyKey], ['parked', parked.idempotencyKey])
  })

  rule('a retry of one that never had an account does nothing without a replacement', async (bench) => {
    const { store, lane, notification, view } = bench
    const parked = notification(await lane(), bornParked())
    await store.notifications.insert([parked])
    const before = await view(parked.id)

    const request = { tenantId: parked.tenantId, id: parked.id, action: 'retry', actor: 'key:ada' } as const
    const answer = await store.notifications.act(request).catch(() => null)

    assert.notEqual(answer?.moved, true)
    assert.deepEqual(await view(parked.id), before)
  })

  rule('of many who act at once, one moves the notification', async (bench) => {
    const { store, view } = bench
    const { id, lane } = await reach(bench, 'parked')
    const act = (action: Action) => store.notifications.act({ tenantId: lane.tenantId, id, action, actor: 'key:ada' })

    const answers = await Promise.all([act('discard'), act('discard'), act('discard'), act('discard')])

    assert.equal(answers.filter((answer) => answer?.moved).length, 1)
    assert.equal((await view(id)).status, 'discarded')
  })

  rule('of many who retry one that was born parked, one puts it back', async (bench) => {
    const { store, lane, enqueue, view } = bench
    const target = await lane()
    const id = only(await enqueue(target, 1, bornParked()))
    const request = { tenantId: target.tenantId, id, action: 'retry', actor: 'key:ada' } as const

    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => store.notifications.act({ ...request, replacement: replacementOn(target) })),
    )

    assert.equal(answers.filter((answer) => answer?.moved).length, 1)
    assert.equal((await view(id)).status, 'queued')
  })

  rule('a notification is either cancelled or claimed, never both', async (bench) => {
    const { store, lane, enqueue, worker, claim } = bench
    const target = await lane()
    const ids = await enqueue(target, 10)
    const by = await worker()

    const [answers, ...rounds] = await Promise.all([
      Promise.all(
        ids.map((id) => store.notifications.act({ tenantId: target.tenantId, id, action: 'cancel', actor: 'key:ada' })),
      ),
      claim(by, target, 4),
      claim(by, target, 4),
      claim(by, target, 4),
    ])

    const claimed = rounds.flat().map(({ notificationId }) => notificationId)
    const cancelled = ids.filter((_, i) => answers[i]?.moved)
    assert.deepEqual(
      claimed.filter((id) => cancelled.includes(id)),
      [],
    )
    assert.deepEqual([...claimed, ...cancelled].sort(), ids)
    const counts = await store.notifications.countByStatus(null)
    assert.deepEqual([counts.cancelled, counts.sending], [cancelled.length, claimed.length])
  })

  rule('what was cancelled, parked or discarded is never claimed', async (bench: Bench) => {
    const { store, worker, claim } = bench
    for (const status of ['cancelled', 'parked', 'discarded', 'uncertain', 'failed', 'sent'] as const) {
      const { lane } = await reach(bench, status)
      assert.deepEqual(await claim(await worker(), lane, 10), [], status)
    }
    assert.deepEqual(await store.dispatch.dueLanes(null, 10), [])
  })
}
