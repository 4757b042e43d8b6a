import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertLinear } from '../../../../test/support/linear.ts'
import { isPillarboxError } from '../model/errors.ts'
import { parseJsonBody, refuseUnfit, unfitJson } from './json-body.ts'

function parse(text: string): unknown {
  const body = parseJsonBody(Buffer.from(text))
  refuseUnfit(body)
  return body
}

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
    ['NUL in text', '{"a":["b\\u0000"]}', '/a/0'],
    ['NUL in a name', '{"a\\u0000":1}', '/a\0'],
    ['half a surrogate pair', '{"a":"\\ud800"}', '/a'],
    ['a reversed surrogate pair', '{"a":"\\udc00\\ud800"}', '/a'],
    ['a number beyond doubles', '{"a":1e400}', '/a'],
    ['a whole number that a double changes', '{"a":[1,9007199254740993]}', '/a/1'],
    ['33 levels', `{"a":${'['.repeat(32)}${']'.repeat(32)}}`, `/a${'/0'.repeat(31)}`],
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
  })

  it('keeps numbers exactly or refuses them', () => {
    for (const number of ['0', '-0', '1.5', '1e300', '9007199254740991', '-9007199254740991', '100000000000000000000'])
      assert.equal(parse(number), Number(number))
    for (const number of [
      '9007199254740993',
      '1152921504606846976',
      '-9007199254740993',
      '12345678901234567890',
      '9'.repeat(400),
    ])
      assert.throws(
        () => parse(`{"a":${number}}`),
        (error) => isPillarboxError(error, 'invalid_body'),
        number,
      )
  })

  it('takes keys that only look dangerous, in their place', () => {
    const text = '{"constructor":{"prototype":{"a":1}},"prototype":1,"hasOwnProperty":2,"toString":null}'

    assert.equal(JSON.stringify(parse(text)), text)
  })

  it('takes long numbers that come back as they are, and text of many digits', () => {
    const text = '{"a":9007199254740991,"b":"9007199254740993","c":[-1234567890123456,0.1234567890123456789]}'

    assert.deepEqual(parse(text), JSON.parse(text))
  })

  it('leaves what no store keeps to whoever judges items one by one', () => {
    const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`
    const items = `["\\u0000", {"a":[1,2,{"b":"\\ud800"}]}, ${nested(32)}, ${nested(33)}, 9007199254740993, {"a":1}]`

    const paths = (parseJsonBody(Buffer.from(items)) as unknown[]).map((item) => unfitJson(item)[0]?.path)

    assert.deepEqual(paths, ['', '/a/2/b', undefined, '/0'.repeat(32), '', undefined])
  })

  it('refuses a body of absurd depth before it is parsed', () => {
    for (const text of [`[${'['.repeat(5_000)}${']'.repeat(5_000)}]`, '{"a":'.repeat(2_000)])
      assert.throws(
        () => parseJsonBody(Buffer.from(text)),
        (error) => isPillarboxError(error, 'invalid_body'),
      )
  })

  it('reads or refuses a hostile megabyte in time linear in its length', () => {
    const largest = 1_048_576
    const attempt = (text: string): void => {
      try {
        parse(text)
      } catch {
        // Refused is fine; only the time counts.
      }
    }
    for (const piece of ['[', '{"a":', '"', '\\', '{"a":1,', '1', '-', ',', '["', '{}'])
      assertLinear((size) => attempt(piece.repeat(size / piece.length)), largest, piece)
    assertLinear((size) => attempt(`"${'\\'.repeat(size - 2)}"`), largest, 'escapes')
    assertLinear((size) => attempt(`[${'[],'.repeat(size / 3 - 4)}[]]`), largest, 'empty arrays')
    for (const bad of ['"\\u0000"', '9007199254740993', `${'['.repeat(500)}${']'.repeat(500)}`])
      assertLinear((size) => attempt(`[${`${bad},`.repeat(size / (bad.length + 1))}0]`), largest, bad)
  })

  it('leaves Object.prototype alone', () => {
    const before = Object.getOwnPropertyNames(Object.prototype).sort()
    assert.throws(() => parse('{"__proto__":{"polluted":1}}'))
    parse('{"constructor":{"prototype":{"polluted":1}}}')

    assert.deepEqual(Object.getOwnPropertyNames(Object.prototype).sort(), before)
    assert.equal(({} as { polluted?: unknown }).polluted, undefined)
  })
})
