import { type AuditEntry, type AuditedRow, SYSTEM } from '../../model/audit.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type { AuditFilter } from '../../operate/audit-store.ts'
import { ACT_ROWS, ATTEMPT_ROWS, type AuditedTable, entriesOf, withOrigins } from './audit-rows.ts'
import { decodeCursor, encodeCursor, invalidCursor } from './cursor.ts'
import { uuidOrNull } from './fields.ts'
import { conditionsOf } from './noun.ts'
import { type Dialect, row, rows, type Script } from './script.ts'
import { RESULT_VERBS } from './transitions.ts'

/** So many rows of either table are looked at for one page, whatever the filter leaves of them. */
const WINDOW = 10_000
/** By how much the times of rows may be out of the order of their numbers: nothing is under way for longer. */
const DISORDER_MS = 24 * 3_600_000

/** An entry's place: its row's number, and whether it is the call of an attempt (0) or the row's other entry (1). */
interface EntryPlace {
  id: number
  part: number
}

/** Where entries are looked for: in rows with numbers above `after` and below `before`. */
interface Bounds {
  after: number
  before: number
}

/**
 * Newest first: the heads of two indexes are merged, nothing is sorted but a page. Where times are asked for, links tell
 * which numbers can have them.
 */
export function* listAudit(dialect: Dialect, filter: AuditFilter, page: Page): Script<PageOf<AuditEntry>> {
  const notificationId = filter.notificationId === undefined ? undefined : uuidOrNull(filter.notificationId)
  if (notificationId === null) return { items: [], nextCursor: null }
  const wanted = { ...filter, notificationId }
  const cursor = page.cursor === undefined ? null : placeOf(page.cursor)
  const bounds = yield* boundsOf(dialect, wanted, cursor)
  const acts = yield* look(dialect, ACT_ROWS, wanted, bounds, page.limit)
  const attempts = mayBeAttempts(wanted)
    ? yield* look(dialect, ATTEMPT_ROWS, wanted, bounds, page.limit)
    : { rows: [], end: null }
  // Below the higher of the two ends one table has not been looked at.
  const end = Math.max(acts.end ?? 0, attempts.end ?? 0)
  const merged = [...acts.rows, ...attempts.rows].filter(({ id }) => id >= end).toSorted((a, b) => b.id - a.id)
  const found = merged
    .flatMap((each) => entriesOf(each).toReversed())
    .filter((entry) => filter.action === undefined || entry.action === filter.action)
    .filter((entry) => cursor === null || isBefore(partOf(entry.id), cursor))
  const items = yield* withOrigins(found.slice(0, page.limit))
  if (found.length > page.limit) return { items, nextCursor: cursorOf(partOf(items.at(-1)?.id ?? '')) }
  return { items, nextCursor: end === 0 ? null : cursorOf({ id: end, part: 0 }) }
}

function* boundsOf(dialect: Dialect, filter: AuditFilter, cursor: EntryPlace | null): Script<Bounds> {
  const { tenantId, from, to } = filter
  let [after, before] = [0, cursor === null ? Number.MAX_SAFE_INTEGER : cursor.id + 1]
  if (tenantId !== undefined && from !== undefined) {
    const earlier = yield* row(
      `select to_id from pillarbox.audit_links where tenant_id = :tenantId and last_at < ${dialect.instant(':time')}
        order by last_at desc limit 1`,
      { tenantId, time: from - DISORDER_MS },
    )
    after = Number(earlier?.['to_id'] ?? 0)
  }
  if (tenantId !== undefined && to !== undefined) {
    const later = yield* row(
      `select to_id from pillarbox.audit_links where tenant_id = :tenantId and first_at >= ${dialect.instant(':time')}
        order by first_at limit 1`,
      { tenantId, time: to + DISORDER_MS },
    )
    before = Math.min(before, Number(later?.['to_id'] ?? before))
  }
  return { after, before }
}

/** Attempts are the system's, have verbs of their own, and are about notifications. */
function mayBeAttempts({ actor = SYSTEM, action, subject }: AuditFilter): boolean {
  const verbs: readonly string[] = ['attempt', ...Object.values(RESULT_VERBS)]
  return actor === SYSTEM && subject === undefined && (action === undefined || verbs.includes(action))
}

const CONDITIONS_OF_ACTS = {
  actor: 'r.actor = :actor',
  action: 'r.action = :action',
  subject: 'r.subject = :subject',
}

