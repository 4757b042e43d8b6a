import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, sampleNotification, silent } from '../../../../test/support/samples.ts'
import { until } from '../../../../test/support/until.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { readKpis } from './kpis.ts'
import { runRollUp } from './roll-up.ts'

/** A store with two notifications in its queue, and somebody who rolls up. */
async function setup(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'roll-up-'))
  const path = join(folder, 'store.db')
  const [clock, logger, stop] = [createManualClock(), recordingLogger(), new AbortController()]
  const store = await openSqlite({ path, clock, logger: silent, defer: setImmediate })
  await store.migrate()
  const ids = createIdSource(clock, systemRandom())
  await store.notifications.insert(
    ['1', '2'].map((key) => sampleNotification({ id: ids(), idempotencyKey: key, tenantId: 'acme' })),
  )
  const database = new DatabaseSync(path)
  let running: Promise<void> = Promise.resolve()
  t.after(async () => {
    stop.abort()
    await running
    database.close()
    await store.close()
    rmSync(folder, { recursive: true })
  })
  const start = (): void => {
    running = runRollUp({ store, clock, logger, random: () => 0.5, everyMs: 1_000, ids }, stop.signal)
  }
  const deltas = (): number =>
    Number(database.prepare('select count(*) as n from pillarbox_rollup_deltas').get()?.['n'])
  const kpis = async () =>
    (await readKpis({ store, config: { stuckAfterMs: 1, kpiWindowMs: 60_000 } }, { tenantId: 'acme' })).total
  return { store, clock, logger, database, start, deltas, kpis }
}

describe('rolling up', () => {
  it('folds what moved into the sums', async (t) => {
    const { store, start, deltas, kpis } = await setup(t)
    assert.equal(deltas(), 1)

    start()

    await until('the delta is folded', () => deltas() === 0)
    assert.equal((await store.rollups.rebuild('t', () => {}))?.mended, 0)
    assert.equal((await kpis()).queueDepth, 2)
  })

  it('counts what a version without sums left, once, and knows nothing before that', async (t) => {
    const { logger, database, start, kpis } = await setup(t)
    // As an upgrade finds it.
    database.exec('delete from pillarbox_rollup_deltas; update pillarbox_rollup_state set is_counted = 0')
    const { latency: _, ...unknown } = await kpis()
    assert.ok(Object.values(unknown).every((number) => number === null))

    start()

    await until('everything is counted', async () => (await kpis()).queueDepth === 2)
    assert.deepEqual(
      logger.lines.map(({ message }) => message),
      ['counting all notifications once, because the version before kept no sums', 'all notifications are counted'],
    )
  })

  it('forgets seconds that are no longer kept', async (t) => {
    const { clock, database, start, deltas } = await setup(t)
    const seconds = (): number =>
      Number(database.prepare('select count(*) as n from pillarbox_rollup_counts where width = 1').get()?.['n'])
    start()
    await until('the delta is folded', () => deltas() === 0)
    assert.ok(seconds() > 0)

    clock.setWall(clock.now() + 3 * 3_600_000)
    await until('the seconds are forgotten', async () => {
      await clock.advance(2_000)
      return seconds() === 0
    })
  })
})
