import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger } from '../../../../test/support/samples.ts'
import { runClockWatch } from './clock-watch.ts'

const EVERY_MS = 2_000
const HOUR_MS = 3_600_000

it('what is due at once is made due when the watch begins and whenever the clock was set back', async () => {
  const clock = createManualClock()
  const logger = recordingLogger()
  const steps: number[] = []
  const bringForward = async (): Promise<number> => (steps.push(clock.monotonic()) === 1 ? 0 : 13)
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

  assert.deepEqual(steps, [0, 3 * EVERY_MS])
  assert.deepEqual(
    logger.lines.map(({ level, fields }) => ({ level, fields })),
    [{ level: 'warn', fields: { rows: 13, seconds: 3_600 } }],
  )
})
