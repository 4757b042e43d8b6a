import assert from 'node:assert/strict'
import type { NewEvent } from '../../packages/pillarbox/src/model/event.ts'
import type { NewNotification, SealedContent } from '../../packages/pillarbox/src/model/notification.ts'
import { planEvents } from '../support/planning.ts'
import {
  type Bench,
  bornParked,
  completion,
  content,
  dueLater,
  dueNow,
  FAR_MS,
  type Lane,
  only,
  REACHABLE,
  type Rule,
  reach,
  receiptOf,
  replacementOn,
} from './fixtures.ts'

const SEALED: SealedContent = { sealed: 'v1.cipher-text' }
const FINAL: readonly string[] = ['sent', 'failed', 'discarded', 'cancelled']

/** Secrets are kept sealed until nothing needs them, and then not at all. */
export function scrubRules(rule: Rule): void {
  for (const status of REACHABLE)
    rule(
      `sealed content of a ${status} notification is ${FINAL.includes(status) ? 'scrubbed' : 'kept'}`,
      async (bench) => {
        const { store, view } = bench
        const { id } = await reach(bench, status, undefined, { content: SEALED })
        assert.deepEqual((await view(id)).content, SEALED)

        const changed = await store.notifications.scrub(10)

        const isFinal = FINAL.includes(status)
        const { content: left, isScrubbed, ...rest } = await view(id)
        assert.deepEqual([changed, left, isScrubbed], isFinal ? [1, null, true] : [0, SEALED, false])
        assert.equal(rest.status, status)
        assert.equal(await store.notifications.scrub(10), 0)
      },
    )

  rule('content that is not sealed is never scrubbed', async (bench) => {
    const { id } = await reach(bench, 'sent')

    assert.equal(await bench.store.notifications.scrub(10), 0)

    const { content: kept, isScrubbed } = await bench.view(id)
    assert.deepEqual([kept, isScrubbed], [content('Hello'), false])
  })

  rule('what was sent and may still fall back keeps its content until it is delivered', async (bench) => {
    const { store, view } = bench
    const { id, lane } = await reach(bench, 'sent', undefined, { content: SEALED, fallback: ['sms'] })
    assert.equal(await store.notifications.scrub(10), 0)
    await receipt(bench, lane.tenantId, id, 'delivered')

    assert.equal(await store.notifications.scrub(10), 1)

    assert.equal((await view(id)).isScrubbed, true)
  })

  rule('a claim answers sealed content as it was planned', async ({ lane, enqueue, worker, claim }) => {
    const target = await lane()
    await enqueue(target, 1, { content: SEALED })

    assert.deepEqual(only(await claim(await worker(), target)).content, SEALED)
  })

  rule('one that was scrubbed is not sent again, and stays where it is', async (bench) => {
    const { store, view, claim, worker } = bench
    const { id, lane } = await reach(bench, 'sent', undefined, { content: SEALED })
    await store.notifications.scrub(10)
    await receipt(bench, lane.tenantId, id, 'bounced')
    const before = await view(id)
    assert.equal(before.status, 'parked')
    const retry = { tenantId: lane.tenantId, id, action: 'retry', actor: 'key:ada' } as const

    for (const request of [retry, { ...retry, replacement: replacementOn(lane) }]) {
      const answer = await store.notifications.act(request)
      assert.deepEqual([answer?.moved, answer?.from], [false, 'parked'])
    }

    assert.deepEqual(await view(id), before)
    assert.deepEqual(await claim(await worker(), lane), [])
    assert.equal((await store.notifications.act({ ...retry, action: 'discard' }))?.moved, true)
  })

  rule('one that was born parked and is retried with sealed content is scrubbed, too', async (bench) => {
    const { store, lane, enqueue, worker, claim, view } = bench
    const target = await lane()
    const id = only(await enqueue(target, 1, bornParked()))
    const replacement = replacementOn(target, { content: SEALED })
    await store.notifications.act({ tenantId: target.tenantId, id, action: 'retry', actor: 'key:ada', replacement })
    const by = await worker()
    await store.dispatch.complete(by, [completion(only(await claim(by, target)), 'sent')])

    assert.equal(await store.notifications.scrub(10), 1)

    assert.equal((await view(id)).isScrubbed, true)
  })

  rule('one whose words have no secret any more is not scrubbed', async (bench) => {
    const { store, worker, claim, view } = bench
    const { id, lane } = await reach(bench, 'parked', undefined, { content: SEALED })
    const replacement = replacementOn(lane)
    await store.notifications.act({ tenantId: lane.tenantId, id, action: 'retry', actor: 'key:ada', replacement })
    const by = await worker()
    await store.dispatch.complete(by, [completion(only(await claim(by, lane)), 'sent')])

    assert.equal(await store.notifications.scrub(10), 0)

    const { content: kept, isSealed, isScrubbed } = await view(id)
    assert.deepEqual([kept, isSealed, isScrubbed], [content('x'), false, false])
  })

  rule('a list has no words, and says whose are sealed or were', async (bench) => {
    const { store } = bench
    const { id: plain, lane } = await reach(bench, 'parked')
    const { id: sealed } = await reach(bench, 'parked', lane.tenantId, { content: SEALED })
    const { id: scrubbed } = await reach(bench, 'cancelled', lane.tenantId, { content: SEALED })
    await store.notifications.scrub(10)

    const { items } = await store.notifications.list({ tenantId: lane.tenantId }, { limit: 10 })

    assert.ok(items.every((listed) => !('content' in listed)))
    assert.deepEqual(
      items.map(({ id, isSealed, isScrubbed }) => [id, isSealed, isScrubbed]),
      [
        [scrubbed, false, true],
        [sealed, true, false],
        [plain, false, false],
      ],
    )
    for (const { id, isSealed } of items) assert.equal((await bench.view(id)).isSealed, isSealed)
  })

  rule('scrubs no more rows than it is asked to, and in the end all of them', async (bench) => {
    const { store } = bench
    await reach(bench, 'parked', undefined, { content: SEALED })
    for (let i = 0; i < 5; i++) await reach(bench, 'cancelled', undefined, { content: SEALED })
    const changed: number[] = []
    for (let i = 0; i < 4; i++) changed.push(await store.notifications.scrub(2))

    assert.deepEqual(changed, [2, 2, 1, 0])
  })

  rule('finds what is final behind any number of others that are not', async (bench) => {
    const { store, lane, enqueue } = bench
    const target = await lane()
    await enqueue(target, 40, { content: SEALED })
    const { id } = await reach(bench, 'cancelled', undefined, { content: SEALED })
    let changed = 0
    for (let i = 0; i < 6; i++) changed += await store.notifications.scrub(1)

    assert.equal(changed, 1)
    assert.equal((await bench.view(id)).isScrubbed, true)
  })

  rule('of several who scrub at once, each row is changed once', async (bench) => {
    const { store } = bench
    for (let i = 0; i < 5; i++) await reach(bench, 'cancelled', undefined, { content: SEALED })

    const changed = await Promise.all([1, 2, 3].map(() => store.notifications.scrub(10)))

    assert.ok(changed.reduce((sum, n) => sum + n) >= 5)
    assert.equal(await store.notifications.scrub(10), 0)
  })

  payloadRules(rule)
}

