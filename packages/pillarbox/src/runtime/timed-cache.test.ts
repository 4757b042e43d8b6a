import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { createTimedCache } from './timed-cache.ts'

/** A cache whose reads answer `<key><number of the read>`, or wait or fail as told. */
function setup({ maxEntries = 10, maxAgeMs = 100 }: { maxEntries?: number; maxAgeMs?: number } = {}) {
  const clock = createManualClock()
  const reads: string[] = []
  let answer: (key: string) => Promise<string> = async (key) => `${key}${reads.length}`
  const cache = createTimedCache<string>({
    clock,
    maxAgeMs,
    maxEntries,
    read: (key) => {
      reads.push(key)
      return answer(key)
    },
  })
  return {
    clock,
    reads,
    cache,
    answerWith: (next: (key: string) => Promise<string>) => {
      answer = next
    },
  }
}

describe('a timed cache', () => {
  it('reads a key once until it is too old', async () => {
    const { cache, clock, reads } = setup()

    assert.equal(await cache.get('a'), 'a1')
    await clock.advance(99)
    assert.equal(await cache.get('a'), 'a1')
    await clock.advance(1)

    assert.equal(cache.peek('a'), undefined)
    assert.equal(cache.last('a'), 'a1')
    assert.equal(await cache.get('a'), 'a2')
    assert.deepEqual(reads, ['a', 'a'])
  })

  it('lets callers who ask at once share one read', async () => {
    const { cache, reads } = setup()

    assert.deepEqual(await Promise.all([cache.get('a'), cache.get('a'), cache.get('b')]), ['a1', 'a1', 'b2'])
    assert.deepEqual(reads, ['a', 'b'])
  })

  it('lets nobody share a read where nothing may be kept', async () => {
    const { cache } = setup({ maxAgeMs: 0 })

    assert.deepEqual(await Promise.all([cache.get('a'), cache.get('a')]), ['a1', 'a2'])
  })

  it('counts the age from the answer', async () => {
    const { cache, clock, answerWith } = setup()
    const { promise, resolve } = Promise.withResolvers<string>()
    answerWith(() => promise)

    const asked = cache.get('a')
    await clock.advance(1_000)
    resolve('slow')

    assert.equal(await asked, 'slow')
    assert.equal(cache.peek('a'), 'slow')
  })

  it('keeps no failed read', async () => {
    const { cache, answerWith } = setup()
    answerWith(() => Promise.reject(new Error('away')))

    await assert.rejects(cache.get('a'), /away/)
    answerWith(async () => 'back')

    assert.equal(await cache.get('a'), 'back')
  })

  it('forgets what was read longest ago, beyond its limit', async () => {
    const { cache } = setup({ maxEntries: 2 })

    await cache.get('a')
    await cache.get('b')
    cache.set('a', 'again')
    await cache.get('c')

    assert.deepEqual([cache.last('a'), cache.last('b'), cache.last('c')], ['again', undefined, 'c3'])
  })

  it('reads an outdated key anew, also while an older read is under way', async () => {
    const { cache, answerWith } = setup()
    await cache.get('a')
    cache.outdate('a')
    assert.deepEqual([cache.peek('a'), cache.last('a')], [undefined, 'a1'])
    const { promise, resolve } = Promise.withResolvers<string>()
    answerWith(() => promise)
    const before = cache.get('a')
    cache.outdate('a')
    answerWith(async () => 'new')

    const after = cache.get('a')
    resolve('old')

    assert.deepEqual(await Promise.all([before, after]), ['old', 'new'])
    assert.equal(cache.peek('a'), 'new')
  })
})
