import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { COUNTERS, GAUGES, HISTOGRAM_BUCKETS, HISTOGRAMS } from '../../packages/pillarbox/src/model/meters.ts'
import { platformMetrics } from '../../packages/pillarbox/src/runtime/system.ts'
import { metricsPage } from './metrics-page.ts'

const REFERENCE = new URL('../../docs/reference/metrics.md', import.meta.url)
const UPDATE = 'UPDATE_DOCS=1 npm run test:file -- test/docs/metrics-page.test.ts'

const page = metricsPage(await platformMetrics().getMetricsAsJSON())

if (process.env['UPDATE_DOCS'] === '1') writeFileSync(REFERENCE, page)

describe('docs/reference/metrics.md', () => {
  // Elsewhere the platform measures less.
  it('is equal to what is counted and measured', { skip: process.platform !== 'linux' }, () => {
    assert.equal(readFileSync(REFERENCE, 'utf8'), page, `metrics.md is out of date: ${UPDATE}`)
  })

  it('has a sentence for each metric, and names that Prometheus takes', () => {
    for (const [name, { words, labels }] of Object.entries({ ...COUNTERS, ...HISTOGRAMS, ...GAUGES })) {
      assert.match(words, /^[A-Z].*\.$|^[A-Z].*; \w.*\.$/s, name)
      for (const each of [name, ...Object.keys(labels)]) assert.match(each, /^[a-z][a-z0-9_]*$/, name)
    }
  })

  it('names no label whose values grow with what is sent', () => {
    const forbidden = /tenant|account|notification|event_?type|correlation|recipient|address|^id$/
    for (const [name, { labels }] of Object.entries({ ...COUNTERS, ...HISTOGRAMS, ...GAUGES }))
      for (const label of Object.keys(labels)) assert.doesNotMatch(label, forbidden, name)
  })

  it('has buckets in order', () => {
    for (const [name, buckets] of Object.entries(HISTOGRAM_BUCKETS))
      assert.deepEqual(
        [...buckets].toSorted((a, b) => a - b),
        buckets,
        name,
      )
  })
})
