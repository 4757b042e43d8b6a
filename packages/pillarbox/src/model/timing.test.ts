import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Timing } from './catalogue.ts'
import { type Due, dueAt, instantOf, isTimeZone, localOf, parseDate } from './timing.ts'

const BERLIN = 'Europe/Berlin'
const NEW_YORK = 'America/New_York'
const LORD_HOWE = 'Australia/Lord_Howe'
const KOLKATA = 'Asia/Kolkata'
const ZONES = [BERLIN, NEW_YORK, LORD_HOWE, KOLKATA, 'UTC', 'Pacific/Apia', 'America/St_Johns', 'Africa/Casablanca']

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const ms = (iso: string): number => Date.parse(iso)
const iso = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z')

const hours = (count: number): number => count * HOUR_MS
const days = (count: number): number => count * DAY_MS

function timing(changes: Partial<Timing> = {}): Timing {
  return { offsetMs: 0, field: null, at: null, ifPast: 'send', ...changes }
}

/** The due time in UTC, or `expired` or the problem. */
function due(
  changes: Partial<Timing>,
  given: { eventAt?: string; payload?: Record<string, unknown>; timeZone?: string; now?: string } = {},
): string {
  const eventAt = ms(given.eventAt ?? '2026-01-01T00:00:00Z')
  const now = given.now === undefined ? eventAt : ms(given.now)
  const { payload = {}, timeZone = BERLIN } = given
  return said(dueAt(timing(changes), { eventAt, payload, timeZone, now }))
}

function said(answer: Due): string {
  return 'dueAt' in answer ? iso(answer.dueAt) : 'expired' in answer ? 'expired' : answer.problem
}

/** A local time such as 2026-03-29T02:30 as an instant of the zone. */
function inZone(local: string, timeZone: string): string {
  return iso(parseDate(local, timeZone) ?? Number.NaN)
}

