import assert from 'node:assert/strict'
import type { NewNotification } from '../../packages/pillarbox/src/model/notification.ts'
import {
  FOUND_BY_MESSAGE_ID,
  RECEIPT_KINDS,
  RECEIPTS,
  type ReceiptKind,
} from '../../packages/pillarbox/src/model/receipt.ts'
import type { NewReceipt } from '../../packages/pillarbox/src/receipts/receipt-store.ts'
import {
  assertBetween,
  type Bench,
  completion,
  FAR_MS,
  type Lane,
  only,
  RECEIPT_AT,
  type Rule,
  reach,
  receiptOf,
} from './fixtures.ts'

/** P6: receipts merge by rank, so any order and any repetition come to the same end. */
export function receiptRules(rule: Rule): void {
  mergeRules(rule)
  fallbackRules(rule)
  recipientRules(rule)
  locateRules(rule)
}

function mergeRules(rule: Rule): void {
  rule('moves a sent notification by the highest receipt, in any order and with repetitions', async (bench) => {
    // Every order of the highest four; the others stand before and behind them.
    for (const order of permutations(['delivered', 'bounced', 'complained', 'read'] as const)) {
      const sent = await sentOne(bench)
      for (const kind of ['sent', ...order, 'failed', ...order, 'sent'] as const)
        await bench.store.receipts.merge(receiptOf(sent, sent.id, kind))

      const { status, reason, lastError, deliveredAt, readAt } = await bench.view(sent.id)
      assert.deepEqual(
        { status, reason, lastError, deliveredAt, readAt },
        { status: 'read', reason: null, lastError: null, deliveredAt: RECEIPT_AT.delivered, readAt: RECEIPT_AT.read },
        order.join(),
      )
    }
  })

  rule('comes to the same end for any two receipts, whichever is first', async (bench) => {
    for (const [a, b] of pairs(RECEIPT_KINDS)) {
      const [one, other] = [await sentOne(bench), await sentOne(bench)]
      for (const kind of [a, b]) await bench.store.receipts.merge(receiptOf(one, one.id, kind))
      for (const kind of [b, a]) await bench.store.receipts.merge(receiptOf(other, other.id, kind))

      assert.deepEqual(await ending(bench, one.id), await ending(bench, other.id), `${a}, ${b}`)
    }
  })

  rule('comes to the same end when receipts arrive at the same time', async (bench) => {
    const { store, another, view } = bench
    const other = await another()
    const sent = await sentOne(bench)

    const answers = await Promise.all(
      [...RECEIPT_KINDS, ...RECEIPT_KINDS].map((kind, i) =>
        (i % 2 ? store : other).receipts.merge(receiptOf(sent, sent.id, kind)),
      ),
    )

    assert.equal((await view(sent.id)).status, 'read')
    assert.equal(answers.filter((answer) => answer === 'repeated').length, RECEIPT_KINDS.length)
    assert.equal((await store.receipts.list(sent.id)).length, RECEIPT_KINDS.length)
  })

  for (const kind of RECEIPT_KINDS.filter((each) => each !== 'sent'))
    rule(`a lone ${kind} receipt leads where its rank says, with an audit row`, async (bench) => {
      const { store, view } = bench
      const sent = await sentOne(bench)
      const given = receiptOf(sent, sent.id, kind)
      const before = await store.now()

      assert.equal(await store.receipts.merge(given), 'moved')
      assert.equal(await store.receipts.merge(given), 'repeated')

      const { status, reason, lastError } = await view(sent.id)
      assert.equal(status, RECEIPTS[kind].to)
      assert.deepEqual([reason, lastError], ENDS[kind])
      const last = (await store.notifications.audit(sent.id)).at(-1)
      assert.deepEqual(
        [last?.from, last?.to, last?.action, last?.reason],
        ['sent', RECEIPTS[kind].to, RECEIPTS[kind].action, reason],
      )
      const kept = only(await store.receipts.list(sent.id))
      const { receivedAt, ...told } = kept
      assert.deepEqual(told, {
        kind,
        at: given.at,
        provider: 'sandbox',
        providerMessageId: given.providerMessageId,
        recipient: null,
        code: given.failure?.code ?? null,
        error: given.failure?.error ?? null,
      })
      assertBetween(receivedAt, before, await store.now())
    })

  rule('keeps a sent receipt about what is sent, and moves nothing', async (bench) => {
    const { store, view } = bench
    const sent = await sentOne(bench)
    const before = await view(sent.id)

    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'sent')), 'kept')

    assert.deepEqual(await view(sent.id), before)
    assert.equal((await store.notifications.audit(sent.id)).at(-1)?.action, 'send')
  })

  rule('settles an outcome that is uncertain by a sent receipt, and goes on from there', async (bench) => {
    const { store, view } = bench
    const { id, lane } = await reach(bench, 'uncertain')
    const before = await store.now()

    assert.equal(await store.receipts.merge(receiptOf(lane, id, 'sent')), 'moved')

    const { status, reason, lastError, sentAt } = await view(id)
    assert.deepEqual([status, reason, lastError], ['sent', null, null])
    assertBetween(sentAt, before, await store.now())
    assert.deepEqual((await store.notifications.countByStatus(lane.tenantId)).sent, 1)
    assert.equal((await store.notifications.act(acting(lane, id, 'retry')))?.moved, false)
    assert.equal(await store.receipts.merge(receiptOf(lane, id, 'delivered')), 'moved')
    assert.equal((await view(id)).status, 'delivered')
  })

  rule(
    'finds what a receipt settled as sent among the sent ones, and once it is old among the stale',
    async (bench) => {
      const { store, advance } = bench
      const { id, lane } = await reach(bench, 'uncertain', undefined, { provider: 'meta' })
      await store.receipts.merge(receiptOf(lane, id, 'sent'))
      const ids = async (filter: object): Promise<string[]> =>
        (await store.notifications.list({ tenantId: lane.tenantId, ...filter }, { limit: 10 })).items.map(
          (item) => item.id,
        )

      await advance(10)

      assert.deepEqual(await ids({ status: ['sent'] }), [id])
      assert.deepEqual(await ids({ status: ['uncertain'] }), [])
      assert.deepEqual(await ids({ staleForMs: 5 }), [id])
      assert.deepEqual(await ids({ staleForMs: FAR_MS }), [])
    },
  )

  rule('a failure moves what is uncertain, too', async (bench) => {
    const { store, view } = bench
    const { id, lane } = await reach(bench, 'uncertain')

    assert.equal(await store.receipts.merge(receiptOf(lane, id, 'failed')), 'moved')

    assert.deepEqual([(await view(id)).status, (await view(id)).reason], ['parked', 'unreachable'])
  })

  rule('leaves an address that is no good at that where the policy says so', async (bench) => {
    const { store, view } = bench
    for (const kind of ['failed', 'bounced'] as const) {
      const sent = await sentOne(bench)
      const failure = { reason: 'invalid_recipient', code: '17', error: 'no such address', to: 'failed' } as const

      assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, kind, { failure })), 'moved')

      const { status, reason, lastError } = await view(sent.id)
      assert.deepEqual(
        [status, reason, lastError],
        ['failed', kind === 'bounced' ? 'bounced' : 'invalid_recipient', 'no such address'],
      )
    }
  })

  rule('waits while its notification is being sent for the first time, and writes nothing', async (bench) => {
    const { store, lane, enqueue, worker, claim, view } = bench
    const target = await lane()
    const id = only(await enqueue(target))
    const by = await worker()
    const claimed = only(await claim(by, target))

    assert.equal(await store.receipts.merge(receiptOf(target, id, 'delivered')), 'waiting')

    assert.deepEqual(await store.receipts.list(id), [])
    await store.dispatch.complete(by, [completion(claimed, 'sent')])
    assert.equal(await store.receipts.merge(receiptOf(target, id, 'delivered')), 'moved')
    assert.equal((await view(id)).status, 'delivered')
  })

  rule('waits while its notification is being sent again, and is applied after that', async (bench) => {
    const { store, view, worker, claim } = bench
    const sent = await sentOne(bench)
    await store.receipts.merge(receiptOf(sent, sent.id, 'bounced'))
    await store.notifications.act(acting(sent, sent.id, 'retry'))

    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'read')), 'waiting')
    assert.equal((await view(sent.id)).status, 'queued')

    const by = await worker()
    await store.dispatch.complete(by, [completion(only(await claim(by, sent.lane)), 'sent')])
    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'bounced')), 'repeated')
    assert.equal((await view(sent.id)).status, 'sent')
    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'read')), 'moved')
    assert.equal((await view(sent.id)).status, 'read')
  })

  rule('is either applied before a retry by hand or waits for it, when both come at once', async (bench) => {
    const { store, another, view } = bench
    const other = await another()
    for (let i = 0; i < 5; i++) {
      const sent = await sentOne(bench)
      await store.receipts.merge(receiptOf(sent, sent.id, 'failed'))

      const [acted, answer] = await Promise.all([
        store.notifications.act(acting(sent, sent.id, 'retry')),
        other.receipts.merge(receiptOf(sent, sent.id, 'delivered')),
      ])

      const { status } = await view(sent.id)
      assert.deepEqual(
        [acted?.moved, answer, status],
        acted?.moved ? [true, 'waiting', 'queued'] : [false, 'moved', 'delivered'],
      )
    }
  })

  rule('nothing moves what an operator has closed', async (bench) => {
    const { store, view } = bench
    const sent = await sentOne(bench)
    await store.receipts.merge(receiptOf(sent, sent.id, 'bounced'))
    await store.notifications.act(acting(sent, sent.id, 'discard'))

    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'read')), 'kept')

    assert.equal((await view(sent.id)).status, 'discarded')
  })

  rule('nothing moves what a call stopped', async (bench) => {
    const { store, view } = bench
    for (const status of ['parked', 'failed', 'cancelled'] as const) {
      const { id, lane } = await reach(bench, status)

      assert.equal(await store.receipts.merge(receiptOf(lane, id, 'read')), 'kept')

      assert.equal((await view(id)).status, status)
    }
  })

  rule('a receipt of another tenant, or of a notification that is not there, changes nothing', async (bench) => {
    const { store, tenant, view, newId } = bench
    const sent = await sentOne(bench)

    await Promise.all([
      store.receipts.merge(receiptOf({ tenantId: await tenant() }, sent.id, 'read')),
      store.receipts.merge(receiptOf(sent, newId(), 'read')),
      store.receipts.merge(receiptOf(sent, 'nonsense', 'read')),
      store.receipts.merge(receiptOf(sent, sent.id, 'sent')),
    ])

    assert.equal((await view(sent.id)).status, 'sent')
    assert.deepEqual(
      (await store.receipts.list(sent.id)).map(({ kind }) => kind),
      ['sent'],
    )
  })

  rule('one that the store refuses spoils no other that comes with it', async (bench) => {
    const { store, view } = bench
    const sent = [await sentOne(bench), await sentOne(bench), await sentOne(bench)]
    const kinds = ['delivered', 'nonsense', 'read'] as ReceiptKind[]

    const answers = await Promise.allSettled(
      sent.map((each, i) => store.receipts.merge(receiptOf(each, each.id, kinds[i] ?? 'sent', { at: 1 }))),
    )

    assert.deepEqual(
      answers.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    const statuses = await Promise.all(sent.map(async ({ id }) => (await view(id)).status))
    assert.deepEqual(statuses, ['delivered', 'sent', 'read'])
  })

  rule('takes two messages of one notification for two, and the highest word of either', async (bench) => {
    const { store, view } = bench
    const sent = await sentOne(bench)

    assert.equal(
      await store.receipts.merge(receiptOf(sent, sent.id, 'failed', { providerMessageId: 'lost-1' })),
      'moved',
    )
    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'failed')), 'kept')
    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'delivered')), 'moved')

    assert.equal((await view(sent.id)).status, 'delivered')
    assert.equal((await store.receipts.list(sent.id)).length, 3)
  })
}

