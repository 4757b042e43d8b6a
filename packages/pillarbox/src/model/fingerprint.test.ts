import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { causeText, fingerprintOf, type StopCause } from './fingerprint.ts'

const cause = (changes: Partial<StopCause> = {}): StopCause => ({
  reason: 'invalid_recipient',
  code: '550',
  error: 'no such user',
  accountId: 'a',
  ...changes,
})

describe('the text of a cause', () => {
  it('has no numbers, ids or addresses', () => {
    const texts = [
      ['550 5.1.1 <ada@example.test>: User unknown', '# <address> user unknown'],
      [
        'Notification 019b7a00-0000-7000-8000-000000000001 tells the same already',
        'notification # tells the same already',
      ],
      ['+49 151 123-456 is not on WhatsApp', '# is not on whatsapp'],
      ['{"code":131026,"title":"Message undeliverable"}', 'code # title message undeliverable'],
      ['see https://vendor.test/errors?id=7 for more', 'see https <url> for more'],
      [`token ${'abcdefgh'.repeat(20)} is gone`, 'token # is gone'],
      ['١٢٣ is full', '# is full'],
    ] as const

    for (const [error, text] of texts) assert.equal(causeText(error), text)
  })

  it('is nothing where nothing was said', () => {
    assert.equal(causeText(null), null)
    assert.equal(causeText('  ...  '), null)
  })

  it('is short whatever was said', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (error) => {
        const text = causeText(error) ?? ''
        assert.ok(text.length <= 1_200)
        assert.ok(text.isWellFormed())
        assert.doesNotMatch(text, /[\p{N}@]/u)
      }),
    )
  })

  it('is made of the beginning, however long the error is', () => {
    assert.equal(causeText(`mailbox full ${'x '.repeat(1_000)}`), causeText(`mailbox full ${'x '.repeat(1_000_000)}`))
  })
})

describe('a fingerprint', () => {
  it('is the same for the same cause, whoever it was about', () => {
    const of = (n: number): string => fingerprintOf(cause({ error: `user${n}@example.test: mailbox ${n} is full` }))

    assert.equal(of(1), of(2))
    assert.match(of(1), /^[0-9a-f]{16}$/)
  })

  it('differs by reason, code, words and account', () => {
    const others = [
      { reason: 'bounced' },
      { code: '551' },
      { code: null },
      { error: 'mailbox full' },
      { accountId: 'b' },
    ]
    const prints = [cause(), ...others.map(cause)].map(fingerprintOf)

    assert.equal(new Set(prints).size, prints.length)
  })

  it('cannot be moved from one part of a cause into another', () => {
    assert.notEqual(
      fingerprintOf(cause({ code: '550 no', error: 'such user' })),
      fingerprintOf(cause({ code: '550', error: 'no such user' })),
    )
    assert.notEqual(fingerprintOf(cause({ code: 'null' })), fingerprintOf(cause({ code: null })))
  })
})