describe('a local time', () => {
  it('is what clocks in the zone show', () => {
    assert.equal(inZone('2026-01-15T09:00', BERLIN), '2026-01-15T08:00:00Z')
    assert.equal(inZone('2026-07-15T09:00', BERLIN), '2026-07-15T07:00:00Z')
    assert.equal(inZone('2026-01-15T09:00', NEW_YORK), '2026-01-15T14:00:00Z')
    assert.equal(inZone('2026-07-15T09:00', NEW_YORK), '2026-07-15T13:00:00Z')
    assert.equal(inZone('2026-01-15T09:00', KOLKATA), '2026-01-15T03:30:00Z')
    assert.equal(inZone('2026-07-15T09:00', KOLKATA), '2026-07-15T03:30:00Z')
    assert.equal(inZone('2026-01-15T09:00', LORD_HOWE), '2026-01-14T22:00:00Z')
    assert.equal(inZone('2026-07-15T09:00', LORD_HOWE), '2026-07-14T22:30:00Z')
  })

  it('that a daylight-saving change skips moves forward by the gap', () => {
    assert.equal(inZone('2026-03-29T02:30', BERLIN), '2026-03-29T01:30:00Z')
    assert.equal(inZone('2026-03-08T02:30', NEW_YORK), '2026-03-08T07:30:00Z')
    assert.equal(inZone('2026-10-04T02:10', LORD_HOWE), '2026-10-03T15:40:00Z')
  })

  it('that occurs twice is the first of them', () => {
    assert.equal(inZone('2026-10-25T02:30', BERLIN), '2026-10-25T00:30:00Z')
    assert.equal(inZone('2026-11-01T01:30', NEW_YORK), '2026-11-01T05:30:00Z')
    assert.equal(inZone('2026-04-05T01:45', LORD_HOWE), '2026-04-04T14:45:00Z')
  })

  it('at the very edges of a change is unambiguous', () => {
    assert.equal(inZone('2026-03-29T01:59:59.999', BERLIN), '2026-03-29T00:59:59.999Z')
    assert.equal(inZone('2026-03-29T02:00', BERLIN), '2026-03-29T01:00:00Z')
    assert.equal(inZone('2026-03-29T03:00', BERLIN), '2026-03-29T01:00:00Z')
    assert.equal(inZone('2026-10-25T01:59', BERLIN), '2026-10-24T23:59:00Z')
    assert.equal(inZone('2026-10-25T03:00', BERLIN), '2026-10-25T02:00:00Z')
  })

  it('of a day that a zone left out moves to the next', () => {
    assert.equal(inZone('2011-12-30T12:00', 'Pacific/Apia'), '2011-12-30T22:00:00Z')
  })

  it('is reckoned in years far from ours', () => {
    assert.equal(inZone('9999-12-31T23:59', 'UTC'), '9999-12-31T23:59:00Z')
    assert.equal(inZone('0001-01-01', 'UTC'), '0001-01-01T00:00:00Z')
    assert.equal(
      inZone('0000-02-29T12:00', KOLKATA),
      iso(ms('0000-02-29T12:00:00Z') - (5 * HOUR_MS + 53 * 60_000 + 28_000)),
    )
    assert.equal(inZone('0050-06-01', 'UTC'), '0050-06-01T00:00:00Z')
    assert.match(inZone('2400-07-01T12:00', BERLIN), /^2400-07-01T1[01]:00:00Z$/)
  })

  it('that exists reads back as itself', () => {
    const anyLocal = fc.integer({ min: ms('1900-01-01T00:00:00Z') / 1_000, max: ms('2100-01-01T00:00:00Z') / 1_000 })
    fc.assert(
      fc.property(anyLocal, fc.constantFrom(...ZONES), (seconds, zone) => {
        const local = seconds * 1_000
        const instant = instantOf(local, zone)
        const shown = localOf(instant, zone)
        // Skipped times are shown later, by the gap, and by nothing else.
        if (shown !== local)
          assert.ok(shown > local && shown - local <= DAY_MS && localOf(instant - (shown - local), zone) < local)
      }),
      { numRuns: 3_000 },
    )
  })

  it('of an instant leads back to that instant, or to the first one that clocks showed the same at', () => {
    const anyInstant = fc.integer({ min: ms('1900-01-01T00:00:00Z') / 1_000, max: ms('2100-01-01T00:00:00Z') / 1_000 })
    fc.assert(
      fc.property(anyInstant, fc.constantFrom(...ZONES), (seconds, zone) => {
        const instant = seconds * 1_000
        const back = instantOf(localOf(instant, zone), zone)
        assert.ok(back <= instant && localOf(back, zone) === localOf(instant, zone))
      }),
      { numRuns: 3_000 },
    )
  })

  it('keeps the order of the calendar, but for what falls into a gap', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 365 * 24 * 60 }),
        fc.integer({ min: 61, max: 3 * 24 * 60 }),
        fc.constantFrom(BERLIN, NEW_YORK, LORD_HOWE, KOLKATA),
        (minutes, later, zone) => {
          const local = ms('2026-01-01T00:00:00Z') + minutes * 60_000
          assert.ok(instantOf(local, zone) < instantOf(local + later * 60_000, zone))
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

describe('a date in the payload', () => {
  const read = (text: string, timeZone = BERLIN): string | null => {
    const at = parseDate(text, timeZone)
    return at === null ? null : iso(at)
  }

  it('without a time is midnight in the tenant’s zone', () => {
    assert.equal(read('2026-03-15'), '2026-03-14T23:00:00Z')
    assert.equal(read('2026-07-15'), '2026-07-14T22:00:00Z')
    assert.equal(read('2026-03-15', KOLKATA), '2026-03-14T18:30:00Z')
    assert.equal(read('2026-03-15', NEW_YORK), '2026-03-15T04:00:00Z')
  })

  it('without an offset is a local time of the tenant’s zone', () => {
    assert.equal(read('2026-03-15T09:00'), '2026-03-15T08:00:00Z')
    assert.equal(read('2026-03-15T09:00:30'), '2026-03-15T08:00:30Z')
    assert.equal(read('2026-03-15 09:00:00.250'), '2026-03-15T08:00:00.250Z')
  })

  it('with an offset means the same everywhere', () => {
    for (const zone of ZONES) {
      assert.equal(read('2026-03-15T09:00:00Z', zone), '2026-03-15T09:00:00Z')
      assert.equal(read('2026-03-15T09:00:00+05:30', zone), '2026-03-15T03:30:00Z')
      assert.equal(read('2026-03-15T09:00-0330', zone), '2026-03-15T12:30:00Z')
      assert.equal(read('2026-03-15 09:00:00.123456+00', zone), '2026-03-15T09:00:00.123Z')
    }
  })

  it('may have blanks around it', () => {
    assert.equal(read(' 2026-03-15T09:00Z\n'), '2026-03-15T09:00:00Z')
  })

  it('that no calendar has is none', () => {
    const none = ['2026-02-29', '2026-13-01', '2026-00-10', '2026-04-31', '2026-03-15T24:00', '2026-03-15T09:60']
    for (const text of [...none, '2026-03-15T09:00:61Z', '2026-03-15T09:00+25:00', '2026-03-15T09:00+05:99'])
      assert.equal(read(text), null, text)
    assert.equal(read('2028-02-29'), '2028-02-28T23:00:00Z')
  })

  it('in any other form is none', () => {
    for (const text of ['', 'tomorrow', '15.03.2026', '03/15/2026', '20260315', '2026-3-5', 'March 15, 2026'])
      assert.equal(read(text), null, text)
    assert.equal(read('2026-03-15T09:00:00Z'.padEnd(50, ' ')), null)
    assert.equal(read('2026-03-15T'), null)
    assert.equal(read('2026-03-15T09'), null)
    assert.equal(read('2026-03-15Z'), null)
  })

  it('never makes the reader throw', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom(...ZONES, 'No/Where'), (text, zone) => {
        const at = parseDate(text, zone)
        assert.ok(at === null || Number.isFinite(at))
      }),
    )
  })
})

