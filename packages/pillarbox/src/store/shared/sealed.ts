import type {
  KeyHolder,
  SealedChange,
  SealedRow,
  SealedStore,
  SealedStretch,
  SealedTable,
} from '../../operate/sealed-store.ts'
import { textOrNull } from './fields.ts'
import { nounOf } from './noun.ts'
import { type ColumnType, type Dialect, givenRows, instantOf, rows, type Script, type ScriptRunner } from './script.ts'

export function sharedSealed({ dialect, read, write, change }: ScriptRunner): SealedStore {
  return {
    look: (table, after, limit, except) => read(() => look(table, after, limit, except)),
    replace: async (table, changes) => (changes.length === 0 ? 0 : write(() => replaceSealed(dialect, table, changes))),
    announce: (holder) => write(() => announce(dialect, holder)),
    leave: async (id) => {
      await change('delete from pillarbox.key_holders where id = :id', { id })
    },
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

export const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000'

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
export function* replaceSealed(dialect: Dialect, table: SealedTable, changes: readonly SealedChange[]): Script<number> {
  const { column, types } = STRETCHES[table]
  const key = { tenant_id: 'text', id: types.id } as const
  const given = changes.map(({ tenantId, ...change }) => ({ tenant_id: tenantId, ...change }))
  const locked = yield* rows(
    `select t.tenant_id, t.id from :g join pillarbox.${table} t on t.tenant_id = g.tenant_id and t.id = g.id
      where cast(t.${column} as text) = g.before order by t.tenant_id, t.id ${dialect.skipLocked('t')}`,
    { g: givenRows({ ...key, before: 'text' }, given) },
  )
  const keys = new Set(locked.map((row) => JSON.stringify([row['tenant_id'], row['id']])))
  const mine = given.filter(({ tenant_id: tenantId, id }) => keys.has(JSON.stringify([tenantId, id])))
  if (mine.length === 0) return 0
  yield* rows(
    `update pillarbox.${table} as t set ${column} = g.after from :g where t.tenant_id = g.tenant_id and t.id = g.id`,
    { g: givenRows({ ...key, after: types.text }, mine) },
  )
  return mine.length
}

const FORGET_AFTER_MS = 24 * 3_600_000

function* announce(dialect: Dialect, holder: KeyHolder): Script<void> {
  yield* rows(
    `insert into pillarbox.key_holders (id, host, pid, part, key_ids, seals_under, announced_at)
      values (:id, :host, :pid, :part, :keyIds, :sealsUnder, ${dialect.now})
      on conflict (id) do update set key_ids = excluded.key_ids, seals_under = excluded.seals_under,
        announced_at = excluded.announced_at`,
    holder,
  )
  yield* rows(
    `delete from pillarbox.key_holders where announced_at < ${dialect.plus(dialect.now, `-${FORGET_AFTER_MS}`)}`,
  )
}

const HOLDERS = nounOf<KeyHolder>('key_holders', {
  id: 'text',
  host: 'text',
  pid: 'number',
  part: 'text',
  keyIds: 'json',
  sealsUnder: 'text',
})

function* holders(dialect: Dialect): Script<(KeyHolder & { silentForMs: number })[]> {
  const found = yield* rows(
    `select ${HOLDERS.columns}, announced_at, ${dialect.now} as now from pillarbox.key_holders order by host, pid, id`,
  )
  return found.map((row) => ({
    ...HOLDERS.of(row),
    silentForMs: Math.max(0, instantOf(row['now']) - instantOf(row['announced_at'])),
  }))
}
