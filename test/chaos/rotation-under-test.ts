import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { rotate } from '../../packages/pillarbox/src/cli/rotate.ts'
import { createKeyFiles } from '../../packages/pillarbox/src/config/key-files.ts'
import { loadConfig } from '../../packages/pillarbox/src/config/load.ts'
import { createIdSource } from '../../packages/pillarbox/src/runtime/ids.ts'
import { systemClock, systemRandom } from '../../packages/pillarbox/src/runtime/system.ts'
import { openPostgres } from '../../packages/pillarbox/src/store/postgres/open.ts'
import { openSqlite } from '../../packages/pillarbox/src/store/sqlite/open.ts'
import { filesUnderTest, type Reach, storeUnderTest } from './rotation-steps.ts'

/**
 * `pillarbox keys rotate`, made of the same parts, which kills itself with SIGKILL when it reaches the step named by
 * CHAOS_KILL_AT (`turn.after:1` is the first time).
 */
const [killAt, nth] = (process.env['CHAOS_KILL_AT'] ?? '').split(':')
const answer = await loadConfig({ flags: {}, env: process.env, cwd: process.cwd(), clock: systemClock })
if ('problems' in answer) throw new Error(JSON.stringify(answer.problems))
const { config } = answer

let hits = 0
const reach: Reach = (step) => {
  if (step !== killAt || ++hits !== Number(nth)) return
  process.kill(process.pid, 'SIGKILL')
  // The signal is on its way; nothing may happen meanwhile.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

const ids = createIdSource(systemClock, systemRandom())
const given = { clock: systemClock, logger: { debug() {}, info() {}, warn() {}, error() {} } }
const { databaseUrl: url } = config
const isSqlite = url.startsWith('sqlite:')
// Not by way of the whole engine: this process is started very often.
const store = isSqlite
  ? await openSqlite({ path: url.slice('sqlite:'.length), ...given })
  : await openPostgres({ url, ...given })
await rotate(
  {
    config,
    store: storeUnderTest(store, reach),
    files: filesUnderTest(createKeyFiles(config.dataDir, { randomBytes, newId: ids }), reach),
    clock: systemClock,
    randomBytes,
    self: { id: ids(), host: hostname(), pid: process.pid },
    write: (text) => void writeSync(1, text),
    rows: 4,
  },
  { isDryRun: false },
)
await store.close()
