import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { canMove, NOTIFICATION_STATUSES, type NotificationStatus } from './notification.ts'
import { outranks, RECEIPT_KINDS, RECEIPTS, type ReceiptKind, standingRank } from './receipt.ts'

/** Where a sent notification stands after these receipts. */
function merged(kinds: readonly ReceiptKind[]): { status: NotificationStatus; reason: string | null } {
  let standing: { status: NotificationStatus; reason: string | null } = { status: 'sent', reason: null }
  for (const kind of kinds)
    if (outranks(kind, standing.status, standing.reason))
      standing = { status: RECEIPTS[kind].to, reason: RECEIPTS[kind].reason }
  return standing
}

describe('receipts (P6)', () => {
  it('come to the same end in any order and with any repetition', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...RECEIPT_KINDS), { maxLength: 8 }),
        fc.infiniteStream(fc.nat()),
        (kinds, chance) => {
          const shuffled = [...kinds, ...kinds]
            .map((kind) => ({ kind, at: Number(chance.next().value) }))
            .sort((a, b) => a.at - b.at)
            .map(({ kind }) => kind)

          assert.deepEqual(merged(shuffled), merged(kinds))
        },
      ),
    )
  })

  it('have distinct ranks, so that there is one highest', () => {
    const ranks = RECEIPT_KINDS.map((kind) => RECEIPTS[kind].rank)
    assert.equal(new Set(ranks).size, ranks.length)
  })

  it('only move along the arrows of the state machine', () => {
    for (const status of NOTIFICATION_STATUSES)
      for (const reason of ['bounced', 'complained', 'attempts_exhausted', null])
        for (const kind of RECEIPT_KINDS)
          if (outranks(kind, status, reason) && RECEIPTS[kind].to !== status)
            assert.ok(canMove(status, RECEIPTS[kind].to), `${status} (${reason}) → ${RECEIPTS[kind].to}`)
  })

  it('move nothing that is live or closed', () => {
    for (const status of ['queued', 'retrying', 'sending', 'failed', 'discarded', 'cancelled'] as const)
      assert.equal(standingRank(status, null), null)
  })
})