/** The newest rows that the filter leaves, and below which number nothing was looked at; null: at everything. */
function* look(
  dialect: Dialect,
  source: AuditedTable,
  filter: AuditFilter,
  bounds: Bounds,
  limit: number,
): Script<{ rows: AuditedRow[]; end: number | null }> {
  const isAttempts = source === ATTEMPT_ROWS
  const time = isAttempts ? dialect.plus('r.started_at', 'r.duration_ms') : 'r.at'
  const where = conditionsOf(filter, {
    ...(isAttempts ? {} : CONDITIONS_OF_ACTS),
    from: `${time} >= ${dialect.instant(':from')}`,
    to: `${time} < ${dialect.instant(':to')}`,
  })
  if (isAttempts && filter.action !== undefined && filter.action !== 'attempt') {
    where.push('r.to_status = :toStatus', 'not r.late')
  }
  const toStatus = Object.entries(RESULT_VERBS).find(([, verb]) => verb === filter.action)?.[0]
  // Tells the planner which index is the small one.
  if (!isAttempts && filter.actor !== undefined && filter.actor !== SYSTEM) where.push(`r.actor <> '${SYSTEM}'`)
  const { range, end } = yield* windowOf(source, filter, { ...bounds, isFiltered: where.length > 0 })
  const found = yield* rows(
    `select ${source.columns} ${range.from} where ${[...range.where, ...where].join(' and ')}
      order by ${source.id} desc limit :limit`,
    { ...filter, ...range.values, toStatus, limit: limit + 2 },
  )
  const isCut = found.length === limit + 2
  return { rows: found.map(source.of), end: isCut ? source.of(found.at(-1) ?? {}).id : end }
}

interface Range {
  from: string
  where: string[]
  values: Record<string, unknown>
}

/** The rows to look at, in the order of an index, and where they end if not with the last. */
function* windowOf(
  { table, id }: AuditedTable,
  { tenantId, notificationId }: AuditFilter,
  { after, before, isFiltered }: Bounds & { isFiltered: boolean },
): Script<{ range: Range; end: number | null }> {
  const where = [`${id} > :after`, `${id} < :before`]
  const from = `from ${table} r`
  if (notificationId !== undefined) {
    // Those of one notification are few.
    where.push('r.notification_id = :notificationId')
    if (tenantId !== undefined) where.push('r.tenant_id = :tenantId')
    return { range: { from, where, values: { after, before } }, end: null }
  }
  if (tenantId !== undefined) {
    where.push('r.tenant_id = :tenantId')
    // Every row counts: the limit is bound enough.
    if (!isFiltered) return { range: { from, where, values: { after, before } }, end: null }
    const last = yield* row(
      `select ${id} as id ${from} where ${where.join(' and ')} order by ${id} desc limit 1 offset ${WINDOW}`,
      { after, before, tenantId },
    )
    const end = last === null ? null : Number(last['id'])
    return { range: { from, where, values: { after: end === null ? after : end - 1, before } }, end }
  }
  // Of all tenants: numbers have hardly any gaps, so a stretch of them is as good. Attempts have no index without a tenant.
  const newest = yield* row(
    `select (select max(x.id) from pillarbox.audit x where x.id < :before) as act,
      (select max((select a.audit_id from pillarbox.attempts a where a.tenant_id = t.id and a.audit_id < :before
        order by a.audit_id desc limit 1)) from pillarbox.tenants t) as attempt`,
    { before },
  )
  const highest = Math.max(Number(newest?.['act'] ?? 0), Number(newest?.['attempt'] ?? 0))
  const end = Math.max(after, highest - WINDOW)
  const values = { after: end, before: Math.min(before, highest + 1) }
  const isLast = end === 0
  if (table === ACT_ROWS.table) return { range: { from, where, values }, end: isLast ? null : end + 1 }
  return {
    range: {
      from: `from pillarbox.tenants t cross join ${table} r`,
      where: [...where, 'r.tenant_id = t.id'],
      values,
    },
    end: isLast ? null : end + 1,
  }
}

function partOf(entryId: string): EntryPlace {
  const [id = '', call] = entryId.split('-')
  return { id: Number(id), part: call === undefined ? 1 : 0 }
}

function isBefore(a: EntryPlace, b: EntryPlace): boolean {
  return a.id < b.id || (a.id === b.id && a.part < b.part)
}

function cursorOf({ id, part }: EntryPlace): string {
  return encodeCursor([String(id), String(part)])
}

function placeOf(cursor: string): EntryPlace {
  const [id, part] = decodeCursor(cursor, 2).map(Number)
  if (id === undefined || part === undefined || !Number.isSafeInteger(id) || id < 0 || (part !== 0 && part !== 1))
    throw invalidCursor()
  return { id, part }
}
