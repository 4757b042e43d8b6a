import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sampleCompletion } from '../../../../../test/support/samples.ts'
import { fingerprintOf } from '../../model/fingerprint.ts'
import { ACTIONS, type Action, NOTIFICATION_STATUSES } from '../../model/notification.ts'
import { actChanges, completionChanges, lateChanges, type RestingNotification, stopChanges } from './transitions.ts'

describe('what a result does to the rows', () => {
  it('lets the dispatch row go, and settles only what is not simply sent', () => {
    const sent = completionChanges(sampleCompletion())
    const parked = completionChanges(sampleCompletion({ outcome: 'permanent', to: 'parked', error: 'no such user' }))

    assert.deepEqual([sent.waitMs, sent.settledAs, sent.auditedAs, sent.dueLane], [null, null, null, null])
    assert.deepEqual([parked.waitMs, parked.settledAs, parked.auditedAs], [null, 'parked', null])
  })

  it('audits a transition without a call, which no attempt tells', () => {
    const cancelled = completionChanges(sampleCompletion({ outcome: null, to: 'cancelled', reason: 'expired' }))

    assert.deepEqual([cancelled.settledAs, cancelled.auditedAs], ['cancelled', 'cancel'])
  })

  it('names the lane that has work at once, and no other', () => {
    const retried = { outcome: 'transient', to: 'retrying', accountId: 'lane-1' } as const
    const moveTo = { accountId: 'lane-2', provider: 'other' }

    assert.equal(completionChanges(sampleCompletion({ ...retried, delayMs: 0.4 })).dueLane, 'lane-1')
    assert.equal(completionChanges(sampleCompletion({ ...retried, delayMs: 0, moveTo })).dueLane, 'lane-2')
    assert.equal(completionChanges(sampleCompletion({ ...retried, delayMs: 5 })).dueLane, null)
  })

  it('moves only what is tried again', () => {
    const moveTo = { accountId: 'lane-2', provider: 'other' }
    const { moveTo: moved, moveReason } = completionChanges(sampleCompletion({ to: 'failed', moveTo }))

    assert.deepEqual([moved, moveReason], [null, null])
  })

  it('gives a fingerprint to what stops, and none to what is sent, waits or is called off', () => {
    const cause = { reason: 'invalid_recipient', code: '550', error: 'no such user' } as const
    const printOfResult = (to: 'parked' | 'failed' | 'uncertain' | 'cancelled' | 'sent' | 'retrying'): string | null =>
      completionChanges(sampleCompletion({ to, ...cause })).fingerprint

    const { accountId } = sampleCompletion({})
    assert.equal(printOfResult('parked'), fingerprintOf({ ...cause, accountId }))
    assert.equal(printOfResult('failed'), printOfResult('uncertain'))
    assert.deepEqual([printOfResult('cancelled'), printOfResult('sent'), printOfResult('retrying')], [null, null, null])
  })

  it('never flags a late attempt', () => {
    assert.equal(lateChanges(sampleCompletion({ possibleDuplicate: true })).possibleDuplicate, false)
  })
})

describe('what an operator’s act does to the rows', () => {
  const resting = (from: RestingNotification['from']): RestingNotification => ({
    notificationId: 'n-1',
    tenantId: 'atlas',
    from,
    attempt: 2,
    spent: 1,
    possibleDuplicate: false,
    accountId: 'lane-1',
    lastError: 'no answer',
    code: '550',
    fingerprint: 'as-it-stopped',
    discardedFrom: null,
    stoppedBecause: from === 'skipped' ? 'no_address' : null,
  })

  it('moves a notification exactly from where the table of actions says', () => {
    for (const action of Object.keys(ACTIONS) as Action[])
      for (const from of NOTIFICATION_STATUSES) {
        const isMovable = (ACTIONS[action].from as readonly string[]).includes(from)
        assert.equal(
          actChanges({ action, actor: 'key:ada' }, resting(from)) !== null,
          isMovable,
          `${action} from ${from}`,
        )
      }
  })

  it('keeps in the audit why a notification had stopped that is queued again', () => {
    const { audit, settled } = actChanges({ action: 'retry', actor: 'key:ada' }, resting('skipped')) ?? {}

    assert.deepEqual([audit?.reason, audit?.from, audit?.to, settled], ['no_address', 'skipped', 'queued', null])
  })

  it('flags an uncertain notification that may be sent again, and not one that is discarded', () => {
    const flags = (['retry', 'park', 'discard'] as const).map((action) => {
      const changes = actChanges({ action, actor: 'key:ada' }, resting('uncertain'))
      return changes?.queued?.possibleDuplicate ?? changes?.settled?.possibleDuplicate
    })

    assert.deepEqual(flags, [true, true, false])
  })

  it('keeps the cause of what is given up or taken back, and makes parking by hand one of its own', () => {
    const prints = (
      [
        ['discard', 'parked'],
        ['restore', 'discarded'],
        ['park', 'queued'],
        ['cancel', 'queued'],
      ] as const
    ).map(([action, from]) => actChanges({ action, actor: 'key:ada' }, resting(from))?.settled?.fingerprint)

    const byHand = { reason: 'parked_by_operator', code: null, error: 'no answer', accountId: 'lane-1' }
    assert.deepEqual(prints, ['as-it-stopped', 'as-it-stopped', fingerprintOf(byHand), null])
  })

  it('flags one that is restored where it was discarded in doubt: it may be sent again', () => {
    const flags = (['uncertain', 'parked'] as const).map((discardedFrom) => {
      const changes = actChanges({ action: 'restore', actor: 'key:ada' }, { ...resting('discarded'), discardedFrom })
      return changes?.settled?.possibleDuplicate
    })

    assert.deepEqual(flags, [true, false])
  })
})

it('a stop settles a waiting notification with its reason, and says from where', () => {
  const waiting = { notificationId: 'n-1', tenantId: 'atlas', attempt: 1, spent: 1, possibleDuplicate: true }
  const accountId = 'lane-1'
  const stop = {
    to: 'parked',
    action: 'park',
    reason: 'channel_suspended',
    error: 'suspended',
    actor: 'key:ada',
  } as const

  const { settled, audit } = stopChanges({ ...waiting, accountId, from: 'retrying' }, stop)

  const cause = { reason: 'channel_suspended', code: null, error: 'suspended', accountId }
  assert.deepEqual(settled, {
    ...waiting,
    status: 'parked',
    reason: 'channel_suspended',
    lastError: 'suspended',
    code: null,
    fingerprint: fingerprintOf(cause),
  })
  assert.deepEqual([audit.from, audit.to, audit.actor, audit.attempt], ['retrying', 'parked', 'key:ada', 1])
})
