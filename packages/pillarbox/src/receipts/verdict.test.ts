import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { sampleNotification } from '../../../../test/support/samples.ts'
import { addressIdentity } from '../model/address.ts'
import type { NotificationView } from '../model/notification.ts'
import type { Failure, ReceiptEvent } from './receipt-source.ts'
import { verdictOn } from './verdict.ts'

const ADA = 'ada@example.com'
const BOB = 'bob@example.com'

function view(changes: Partial<NotificationView> = {}): NotificationView {
  const { stopped: _stopped, ...notification } = sampleNotification({ channel: 'email', to: { email: ADA } })
  return {
    ...notification,
    resolvedTargets: null,
    isSealed: false,
    isScrubbed: false,
    status: 'sent',
    reason: null,
    lastError: null,
    attemptCount: 1,
    nextAttemptAt: null,
    possibleDuplicate: false,
    providerMessageId: 'message-1',
    fallbackTo: null,
    correctedTo: null,
    createdAt: 0,
    sentAt: 0,
    deliveredAt: null,
    readAt: null,
    ...changes,
  }
}

const FACTS = {
  provider: 'ses',
  providerMessageId: 'message-1',
  notificationId: null,
  at: 1,
  recipient: null,
  isPartial: false,
  eventId: null,
}
const GONE: Failure = {
  kind: 'permanent',
  code: '550',
  error: 'SES reported 550: gone.',
  reason: 'invalid_recipient',
  isDead: true,
}

const failures = fc.constantFrom<Failure>(
  GONE,
  { kind: 'permanent', code: 'c', error: 'e', reason: 'content_rejected' },
  { kind: 'permanent', code: 'c', error: 'e', reason: 'unreachable' },
  { kind: 'transient', code: 'c', error: 'e' },
  { kind: 'transient', code: 'c', error: 'e', isDeferred: true },
  { kind: 'throttled', code: 'c', error: 'e' },
  { kind: 'unauthorized', code: 'c', error: 'e' },
  { kind: 'unknown', code: 'c', error: 'e' },
)
const news = fc.oneof(
  fc.constantFrom('sent', 'delivered', 'read', 'complained').map((kind) => ({ kind }) as const),
  fc.record({ kind: fc.constantFrom('failed', 'bounced'), failure: failures }),
)
const addresses = fc.constantFrom(ADA, BOB, 'ADA@example.com', 'stranger@example.com')
const events: fc.Arbitrary<ReceiptEvent> = fc
  .record({ news, recipient: fc.option(addresses), isPartial: fc.boolean() })
  .map(({ news: said, ...facts }) => ({ ...FACTS, ...facts, ...said }))
const views = fc
  .record({
    resolvedTargets: fc.constantFrom<string[] | null>(null, [ADA], [ADA, BOB]),
    possibleDuplicate: fc.boolean(),
    fallback: fc.constantFrom<NotificationView['fallback']>([], ['sms']),
    fallbackTo: fc.constantFrom(null, 'next'),
  })
  .map(view)

