import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { assertLinear } from '../../../../test/support/linear.ts'
import type { Role } from '../model/api-key.ts'
import type { Address } from '../model/recipient.ts'
import { settingsSeenBy, withoutPeople } from './masking.ts'

function by(role: Role) {
  return { key: { role }, actor: 'key:x' } as NonNullable<FastifyRequest['caller']>
}

const to = (address: Address, more: object) => withoutPeople({ to: address, ...more }) as Record<string, unknown>

describe('an answer without people', () => {
  const written: [string, Address, string, string][] = [
    ['an email', { email: 'ada@example.com' }, 'ada@example.com', 'a***@example.com'],
    ['an email with a percent sign', { email: 'a%b@example.com' }, 'a%25b@example.com', 'a***@example.com'],
    ['an email as a caller wrote it', { email: 'a%b@example.com' }, 'A%B@example.com', 'a***@example.com'],
    ['an email without a domain', { email: 'ada@localhost' }, 'ada@localhost', 'a***@localhost'],
    ['a telephone number', { phone: '+12025550100' }, '+12025550100', '+12***00'],
    ['a telephone number as vendors write it', { phone: '+12025550100' }, '12025550100', '+12***00'],
    ['a device token', { deviceToken: 'abcd:efgh%ijkl' }, 'abcd%3Aefgh%25ijkl', 'abcd***ijkl'],
    ['a URL', { url: 'https://example.com/a%20b' }, 'https%3A//example.com/a%2520b', 'https://example.com/***'],
    [
      'a URL as a caller wrote it',
      { url: 'https://a.example/hook' },
      'https://a.example/hook',
      'https://a.example/***',
    ],
    ['a name', { name: 'Ada Lovelace' }, 'ada lovelace', 'A***'],
  ]
  for (const [what, address, text, shown] of written)
    it(`hides ${what} wherever it is repeated`, () => {
      const seen = to(address, { idempotencyKey: `42:paid:${text}`, attempts: [{ error: `550 <${text}> unknown` }] })

      assert.deepEqual(seen['idempotencyKey'], `42:paid:${shown}`)
      assert.deepEqual(seen['attempts'], [{ error: `550 <${shown}> unknown` }])
    })

  it('takes time that grows with the list of people, and not with its square', () => {
    const person = (i: number) => ({
      name: `${'a'.repeat(95)} ${i}`,
      profileId: 'a'.repeat(150),
      email: `a${i}@x.example`,
    })
    const recipients = Array.from({ length: 3_200 }, (_, i) => person(i))

    assertLinear((size) => withoutPeople({ recipients: recipients.slice(0, size) }), recipients.length, 'masking')
    const [first] = (withoutPeople({ recipients }) as { recipients: { email: string; name: string }[] }).recipients
    assert.deepEqual([first?.email, first?.name], ['a***@x.example', 'a***'])
  })

  it('hides notes of operators, and facts that are called by what may be a name', () => {
    assert.deepEqual(
      to({}, { audit: [{ note: 'Called Anna B.' }], payload: { 'Zebulon Q': { nights: 2 }, nights: 3 } }),
      {
        to: {},
        audit: [{ note: '***' }],
        payload: { '***': { nights: 2 }, nights: 3 },
      },
    )
  })

  it('hides what has the form of an address, whoever’s it is', () => {
    const { lastError } = to({}, { lastError: 'Neither bob@example.org nor +919876543210 nor 919876543210 exists.' })

    assert.equal(lastError, 'Neither b***@example.org nor +91***10 nor 919***10 exists.')
  })

  const personal: [string, string, string][] = [
    ['an email', 'ada@example.com', 'a***@example.com'],
    ['an email as a path writes it', 'ada%40example.com', 'a***@example.com'],
    ['an email in another script', 'jörg@exämple.de', 'j***@exämple.de'],
    ['a telephone number', '+12025550100', '+12***00'],
    ['a telephone number as people write it', '+1 (202) 555-0100', '+1 ***00'],
  ]
  for (const [what, id, shown] of personal)
    it(`hides ${what} that is the id of something`, () => {
      const story = (by: string) => ({
        id: by,
        eventId: by,
        correlationId: by,
        entity: { type: 'guest', id: by },
        to: { userId: by },
        idempotencyKey: `${by}:paid`,
      })

      assert.deepEqual(withoutPeople(story(id)), story(shown))
    })

  const users: [string, string, string][] = [
    ['an email without a domain', 'ada@localhost', 'a***@localhost'],
    ['a telephone number without its plus', '4915112345678', '491***78'],
  ]
  for (const [what, id, shown] of users)
    it(`hides ${what} that is a person’s id, wherever it is repeated`, () => {
      const story = (by: string) => ({
        to: { userId: by },
        recipients: [{ profileId: by }],
        explanation: [{ recipient: by }],
        idempotencyKey: `42:paid:${by}`,
        lastError: `There is no user ${by}.`,
      })

      assert.deepEqual(withoutPeople(story(id)), story(shown))
    })

  it('hides the telephone number that Meta’s message ids hold', () => {
    const providerMessageId = 'wamid.HBgLMTY1MDM4Nzk0MzkVAgARGBI3N0EyQTE5'
    const seen = to({ phone: '+16503879439' }, { providerMessageId, error: `no ${providerMessageId}.` })

    assert.equal(Buffer.from(providerMessageId.slice(6), 'base64').includes('16503879439'), true)
    assert.deepEqual([seen['providerMessageId'], seen['error']], ['wamid.***I3N0EyQTE5', 'no wamid.***I3N0EyQTE5.'])
  })

  it('keeps ids, times, keys and codes', () => {
    const plain = {
      id: '019bc186-0000-7000-8000-000000000000',
      createdAt: '2026-01-15T12:00:00.000Z',
      idempotencyKey: '42@20260115T120000Z:reminder:1767225600000',
      code: '131026',
      to: { userId: 'ada' },
      recipients: [{ profileId: '1000234' }, { profileId: '019bc186-0000-7000-8000-000000000000' }],
      audit: [{ from: 'queued', to: 'sent' }],
      entity: { type: 'booking', id: '4915112345678' },
      lastError: 'The vendor answered 131026 after 3000 ms.',
    }

    assert.deepEqual(withoutPeople(plain), plain)
  })

  it('shows of facts dates, small numbers and truths, and of words nothing', () => {
    const payload = {
      guest: 'Ada',
      on: '2026-03-15',
      at: '2026-03-15T10:00:00+05:30',
      nights: 3,
      price: '120.50',
      isPaid: true,
      phone: 919_876_543_210,
      phones: ['+91 98765 43210', null],
      'ada@example.com': {},
    }

    assert.deepEqual(
      withoutPeople({ event: { payload }, content: { subject: 'Hi Ada', body: 'x', data: { a: 'Ada' } } }),
      {
        event: {
          payload: {
            guest: 'A***',
            on: '2026-03-15',
            at: '2026-03-15T10:00:00+05:30',
            nights: 3,
            price: '120.50',
            isPaid: true,
            phone: '***',
            phones: ['+91***10', null],
            'a***@example.com': {},
          },
        },
        content: { subject: '***', body: '***', data: { a: 'A***' } },
      },
    )
  })

  it('has a lone address masked by its channel, in the words of the provider too', () => {
    const one = {
      channel: 'webhook',
      address: 'https://example.com/hook?key=1',
      error: '410 from https://example.com/hook?key=1',
    }

    assert.deepEqual(withoutPeople({ items: [one] }), {
      items: [{ channel: 'webhook', address: 'https://example.com/***', error: '410 from https://example.com/***' }],
    })
  })

  it('takes a short name for no part of another word', () => {
    assert.equal(to({ name: 'Ali' }, { error: 'Ali is no alibi' })['error'], 'A*** is no alibi')
  })
})

it('shows whoever cannot change an account only the hosts of its URLs, and no secret that slipped in', () => {
  const settings = {
    url: 'https://hooks.example.com/T0/B1?sig=1',
    nested: { list: ['HTTP://example.com/x', 'plain'], apiKey: 'abc' },
  }

  assert.deepEqual(settingsSeenBy(by('operator'), settings), {
    url: 'https://hooks.example.com/***',
    nested: { list: ['HTTP://example.com/***', 'plain'], apiKey: '***' },
  })
  assert.deepEqual(settingsSeenBy(by('admin'), settings), settings)
})
