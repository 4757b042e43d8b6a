import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { silent } from '../../../../test/support/samples.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { createCrashGuard } from './crash-guard.ts'

const TTL_MS = 30_000
const ROWS = { kind: 'event', rows: [{ tenantId: 'acme', id: 'event-1' }] } as const

it('a planner that beats is dead only where its process would be seen', async (t) => {
  const clock = createManualClock()
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  const guardOf = async (id: string, host: string, pid: number) => {
    await store.workers.register({ id, host: 'same name', pid, version: 'v', channels: null })
    const isRunning = (other: number): boolean => other === 1
    return createCrashGuard({
      plan: store.plan,
      self: () => ({ id, host, pid }),
      isRunning,
      ttlMs: TTL_MS,
      logger: silent,
    })
  }
  const own = await guardOf('own', 'here', 1)
  for (const [id, host, pid] of [
    ['engine in the same process', 'here', 1],
    ['killed', 'here', 2],
    ['same number in another container', 'there', 1],
    ['another number in another container', 'there', 2],
  ] as const)
    await (await guardOf(id, host, pid)).begin(ROWS)

  assert.deepEqual(await own.begin(ROWS), ['killed'])

  await clock.advance(TTL_MS + 1)
  await store.workers.beat('engine in the same process')
  assert.deepEqual((await own.begin(ROWS)).toSorted(), [
    'another number in another container',
    'killed',
    'same number in another container',
  ])
})
