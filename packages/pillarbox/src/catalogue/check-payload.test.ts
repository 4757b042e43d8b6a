import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { checkPayload, checkSchema } from './check-payload.ts'

type Json = Record<string, unknown>

const BOOKING = {
  type: 'object',
  required: ['bookingId', 'guest'],
  properties: {
    bookingId: { type: 'integer' },
    guest: { $ref: '#/$defs/guest' },
    rooms: { type: 'array', items: { type: 'object', required: ['size'], properties: { size: { enum: ['s', 'm'] } } } },
    checkin: { type: 'string', format: 'date' },
    at: { type: 'string', format: 'date-time' },
    code: { type: 'string', pattern: '^[A-Z]{3}$' },
  },
  $defs: { guest: { type: 'object', properties: { email: { type: 'string', format: 'email' } } } },
}

const check = (schema: Json, payload: unknown, secrets: string[] = []) =>
  checkPayload({ payload: schema, secrets }, payload)
const paths = (schema: Json, payload: unknown, secrets: string[] = []) =>
  check(schema, payload, secrets).map(({ path }) => path)

describe('a payload', () => {
  it('is right when its schema says so, or there is none', () => {
    const guest = { email: 'a@example.com' }

    assert.deepEqual(
      check(BOOKING, { bookingId: 1, guest, rooms: [{ size: 's' }], checkin: '2026-03-15', more: 1 }),
      [],
    )
    assert.deepEqual(checkPayload({ payload: null, secrets: [] }, { anything: 1 }), [])
  })

  it('is told everything that is wrong with it, by path, without a word of what stands there', () => {
    const payload = {
      bookingId: 'hunter2',
      rooms: [{ size: 's' }, { size: 'hunter2' }, {}],
      checkin: '2026-02-30',
      at: 'hunter2',
      code: 'hunter2',
      guest: { email: 'hunter2' },
    }

    const wrong = check(BOOKING, payload)

    assert.deepEqual(wrong, [
      { path: '/bookingId', message: 'must be integer' },
      { path: '/guest/email', message: 'must be an email address, such as a@example.com' },
      { path: '/rooms/1/size', message: 'must be one of s, m' },
      { path: '/rooms/2/size', message: 'is required' },
      { path: '/checkin', message: 'must be a date such as 2026-03-15' },
      {
        path: '/at',
        message: 'must be an ISO 8601 time, such as 2026-03-15T09:30:00Z, or 2026-03-15T09:30 in the tenant’s zone',
      },
      { path: '/code', message: 'must match ^[A-Z]{3}$' },
    ])
    assert.ok(!JSON.stringify(wrong).includes('hunter2'))
  })

  it('may leave the zone of a date-time to the tenant', () => {
    const schema = { properties: { at: { type: 'string', format: 'date-time' } } }

    for (const at of ['2026-03-15T09:30:00Z', '2026-03-15T09:30+05:30', '2026-03-15T09:30', '2026-03-15T09:30:00'])
      assert.deepEqual(paths(schema, { at }), [], at)
    for (const at of ['2026-03-15', '2026-02-30T09:30', '09:30', 'soon'])
      assert.deepEqual(paths(schema, { at }), ['/at'], at)
  })

  it('that is large is told its first fault, and not a million of them', () => {
    const schema = { properties: { ids: { type: 'array', items: { type: 'string' } } } }

    assert.deepEqual(paths(schema, { ids: Array.from({ length: 100_000 }, () => 1) }), ['/ids/0'])
    assert.equal(paths(schema, { ids: Array.from({ length: 1_000 }, () => 1) }).length, 50)
  })

  it('that is too deep to be looked at is refused, not thrown over', () => {
    let deep: unknown = 1
    for (let i = 0; i < 100_000; i += 1) deep = [deep]
    const schema = { properties: { a: { const: deep } } }

    const [wrong] = check({ properties: { a: { enum: [[1], [2]] } } }, { a: deep })

    assert.equal(wrong?.path, '/a')
    assert.equal(check(schema, { a: deep }).length, 1)
  })

  it('is judged by its own fields only, not by those that every object inherits', () => {
    const schema = { type: 'object', required: ['toString'], properties: { constructor: { type: 'string' } } }

    assert.deepEqual(paths(schema, {}), ['/toString'])
  })

  it('says which choice is open where none fits', () => {
    assert.equal(check({ properties: { a: { not: {} } } }, { a: 1 }).length, 1)
    assert.deepEqual(paths({ oneOf: [{ required: ['a'] }, { required: ['b'] }] }, {}), ['/a', '/b'])
    assert.equal(check({ oneOf: [{}, {}] }, {}).length, 1)
  })

  it('is checked by draft-07 where its schema says so', () => {
    const $schema = 'http://json-schema.org/draft-07/schema#'
    const pair = { type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: false }

    assert.deepEqual(checkSchema({ $schema, properties: { pair } }).problems, [])
    assert.deepEqual(paths({ $schema, properties: { pair } }, { pair: ['a', 'b'] }), ['/pair/1'])
  })

  it('is never thrown over, whatever the two are', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (schema, payload) => {
        for (const { path, message } of check(schema, payload)) assert.ok(path === '' || path.startsWith('/'), message)
      }),
      { numRuns: 200 },
    )
  })
})