describe('due after the event', () => {
  it('at once', () => {
    assert.equal(due({}), '2026-01-01T00:00:00Z')
  })

  it('after a delay', () => {
    assert.equal(due({ offsetMs: hours(24) }), '2026-01-02T00:00:00Z')
  })

  it('even where that is long past: it is sent at once', () => {
    assert.equal(due({ offsetMs: hours(24) }, { now: '2026-06-01T00:00:00Z' }), '2026-01-02T00:00:00Z')
  })

  it('needs neither a zone nor a payload', () => {
    assert.equal(due({ offsetMs: hours(1) }, { timeZone: 'No/Where' }), '2026-01-01T01:00:00Z')
  })
})

describe('due at a local time', () => {
  const at = (time: string, eventAt: string, timeZone = BERLIN, offsetMs = 0): string =>
    due({ at: time, offsetMs }, { eventAt, timeZone })

  it('is the first such time from the event on', () => {
    assert.equal(at('09:00', '2026-01-15T06:00:00Z'), '2026-01-15T08:00:00Z')
    assert.equal(at('09:00', '2026-01-15T08:00:00Z'), '2026-01-15T08:00:00Z')
    assert.equal(at('09:00', '2026-01-15T08:00:01Z'), '2026-01-16T08:00:00Z')
  })

  it('is of the zone’s day, not of UTC’s', () => {
    assert.equal(at('09:00', '2026-01-15T20:00:00Z', KOLKATA), '2026-01-16T03:30:00Z')
    assert.equal(at('22:00', '2026-01-16T02:00:00Z', NEW_YORK), '2026-01-16T03:00:00Z')
  })

  it('is the first such time after the delay', () => {
    assert.equal(at('09:00', '2026-01-15T06:00:00Z', BERLIN, hours(24)), '2026-01-16T08:00:00Z')
    assert.equal(at('09:00', '2026-01-15T09:00:00Z', BERLIN, hours(24)), '2026-01-17T08:00:00Z')
  })

  it('keeps the local time across a daylight-saving change', () => {
    assert.equal(at('09:00', '2026-03-28T09:00:00Z'), '2026-03-29T07:00:00Z')
    assert.equal(at('09:00', '2026-10-24T09:00:00Z'), '2026-10-25T08:00:00Z')
  })

  it('that the night skips is later by the gap', () => {
    assert.equal(at('02:30', '2026-03-28T20:00:00Z'), '2026-03-29T01:30:00Z')
    assert.equal(at('02:30', '2026-03-29T01:10:00Z'), '2026-03-29T01:30:00Z')
  })

  it('that the night has twice is the first of them, or the next day’s', () => {
    assert.equal(at('02:30', '2026-10-24T22:00:00Z'), '2026-10-25T00:30:00Z')
    assert.equal(at('02:30', '2026-10-25T00:45:00Z'), '2026-10-26T01:30:00Z')
  })

  it('is never before the event, and never more than 25 hours after it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 * 365 * 24 * 60 }),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        fc.constantFrom(BERLIN, NEW_YORK, LORD_HOWE, KOLKATA),
        (minutes, hour, minute, timeZone) => {
          const eventAt = ms('2025-06-01T00:00:00Z') + minutes * 60_000
          const time = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
          const answer = dueAt(timing({ at: time }), { eventAt, payload: {}, timeZone, now: eventAt })
          assert.ok('dueAt' in answer)
          assert.ok(answer.dueAt >= eventAt && answer.dueAt <= eventAt + 26 * HOUR_MS)
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

describe('due before or after a date', () => {
  const before = (date: string, changes: Partial<Timing>, given: Parameters<typeof due>[1] = {}): string =>
    due({ field: 'trip.departure', ...changes }, { payload: { trip: { departure: date } }, ...given })

  it('is that long before it', () => {
    assert.equal(before('2026-03-15T09:00:00Z', { offsetMs: -hours(24) }), '2026-03-14T09:00:00Z')
    assert.equal(before('2026-03-15', { offsetMs: -hours(24) }), '2026-03-13T23:00:00Z')
  })

  it('counts 24 hours as 24 hours, also across a daylight-saving change', () => {
    assert.equal(before('2026-03-29T12:00', { offsetMs: -hours(24) }), '2026-03-28T10:00:00Z')
    assert.equal(before('2026-10-25T12:00', { offsetMs: -hours(24) }), '2026-10-24T11:00:00Z')
  })

  it('is that long after it', () => {
    assert.equal(before('2026-03-15T09:00:00Z', { offsetMs: hours(2) }), '2026-03-15T11:00:00Z')
  })

  it('is at a local time of that day', () => {
    assert.equal(before('2026-03-15T23:30', { at: '09:00' }), '2026-03-15T08:00:00Z')
    assert.equal(before('2026-03-15T00:30', { at: '09:00' }), '2026-03-15T08:00:00Z')
    assert.equal(before('2026-03-15', { at: '00:00' }), '2026-03-14T23:00:00Z')
  })

  it('counts days at a local time as days of the calendar', () => {
    assert.equal(before('2026-03-15', { at: '09:00', offsetMs: -days(1) }), '2026-03-14T08:00:00Z')
    assert.equal(before('2026-03-15T22:00', { at: '09:00', offsetMs: -days(7) }), '2026-03-08T08:00:00Z')
    assert.equal(before('2026-03-15', { at: '09:00', offsetMs: days(2) }), '2026-03-17T08:00:00Z')
  })

  it('counts days of 23 and of 25 hours as one', () => {
    assert.equal(before('2026-03-30T00:30', { at: '09:00', offsetMs: -days(1) }), '2026-03-29T07:00:00Z')
    assert.equal(before('2026-03-29T23:30', { at: '09:00', offsetMs: -days(1) }), '2026-03-28T08:00:00Z')
    assert.equal(before('2026-10-26T00:30', { at: '09:00', offsetMs: -days(1) }), '2026-10-25T08:00:00Z')
    assert.equal(before('2026-10-25T23:30', { at: '09:00', offsetMs: -days(1) }), '2026-10-24T07:00:00Z')
    assert.equal(
      before('2026-11-02', { at: '01:30', offsetMs: -days(1) }, { timeZone: NEW_YORK }),
      '2026-11-01T05:30:00Z',
    )
    assert.equal(
      before('2026-10-05', { at: '02:10', offsetMs: -days(1) }, { timeZone: LORD_HOWE }),
      '2026-10-03T15:40:00Z',
    )
  })

  it('counts the day that a part of a day leads to', () => {
    assert.equal(before('2026-03-15T10:00', { at: '18:00', offsetMs: -hours(12) }), '2026-03-14T17:00:00Z')
    assert.equal(before('2026-03-15T20:00', { at: '18:00', offsetMs: -hours(36) }), '2026-03-14T17:00:00Z')
  })

  it('is on the calendar day of the zone, whatever the zone', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 3 * 365 }),
        fc.integer({ min: -30, max: 30 }),
        fc.constantFrom(...ZONES),
        (day, offset, timeZone) => {
          const date = iso(ms('2025-01-01T00:00:00Z') + days(day)).slice(0, 10)
          const wanted = iso(ms(`${date}T00:00:00Z`) + days(offset)).slice(0, 10)
          const moment = { eventAt: 0, payload: { date }, timeZone, now: 0 }
          const answer = dueAt(timing({ field: 'date', at: '09:00', offsetMs: days(offset) }), moment)
          assert.ok('dueAt' in answer)
          assert.equal(iso(localOf(answer.dueAt, timeZone)), `${wanted}T09:00:00Z`)
        },
      ),
      { numRuns: 1_000 },
    )
  })
})

