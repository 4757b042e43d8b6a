import type { Purged, PurgedNoun, PurgeStretch } from '../../operate/retention-store.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { booleanOf, textOrNull } from './fields.ts'
import {
  accountForRemoval,
  CHAIN_KEPT_MS,
  firstIdOf,
  NO_ID,
  none,
  removeWhere,
  storeTime,
  type TenantStretch,
} from './purge-rules.ts'
import {
  type Dialect,
  givenIds,
  givenRows,
  instantOf,
  jsonOf,
  type Row,
  rows,
  type Script,
  type ScriptRunner,
} from './script.ts'

type CommonStretch = PurgeStretch & { before(tenantId: string | null): number; latest: number }

interface NumberedRemoval {
  found: readonly Row[]
  over: readonly Row[]
  /** What is further asked of a row when it is removed. */
  and?: string
  /** What is put on record in the same transaction. */
  account?: () => Script<void>
}

/** Removes by number what of a stretch is over. */
async function purgeNumbered(
  { read, write }: ScriptRunner,
  table: PurgedNoun & ('audit' | 'callbacks'),
  { limit, latest, isDryRun }: CommonStretch,
  { found, over, and = '', account }: NumberedRemoval,
): Promise<Purged> {
  const ids = over.map(({ id }) => ({ id: Number(id) }))
  const where = `id in (select g.id from :g) ${and}`
  const remove = function* (): Script<number> {
    if (account && !isDryRun) yield* account()
    return yield* removeWhere({ table, where, values: { g: givenRows({ id: 'bigint' }, ids) }, isDryRun })
  }
  const count = ids.length === 0 ? 0 : isDryRun ? await read(remove) : await write(remove)
  // Numbers grow with time: behind a stretch in which nothing is old enough there is nothing that is.
  const last = found.length === limit && found.some(({ at }) => instantOf(at) < latest) ? found.at(-1) : undefined
  return { counts: { [table]: count }, looked: found.length, next: last ? String(last['id']) : null }
}

/** What is on record about a notification goes with it; everything else by its own age. */
export async function purgeAudit(run: ScriptRunner, stretch: CommonStretch): Promise<Purged> {
  const found = await run.read(() =>
    rows(
      `select a.id, a.tenant_id, a.at, a.action, n.id as notification_id from (select id, tenant_id, at, action, notification_id
          from pillarbox.audit where id > :after order by id limit :limit) a
        left join pillarbox.notifications n on n.id = a.notification_id order by a.id`,
      { after: Number(stretch.after ?? 0), limit: stretch.limit },
    ),
  )
  const old = found.filter(
    (each) => each['notification_id'] === null && instantOf(each['at']) < stretch.before(textOrNull(each['tenant_id'])),
  )
  // That something was removed goes with what is removed next: alone it would leave nothing but its like, for ever.
  const worthwhile = new Set(old.flatMap((each) => (each['action'] === 'purge' ? [] : [each['tenant_id']])))
  const over = old.filter((each) => worthwhile.has(each['tenant_id']))
  const account = function* (): Script<void> {
    for (const tenantId of new Set(over.map((each) => textOrNull(each['tenant_id']))))
      yield* accountForRemoval(run.dialect, tenantId, stretch.before(tenantId))
  }
  return await purgeNumbered(run, 'audit', stretch, { found, over, account })
}

/** A callback that names no tenant is as old as the tenant with the shortest retention among those it may speak for. */
export async function purgeCallbacks(run: ScriptRunner, stretch: CommonStretch): Promise<Purged> {
  const { found, tenants } = await run.read(() => lookAtCallbacks(stretch))
  const over = found.filter((each) => {
    const tenantId = textOrNull(each['tenant_id'])
    const accounts = tenantId === null ? jsonOf<string[]>(each['account_ids']) : []
    const owners = accounts.flatMap((id) => tenants.get(id) ?? [])
    const instants = owners.length > 0 ? owners.map(stretch.before) : [stretch.before(tenantId)]
    const at = instantOf(each['at'])
    return !booleanOf(each['is_pending']) && instants.some((instant) => at < instant)
  })
  return await purgeNumbered(run, 'callbacks', stretch, { found, over, and: `and status <> 'pending'` })
}

function* lookAtCallbacks({ after, limit }: CommonStretch): Script<{ found: Row[]; tenants: Map<string, string> }> {
  const found = yield* rows(
    `select id, tenant_id, account_ids, status = 'pending' as is_pending, received_at as at from pillarbox.callbacks
      where id > :after order by id limit :limit`,
    { after: Number(after ?? 0), limit },
  )
  const named = found.flatMap((each) => (each['tenant_id'] === null ? jsonOf<string[]>(each['account_ids']) : []))
  if (named.length === 0) return { found, tenants: new Map() }
  const owners = yield* rows('select a.id, a.tenant_id from :g join pillarbox.accounts a on a.id = g.id', {
    g: givenIds([...new Set(named)]),
  })
  return { found, tenants: new Map(owners.map((each) => [String(each['id']), String(each['tenant_id'])])) }
}

