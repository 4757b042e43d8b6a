import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { formatDuration, parseDuration } from './duration.ts'

describe('parseDuration', () => {
  const READ: [string, number][] = [
    ['PT5S', 5_000],
    ['PT0S', 0],
    ['PT0.25S', 250],
    ['PT1.5S', 1_500],
    ['PT5M', 300_000],
    ['PT1H', 3_600_000],
    ['PT90M', 5_400_000],
    ['P1D', 86_400_000],
    ['P365D', 31_536_000_000],
    ['P2W', 1_209_600_000],
    ['P1W1DT1H1M1S', 694_861_000],
  ]
  for (const [text, ms] of READ)
    it(`reads ${text} as ${ms} ms`, () => {
      assert.equal(parseDuration(text), ms)
    })

  const REFUSED = [
    '',
    'P',
    'PT',
    'P1DT',
    'T5S',
    '5S',
    '5000',
    'pt5s',
    'P1Y',
    'P1M',
    'PT5',
    'PT-5S',
    '-PT5S',
    'PT1.2345S',
    'PT1.S',
    'PT.5S',
    'PT1,5S',
    'PT1S1M',
    'P1D1W',
    ' PT5S',
    'PT5S\n',
    'PT5S PT5S',
    'PT1e3S',
    'PT٥S',
    'P99999999999999999D',
    `PT${'9'.repeat(50)}S`,
  ]
  for (const text of REFUSED)
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.equal(parseDuration(text), null)
    })

  it('answers a whole, safe number of milliseconds or null for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^P(\dW)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?$/)), (text) => {
        const ms = parseDuration(text)
        assert.ok(ms === null || (Number.isSafeInteger(ms) && ms >= 0), `${text} → ${ms}`)
      }),
    )
  })
})

describe('formatDuration', () => {
  it('is read back as the same number of milliseconds', () => {
    fc.assert(
      fc.property(fc.oneof(fc.nat(100_000), fc.maxSafeNat()), (ms) => {
        assert.equal(parseDuration(formatDuration(ms)), ms)
      }),
    )
  })

  const WRITTEN: [number, string][] = [
    [0, 'PT0S'],
    [1, 'PT0.001S'],
    [5_000, 'PT5S'],
    [90_000, 'PT1M30S'],
    [300_000, 'PT5M'],
    [86_400_000, 'P1D'],
    [90_061_001, 'P1DT1H1M1.001S'],
  ]
  for (const [ms, text] of WRITTEN)
    it(`writes ${ms} ms as ${text}`, () => {
      assert.equal(formatDuration(ms), text)
    })

  it('writes no negative durations', () => {
    assert.equal(formatDuration(-1), 'PT0S')
  })
})
