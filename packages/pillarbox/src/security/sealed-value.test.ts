import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sealWith } from '../../../client/src/seal.ts'
import { createKeyring } from './keyring.ts'
import { createSealedValueOpener, isSealed } from './sealed-value.ts'

const OLD = Buffer.alloc(32, 7)
const NEW = Buffer.alloc(32, 8)

describe('the sealing key', () => {
  it('is the same wherever the master key is, and another for another master key', () => {
    assert.equal(createSealedValueOpener(OLD).sealingKey, createSealedValueOpener(Buffer.alloc(32, 7)).sealingKey)
    assert.notEqual(createSealedValueOpener(OLD).sealingKey, createSealedValueOpener(NEW).sealingKey)
  })

  it('keeps its form, because hosts have it in their settings', () => {
    assert.equal(
      createSealedValueOpener(OLD).sealingKey,
      'sealing-v1.9cb4c44e.qcLWBIbKLT8QoMujJPtnu8nb2Agt1_elisERs-113mI',
    )
  })

  it('holds nothing of the master key', () => {
    const { sealingKey } = createSealedValueOpener(OLD)

    assert.ok(!Buffer.from(sealingKey.split('.').at(-1) ?? '', 'base64url').equals(OLD))
  })
})

describe('opening what a host sealed', () => {
  it('still works for a former master key, while new values are sealed with the new one', () => {
    const sealed = sealWith(createSealedValueOpener(OLD).sealingKey)('secret').$sealed
    const rotated = createSealedValueOpener(createKeyring(NEW, [OLD]))

    assert.deepEqual(rotated.open(sealed, 'eventhub'), { value: 'secret' })
    assert.equal(rotated.sealingKey, createSealedValueOpener(NEW).sealingKey)
  })

  it('under another master key names both sealing keys', () => {
    const [, oldId = ''] = createSealedValueOpener(OLD).sealingKey.split('.')
    const [, newId = ''] = createSealedValueOpener(NEW).sealingKey.split('.')
    const sealed = sealWith(createSealedValueOpener(OLD).sealingKey)('secret').$sealed

    const opened = createSealedValueOpener(NEW).open(sealed, 'eventhub')

    assert.ok('error' in opened && opened.error.includes(oldId) && opened.error.includes(newId))
  })

  for (const text of ['', 'v1', 'v1.00000000.AA.AA.AA', 'v2.a.b.c.d', 'secret', `v1.${'.'.repeat(100)}`])
    it(`refuses ${JSON.stringify(text.slice(0, 24))}, which is no sealed value`, () => {
      const opened = createSealedValueOpener(OLD).open(text, 'eventhub')

      assert.ok('error' in opened && opened.error.includes('is not a sealed value'))
    })

  it('refuses an ephemeral key of another length as no sealed value', () => {
    const opener = createSealedValueOpener(OLD)
    const [version, id, , ...rest] = sealWith(opener.sealingKey)('secret').$sealed.split('.')

    for (const length of [31, 33]) {
      const ephemeral = Buffer.alloc(length, 9).toString('base64url')
      const opened = opener.open([version, id, ephemeral, ...rest].join('.'), 'eventhub')

      assert.ok('error' in opened && opened.error.includes('is not a sealed value'))
    }
  })

  it('refuses an ephemeral key that gives everybody the same secret', () => {
    const opener = createSealedValueOpener(OLD)
    const [version, id, , ...rest] = sealWith(opener.sealingKey)('secret').$sealed.split('.')
    const zero = Buffer.alloc(32).toString('base64url')

    assert.ok('error' in opener.open([version, id, zero, ...rest].join('.'), 'eventhub'))
  })
})

describe('a sealed value', () => {
  it('is an object of one text and nothing else', () => {
    assert.ok(isSealed({ $sealed: 'v1.x' }))
    for (const value of [null, 'v1.x', [], { $sealed: 1 }, { $sealed: 'v1.x', more: 1 }, { sealed: 'v1.x' }])
      assert.ok(!isSealed(value), JSON.stringify(value))
  })
})
