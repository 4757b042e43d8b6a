import assert from 'node:assert/strict'
import { it } from 'node:test'
import { localTarget, mayHavePath } from './schema-paths.ts'

const GUEST = { type: 'object', properties: { phone: { type: 'string' } } }

const SCHEMA = {
  type: 'object',
  properties: {
    bookingId: { type: 'integer' },
    guest: { $ref: '#/$defs/guest' },
    rooms: { type: 'array', items: { allOf: [{ $ref: '#/$defs/guest' }, { properties: { size: {} } }] } },
    pair: { type: 'array', prefixItems: [GUEST] },
    any: { type: 'object' },
    map: { type: 'object', properties: { a: {} }, additionalProperties: { type: 'string' } },
  },
  anyOf: [{ properties: { cash: {} } }, { required: ['card'] }],
  $defs: { guest: GUEST },
}

for (const path of ['bookingId', 'guest', 'guest.phone', 'rooms[].phone', 'rooms[].size', 'pair[].phone', 'cash'])
  it(`knows ${path}`, () => {
    assert.equal(mayHavePath(SCHEMA, path), true)
  })

for (const path of ['any.thing', 'map.b', 'map.b.c'])
  it(`cannot rule out ${path}`, () => {
    assert.equal(mayHavePath(SCHEMA, path), true)
  })

for (const path of ['bookingid', 'guest.fax', 'rooms[].fax', 'guest[].phone', 'pair[].x', 'card', 'beds[].phone'])
  it(`knows that there is no ${path}`, () => {
    assert.equal(mayHavePath(SCHEMA, path), false)
  })

it('rules out nothing without a schema, or with one that refers to itself without end', () => {
  assert.equal(mayHavePath(null, 'a.b'), true)
  assert.equal(mayHavePath({ allOf: [{ $ref: '#' }] }, 'a'), true)
})

it('follows references within the schema, and no others', () => {
  const root = { $defs: { 'a/b': { x: 1 }, 'c d': { y: 1 } } }

  assert.deepEqual(localTarget(root, '#/$defs/a~1b'), { x: 1 })
  assert.deepEqual(localTarget(root, '#/$defs/c%20d'), { y: 1 })
  assert.equal(localTarget(root, '#'), root)
  for (const ref of ['#/$defs/z', 'http://example.com/#/$defs/a', '#anchor', '#/%E0%A4%A', '#/$defs/toString'])
    assert.equal(localTarget(root, ref), undefined)
})
