import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertLinear } from '../../../../test/support/linear.ts'
import { addressIdentity, isDeliverable, isEmail, isPhone, isWebhookUrl } from './address.ts'

describe('two addresses', () => {
  it('are one where only the case of an email differs', () => {
    assert.equal(addressIdentity('email', 'Ada@Example.com'), addressIdentity('email', 'ada@example.com'))
    for (const channel of ['push', 'in_app', 'webhook', 'sms', 'whatsapp'] as const)
      assert.equal(addressIdentity(channel, 'Ab'), 'Ab')
  })
})

describe('addresses', () => {
  it('knows telephone numbers in E.164', () => {
    for (const good of ['+919876543210', '+15551234567', '+4930123456', '+1234567']) assert.ok(isPhone(good), good)
    for (const bad of [
      '919876543210',
      '+0123456789',
      '+1',
      '+123456',
      '+1234567890123456',
      '+91 98765 43210',
      '+91-9876543210',
      '+919876543210\n',
      '＋919876543210',
      '+９１９８７６５４３２１',
      '+91987654321\u200b',
      'tel:+919876543210',
      '',
    ])
      assert.ok(!isPhone(bad), bad)
  })

  it('knows plain mailboxes and nothing fancier', () => {
    for (const good of [
      'a@example.com',
      "o'brien+tag@mail.example.co.in",
      'a.b@xn--bcher-kva.example',
      'ops@plant',
      `${'a'.repeat(64)}@example.com`,
    ])
      assert.ok(isEmail(good), good)
    for (const bad of [
      '',
      'a',
      '@example.com',
      'a@',
      'a@b@c',
      'a b@example.com',
      '"a b"@example.com',
      'a@example.com,b@example.com',
      'a@example.com;b@example.com',
      '<a@example.com>',
      'A <a@example.com>',
      'a(comment)@example.com',
      '@route:a@example.com',
      'group:a@example.com;',
      '.a@example.com',
      'a.@example.com',
      'a..b@example.com',
      'a@-example.com',
      'a@example-.com',
      'a@example..com',
      'a@.example.com',
      'a@example.com.',
      'a@[127.0.0.1]',
      'a@exa_mple.com',
      'a@example.com\r\nBcc: b@example.com',
      'a@exämple.com',
      'ä@example.com',
      'a@example.com\u0000',
      `${'a'.repeat(65)}@example.com`,
      `a@${'b'.repeat(64)}.com`,
      `a@${'b.'.repeat(130)}com`,
    ])
      assert.ok(!isEmail(bad), bad)
  })

  it('knows URLs a webhook may have', () => {
    for (const good of ['https://example.com/hook?x=1', 'http://localhost:8080/']) assert.ok(isWebhookUrl(good), good)
    for (const bad of [
      'ftp://example.com',
      'javascript:alert(1)',
      'file:///etc/passwd',
      'https://a:b@example.com',
      'https://a@example.com',
      '//example.com',
      'example.com',
      'https://',
      'https://exa mple.com',
      `https://example.com/${'x'.repeat(2_048)}`,
    ])
      assert.ok(!isWebhookUrl(bad), bad)
  })

  it('judges 100 KB of anything in time linear in its length', () => {
    for (const piece of ['a', '.', 'a.', '@', 'a@', '+1', '-', 'a-'])
      assertLinear(
        (size) => {
          const text = piece.repeat(size / piece.length)
          for (const judge of [isEmail, isPhone, isWebhookUrl]) judge(text)
        },
        100_000,
        piece,
      )
  })
})

describe('an address', () => {
  it('is deliverable where it has the form its channel needs', () => {
    assert.deepEqual(
      [
        isDeliverable('sms', '+919876543210'),
        isDeliverable('whatsapp', 'not a phone'),
        isDeliverable('email', 'a@example.com\r\nBcc: evil@example.com'),
        isDeliverable('webhook', 'https://example.com/hook'),
        isDeliverable('push', 'token\u0000'),
        isDeliverable('in_app', 'user-1'),
      ],
      [true, false, false, true, false, true],
    )
  })
})
