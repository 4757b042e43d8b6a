import type { AuditedRow, AuditHead, AuditLink } from '../../model/audit.ts'
import type { AuditHorizon, AuditStore, UnchainedLimit, UnchainedStretch } from '../../operate/audit-store.ts'
import { ACT_ROWS, ATTEMPT_ROWS, type AuditedTable } from './audit-rows.ts'
import { booleanOf } from './fields.ts'
import { nounOf } from './noun.ts'
import { type Dialect, givenRows, type Row, row, rows, type Script, type ScriptRunner } from './script.ts'

export const LINKS = nounOf<AuditLink>('audit_links', {
  tenantId: 'text',
  number: 'number',
  fromId: 'number',
  toId: 'number',
  firstAt: 'instant',
  lastAt: 'instant',
  rowCount: 'number',
  leaves: 'text',
  hash: 'text',
})

/** The chains of the audit: what has no link yet, the links, and the rows that they hold. */
export function sharedAuditLinks({
  dialect,
  read,
  write,
}: ScriptRunner): Pick<
  AuditStore,
  | 'horizon'
  | 'lastId'
  | 'isOver'
  | 'unchained'
  | 'append'
  | 'chains'
  | 'links'
  | 'rows'
  | 'countBehind'
  | 'purgedBefore'
> {
  return {
    horizon: () => (dialect.horizonBy === 'write' ? write : read)(() => dialect.auditHorizon()),
    lastId: () => read(() => dialect.lastAuditId()),
    isOver: (horizon) => read(() => isOver(dialect, horizon)),
    unchained: (horizon, limit) => read(() => unchained(dialect, horizon, limit)),
    append: (links) => write(() => append(dialect, links)),
    chains: () => read(listChains),
    links: (tenantId, after, limit) => read(() => listLinks(tenantId, after, limit)),
    rows: (tenantId, after, upTo) => read(() => chainedRows(tenantId, { after, upTo })),
    purgedBefore: (tenantId) => read(() => purgedBefore(tenantId)),
    countBehind: (tenantId, after) => read(() => countBehind(tenantId, after)),
  }
}

/** The chain of what belongs to no tenant. */
const NOBODY = ''

function ofTenant(tenantId: string): string {
  return tenantId === NOBODY ? 'r.tenant_id is null' : 'r.tenant_id = :tenantId'
}

function* isOver(dialect: Dialect, { transaction }: AuditHorizon): Script<boolean> {
  const over = yield* row(`select ${dialect.isOver(':transaction')} as is_over`, { transaction })
  return booleanOf(over?.['is_over'])
}

/** Chains that have rows without a link: two index probes for each, however many rows they have. */
function* unchained(
  dialect: Dialect,
  horizon: AuditHorizon,
  { chains, rowsOfEach }: UnchainedLimit,
): Script<UnchainedStretch[] | null> {
  const { upTo } = horizon
  if (!(yield* isOver(dialect, horizon))) return null
  const found = yield* rows(
    `select c.tenant_id from (
        select t.id as tenant_id, coalesce((select l.to_id from pillarbox.audit_links l where l.tenant_id = t.id
          order by l.number desc limit 1), 0) as to_id
        from pillarbox.tenants t
      ) c
      where exists (select 1 from pillarbox.attempts r
          where r.tenant_id = c.tenant_id and r.audit_id > c.to_id and r.audit_id <= :upTo)
        or exists (select 1 from pillarbox.audit r
          where r.tenant_id = c.tenant_id and r.id > c.to_id and r.id <= :upTo)
      order by c.tenant_id limit :chains`,
    { upTo, chains },
  )
  const stretches: UnchainedStretch[] = []
  for (const tenantId of [NOBODY, ...found.map(({ tenant_id }) => String(tenant_id))]) {
    const stretch = yield* stretchOf(tenantId, upTo, rowsOfEach)
    if (stretch.rows.length > 0) stretches.push(stretch)
  }
  return stretches
}

function* stretchOf(tenantId: string, upTo: number, most: number): Script<UnchainedStretch> {
  const last = yield* row(
    'select number, to_id, hash from pillarbox.audit_links where tenant_id = :tenantId order by number desc limit 1',
    { tenantId },
  )
  const head: AuditHead | null = last && {
    tenantId,
    number: Number(last['number']),
    toId: Number(last['to_id']),
    hash: String(last['hash']),
  }
  const found = yield* chainedRows(tenantId, { after: head?.toId ?? 0, upTo, most })
  const taken = found.slice(0, most)
  return { tenantId, head, rows: taken, upTo: found.length > most ? (taken.at(-1)?.id ?? upTo) : upTo }
}

