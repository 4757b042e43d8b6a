import { linkOf } from '../../packages/pillarbox/src/operate/audit-chain.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { until } from './until.ts'

/** Chains all that is on record, a stretch of at most `rowsOfEach` rows at a time, as the worker's loop does. */
export async function chainAudit(store: Pick<Store, 'audit'>, rowsOfEach = 1_000): Promise<void> {
  const horizon = await store.audit.horizon()
  await until('everything is chained', async () => {
    // Null: whatever else runs on the same server may still be under way.
    const stretches = await store.audit.unchained(horizon, { chains: 100, rowsOfEach })
    await store.audit.append((stretches ?? []).map(linkOf))
    return stretches?.length === 0
  })
}
