import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isPillarboxError } from '../../model/errors.ts'
import { decodeCursor, encodeCursor, pageOf } from './cursor.ts'

describe('a cursor', () => {
  it('gives back the key it was made of', () => {
    const key = ['tenant', 'an id / with "anything" in it: ü']

    assert.deepEqual(decodeCursor(encodeCursor(key), 2), key)
    assert.match(encodeCursor(key), /^[\w-]+$/)
  })

  const bad = {
    'no base64': '%%%',
    'no JSON': Buffer.from('oops').toString('base64url'),
    'no list': Buffer.from('"a"').toString('base64url'),
    'a list of the wrong length': encodeCursor(['a', 'b']),
    'a list of no texts': Buffer.from('[1]').toString('base64url'),
    'a text no database takes': encodeCursor(['a\0b']),
    nothing: '',
  }
  for (const [what, cursor] of Object.entries(bad))
    it(`that is ${what} is an invalid query`, () => {
      assert.throws(
        () => decodeCursor(cursor, 1),
        (error) => isPillarboxError(error, 'invalid_query') && error.details.errors?.[0]?.path === 'cursor',
      )
    })
})

describe('a page', () => {
  const keyOf = (item: string): string[] => [item]

  it('has a next one exactly when there was a row more than asked for', () => {
    assert.deepEqual(pageOf(['a', 'b'], 2, keyOf), { items: ['a', 'b'], nextCursor: null })
    assert.deepEqual(pageOf(['a', 'b', 'c'], 2, keyOf), { items: ['a', 'b'], nextCursor: encodeCursor(['b']) })
    assert.deepEqual(pageOf([], 2, keyOf), { items: [], nextCursor: null })
  })
})
