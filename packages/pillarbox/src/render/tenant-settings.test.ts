import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type GivenSettings, settingProblems } from './tenant-settings.ts'

describe('a tenant’s settings', () => {
  it('are right when zone, region, currency, locale and retention exist, or are to be removed', () => {
    for (const given of [
      {},
      { defaultLocale: 'en-IN', timeZone: 'Asia/Kolkata', region: 'IN', currency: 'INR', retention: 'P365D' },
      { defaultLocale: 'zh-Hant-TW', timeZone: 'UTC', region: 'GB', currency: 'EUR', retention: 'P90D' },
      { dateFormat: 'long' },
      { dateFormat: 'dd-MMM-yyyy' },
      { region: null, dateFormat: null, currency: null, retention: null },
    ] satisfies GivenSettings[])
      assert.deepEqual(settingProblems(given), [])
  })

  for (const given of [
    { defaultLocale: 'en-' },
    { defaultLocale: 'x' },
    { timeZone: 'Mars/Olympus' },
    { timeZone: '+05:30' },
    { timeZone: '' },
    { region: 'XX' },
    { region: 'in' },
    { region: 'IND' },
    { dateFormat: 'nonsense' },
    { dateFormat: '--' },
    { currency: 'XYZ' },
    { currency: 'inr' },
    { retention: '1 year' },
    { retention: 'PT59M' },
  ] satisfies GivenSettings[])
    it(`are wrong with ${JSON.stringify(given)}`, () => {
      const [name] = Object.keys(given)

      assert.deepEqual(
        settingProblems(given).map(({ path }) => path),
        [`/${name}`],
      )
    })

  it('name everything that is wrong at once', () => {
    assert.equal(settingProblems({ timeZone: 'x', region: 'x', currency: 'x', retention: 'x' }).length, 4)
  })
})
