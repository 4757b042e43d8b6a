import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { type CommandCall, withStore } from './call.ts'

/** How often a count that takes long says how far it is. */
const REPORT_EVERY_MS = 2_000

/** `rollups rebuild`: counts everything anew and mends the sums by what they were wrong. Answers the exit code. */
export function rebuildRollups(call: CommandCall): Promise<number> {
  const { clock, stdout } = call
  return withStore(call, async (store) => {
    let reportedAt = clock.monotonic()
    const rebuilt = await store.rollups.rebuild(createIdSource(clock, systemRandom())(), (counted) => {
      if (clock.monotonic() - reportedAt < REPORT_EVERY_MS) return
      reportedAt = clock.monotonic()
      stdout.write(`${counted} notifications counted\n`)
    })
    if (!rebuilt) {
      stdout.write(
        'refused: another process is counting, or was five minutes ago and died; wait for it, then run this again\n',
      )
      return 1
    }
    const { notifications, mended } = rebuilt
    stdout.write(
      mended === 0
        ? `done: ${notifications} notifications counted, every sum was right\n`
        : `done: ${notifications} notifications counted, ${mended} sums mended\n`,
    )
    return 0
  })
}
