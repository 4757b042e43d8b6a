import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { sealWith } from '../../../client/src/seal.ts'
import type { Content } from '../model/notification.ts'
import { createKeyring } from './keyring.ts'
import { createPayloadSeal, isSealedContent, type PayloadRef } from './payload-seal.ts'

const OLD = Buffer.alloc(32, 7)
const NEW = Buffer.alloc(32, 8)
const seal = createPayloadSeal(OLD)
const CANARY = 'rsvp-canary-1'

const eventOf = (payload: Record<string, unknown>, changes: Partial<PayloadRef> = {}): PayloadRef => ({
  tenantId: 'eventhub',
  id: 'event-1',
  payload,
  ...changes,
})

/** Sealed and opened again in the same event. */
function roundTrip(payload: Record<string, unknown>, paths: string[]) {
  const sealed = seal.sealFields(eventOf(payload), paths)
  const opened = seal.openPayload(eventOf(sealed), paths)
  return { sealed, opened: 'problem' in opened ? assert.fail(JSON.stringify(opened.problem)) : opened }
}

describe('sealing the secret fields of a payload', () => {
  for (const [path, payload] of [
    ['token', { token: CANARY, name: 'Guest' }],
    ['rsvp.token', { rsvp: { token: CANARY, until: '2026-01-01' } }],
    ['guests[].token', { guests: [{ token: CANARY }, { name: 'no token' }, { token: 'rsvp-canary-2' }] }],
    ['tables[].guests[].token', { tables: [{ guests: [{ token: CANARY }] }, { guests: [] }, {}] }],
    ['tokens[]', { tokens: [CANARY, 'rsvp-canary-2'] }],
    ['tokens', { tokens: [CANARY, 'rsvp-canary-2'] }],
    ['rsvp', { rsvp: { token: CANARY, code: 42 } }],
    ['guests.token', { guests: [{ token: CANARY }] }],
    ['rsvpToken', { RSVPToken: CANARY }],
    ['rsvpToken', { rsvp: { token: CANARY } }],
    ['rsvp.token', { rsvpToken: CANARY }],
    ['rsvp.token', { 'rsvp.token': CANARY }],
    ['guests[].rsvp.token', { guests: [{ rsvpToken: CANARY }] }],
  ] as [string, Record<string, unknown>][])
    it(`leaves nothing at ${path} in clear, and opens to the same payload`, () => {
      const { sealed, opened } = roundTrip(payload, [path])

      assert.ok(!JSON.stringify(sealed).includes('rsvp-canary'))
      assert.ok(seal.hasSealed(sealed))
      assert.deepEqual(opened.payload, payload)
      assert.ok(opened.secrets.includes(CANARY))
      assert.deepEqual(opened.inClear, [])
    })

  it('opens to the same payload, whatever stands in it', () => {
    const payloads = fc.dictionary(fc.constantFrom('a', 'b', 'token', 'list'), fc.jsonValue({ maxDepth: 3 }))

    fc.assert(
      fc.property(payloads, (payload) => {
        const plain = JSON.parse(JSON.stringify(payload)) as Record<string, unknown>
        const { opened } = roundTrip(plain, ['token', 'list[].token', 'a.b', 'b'])

        assert.deepEqual(opened.payload, plain)
      }),
    )
  })

  it('leaves the given payload, absent fields, null and what is sealed already alone', () => {
    const byHost = sealWith(seal.sealingKey)(CANARY)
    const payload = { token: byHost, none: null, name: 'Guest' }
    const before = structuredClone(payload)

    const sealed = seal.sealFields(eventOf(payload), ['token', 'none', 'absent', 'name.first'])

    assert.deepEqual(payload, before)
    assert.deepEqual(sealed, before)
  })

  it('makes different texts of equal values', () => {
    const { a, b } = seal.sealFields(eventOf({ a: CANARY, b: CANARY }), ['a', 'b'])

    assert.notDeepEqual(a, b)
  })
})

