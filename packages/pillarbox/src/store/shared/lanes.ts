import type { BreakerState, LaneStore, LaneView } from '../../dispatch/lane-store.ts'
import type { AccountStatus } from '../../model/account.ts'
import type { Channel } from '../../model/channel.ts'
import { textOrNull } from './fields.ts'
import { type Dialect, instantOf, instantOrNull, rows, type Script, type ScriptRunner } from './script.ts'

/** Looking at lanes; what changes them is each engine's own. */
export function sharedLanes({ dialect, read }: ScriptRunner): Pick<LaneStore, 'list'> {
  return { list: (tenantId) => read(() => listLanes(dialect, tenantId)) }
}

function* listLanes(dialect: Dialect, tenantId: string | null): Script<LaneView[]> {
  const found = yield* rows(
    `select l.account_id, a.tenant_id, a.channel, a.status, l.breaker, l.hold_until, l.hold_reason, ${dialect.now} as now
      from pillarbox.lanes l join pillarbox.accounts a on a.id = l.account_id and a.removed_at is null
      ${tenantId === null ? '' : 'where a.tenant_id = $1'} order by l.account_id`,
    tenantId === null ? [] : [tenantId],
  )
  return found.map((lane) => {
    const heldForMs = Math.max(0, (instantOrNull(lane['hold_until']) ?? 0) - instantOf(lane['now']))
    return {
      laneId: String(lane['account_id']),
      tenantId: String(lane['tenant_id']),
      channel: String(lane['channel']) as Channel,
      status: String(lane['status']) as AccountStatus,
      breaker: String(lane['breaker']) as BreakerState,
      heldForMs,
      // A hold that is over leaves its reason behind until the lane is next used.
      holdReason: heldForMs > 0 ? textOrNull(lane['hold_reason']) : null,
    }
  })
}