/** A conversation goes when none of its notifications is left and nobody has changed it since. */
export async function purgeConversations(run: ScriptRunner, stretch: TenantStretch): Promise<Purged> {
  const { dialect, read, write } = run
  const { tenantId, after, before, limit, isDryRun } = stretch
  const isOld = `c.updated_at < ${dialect.instant(':before')} and ${none(`pillarbox.notifications n
    where n.tenant_id = c.tenant_id and n.contact_id = c.contact_id and n.conversation_id = c.id`)}`
  const found = await read(() =>
    rows(
      `select c.id, (${isOld}) as is_over from (select * from pillarbox.conversations
          where tenant_id = :tenantId and id > :after and id < :end order by id limit :limit) c order by c.id`,
      { tenantId, after: after ?? NO_ID, end: firstIdOf(before), before, limit },
    ),
  )
  const ids = found.filter((each) => booleanOf(each['is_over'])).map(({ id }) => String(id))
  const remove = function* (): Script<number> {
    const locked = yield* rows(
      `select c.id from :g join pillarbox.conversations c on c.id = g.id where ${isOld}
        order by c.id ${isDryRun ? '' : dialect.deleteSkipLocked('c')}`,
      { g: givenIds(ids), before },
    )
    const values = { g: givenIds(locked.map(({ id }) => String(id))) }
    return yield* removeWhere({ table: 'conversations', where: 'id in (select g.id from :g)', values, isDryRun })
  }
  const conversations = ids.length === 0 ? 0 : isDryRun ? await read(remove) : await write(remove)
  const last = found.length === limit ? found.at(-1) : undefined
  return { counts: { conversations }, looked: found.length, next: last ? String(last['id']) : null }
}

/** An operation on many notifications goes with its items, once it has long ended. */
export async function purgeOperations(run: ScriptRunner, stretch: TenantStretch): Promise<Purged> {
  const { dialect, read, write } = run
  const { tenantId, after, before, limit, isDryRun } = stretch
  const found = await read(() =>
    rows(
      `select id, ended_at from pillarbox.operations where tenant_id = :tenantId and status <> 'preview' and id > :after
        and id < :end order by id limit :limit`,
      { tenantId, after: after ?? NO_ID, end: firstIdOf(before), limit },
    ),
  )
  const over = found.filter(({ ended_at: at }) => at !== null && instantOf(at) < before).map(({ id }) => String(id))
  const values = { g: givenIds(over), before }
  const remove = function* (): Script<number> {
    const items = 'operation_id in (select g.id from :g)'
    yield* removeWhere({ table: 'operation_items', where: items, values, isDryRun })
    const where = `id in (select g.id from :g) and ended_at < ${dialect.instant(':before')}`
    return yield* removeWhere({ table: 'operations', where, values, isDryRun })
  }
  const operations = over.length === 0 ? 0 : isDryRun ? await read(remove) : await write(remove)
  const last = found.length === limit ? found.at(-1) : undefined
  return { counts: { operations }, looked: found.length, next: last ? String(last['id']) : null }
}

/** That something was cancelled is kept at least as long as what was published before it may still be planned. */
export async function purgeCancellations(run: ScriptRunner, stretch: TenantStretch): Promise<Purged> {
  const { dialect, read, write } = run
  const { tenantId, limit, isDryRun } = stretch
  const { found, before } = await read(() => lookAtCancellations(dialect, stretch))
  const over = found.filter(({ at }) => instantOf(at) < before)
  const columns = { entity_type: 'text', entity_id: 'text', event_type: 'text' } as const
  const where = `tenant_id = :tenantId and at < ${dialect.instant(':before')}
    and (entity_type, entity_id, event_type) in (select g.entity_type, g.entity_id, g.event_type from :g)`
  const values = { tenantId, before, g: givenRows(columns, over as Record<keyof typeof columns, unknown>[]) }
  const remove = (): Script<number> => removeWhere({ table: 'cancellations', where, values, isDryRun })
  const cancellations = over.length === 0 ? 0 : isDryRun ? await read(remove) : await write(remove)
  const last = found.length === limit ? found.at(-1) : undefined
  return { counts: { cancellations }, looked: found.length, next: last ? encodeCursor(keyOf(last)) : null }
}

function keyOf(found: Row): string[] {
  return [String(found['entity_type']), String(found['entity_id']), String(found['event_type'])]
}

function* lookAtCancellations(
  dialect: Dialect,
  { tenantId, after, limit, before }: TenantStretch,
): Script<{ found: Row[]; before: number }> {
  const now = yield* storeTime(dialect)
  const [entityType, entityId, eventType] = after === null ? ['', '', ''] : decodeCursor(after, 3)
  const found = yield* rows(
    `select entity_type, entity_id, event_type, at from pillarbox.cancellations where tenant_id = :tenantId
        and (entity_type, entity_id, event_type) > (:entityType, :entityId, :eventType)
      order by entity_type, entity_id, event_type limit :limit`,
    { tenantId, entityType, entityId, eventType, limit },
  )
  return { found, before: Math.min(before, now - CHAIN_KEPT_MS) }
}
