import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sealWith } from '../../../client/src/seal.ts'
import { createKeyring, keyIdOf } from './keyring.ts'
import { createPayloadSeal } from './payload-seal.ts'
import { createSeal } from './seal.ts'

const OLD = Buffer.alloc(32, 7)
const NEW = Buffer.alloc(32, 8)
const PLACE = { tenantId: 'acme', table: 'accounts', rowId: 'a1' }

describe('a keyring', () => {
  it('begins with the master key, whatever else is on it', () => {
    const ring = createKeyring(NEW, [OLD, NEW])

    assert.equal(ring.currentId, keyIdOf(NEW))
    assert.deepEqual(ring.ids(), [keyIdOf(NEW), keyIdOf(OLD)])
  })

  it('turns to another of its keys, and to no key that it does not have', () => {
    const ring = createKeyring(OLD)

    assert.equal(ring.use(keyIdOf(NEW)), false)
    assert.equal(ring.currentId, keyIdOf(OLD))
    ring.add([NEW])
    assert.equal(ring.use(keyIdOf(NEW)), true)
    assert.equal(ring.currentId, keyIdOf(NEW))
  })

  it('takes everything that seals along when it turns: what was sealed before still opens', () => {
    const ring = createKeyring(OLD, [NEW])
    const seal = createSeal(ring)
    const payloads = createPayloadSeal(ring)
    const before = { sealed: seal.seal('secret', PLACE), sealingKey: payloads.sealingKey }

    ring.use(keyIdOf(NEW))

    assert.equal(seal.open(before.sealed, PLACE), 'secret')
    assert.ok(seal.seal('secret', PLACE).startsWith(`s1.${keyIdOf(NEW)}.`))
    assert.equal(payloads.sealingKey, createPayloadSeal(NEW).sealingKey)
    const event = { tenantId: 'acme', id: 'e', payload: { token: sealWith(before.sealingKey)('secret') } }
    const opened = payloads.openPayload(event, [])
    assert.ok('payload' in opened && opened.payload['token'] === 'secret')
  })
})
