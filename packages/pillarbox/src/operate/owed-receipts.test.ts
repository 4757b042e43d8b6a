import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger } from '../../../../test/support/samples.ts'
import { runOwedReceipts } from './owed-receipts.ts'

const EVERY_MS = 2_000

/** A store that has so many pages of owed receipts, or is away. */
function setup(answer: (call: number) => { next: string | null } | Error) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const asked: (string | null)[] = []
  const inbox = {
    settleOwed: async (after: string | null) => {
      asked.push(after)
      const given = answer(asked.length)
      if (given instanceof Error) throw given
      return { settled: 0, ...given }
    },
  }
  const stop = new AbortController()
  const deps = { store: { inbox }, clock, random: () => 0.5, logger, everyMs: EVERY_MS }
  return { clock, logger, asked, stop, running: runOwedReceipts(deps, stop.signal) }
}

describe('bringing receipts that were owed', () => {
  it('happens every few seconds until it is stopped', async () => {
    const { clock, asked, stop, running } = setup(() => ({ next: null }))

    await clock.advance(3 * EVERY_MS)
    stop.abort()
    await running

    assert.deepEqual(asked, [null, null, null, null])
    assert.equal(clock.sleeping(), 0)
  })

  it('goes through all of them at once, and then from the beginning', async () => {
    const pages: Record<number, string> = { 1: 'a', 2: 'b' }
    const { clock, asked, stop } = setup((call) => ({ next: pages[call] ?? null }))

    await clock.settle()
    assert.deepEqual(asked, [null, 'a', 'b'])
    await clock.advance(EVERY_MS)
    stop.abort()

    assert.deepEqual(asked, [null, 'a', 'b', null])
  })

  it('survives a store that is away, and goes on where it was', async () => {
    const { clock, asked, logger, stop } = setup((call) =>
      call === 2 ? new Error('away') : { next: call === 1 ? 'a' : null },
    )

    await clock.advance(2 * EVERY_MS)
    stop.abort()

    assert.deepEqual(asked, [null, 'a', 'a'])
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1)
  })
})
