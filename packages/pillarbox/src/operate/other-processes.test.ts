import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, silent } from '../../../../test/support/samples.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { warnOfOtherProcesses } from './other-processes.ts'

const SELF = { id: 'self', host: 'here' }

async function setup(t: TestContext) {
  const clock = createManualClock()
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  const announce = (id: string, host: string, pid: number): Promise<void> =>
    store.sealed.announce({ id, host, pid, part: 'start', keyIds: [], sealsUnder: null })
  const warnings = async (running: readonly number[]): Promise<unknown[]> => {
    const logger = recordingLogger()
    const isRunning = (pid: number): boolean => running.includes(pid)
    await warnOfOtherProcesses({ store, self: SELF, isRunning, silentAfterMs: 30_000, logger })
    return logger.lines.map(({ level, fields }) => ({ level, ...fields }))
  }
  return { clock, announce, warnings }
}

it('a process that has the same file is named, on this machine and on another', async (t) => {
  const { announce, warnings } = await setup(t)
  await announce('self', 'here', 10)
  await announce('second', 'here', 11)
  await announce('third', 'elsewhere', 12)

  assert.deepEqual(await warnings([10, 11]), [
    { level: 'warn', host: 'elsewhere', pid: 12, part: 'start' },
    { level: 'warn', host: 'here', pid: 11, part: 'start' },
  ])
})

it('one that was killed, or has been silent for long, is not', async (t) => {
  const { clock, announce, warnings } = await setup(t)
  await announce('killed', 'here', 11)
  assert.deepEqual(await warnings([]), [])

  await announce('silent', 'elsewhere', 12)
  await clock.advance(30_001)
  assert.deepEqual(await warnings([11]), [])
})
