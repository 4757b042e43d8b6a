import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { isPillarboxError } from '../model/errors.ts'
import { createEventStreams, type StreamPlace } from './event-streams.ts'
import { openFixture } from './fixture.ts'

async function setup(t: TestContext) {
  const f = await openFixture()
  t.after(() => f.app.close())
  const { clock, logger } = f.deps
  return (most: number, mostPerHolder = 8) => {
    const limits = { most, mostPerHolder, beatMs: 15_000, slowReaderMs: 10_000 }
    const streams = createEventStreams({ clock, logger, limits, holder: 'user' })
    /** A place, or the code of the refusal. */
    const reserve = (tenantId: string, userId: string): StreamPlace | string => {
      try {
        return streams.reserve({ tenantId, name: userId })
      } catch (error) {
        return isPillarboxError(error) ? error.code : assert.fail(String(error))
      }
    }
    /** As many as there are, each for another user; answers how many, and with what the next is refused. */
    const takeAll = (tenantId: string): [number, string] => {
      for (let i = 0; ; i++) {
        const place = reserve(tenantId, `user-${i}`)
        if (typeof place === 'string') return [i, place]
      }
    }
    return { reserve, takeAll }
  }
}

it('leaves room for other tenants, whatever one takes', async (t) => {
  const { takeAll } = (await setup(t))(1_000)

  assert.deepEqual(takeAll('greedy'), [800, 'rate_limited'])
  assert.deepEqual(takeAll('another'), [160, 'rate_limited'])
  assert.deepEqual(takeAll('third'), [32, 'rate_limited'])
})

it('gives a place that was left to whoever comes next', async (t) => {
  const { reserve, takeAll } = (await setup(t))(10, 1)
  const first = reserve('acme', 'ada')
  assert.deepEqual(takeAll('acme'), [7, 'rate_limited'])

  assert.ok(typeof first !== 'string')
  first.release()
  first.release()

  assert.notEqual(typeof reserve('acme', 'ada'), 'string')
  assert.equal(reserve('acme', 'bob'), 'rate_limited')
})

it('lets a tenant without a stream have one until there is no place left at all', async (t) => {
  const open = await setup(t)
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 60 }), (tenants) => {
      const { reserve } = open(20)
      let taken = 0
      for (const [i, tenantId] of tenants.entries()) if (typeof reserve(tenantId, `${i}`) !== 'string') taken += 1

      assert.equal(typeof reserve('newcomer', 'ada') === 'string', taken === 20)
    }),
  )
})
