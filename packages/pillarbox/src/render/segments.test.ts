import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { segmentsOf } from './segments.ts'

const of = (character: string, count: number): string => character.repeat(count)

/** 3GPP TS 23.038 §6.2.1, by code, from 0x00 to 0x7f; the escape at 0x1b is no character. */
const BASIC_TABLE = [
  '@', '£', '$', '¥', 'è', 'é', 'ù', 'ì', 'ò', 'Ç', '\n', 'Ø', 'ø', '\r', 'Å', 'å',
  'Δ', '_', 'Φ', 'Γ', 'Λ', 'Ω', 'Π', 'Ψ', 'Σ', 'Θ', 'Ξ', null, 'Æ', 'æ', 'ß', 'É',
  ' ', '!', '"', '#', '¤', '%', '&', "'", '(', ')', '*', '+', ',', '-', '.', '/',
  '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', ';', '<', '=', '>', '?',
  '¡', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O',
  'P', 'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', 'Ä', 'Ö', 'Ñ', 'Ü', '§',
  '¿', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
  'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 'ä', 'ö', 'ñ', 'ü', 'à',
] // biome-ignore format: a table of sixteen columns, as the standard prints it.
/** §6.2.1.1 */
const EXTENSION_TABLE = { 10: '\f', 20: '^', 40: '{', 41: '}', 47: '\\', 60: '[', 61: '~', 62: ']', 64: '|', 101: '€' }

describe('an SMS', () => {
  it('takes one septet for each character of the basic table', () => {
    assert.equal(BASIC_TABLE.length, 128)
    for (const character of BASIC_TABLE) {
      if (character === null) continue
      const { encoding, units } = segmentsOf(character)
      assert.deepEqual([character, encoding, units], [character, 'GSM-7', 1])
    }
  })

  it('takes two septets for each character of the extension', () => {
    for (const character of Object.values(EXTENSION_TABLE)) {
      const { encoding, units } = segmentsOf(character)
      assert.deepEqual([character, encoding, units], [character, 'GSM-7', 2])
    }
  })

  it('is UCS-2 as soon as one character is in neither table, and says which', () => {
    const all = new Set([...BASIC_TABLE, ...Object.values(EXTENSION_TABLE)])
    for (let code = 0; code <= 0x2_ff; code++) {
      const character = String.fromCharCode(code)
      assert.equal(segmentsOf(character).encoding, all.has(character) ? 'GSM-7' : 'UCS-2', `U+${code.toString(16)}`)
    }
    assert.deepEqual(segmentsOf('Grüße ✓ für ₹5 ✓').forcedBy, ['✓', '₹'])
  })

  it('is cut at 160, then every 153 septets', () => {
    const expected: [number, number, number][] = [
      [0, 0, 160],
      [1, 1, 159],
      [160, 1, 0],
      [161, 2, 145],
      [306, 2, 0],
      [307, 3, 152],
      [459, 3, 0],
      [460, 4, 152],
    ]
    for (const [length, segments, remaining] of expected)
      assert.deepEqual(segmentsOf(of('a', length)), {
        encoding: 'GSM-7',
        units: length,
        segments,
        remaining,
        forcedBy: [],
      })
  })

  it('is cut at 70, then every 67 units, in UCS-2', () => {
    const expected: [number, number, number][] = [
      [1, 1, 69],
      [70, 1, 0],
      [71, 2, 63],
      [134, 2, 0],
      [135, 3, 66],
    ]
    for (const [length, segments, remaining] of expected)
      assert.deepEqual(segmentsOf(of('ж', length)), {
        encoding: 'UCS-2',
        units: length,
        segments,
        remaining,
        forcedBy: ['ж'],
      })
  })

  it('never cuts an escaped character in two', () => {
    // 152 septets and an euro sign: the sign does not fit into the 153rd, and begins the next segment.
    const text = `${of('a', 152)}€${of('a', 10)}`

    assert.deepEqual(segmentsOf(text), { encoding: 'GSM-7', units: 164, segments: 2, remaining: 141, forcedBy: [] })
    assert.deepEqual(
      [segmentsOf(of('€', 80)).segments, segmentsOf(of('€', 81)).segments, segmentsOf(of('€', 153)).segments],
      [1, 2, 3],
    )
  })

  it('never cuts an emoji in two', () => {
    const text = `${of('ж', 66)}😀${of('ж', 5)}`

    assert.deepEqual(segmentsOf(text), {
      encoding: 'UCS-2',
      units: 73,
      segments: 2,
      remaining: 60,
      forcedBy: ['ж', '😀'],
    })
    assert.deepEqual(
      [segmentsOf('😀').units, segmentsOf(of('😀', 35)).segments, segmentsOf(of('😀', 36)).segments],
      [2, 1, 2],
    )
  })

  it('names each character that forces UCS-2 once, and twenty of them at most', () => {
    const letters = Array.from({ length: 40 }, (_, i) => String.fromCharCode(0x0430 + i)).join('')

    assert.equal(segmentsOf(letters + letters).forcedBy.length, 20)
  })

  it('grows with its text, and holds all of it', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '€', 'é', 'ж', '😀', '\n', '~'), maxLength: 400 })
    fc.assert(
      fc.property(text, text, (a, b) => {
        const [short, long] = [segmentsOf(a), segmentsOf(a + b)]
        assert.ok(long.segments >= short.segments)
        // An escaped character is two septets, but one unit of UCS-2.
        if (long.encoding === short.encoding) assert.ok(long.units >= short.units)
        const capacity = long.encoding === 'GSM-7' ? [160, 153] : [70, 67]
        assert.ok(long.units <= long.segments * ((long.segments > 1 ? capacity[1] : capacity[0]) ?? 0))
        assert.ok(long.remaining >= 0)
      }),
    )
  })
})
