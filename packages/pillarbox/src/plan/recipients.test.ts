import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { EventRecipient } from '../model/event.ts'
import { recipientsOf } from './recipients.ts'

const PATHS = [{ phone: 'guest.phone', email: 'guest.email', name: 'guest.name', locale: 'guest.locale' }]

describe('recipients in the payload', () => {
  it('are found along the catalogue’s paths, with every address there is', () => {
    const payload = { guest: { phone: '+15550100', email: 'ada@example.test', name: 'Ada', locale: 'de', secret: 'x' } }

    assert.deepEqual(recipientsOf(payload, PATHS, null), [
      {
        address: { name: 'Ada', email: 'ada@example.test', phone: '+15550100' },
        locale: 'de',
        key: 'ada@example.test',
      },
    ])
  })

  it('are as many as there are sets of paths', () => {
    const payload = { guest: { email: 'guest@example.test' }, host: { email: 'host@example.test' } }

    const found = recipientsOf(payload, [{ email: 'guest.email' }, { email: 'host.email' }], null)

    assert.deepEqual(
      found.map(({ key }) => key),
      ['guest@example.test', 'host@example.test'],
    )
  })

  it('are left out when the payload has no address for them', () => {
    const paths = [{ email: 'guest.email', name: 'guest.name' }, { email: 'host.email' }]

    const found = recipientsOf({ guest: { name: 'Ada' }, host: { email: 'host@example.test' } }, paths, null)

    assert.deepEqual(
      found.map(({ key }) => key),
      ['host@example.test'],
    )
  })

  it('are read from own properties only', () => {
    const payload = Object.create({ email: 'inherited@example.test' }) as Record<string, unknown>
    payload['guest'] = {}

    for (const path of ['email', 'constructor.name', 'guest.constructor.name', '__proto__.email', 'toString.name'])
      assert.deepEqual(recipientsOf(payload, [{ email: path }], null), [], path)
  })

  it('are none where a path leads through something that is no object', () => {
    for (const guest of [null, 'Ada', 7, true, undefined, []])
      assert.deepEqual(recipientsOf({ guest }, PATHS, null), [])
  })

  it('are none where the payload is no object', () => {
    for (const payload of [null, 'text', 7, []])
      assert.deepEqual(recipientsOf(payload as unknown as Record<string, unknown>, PATHS, null), [])
  })
})

describe('what stands in a field', () => {
  const emailOf = (value: unknown): string | undefined =>
    recipientsOf({ value, id: 'p1' }, [{ email: 'value', profileId: 'id' }], null)[0]?.address.email

  it('is trimmed', () => {
    assert.equal(emailOf('  ada@example.test\n'), 'ada@example.test')
  })

  it('counts as missing when it is blank', () => {
    assert.equal(emailOf(''), undefined)
    assert.equal(emailOf(' \t '), undefined)
  })

  it('may be a number', () => {
    const [found] = recipientsOf({ phone: 4915112345678, user: 0 }, [{ phone: 'phone', userId: 'user' }], null)

    assert.deepEqual(found?.address, { phone: '4915112345678', userId: '0' })
  })

  it('counts as missing when it is anything else', () => {
    for (const value of [null, undefined, true, {}, ['ada@example.test'], () => 'ada@example.test'])
      assert.equal(emailOf(value), undefined)
  })
})

describe('the key that tells recipients apart', () => {
  const keyOf = (fields: Record<string, string>): string | undefined => {
    const paths = Object.fromEntries(Object.keys(fields).map((field) => [field, field]))
    return recipientsOf(fields, [paths], null)[0]?.key
  }

  it('is the profile, else the user, else the first address', () => {
    const all = { profileId: 'p', userId: 'u', email: 'e', phone: 't', deviceToken: 'd', url: 'w' }
    const order = ['profileId', 'userId', 'email', 'phone', 'deviceToken', 'url'] as const
    const left: Record<string, string> = { ...all }

    for (const field of order) {
      assert.equal(keyOf(left), all[field])
      delete left[field]
    }
  })

  it('is not the name: a name is no address', () => {
    assert.equal(keyOf({ name: 'Ada', locale: 'en' }), undefined)
  })
})

describe('recipients the event names itself', () => {
  it('take the place of those in the payload', () => {
    const named: EventRecipient[] = [{ email: ' eve@example.test ', locale: 'fr', name: 'Eve' }, { phone: '+15550101' }]

    const found = recipientsOf({ guest: { email: 'ada@example.test' } }, PATHS, named)

    assert.deepEqual(found, [
      { address: { name: 'Eve', email: 'eve@example.test' }, locale: 'fr', key: 'eve@example.test' },
      { address: { phone: '+15550101' }, locale: null, key: '+15550101' },
    ])
  })

  it('are those of the payload when the event’s list is empty', () => {
    assert.equal(recipientsOf({ guest: { email: 'ada@example.test' } }, PATHS, []).length, 1)
  })
})
