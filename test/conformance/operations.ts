import assert from 'node:assert/strict'
import { fingerprintOf } from '../../packages/pillarbox/src/model/fingerprint.ts'
import { OPERATION_STATUSES, type Operation, type OperationItem } from '../../packages/pillarbox/src/model/operation.ts'
import type { StartRequest, TakenOperation } from '../../packages/pillarbox/src/operate/operation-store.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import {
  allPages,
  type Bench,
  bornParked,
  completion,
  FAR_MS,
  type Lane,
  only,
  type Rule,
  receiptOf,
} from './fixtures.ts'

const ACTOR = 'key:ada'
const LIMITS = { mostRows: 1_000, limit: 100 }

/** Why notifications stopped, and what is done to very many of them at once. */
export function operationRules(rule: Rule): void {
  rule('what stops has the fingerprint of its cause, however it stops', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const { tenantId, id: accountId } = lane
    const parked = await settled(bench, lane, 'parked')
    const failed = await settled(bench, lane, 'failed')
    const uncertain = await settled(bench, lane, 'uncertain')
    const born = only(await bench.enqueue(lane, 1, bornParked()))
    const bounced = await settled(bench, lane, 'sent')
    const failure = { reason: 'bounced', code: '5.1.1', error: 'mailbox 7 is full', to: 'parked' } as const
    await store.receipts.merge({ ...receiptOf(lane, bounced, 'bounced'), failure })
    const waiting = only(await bench.enqueue(lane))
    await store.dispatch.stopLane(accountId, 'channel_suspended', 'suspended', ACTOR, 10)

    const found = new Map((await causesOf(bench, tenantId)).map((cause) => [cause.sampleId, cause]))
    const printed = (id: string): string | undefined => found.get(id)?.fingerprint
    const none = { code: null, accountId }
    const refused = { code: '550', error: 'no such user', accountId }
    assert.equal(printed(parked), fingerprintOf({ reason: 'invalid_recipient', ...refused }))
    assert.equal(printed(failed), fingerprintOf({ reason: 'fallback_triggered:sms', ...refused }))
    assert.equal(
      printed(uncertain),
      fingerprintOf({ reason: 'outcome_unknown', code: 'timeout', error: 'no answer', accountId }),
    )
    const nobody = { reason: 'no_active_channels', error: 'the tenant has no active email account' }
    assert.equal(printed(born), fingerprintOf({ ...none, ...nobody, accountId: null }))
    assert.equal(printed(bounced), fingerprintOf({ ...failure, accountId }))
    assert.equal(printed(waiting), fingerprintOf({ ...none, reason: 'channel_suspended', error: 'suspended' }))
    assert.equal(found.get(parked)?.code, '550')
    assert.equal(found.get(bounced)?.code, '5.1.1')
  })

  rule('groups what stopped by its cause, the commonest first, and finds it by that', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const { tenantId } = lane
    const common = [await settled(bench, lane, 'parked'), await settled(bench, lane, 'parked')]
    const rare = await settled(bench, lane, 'uncertain')
    await settled(bench, lane, 'sent')
    await settled(bench, lane, 'cancelled')
    await settled(bench, await bench.lane(), 'parked')

    const [first, second, ...others] = await causesOf(bench, tenantId)
    assert.deepEqual(others, [])
    assert.deepEqual([first?.count, first?.reason, first?.sampleId], [2, 'invalid_recipient', common[1]])
    assert.deepEqual([first?.accountId, first?.channel, first?.error], [lane.id, 'email', 'no such user'])
    assert.deepEqual([second?.count, second?.sampleId], [1, rare])
    assert.ok(first && first.firstAt <= first.lastAt)

    const { fingerprint } = first
    const listed = await store.notifications.list({ tenantId, fingerprint }, { limit: 10 })
    assert.deepEqual(listed.items.map(({ id }) => id).toSorted(), common.toSorted())
    assert.deepEqual(await causesOf(bench, tenantId, { status: ['uncertain'] }), [second])
    assert.deepEqual(await causesOf(bench, tenantId, { channel: 'sms' }), [])
    const bounded = await store.operations.causes({ tenantId }, { mostRows: 2, limit: 100 })
    assert.equal(bounded.isWhole, false)
    assert.equal((await store.operations.causes({ tenantId }, { mostRows: 100, limit: 1 })).isWhole, false)
    assert.equal((await store.operations.causes({ tenantId }, LIMITS)).isWhole, true)
  })

  rule('what is discarded keeps its cause, and what is queued again has none', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const { tenantId } = lane
    const id = await settled(bench, lane, 'parked')
    const [before] = await causesOf(bench, tenantId)

    for (const action of ['discard', 'restore'] as const) {
      await store.notifications.act({ tenantId, id, action, actor: ACTOR })
      assert.equal(only(await causesOf(bench, tenantId)).fingerprint, before?.fingerprint, action)
    }
    await store.notifications.act({ tenantId, id, action: 'retry', actor: ACTOR })
    assert.deepEqual(await causesOf(bench, tenantId), [])
    // It has one from the moment it stopped: nobody has to come by.
    assert.equal(await store.operations.printStopped(10), 0)
  })

  rule('chooses from what a filter finds, with where each one stands', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const { tenantId, id: accountId } = lane
    const parked = await settled(bench, lane, 'parked')
    const uncertain = await settled(bench, lane, 'uncertain')
    const queued = only(await bench.enqueue(lane))
    const sent = only(await bench.enqueue(lane))
    const theirs = await settled(bench, await bench.lane(), 'parked')

    const all = await allPages((page) => store.operations.candidates({ tenantId }, page), 2)
    assert.deepEqual(
      all.map(({ id, status }) => [id, status]),
      [
        [sent, 'queued'],
        [queued, 'queued'],
        [uncertain, 'uncertain'],
        [parked, 'parked'],
      ],
    )
    const found = all.at(-1)
    assert.deepEqual(
      [found?.attempt, found?.accountId, found?.channel, found?.address],
      [1, accountId, 'email', 'ada@example.test'],
    )
    assert.equal(typeof found?.settledAt, 'number')
    assert.equal(all[2]?.possibleDuplicate, true)
    const byId = await store.operations.candidatesById(tenantId, [parked, theirs, 'nonsense', bench.newId()])
    assert.deepEqual(byId, [found])
  })

  rule('starts a preview once, and answers the same operation ever after', async (bench) => {
    const { store, tenant } = bench
    const lane = await bench.lane()
    const id = await previewed(bench, lane, [await settled(bench, lane, 'parked')])
    const { tenantId } = lane

    assert.equal(await store.operations.find(tenantId, id), null)
    assert.equal(await store.operations.start(startOf(await tenant(), id)), null)
    const first = started(await store.operations.start({ ...startOf(tenantId, id), note: 'mended', canary: null }))
    const again = started(await store.operations.start({ ...startOf(tenantId, id), note: 'twice' }))

    assert.deepEqual(
      [first.status, first.total, first.startedBy, first.note, first.canary],
      ['grace', 1, ACTOR, 'mended', 2],
    )
    assert.deepEqual(again, first)
    assert.deepEqual(await store.operations.find(tenantId, id), first)
    assert.deepEqual(await store.operations.list(tenantId, {}, { limit: 5 }), { items: [first], nextCursor: null })
    assert.deepEqual((await store.operations.list(tenantId, { status: ['done'] }, { limit: 5 })).items, [])
    assert.deepEqual((await store.operations.list(await tenant(), {}, { limit: 5 })).items, [])
    assert.equal(await store.operations.start(startOf(tenantId, bench.newId())), null)
    assert.equal(await store.operations.start(startOf(tenantId, 'nonsense')), null)
  })

  rule('does not start what is not chosen to the end, or was chosen too long ago', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const { tenantId } = lane
    const begin = async (lifeMs: number): Promise<string> => {
      const id = bench.newId()
      const preview = { id, tenantId, action: 'retry', options: {}, actor: ACTOR, canary: 0 } as const
      assert.ok(await store.operations.beginPreview(preview, { most: 3, lifeMs }))
      return id
    }
    const unfinished = await begin(FAR_MS)
    const givenUp = await begin(FAR_MS)
    await store.operations.endPreview(givenUp, null)
    const expired = await begin(0)
    await store.operations.addItems(expired, [
      { place: 1, notificationId: bench.newId(), status: 'parked', attempt: 0, settledAt: null },
    ])
    await store.operations.endPreview(expired, 1)

    assert.equal(await store.operations.start(startOf(tenantId, unfinished)), null)
    assert.equal(await store.operations.start(startOf(tenantId, givenUp)), null)
    assert.deepEqual(await store.operations.start(startOf(tenantId, expired)), { expired: true })
    await begin(FAR_MS)
    await begin(FAR_MS)
    const fourth = { id: bench.newId(), tenantId, action: 'retry', options: {}, actor: ACTOR, canary: 0 } as const
    assert.equal(await store.operations.beginPreview(fourth, { most: 3, lifeMs: FAR_MS }), null)

    // What was chosen goes first; that the preview expired is known for longer.
    assert.equal(await store.operations.dropPreviews({ rows: 10, rememberMs: FAR_MS }), 1)
    assert.deepEqual(await store.operations.start(startOf(tenantId, expired)), { expired: true })
    assert.equal(await store.operations.dropPreviews({ rows: 10, rememberMs: 0 }), 2)
    assert.equal(await store.operations.start(startOf(tenantId, expired)), null)
    assert.equal(await store.operations.dropPreviews({ rows: 10, rememberMs: 0 }), 0)
  })

  rule('moves an item once, in the transaction that marks it', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const { tenantId } = lane
    const id = await settled(bench, lane, 'parked')
    const { operationId } = await running(bench, lane, [id])
    const request = {
      tenantId,
      id,
      action: 'retry',
      actor: ACTOR,
      note: 'mended',
      item: { operationId, place: 1 },
    } as const

    assert.equal((await store.notifications.act(request))?.moved, true)
    assert.deepEqual(await itemsOf(store, operationId), [
      { place: 1, notificationId: id, outcome: 'done', why: null, resultId: null },
    ])
    const claim = only(await bench.claim(await bench.worker(), lane))
    await store.dispatch.complete(only((await store.workers.list()).slice(-1)).id, [completion(claim, 'parked')])
    const again = await store.notifications.act(request)
    assert.deepEqual([again?.moved, again?.isPassedOver], [false, true])
    assert.equal((await bench.view(id)).status, 'parked')
    const [audit] = (await store.notifications.audit(id)).filter(
      ({ action, actor }) => action === 'retry' && actor === ACTOR,
    )
    assert.deepEqual([audit?.note, audit?.operationId], ['mended', operationId])
  })

  rule('leaves alone what has moved since it was chosen, and says so', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const { tenantId } = lane
    const worker = await bench.worker()
    const [again, retried] = [await settled(bench, lane, 'parked'), await settled(bench, lane, 'parked')]
    const { operationId } = await running(bench, lane, [again, retried])
    const act = { tenantId, action: 'retry', actor: ACTOR } as const
    await store.notifications.act({ ...act, id: again })
    await store.dispatch.complete(worker, [completion(only(await bench.claim(worker, lane)), 'parked')])
    await store.notifications.act({ ...act, id: retried })

    const answers = await Promise.all(
      [again, retried].map((id, i) =>
        store.notifications.act({ ...act, action: 'discard', id, item: { operationId, place: i + 1 } }),
      ),
    )
    assert.deepEqual(
      answers.map((answer) => answer?.moved),
      [false, false],
    )
    const [first, second] = await itemsOf(store, operationId)
    assert.deepEqual([first?.outcome, first?.why], ['left_alone', 'it has moved, and is parked again'])
    // It is not where a discard could find it at all: whoever asked writes that down.
    assert.equal(second?.outcome, null)
    await store.operations.settleItem({ operationId, place: 2 }, { outcome: 'left_alone', why: 'queued' })
    await store.operations.settleItem({ operationId, place: 2 }, { outcome: 'failed', why: 'again' })
    assert.deepEqual((await itemsOf(store, operationId))[1]?.why, 'queued')
    assert.equal((await bench.view(retried)).status, 'queued')
  })

  rule('sends again once for an item, and not for one that has moved', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const sent = await settled(bench, lane, 'sent')
    const bounced = await settled(bench, lane, 'sent')
    const { operationId } = await running(bench, lane, [sent, bounced], 'resend')
    await store.receipts.merge(receiptOf(lane, bounced, 'bounced'))
    const repeat = (notificationId: string, place: number): ReturnType<Store['notifications']['insertByHand']> =>
      store.notifications.insertByHand([bench.notification(lane)], {
        actor: ACTOR,
        action: 'resend',
        item: { operationId, place, notificationId },
      })

    assert.deepEqual([await repeat(sent, 1), await repeat(sent, 1), await repeat(bounced, 2)], [true, false, false])
    const [first, second] = await itemsOf(store, operationId)
    assert.equal(first?.outcome, 'done')
    assert.equal((await bench.view(first?.resultId ?? '')).status, 'queued')
    assert.deepEqual([second?.outcome, second?.why], ['left_alone', 'it is parked by now'])
    assert.equal((await store.notifications.list({ tenantId: lane.tenantId }, { limit: 9 })).items.length, 3)
  })

  rule('moves nothing of an operation that was paused or cancelled, and counts what it had moved', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const { tenantId } = lane
    const ids = [
      await settled(bench, lane, 'parked'),
      await settled(bench, lane, 'parked'),
      await settled(bench, lane, 'parked'),
    ]
    const { operationId } = await running(bench, lane, ids)
    const act = (place: number) =>
      store.notifications.act({
        tenantId,
        id: ids[place - 1] ?? '',
        action: 'discard',
        actor: ACTOR,
        item: { operationId, place },
      })
    const steer = (action: 'pause' | 'resume' | 'cancel' | 'undo') =>
      store.operations.steer({ tenantId, id: operationId, action, actor: ACTOR })

    await act(1)
    assert.equal((await steer('pause'))?.operation.status, 'paused')
    assert.equal((await act(2))?.moved, false)
    assert.equal(await store.operations.take(FAR_MS), null)
    assert.equal((await steer('undo'))?.moved, false)
    assert.equal((await steer('resume'))?.operation.status, 'running')
    assert.equal((await act(2))?.moved, true)
    const cancelled = await steer('cancel')
    assert.deepEqual([cancelled?.operation.status, cancelled?.operation.done], ['cancelled', 2])
    assert.equal((await act(3))?.moved, false)
    // Whoever was at work counts nothing a second time.
    await store.operations.checkpoint({ operationId, from: 0, position: 2, to: 'done', leaseMs: 0 })
    const { status, done, endedAt } = await operationOf(bench, tenantId, operationId)
    assert.deepEqual([status, done, typeof endedAt], ['cancelled', 2, 'number'])
    for (const action of ['pause', 'resume', 'cancel', 'undo'] as const)
      assert.equal((await steer(action))?.moved, false)
    assert.equal(
      await store.operations.steer({ tenantId: await bench.tenant(), id: operationId, action: 'cancel', actor: ACTOR }),
      null,
    )
  })

  rule('is undone as long as nothing was done', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const { tenantId } = lane
    const id = await previewed(bench, lane, [await settled(bench, lane, 'parked')])
    await store.operations.start({ ...startOf(tenantId, id), graceMs: FAR_MS })

    assert.equal(await store.operations.take(FAR_MS), null)
    const undone = await store.operations.steer({ tenantId, id, action: 'undo', actor: ACTOR })
    assert.deepEqual([undone?.moved, undone?.operation.status, undone?.operation.done], [true, 'cancelled', 0])
  })

  rule('is worked on by one at a time, in turn, from where it was left', async (bench) => {
    const { store, another } = bench
    const lane = await bench.lane()
    const { tenantId } = lane
    const ids = [await settled(bench, lane, 'parked'), await settled(bench, lane, 'parked')]
    const first = await begun(bench, lane, ids)
    await bench.advance(2)
    const second = await begun(bench, lane, ids)
    const other = await another()

    const taken = [
      await store.operations.take(FAR_MS),
      await other.operations.take(FAR_MS),
      await store.operations.take(FAR_MS),
    ]
    assert.deepEqual(
      taken.map((operation) => operation?.id),
      [first, second, undefined],
    )
    await store.operations.settleItem({ operationId: first, place: 1 }, { outcome: 'failed', why: 'suppressed' })
    const at = { operationId: first, from: 0, position: 1, to: null, leaseMs: 0 } as const
    await store.operations.checkpoint(at)
    await store.operations.checkpoint(at)
    const back = await store.operations.take(FAR_MS)
    assert.deepEqual([back?.id, back?.position, back?.failed, back?.done], [first, 1, 1, 0])
    assert.deepEqual(
      (await store.operations.nextItems(first, 1, 10)).map(({ place, notificationId }) => [place, notificationId]),
      [[2, ids[1]]],
    )
    await store.operations.checkpoint({ ...at, from: 1, position: 2, to: 'done' })
    assert.equal((await operationOf(bench, tenantId, first)).status, 'done')
  })

  rule('waits for what became of its canary', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const { tenantId } = lane
    const worker = await bench.worker()
    const ids = [
      await settled(bench, lane, 'parked'),
      await settled(bench, lane, 'parked'),
      await settled(bench, lane, 'parked'),
    ]
    const operationId = await begun(bench, lane, ids, { canary: 2 })
    const taken = await store.operations.take(FAR_MS)
    assert.deepEqual([taken?.status, taken?.canaryLeftMs], ['canary', null])
    for (const place of [1, 2])
      await store.notifications.act({
        tenantId,
        id: ids[place - 1] ?? '',
        action: 'retry',
        actor: ACTOR,
        item: { operationId, place },
      })

    const stands = async () =>
      (await store.operations.canary(operationId)).map(({ status, reason }) => [status, reason])
    assert.deepEqual(await stands(), [
      ['queued', null],
      ['queued', null],
    ])
    const [one, two] = await bench.claim(worker, lane, 2)
    assert.ok(one && two)
    await store.dispatch.complete(worker, [completion(one, 'sent')])
    await store.dispatch.complete(worker, [completion(two, 'parked')])
    assert.deepEqual(await stands(), [
      ['sent', null],
      ['parked', 'invalid_recipient'],
    ])
    await store.operations.checkpoint({ operationId, from: 0, position: 2, to: null, leaseMs: 0, canaryMs: FAR_MS })
    const left = (await store.operations.take(FAR_MS))?.canaryLeftMs ?? 0
    assert.ok(left > 0 && left <= FAR_MS)
    await store.operations.checkpoint({
      operationId,
      from: 2,
      position: 2,
      to: 'failed',
      problem: 'not well',
      leaseMs: 0,
    })
    const { status, problem, done } = await operationOf(bench, tenantId, operationId)
    assert.deepEqual([status, problem, done], ['failed', 'not well', 2])
  })

  rule('of two that move the same item at once, one does', async (bench) => {
    const { store, another } = bench
    const lane = await bench.lane()
    const { tenantId } = lane
    const id = await settled(bench, lane, 'parked')
    const { operationId } = await running(bench, lane, [id])
    const stores = [store, await another(), store, await another()]

    const answers = await Promise.all(
      stores.map((each) =>
        each.notifications.act({ tenantId, id, action: 'retry', actor: ACTOR, item: { operationId, place: 1 } }),
      ),
    )
    assert.equal(answers.filter((answer) => answer?.moved).length, 1)
    assert.equal(only(await itemsOf(store, operationId)).outcome, 'done')
  })

  rule('pages through the items of an operation, and by what became of them', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const ids = await Promise.all(Array.from({ length: 5 }, () => settled(bench, lane, 'parked')))
    const { operationId } = await running(bench, lane, ids)
    await store.operations.settleItem({ operationId, place: 4 }, { outcome: 'failed', why: 'suppressed' })

    const all = await allPages((page) => store.operations.items(operationId, {}, page), 2)
    assert.deepEqual(
      all.map(({ place }) => place),
      [1, 2, 3, 4, 5],
    )
    const failed = await store.operations.items(operationId, { outcome: 'failed' }, { limit: 10 })
    assert.deepEqual(
      failed.items.map(({ place, why }) => [place, why]),
      [[4, 'suppressed']],
    )
  })

  rule('knows every status of an operation', async ({ store, tenant }) => {
    const listed = await store.operations.list(await tenant(), { status: [...OPERATION_STATUSES] }, { limit: 1 })
    assert.deepEqual(listed, { items: [], nextCursor: null })
  })
}