describe('a time that is already past', () => {
  const trip = { payload: { departure: '2026-03-15T09:00:00Z' } }
  const reminder = { field: 'departure', offsetMs: -hours(24) }

  it('before a date is sent at once while the date is ahead', () => {
    assert.equal(due(reminder, { ...trip, now: '2026-03-15T08:59:59Z' }), '2026-03-14T09:00:00Z')
  })

  it('before a date is expired once the date is past', () => {
    assert.equal(due(reminder, { ...trip, now: '2026-03-15T09:00:00Z' }), 'expired')
    assert.equal(due(reminder, { ...trip, now: '2027-01-01T00:00:00Z' }), 'expired')
  })

  it('after a date, or on its day, is sent at once', () => {
    const now = '2027-01-01T00:00:00Z'
    assert.equal(due({ field: 'departure', offsetMs: hours(2) }, { ...trip, now }), '2026-03-15T11:00:00Z')
    assert.equal(due({ field: 'departure', at: '08:00' }, { ...trip, now }), '2026-03-15T07:00:00Z')
  })

  it('is expired where it is to be skipped, if it is past by more than a minute', () => {
    const skip = { ...reminder, ifPast: 'skip' } as const
    assert.equal(due(skip, { ...trip, now: '2026-03-14T09:01:00Z' }), '2026-03-14T09:00:00Z')
    assert.equal(due(skip, { ...trip, now: '2026-03-14T09:01:00.001Z' }), 'expired')
    assert.equal(due({ offsetMs: hours(1), ifPast: 'skip' }, { now: '2026-01-01T01:01:01Z' }), 'expired')
    assert.equal(due({ offsetMs: hours(1), ifPast: 'skip' }, { now: '2026-01-01T00:30:00Z' }), '2026-01-01T01:00:00Z')
    assert.equal(due({ at: '09:00', ifPast: 'skip' }, { now: '2026-01-01T09:00:00Z' }), 'expired')
  })

  it('says when it would have been', () => {
    const past = dueAt(timing(reminder), { eventAt: 0, payload: trip.payload, timeZone: BERLIN, now: ms('2026-04-01') })
    assert.ok('expired' in past)
    assert.match(past.expired, /departure was 2026-03-15T09:00:00/)
  })
})

