import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger } from '../../../../test/support/samples.ts'
import { runClockWatch } from './clock-watch.ts'

const EVERY_MS = 2_000
const HOUR_MS = 3_600_000
const SLOW_MS = 4_000

it('what is due at once is made due when the watch begins and whenever the clock was set back', async () => {
  const clock = createManualClock()
  const logger = recordingLogger()
  const steps: number[] = []
  const bringForward = async (limit: number): Promise<number> => [0, limit, 13][steps.push(clock.monotonic()) - 1] ?? 0
  const store = { now: async () => clock.now(), due: { bringForward } }
  const stop = new AbortController()
  const running = runClockWatch({ store, clock, random: () => 0.5, logger, everyMs: EVERY_MS }, stop.signal)

  await clock.advance(2 * EVERY_MS)
  clock.setWall(clock.now() - HOUR_MS)
  await clock.advance(2 * EVERY_MS)
  clock.setWall(clock.now() + HOUR_MS)
  await clock.advance(2 * EVERY_MS)
  stop.abort()
  await running

  assert.deepEqual(steps, [0, 3 * EVERY_MS, 3 * EVERY_MS])
  assert.deepEqual(
    logger.lines.map(({ level, fields }) => ({ level, fields })),
    [{ level: 'warn', fields: { rows: 513, seconds: 3_600 } }],
  )
})

it('an answer that is on its way for long is not taken for a clock that was set', async () => {
  const clock = createManualClock()
  const logger = recordingLogger()
  let [asked, steps] = [0, 0]
  // Every other answer is old when it comes, or new and late.
  const now = async (): Promise<number> => {
    const time = clock.now()
    asked += 1
    if (asked % 2 === 0) await clock.sleep(SLOW_MS)
    return asked % 4 === 0 ? time : clock.now()
  }
  const bringForward = async (): Promise<number> => {
    steps += 1
    return 0
  }
  const stop = new AbortController()
  const store = { now, due: { bringForward } }
  const running = runClockWatch({ store, clock, random: () => 0.5, logger, everyMs: EVERY_MS }, stop.signal)

  await clock.advance(10 * (EVERY_MS + SLOW_MS))
  stop.abort()
  await clock.advance(SLOW_MS)
  await running

  assert.ok(asked > 8)
  assert.deepEqual([steps, logger.lines], [1, []])
})
