import type {
  KeyHolder,
  SealedChange,
  SealedRow,
  SealedStore,
  SealedStretch,
  SealedTable,
} from '../../operate/sealed-store.ts'
import { textOrNull } from './fields.ts'
import { parameters } from './parameters.ts'
import { type ColumnType, type Dialect, jsonOf, rows, type Script, type ScriptRunner } from './script.ts'

export function sharedSealed({ dialect, read, write }: ScriptRunner): SealedStore {
  return {
    look: (table, after, limit, except) => read(() => look(table, after, limit, except)),
    replace: async (table, changes) => (changes.length === 0 ? 0 : write(() => replace(dialect, table, changes))),
    announce: (holder) => write(() => announce(dialect, holder)),
    leave: (id) =>
      write(function* () {
        yield* rows('delete from pillarbox.key_holders where id = $1', [id])
      }),
    holders: () => read(() => holders(dialect)),
  }
}

/** A stretch is cut before it is filtered: however few of its rows are wanted, a look costs the same. */
interface Stretch {
  /** Rows `tenant_id, id, text`, the text null where there is nothing to do. */
  select: string
  /** Before the first row. */
  start: readonly string[]
  column: 'sealed_secrets' | 'content' | 'payload' | 'sealed'
  types: { id: ColumnType; text: ColumnType }
}

const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000'

/** `$1` is where to begin, `$2` how many, `$3` how a text begins that is passed over; for events, `$1` and `$2` are the key. */
const STRETCHES: Record<SealedTable, Stretch> = {
  accounts: ofTexts('accounts', 'sealed_secrets'),
  inbox_messages: ofTexts('inbox_messages', 'sealed'),
  notifications: {
    select: `select c.tenant_id, c.notification_id as id,
        case when ${isOther(`n.content ->> 'sealed'`)} then cast(n.content as text) end as text
      from (select tenant_id, notification_id from pillarbox.sealed_contents where notification_id > $1
        order by notification_id limit $2) c
      left join pillarbox.notifications n on n.id = c.notification_id order by c.notification_id`,
    start: [BEFORE_ALL_IDS],
    column: 'content',
    types: { id: 'uuid', text: 'json' },
  },
  // Not only those that are noted as sealed: that is done when an event is planned, and some wait or have failed.
  events: {
    select: `select e.tenant_id, e.id,
        case when cast(e.payload as text) like '%"$sealed"%' then cast(e.payload as text) end as text
      from (select tenant_id, id, payload from pillarbox.events where (tenant_id, id) > ($1, $2)
        order by tenant_id, id limit $3) e order by e.tenant_id, e.id`,
    start: ['', ''],
    column: 'payload',
    types: { id: 'text', text: 'json' },
  },
}

function ofTexts(table: 'accounts' | 'inbox_messages', column: 'sealed_secrets' | 'sealed'): Stretch {
  return {
    select: `select t.tenant_id, t.id, case when ${isOther(`t.${column}`)} then t.${column} end as text
      from (select tenant_id, id, ${column} from pillarbox.${table} where id > $1 order by id limit $2) t order by t.id`,
    start: [BEFORE_ALL_IDS],
    column,
    types: { id: 'uuid', text: 'text' },
  }
}

function isOther(text: string): string {
  return `substr(${text}, 1, length(cast($3 as text))) <> cast($3 as text)`
}

function* look(table: SealedTable, after: string | null, limit: number, except: string): Script<SealedStretch> {
  const { select, start } = STRETCHES[table]
  const from = after === null ? start : (JSON.parse(after) as string[])
  const found = yield* rows(select, table === 'events' ? [...from, limit] : [...from, limit, except])
  const last = found.length === limit ? found.at(-1) : undefined
  const keyOf = (row: Record<string, unknown>): string[] =>
    table === 'events' ? [String(row['tenant_id']), String(row['id'])] : [String(row['id'])]
  return {
    rows: found.flatMap((row): SealedRow[] => {
      const text = textOrNull(row['text'])
      return text === null ? [] : [{ tenantId: String(row['tenant_id']), id: String(row['id']), text }]
    }),
    looked: found.length,
    next: last ? JSON.stringify(keyOf(last)) : null,
  }
}

/** What somebody else has locked is about to change: it is passed over, which also means that nobody waits in a circle. */
function* replace(dialect: Dialect, table: SealedTable, changes: readonly SealedChange[]): Script<number> {
  const { column, types } = STRETCHES[table]
  const wanted = parameters()
  const given = dialect.table(
    'given',
    { tenant_id: 'text', id: types.id, before: 'text' },
    changes.map(({ tenantId, id, before }) => ({ tenant_id: tenantId, id, before })),
    wanted.add,
  )
  const skip = dialect.engine === 'postgres' ? 'skip locked' : ''
  const locked = yield* rows(
    `select t.tenant_id, t.id from ${given}
      join pillarbox.${table} t on t.tenant_id = given.tenant_id and t.id = given.id
      where cast(t.${column} as text) = given.before order by t.tenant_id, t.id ${dialect.lock('t')} ${skip}`,
    wanted.values,
  )
  const keys = new Set(locked.map((row) => JSON.stringify([row['tenant_id'], row['id']])))
  const mine = changes.filter(({ tenantId, id }) => keys.has(JSON.stringify([tenantId, id])))
  if (mine.length === 0) return 0
  const written = parameters()
  const resealed = dialect.table(
    'given',
    { tenant_id: 'text', id: types.id, after: types.text },
    mine.map(({ tenantId, id, after }) => ({ tenant_id: tenantId, id, after })),
    written.add,
  )
  yield* rows(
    `update pillarbox.${table} as t set ${column} = given.after from ${resealed}
      where t.tenant_id = given.tenant_id and t.id = given.id`,
    written.values,
  )
  return mine.length
}

const FORGET_AFTER_MS = 24 * 3_600_000

function* announce(dialect: Dialect, holder: KeyHolder): Script<void> {
  yield* rows(
    `insert into pillarbox.key_holders (id, host, pid, part, key_ids, seals_under, announced_at)
      values ($1, $2, $3, $4, $5, $6, ${dialect.now})
      on conflict (id) do update set key_ids = excluded.key_ids, seals_under = excluded.seals_under,
        announced_at = excluded.announced_at`,
    [holder.id, holder.host, holder.pid, holder.part, JSON.stringify(holder.keyIds), holder.sealsUnder],
  )
  yield* rows(
    `delete from pillarbox.key_holders where announced_at < ${dialect.plus(dialect.now, `-${FORGET_AFTER_MS}`)}`,
  )
}

function* holders(dialect: Dialect): Script<(KeyHolder & { silentForMs: number })[]> {
  const silent =
    dialect.engine === 'postgres'
      ? 'extract(epoch from now() - announced_at)::float8 * 1000'
      : `${dialect.now} - announced_at`
  const found = yield* rows(
    `select id, host, pid, part, key_ids, seals_under, ${silent} as silent_ms from pillarbox.key_holders
      order by host, pid, id`,
  )
  return found.map((row) => ({
    id: String(row['id']),
    host: String(row['host']),
    pid: Number(row['pid']),
    part: String(row['part']),
    keyIds: jsonOf<string[]>(row['key_ids']),
    sealsUnder: textOrNull(row['seals_under']),
    silentForMs: Math.max(0, Math.trunc(Number(row['silent_ms']))),
  }))
}