const PAYLOAD = {
  guest: 'Ada',
  token: { $sealed: 'one' },
  deep: [{ links: { rsvp: { $sealed: 'two' }, page: 'https://x.test/' } }, [{ $sealed: 'three' }], null],
  odd: { $sealed: 1, with: { $sealed: 'four' } },
}
const SCRUBBED = {
  guest: 'Ada',
  token: { $scrubbed: true },
  deep: [{ links: { rsvp: { $scrubbed: true }, page: 'https://x.test/' } }, [{ $scrubbed: true }], null],
  odd: { $sealed: 1, with: { $scrubbed: true } },
}

function payloadRules(rule: Rule): void {
  rule('a payload is scrubbed, however deep, once all notifications of its event are', async (bench) => {
    const { store, storedEvent } = bench
    const { event, lane, ids } = await planned(bench, [{ content: SEALED }, { content: SEALED }])
    await act(bench, lane, ids[0], 'cancel')
    assert.equal(await store.notifications.scrub(10), 1)
    assert.deepEqual((await storedEvent(event.tenantId, event.id)).payload, PAYLOAD)

    await act(bench, lane, ids[1], 'cancel')
    assert.equal(await store.notifications.scrub(10), 2)

    assert.deepEqual((await storedEvent(event.tenantId, event.id)).payload, SCRUBBED)
    assert.equal(await store.notifications.scrub(10), 0)
  })

  rule('a payload is kept while a notification without content may still be retried', async (bench) => {
    const { store, storedEvent } = bench
    const { event, lane, ids } = await planned(bench, [bornParked()])
    assert.equal(await store.notifications.scrub(10), 0)
    assert.deepEqual((await storedEvent(event.tenantId, event.id)).payload, PAYLOAD)

    await act(bench, lane, ids[0], 'discard')

    assert.equal(await store.notifications.scrub(10), 1)
    assert.deepEqual((await storedEvent(event.tenantId, event.id)).payload, SCRUBBED)
  })

  rule('a payload is kept while its schedule is pending, and scrubbed when that was cancelled', async (bench) => {
    const { store, tenant, event, storedEvent, newId } = bench
    const given = event(await tenant(), { payload: PAYLOAD })
    await store.events.insert([given])
    assert.equal(await store.notifications.scrub(10), 0)
    const dueAt = (await store.now()) + FAR_MS
    await planEvents(store, 1, () => dueLater(newId(), dueAt))
    assert.equal(await store.notifications.scrub(10), 0)
    assert.deepEqual((await storedEvent(given.tenantId, given.id)).payload, PAYLOAD)
    await store.events.insert([event(given.tenantId)])
    await planEvents(store, 1, () => dueNow(newId(), [], { eventTypes: [given.type], replaces: false }))

    assert.equal(await store.notifications.scrub(10), 1)

    assert.deepEqual((await storedEvent(given.tenantId, given.id)).payload, SCRUBBED)
  })

  rule('a payload without sealed fields stays as it is', async (bench) => {
    const { store, storedEvent } = bench
    const { event, lane, ids } = await planned(bench, [{ content: SEALED }], { payload: { guest: '$sealed' } })
    await act(bench, lane, ids[0], 'cancel')

    assert.equal(await store.notifications.scrub(10), 1)

    assert.deepEqual((await storedEvent(event.tenantId, event.id)).payload, { guest: '$sealed' })
  })
}

/** An event with secrets that has become these notifications. */
async function planned(
  { store, lane, event, notification, newId }: Bench,
  rows: Partial<NewNotification>[],
  changes: Partial<NewEvent> = {},
): Promise<{ event: NewEvent; lane: Lane; ids: string[] }> {
  const target = await lane()
  const given = event(target.tenantId, { payload: PAYLOAD, ...changes })
  await store.events.insert([given])
  const notifications = rows.map((row) => notification(target, { eventId: given.id, entity: given.entity, ...row }))
  await planEvents(store, 1, () => dueNow(newId(), notifications))
  return { event: given, lane: target, ids: notifications.map(({ id }) => id) }
}

async function act(
  { store }: Bench,
  { tenantId }: Lane,
  id: string | undefined,
  action: 'cancel' | 'discard',
): Promise<void> {
  const answer = await store.notifications.act({ tenantId, id: id ?? '', action, actor: 'key:ada' })
  assert.equal(answer?.moved, true)
}

/** What the provider says of an accepted notification. */
async function receipt({ store }: Bench, tenantId: string, id: string, kind: 'delivered' | 'bounced'): Promise<void> {
  assert.equal(await store.receipts.merge(receiptOf({ tenantId }, id, kind)), 'moved')
}
