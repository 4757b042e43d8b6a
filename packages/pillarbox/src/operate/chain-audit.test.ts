import assert from 'node:assert/strict'
import { it } from 'node:test'
import { silent } from '../../../../test/support/samples.ts'
import { until } from '../../../../test/support/until.ts'
import { systemClock } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { runAuditChainer } from './chain-audit.ts'
import { verifyChain } from './verify-audit.ts'

it('chains what is on record, and what comes later, until it is stopped', async (t) => {
  const store = await openSqlite({ path: ':memory:', clock: systemClock, logger: silent })
  await store.migrate()
  const stop = new AbortController()
  const record = (): Promise<void> =>
    store.audit.record({ tenantId: null, actor: 'cli', action: 'rotate', subject: 'master-key:k' })
  await record()
  const deps = { store, clock: systemClock, random: () => 0.5, logger: silent, everyMs: 1 }
  const running = runAuditChainer(deps, stop.signal)
  t.after(async () => {
    stop.abort()
    await running
    await store.close()
  })

  await until('the first is chained', async () => (await verifyChain(store.audit, '')).rows === 1)
  await record()
  const chain = await until('the second is, too', async () => {
    const found = await verifyChain(store.audit, '')
    return found.rows === 2 && found
  })

  assert.deepEqual([chain.fault, chain.head?.number], [null, 2])
})
