import type { Reason } from '../../model/reason.ts'
import { secondOf } from '../../model/rollup.ts'
import { writeAudit } from './audit.ts'
import { booleanOf, textOrNull } from './fields.ts'
import { IS_RETRYING } from './notification-view.ts'
import { GROUP_COLUMNS, groupOf, plainMove, secondNow, writeMoves } from './rollup-deltas.ts'
import { type Dialect, givenIds, givenRows, instantOf, type Row, rows, type Script } from './script.ts'
import { type SettledRow, type StopReason, stopChanges, type WaitingNotification } from './transitions.ts'

const SETTLED_COLUMNS = {
  notification_id: 'uuid',
  tenant_id: 'text',
  status: 'text',
  reason: 'text',
  last_error: 'text',
  spent: 'bigint',
  attempt: 'bigint',
  possible_duplicate: 'boolean',
  code: 'text',
  fingerprint: 'text',
} as const

/**
 * Writes where notifications came to rest. A row that is there already is replaced, and keeps the receipts' times; what was
 * heard counts for nothing once somebody acted.
 */
export function* writeSettled(dialect: Dialect, settled: readonly SettledRow[]): Script<void> {
  const given = settled.map((each) => ({
    notification_id: each.notificationId,
    tenant_id: each.tenantId,
    status: each.status,
    reason: each.reason,
    last_error: each.lastError,
    spent: each.spent,
    attempt: each.attempt,
    possible_duplicate: each.possibleDuplicate,
    code: each.code,
    fingerprint: each.fingerprint,
  }))
  yield* rows(
    `insert into pillarbox.settled
        (notification_id, tenant_id, status, reason, last_error, spent, attempt, possible_duplicate, code, fingerprint,
          settled_at)
      select g.notification_id, g.tenant_id, g.status, g.reason, g.last_error, g.spent, g.attempt, g.possible_duplicate,
        g.code, g.fingerprint, ${dialect.now} from :g where true
      on conflict (notification_id) do update set status = excluded.status, reason = excluded.reason,
        last_error = excluded.last_error, possible_duplicate = excluded.possible_duplicate, code = excluded.code,
        fingerprint = excluded.fingerprint, settled_at = excluded.settled_at, heard = null`,
    { g: givenRows(SETTLED_COLUMNS, given) },
  )
}

/** What `waitingOf` reads of a dispatch row `d` without a token and its ledger row `n`. */
export const WAITING_COLUMNS = `d.notification_id, d.attempt, d.spent, d.possible_duplicate, d.visible_at,
  ${GROUP_COLUMNS}, ${IS_RETRYING} as is_retrying`

function waitingOf(found: Row): WaitingNotification {
  return {
    notificationId: String(found['notification_id']),
    tenantId: String(found['tenant_id']),
    from: booleanOf(found['is_retrying']) ? 'retrying' : 'queued',
    attempt: Number(found['attempt']),
    spent: Number(found['spent']),
    possibleDuplicate: booleanOf(found['possible_duplicate']),
    accountId: textOrNull(found['account_id']),
  }
}

/** Takes rows with `WAITING_COLUMNS`, which are locked, out of the work table, on record. */
export function* stopWaiting(dialect: Dialect, found: readonly Row[], stop: StopReason): Script<void> {
  if (found.length === 0) return
  const waiting = found.map(waitingOf)
  yield* rows('delete from pillarbox.dispatch where notification_id in (select g.id from :g)', {
    g: givenIds(waiting.map(({ notificationId }) => notificationId)),
  })
  const changes = waiting.map((each) => stopChanges(each, stop))
  yield* writeSettled(
    dialect,
    changes.map(({ settled }) => settled),
  )
  yield* writeAudit(dialect, ...changes.map(({ audit }) => audit))
  const atSecond = yield* secondNow(dialect)
  yield* writeMoves(
    found.map((row) => {
      const dueSecond = secondOf(instantOf(row['visible_at']))
      return plainMove({ group: groupOf(row), from: 'live', to: stop.to, atSecond, dueSecond })
    }),
  )
}

interface LaneStop {
  accountId: string
  reason: Reason
  error: string
  actor: string
  limit: number
}

/**
 * Parks what waits on a lane whose account was suspended. What is claimed is left to its worker, who looks at the account
 * before a call is made.
 */
export function* stopLane(dialect: Dialect, { accountId, limit, ...stop }: LaneStop): Script<number> {
  const waiting = yield* rows(
    `select ${WAITING_COLUMNS} from pillarbox.dispatch d cross join pillarbox.notifications n
      where d.lane_id = :accountId and d.token is null and n.id = d.notification_id
      order by d.visible_at, d.notification_id limit :limit ${dialect.skipLocked('d')}`,
    { accountId, limit },
  )
  yield* stopWaiting(dialect, waiting, { ...stop, to: 'parked', action: 'park' })
  return waiting.length
}