describe('what cannot be reckoned', () => {
  it('names the field that is missing', () => {
    for (const payload of [{}, { date: null }, { date: '' }])
      assert.match(due({ field: 'date' }, { payload }), /no date, from which/)
    assert.match(due({ field: 'trip.date' }, { payload: { trip: 'x' } }), /no trip\.date/)
    assert.match(due({ field: 'constructor.name' }), /no constructor\.name/)
  })

  it('names the field that is no date', () => {
    for (const date of ['soon', 1_767_225_600_000, true, {}, ['2026-03-15'], '   '])
      assert.match(due({ field: 'date' }, { payload: { date } }), /^date is not a date such as/)
  })

  it('names a zone that nobody knows, where it needs one', () => {
    assert.match(due({ at: '09:00' }, { timeZone: 'Mars/Olympus' }), /zone "Mars\/Olympus" is not known/)
    assert.equal(isTimeZone('Mars/Olympus'), false)
    assert.equal(isTimeZone(BERLIN), true)
  })

  it('names a local time that is none', () => {
    for (const at of ['9:00', '24:00', '09:60', 'noon', '']) assert.match(due({ at }), /is not one such as "09:00"/)
  })

  it('is a due time beyond every calendar', () => {
    for (const offsetMs of [Number.MAX_SAFE_INTEGER, Number.NaN, Number.POSITIVE_INFINITY])
      assert.match(due({ offsetMs }), /beyond every calendar/)
    assert.match(due({ offsetMs: Number.MAX_SAFE_INTEGER, at: '09:00' }), /beyond every calendar/)
  })
})