async function causesOf({ store }: Bench, tenantId: string, filter: Parameters<Store['operations']['causes']>[0] = {}) {
  return (await store.operations.causes({ ...filter, tenantId }, LIMITS)).causes
}

/** A notification brought to where it is wanted by a worker. */
async function settled(bench: Bench, lane: Lane, to: Parameters<typeof completion>[1]): Promise<string> {
  const id = only(await bench.enqueue(lane))
  const worker = await bench.worker()
  await bench.store.dispatch.complete(worker, [completion(only(await bench.claim(worker, lane)), to)])
  return id
}

/** These, chosen as they stand now. */
async function previewed(
  { store, newId }: Bench,
  { tenantId }: Lane,
  ids: readonly string[],
  action: Operation['action'] = 'retry',
): Promise<string> {
  const id = newId()
  const preview = { id, tenantId, action, options: {}, actor: ACTOR, canary: 2 }
  assert.ok(await store.operations.beginPreview(preview, { most: 100, lifeMs: FAR_MS }))
  const found = new Map((await store.operations.candidatesById(tenantId, ids)).map((each) => [each.id, each]))
  const items = ids.map((notificationId, i) => {
    const { status, attempt, settledAt } = found.get(notificationId) ?? assert.fail()
    return { place: i + 1, notificationId, status, attempt, settledAt }
  })
  await store.operations.addItems(id, items)
  await store.operations.endPreview(id, items.length)
  return id
}

