import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { CHANNELS, type Channel } from './channel.ts'
import { type Address, addressField, addressOf, maskAddress } from './recipient.ts'

describe('where a channel sends to', () => {
  const FIELDS: Record<Channel, keyof Address> = {
    whatsapp: 'phone',
    sms: 'phone',
    email: 'email',
    push: 'deviceToken',
    in_app: 'userId',
    webhook: 'url',
  }
  for (const channel of CHANNELS)
    it(`is the ${FIELDS[channel]} for ${channel}`, () => {
      assert.equal(addressField(channel), FIELDS[channel])
      assert.equal(addressOf(channel, { [FIELDS[channel]]: 'x' }), 'x')
    })

  it('is nothing where the address has no such field, or an empty one', () => {
    for (const channel of CHANNELS) {
      assert.equal(addressOf(channel, { name: 'Ada' }), null)
      assert.equal(addressOf(channel, { [addressField(channel)]: '' }), null)
    }
  })

  it('is the field of that channel even when others are there too', () => {
    const to: Address = { phone: '+4915112345678', email: 'ada@example.test' }

    assert.equal(addressOf('sms', to), '+4915112345678')
    assert.equal(addressOf('email', to), 'ada@example.test')
    assert.equal(addressOf('push', to), null)
  })
})

describe('masking', () => {
  it('leaves enough to recognise an address one knows', () => {
    const masked = maskAddress({
      name: 'Ada Lovelace',
      email: 'ada.lovelace@example.test',
      phone: '+4915112345678',
      deviceToken: 'fcm-0123456789-abcd',
      url: 'https://hooks.example.test/t/secret?key=1',
    })

    assert.deepEqual(masked, {
      name: 'A***',
      email: 'a***@example.test',
      phone: '+49***78',
      deviceToken: 'fcm-***abcd',
      url: 'https://hooks.example.test/***',
    })
  })

  it('never shows the local part of an email', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }), (rest) => {
        const { email } = maskAddress({ email: `q${rest}@example.test` })

        assert.equal(email, 'q***@example.test')
      }),
    )
  })

  it('never shows the middle digits of a phone number', () => {
    const digits = fc.stringMatching(/^\d{1,15}$/)
    fc.assert(
      fc.property(digits, (digits) => {
        const { phone } = maskAddress({ phone: `+49${digits}78` })

        assert.equal(phone, '+49***78')
      }),
    )
  })

  it('shows at most four characters at either end of a device token', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-f]{0,40}$/), (deviceToken) => {
        const masked = maskAddress({ deviceToken }).deviceToken ?? ''

        assert.match(masked, /^(.{4}\*\*\*.{4}|\*\*\*)$/)
      }),
    )
  })

  const URLS: [string, string][] = [
    ['https://hooks.example.test/a/b', 'https://hooks.example.test/***'],
    ['https://hooks.example.test', 'https://hooks.example.test'],
    ['https://hooks.example.test?token=secret', 'https://hooks.example.test/***'],
    ['https://hooks.example.test#secret', 'https://hooks.example.test/***'],
    ['https://user:secret@hooks.example.test/a', 'https://hooks.example.test/***'],
    ['https://user:secret@hooks.example.test', 'https://hooks.example.test'],
    ['not a url, but secret', '***'],
  ]
  for (const [url, masked] of URLS)
    it(`shows ${masked} of ${url}`, () => {
      assert.equal(maskAddress({ url }).url, masked)
    })

  it('shows no more of something short than of something long', () => {
    assert.deepEqual(maskAddress({ name: 'A', phone: '110', email: 'a@x.test', deviceToken: 'abc' }), {
      name: '***',
      phone: '***',
      email: '***@x.test',
      deviceToken: '***',
    })
  })

  it('masks what is no email in an email’s place', () => {
    assert.equal(maskAddress({ email: 'ada.lovelace' }).email, 'a***')
    assert.equal(maskAddress({ email: '@secret' }).email, '@***')
  })

  it('keeps what identifies nobody outside, adds no field and changes nothing in place', () => {
    const to: Address = { userId: 'u-1', contactId: 'c-1', list: 'ops', platform: 'fcm', email: 'ada@example.test' }
    const before = structuredClone(to)

    const masked = maskAddress(to)

    assert.deepEqual(masked, { ...before, email: 'a***@example.test' })
    assert.deepEqual(to, before)
  })
})
