import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isPhone } from './address.ts'
import { toE164 } from './phone.ts'

describe('a telephone number', () => {
  it('in E.164 form is passed on unmodified (A13)', () => {
    assert.equal(toE164('+919876543210', 'IN'), '+919876543210')
    assert.equal(toE164('+919876543210', null), '+919876543210')
    assert.equal(toE164('+919876543210', 'DE'), '+919876543210')
  })

  it('in E.164 form is passed on even where no table knows its range', () => {
    assert.equal(toE164('+15550100', 'US'), '+15550100')
    assert.equal(toE164('+9990000000', null), '+9990000000')
  })

  it('as people write it in their own country is one of the tenant’s region', () => {
    assert.equal(toE164('98765 43210', 'IN'), '+919876543210')
    assert.equal(toE164('098765-43210', 'IN'), '+919876543210')
    assert.equal(toE164('0151 / 23 45 67 89', 'DE'), '+4915123456789')
    assert.equal(toE164('(202) 555-0143', 'US'), '+12025550143')
    assert.equal(toE164('0151 23456789', ' de '), '+4915123456789')
  })

  it('with a country code needs no region', () => {
    assert.equal(toE164('+49 (0)151 23456789', null), '+4915123456789')
    assert.equal(toE164('+91-98765-43210', 'DE'), '+919876543210')
    assert.equal(toE164('tel:+49-151-23456789', null), '+4915123456789')
  })

  it('may begin with the digits that the region dials for abroad', () => {
    assert.equal(toE164('0091 98765 43210', 'DE'), '+919876543210')
    assert.equal(toE164('011 91 98765 43210', 'US'), '+919876543210')
  })

  it('that lost its plus is read as a mobile of the region where it is one', () => {
    assert.equal(toE164('919876543210', 'IN'), '+919876543210')
    assert.equal(toE164('4915123456789', 'DE'), '+4915123456789')
    assert.equal(toE164('9198765432', 'IN'), '+919198765432')
  })

  it('may be written in other digits', () => {
    assert.equal(toE164('٠١٥١٢٣٤٥٦٧٨٩', 'DE'), '+4915123456789')
    assert.equal(toE164('＋４９ １５１ ２３４５６７８９', null), '+4915123456789')
  })

  it('without a region that is known is none', () => {
    assert.equal(toE164('0151 23456789', null), null)
    assert.equal(toE164('0151 23456789', 'XX'), null)
    assert.equal(toE164('0151 23456789', ''), null)
  })

  it('that nobody can have is none', () => {
    for (const text of ['', '12', 'not a phone', '0151', '+', '+49', '+0123456789', '0'.repeat(30), '1'.repeat(1_000)])
      assert.equal(toE164(text, 'DE'), null, text)
  })

  it('is the whole text, not a part of it', () => {
    assert.equal(toE164('call 0151 23456789', 'DE'), null)
    assert.equal(toE164('0151 23456789 or 0151 23456780', 'DE'), null)
  })

  it('with an extension is none: the message would go to somebody else', () => {
    assert.equal(toE164('+49 30 12345678 ext. 5', null), null)
  })

  it('is always deliverable in form, and stays the same when read again', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom('DE', 'IN', 'US', null), (text, region) => {
        const number = toE164(text, region)
        if (number !== null) assert.ok(isPhone(number) && toE164(number, region) === number)
      }),
    )
  })
})
