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

    assert.deepEqual(levels, ['warn', 'warn', 'info', 'info', 'debug', undefined])
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
