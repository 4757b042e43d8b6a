import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isEmail } from './address.ts'
import { emailIdentity, foldEmail } from './email.ts'

describe('an email address', () => {
  it('is trimmed, and its domain is in lower case; the part before the @ stays as written', () => {
    assert.equal(foldEmail('  Ada.Lovelace@Example.TEST\n'), 'Ada.Lovelace@example.test')
  })

  it('with an international domain has it in xn-- form', () => {
    assert.equal(foldEmail('ada@münchen.example'), 'ada@xn--mnchen-3ya.example')
    assert.equal(foldEmail('ada@MÜNCHEN.example'), 'ada@xn--mnchen-3ya.example')
    assert.equal(foldEmail('ada@例え。example'), 'ada@xn--r8jz45g.example')
    assert.equal(foldEmail('ada@xn--mnchen-3ya.example'), 'ada@xn--mnchen-3ya.example')
  })

  it('keeps dots and tags, which mean different mailboxes in places', () => {
    assert.equal(foldEmail('a.d.a+news@example.test'), 'a.d.a+news@example.test')
  })

  it('is none where it is not one plain mailbox', () => {
    const none = ['', 'ada', '@example.test', 'ada@', 'a@b@example.test', 'a b@example.test', '"a"@example.test']
    for (const text of [...none, 'a@example.test, b@example.test', 'Ada <a@example.test>', 'ada@exa mple.test'])
      assert.equal(foldEmail(text), null, text)
    assert.equal(foldEmail(`${'a'.repeat(65)}@example.test`), null)
    assert.equal(foldEmail(`a@${'b'.repeat(1_000)}.test`), null)
  })

  it('is never turned into another host', () => {
    for (const text of ['a@１２７.０.０.１', 'a@ex%61mple.test', 'a@exämple.test/evil.test', 'a@exämple.test:25'])
      assert.equal(foldEmail(text), null, text)
    assert.equal(foldEmail('a@0x7f.1'), 'a@0x7f.1')
  })

  it('belongs to the same person in any case', () => {
    assert.equal(emailIdentity('Ada@example.test'), emailIdentity('ada@example.test'))
    assert.notEqual(emailIdentity('a.da@example.test'), emailIdentity('ada@example.test'))
  })

  it('is always deliverable in form, and stays the same when folded again', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.emailAddress(),
          fc.webAuthority().map((host) => `a@${host}`),
        ),
        (text) => {
          const folded = foldEmail(text)
          if (folded !== null) assert.ok(isEmail(folded) && foldEmail(folded) === folded)
        },
      ),
    )
  })
})