function fallbackRules(rule: Rule): void {
  rule('lets the next channel take over in the same transaction, linked both ways', async (bench) => {
    const { store, view } = bench
    for (const kind of ['failed', 'bounced'] as const) {
      const sent = await sentOne(bench, { fallback: ['sms'] })
      const next = await successor(bench, sent)

      assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, kind, { next })), 'moved')

      const first = await view(sent.id)
      assert.deepEqual(
        [first.status, first.reason, first.lastError, first.fallbackTo],
        ['failed', 'fallback_triggered:sms', 'mailbox unavailable', next.id],
      )
      const second = await view(next.id)
      assert.deepEqual([second.status, second.fallbackOf, second.channel], ['queued', sent.id, 'sms'])
      const last = (await store.notifications.audit(sent.id)).at(-1)
      assert.deepEqual([last?.action, last?.from, last?.to], ['fail', 'sent', 'failed'])
      only((await store.dispatch.dueLanes(null, 10)).filter(({ accountId }) => accountId === next.accountId))
    }
  })

  rule('lets nobody take over by a receipt that moves nothing', async (bench) => {
    const { store } = bench
    const sent = await sentOne(bench, { fallback: ['sms'] })
    await store.receipts.merge(receiptOf(sent, sent.id, 'delivered'))
    const next = await successor(bench, sent)

    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'failed', { next })), 'kept')
    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'failed', { next })), 'repeated')

    assert.equal(await store.notifications.find(null, next.id), null)
  })

  rule('lets nobody take over from one that may have arrived', async (bench) => {
    const { store, view } = bench
    const sent = await sentOne(bench, { fallback: ['sms'] }, { possibleDuplicate: true })
    const next = await successor(bench, sent)

    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'failed', { next })), 'moved')

    const { status, reason, possibleDuplicate } = await view(sent.id)
    assert.deepEqual([status, reason, possibleDuplicate], ['parked', 'unreachable', true])
    assert.equal(await store.notifications.find(null, next.id), null)
  })

  rule('lets nobody take over twice, whatever is heard later and in which order', async (bench) => {
    const { store, view } = bench
    for (const later of permutations(['bounced', 'delivered'] as const)) {
      const sent = await sentOne(bench, { fallback: ['sms'] })
      const next = await successor(bench, sent)
      await store.receipts.merge(receiptOf(sent, sent.id, 'failed', { next }))

      for (const kind of later)
        await store.receipts.merge(receiptOf(sent, sent.id, kind, { next: { ...next, id: bench.newId() } }))

      const { status, reason, fallbackTo } = await view(sent.id)
      assert.deepEqual([status, reason, fallbackTo], ['failed', 'fallback_triggered:sms', next.id])
      only((await store.notifications.list({ tenantId: sent.tenantId, channel: 'sms' }, { limit: 10 })).items)
    }
  })

  rule('lets one take over when several would at the same time', async (bench) => {
    const { store, another, view } = bench
    const other = await another()
    const sent = await sentOne(bench, { fallback: ['sms'] })
    const nexts = [await successor(bench, sent), await successor(bench, sent), await successor(bench, sent)]

    await Promise.all(
      (['failed', 'bounced', 'failed'] as const).map((kind, i) =>
        (i < 2 ? store : other).receipts.merge(
          receiptOf(sent, sent.id, kind, { providerMessageId: `message-${i}`, next: nexts[i] ?? null }),
        ),
      ),
    )

    const { status, fallbackTo } = await view(sent.id)
    const taker = only(
      (await store.notifications.list({ tenantId: sent.tenantId, channel: 'sms' }, { limit: 10 })).items,
    )
    assert.deepEqual([status, fallbackTo, taker.fallbackOf], ['failed', taker.id, sent.id])
  })

  rule('moves one that was given up to delivered, should it arrive after all; the links stay', async (bench) => {
    const { store, view } = bench
    const sent = await sentOne(bench, { fallback: ['sms'] })
    const next = await successor(bench, sent)
    await store.receipts.merge(receiptOf(sent, sent.id, 'failed', { next }))

    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'delivered')), 'moved')

    const { status, reason, lastError, fallbackTo } = await view(sent.id)
    assert.deepEqual([status, reason, lastError, fallbackTo], ['delivered', null, null, next.id])
    assert.equal((await view(next.id)).fallbackOf, sent.id)
  })

  rule('begins no second one where its key is there already', async (bench) => {
    const { store, view } = bench
    const sent = await sentOne(bench, { fallback: ['sms'] })
    const next = await successor(bench, sent)
    await store.notifications.insert([next])

    await store.receipts.merge(receiptOf(sent, sent.id, 'failed', { next: { ...next, id: bench.newId() } }))

    assert.equal((await view(sent.id)).fallbackTo, next.id)
  })
}

