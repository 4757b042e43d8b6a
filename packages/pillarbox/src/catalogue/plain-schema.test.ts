import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { checkPayload } from './check-payload.ts'
import { isSurelyValid } from './plain-schema.ts'

const guest = {
  type: 'object',
  properties: { name: { type: 'string', minLength: 1 }, email: { type: 'string', format: 'email' } },
}
const BOOKING = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'A booking',
  type: 'object',
  required: ['bookingId', 'guests'],
  properties: {
    bookingId: { type: ['integer', 'string'] },
    state: { enum: ['new', 'moved', null] },
    price: { type: 'number', minimum: 0, exclusiveMaximum: 1e6 },
    checkIn: { type: 'string', format: 'date-time', description: 'When they come' },
    note: { type: 'string', maxLength: 10 },
    guests: { type: 'array', items: guest, minItems: 1, maxItems: 20 },
  },
}
const booking = {
  bookingId: 7,
  state: 'new',
  price: 0,
  checkIn: '2026-03-15T09:30:00Z',
  note: '👋👋👋👋👋👋',
  guests: [{ name: 'Ada', email: 'ada@example.test' }],
}

/** Names, texts and numbers of which schemas and payloads are made, few enough that they meet. */
const names = fc.constantFrom('a', 'b', 'id', '__proto__', 'constructor')
const texts = fc.constantFrom(
  '',
  'a',
  'ab',
  '👋',
  '2026-03-15',
  '2026-03-15T09:30:00Z',
  'ada@example.test',
  'x'.repeat(301),
  '0e37df36-f698-11e6-8dd4-cb9ced3df976',
)
const numbers = fc.constantFrom(-1, -0, 0, 0.5, 1, 2, 1e21)
const scalars = fc.oneof(texts, numbers, fc.boolean(), fc.constant(null))
const types = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'object', 'array')
const counts = fc.integer({ min: 0, max: 3 })
const { payload: payloads } = fc.letrec((tie) => ({
  payload: fc.oneof(
    { depthSize: 'small' },
    scalars,
    fc.array(tie('payload'), { maxLength: 3 }),
    fc.dictionary(names, tie('payload'), { maxKeys: 3 }),
  ),
}))
const { schema: schemas } = fc.letrec((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small' },
    fc.boolean(),
    fc.record(
      {
        type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })),
        properties: fc.dictionary(names, tie('schema'), { maxKeys: 3 }),
        required: fc.uniqueArray(names, { maxLength: 2 }),
        additionalProperties: tie('schema'),
        items: tie('schema'),
        enum: fc.uniqueArray(scalars, { minLength: 1, maxLength: 3, comparator: 'SameValueZero' }),
        const: payloads,
        minimum: numbers,
        maximum: numbers,
        exclusiveMinimum: numbers,
        exclusiveMaximum: numbers,
        minLength: counts,
        maxLength: counts,
        minItems: counts,
        maxItems: counts,
        format: fc.constantFrom('date', 'date-time', 'email', 'uuid', 'uri', 'nothing'),
        description: texts,
        default: scalars,
        // Not known here.
        not: tie('schema'),
        uniqueItems: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
  ),
}))

describe('a payload that is surely valid', () => {
  it('is one that an ordinary schema takes', () => {
    assert.ok(isSurelyValid(BOOKING, booking))
    assert.ok(isSurelyValid({ ...BOOKING, additionalProperties: false }, booking))
    assert.ok(isSurelyValid({ type: 'object', additionalProperties: { type: 'string' } }, { a: 'b' }))
  })

  it('is none that the schema does not take', () => {
    for (const wrong of [
      { bookingId: undefined },
      { bookingId: 1.5 },
      { state: 'gone' },
      { price: -1 },
      { price: 1e6 },
      { checkIn: 'tomorrow' },
      { note: 'longer than ten' },
      { guests: [] },
      { guests: [{ name: '' }] },
      { guests: [{ email: 'nobody' }] },
    ])
      assert.equal(isSurelyValid(BOOKING, { ...booking, ...wrong }), false, JSON.stringify(wrong))
    assert.equal(isSurelyValid({ ...BOOKING, additionalProperties: false }, { ...booking, other: 1 }), false)
  })

  it('is not known where the schema says more than plain rules do, or there is much to look at', () => {
    for (const more of [
      { allOf: [] },
      { pattern: 'a' },
      { uniqueItems: true },
      { $ref: '#/$defs/a' },
      { $schema: 'http://example.test' },
    ])
      assert.equal(isSurelyValid({ type: 'object', ...more }, {}), false, JSON.stringify(more))
    const many = Array.from({ length: 3_000 }, () => ({ name: 'Ada' }))
    assert.equal(isSurelyValid(BOOKING, { ...booking, guests: many }), false)
    assert.equal(
      isSurelyValid(
        { type: 'object', properties: { a: { enum: Array.from({ length: 3_000 }, (_, i) => i) } } },
        { a: 1 },
      ),
      false,
    )
    assert.equal(
      isSurelyValid(
        { type: 'object', properties: { a: { format: 'email' } } },
        { a: `${'a'.repeat(400)}@example.test` },
      ),
      false,
    )
  })

  it('is never one that the whole check refuses', () => {
    let sure = 0
    fc.assert(
      fc.property(schemas, payloads, (part, value) => {
        const schema = { type: 'object', properties: { value: part } }
        const payload = { value }
        if (!isSurelyValid(schema, payload)) return
        sure += 1
        assert.deepEqual(checkPayload({ payload: schema, secrets: [] }, payload), [])
        assert.deepEqual(checkPayload({ payload: schema, secrets: ['value'] }, payload), [])
      }),
      { numRuns: 2_000 },
    )
    assert.ok(sure > 100, `only ${sure} were sure`)
  })
})
