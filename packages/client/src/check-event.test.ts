import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { InvalidEventError, validEvent, validEvents } from './check-event.ts'
import { MAX_JSON_DEPTH, MAX_PAYLOAD_BYTES } from './event-rules.ts'
import type { Problem } from './json-text.ts'

const newId = (): string => 'made-id'

function event(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    tenantId: 'atlas',
    type: 'booking.confirmed',
    entity: { type: 'booking', id: '12345' },
    payload: { bookingId: 12345 },
    ...changes,
  }
}

function problemsOf(check: () => unknown): readonly Problem[] {
  try {
    check()
  } catch (error) {
    assert.ok(error instanceof InvalidEventError)
    assert.equal(error.code, 'invalid_event')
    return error.problems
  }
  assert.fail('no problem was found')
}

const pathsOf = (changes: Record<string, unknown>): string[] =>
  problemsOf(() => validEvent(event(changes), newId)).map(({ path }) => path)

const payloadProblem = (payload: unknown): Problem => {
  const [problem, ...others] = problemsOf(() => validEvent(event({ payload }), newId))
  assert.deepEqual(others, [])
  assert.ok(problem)
  return problem
}

/** An object of `levels` objects, one in the other. */
function nested(levels: number): object {
  let value: object = {}
  for (let level = 1; level < levels; level += 1) value = { inner: value }
  return value
}

describe('validEvent', () => {
  it('reads an event, with an id where it has none and null for all it leaves out', () => {
    assert.deepEqual(validEvent(event({ correlationId: undefined, dueAt: null }), newId), {
      tenantId: 'atlas',
      id: 'made-id',
      type: 'booking.confirmed',
      entity: { type: 'booking', id: '12345' },
      payload: { bookingId: 12345 },
      payloadText: '{"bookingId":12345}',
      occurredAt: null,
      dueAt: null,
      correlationId: null,
      topic: null,
      traceparent: null,
      locale: null,
      recipients: null,
      channels: null,
      conversation: null,
      schemaVersion: 1,
    })
  })

  it('takes times as Date and as ISO text with any offset', () => {
    const row = validEvent(event({ occurredAt: new Date(1_000), dueAt: '2026-03-15T00:30:00.250+05:30' }), newId)

    assert.equal(row.occurredAt, 1_000)
    assert.equal(row.dueAt, Date.UTC(2026, 2, 14, 19, 0, 0, 250))
  })

  it('refuses times that are none, that name no zone, or that a database cannot hold', () => {
    const times = ['soon', '2026-03-15', '2026-03-15T09:00:00', '2026-02-30T09:00:00Z', '2026-13-01T09:00:00Z', 5]
    for (const dueAt of [...times, new Date(Number.NaN), new Date(-1), new Date(8.64e15), '2026-03-15T24:30:00Z']) {
      assert.deepEqual(pathsOf({ dueAt }), ['/dueAt'], String(dueAt))
    }
    assert.deepEqual(pathsOf({ dueAt: '9999-12-31T23:59:59Z' }), ['/dueAt'])
  })

  it('lists every problem with its path', () => {
    const bad = {
      tenantId: 'Atlas Homes',
      id: '',
      type: '.confirmed',
      entity: { type: '1', id: 12345, name: 'x' },
      payload: [],
      occurredAt: 'yesterday',
      correlationId: 'a\0b',
      locale: 'German',
      recipients: [{ phone: 7, fax: 'x' }, 'guest'],
      channels: ['pigeon'],
      conversation: 'booking',
      schemaVersion: 0.5,
      due_at: null,
    }

    assert.deepEqual(
      problemsOf(() => validEvent(bad, newId))
        .map(({ path }) => path)
        .toSorted(),
      [
        '/channels/0',
        '/conversation',
        '/correlationId',
        '/due_at',
        '/entity/id',
        '/entity/name',
        '/entity/type',
        '/id',
        '/locale',
        '/occurredAt',
        '/payload',
        '/recipients/0/fax',
        '/recipients/0/phone',
        '/recipients/1',
        '/schemaVersion',
        '/tenantId',
        '/type',
      ],
    )
  })

  it('names the place in the message as the host would write it', () => {
    const message = (make: () => unknown): string => {
      try {
        make()
      } catch (error) {
        return (error as Error).message
      }
      return ''
    }
    const payload = { items: [{}, {}, { price: Number.NaN }], 'a b': { '~/': 1n } }

    const one = message(() => validEvent(event({ payload, type: '' }), newId))
    const many = message(() => validEvents([event(), event({ payload })], newId))

    assert.match(
      one,
      /^Invalid event: type must be .*; payload\.items\[2\]\.price is NaN, .*; payload\["a b"\]\["~\/"\] is a bigint/,
    )
    assert.match(many, /^Invalid event: \[1\]\.payload\.items\[2\]\.price is NaN/)
    assert.match(
      message(() => validEvent(5, newId)),
      /^Invalid event: it must be an event, not a number$/,
    )
  })

  it('refuses what is no event at all', () => {
    for (const value of [undefined, null, 'event', [event()], new (class Booking {})()]) {
      assert.deepEqual(
        problemsOf(() => validEvent(value, newId)).map(({ path }) => path),
        [''],
      )
    }
  })

  it('bounds ids by length and refuses characters that a database refuses', () => {
    assert.equal(validEvent(event({ id: '🎉'.repeat(200) }), newId).id.length, 400)
    for (const id of ['x'.repeat(201), '🎉'.repeat(201), 'a\0b', 'a\ud800b', 'a\nb', 'a\u2028b']) {
      assert.deepEqual(pathsOf({ id }), ['/id'])
      assert.deepEqual(pathsOf({ entity: { type: 'booking', id } }), ['/entity/id'])
    }
  })

  it('holds an id that was made to the same rules', () => {
    for (const id of ['', 'x'.repeat(201), 'a\nb', 7]) {
      assert.deepEqual(
        problemsOf(() => validEvent(event(), () => id as string)).map(({ path }) => path),
        ['/id'],
      )
    }
  })

  it('keeps recipients, channels and conversation, without what was left out and what is there twice', () => {
    const read = validEvent(
      event({
        recipients: [{ name: 'Jürgen "Jo"', phone: '+919876543210', email: undefined, locale: null }, { name: '' }],
        channels: ['whatsapp', 'sms', 'whatsapp'],
        conversation: { id: '7', type: 'booking' },
      }),
      newId,
    )

    assert.deepEqual(read.recipients, [{ name: 'Jürgen "Jo"', phone: '+919876543210' }, {}])
    assert.deepEqual(read.channels, ['whatsapp', 'sms'])
    assert.deepEqual(read.conversation, { type: 'booking', id: '7' })
  })

  it('refuses empty lists of recipients and channels', () => {
    assert.deepEqual(pathsOf({ recipients: [], channels: [] }), ['/recipients', '/channels'])
  })
})

