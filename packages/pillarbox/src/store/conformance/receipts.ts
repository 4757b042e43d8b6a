import assert from 'node:assert/strict'
import { RECEIPT_KINDS, RECEIPTS, type ReceiptKind } from '../../model/receipt.ts'
import { type Bench, completion, only, type Rule } from './fixtures.ts'

/** P6: receipts merge by rank, so any order and any repetition come to the same end. */
export function receiptRules(rule: Rule): void {
  rule('moves a sent notification by the highest receipt, in any order and with repetitions', async (bench) => {
    for (const order of permutations(RECEIPT_KINDS)) {
      const sent = await sentOne(bench)
      for (const kind of [...order, ...order]) await bench.store.receipts.merge(receiptOf(sent, kind))

      const { status, deliveredAt, readAt } = await bench.view(sent.id)
      assert.deepEqual(
        { status, deliveredAt, readAt },
        { status: 'read', deliveredAt: AT.delivered, readAt: AT.read },
        order.join(),
      )
    }
  })

  rule('comes to the same end when receipts arrive at the same time', async (bench) => {
    const { store, view } = bench
    const sent = await sentOne(bench)

    await Promise.all(RECEIPT_KINDS.map((kind) => store.receipts.merge(receiptOf(sent, kind))))

    assert.equal((await view(sent.id)).status, 'read')
  })

  for (const kind of RECEIPT_KINDS)
    rule(`a lone ${kind} receipt leads where its rank says, with an audit row`, async (bench) => {
      const { store, view } = bench
      const sent = await sentOne(bench)

      assert.equal(await store.receipts.merge(receiptOf(sent, kind)), 'moved')
      assert.equal(await store.receipts.merge(receiptOf(sent, kind)), 'repeated')

      const { status, reason } = await view(sent.id)
      assert.deepEqual({ status, reason }, { status: RECEIPTS[kind].to, reason: RECEIPTS[kind].reason })
      const last = (await store.notifications.audit(sent.id)).at(-1)
      assert.deepEqual([last?.from, last?.to, last?.action], ['sent', RECEIPTS[kind].to, RECEIPTS[kind].action])
      assert.deepEqual(
        (await store.receipts.list(sent.id)).map((receipt) => receipt.kind),
        [kind],
      )
    })

  rule('keeps a receipt that comes before the result it speaks of, and matches it later', async (bench) => {
    const { store, lane, enqueue, worker, claim, view } = bench
    const target = await lane()
    const [id = ''] = await enqueue(target)
    const by = await worker()
    const claimed = only(await claim(by, target))
    const sent = { id, tenantId: target.tenantId, messageId: 'early-1' }

    assert.equal(await store.receipts.merge(receiptOf(sent, 'delivered')), 'waiting')
    assert.equal(await store.receipts.match(10), 0)
    await store.dispatch.complete(by, [completion(claimed, 'sent', { providerMessageId: sent.messageId })])
    assert.equal(await store.receipts.match(10), 1)

    assert.equal((await view(id)).status, 'delivered')
    assert.equal(await store.receipts.match(10), 0)
  })

  rule('a receipt of another tenant or provider finds nothing', async (bench) => {
    const { store, tenant, view } = bench
    const sent = await sentOne(bench)
    const other = await tenant()

    assert.equal(await store.receipts.merge({ ...receiptOf(sent, 'read'), tenantId: other }), 'waiting')
    assert.equal(await store.receipts.merge({ ...receiptOf(sent, 'read'), provider: 'other' }), 'waiting')

    assert.equal((await view(sent.id)).status, 'sent')
  })

  rule('a receipt waits while its notification is being sent again, and is applied after that', async (bench) => {
    const { store, view, worker } = bench
    const sent = await sentOne(bench)
    await store.receipts.merge(receiptOf(sent, 'bounced'))
    const acted = await store.notifications.act({
      tenantId: sent.tenantId,
      id: sent.id,
      action: 'retry',
      actor: 'system',
    })

    assert.equal(await store.receipts.merge(receiptOf(sent, 'read')), 'waiting')
    assert.equal((await view(sent.id)).status, 'queued')

    const by = await worker()
    const answer = await store.dispatch.claim(by, [{ laneId: acted?.laneId ?? '', limit: 1 }])
    assert.ok(!answer.fenced)
    await store.dispatch.complete(by, [completion(only(answer.claims), 'sent', { providerMessageId: 'second' })])
    assert.equal(await store.receipts.match(10), 1)
    assert.equal((await view(sent.id)).status, 'read')
  })

  rule('nothing moves what an operator has closed', async (bench) => {
    const { store, view } = bench
    const sent = await sentOne(bench)
    await store.receipts.merge(receiptOf(sent, 'bounced'))
    await store.notifications.act({ tenantId: sent.tenantId, id: sent.id, action: 'discard', actor: 'system' })

    assert.equal(await store.receipts.merge(receiptOf(sent, 'read')), 'kept')

    assert.equal((await view(sent.id)).status, 'discarded')
  })
}

interface Sent {
  id: string
  tenantId: string
  messageId: string
}

async function sentOne(bench: Bench): Promise<Sent> {
  const target = await bench.lane()
  const [id = ''] = await bench.enqueue(target)
  const by = await bench.worker()
  const claimed = only(await bench.claim(by, target))
  const messageId = `message-${id}`
  await bench.store.dispatch.complete(by, [completion(claimed, 'sent', { providerMessageId: messageId })])
  return { id, tenantId: target.tenantId, messageId }
}

const AT: Record<ReceiptKind, number> = {
  delivered: 1_767_225_600_000,
  bounced: 1_767_225_601_000,
  complained: 1_767_225_602_000,
  read: 1_767_225_603_000,
}

function receiptOf({ tenantId, messageId }: Sent, kind: ReceiptKind) {
  return { tenantId, provider: 'sandbox', providerMessageId: messageId, kind, at: AT[kind] }
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]]
  return items.flatMap((item, i) =>
    permutations([...items.slice(0, i), ...items.slice(i + 1)]).map((rest) => [item, ...rest]),
  )
}
