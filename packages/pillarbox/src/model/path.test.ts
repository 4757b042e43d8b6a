import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { textOf, valueAt } from './path.ts'

describe('a dot path', () => {
  it('leads to a value', () => {
    assert.equal(valueAt({ a: { b: { c: 1 } } }, 'a.b.c'), 1)
    assert.deepEqual(valueAt({ a: [1] }, 'a'), [1])
  })

  it('leads nowhere where a step is missing or no object', () => {
    for (const payload of [null, undefined, 'text', 7, {}, { a: null }, { a: 'text' }])
      assert.equal(valueAt(payload, 'a.b'), undefined)
  })

  it('never leaves the payload', () => {
    for (const path of ['constructor', 'a.constructor.name', '__proto__', 'a.__proto__.b', 'toString'])
      assert.equal(valueAt({ a: {} }, path), undefined)
  })
})

describe('a field as text', () => {
  it('is trimmed; a number is its digits', () => {
    assert.equal(textOf('  a b\n'), 'a b')
    assert.equal(textOf(0), '0')
  })

  it('is nothing where it is blank or something else', () => {
    for (const value of ['', ' \t', null, undefined, true, {}, ['a'], () => 'a']) assert.equal(textOf(value), null)
  })
})
