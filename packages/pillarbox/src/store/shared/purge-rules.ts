import { purgeOf, SYSTEM } from '../../model/audit.ts'
import type { PurgeStretch } from '../../operate/retention-store.ts'
import { writeAudit } from './audit.ts'
import { type Dialect, instantOf, row, rows, type Script } from './script.ts'

export type TenantStretch = PurgeStretch & { tenantId: string; before: number }

/**
 * What was sent and has channels left in its chain is kept at least this long: a vendor that reports a failure late still
 * makes the next channel begin.
 */
export const CHAIN_KEPT_MS = 7 * 24 * 3_600_000

/**
 * Whether a notification `n`, with its rows `d` and `s` in the work tables, is over and nothing has happened to it since
 * `:before`. What waits for a worker or for an operator is never over.
 */
export function isOver(dialect: Dialect): string {
  const before = dialect.instant(':before')
  return `(d.notification_id is null and n.created_at < ${before}
    and (s.notification_id is null or (s.settled_at < ${before} and s.status not in ('parked', 'uncertain')))
    and (n.fallback is null or coalesce(s.status, 'sent') <> 'sent' or n.created_at < ${dialect.instant(':chainBefore')})
    and ${none(`pillarbox.attempts a where a.notification_id = n.id and a.started_at >= ${before}`)}
    and ${none(`pillarbox.audit r where r.notification_id = n.id and r.at >= ${before}`)})`
}

/**
 * That there is no such row. `not exists` would let PostgreSQL read the whole table once to look the answers up in a hash, as
 * it does where it believes the table empty: a purged one is, until somebody counts again.
 */
export function none(from: string): string {
  return `(select 1 from ${from} limit 1) is null`
}

/** What `isOver` names. */
export function instantsOf(before: number, now: number): { before: number; chainBefore: number } {
  return { before, chainBefore: Math.min(before, now - CHAIN_KEPT_MS) }
}

/** The ids of notifications begin with the time that they were made at. */
export function firstIdOf(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-0000-0000-000000000000`
}

export const NO_ID = firstIdOf(0)

export function* storeTime(dialect: Dialect): Script<number> {
  return instantOf((yield* row(`select ${dialect.now} as now`))?.['now'])
}

/** How many rows are gone, or would be. */
export function* removeWhere(given: {
  table: string
  where: string
  values: object
  isDryRun: boolean
}): Script<number> {
  const { table, where, values, isDryRun } = given
  if (isDryRun) {
    const found = yield* row(`select count(*) as count from pillarbox.${table} where ${where}`, values)
    return Number(found?.['count'])
  }
  return (yield* rows(`delete from pillarbox.${table} where ${where} returning 1 as gone`, values)).length
}

/**
 * Lets rows of the audit, and attempts, be removed that are older than `before`: that they are is on record in their chain from
 * now on, once for each instant, so that nobody takes them for deleted by hand.
 */
export function* accountForRemoval(dialect: Dialect, tenantId: string | null, before: number): Script<void> {
  yield* dialect.allowAuditUpkeep()
  const purge = purgeOf(before, {})
  const known = yield* row(
    `select 1 as one from pillarbox.audit where ${tenantId === null ? 'tenant_id is null' : 'tenant_id = :tenantId'}
      and subject = :subject and action = :action and reason >= :reason limit 1`,
    { tenantId, ...purge },
  )
  if (!known) yield* writeAudit(dialect, { tenantId, actor: SYSTEM, ...purge })
}
