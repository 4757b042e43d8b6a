import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { GaugeReading } from '../model/meters.ts'
import { createMetrics } from './metrics.ts'

const lineOf = (page: string, start: string): string | undefined =>
  page.split('\n').find((line) => line.startsWith(start))

describe('the metrics of a process', () => {
  it('are there at 0 before anything happened, where all their labels are known', async () => {
    const page = await createMetrics().text()

    assert.equal(lineOf(page, 'pillarbox_operations_ended_total{status="failed"}')?.split(' ')[1], '0')
    assert.equal(lineOf(page, 'pillarbox_late_results_total ')?.split(' ')[1], '0')
    assert.equal(lineOf(page, 'pillarbox_attempts_total{'), undefined)
  })

  it('add up what is counted and sort what is measured into buckets', async () => {
    const { meters, text } = createMetrics()
    const labels = { channel: 'sms', provider: 'sandbox' }
    meters.count('retries', labels, 2)
    meters.count('retries', labels)
    meters.observe('attempt_duration', labels, [0.02, 0.3, -1])

    const page = await text()

    assert.match(page, /^pillarbox_retries_total\{channel="sms",provider="sandbox"\} 3$/m)
    assert.match(page, /^pillarbox_attempt_duration_seconds_bucket\{le="0.25",channel="sms",provider="sandbox"\} 2$/m)
    assert.match(page, /^pillarbox_attempt_duration_seconds_bucket\{le="\+Inf",channel="sms",provider="sandbox"\} 3$/m)
    assert.match(page, /^pillarbox_attempt_duration_seconds_count\{channel="sms",provider="sandbox"\} 3$/m)
    // A clock that was set back makes no time negative.
    assert.match(page, /^pillarbox_attempt_duration_seconds_sum\{channel="sms",provider="sandbox"\} 0.32$/m)
  })

  it('show a gauge only while somebody knows what it says', async () => {
    const metrics = createMetrics()
    const readings: GaugeReading[] = [
      { name: 'oldest_pending_age_seconds', labels: {}, value: 7 },
      { name: 'workers', labels: { state: 'alive' }, value: 2 },
    ]
    metrics.addGauges(async () => readings)

    const known = await metrics.text()
    readings.length = 0
    const unknown = await metrics.text()

    assert.match(known, /^pillarbox_oldest_pending_age_seconds 7$/m)
    assert.match(known, /^pillarbox_workers\{state="alive"\} 2$/m)
    assert.doesNotMatch(unknown, /^pillarbox_(oldest_pending_age_seconds|workers)[ {]/m)
  })

  it('of two in one process are kept apart', async () => {
    const [one, other] = [createMetrics(), createMetrics()]
    one.meters.count('late_results', {})

    assert.match(await one.text(), /^pillarbox_late_results_total 1$/m)
    assert.match(await other.text(), /^pillarbox_late_results_total 0$/m)
  })
})
