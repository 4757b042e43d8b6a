import type { DispatchStore } from '../../dispatch/dispatch-store.ts'
import { type Dialect, givenIds, instantOf, row, rows, type Script, type ScriptRunner } from './script.ts'
import { stopWaiting, WAITING_COLUMNS } from './settle.ts'

/** What was claimed when it expired, and has come back since, is seen as long as this. */
const SLACK_MS = 120_000

/**
 * Cancels what waits past its expiry; see `expire` of the contract. The first look is at all that waits. Each one after it
 * is at what has expired since the last, by the ledger's index, so that a long queue costs no look more than a short one.
 */
export function expirer({ dialect, read, write }: ScriptRunner): DispatchStore['expire'] {
  let since: number | null = null
  return async (limit) => {
    const { now, ids } = await read(() => expired(dialect, since, limit))
    if (ids.length > 0) await write(() => stopExpired(dialect, ids))
    if (ids.length < limit) since = now - SLACK_MS
    return ids.length
  }
}

// `cross join` only fixes the order for SQLite's planner; with its condition in the where clause it is an inner join.
const ALL = 'pillarbox.dispatch d cross join pillarbox.notifications n'
const RECENT = 'pillarbox.notifications n cross join pillarbox.dispatch d'

function* expired(dialect: Dialect, since: number | null, limit: number): Script<{ now: number; ids: string[] }> {
  const time = yield* row(`select ${dialect.now} as now`)
  const found = yield* rows(
    `select n.id from ${since === null ? ALL : RECENT}
      where n.expires_at <= ${dialect.now} ${since === null ? '' : `and n.expires_at > ${dialect.instant(':since')}`}
        and d.notification_id = n.id and d.token is null
      order by n.expires_at limit :limit`,
    { since, limit },
  )
  return { now: instantOf(time?.['now']), ids: found.map(({ id }) => String(id)) }
}

/** What is claimed meanwhile is left to its worker, who looks at the expiry before a call is made. */
function* stopExpired(dialect: Dialect, ids: readonly string[]): Script<void> {
  const waiting = yield* rows(
    `select ${WAITING_COLUMNS} from pillarbox.dispatch d cross join pillarbox.notifications n
      where d.notification_id in (select g.id from :g) and d.token is null and n.id = d.notification_id
      order by d.notification_id ${dialect.skipLocked('d')}`,
    { g: givenIds(ids) },
  )
  const error = 'not sent before its expiry'
  yield* stopWaiting(dialect, waiting, { to: 'cancelled', action: 'cancel', reason: 'expired', error, actor: 'system' })
}