function recipientRules(rule: Rule): void {
  rule('keeps what is said of one recipient of several, and moves nothing by a failure of theirs', async (bench) => {
    const { store, view } = bench
    const sent = await sentOne(bench)
    const next = await successor(bench, sent)
    const before = await view(sent.id)
    const of = (kind: ReceiptKind, recipient: string): NewReceipt =>
      receiptOf(sent, sent.id, kind, { recipient, next: kind === 'bounced' ? next : null })

    assert.equal(await store.receipts.merge(of('bounced', 'ada@example.test')), 'kept')
    assert.equal(await store.receipts.merge(of('bounced', 'ada@example.test')), 'repeated')
    for (const kind of ['bounced', 'failed', 'complained'] as const)
      assert.equal(await store.receipts.merge(of(kind, 'bob@example.test')), 'kept')

    assert.deepEqual(await view(sent.id), before)
    assert.equal(await store.notifications.find(null, next.id), null)
    assert.deepEqual(
      (await store.receipts.list(sent.id)).map(({ kind, recipient }) => [kind, recipient]),
      [
        ['bounced', 'ada@example.test'],
        ['bounced', 'bob@example.test'],
        ['failed', 'bob@example.test'],
        ['complained', 'bob@example.test'],
      ],
    )
  })

  rule('is delivered once one of several recipients has it, and read by none of them alone', async (bench) => {
    const { store, view } = bench
    for (const kind of ['delivered', 'read'] as const) {
      const sent = await sentOne(bench)

      assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, kind, { recipient: 'a@example.test' })), 'moved')
      assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, kind, { recipient: 'b@example.test' })), 'kept')

      const { status, deliveredAt, readAt } = await view(sent.id)
      assert.deepEqual([status, deliveredAt, readAt], ['delivered', RECEIPT_AT[kind], null])
    }
  })

  rule('still bounces as a whole when that is said of the whole', async (bench) => {
    const { store, view } = bench
    const sent = await sentOne(bench)
    await store.receipts.merge(receiptOf(sent, sent.id, 'delivered', { recipient: 'a@example.test' }))

    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'failed')), 'kept')
    assert.equal(await store.receipts.merge(receiptOf(sent, sent.id, 'bounced')), 'moved')

    assert.equal((await view(sent.id)).reason, 'bounced')
  })
}