describe('a payload', () => {
  it('that is JSON comes through exactly as JSON would write it', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'))
    const key = text.filter((value) => value !== '__proto__')
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        text,
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    }))

    fc.assert(
      fc.property(fc.dictionary(key, tree, { maxKeys: 4 }), (payload) => {
        assert.equal(validEvent(event({ payload }), newId).payloadText, JSON.stringify(payload))
      }),
    )
  })

  it('leaves out undefined properties and writes dates as ISO text', () => {
    const payload = { phone: undefined, checkIn: new Date(0), rows: [Object.assign(Object.create(null), { a: 1 })] }

    assert.equal(
      validEvent(event({ payload }), newId).payloadText,
      '{"checkIn":"1970-01-01T00:00:00.000Z","rows":[{"a":1}]}',
    )
  })

  it('is refused where JSON would lose or change something, with the place and the loss', () => {
    class Money {}
    const losses: [unknown, RegExp][] = [
      [1n, /bigint/],
      [Number.NaN, /NaN, which JSON cannot hold/],
      [Number.POSITIVE_INFINITY, /Infinity, which JSON cannot hold/],
      [() => 1, /function, which JSON would drop/],
      [Symbol('x'), /symbol, which JSON would drop/],
      [new Map(), /instance of Map/],
      [new Money(), /instance of Money/],
      [Buffer.from('x'), /instance of Buffer/],
      [new Date(Number.NaN), /invalid Date/],
      ['a\0b', /NUL/],
      ['a\udc00', /surrogate/],
    ]
    for (const [value, message] of losses) {
      const problem = payloadProblem({ guest: { 'a/b~c': [1, value] } })
      assert.equal(problem.path, '/payload/guest/a~1b~0c/1')
      assert.match(problem.message, message)
    }
    assert.match(payloadProblem({ list: [undefined] }).message, /undefined inside a list/)
    const withHole: number[] = []
    withHole[1] = 2
    assert.equal(payloadProblem({ list: withHole }).path, '/payload/list/0')
  })

  it('is refused where it holds what JSON has no place for: symbol keys, and properties of a list', () => {
    const secret = Symbol('secret')
    const found: [object, string, RegExp][] = [
      [{ [secret]: 1 }, '/payload', /has the key Symbol\(secret\), which JSON would drop/],
      [{ guest: { rows: [{ [secret]: 1 }] } }, '/payload/guest/rows/0', /Symbol\(secret\)/],
      [{ list: Object.assign([1], { [secret]: 1 }) }, '/payload/list', /Symbol\(secret\)/],
      [
        { list: Object.assign([1, 2], { total: 3 }) },
        '/payload/list',
        /has "total" beside its items, which JSON would/,
      ],
      [{ match: /a/.exec('a') }, '/payload/match', /has "groups" beside its items/],
    ]
    for (const [payload, path, message] of found) {
      const problem = payloadProblem(payload)
      assert.equal(problem.path, path)
      assert.match(problem.message, message)
    }
  })

  it('may have hidden properties, which are nobody’s data', () => {
    const hidden = { value: 1, enumerable: false }
    const payload = Object.defineProperties({ a: [1] }, { [Symbol('x')]: hidden, y: hidden })

    assert.equal(validEvent(event({ payload }), newId).payloadText, '{"a":[1]}')
  })

  it('is refused where a key is one that readers or databases trip over', () => {
    assert.deepEqual(payloadProblem(JSON.parse('{"a":{"__proto__":1}}')).path, '/payload/a/__proto__')
    assert.match(payloadProblem({ 'a\0': 1 }).message, /NUL/)
    assert.match(payloadProblem({ '\ud800': 1 }).message, /surrogate/)
  })

  it('has all its faults listed, those of its texts among them', () => {
    const payload = { texts: ['a\0', 'fine', '\ud800'], total: Number.NaN, 'key\0': { a: 1 } }

    assert.deepEqual(pathsOf({ payload }).toSorted(), [
      '/payload/key\0',
      '/payload/texts/0',
      '/payload/texts/2',
      '/payload/total',
    ])
  })

  it('may hold text that looks like an escape, and every whole character', () => {
    const payload = { text: '\\u0000 \\ud800 \\\\ud800 🎉 \u0001', '\\u0000': 1 }

    assert.equal(validEvent(event({ payload }), newId).payloadText, JSON.stringify(payload))
  })

  it(`may be ${MAX_JSON_DEPTH} levels deep, and no deeper`, () => {
    const deepest = nested(MAX_JSON_DEPTH)

    assert.equal(validEvent(event({ payload: deepest }), newId).payloadText, JSON.stringify(deepest))
    assert.match(payloadProblem({ inner: deepest }).message, /deeper than 32/)
  })

  it('may be 1 MiB as JSON in UTF-8, and no larger', () => {
    const room = MAX_PAYLOAD_BYTES - '{"text":""}'.length

    assert.equal(
      validEvent(event({ payload: { text: 'x'.repeat(room) } }), newId).payloadText.length,
      MAX_PAYLOAD_BYTES,
    )
    assert.equal(
      payloadProblem({ text: 'x'.repeat(room + 1) }).message,
      'must not be larger than 1 MiB (1048576 bytes) as JSON, and has 1048577 bytes',
    )
    assert.match(payloadProblem({ text: 'é'.repeat(room / 2 + 1) }).message, /larger than 1 MiB .* has 1048577 bytes$/)
  })

  it('is refused soon when it holds itself, or the same part over and over', () => {
    const cycle: Record<string, unknown> = {}
    cycle['self'] = [cycle]
    let laughs: object = {}
    for (let level = 0; level < 30; level += 1) laughs = { a: laughs, b: laughs }

    assert.equal(payloadProblem(cycle).path, '/payload/self/0')
    assert.match(payloadProblem(laughs).message, /larger than 1 MiB/)
  })

  it('is read once, so that what was checked is what is written', () => {
    let reads = 0
    const payload = {
      get total() {
        reads += 1
        return reads === 1 ? 5 : 'changed'
      },
    }

    assert.equal(validEvent(event({ payload }), newId).payloadText, '{"total":5}')
  })

  it('with countless faults is answered with a bounded list', () => {
    const payload = { list: Array.from({ length: 5_000 }, () => Number.NaN) }

    assert.equal(problemsOf(() => validEvent(event({ payload }), newId)).length, 50)
  })
})

describe('validEvents', () => {
  it('keeps the order and gives each its own id', () => {
    const made = ['made-1', 'made-2']
    const rows = validEvents([event({ id: 'b' }), event(), event({ id: 'a' }), event()], () => made.shift() ?? '')

    assert.deepEqual(
      rows.map(({ id }) => id),
      ['b', 'made-1', 'a', 'made-2'],
    )
  })

  it('names the faulty one by its index', () => {
    const problems = problemsOf(() => validEvents([event(), event({ type: '' }), 5], newId))

    assert.deepEqual(
      problems.map(({ path }) => path),
      ['/1/type', '/2'],
    )
    assert.deepEqual(
      problemsOf(() => validEvents('events' as never, newId)).map(({ path }) => path),
      [''],
    )
  })
})
