import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertLinear } from '../../../../test/support/linear.ts'
import { isPillarboxError } from '../model/errors.ts'
import { parseJsonBody } from './json-body.ts'

const parse = (text: string): unknown => parseJsonBody(Buffer.from(text))

describe('strict JSON', () => {
  it('reads whatever JSON.parse reads, as it reads it', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), (text) => {
        let value: unknown
        try {
          value = parse(text)
        } catch (error) {
          // Names and numbers that are refused on purpose do turn up.
          return isPillarboxError(error, 'invalid_body')
        }
        assert.deepEqual(value, JSON.parse(text))
        return true
      }),
      { numRuns: 2_000 },
    )
  })

  it('reads spaces, escapes and brackets inside text for what they are', () => {
    const text = '{ "a\\"b" : "]}{[,\\\\" , "c":[ {"a":1},{"a":2} ] ,"d":"\\u0041\\ud83d\\ude00" }'

    assert.deepEqual(parse(text), JSON.parse(text))
  })

  for (const [what, text] of Object.entries({
    'a key twice': '{"a":1,"a":2}',
    'a key twice, once escaped': '{"a":1,"\\u0061":2}',
    'a key twice in the depth': '[{"x":{"b":1,"c":{},"b":2}}]',
    'a trailing comma': '{"a":1,}',
    'single quotes': "{'a':1}",
    'a comment': '{"a":1/**/}',
    'two values': '{}{}',
    'an open object': '{"a":1',
    'an open text': '{"a":"b',
    'a bare word': 'undefined',
    NaN: '{"a":NaN}',
    'a hex number': '{"a":0x10}',
    'a leading zero': '{"a":01}',
    'a line break in text': '{"a":"b\nc"}',
    'a byte order mark': '\ufeff{}',
    'only spaces': '   ',
  }))
    it(`refuses ${what} as malformed`, () => {
      assert.throws(
        () => parse(text),
        (error) => isPillarboxError(error, 'malformed_json'),
      )
    })

  for (const [what, bytes] of Object.entries({
    'a stray continuation byte': [0x22, 0x80, 0x22],
    'an overlong slash': [0x22, 0xc0, 0xaf, 0x22],
    'an encoded surrogate': [0x22, 0xed, 0xa0, 0x80, 0x22],
    'a cut character': [0x22, 0xe2, 0x82],
    'UTF-16': [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00],
  }))
    it(`refuses ${what} as malformed`, () => {
      assert.throws(
        () => parseJsonBody(Buffer.from(bytes)),
        (error) => isPillarboxError(error, 'malformed_json'),
      )
    })

  for (const [what, text, path] of [
    ['__proto__', '{"a":{"__proto__":{"x":1}}}', '/a/__proto__'],
    ['an escaped __proto__', '{"\\u005f_proto__":1}', '/__proto__'],
    ['constructor', '{"constructor":{"prototype":1}}', '/constructor'],
    ['prototype', '[{"prototype":1}]', '/0/prototype'],
    ['NUL in text', '{"a":["b\\u0000"]}', '/a/0'],
    ['NUL in a name', '{"a\\u0000":1}', ''],
    ['half a surrogate pair', '{"a":"\\ud800"}', '/a'],
    ['a reversed surrogate pair', '{"a":"\\udc00\\ud800"}', '/a'],
    ['a number beyond doubles', '{"a":1e400}', '/a'],
  ] as const)
    it(`refuses ${what} and says where`, () => {
      assert.throws(
        () => parse(text),
        (error) => isPillarboxError(error, 'invalid_body') && error.details.errors?.[0]?.path === path,
      )
    })

  it('takes 32 levels and no more', () => {
    const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`

    assert.ok(parse(nested(32)))
    assert.throws(
      () => parse(nested(33)),
      (error) => isPillarboxError(error, 'invalid_body'),
    )
    assert.throws(
      () => parse('{"a":'.repeat(33)),
      (error) => isPillarboxError(error, 'invalid_body'),
    )
  })

  it('keeps numbers exactly or refuses them', () => {
    for (const number of ['0', '-0', '1.5', '1e300', '9007199254740991', '-9007199254740991', '1152921504606846976'])
      assert.equal(parse(number), Number(number))
    for (const number of ['9007199254740993', '-9007199254740993', '12345678901234567890', '9'.repeat(400)])
      assert.throws(
        () => parse(`{"a":${number}}`),
        (error) => isPillarboxError(error, 'invalid_body'),
        number,
      )
  })

  it('puts what is wrong with an item of a list in its place', () => {
    const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`
    const paths = (list: unknown): unknown[] =>
      (list as unknown[]).map((item) => (isPillarboxError(item) ? item.details.errors?.[0]?.path : 'good'))
    const items = `["\\u0000", {"a":[1,2,{"b":"\\ud800"}]}, ${nested(32)}, ${nested(33)}, 9007199254740993, {"a":1}]`

    const expected = ['', '/a/2/b', 'good', '', '', 'good']
    assert.deepEqual(paths(parseJsonBody(Buffer.from(items), 'body')), expected)
    const { items: list } = parseJsonBody(Buffer.from(`{"x":[[1],2],"items":${items}}`), 'items') as { items: unknown }
    assert.deepEqual(paths(list), expected)
  })

  for (const [what, itemsIn, text] of [
    ['beside the list', 'items', '{"items":[1],"x":"\\u0000"}'],
    ['beside the list, too deep', 'items', `{"items":[1],"x":${'['.repeat(40)}${']'.repeat(40)}}`],
    ['in a field of another name', 'items', '{"x":["\\u0000"]}'],
    ['in what is no list', 'body', '{"x":["\\u0000"]}'],
    ['in an items deeper down', 'items', '{"x":{"items":["\\u0000"]}}'],
    ['one item too many', 'items', `{"items":[${'1,'.repeat(1_000)}"\\u0000"]}`],
    ['in an item of absurd depth', 'body', `[${'['.repeat(5_000)}${']'.repeat(5_000)}]`],
  ] as const)
    it(`refuses the whole body for what is ${what}`, () => {
      assert.throws(
        () => parseJsonBody(Buffer.from(text), itemsIn),
        (error) => isPillarboxError(error, 'invalid_body'),
      )
    })

  it('reads or refuses a hostile megabyte in time linear in its length', () => {
    const largest = 1_048_576
    const attempt = (text: string, itemsIn: 'body' | null = null): void => {
      try {
        parseJsonBody(Buffer.from(text), itemsIn)
      } catch {
        // Refused is fine; only the time counts.
      }
    }
    for (const piece of ['[', '{"a":', '"', '\\', '{"a":1,', '1', '-', ',', '["', '{}'])
      assertLinear((size) => attempt(piece.repeat(size / piece.length)), largest, piece)
    assertLinear((size) => attempt(`"${'\\'.repeat(size - 2)}"`), largest, 'escapes')
    assertLinear((size) => attempt(`[${'[],'.repeat(size / 3 - 4)}[]]`), largest, 'empty arrays')
    for (const bad of ['"\\u0000"', '9007199254740993', `${'['.repeat(500)}${']'.repeat(500)}`])
      assertLinear((size) => attempt(`[${`${bad},`.repeat(size / (bad.length + 1))}0]`, 'body'), largest, bad)
  })

  it('leaves Object.prototype alone', () => {
    const before = Object.getOwnPropertyNames(Object.prototype).sort()
    for (const text of ['{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}'])
      assert.throws(() => parse(text))

    assert.deepEqual(Object.getOwnPropertyNames(Object.prototype).sort(), before)
    assert.equal(({} as { polluted?: unknown }).polluted, undefined)
  })
})