function locateRules(rule: Rule): void {
  rule('locates a notification by our own reference, whatever the message is called', async (bench) => {
    const { store } = bench
    const sent = await sentOne(bench)

    const found = await store.receipts.locate(reportOf(sent, { notificationId: sent.id, providerMessageId: 'other' }))

    assert.deepEqual(found, await bench.view(sent.id))
  })

  rule('locates a notification whose call is still under way', async (bench) => {
    const { store, lane, enqueue, worker, claim } = bench
    const target = await lane()
    const id = only(await enqueue(target))
    const report = reportOf({ lane: target }, { notificationId: id })
    assert.equal(await store.receipts.locate(report), null)

    await claim(await worker(), target)

    assert.equal((await store.receipts.locate(report))?.status, 'sending')
    assert.equal(await store.receipts.locate({ ...report, provider: 'other' }), null)
  })

  for (const provider of FOUND_BY_MESSAGE_ID)
    rule(`locates a notification that ${provider} was called for by the message’s id`, async (bench) => {
      const { store } = bench
      const sent = await sentOne(bench, {}, { provider })
      await sentOne(bench, {}, { provider })
      const report = reportOf(sent, { provider, providerMessageId: `accepted-${sent.id}` })

      assert.equal((await store.receipts.locate(report))?.id, sent.id)
      assert.equal((await store.receipts.locate({ ...report, notificationId: bench.newId() }))?.id, sent.id)
      assert.equal(await store.receipts.locate({ ...report, providerMessageId: 'unknown' }), null)
    })

  rule('locates nothing by the message’s id where the provider repeats our reference', async (bench) => {
    const { store } = bench
    const sent = await sentOne(bench)

    assert.equal(await store.receipts.locate(reportOf(sent, { providerMessageId: `accepted-${sent.id}` })), null)
  })

  rule('locates no notification of an account that the callback does not speak for', async (bench) => {
    const { store, lane } = bench
    const sent = await sentOne(bench, {}, { provider: 'ses' })
    const others = [(await lane({ tenantId: sent.tenantId })).id, (await lane()).id]
    const byMessage = reportOf(sent, { provider: 'ses', providerMessageId: `accepted-${sent.id}` })
    const byReference = { ...byMessage, notificationId: sent.id }

    for (const report of [byMessage, byReference]) {
      assert.equal((await store.receipts.locate(report))?.id, sent.id)
      assert.equal(await store.receipts.locate({ ...report, accountIds: others }), null)
      assert.equal(await store.receipts.locate({ ...report, accountIds: [] }), null)
    }
  })

  rule('locates no notification that another provider was called for, or none', async (bench) => {
    const { store, lane, enqueue } = bench
    const sent = await sentOne(bench)
    const target = await lane()
    const queued = only(await enqueue(target))

    for (const report of [
      reportOf(sent, { notificationId: sent.id, provider: 'ses' }),
      reportOf({ lane: target }, { notificationId: queued }),
      reportOf(sent, { notificationId: bench.newId() }),
      reportOf(sent, { notificationId: 'nonsense' }),
      reportOf(sent, {}),
    ])
      assert.equal(await store.receipts.locate(report), null)
  })
}

