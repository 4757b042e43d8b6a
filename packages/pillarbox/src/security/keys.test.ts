import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hashKey, makeKey, parseBearer } from './keys.ts'

describe('API keys', () => {
  it('carry 256 random bits behind a recognisable prefix', () => {
    const keys = new Set(Array.from({ length: 1_000 }, makeKey))

    assert.equal(keys.size, 1_000)
    for (const key of keys) {
      assert.match(key, /^pbx_[A-Za-z0-9_-]{43}$/)
      assert.equal(Buffer.from(key.slice(4), 'base64url').length, 32)
    }
  })

  it('are stored as something the key cannot be read from', () => {
    const key = makeKey()

    assert.match(hashKey(key), /^[0-9a-f]{64}$/)
    assert.equal(hashKey(key), hashKey(key))
    assert.notEqual(hashKey(key), hashKey(makeKey()))
    assert.equal(hashKey('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  })

  for (const [header, token] of [
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER   abc ', 'abc'],
    ['Bearer an-operator’s', null],
    ['Bearer', null],
    ['Bearer ', null],
    ['Bearer a b', null],
    ['Bearer a\tb', null],
    ['Basic abc', null],
    ['abc', null],
    ['', null],
    [undefined, null],
    [`Bearer ${'a'.repeat(512)}`, 'a'.repeat(512)],
    [`Bearer ${'a'.repeat(513)}`, null],
  ] as const)
    it(`reads ${JSON.stringify(header)?.slice(0, 40)} as ${token === null ? 'no token' : 'a token'}`, () => {
      assert.equal(parseBearer(header), token)
    })
})