describe('a secret field', () => {
  const sealed = { $sealed: 'v1.abc' }
  const schema = {
    type: 'object',
    required: ['token'],
    properties: {
      token: { type: 'string', minLength: 5 },
      other: { type: 'string' },
      guests: { type: 'array', items: { $ref: '#/$defs/guest' } },
      host: { $ref: '#/$defs/guest' },
      codes: { type: 'array', items: { type: 'string' } },
    },
    $defs: { guest: { type: 'object', properties: { pin: { type: 'integer' } }, additionalProperties: false } },
    additionalProperties: false,
  }

  it('may be sealed, whatever its schema', () => {
    assert.deepEqual(paths(schema, { token: sealed }, ['token']), [])
    assert.deepEqual(
      paths(schema, { token: sealed, guests: [{ pin: sealed }, { pin: 1 }] }, ['token', 'guests[].pin']),
      [],
    )
    assert.deepEqual(paths(schema, { token: sealed, codes: ['a', sealed] }, ['token', 'codes[]']), [])
    assert.deepEqual(paths({ additionalProperties: { type: 'string' } }, { token: sealed }, ['token']), [])
    assert.deepEqual(
      paths({ allOf: [{ properties: { token: { type: 'string' } } }] }, { token: sealed }, ['token']),
      [],
    )
  })

  it('that is not sealed must be right, as any other', () => {
    assert.deepEqual(paths(schema, { token: 'abc' }, ['token']), ['/token'])
    assert.deepEqual(paths(schema, {}, ['token']), ['/token'])
    assert.deepEqual(check(schema, { token: 7 }, ['token']), [{ path: '/token', message: 'must be string' }])
    assert.deepEqual(paths(schema, { token: sealed, guests: [{ pin: 'x' }] }, ['token', 'guests[].pin']), [
      '/guests/0/pin',
    ])
  })

  it('is found as the sealing finds it: whatever the case, with the list or without', () => {
    assert.deepEqual(paths(schema, { token: sealed, guests: [{ pin: sealed }] }, ['TOKEN', 'Guests.Pin']), [])
  })

  it('opens no other field to sealed values', () => {
    assert.deepEqual(
      paths(schema, { token: sealed, other: sealed, host: { pin: sealed } }, ['token', 'guests[].pin']),
      ['/other', '/host/pin'],
    )
    assert.deepEqual(paths(schema, { token: { ...sealed, more: 1 } }, ['token']), ['/token'])
    assert.deepEqual(paths(schema, { token: sealed }), ['/token'])
  })
})

