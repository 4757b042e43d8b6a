import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FastifyRequest } from 'fastify'
import type { Role } from '../model/api-key.ts'
import type { Address } from '../model/recipient.ts'
import { addressSeenBy, keySeenBy, settingsSeenBy } from './masking.ts'

function by(role: Role) {
  const caller = { key: { role }, actor: 'key:x' } as NonNullable<FastifyRequest['caller']>
  return { request: { caller } as FastifyRequest, caller }
}

describe('an idempotency key that ends with an address', () => {
  const cases: [string, Address, string, string][] = [
    ['an email', { email: 'ada@example.com' }, 'ada@example.com', 'a***@example.com'],
    ['an email with a percent sign', { email: 'a%b@example.com' }, 'a%25b@example.com', 'a***@example.com'],
    ['an email as a caller wrote it', { email: 'a%b@example.com' }, 'A%B@example.com', 'a***@example.com'],
    ['a telephone number', { phone: '+12025550100' }, '+12025550100', '+12***00'],
    ['a device token', { deviceToken: 'abcd:efgh%ijkl' }, 'abcd%3Aefgh%25ijkl', 'abcd***ijkl'],
    ['a URL', { url: 'https://example.com/a%20b' }, 'https%3A//example.com/a%2520b', 'https://example.com/***'],
    [
      'a URL as a caller wrote it',
      { url: 'https://example.com/hook' },
      'https://example.com/hook',
      'https://example.com/***',
    ],
  ]
  for (const [what, to, written, shown] of cases)
    it(`hides ${what} from a viewer, and from nobody else`, () => {
      const idempotencyKey = `42:paid:${written}`

      assert.equal(keySeenBy(by('viewer').request, { idempotencyKey, to }), `42:paid:${shown}`)
      assert.equal(keySeenBy(by('operator').request, { idempotencyKey, to }), idempotencyKey)
    })

  it('shows a user’s id, which is no address', () => {
    const one = { idempotencyKey: '42:paid:ada', to: { userId: 'ada' } }

    assert.equal(keySeenBy(by('viewer').request, one), '42:paid:ada')
  })
})

it('hides a suppressed URL from a viewer, also in the provider’s words', () => {
  const one = {
    channel: 'webhook' as const,
    address: 'https://example.com/hook?key=1',
    error: '410 from https://example.com/hook?key=1',
  }

  assert.deepEqual(addressSeenBy(by('viewer').request, one), {
    channel: 'webhook',
    address: 'https://example.com/***',
    error: '410 from https://example.com/***',
  })
})

it('shows whoever cannot change an account only the hosts of its URLs, and no secret that slipped in', () => {
  const settings = {
    url: 'https://hooks.example.com/T0/B1?sig=1',
    nested: { list: ['HTTP://example.com/x', 'plain'], apiKey: 'abc' },
  }

  assert.deepEqual(settingsSeenBy(by('operator').caller, settings), {
    url: 'https://hooks.example.com/***',
    nested: { list: ['HTTP://example.com/***', 'plain'], apiKey: '***' },
  })
  assert.deepEqual(settingsSeenBy(by('admin').caller, settings), settings)
})
