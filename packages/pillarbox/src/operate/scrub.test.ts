import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger } from '../../../../test/support/samples.ts'
import { runScrubber } from './scrub.ts'

const EVERY_MS = 2_000

function setup(scrub: (call: number) => number | Error) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const limits: number[] = []
  const notifications = {
    scrub: async (limit: number) => {
      limits.push(limit)
      const answer = scrub(limits.length)
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  const stop = new AbortController()
  const deps = { store: { notifications }, clock, random: () => 0.5, logger, everyMs: EVERY_MS }
  return { clock, logger, limits, stop, running: runScrubber(deps, stop.signal) }
}

describe('removing secrets that are no longer needed', () => {
  it('happens every few seconds until it is stopped', async () => {
    const { clock, limits, stop, running } = setup(() => 0)

    await clock.advance(3 * EVERY_MS)
    stop.abort()
    await running

    assert.equal(limits.length, 4)
    assert.equal(clock.sleeping(), 0)
  })

  it('goes on at once while batches are full', async () => {
    const { clock, limits, stop } = setup((call) => (call <= 3 ? 500 : 7))

    await clock.settle()
    stop.abort()

    assert.deepEqual(limits, [500, 500, 500, 500])
  })

  it('survives a store that is away, asks it less often, and is back in step afterwards', async () => {
    const { clock, limits, logger, stop } = setup((call) => (call <= 2 ? new Error('away') : 0))

    await clock.advance(2 * EVERY_MS)
    assert.equal(limits.length, 2)
    await clock.advance(4 * EVERY_MS)
    assert.equal(limits.length, 3)
    await clock.advance(EVERY_MS)
    stop.abort()

    assert.equal(limits.length, 4)
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 2)
  })
})
