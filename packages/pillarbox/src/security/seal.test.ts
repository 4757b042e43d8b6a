import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isPillarboxError } from '../model/errors.ts'
import { createKeyring } from './keyring.ts'
import { createSeal, type SealedPlace } from './seal.ts'

const MASTER = Buffer.alloc(32, 7)
const OTHER = Buffer.alloc(32, 8)
const PLACE: SealedPlace = { tenantId: 'acme', table: 'accounts', rowId: 'a1' }

describe('sealed secrets', () => {
  it('open to the same text where they were sealed', () => {
    const seal = createSeal(MASTER)

    for (const plain of ['', 'secret', '{"password":"pä$$wörd 🔑"}', 'x'.repeat(100_000)])
      assert.equal(seal.open(seal.seal(plain, PLACE), PLACE), plain)
  })

  it('never show the text, and differ each time', () => {
    const seal = createSeal(MASTER)
    const sealed = new Set(Array.from({ length: 1_000 }, () => seal.seal('canary', PLACE)))

    assert.equal(sealed.size, 1_000)
    for (const text of sealed) assert.ok(!text.includes('canary') && text.startsWith(`s1.${seal.keyId}.`))
  })

  for (const [moved, place] of Object.entries({
    'another tenant': { ...PLACE, tenantId: 'other' },
    'another table': { ...PLACE, table: 'events' },
    'another row': { ...PLACE, rowId: 'a2' },
    'a place whose parts join to the same text': { tenantId: 'acme', table: 'account', rowId: 'sa1' },
  }))
    it(`do not open in ${moved}`, () => {
      const seal = createSeal(MASTER)
      const sealed = seal.seal('secret', PLACE)

      assert.throws(() => seal.open(sealed, place), isInternal)
    })

  it('do not open once any byte was changed', () => {
    const seal = createSeal(MASTER)
    const [version, id, text = ''] = seal.seal('secret', PLACE).split('.')
    const bytes = Buffer.from(text, 'base64url')

    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(i) ^ 1, i)
      assert.throws(() => seal.open(`${version}.${id}.${changed.toString('base64url')}`, PLACE), isInternal)
    }
  })

  for (const broken of ['', 's1', 's1.', 's2.00000000.AAAA', 's1.zz.AAAA', 'secret', 's1.00000000.AAAA.AAAA'])
    it(`are told apart from ${JSON.stringify(broken)}`, () => {
      assert.throws(() => createSeal(MASTER).open(broken, PLACE), isInternal)
    })

  it('stay readable while the master key is rotated, and are sealed under the new one', () => {
    const old = createSeal(MASTER)
    const rotated = createSeal(createKeyring(OTHER, [MASTER]))

    assert.equal(rotated.open(old.seal('secret', PLACE), PLACE), 'secret')
    assert.ok(rotated.seal('secret', PLACE).startsWith(`s1.${rotated.keyId}.`))
    assert.notEqual(rotated.keyId, old.keyId)
  })

  it('name the master key that is missing', () => {
    const old = createSeal(MASTER)

    assert.throws(() => createSeal(OTHER).open(old.seal('secret', PLACE), PLACE), new RegExp(old.keyId))
  })

  it('refuse a master key of another length', () => {
    assert.throws(() => createSeal(Buffer.alloc(16)), /32 bytes/)
  })
})

function isInternal(error: unknown): boolean {
  return isPillarboxError(error, 'internal')
}