describe('opening a payload', () => {
  it('replaces what a host sealed, at any depth, secret path or not', () => {
    const byHost = sealWith(seal.sealingKey, { tenantId: 'eventhub' })
    const payload = { guest: { links: [{ token: byHost(CANARY) }] }, pin: byHost(4711) }

    const opened = seal.openPayload(eventOf(payload), [])

    assert.ok('payload' in opened)
    assert.deepEqual(opened.payload, { guest: { links: [{ token: CANARY }] }, pin: 4711 })
    assert.deepEqual(opened.secrets.toSorted(), ['4711', CANARY])
  })

  it('names the secret fields that stand in clear', () => {
    const opened = seal.openPayload(eventOf({ guests: [{ token: CANARY }] }), ['guests[].token'])

    assert.ok('payload' in opened)
    assert.deepEqual([opened.inClear, opened.secrets], [['/guests/0/token'], [CANARY]])
  })

  it('answers the payload itself where nothing is sealed', () => {
    const payload = { name: 'Guest' }
    const opened = seal.openPayload(eventOf(payload), ['token'])

    assert.ok('payload' in opened)
    assert.equal(opened.payload, payload)
    assert.deepEqual([opened.secrets, opened.inClear], [[], []])
  })

  it('does not look into what it opened', () => {
    const { opened } = roundTrip({ token: { $sealed: 'my own text', beside: 1 }, list: [{ $sealed: 7 }] }, ['token'])

    assert.deepEqual(opened.payload, { token: { $sealed: 'my own text', beside: 1 }, list: [{ $sealed: 7 }] })
  })

  it('says where a value stands that cannot be opened, and never throws', () => {
    for (const bad of ['', 'nonsense', 's1.00000000.AAAA', 's1.zz', 'v1.a.b.c.d']) {
      const opened = seal.openPayload(eventOf({ guests: [{ 'a/b': { $sealed: bad } }] }), [])

      assert.ok('problem' in opened, bad)
      assert.equal(opened.problem.path, '/guests/0/a~1b')
    }
  })

  it('says where a value stood that was removed once it was no longer needed', () => {
    const opened = seal.openPayload(eventOf({ rsvp: { token: { $scrubbed: true } } }), ['rsvp.token'])

    assert.ok('problem' in opened)
    assert.deepEqual([opened.problem.path, opened.isScrubbed], ['/rsvp/token', true])
    assert.ok(!seal.hasSealed({ token: { $scrubbed: true } }))
  })

  it('answers a problem for a payload too deep to look through', () => {
    let payload: Record<string, unknown> = {}
    for (let level = 0; level < 20_000; level += 1) payload = { inner: payload }

    const opened = seal.openPayload(eventOf(payload), [])

    assert.ok('problem' in opened)
    assert.match(opened.problem.message, /deeper/)
  })

  it('does not open a value in another event or tenant than it was sealed for', () => {
    const sealed = seal.sealFields(eventOf({ token: CANARY }), ['token'])

    assert.ok('problem' in seal.openPayload(eventOf(sealed, { id: 'event-2' }), []))
    assert.ok('problem' in seal.openPayload(eventOf(sealed, { tenantId: 'atlas' }), []))
  })

  it('opens in an event of another id once it was sealed for that one, and no longer opens what it cannot', () => {
    const host = sealWith(seal.sealingKey)('by-host')
    const payload = {
      token: CANARY,
      deep: [{ pin: 4711 }],
      host,
      name: 'Guest',
      foreign: { $sealed: 's1.what.is.this' },
    }
    const sealed = seal.sealFields(eventOf(payload), ['token', 'deep[].pin'])

    const moved = seal.sealedFor('event-2', eventOf(sealed))

    assert.doesNotMatch(JSON.stringify(moved), /canary|4711|by-host/)
    assert.deepEqual([moved['host'], moved['foreign']], [host, payload.foreign])
    const { foreign: _, ...readable } = moved
    const opened = seal.openPayload(eventOf(readable, { id: 'event-2' }), [])
    const { foreign: __, ...clear } = payload
    assert.deepEqual('payload' in opened && opened.payload, { ...clear, host: 'by-host' })
    assert.ok('problem' in seal.openPayload(eventOf(readable), []))
  })

  it('under another master key names the key that is missing, and works with it as a former key', () => {
    const sealed = seal.sealFields(eventOf({ token: CANARY }), ['token'])
    const [, keyId = ''] = String((sealed['token'] as { $sealed: string }).$sealed).split('.')

    const opened = createPayloadSeal(NEW).openPayload(eventOf(sealed), [])

    assert.ok('problem' in opened && opened.problem.message.includes(keyId))
    assert.ok('payload' in createPayloadSeal(createKeyring(NEW, [OLD])).openPayload(eventOf(sealed), []))
  })
})

describe('sealed content', () => {
  const content: Content = { subject: 'You are invited', body: `https://x.test/${CANARY}`, data: { token: CANARY } }
  const place = { tenantId: 'eventhub', notificationId: 'n-1' }

  it('shows nothing, and opens for its own notification only', () => {
    const sealed = seal.sealContent(content, [CANARY], place)

    assert.ok(isSealedContent(sealed) && !isSealedContent(content))
    assert.ok(!JSON.stringify(sealed).includes('canary'))
    assert.deepEqual(seal.openContent(sealed, place), { content, secrets: [CANARY] })
    assert.ok('error' in seal.openContent(sealed, { ...place, notificationId: 'n-2' }))
    assert.ok('error' in seal.openContent(sealed, { ...place, tenantId: 'atlas' }))
  })

  it('that cannot be opened answers why, with the key it was sealed under', () => {
    const sealed = seal.sealContent(content, [], place)
    const [, keyId = ''] = sealed.sealed.split('.')

    const opened = createPayloadSeal(NEW).openContent(sealed, place)

    assert.ok('error' in opened && opened.error.includes(keyId))
    assert.ok('error' in seal.openContent({ sealed: 'nonsense' }, place))
  })
})