interface ChainStretch {
  after: number
  upTo: number
  most?: number
}

/** A chain's rows in the order of their numbers, out of both tables; with `most`, that many and perhaps more. */
export function* chainedRows(tenantId: string, stretch: ChainStretch): Script<AuditedRow[]> {
  const acts = yield* rowsOf(ACT_ROWS, tenantId, stretch)
  // Attempts belong to notifications, and those to tenants.
  const attempts = tenantId === NOBODY ? [] : yield* rowsOf(ATTEMPT_ROWS, tenantId, stretch)
  return [...acts, ...attempts].sort((a, b) => a.id - b.id)
}

function* rowsOf(source: AuditedTable, tenantId: string, { after, upTo, most }: ChainStretch): Script<AuditedRow[]> {
  const found = yield* rows(
    `select ${source.columns} from ${source.table} r
      where ${ofTenant(tenantId)} and ${source.id} > :after and ${source.id} <= :upTo
      order by ${source.id} ${most === undefined ? '' : 'limit :limit'}`,
    { tenantId, after, upTo, limit: (most ?? 0) + 1 },
  )
  return found.map(source.of)
}

const LINK_COLUMNS = {
  place: 'bigint',
  tenant_id: 'text',
  number: 'bigint',
  from_id: 'bigint',
  to_id: 'bigint',
  first_at: 'bigint',
  last_at: 'bigint',
  row_count: 'bigint',
  leaves: 'text',
  hash: 'text',
} as const

function* append(dialect: Dialect, links: readonly AuditLink[]): Script<void> {
  if (links.length === 0) return
  // One worker at a time, until its commit: whoever reads links in the order of their ids misses none.
  yield* rows(
    `insert into pillarbox.audit_marks as m (name, position) values ('chain', 1)
      on conflict (name) do update set position = m.position + 1`,
  )
  const given = links.map((link, place) => ({
    place,
    tenant_id: link.tenantId,
    number: link.number,
    from_id: link.fromId,
    to_id: link.toId,
    first_at: link.firstAt,
    last_at: link.lastAt,
    row_count: link.rowCount,
    leaves: link.leaves,
    hash: link.hash,
  }))
  yield* rows(
    `insert into pillarbox.audit_links
        (tenant_id, number, from_id, to_id, first_at, last_at, row_count, leaves, hash, linked_at)
      select g.tenant_id, g.number, g.from_id, g.to_id, ${dialect.instant('g.first_at')}, ${dialect.instant('g.last_at')},
        g.row_count, g.leaves, g.hash, ${dialect.now} from :g where true order by g.place
      on conflict (tenant_id, number) do nothing`,
    { g: givenRows(LINK_COLUMNS, given) },
  )
}

function* listChains(): Script<string[]> {
  const found = yield* rows('select id from pillarbox.tenants order by id')
  return [NOBODY, ...found.map(({ id }) => String(id))]
}

function* listLinks(tenantId: string, after: number, limit: number): Script<AuditLink[]> {
  const found = yield* rows(
    `select ${LINKS.columns} from pillarbox.audit_links where tenant_id = :tenantId and number > :after
      order by number limit :limit`,
    { tenantId, after, limit },
  )
  return found.map(LINKS.of)
}

/** What `purgeOf` says. */
function* purgedBefore(tenantId: string): Script<number | null> {
  const found = yield* row(
    `select max(r.reason) as latest from pillarbox.audit r where ${ofTenant(tenantId)} and r.action = 'purge'`,
    { tenantId },
  )
  const time = Date.parse(String(found?.['latest']))
  return Number.isNaN(time) ? null : time
}

const MOST_COUNTED = 1_000

function* countBehind(tenantId: string, after: number): Script<number> {
  const counts: number[] = []
  for (const { table, id } of tenantId === NOBODY ? [ACT_ROWS] : [ACT_ROWS, ATTEMPT_ROWS]) {
    const found: Row | null = yield* row(
      `select count(*) as count from (
        select ${id} from ${table} r where ${ofTenant(tenantId)} and ${id} > :after limit ${MOST_COUNTED}) x`,
      { tenantId, after },
    )
    counts.push(Number(found?.['count'] ?? 0))
  }
  return Math.min(
    MOST_COUNTED,
    counts.reduce((sum, count) => sum + count, 0),
  )
}
