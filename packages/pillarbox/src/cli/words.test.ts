import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cut, jsonLine, onLines, onOneLine, widthOf } from './words.ts'

const HOSTILE = 'a\u001b[2Jb\u0007c\u009b31md\r\ne\u2028f\u202eg\u0000h\u2066i'

describe('words for a terminal', () => {
  it('hold nothing that moves the cursor, colours or turns the order', () => {
    assert.equal(onOneLine(HOSTILE), 'a [2Jb c 31md e f g h i')
    assert.equal(onLines('one\u001b[1m\r\ntwo\u009b0m\nthree'), 'one [1m\ntwo 0m\nthree')
  })

  it('are the same words in JSON, of visible characters only', () => {
    const line = jsonLine({ text: HOSTILE })

    assert.match(line, /^[ -~]+\n$/)
    assert.deepEqual(JSON.parse(line), { text: HOSTILE })
  })

  it('take as many places as a terminal gives them', () => {
    assert.deepEqual(['abc', 'naïve', '日本', '👩‍👩‍👧', 'e\u0301', ''].map(widthOf), [3, 5, 4, 2, 1, 0])
  })

  it('are cut where they do not fit, never through a character', () => {
    assert.equal(cut('abcdef', 6), 'abcdef')
    assert.equal(cut('abcdefg', 6), 'abcde…')
    assert.equal(cut('日本語です', 6), '日本…')
    assert.equal(cut('👩‍👩‍👧👩‍👩‍👧', 3), '👩‍👩‍👧…')
  })
})
