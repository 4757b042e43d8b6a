import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { holdsSealed, scrubbedText } from './scrub.ts'

describe('a scrubbed payload', () => {
  it('has a mark in place of every sealed value, and all the rest', () => {
    const leaf = fc.oneof(fc.string(), fc.integer(), fc.constant(null))
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        leaf,
        fc.record({ $sealed: fc.string() }),
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(fc.string(), tie('node'), { maxKeys: 3 }),
      ),
    })).node
    const isSealed = (given: unknown): boolean =>
      typeof given === 'object' && given !== null && Object.keys(given).join() === '$sealed'
    const expected = (given: unknown): unknown => {
      if (isSealed(given) && typeof (given as { $sealed: unknown }).$sealed === 'string') return { $scrubbed: true }
      if (Array.isArray(given)) return given.map(expected)
      if (typeof given !== 'object' || given === null) return given
      return Object.fromEntries(Object.entries(given).map(([key, field]) => [key, expected(field)]))
    }

    fc.assert(
      fc.property(value, (given) => {
        const text = JSON.stringify(given)
        const scrubbed = scrubbedText(text)

        assert.deepEqual(JSON.parse(scrubbed ?? ''), expected(JSON.parse(text)))
        if (!holdsSealed(text)) assert.equal(scrubbed, text)
      }),
    )
  })

  it('is given up where it is nested too deep to be written', () => {
    const text = `${'['.repeat(200_000)}{"$sealed":"x"}${']'.repeat(200_000)}`

    assert.equal(scrubbedText(text), null)
  })
})
