import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTenantCache } from './tenant-cache.ts'

function setup(read: (tenantId: string) => Promise<string> = async (id) => id) {
  let now = 0
  let reads = 0
  const clock = { now: () => now, monotonic: () => now, sleep: () => Promise.resolve() }
  const cache = createTenantCache(clock, 1_000, (id) => {
    reads += 1
    return read(id)
  })
  const advance = (ms: number): void => {
    now += ms
  }
  return { cache, reads: () => reads, advance }
}

describe('what is known of a tenant', () => {
  it('is read once per second, also when many ask at once', async () => {
    const { cache, reads, advance } = setup()
    await Promise.all([cache.get('a'), cache.get('a'), cache.get('a')])
    advance(999)
    await cache.get('a')
    assert.equal(reads(), 1)

    advance(1)
    await cache.get('a')
    assert.equal(reads(), 2)
  })

  it('is read anew after a change here, and is kept apart from other tenants', async () => {
    const { cache, reads } = setup()
    assert.deepEqual([await cache.get('a'), await cache.get('b')], ['a', 'b'])
    cache.forget('a')
    await cache.get('a')
    await cache.get('b')

    assert.equal(reads(), 3)
  })

  it('is not remembered where reading failed', async () => {
    let isAway = true
    const { cache } = setup(async (id) => {
      if (isAway) throw new Error('away')
      return id
    })
    await assert.rejects(cache.get('a'), /away/)
    isAway = false

    assert.equal(await cache.get('a'), 'a')
  })
})