describe('the verdict on a report', () => {
  it('lets nobody take over who could tell the recipient twice, or for one of several', () => {
    fc.assert(
      fc.property(events, views, (event, notification) => {
        const { mayFallBack, receipt } = verdictOn(event, notification, 'park')
        if (!mayFallBack) return
        assert.ok(receipt.kind === 'failed' || receipt.kind === 'bounced')
        assert.deepEqual(
          [notification.possibleDuplicate, notification.fallbackTo, notification.fallback, receipt.recipient],
          [false, null, ['sms'], null],
        )
      }),
    )
  })

  it('lets the next channel take over from a bounce, unless an earlier call may have arrived', () => {
    const event: ReceiptEvent = { ...FACTS, kind: 'bounced', failure: GONE }
    const mayFallBack = (possibleDuplicate: boolean) =>
      verdictOn(event, view({ possibleDuplicate, fallback: ['sms'] }), 'park').mayFallBack

    assert.deepEqual([mayFallBack(false), mayFallBack(true)], [true, false])
  })

  it('bans only an address that the message went to', () => {
    fc.assert(
      fc.property(events, views, (event, notification) => {
        const { dead } = verdictOn(event, notification, 'park')
        if (!dead) return
        assert.ok((notification.resolvedTargets ?? [ADA]).includes(dead.address))
        if (notification.resolvedTargets?.length === 2)
          assert.equal(addressIdentity('email', event.recipient ?? ''), dead.address)
      }),
    )
  })

  it('takes what names one of several for that one’s alone', () => {
    fc.assert(
      fc.property(events, (event) => {
        const { receipt } = verdictOn(event, view({ resolvedTargets: [ADA, BOB] }), 'park')
        if (event.recipient !== null) assert.equal(receipt.recipient, event.recipient)
        else if (event.isPartial) assert.equal(receipt.recipient, 'unknown')
      }),
    )
  })

  it('has a failure exactly where something failed', () => {
    fc.assert(
      fc.property(events, views, (event, notification) => {
        const { failure } = verdictOn(event, notification, 'park').receipt
        assert.equal(failure !== null, event.kind === 'failed' || event.kind === 'bounced')
      }),
    )
  })

  const permanent = (reason: 'invalid_recipient' | 'content_rejected'): Failure => ({ ...GONE, reason })
  const called = { code: 'c', error: 'e' }
  for (const [failure, onUndeliverable, to, reason] of [
    [permanent('invalid_recipient'), 'fail', 'failed', 'invalid_recipient'],
    [permanent('invalid_recipient'), 'park', 'parked', 'invalid_recipient'],
    [permanent('content_rejected'), 'fail', 'parked', 'content_rejected'],
    [{ kind: 'unauthorized', ...called }, 'fail', 'parked', 'auth_failed'],
    [{ kind: 'transient', ...called }, 'fail', 'parked', 'unreachable'],
    [{ kind: 'throttled', ...called }, 'fail', 'parked', 'unreachable'],
    [{ kind: 'unknown', ...called }, 'fail', 'parked', 'unreachable'],
  ] as const satisfies readonly (readonly [Failure, string, string, string])[])
    it(`makes a notification ${to} for ${reason} after a ${failure.kind} failure, where the account says ${onUndeliverable}`, () => {
      const event: ReceiptEvent = { ...FACTS, kind: 'failed', failure }

      assert.deepEqual(verdictOn(event, view(), onUndeliverable).receipt.failure, {
        reason,
        code: failure.code,
        error: failure.error,
        to,
      })
    })

  it('lets the next channel take over from a vendor that gave up, whatever it says the cause was', () => {
    const passesOn = (failure: Failure, changes: Partial<NotificationView> = {}): boolean =>
      verdictOn({ ...FACTS, kind: 'failed', failure }, view({ fallback: ['sms'], ...changes }), 'park').mayFallBack

    fc.assert(fc.property(failures, (failure) => passesOn(failure)))
    assert.equal(passesOn(GONE, { possibleDuplicate: true }), false, 'another message of it may have arrived')
  })

  it('takes it for news of all of them that the vendor has a message or will not have it', () => {
    const toBoth = view({ resolvedTargets: [ADA, BOB] })

    assert.equal(verdictOn({ ...FACTS, kind: 'sent' }, toBoth, 'park').receipt.recipient, null)
    assert.equal(verdictOn({ ...FACTS, kind: 'failed', failure: GONE }, toBoth, 'park').receipt.recipient, null)
    assert.equal(verdictOn({ ...FACTS, kind: 'delivered' }, toBoth, 'park').receipt.recipient, 'unknown')
  })

  it('bans no address where the message went to none that its channel knows', () => {
    const event: ReceiptEvent = { ...FACTS, recipient: ADA, kind: 'bounced', failure: GONE }

    assert.equal(verdictOn(event, view({ to: { list: 'crew' } }), 'park').dead, null)
  })

  it('goes by the vendor’s spelling of a lone address no more than by ours', () => {
    const event: ReceiptEvent = { ...FACTS, recipient: 'A.DA@example.com', kind: 'bounced', failure: GONE }

    assert.deepEqual(verdictOn(event, view(), 'park').dead, {
      address: ADA,
      cause: 'bounced',
      error: 'SES reported 550: gone.',
    })
  })

  it('names a message that the vendor leaves unnamed as our last call did', () => {
    const event: ReceiptEvent = { ...FACTS, providerMessageId: null, notificationId: 'n', kind: 'delivered' }

    assert.equal(verdictOn(event, view(), 'park').receipt.providerMessageId, 'message-1')
    assert.equal(
      verdictOn(event, view({ providerMessageId: null }), 'park').receipt.providerMessageId,
      'notification-1',
    )
  })
})
