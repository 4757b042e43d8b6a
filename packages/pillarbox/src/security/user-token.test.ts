import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createKeyring } from './keyring.ts'
import { createSeal } from './seal.ts'
import { createUserTokens } from './user-token.ts'

const KEY = Buffer.alloc(32, 1)
const tokens = createUserTokens(createSeal(KEY))
const ADA = { tenantId: 'acme', userId: 'ada', expiresAt: 1_767_225_600_000 }

describe('user tokens', () => {
  it('open for the user they were issued for, whatever the id', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }), (userId) => {
        const token = tokens.issue({ ...ADA, userId })
        assert.deepEqual(tokens.open(token, userId), { ...ADA, userId })
        assert.ok(tokens.isOne(token))
        assert.match(token, /^[\x21-\x7e]{1,512}$/)
      }),
    )
  })

  it('open for nobody else', () => {
    const token = tokens.issue(ADA)

    for (const userId of ['', 'Ada', 'ada ', 'bob', 'ada\0']) assert.equal(tokens.open(token, userId), null)
    assert.equal(tokens.open(token.replace('acme', 'other'), 'ada'), null)
  })

  it('do not open when anything was changed', () => {
    const token = tokens.issue(ADA)

    for (let i = 0; i < token.length; i++) {
      const other = token[i] === 'A' ? 'B' : 'A'
      // The last character of base64url may have bits that mean nothing; both spellings are the same token.
      const changed = `${token.slice(0, i)}${other}${token.slice(i + 1)}`
      if (i === token.length - 1) continue
      assert.equal(tokens.open(changed, 'ada'), null, changed)
    }
  })

  it('are not to be made up', () => {
    for (const text of [
      '',
      'pbu_',
      'pbu_acme',
      'pbu_acme.',
      'pbu_acme.s1.00000000.AAAA',
      'pbx_acme.x',
      `pbu_${'a'.repeat(600)}`,
    ])
      assert.equal(tokens.open(text, 'ada'), null, text)
  })

  it('outlive a change of the master key while the former one is given, and no longer', () => {
    const token = tokens.issue(ADA)
    const newKey = Buffer.alloc(32, 2)

    assert.deepEqual(createUserTokens(createSeal(createKeyring(newKey, [KEY]))).open(token, 'ada'), ADA)
    assert.equal(createUserTokens(createSeal(newKey)).open(token, 'ada'), null)
  })

  it('say nothing of the user they are for', () => {
    assert.ok(!tokens.issue({ ...ADA, userId: 'somebody' }).includes('somebody'))
  })
})
