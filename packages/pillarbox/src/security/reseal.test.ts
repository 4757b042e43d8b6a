import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { sealWith } from '../../../client/src/seal.ts'
import { openAccountSecrets, sealAccountSecrets } from './account-secrets.ts'
import { createKeyring } from './keyring.ts'
import { createPayloadSeal } from './payload-seal.ts'
import { createResealer } from './reseal.ts'
import { createSeal } from './seal.ts'

const OLD = Buffer.alloc(32, 7)
const NEW = Buffer.alloc(32, 8)
const OTHER = Buffer.alloc(32, 9)
const reseal = createResealer(createKeyring(NEW, [OLD]))
const before = createPayloadSeal(OLD)
/** What is left when the old key is gone. */
const after = createPayloadSeal(NEW)

const EVENT = { tenantId: 'acme', id: 'event-1' }
const payloadRow = (payload: unknown) => ({ ...EVENT, text: JSON.stringify(payload) })

/** The payload of a resealed row, opened with the new key alone. */
function openedPayload(text: string | null): Record<string, unknown> {
  const payload = JSON.parse(text ?? assert.fail('nothing was resealed')) as Record<string, unknown>
  const opened = after.openPayload({ ...EVENT, payload }, [])
  return 'problem' in opened ? assert.fail(JSON.stringify(opened.problem)) : opened.payload
}

describe('sealing anew', () => {
  it('brings an account’s secrets under the new key', () => {
    const account = { id: 'a1', tenantId: 'acme' }
    const { sealedSecrets } = sealAccountSecrets(createSeal(OLD), account, { password: 'hunter2' })

    const { text, problem } = reseal('accounts', { ...account, text: sealedSecrets ?? '' })

    assert.equal(problem, null)
    assert.deepEqual(openAccountSecrets(createSeal(NEW), { ...account, sealedSecrets: text }), { password: 'hunter2' })
  })

  it('brings a notification’s content under the new key', () => {
    const place = { tenantId: 'acme', notificationId: 'n1' }
    const content = { subject: null, body: 'secret words', data: {} }
    const sealed = before.sealContent(content, ['secret'], place)

    const { text } = reseal('notifications', { tenantId: 'acme', id: 'n1', text: JSON.stringify(sealed) })

    const opened = after.openContent(JSON.parse(text ?? '') as { sealed: string }, place)
    assert.deepEqual(opened, { content, secrets: ['secret'] })
  })

  it('brings a message of an inbox under the new key', () => {
    const place = { tenantId: 'acme', table: 'inbox_messages', rowId: 'm1' }

    const { text } = reseal('inbox_messages', {
      tenantId: 'acme',
      id: 'm1',
      text: createSeal(OLD).seal('words', place),
    })

    assert.equal(createSeal(NEW).open(text ?? '', place), 'words')
  })

  it('brings every sealed field of a payload under the new key, whoever sealed it', () => {
    const payload = before.sealFields({ ...EVENT, payload: { pin: 4711, guests: [{ token: 'a' }, { token: 'b' }] } }, [
      'pin',
      'guests[].token',
    ])
    const byHost = sealWith(before.sealingKey, { tenantId: 'acme' })({ door: 'code' })

    const { text, byHosts, problem } = reseal('events', payloadRow({ ...payload, byHost, name: 'Guest' }))

    assert.deepEqual([byHosts, problem], [1, null])
    assert.deepEqual(openedPayload(text), {
      pin: 4711,
      guests: [{ token: 'a' }, { token: 'b' }],
      byHost: { door: 'code' },
      name: 'Guest',
    })
  })

  it('leaves alone what is under the new key, whoever sealed it', () => {
    const place = { tenantId: 'acme', table: 'accounts', rowId: 'a1' }
    const untouched = { text: null, byHosts: 0, problem: null }
    const payload = after.sealFields({ ...EVENT, payload: { token: 'a' } }, ['token'])

    assert.deepEqual(
      reseal('accounts', { tenantId: 'acme', id: 'a1', text: createSeal(NEW).seal('x', place) }),
      untouched,
    )
    assert.deepEqual(reseal('events', payloadRow({ ...payload, byHost: sealWith(after.sealingKey)('x') })), untouched)
  })

  it('keeps every byte of a payload beside the sealed texts', () => {
    const spaces = fc.stringMatching(/^[ \n\t]{0,3}$/)

    fc.assert(
      fc.property(fc.jsonValue(), spaces, spaces, (value, one, two) => {
        const token = before.sealFields({ ...EVENT, payload: { token: 'x' } }, ['token'])['token'] as {
          $sealed: string
        }
        const around = [
          `${one}{"big":12345678901234567890.10,"a":${JSON.stringify(value)},${one}"$sealed":"x","t":{${two}"$sealed"${one}:${two}"`,
          `"${one}}}${two}`,
        ] as const

        const { text } = reseal('events', { ...EVENT, text: around.join(token.$sealed) })

        assert.ok(text?.startsWith(around[0]) && text.endsWith(around[1]))
        assert.equal(openedPayload(text)['t'], 'x')
      }),
    )
  })

  it('also reads a sealed text that is escaped in a way of its own', () => {
    const { token } = before.sealFields({ ...EVENT, payload: { token: 'x' } }, ['token'])
    const text = JSON.stringify({ token }).replace('s1.', 's1\\u002e')

    assert.deepEqual(openedPayload(reseal('events', { ...EVENT, text }).text), { token: 'x' })
  })

  it('says what cannot be opened, leaves it as it is, and seals the rest anew', () => {
    const { token } = before.sealFields({ ...EVENT, payload: { token: 'x' } }, ['token'])
    const foreign = sealWith(createPayloadSeal(OTHER).sealingKey)('y')
    const row = payloadRow({ token, foreign, none: { $sealed: 'nonsense' } })

    const { text, problem } = reseal('events', row)

    assert.match(problem ?? '', /belongs to none of these keys/)
    const payload = JSON.parse(text ?? '') as Record<string, unknown>
    assert.deepEqual([payload['foreign'], payload['none']], [foreign, { $sealed: 'nonsense' }])
    assert.deepEqual(openedPayload(JSON.stringify({ token: payload['token'] })), { token: 'x' })
  })

  it('says that a text was moved, damaged, or sealed under a key that is missing', () => {
    const place = { tenantId: 'acme', table: 'accounts', rowId: 'a1' }
    const problemOf = (text: string) => reseal('accounts', { tenantId: 'acme', id: 'a1', text }).problem ?? ''

    assert.match(problemOf(createSeal(OLD).seal('x', { ...place, rowId: 'a2' })), /does not belong where it stands/)
    assert.match(problemOf('nonsense'), /does not have the form/)
    assert.match(problemOf(createSeal(OTHER).seal('x', place)), new RegExp(`master key ${createSeal(OTHER).keyId}`))
    assert.match(reseal('events', { ...EVENT, text: `${'['.repeat(200_000)}` }).problem ?? '', /./)
    assert.match(reseal('notifications', { ...EVENT, text: 'null' }).problem ?? '', /./)
  })
})
