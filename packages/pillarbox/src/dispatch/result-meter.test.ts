import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { recordingMeters, sampleClaim, sampleCompletion } from '../../../../test/support/samples.ts'
import type { Claim, Completion } from './dispatch-store.ts'
import { meterResults } from './result-meter.ts'

function metered(...results: (Partial<Completion> & { claim?: Partial<Claim> })[]) {
  const meters = recordingMeters()
  const completions = results.map(({ claim, ...each }) => sampleCompletion({ counted: sampleClaim(claim), ...each }))
  meterResults(meters, completions)
  return meters
}

describe('results that were written', () => {
  it('are counted by what the calls came to and where their notifications went, however many there are of each', () => {
    const { counts } = metered(
      {},
      {},
      { provider: 'other' },
      { outcome: 'transient', to: 'retrying' },
      { outcome: 'permanent', to: 'failed', reason: 'fallback_triggered:email' },
      { outcome: null, to: 'cancelled', reason: 'expired' },
    )

    assert.deepEqual(counts, {
      'attempts sms vendor accepted': 2,
      'attempts sms vendor transient': 1,
      'attempts sms vendor permanent': 1,
      'attempts sms other accepted': 1,
      'retries sms vendor': 1,
      'notifications_settled sms sent': 3,
      'notifications_settled sms failed': 1,
      'notifications_settled sms cancelled': 1,
      'notifications_stopped fallback_triggered': 1,
      'notifications_stopped expired': 1,
    })
  })

  it('tell how long calls took, and how long it took from when a notification was wanted until it was sent', () => {
    const { took } = metered(
      { claim: { wantedAt: 1_000, claimedAt: 4_000 }, ageMs: 500, durationMs: 250 },
      { claim: { wantedAt: 1_000, claimedAt: 2_000 }, outcome: 'transient', to: 'retrying', durationMs: 10 },
      { outcome: null, to: 'cancelled', reason: 'expired' },
    )

    assert.deepEqual(took, { 'attempt_duration sms vendor': [0.25, 0.01], 'event_to_sent sms': [3.5] })
  })

  it('say nothing of how long a call took whose worker died over it', () => {
    const { counts, took } = metered({ outcome: 'unknown', code: 'worker_lost', to: 'retrying', durationMs: 0 })

    assert.equal(counts['attempts sms vendor unknown'], 1)
    assert.deepEqual(took, {})
  })

  it('count a possible duplicate only where an earlier call may have arrived and this one did or may have (P4)', () => {
    const inDoubt = { claim: { possibleDuplicate: true } }
    const duplicates = (result: Parameters<typeof metered>[0]): number =>
      metered(result).counts['possible_duplicates sms'] ?? 0

    assert.equal(duplicates({ ...inDoubt, possibleDuplicate: true }), 1)
    assert.equal(duplicates({ ...inDoubt, possibleDuplicate: true, outcome: 'unknown', to: 'retrying' }), 1)
    // The vendor honours our key, or was asked and had one message.
    assert.equal(duplicates({ ...inDoubt, possibleDuplicate: false }), 0)
    assert.equal(duplicates({ ...inDoubt, possibleDuplicate: true, outcome: 'transient', to: 'retrying' }), 0)
    // The first call of which nobody knows is no duplicate yet.
    assert.equal(duplicates({ possibleDuplicate: true, outcome: 'unknown', to: 'retrying' }), 0)
    const lost = { outcome: 'unknown', code: 'worker_lost', to: 'retrying' } as const
    assert.equal(duplicates({ ...inDoubt, ...lost, possibleDuplicate: true }), 0)
  })
})
