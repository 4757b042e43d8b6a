import type {
  ClearTokenChange,
  ClearTokenHints,
  ClearTokenRow,
  ClearTokenStore,
  ClearTokenStretch,
  ClearTokenTable,
} from '../../operate/clear-token-store.ts'
import { textOrNull } from './fields.ts'
import { type Dialect, givenRows, row, rows, type Script, type ScriptRunner } from './script.ts'
import { BEFORE_ALL_IDS, replaceSealed } from './sealed.ts'
import { digestOf } from './suppressions.ts'

export function sharedClearTokens({ dialect, read, write }: ScriptRunner): ClearTokenStore {
  return {
    look: (table, after, limit, hints) => read(() => look(table, after, limit, hints)),
    replace: (table, changes) => write(() => replace(dialect, table, changes)),
  }
}

/** A stretch is cut before it is filtered, so that a look costs the same however few of its rows are wanted. */
function* look(
  table: ClearTokenTable,
  after: string | null,
  limit: number,
  { sealed, types }: ClearTokenHints,
): Script<ClearTokenStretch> {
  const [first = table === 'events' ? '' : BEFORE_ALL_IDS, second = ''] =
    after === null ? [] : (JSON.parse(after) as string[])
  const isClear = (text: string): string => `substr(${text}, 1, length(cast(:sealed as text))) <> cast(:sealed as text)`
  const selects: Record<ClearTokenTable, string> = {
    suppressions: `select t.tenant_id, t.id, '' as name, t.channel,
        case when t.channel = 'push' and ${isClear('t.address')} then t.address end as text
      from (select * from pillarbox.suppressions where id > :first order by id limit :limit) t order by t.id`,
    notifications: `select t.tenant_id, t.id, t.idempotency_key as name, t.channel,
        case when ${isClear(`t.recipient ->> 'deviceToken'`)} then cast(t.recipient as text) end as text
      from (select tenant_id, id, idempotency_key, channel, recipient from pillarbox.notifications
        where id > :first order by id limit :limit) t order by t.id`,
    events: `select t.tenant_id, t.id, t.type as name, '' as channel,
        case when g.type is not null then cast(t.payload as text) end as text
      from (select tenant_id, id, type, payload from pillarbox.events where (tenant_id, id) > (:first, :second)
        order by tenant_id, id limit :limit) t
      left join :g on g.tenant_id = t.tenant_id and g.type = t.type order by t.tenant_id, t.id`,
  }
  // Without a type there is nothing to look for.
  if (table === 'events' && types.length === 0) return { rows: [], next: null }
  const g = types.map(({ tenantId, type }) => ({ tenant_id: tenantId, type }))
  const found = yield* rows(selects[table], {
    ...(table === 'events' ? { second, g: givenRows({ tenant_id: 'text', type: 'text' }, g) } : { sealed }),
    first,
    limit,
  })
  const last = found.length === limit ? found.at(-1) : undefined
  return {
    rows: found.flatMap((each): ClearTokenRow[] => {
      const text = textOrNull(each['text'])
      const [tenantId, id, name, channel] = ['tenant_id', 'id', 'name', 'channel'].map((column) => String(each[column]))
      return text === null ? [] : [{ tenantId, id, text, name, channel } as ClearTokenRow]
    }),
    next: last ? JSON.stringify(table === 'events' ? [last['tenant_id'], last['id']] : [last['id']]) : null,
  }
}

function* replace(dialect: Dialect, table: ClearTokenTable, changes: readonly ClearTokenChange[]): Script<number> {
  // SQLite leaves what was there in the free space of its pages; from now on, and until it is switched off, it does not.
  if (dialect.engine === 'sqlite') yield* rows('pragma secure_delete = on')
  const replaced =
    table === 'events'
      ? yield* replaceSealed(dialect, 'events', changes)
      : table === 'suppressions'
        ? yield* replaceBans(changes)
        : yield* replaceRecipients(changes)
  if (dialect.engine === 'sqlite') yield* rows('pragma secure_delete = off')
  return replaced
}

function* replaceBans(changes: readonly ClearTokenChange[]): Script<number> {
  let replaced = 0
  for (const { tenantId, id, before, after } of changes) {
    const key = { tenantId, id, before, after, digest: digestOf('push', after) }
    const isThere = yield* row(
      `select 1 as found from pillarbox.suppressions where tenant_id = :tenantId and channel = 'push' and digest = :digest`,
      key,
    )
    const done = yield* row(
      isThere
        ? 'delete from pillarbox.suppressions where tenant_id = :tenantId and id = :id and address = :before returning id'
        : `update pillarbox.suppressions set address = :after, digest = :digest
            where tenant_id = :tenantId and id = :id and address = :before returning id`,
      key,
    )
    if (done) replaced += 1
  }
  return replaced
}

const RECIPIENT_CHANGE = {
  of_tenant: 'text',
  of_id: 'uuid',
  before: 'text',
  after: 'json',
  new_address: 'text',
  key: 'text',
  spare: 'text',
} as const

function* replaceRecipients(changes: readonly ClearTokenChange[]): Script<number> {
  const given = changes.map(({ tenantId, id, before, after, address = null, key = '', spareKey = '' }) => {
    return { of_tenant: tenantId, of_id: id, before, after, new_address: address, key, spare: spareKey }
  })
  const done = yield* rows(
    `update pillarbox.notifications as t set recipient = g.after, address = coalesce(g.new_address, t.address),
        idempotency_key = case when exists (select 1 from pillarbox.notifications o
          where o.tenant_id = g.of_tenant and o.idempotency_key = g.key and o.id <> g.of_id) then g.spare else g.key end
      from :g where t.tenant_id = g.of_tenant and t.id = g.of_id and cast(t.recipient as text) = g.before
      returning id`,
    { g: givenRows(RECIPIENT_CHANGE, given) },
  )
  return done.length
}