/** What a lone receipt leaves as reason and error. */
const ENDS: Record<ReceiptKind, [reason: string | null, error: string | null]> = {
  sent: [null, null],
  failed: ['unreachable', 'mailbox unavailable'],
  delivered: [null, null],
  bounced: ['bounced', 'mailbox unavailable'],
  complained: ['complained', 'The recipient reported the message as unwanted.'],
  read: [null, null],
}

interface Sent {
  id: string
  tenantId: string
  lane: Lane
}

async function sentOne(
  bench: Bench,
  changes: Partial<NewNotification> = {},
  result: Parameters<typeof completion>[2] = {},
): Promise<Sent> {
  const lane = await bench.lane()
  const id = only(await bench.enqueue(lane, 1, changes))
  const by = await bench.worker()
  const claimed = only(await bench.claim(by, lane))
  await bench.store.dispatch.complete(by, [completion(claimed, 'sent', result)])
  return { id, tenantId: lane.tenantId, lane }
}

/** Who would take over. */
async function successor(bench: Bench, { id, tenantId }: Sent): Promise<NewNotification> {
  const lane = await bench.lane({ tenantId, channel: 'sms' })
  return bench.notification(lane, { fallbackOf: id })
}

async function ending({ view }: Bench, id: string): Promise<unknown> {
  const { status, reason, lastError, deliveredAt, readAt } = await view(id)
  return { status, reason, lastError, deliveredAt, readAt }
}

function acting({ tenantId }: Pick<Lane, 'tenantId'>, id: string, action: 'retry' | 'discard') {
  return { tenantId, id, action, actor: 'key:ada' }
}

function reportOf(
  { lane }: Pick<Sent, 'lane'>,
  changes: Partial<Parameters<Bench['store']['receipts']['locate']>[0]>,
): Parameters<Bench['store']['receipts']['locate']>[0] {
  return { accountIds: [lane.id], provider: 'sandbox', providerMessageId: null, notificationId: null, ...changes }
}

function pairs<T>(items: readonly T[]): [T, T][] {
  return items.flatMap((a, i) => items.slice(i + 1).map((b): [T, T] => [a, b]))
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]]
  return items.flatMap((item, i) =>
    permutations([...items.slice(0, i), ...items.slice(i + 1)]).map((rest) => [item, ...rest]),
  )
}
