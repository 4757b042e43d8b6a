import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dateFieldsOf, localTarget, mayHavePath, pathsOf } from './schema-paths.ts'

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

for (const path of [
  'bookingid',
  'guest.fax',
  'rooms[].fax',
  'guest[].phone',
  'pair[].x',
  'card',
  'beds[].phone',
  'bookingId.x',
])
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

const object = (properties: Record<string, unknown>, more = {}) => ({ type: 'object', properties, ...more })

describe('the dates of a payload schema', () => {
  it('are the fields of format date and date-time, wherever they stand', () => {
    const schema = object({
      checkin: { type: 'string', format: 'date' },
      name: { type: 'string' },
      trip: object({ departure: { type: 'string', format: 'date-time' } }),
      rooms: { type: 'array', items: object({ from: { format: 'date' } }) },
      holidays: { type: 'array', items: { format: 'date' } },
      mail: { format: 'email' },
    })

    assert.deepEqual(
      [...(dateFieldsOf(schema) ?? [])],
      [
        ['checkin', 'date'],
        ['trip.departure', 'date-time'],
        ['rooms[].from', 'date'],
        ['holidays[]', 'date'],
      ],
    )
  })

  it('are found behind references and alternatives', () => {
    const schema = object(
      {
        a: { $ref: '#/$defs/day' },
        b: { type: 'string', anyOf: [{ format: 'date' }, { format: 'date-time' }] },
        c: { allOf: [{ oneOf: [{ $ref: '#/$defs/day' }, { type: 'null' }] }] },
      },
      { $defs: { day: { type: 'string', format: 'date' } } },
    )

    assert.deepEqual(
      [...(dateFieldsOf(schema) ?? [])],
      [
        ['a', 'date'],
        ['b', 'date'],
        ['c', 'date'],
      ],
    )
  })

  it('are unknown without a schema', () => {
    assert.equal(dateFieldsOf(null), null)
    assert.equal(pathsOf(null), null)
  })

  it('are worked out once for a schema', () => {
    const schema = object({ a: { format: 'date' } })

    assert.equal(dateFieldsOf(schema), dateFieldsOf(schema))
  })
})

describe('the paths of a payload schema', () => {
  it('are all that it names, through objects and lists', () => {
    const schema = object({
      guest: object({ name: { type: 'string' }, phone: { type: 'string' } }),
      passengers: { type: 'array', items: object({ name: { type: 'string' } }) },
      tags: { type: 'array', items: { type: 'string' } },
    })

    assert.deepEqual(pathsOf(schema), ['guest', 'guest.name', 'guest.phone', 'passengers', 'passengers[].name', 'tags'])
  })

  it('are open below an object of which nothing is said, and where others are welcome', () => {
    const schema = object({ meta: { type: 'object' }, labels: object({ a: {} }, { additionalProperties: true }) })

    assert.deepEqual(pathsOf(schema), ['meta', 'meta.*', 'labels', 'labels.*', 'labels.a', 'labels.a.*'])
    assert.deepEqual(pathsOf({}), ['*'])
  })

  it('are open where names are welcome by their pattern, or by one of the schemas that apply together', () => {
    const byPattern = object({ a: { type: 'string' } }, { patternProperties: { '^x-': { type: 'string' } } })
    const together = { allOf: [object({ a: { type: 'string' } }), { type: 'object', additionalProperties: true }] }

    for (const schema of [byPattern, together]) {
      assert.deepEqual(pathsOf(schema), ['*', 'a'])
      assert.equal(mayHavePath(schema, 'x-b'), true)
    }
    assert.equal(mayHavePath(object({ a: { type: 'string' } }), 'x-b'), false)
  })

  it('come to an end in a schema that goes round in circles, however hostile', () => {
    const node: Record<string, unknown> = { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }], properties: {} }
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      (node['properties'] as Record<string, unknown>)[name] = { $ref: '#/$defs/a' }

    const paths = pathsOf({ $ref: '#/$defs/a', $defs: { a: node } })

    assert.ok(paths && paths.length > 5 && paths.length <= 20_000)
  })

  it('are open where a schema makes no sense', () => {
    assert.deepEqual(pathsOf({ type: 'object', properties: 'none' }), [])
    assert.deepEqual(pathsOf({ $ref: '#/nowhere', properties: { a: true, b: 1 } }), ['a', 'a.*', 'b', 'b.*'])
  })
})
