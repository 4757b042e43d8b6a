import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { Clock, Logger } from '../../model/ports.ts'
import { MIGRATIONS as POSTGRES_MIGRATIONS } from '../postgres/migrations/index.ts'
import { MIGRATIONS } from './migrate.ts'
import { openSqlite } from './open.ts'

const run = promisify(execFile)
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const clock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  sleep: () => assert.fail('nobody is in the way'),
}

async function setup(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
  t.after(() => rm(folder, { recursive: true }))
  return join(folder, 'store.db')
}

it('brings an empty file to the schema this code wants, once', async (t) => {
  const store = await openSqlite({ path: await setup(t), clock, logger: silent })
  const before = await store.schema()

  const answers = [await store.migrate(), await store.migrate()]

  assert.equal(before.found, 0)
  assert.deepEqual(answers, [
    { from: 0, to: before.wanted },
    { from: before.wanted, to: before.wanted },
  ])
  await store.close()
})

it('has the same versions as on PostgreSQL', () => {
  assert.deepEqual(
    MIGRATIONS.map(({ name }) => name),
    POSTGRES_MIGRATIONS.map(({ name }) => name),
  )
})

it('refuses a schema newer than this code, and leaves it alone', async (t) => {
  const path = await setup(t)
  const store = await openSqlite({ path, clock, logger: silent })
  const { to } = await store.migrate()
  const newer = new DatabaseSync(path)
  newer.exec(`insert into pillarbox_schema_versions values (${to + 1}, 'from the future', 0)`)
  newer.close()

  await assert.rejects(store.migrate(), { name: 'SetupError', message: /schema version/ })

  assert.deepEqual(await store.schema(), { found: to + 1, wanted: to })
  await store.close()
})

it('is done once when processes start on the same empty file at once', async (t) => {
  const path = await setup(t)
  const script = `
    import { setTimeout as sleep } from 'node:timers/promises'
    import { openSqlite } from ${JSON.stringify(new URL('./open.ts', import.meta.url).href)}
    const clock = { now: Date.now, monotonic: () => performance.now(), sleep: (ms) => sleep(ms) }
    const logger = { debug() {}, info() {}, warn() {}, error() {} }
    await sleep(Math.max(0, ${Date.now() + 700} - Date.now()))
    const store = await openSqlite({ path: ${JSON.stringify(path)}, clock, logger })
    console.log(JSON.stringify(await store.migrate()))
    await store.close()`

  const processes = await Promise.all(
    [1, 2, 3].map(() => run(process.execPath, ['--conditions=source', '--input-type=module', '-e', script])),
  )

  const answers = processes.map(({ stdout }) => JSON.parse(stdout) as { from: number; to: number })
  const wanted = answers[0]?.to
  assert.deepEqual(
    answers.map(({ from }) => from).sort((a, b) => a - b),
    [0, wanted, wanted],
  )
})
