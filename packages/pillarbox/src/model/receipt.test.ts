import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { canMove, NOTIFICATION_STATUSES, type NotificationStatus } from './notification.ts'
import { REASONS } from './reason.ts'
import {
  landingOf,
  outranks,
  RECEIPT_KINDS,
  RECEIPTS,
  type ReceiptFailure,
  type ReceiptKind,
  type Standing,
  standingRank,
  wordOfOne,
} from './receipt.ts'

const FAILURE: ReceiptFailure = { reason: 'unreachable', code: '2', error: 'The phone is off.', to: 'parked' }
const DEAD: ReceiptFailure = { reason: 'invalid_recipient', code: '17', error: 'No such number.', to: 'failed' }

interface Heard {
  kind: ReceiptKind
  /** About one recipient of several. */
  isOfOne: boolean
}

interface Place extends Standing {
  reason: string | null
}

/** Where a notification stands after these receipts. */
function merged(start: Standing, heard: readonly Heard[], takenOverBy: string | null = null): Place {
  let place: Place = { ...start, reason: null }
  for (const { kind, isOfOne } of heard) {
    const word = isOfOne ? wordOfOne(kind) : kind
    if (word === null || !outranks(word, place)) continue
    const { status, reason } = landingOf(word, FAILURE, takenOverBy)
    place = { status, reason, heard: word }
  }
  return place
}

const receipts = fc.array(fc.record({ kind: fc.constantFrom(...RECEIPT_KINDS), isOfOne: fc.boolean() }), {
  maxLength: 8,
})
const starts = fc.constantFrom<Standing>({ status: 'sent', heard: null }, { status: 'uncertain', heard: null })

function shuffled<T>(items: readonly T[], chance: fc.Stream<number>): T[] {
  return items
    .map((item) => ({ item, at: Number(chance.next().value) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

describe('receipts (P6)', () => {
  it('come to the same end in any order and with any repetition', () => {
    fc.assert(
      fc.property(starts, receipts, fc.infiniteStream(fc.nat()), (start, heard, chance) => {
        assert.deepEqual(merged(start, shuffled([...heard, ...heard], chance)), merged(start, heard))
      }),
    )
  })

  it('come to the same end where another channel has taken over', () => {
    fc.assert(
      fc.property(starts, receipts, fc.infiniteStream(fc.nat()), (start, heard, chance) => {
        assert.deepEqual(merged(start, shuffled([...heard, ...heard], chance), 'sms'), merged(start, heard, 'sms'))
      }),
    )
  })

  it('lead to what the highest says', () => {
    fc.assert(
      fc.property(starts, fc.array(fc.constantFrom(...RECEIPT_KINDS), { minLength: 1 }), (start, kinds) => {
        const highest = kinds.toSorted((a, b) => RECEIPTS[b].rank - RECEIPTS[a].rank)[0] ?? assert.fail()
        const { status } = merged(
          start,
          kinds.map((kind) => ({ kind, isOfOne: false })),
        )
        assert.equal(status, RECEIPTS[highest].to)
      }),
    )
  })

  it('have distinct ranks, so that there is one highest', () => {
    const ranks = RECEIPT_KINDS.map((kind) => RECEIPTS[kind].rank)
    assert.equal(new Set(ranks).size, ranks.length)
  })

  it('only move along the arrows of the state machine', () => {
    for (const status of NOTIFICATION_STATUSES)
      for (const heard of [null, ...RECEIPT_KINDS])
        for (const kind of RECEIPT_KINDS)
          for (const failure of [FAILURE, DEAD])
            for (const takenOverBy of [null, 'sms']) {
              const to = landingOf(kind, failure, takenOverBy).status
              if (outranks(kind, { status, heard }) && to !== status)
                assert.ok(canMove(status, to), `${status} (${heard}) → ${to} by ${kind}`)
            }
  })

  it('move nothing that is live or closed, whatever was heard before', () => {
    for (const status of ['queued', 'retrying', 'sending', 'discarded', 'cancelled'] as const)
      for (const heard of [null, ...RECEIPT_KINDS]) assert.equal(standingRank({ status, heard }), null)
  })

  it('move nothing that was stopped by anything but a receipt', () => {
    for (const status of ['parked', 'failed'] as const)
      for (const kind of RECEIPT_KINDS) assert.equal(outranks(kind, { status, heard: null }), false)
  })

  it('say `sent` to what is uncertain only', () => {
    const moved = NOTIFICATION_STATUSES.filter((status: NotificationStatus) =>
      outranks('sent', { status, heard: null }),
    )
    assert.deepEqual(moved, ['uncertain'])
  })
})

describe('where a receipt leads', () => {
  it('parks a failure with the vendor’s reason and words', () => {
    assert.deepEqual(landingOf('failed', FAILURE, null), {
      status: 'parked',
      reason: 'unreachable',
      error: 'The phone is off.',
      action: 'park',
    })
  })

  it('parks a bounce as bounced, whatever the reason of the bounce', () => {
    const { status, reason, error } = landingOf('bounced', FAILURE, null)
    assert.deepEqual([status, reason, error], ['parked', 'bounced', 'The phone is off.'])
  })

  it('leaves an address that is no good at that where nobody needs to look', () => {
    assert.deepEqual(landingOf('failed', DEAD, null), {
      status: 'failed',
      reason: 'invalid_recipient',
      error: 'No such number.',
      action: 'fail',
    })
    assert.deepEqual(landingOf('bounced', DEAD, null).reason, 'bounced')
  })

  it('parks a failure of which the vendor says no more as a refusal', () => {
    assert.deepEqual(landingOf('failed', null, null), {
      status: 'parked',
      reason: 'permanent_refusal',
      error: REASONS.permanent_refusal,
      action: 'park',
    })
  })

  it('closes a failure that another channel takes over', () => {
    assert.deepEqual(landingOf('bounced', FAILURE, 'sms'), {
      status: 'failed',
      reason: 'fallback_triggered:sms',
      error: 'The phone is off.',
      action: 'fail',
    })
  })

  it('parks a complaint, and says why in words', () => {
    const { status, reason, error } = landingOf('complained', null, 'sms')
    assert.deepEqual([status, reason], ['parked', 'complained'])
    assert.ok(error)
  })

  it('leaves no reason and no error on what arrived', () => {
    for (const kind of ['sent', 'delivered', 'read'] as const)
      assert.deepEqual([landingOf(kind, null, 'sms').reason, landingOf(kind, null, 'sms').error], [null, null])
  })

  it('takes no more from one of several recipients than that somebody has it', () => {
    assert.deepEqual(RECEIPT_KINDS.map(wordOfOne), ['sent', null, 'delivered', null, null, 'delivered'])
  })
})
