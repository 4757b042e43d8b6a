import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { dateFormatProblem, formatDate, formatTime, isFullDateTime, readDate } from './dates.ts'

// The machine's own zone must never be seen: this one is neither UTC nor any that is asked for, and skips hours.
const machineZone = process.env['TZ']
before(() => {
  process.env['TZ'] = 'Pacific/Chatham'
})
after(() => {
  if (machineZone === undefined) delete process.env['TZ']
  else process.env['TZ'] = machineZone
})

interface Given {
  timeZone?: string
  locale?: string
  now?: number
  withTime?: boolean
}

function format(value: unknown, pattern: string, given: Given = {}): string | null {
  const { timeZone = 'UTC', locale = 'en', now, withTime = false } = given
  const date = readDate(value, { timeZone, ...(now !== undefined && { now }) })
  return date && formatDate(date, pattern, { locale }, { withTime })
}

describe('an instant', () => {
  it("is shown in the tenant's zone, across midnight and daylight saving", () => {
    const pattern = 'yyyy-MM-dd HH:mm'

    assert.equal(format('2026-03-15T20:00:00Z', pattern, { timeZone: 'Asia/Kolkata' }), '2026-03-16 01:30')
    assert.equal(format('2026-03-15T20:00:00Z', pattern, { timeZone: 'America/New_York' }), '2026-03-15 16:00')
    assert.equal(format('2026-03-29T00:59:00Z', pattern, { timeZone: 'Europe/Berlin' }), '2026-03-29 01:59')
    assert.equal(format('2026-03-29T01:00:00Z', pattern, { timeZone: 'Europe/Berlin' }), '2026-03-29 03:00')
    assert.equal(format('2026-03-15T09:30:00+02:00', pattern), '2026-03-15 07:30')
    assert.equal(format('2026-03-15T09:30-0500', pattern), '2026-03-15 14:30')
  })

  it('may be seconds since 1970, or milliseconds where seconds would be absurd', () => {
    for (const value of [1_773_568_800, 1_773_568_800_000, '1773568800', '1773568800000'])
      assert.equal(format(value, 'yyyy-MM-dd HH:mm'), '2026-03-15 10:00', String(value))
  })

  it('may be now, if somebody says when that is', () => {
    assert.equal(format('now', 'yyyy', { now: Date.UTC(2031, 0, 1) }), '2031')
    assert.equal(format('today', 'yyyy'), null)
  })
})

describe('a day', () => {
  it('is the same day in every zone', () => {
    for (const timeZone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'UTC', 'Asia/Kolkata', 'Nowhere/Atall'])
      assert.equal(format('2026-03-15', 'dd.MM.yyyy', { timeZone }), '15.03.2026', timeZone)
  })

  it('is not shown with a time of day that it does not have', () => {
    assert.equal(format('2026-03-15', 'dd.MM.yyyy HH:mm'), '15.03.2026')
    assert.equal(format('2026-03-15', "dd.MM.yyyy 'um' HH:mm 'Uhr'"), '15.03.2026')
    assert.equal(format('2026-03-15', 'HH:mm dd.MM.yyyy'), '00:00 15.03.2026')
  })
})

describe('a time without an offset', () => {
  it("is the tenant's own, and shown as it is", () => {
    for (const timeZone of ['Pacific/Kiritimati', 'America/New_York', 'Europe/Berlin'])
      assert.equal(format('2026-03-29T02:30:00', 'dd.MM. HH:mm', { timeZone }), '29.03. 02:30', timeZone)
  })
})

describe('what is no date', () => {
  it('is not taken for one', () => {
    const others = [
      '',
      'soon',
      '2026-02-30',
      '2026-13-01',
      '2026-03-15T25:00',
      '15.03.2026',
      '20260315',
      'x'.repeat(1e6),
    ]
    for (const value of [...others, '12', {}, null, undefined, true, [], NaN, Infinity, 1e300])
      assert.equal(format(value, 'yyyy'), null, JSON.stringify(value)?.slice(0, 20))
  })

  it('is told from a full date-time by its form', () => {
    assert.ok(isFullDateTime('2026-03-15T10:00Z'))
    assert.ok(isFullDateTime('2026-03-15T10:00:00.123+05:30'))
    assert.ok(isFullDateTime('2026-03-15T10:00:00'))
    for (const text of ['2026-03-15', '2026-03-15 10:00', '2026-03-15T10', '2026-99-15T10:00Z', 'at 2026-03-15T10:00Z'])
      assert.ok(!isFullDateTime(text), text)
  })
})

