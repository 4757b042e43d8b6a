import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { formatAmount, formatMoney, readAmount } from './amounts.ts'

function money(value: unknown, locale: string, currency?: string): string | null {
  const amount = readAmount(value)
  return amount === null ? null : formatMoney(amount, locale, currency)
}

describe('an amount', () => {
  it('is a number, or text that is nothing else', () => {
    assert.equal(readAmount(12), 12)
    assert.equal(readAmount(' -12.50 '), '-12.50')
    for (const value of [
      '',
      'free',
      '1,5',
      '1e5',
      '0x10',
      NaN,
      Infinity,
      null,
      undefined,
      {},
      [],
      true,
      '9'.repeat(100),
    ])
      assert.equal(readAmount(value), null, JSON.stringify(value))
  })

  it('is written as the locale does, with two decimals or as many as are asked for', () => {
    assert.equal(formatAmount(1234.5, 'de-DE'), '1.234,50')
    assert.equal(formatAmount(1234.5, 'en-US'), '1,234.50')
    assert.equal(formatAmount(123456, 'en-IN'), '1,23,456.00')
    assert.equal(formatAmount(1234.5, 'fr-FR'), '1 234,50')
    assert.equal(formatAmount(1234.5, 'de-CH'), "1'234.50")
    assert.equal(formatAmount(-1.5, 'sv'), '-1,50')
    assert.equal(formatAmount(1234.5678, 'de', 3), '1.234,568')
    assert.equal(formatAmount(1234.5, 'de', 0), '1.235')
    assert.equal(formatAmount(1, 'de', Number.NaN), '1')
    assert.equal(formatAmount(1, 'de', 1e9), `1,${'0'.repeat(20)}`)
  })

  it('keeps every digit of an amount given as text', () => {
    assert.equal(money('12345678901234567890.12', 'de', 'EUR'), '12.345.678.901.234.567.890,12 €')
  })
})

describe('money', () => {
  it('is written with its currency, as the locale does', () => {
    assert.equal(money(1234.5, 'de-DE', 'EUR'), '1.234,50 €')
    assert.equal(money(1234.5, 'en-US', 'usd'), '$1,234.50')
    assert.equal(money(123456, 'en-IN', 'INR'), '₹1,23,456.00')
    assert.equal(money(1234.5, 'de', 'JPY'), '1.235 ¥')
  })

  it('has the currency behind it as it is, where nobody knows it', () => {
    assert.equal(money(5, 'de', 'POINTS'), '5,00 POINTS')
    assert.equal(money(5, 'de', 'QQQ'), '5,00 QQQ')
  })

  it('is the amount alone where no currency is known', () => {
    assert.equal(money(5, 'de'), '5,00')
    assert.equal(money(5, 'de', ' '), '5,00')
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.string()), fc.string(), fc.string(), (value, locale, currency) => {
        money(value, locale, currency)
      }),
    )
  })
})
