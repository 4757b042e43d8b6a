import type { Meters } from '../model/ports.ts'
import { type ChoreDeps, runChore } from '../runtime/chore.ts'
import type { Store } from '../store/store.ts'
import { readKpis } from './kpis.ts'
import { inTurn, type TurnDeps } from './scan-turn.ts'

/** Scans that warn: one worker does each for all, and each tenant gets one line at most. */
export interface ScansDeps extends ChoreDeps, TurnDeps {
  store: Pick<Store, 'scans' | 'rollups' | 'notifications' | 'retention' | 'now'>
  meters: Meters
  settings: ScanSettings
}

export interface ScanSettings {
  stuckEveryMs: number
  stuckAfterMs: number
  staleAfterMs: number
}

/** Warns of what has been due for too long. Told from sums: it costs the same however much there is. */
export function runStuckScan(deps: ScansDeps, stop: AbortSignal): Promise<void> {
  const { store, settings } = deps
  const config = { stuckAfterMs: settings.stuckAfterMs, kpiWindowMs: 1_000 }
  const scan = async (): Promise<boolean> => {
    const { groups } = await readKpis({ store, config }, { tenantId: null, by: 'tenantId' })
    for (const { value: tenantId, stuckCount } of groups ?? [])
      warn(deps, 'stuck', tenantId, stuckCount ?? 0, 'notifications are stuck: due for too long, and not sent')
    return true
  }
  const work = async (): Promise<boolean> => {
    await inTurn(deps, 'stuck', settings.stuckEveryMs, scan)
    return false
  }
  return runChore(deps, { work, trouble: 'what is stuck could not be looked for' }, stop)
}

const STALE_EVERY_MS = 3_600_000
const STRETCH = 500
/** So many stretches of one tenant are looked at before it is the next one's turn. */
const MOST_STRETCHES = 200
/** Of the time, this much is spent on it; the rest belongs to others. */
const SHARE = 0.1
const MAX_PAUSE_MS = 2_000

/** Warns of what was sent long ago and of which no receipt came. Each attempt is looked at once, when it is old enough. */
export function runStaleScan(deps: ScansDeps, stop: AbortSignal): Promise<void> {
  const { store, clock, settings } = deps
  const scan = async (keep: () => Promise<boolean>): Promise<boolean> => {
    let [isWhole, isOurs] = [true, true]
    for (let id = await store.retention.nextTenant(''); id !== null; id = await store.retention.nextTenant(id)) {
      let [stale, isMore] = [0, true]
      for (let stretches = 0; isMore && stretches < MOST_STRETCHES; stretches += 1) {
        const began = clock.monotonic()
        const found = await store.scans.nextStale(id, { staleForMs: settings.staleAfterMs, limit: STRETCH })
        stale += found.stale
        isMore = found.isMore
        if (!isMore) break
        await clock.sleep(Math.min(MAX_PAUSE_MS, (clock.monotonic() - began) * (1 / SHARE - 1)), stop)
        isOurs = await keep()
        if (stop.aborted || !isOurs) break
      }
      warn(deps, 'stale', id, stale, 'notifications have become stale: sent long ago, and no receipt has come')
      isWhole &&= !isMore
      if (stop.aborted || !isOurs || !(await keep())) return false
    }
    return isWhole
  }
  const work = async (): Promise<boolean> => {
    await inTurn(deps, 'stale', STALE_EVERY_MS, scan)
    return false
  }
  return runChore(deps, { work, trouble: 'what is stale could not be looked for' }, stop)
}

function warn(
  { logger, meters }: ScansDeps,
  scan: 'stuck' | 'stale',
  tenantId: string | null,
  count: number,
  message: string,
): void {
  if (count === 0) return
  meters.count('scan_found', { scan }, count)
  logger.warn({ tenantId, count }, message)
}
