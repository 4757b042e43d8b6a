import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newUuidV7, uuidV7Source } from './uuid-v7.ts'

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function setup({ fill = 0xff } = {}) {
  const clock = { ms: Date.UTC(2022, 1, 22, 19, 22, 22) }
  const next = uuidV7Source({ now: () => clock.ms, randomBytes: (count) => new Uint8Array(count).fill(fill) })
  return { clock, next }
}

describe('uuidV7Source', () => {
  it('carries the time, the version and the variant', () => {
    const { next } = setup({ fill: 0 })

    // The time of RFC 9562's own example, appendix A.6.
    assert.equal(next(), '017f22e2-79b0-7000-8000-000000000000')
    assert.match(newUuidV7(), FORM)
  })

  it('makes ids that sort in the order they were made, within a millisecond and past its end', () => {
    const { next } = setup()
    const ids = Array.from({ length: 10_000 }, next)

    assert.deepEqual(ids, ids.toSorted())
    assert.equal(new Set(ids).size, ids.length)
    for (const id of ids) assert.match(id, FORM)
  })

  it('gives no two ids the same random bytes', () => {
    let next = 0
    const source = uuidV7Source({
      now: () => 0,
      randomBytes: (count) => Uint8Array.from({ length: count }, () => Math.floor(next++ / 10)),
    })

    const ids = Array.from({ length: 300 }, source)

    // Ten bytes are drawn for each: the n-th id ends in its own n, six times over.
    assert.deepEqual(
      ids.map((id) => id.slice(24)),
      ids.map((_, index) => (index % 256).toString(16).padStart(2, '0').repeat(6)),
    )
  })

  it('keeps that order when the clock steps back', () => {
    const { clock, next } = setup()

    const before = next()
    clock.ms -= 60_000
    const after = next()

    assert.ok(after > before)
  })
})
