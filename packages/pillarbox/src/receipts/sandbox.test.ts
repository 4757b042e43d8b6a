import assert from 'node:assert/strict'
import { it } from 'node:test'
import { RECEIPT_KINDS } from '../model/receipt.ts'
import { pretendCallback, sandboxReceipts } from './sandbox.ts'

const MESSAGE = {
  id: 'sbx-000007',
  notificationId: '019bc186-0000-7000-8000-000000000001',
  tenantId: 'acme',
  accountId: 'a',
}

it('reads what the pretend vendor was made to say, of every kind', () => {
  for (const kind of RECEIPT_KINDS) {
    const { body, headers, source, accountIds } = pretendCallback(MESSAGE, kind, 1_000)
    const { events, unreadable } = sandboxReceipts.parse({ rawBody: body, headers, receivedAt: 5_000 })

    assert.deepEqual([source, accountIds, unreadable], ['sandbox', ['a'], 0])
    const [event] = events
    assert.deepEqual(
      [event?.kind, event?.notificationId, event?.providerMessageId, event?.at],
      [kind, MESSAGE.notificationId, 'sbx-000007', 1_000],
    )
  }
})

it('tells two reports of the same kind apart, so that neither is taken for a repetition', () => {
  const [first, second] = [1_000, 2_000].map((at) => pretendCallback(MESSAGE, 'delivered', at).body)
  assert.notDeepEqual(first, second)
})

it('counts what it cannot read, and reads nothing else of it', () => {
  for (const text of ['', '{', 'null', '7', '{"kind":"delivered"}', '{"kind":"nonsense","notificationId":"x"}']) {
    const parsed = sandboxReceipts.parse({ rawBody: Buffer.from(text), headers: {}, receivedAt: 0 })
    assert.deepEqual(parsed, { events: [], unreadable: 1 }, text)
  }
})
