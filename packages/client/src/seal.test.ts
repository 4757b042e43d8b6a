import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createSealedValueOpener } from '../../pillarbox/src/security/sealed-value.ts'
import { validEvent } from './check-event.ts'
import { SealError, sealWith } from './seal.ts'

const server = createSealedValueOpener(Buffer.alloc(32, 7))

function openedBy(sealed: { $sealed: string }, tenantId = 'eventhub', opener = server): unknown {
  const opened = opener.open(sealed.$sealed, tenantId)
  return 'value' in opened ? opened.value : assert.fail(opened.error)
}

describe('sealWith', () => {
  it('seals any value that JSON can carry so that the server reads the same one', () => {
    const seal = sealWith(server.sealingKey)
    const values = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.integer(),
      fc.boolean(),
      fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string({ unit: 'grapheme' })),
    )

    fc.assert(
      fc.property(values, (value) => assert.deepEqual(openedBy(seal(value)), JSON.parse(JSON.stringify(value)))),
      { numRuns: 200 },
    )
    assert.deepEqual(openedBy(seal({ token: 'a', at: new Date(0) })), { token: 'a', at: '1970-01-01T00:00:00.000Z' })
  })

  it('makes a text that shows nothing of the value and differs each time', () => {
    const seal = sealWith(server.sealingKey)
    const texts = new Set(Array.from({ length: 100 }, () => seal('rsvp-canary').$sealed))

    assert.equal(texts.size, 100)
    for (const text of texts) {
      assert.match(text, /^v1\.[0-9a-f]{8}(\.[\w-]+){3}$/)
      assert.ok(!Buffer.from(text.split('.').join(''), 'base64url').includes('rsvp-canary'))
    }
  })

  it('gives an event that publish takes', () => {
    const sealed = sealWith(server.sealingKey)('rsvp-canary')
    const event = {
      tenantId: 'eventhub',
      type: 'InvitationSent',
      entity: { type: 'invitation', id: '77' },
      payload: { rsvpToken: sealed, guests: [{ token: sealed }] },
    }

    const read = validEvent(event, () => 'made-id')

    assert.deepEqual(read.payload, event.payload)
  })

  it('for one tenant opens in no other’s events; for none in any', () => {
    const forOne = sealWith(server.sealingKey, { tenantId: 'eventhub' })('secret')
    const forAny = sealWith(server.sealingKey)('secret')

    assert.equal(openedBy(forOne, 'eventhub'), 'secret')
    assert.ok('error' in server.open(forOne.$sealed, 'atlas'))
    assert.equal(openedBy(forAny, 'atlas'), 'secret')
  })

  it('makes a text of which no byte can be changed', () => {
    const [version, id, ...parts] = sealWith(server.sealingKey)('secret').$sealed.split('.')

    for (const [index, part] of parts.entries()) {
      const bytes = Buffer.from(part, 'base64url')
      for (let at = 0; at < bytes.length; at += 1) {
        const changed = Buffer.from(bytes)
        changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
        const text = [version, id, ...parts.with(index, changed.toString('base64url'))].join('.')
        assert.ok('error' in server.open(text, 'eventhub'), `part ${index}, byte ${at}`)
      }
    }
  })

  for (const [what, key] of Object.entries({
    'nothing at all': undefined,
    'an empty text': '',
    'an API key': 'pbx_3mJr7AoUXx2Wqd',
    'a sealed value': sealWith(server.sealingKey)('x').$sealed,
    'half a key': server.sealingKey.slice(0, -10),
    'a mistyped key': server.sealingKey.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    'a key with something behind it': `${server.sealingKey}.x`,
  }))
    it(`refuses ${what} as a key, and says where to get one`, () => {
      assert.throws(
        () => sealWith(key as string),
        (error) => error instanceof SealError && error.message.includes('pillarbox keys sealing'),
      )
    })

  it('takes a key with the line break that a file has', () => {
    assert.equal(openedBy(sealWith(`${server.sealingKey}\n`)('secret')), 'secret')
  })

  for (const [what, value] of Object.entries({
    undefined,
    null: null,
    'not a number': Number.NaN,
    'a function': () => 'rsvp-canary',
    'a class instance': new Map([['rsvp-canary', 1]]),
    'a bigint': 1n,
    'half a surrogate pair': 'rsvp-canary \ud800',
  }))
    it(`refuses ${what} as a value without repeating it`, () => {
      assert.throws(
        () => sealWith(server.sealingKey)(value as string),
        (error) => error instanceof SealError && !error.message.includes('rsvp-canary'),
      )
    })
})
