import type { Clock, Logger, Meters, Random } from '../model/ports.ts'
import type { Store } from '../store/store.ts'
import type { AccountBook } from '../tenant/account-book.ts'
import type { Completer } from './completer.ts'
import type { Custody } from './custody.ts'
import type { Claim } from './dispatch-store.ts'
import type { Heartbeat } from './heartbeat.ts'
import { report } from './report.ts'
import { type SettleDeps, settleLost } from './settle.ts'

/**
 * Takes over what dead workers held. Each such row gets a new token, which fences the dead worker should it wake up,
 * and is settled as a call whose outcome is unknown: what follows depends on what its provider can do.
 */
export interface RescuerDeps {
  store: Pick<Store, 'workers'>
  accounts: AccountBook
  attempt: SettleDeps
  completer: Completer
  custody: Custody
  heartbeat: Heartbeat
  clock: Clock
  random: Random
  logger: Logger
  meters: Meters
  ttlMs: number
  /** How often to look; a look that finds nothing is one small statement. */
  everyMs: number
}

const MOST_ROWS = 500

/** Looks for dead workers, and for this worker's own orphans, until `stop` aborts. */
export async function runRescuer(deps: RescuerDeps, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    let rescued = 0
    try {
      await settleAll(deps, await deps.custody.recover())
      rescued = await rescue(deps)
    } catch (error) {
      deps.logger.warn({ error: String(error) }, 'looking for dead workers failed; trying again')
    }
    if (rescued < MOST_ROWS) await deps.clock.sleep(deps.everyMs * (0.8 + 0.4 * deps.random()), stop)
  }
}

/** One look for dead workers. Resolves once everything it took over is settled. */
export async function rescue(deps: RescuerDeps): Promise<number> {
  if (!deps.heartbeat.mayStart()) return 0
  const claims = await deps.custody.take(
    () => deps.store.workers.takeOver(deps.heartbeat.id(), deps.ttlMs, MOST_ROWS),
    (taken) => taken,
  )
  if (claims.length > 0) {
    deps.meters.count('claims_rescued', {}, claims.length)
    deps.logger.warn({ rows: claims.length }, 'took over the claims of dead workers')
  }
  await settleAll(deps, claims)
  return claims.length
}

async function settleAll(deps: RescuerDeps, claims: readonly Claim[]): Promise<void> {
  if (claims.length === 0) return
  const { attempt, accounts, completer, custody, logger } = deps
  try {
    await accounts.get([...new Set(claims.map((claim) => claim.accountId))])
  } catch (error) {
    // Not settled, so not held: the next look for orphans finds them again.
    for (const claim of claims) custody.ended(claim)
    custody.answerLost()
    throw error
  }
  await Promise.all(
    claims.map(async (claim) => {
      const completion = await settleLost(attempt, claim, accounts.peek(claim.accountId))
      await completer.write(completion)
      custody.ended(claim)
      report(logger, claim, completion)
    }),
  )
}
