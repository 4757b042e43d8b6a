import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { recordingLogger, sampleClaim, sampleCompletion } from '../../../../test/support/samples.ts'
import type { Claim, Completion } from './dispatch-store.ts'
import { report } from './report.ts'

function reported(completion: Partial<Completion>, claim: Partial<Claim> = {}) {
  const logger = recordingLogger()
  report(logger, sampleClaim(claim), sampleCompletion(completion))
  return logger.lines
}

describe('the log', () => {
  it('names the notification that was not sent, and its sender’s correlation id', () => {
    const [line] = reported(
      { outcome: 'permanent', code: '404', error: 'no such user', to: 'parked', reason: 'invalid_recipient' },
      { notificationId: 'n1', tenantId: 't1', correlationId: 'order-77' },
    )

    const { tenantId, notificationId, correlationId, code, reason, error } = line?.fields ?? {}
    assert.deepEqual(
      [tenantId, notificationId, correlationId, code, reason, error],
      ['t1', 'n1', 'order-77', '404', 'invalid_recipient', 'no such user'],
    )
    assert.equal(line?.message, 'a notification was not sent')
  })

  it('is loud about what waits for an operator only', () => {
    const levels = (['parked', 'uncertain', 'failed', 'cancelled', 'retrying', 'sent'] as const).map(
      (to) => reported({ to, outcome: null })[0]?.level,
    )

    assert.deepEqual(levels, ['warn', 'warn', 'info', 'info', 'info', 'info'])
  })

  it('has a line for every outcome, with all that it is looked for by', () => {
    const claim = {
      notificationId: 'n1',
      tenantId: 't1',
      accountId: 'a1',
      channel: 'sms',
      correlationId: 'c1',
    } as const
    const ended = { provider: 'msg91', attempt: 3, durationMs: 12 }
    const known = { ...claim, ...ended }

    for (const [outcome, to] of [
      ['accepted', 'sent'],
      ['transient', 'retrying'],
      ['permanent', 'parked'],
      ['unknown', 'uncertain'],
    ] as const) {
      const [line, another] = reported({ ...ended, outcome, to }, claim)
      const shown = Object.keys(known).map((name) => [name, line?.fields[name]])
      assert.deepEqual(Object.fromEntries(shown), known, outcome)
      assert.equal(line?.fields['outcome'], outcome)
      assert.equal(another, undefined)
    }
  })

  it('writes what was sent the short way where its logger has one', () => {
    const often: { fields: object; message: string }[] = []
    const logger = {
      ...recordingLogger(),
      often: (fields: object, message: string) => void often.push({ fields, message }),
    }

    report(logger, sampleClaim({ notificationId: 'n1' }), sampleCompletion({ to: 'sent', outcome: 'accepted' }))
    report(logger, sampleClaim(), sampleCompletion({ to: 'parked', outcome: 'permanent' }))

    assert.deepEqual(
      often.map(({ message }) => message),
      ['a notification was sent'],
    )
    assert.deepEqual(
      logger.lines.map(({ level }) => level),
      ['warn'],
    )
  })

  it('does not claim to know what nobody knows', () => {
    const [line] = reported({ outcome: 'unknown', to: 'uncertain' })

    assert.equal(line?.message, 'it is not known whether a notification was sent')
  })

  it('holds nothing of what was to be said, or of whom it was for', () => {
    const claim = { to: { email: 'a@example.com', name: 'A. Guest' }, content: { subject: 'S', body: 'B', data: {} } }

    const text = JSON.stringify(reported({ to: 'parked', outcome: null }, claim))

    assert.doesNotMatch(text, /example\.com|Guest|"S"|"B"/)
  })
})