describe('a payload’s schema', () => {
  const problems = (schema: Json) => checkSchema(schema).problems
  const BAD: [string, Json, string, RegExp][] = [
    ['with an unknown type', { properties: { a: { type: 'text' } } }, '/properties/a/type', /must be/],
    ['with required in words', { required: 'a' }, '/required', /must be array/],
    ['that describes no object', { type: 'string' }, '/type', /must be object/],
    ['of an unknown draft', { $schema: 'http://json-schema.org/draft-04/schema#' }, '/$schema', /2020-12/],
    ['that refers to the network', { $ref: 'https://example.com/s.json' }, '/$ref', /nothing is fetched/],
    [
      'that refers to a file',
      { properties: { a: { $ref: 'other.json#/a' } } },
      '/properties/a/$ref',
      /nothing is fetched/,
    ],
    ['that refers to nothing', { properties: { a: { $ref: '#/$defs/a' } } }, '/properties/a/$ref', /leads nowhere/],
    ['that refers to itself', { properties: { a: { $ref: '#' } } }, '/properties/a/$ref', /back to itself/],
    [
      'with dynamic references',
      { properties: { a: { $dynamicRef: '#x' } } },
      '/properties/a/$dynamicRef',
      /cannot be used/,
    ],
    ['that answers later', { $async: true }, '/$async', /cannot be used/],
    ['with names within', { properties: { a: { $id: 'x' } } }, '/properties/a/$id', /cannot be used/],
    [
      'with a pattern that is too long',
      { patternProperties: { ['a'.repeat(201)]: {} } },
      `/patternProperties/${'a'.repeat(201)}`,
      /at most 200 characters \(got 201\)/,
    ],
    [
      'with a pattern that is none',
      { properties: { a: { pattern: '(' } } },
      '/properties/a/pattern',
      /regular expression/,
    ],
    ['that is too large', { description: 'x'.repeat(70_000) }, '', /at most 65536/],
  ]
  for (const [what, schema, path, message] of BAD)
    it(`${what} is refused, naming where`, () => {
      const found = problems(schema)

      assert.equal(found[0]?.path, path, JSON.stringify(found))
      assert.match(found[0]?.message ?? '', message)
    })

  it('that refers to itself in a circle is refused', () => {
    const ref = (name: string) => ({ properties: { next: { $ref: `#/$defs/${name}` } } })

    assert.match(
      problems({ $ref: '#/$defs/a', $defs: { a: ref('b'), b: ref('a') } })[0]?.message ?? '',
      /back to itself/,
    )
  })

  it('that grows without end when written out is refused at once', () => {
    const $defs: Json = { d0: { type: 'string' } }
    for (let i = 1; i <= 100; i += 1)
      $defs[`d${i}`] = { anyOf: [{ $ref: `#/$defs/d${i - 1}` }, { $ref: `#/$defs/d${i - 1}` }] }

    assert.match(
      problems({ properties: { a: { $ref: '#/$defs/d100' } }, $defs })[0]?.message ?? '',
      /at most 5000 parts/,
    )
  })

  it('may be used in many event types at once, with or without a name of its own', () => {
    const named = { $id: 'https://example.com/booking', properties: { a: { type: 'string' } } }

    for (const extra of [{}, { title: 'b' }]) {
      assert.deepEqual(problems({ ...named, ...extra }), [])
      assert.deepEqual(paths({ ...named, ...extra }, { a: 1 }), ['/a'])
    }
  })

  it('is warned of slips that JSON Schema takes without a word', () => {
    const { problems: wrong, warnings } = checkSchema({
      requried: ['a'],
      properties: { a: { format: 'datetime' }, b: { format: 'x' } },
      'x-own': 1,
    })

    assert.deepEqual(wrong, [])
    assert.deepEqual(warnings, [
      { path: '/requried', message: 'does nothing: did you mean "required"?' },
      { path: '/properties/a/format', message: 'is not checked: did you mean "date-time"?' },
      { path: '/properties/b/format', message: 'is not checked: no such format is known' },
    ])
  })

  it('is judged without throwing, whatever JSON it is', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (schema) => {
        checkSchema(schema)
      }),
      { numRuns: 300 },
    )
  })
})
