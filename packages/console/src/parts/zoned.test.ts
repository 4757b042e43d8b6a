import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addDays, addMonths, clockIn, dayIn, isDay, mondayOf, startOfDay } from './zoned.ts'

const at = (text: string): number => Date.parse(text)

describe('days in a zone', () => {
  it('begin when that zone’s clocks say so', () => {
    assert.equal(startOfDay('2026-11-18', 'UTC'), at('2026-11-18T00:00:00Z'))
    assert.equal(startOfDay('2026-11-18', 'Asia/Kolkata'), at('2026-11-17T18:30:00Z'))
    assert.equal(startOfDay('2026-11-18', 'Pacific/Kiritimati'), at('2026-11-17T10:00:00Z'))
    assert.equal(startOfDay('2026-11-18', 'Pacific/Pago_Pago'), at('2026-11-18T11:00:00Z'))
  })

  it('are 23 or 25 hours long where clocks are changed', () => {
    const length = (day: string): number =>
      (startOfDay(addDays(day, 1), 'Europe/Rome') - startOfDay(day, 'Europe/Rome')) / 3_600_000
    assert.deepEqual(['2026-03-28', '2026-03-29', '2026-10-25'].map(length), [24, 23, 25])
  })

  it('begin at one o’clock where midnight is left out', () => {
    const start = startOfDay('2026-04-24', 'Africa/Cairo')
    assert.equal(clockIn(start, 'Africa/Cairo'), '01:00')
    assert.equal(dayIn(start - 1, 'Africa/Cairo'), '2026-04-23')
  })

  it('are counted in weeks from Monday, and in months', () => {
    assert.equal(mondayOf('2026-11-18'), '2026-11-16')
    assert.equal(mondayOf('2026-11-22'), '2026-11-16')
    assert.equal(addMonths('2026-12-31', 1), '2027-01-01')
    assert.equal(addMonths('2026-01-15', -1), '2025-12-01')
  })

  it('are told from other text', () => {
    assert.deepEqual(['2026-11-18', '2026-13-01', 'today', undefined].map(isDay), [true, false, false, false])
  })
})