describe('a style', () => {
  it('is what the locale makes of it, in ordinary signs', () => {
    const value = '2026-03-15T20:05:00Z'

    assert.equal(format(value, 'short', { locale: 'de-DE' }), '15.03.26')
    assert.equal(format(value, 'medium', { locale: 'en-IN' }), '15 Mar 2026')
    assert.equal(format(value, 'long', { locale: 'de' }), '15. März 2026')
    assert.equal(format(value, 'full', { locale: 'fr' }), 'dimanche 15 mars 2026')
    assert.equal(format(value, 'short', { locale: 'en-US', withTime: true }), '3/15/26, 8:05 PM')
  })

  it('has the time of day where there is one and it is asked for', () => {
    assert.equal(format('2026-03-15T20:05:00Z', 'medium', { locale: 'de', withTime: true }), '15.03.2026, 20:05')
    assert.equal(format('2026-03-15', 'medium', { locale: 'de', withTime: true }), '15.03.2026')
  })

  it("reads a locale that is none as English, never as the machine's", () => {
    for (const locale of ['', 'no such', 'xx-XX', '💥', 'e'.repeat(500)])
      assert.equal(format('2026-03-15', 'long', { locale }), 'March 15, 2026', locale)
    assert.equal(format('2026-03-15', 'long', { locale: 'de_AT' }), '15. März 2026')
  })

  it('has a time of day of its own', () => {
    const at = (text: string, locale: string) => {
      const date = readDate(text, { timeZone: 'UTC' })
      return date && formatTime(date, { locale })
    }

    assert.equal(at('2026-03-15T20:05:00Z', 'de'), '20:05')
    assert.equal(at('2026-03-15T20:05:00Z', 'en-US'), '8:05 PM')
    assert.equal(at('2026-03-15', 'de'), null)
  })
})

describe('a pattern', () => {
  const value = '2026-03-05T07:08:09Z'

  it('is made of letters for fields', () => {
    assert.equal(format(value, 'dd-MMM-yyyy', { locale: 'en-IN' }), '05-Mar-2026')
    assert.equal(format(value, 'd.M.yy H:mm:ss'), '5.3.26 7:08:09')
    assert.equal(format(value, 'EEEE, d. MMMM y', { locale: 'de' }), 'Donnerstag, 5. März 2026')
    assert.equal(format('2026-03-05T19:08:09Z', 'EEE hh:mm a', { locale: 'en-US' }), 'Thu 07:08 PM')
    assert.equal(format(value, 'DD/MM/YYYY'), '05/03/2026')
    assert.equal(format(value, 'iso'), '2026-03-05')
  })

  it('names the month as it stands in a date', () => {
    assert.equal(format(value, 'd MMMM', { locale: 'ru' }), '5 марта')
    assert.equal(format(value, 'd MMMM yyyy', { locale: 'th-TH' }), '5 มีนาคม 2026')
  })

  it('has words in quotes', () => {
    assert.equal(format(value, "d 'de' MMMM", { locale: 'es' }), '5 de marzo')
    assert.equal(format(value, "HH 'o''clock'"), "07 o'clock")
    assert.equal(format(value, "HH''mm"), "07'08")
  })

  it('is found fault with where it means nothing', () => {
    for (const good of ['short', 'full', 'iso', 'dd-MMM-yyyy', 'dd.MM.yyyy', '%d.%m.%Y', "d 'de' MMMM"])
      assert.equal(dateFormatProblem(good), null, good)
    assert.match(dateFormatProblem('dd.MM.yyyy n') ?? '', /"n"/)
    assert.match(dateFormatProblem('tomorrow') ?? '', /means nothing/)
    assert.match(dateFormatProblem('--') ?? '', /must be short/)
    assert.match(dateFormatProblem('') ?? '', /must be short/)
  })
})

describe('strftime', () => {
  const value = '2026-03-05T07:08:09.045Z'
  const of = (pattern: string, given: Given = {}) => format(value, pattern, given)

  it('knows the usual directives', () => {
    assert.equal(of('%d.%m.%Y %H:%M:%S'), '05.03.2026 07:08:09')
    assert.equal(of('%e %-d %_m %y %C %j'), ' 5 5  3 26 20 064')
    assert.equal(of('%F %T %R %D'), '2026-03-05 07:08:09 07:08 03/05/26')
    assert.equal(of('%I %l %p %P %L'), '07  7 AM am 045')
    assert.equal(of('%u %w %U %W'), '4 4 09 09')
    assert.equal(of('%s %% %n%t|'), '1772694489 % \n\t|')
    assert.equal(of('%3d %^a %#p'), '005 THU am')
  })

  it("is in the tenant's zone and the locale's words", () => {
    const given = { timeZone: 'Europe/Berlin', locale: 'de' }

    assert.equal(of('%A, %-d. %B %Y, %H:%M', given), 'Donnerstag, 5. März 2026, 08:08')
    assert.equal(of('%a %b %z %:z %Z', given), 'Do März +0100 +01:00 Europe/Berlin')
    assert.equal(of('%x|%X|%c', given), '05.03.26|08:08:09|05.03.2026, 08:08:09')
  })

  it('knows the offset of a time that has none of its own', () => {
    assert.equal(format('2026-07-01T12:00', '%z', { timeZone: 'Europe/Berlin' }), '+0200')
    assert.equal(format('2026-07-01', '%s', { timeZone: 'Europe/Berlin' }), String(Date.UTC(2026, 5, 30, 22) / 1_000))
  })

  it('leaves what it does not know, and is never long', () => {
    assert.equal(of('%Q %i %'), '%Q %i %')
    assert.ok((of('%99A'.repeat(1_000)) ?? '').length < 6_000)
  })
})

it('never throws, whatever the date, the format, the zone and the locale', () => {
  const when = fc.oneof(
    fc.string(),
    fc.double(),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  )
  fc.assert(
    fc.property(when, fc.string(), fc.string(), fc.string(), (value, pattern, timeZone, locale) => {
      const date = readDate(value, { timeZone })
      if (date) assert.equal(typeof formatDate(date, pattern, { locale }, { withTime: true }), 'string')
      dateFormatProblem(pattern)
    }),
  )
})
