import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { sampleNotification, silent } from '../../../../test/support/samples.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import { run } from './run.ts'

/** A command line over a store with three notifications in its queue. */
async function setup(t: TestContext) {
  const cwd = mkdtempSync(join(tmpdir(), 'rollups-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  mkdirSync(join(cwd, '.pillarbox'))
  const path = join(cwd, '.pillarbox/pillarbox.db')
  const clock = createManualClock()
  const open = (): Promise<Store> => openSqlite({ path, clock, logger: silent })
  const store = await open()
  await store.migrate()
  const ids = createIdSource(clock, systemRandom())
  const notifications = ['1', '2', '3'].map((key) => sampleNotification({ id: ids(), idempotencyKey: key }))
  await store.notifications.insert(notifications)
  await store.rollups.fold(100)
  await store.close()
  const output = { stdout: '', stderr: '' }
  const writer = (stream: keyof typeof output) => (text: string) => {
    output[stream] += text
  }
  const rebuild = (): Promise<number> =>
    run(['rollups', 'rebuild'], {
      version: '1.2.3',
      env: {},
      cwd,
      nodeVersion: process.version,
      stdout: { write: writer('stdout'), isTerminal: false, hasColours: false },
      stderr: { write: writer('stderr') },
      stdin: { isTerminal: false, ask: () => assert.fail('asked') },
      clock,
      events: new EventEmitter(),
      exitNow: () => assert.fail('left at once'),
      loadEngine: async () => ({ openStore: open, createPillarbox: () => assert.fail('started') }),
    })
  /** What somebody does to the file by hand. */
  const byHand = (sql: string): void => {
    const database = new DatabaseSync(path)
    database.exec(sql)
    database.close()
  }
  return { rebuild, output, byHand, clock }
}

describe('pillarbox rollups rebuild', () => {
  it('says that every sum was right', async (t) => {
    const { rebuild, output } = await setup(t)

    assert.equal(await rebuild(), 0)

    assert.equal(output.stdout, 'done: 3 notifications counted, every sum was right\n')
  })

  it('mends sums that somebody changed or removed by hand, once and for all', async (t) => {
    const { rebuild, output, byHand } = await setup(t)
    byHand(`delete from pillarbox_rollup_due; update pillarbox_rollup_counts set counts = '{"live":7}' where width = 0`)

    assert.equal(await rebuild(), 0)
    assert.match(output.stdout, /^done: 3 notifications counted, \d+ sums mended\n$/)
    output.stdout = ''
    assert.equal(await rebuild(), 0)

    assert.match(output.stdout, /every sum was right/)
  })

  it('is refused while another one counts, until that one must have died', async (t) => {
    const { rebuild, output, byHand, clock } = await setup(t)
    byHand(`update pillarbox_rollup_state set rebuild_token = 'other', rebuild_until = ${clock.now() + 300_000}`)

    assert.equal(await rebuild(), 1)
    assert.match(output.stdout, /^refused: another process is counting/)
    await clock.advance(300_000)

    assert.equal(await rebuild(), 0)
  })
})
