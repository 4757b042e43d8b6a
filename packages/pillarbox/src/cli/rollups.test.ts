import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { commandLineOnFile } from '../../../../test/support/command-line.ts'
import { sampleNotification } from '../../../../test/support/samples.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'

/** A command line over a store with three notifications in its queue. */
async function setup(t: TestContext) {
  const { cli, output, clock, open, byHand } = commandLineOnFile(t)
  const store = await open()
  await store.migrate()
  const ids = createIdSource(clock, systemRandom())
  const notifications = ['1', '2', '3'].map((key) => sampleNotification({ id: ids(), idempotencyKey: key }))
  await store.notifications.insert(notifications)
  await store.rollups.fold(100)
  await store.close()
  const rebuild = (): Promise<number> => cli('rollups', 'rebuild')
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