function startOf(tenantId: string, id: string): StartRequest {
  return { tenantId, id, actor: ACTOR, note: null, perSecond: null, canary: 0, graceMs: 0 }
}

function started(answer: Awaited<ReturnType<Store['operations']['start']>>): Operation {
  assert.ok(answer && 'operation' in answer)
  return answer.operation
}

async function begun(
  bench: Bench,
  lane: Lane,
  ids: readonly string[],
  changes: { canary?: number; action?: Operation['action'] } = {},
): Promise<string> {
  const id = await previewed(bench, lane, ids, changes.action)
  started(await bench.store.operations.start({ ...startOf(lane.tenantId, id), canary: changes.canary ?? 0 }))
  return id
}

async function running(
  bench: Bench,
  lane: Lane,
  ids: readonly string[],
  action: Operation['action'] = 'retry',
): Promise<{ operationId: string; taken: TakenOperation }> {
  const operationId = await begun(bench, lane, ids, { action })
  const taken = await bench.store.operations.take(FAR_MS)
  assert.ok(taken)
  assert.equal(taken.id, operationId)
  return { operationId, taken }
}

async function itemsOf(store: Store, operationId: string): Promise<OperationItem[]> {
  return (await store.operations.items(operationId, {}, { limit: 100 })).items
}

async function operationOf({ store }: Bench, tenantId: string, id: string): Promise<Operation> {
  return (await store.operations.find(tenantId, id)) ?? assert.fail('the operation is gone')
}
