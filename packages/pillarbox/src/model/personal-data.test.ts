import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createEraser, needlesOf } from './personal-data.ts'

const PHONE = '+919876543210'
const eraser = createEraser({
  needles: [...needlesOf(PHONE, '<p>'), ...needlesOf('ada+x@example.test', '<e>')],
  values: new Map([
    ['ada lovelace', '<n>'],
    ['42', '<u>'],
  ]),
  region: 'IN',
})

describe('erasing a person from texts', () => {
  it('finds an address in any case, in URLs, and a number without its plus', () => {
    assert.equal(eraser.text('550 <Ada+X@example.TEST> unknown'), '550 <<e>> unknown')
    assert.equal(
      eraser.text('https://x.test/?to=ada%2Bx%40example.test&p=%2B919876543210'),
      'https://x.test/?to=<e>&p=<p>',
    )
    assert.equal(eraser.text('q=%3Cada%2Bx%40example.test%3E'), 'q=%3C<e>%3E')
    assert.equal(eraser.text(`to ${PHONE}, or 919876543210.`), 'to <p>, or <p>.')
  })

  it('leaves other people’s addresses alone, also those that contain one', () => {
    for (const text of [
      '+9198765432100',
      '1919876543210',
      'bada+x@example.test',
      'ada+x@example.test.au',
      'Ada Lovelace wrote',
    ])
      assert.equal(eraser.text(text), text)
  })

  it('finds an address that is part of an id', () => {
    assert.equal(eraser.text('later-ada+x@example.test'), 'later-ada+x@example.test')
    assert.equal(eraser.id('later-ada+x@example.test:sms'), 'later-<e>:sms')
    assert.equal(eraser.id('bada+x@example.test'), 'bada+x@example.test')
  })

  it('goes through JSON, and takes whole values for names, ids and numbers as people write them', () => {
    const given = {
      guest: ' Ada Lovelace',
      id: 42,
      phone: '098765 43210',
      number: 919876543210,
      [PHONE]: ['ada+x@example.test', { nights: 3, note: 'Ada Lovelace, room 42' }, null, true],
    }

    assert.deepEqual(eraser.json(given), {
      guest: '<n>',
      id: '<u>',
      phone: '<p>',
      number: '<p>',
      '<p>': ['<e>', { nights: 3, note: 'Ada Lovelace, room 42' }, null, true],
    })
  })

  it('changes nothing where nobody is known', () => {
    const nobody = createEraser({ needles: [], values: new Map(), region: null })

    assert.equal(nobody.text(PHONE), PHONE)
    assert.deepEqual(nobody.json({ a: [PHONE, 1] }), { a: [PHONE, 1] })
  })
})
