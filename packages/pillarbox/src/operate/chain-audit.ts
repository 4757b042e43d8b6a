import { type ChoreDeps, runChore } from '../runtime/chore.ts'
import { linkOf } from './audit-chain.ts'
import type { AuditHorizon, AuditStore } from './audit-store.ts'

/**
 * Chains what is on record, tenant by tenant, behind everybody's back: what writes a row waits for nobody. A stretch is
 * chained as soon as no row can appear in it any more. Any number of workers may do so at once; of two links with one number
 * the first counts, and both are the same.
 */
export interface AuditChainerDeps extends ChoreDeps {
  store: { audit: Pick<AuditStore, 'horizon' | 'unchained' | 'append'> }
}

const LIMIT = { chains: 100, rowsOfEach: 1_000 }

export function runAuditChainer(deps: AuditChainerDeps, stop: AbortSignal): Promise<void> {
  const { audit } = deps.store
  let horizon: AuditHorizon | null = null
  const work = async (): Promise<boolean> => {
    horizon ??= await audit.horizon()
    const stretches = await audit.unchained(horizon, LIMIT)
    // Something that was under way then still is: the same horizon is looked at again later.
    if (stretches === null) return false
    if (stretches.length === 0) {
      horizon = null
      return false
    }
    await audit.append(stretches.map(linkOf))
    return true
  }
  return runChore(deps, { work, trouble: 'the audit could not be chained' }, stop)
}
