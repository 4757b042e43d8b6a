import { createHash } from 'node:crypto'
import type { CallbackResult, ListedCallback, NewCallback, StoredCallback } from '../../model/callback.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type { CallbackFilter, ReceiptStore, RefusedCallbacks, RefusedCount } from '../../receipts/receipt-store.ts'
import { writeAudit } from './audit.ts'
import { decodeCursor, invalidCursor, pageOf } from './cursor.ts'
import { only, textOrNull } from './fields.ts'
import { conditionsOf, nounOf, whereAll } from './noun.ts'
import { type Dialect, givenRows, type Row, row, rows, type Script, type ScriptRunner } from './script.ts'

type CallbackStore = Pick<
  ReceiptStore,
  'keep' | 'take' | 'settle' | 'replay' | 'callbacks' | 'notes' | 'countRefused' | 'refused'
>

export interface CallbackParts {
  /** Runs what vendors and the loop wait for, so that nothing people look at gets in their way. */
  applying: ScriptRunner
  /** How calls that come together are answered together: callbacks come by the dozen, and each is a commit or two. */
  together<In, Out>(
    work: (items: readonly In[]) => Promise<readonly Out[]>,
  ): (items: readonly In[]) => Promise<readonly Out[]>
}

export function sharedCallbacks(
  { dialect, read, write }: ScriptRunner,
  { applying, together }: CallbackParts,
): CallbackStore {
  const keep = together((callbacks: readonly NewCallback[]) => applying.write(() => keepAll(dialect, callbacks)))
  const settle = together((settled: readonly SettledCallback[]) => applying.write(() => settleAll(dialect, settled)))
  return {
    keep: async (callback) => only(await keep([callback])),
    // Looking for work where there is none costs no transaction.
    take: async (limit, leaseMs) =>
      (await applying.read(() => isAnyDue(dialect))) ? applying.write(() => take(dialect, limit, leaseMs)) : [],
    settle: async (id, result) => only(await settle([{ id, result }])),
    replay: (id, actor) => write(() => replay(dialect, id, actor)),
    callbacks: (filter, page, bodyBytes) => read(() => listCallbacks(filter, page, bodyBytes)),
    notes: async (accountIds) => (accountIds.length > 0 ? read(() => listNotes(accountIds)) : new Map()),
    countRefused: async (counts) => {
      if (counts.length > 0) await applying.write(() => countRefused(dialect, counts))
    },
    refused: () => read(listRefused),
  }
}

const CALLBACKS = nounOf<Omit<StoredCallback, 'body' | 'result'> & CallbackCounts>('callbacks', {
  id: 'number',
  source: 'text',
  tenantId: 'text',
  accountIds: 'json',
  headers: 'json',
  status: 'text',
  attemptCount: 'number',
  receivedAt: 'instant',
  reports: 'number',
  matched: 'number',
  moved: 'number',
  unreadable: 'number',
  note: 'text',
})

type CallbackCounts = NonNullable<StoredCallback['result']>

function callbackOf(found: Row): StoredCallback {
  const { reports, matched, moved, unreadable, ...callback } = CALLBACKS.of(found)
  const result = (reports as number | null) === null ? null : { reports, matched, moved, unreadable }
  return { ...callback, body: Buffer.from(String(found['body']), 'base64'), result }
}

/** The digest tells callbacks apart. The same bytes with a proof for other accounts are another callback. */
function digestOf({ tenantId, accountIds, body }: NewCallback): string {
  return createHash('sha256')
    .update(`${JSON.stringify([tenantId, [...accountIds].sort()])}\n`)
    .update(body)
    .digest('base64url')
}

const NEW_CALLBACK = {
  source: 'text',
  tenant_id: 'text',
  account_ids: 'json',
  headers: 'json',
  body: 'text',
  digest: 'text',
  note: 'text',
} as const

/** In the order of their digests, so that two processes wait for each other instead of deadlocking. */
function* keepAll(dialect: Dialect, callbacks: readonly NewCallback[]): Script<boolean[]> {
  const given = callbacks.map((callback) => ({
    source: callback.source,
    tenant_id: callback.tenantId,
    account_ids: callback.accountIds,
    headers: callback.headers,
    body: callback.body.toString('base64'),
    digest: digestOf(callback),
    note: callback.note ?? null,
  }))
  const written = yield* rows(
    `insert into pillarbox.callbacks (source, tenant_id, account_ids, headers, body, digest, note, next_attempt_at,
        received_at)
      select g.source, g.tenant_id, g.account_ids, g.headers, g.body, g.digest, g.note, ${dialect.now}, ${dialect.now}
      from :g where true order by g.digest, g.source on conflict (source, digest) do nothing returning source, digest`,
    { g: givenRows(NEW_CALLBACK, given) },
  )
  const kept = new Set(written.map(({ source, digest }) => `${String(source)} ${String(digest)}`))
  // Of several that are the same, one was kept.
  return given.map(({ source, digest }) => kept.delete(`${source} ${digest}`))
}

function* isAnyDue(dialect: Dialect): Script<boolean> {
  const found = yield* row(
    `select 1 as found from pillarbox.callbacks where status = 'pending' and next_attempt_at <= ${dialect.now} limit 1`,
  )
  return found !== null
}

/** The most that one batch of callbacks brings into a process, unless a single one is larger. Their bodies are base64. */
const TAKE_BYTES = 2 * 1_024 * 1_024

/**
 * A lease is nothing but a later time: one that runs out leaves the callback due, and nobody has to notice. Materialized
 * on purpose: inlined, the planner may run the limited select more than once and take more than `limit`.
 */
function* take(dialect: Dialect, limit: number, leaseMs: number): Script<StoredCallback[]> {
  const taken = yield* rows(
    `with due as materialized (
        select c.id as due_id from pillarbox.callbacks c where c.status = 'pending' and c.next_attempt_at <= ${dialect.now}
        order by c.next_attempt_at limit (
          select case when count(*) = 0 then 1 else count(*) end from (
            select sum(octet_length(head.body)) over (order by head.next_attempt_at rows unbounded preceding) as bytes
            from (
              select body, next_attempt_at from pillarbox.callbacks
              where status = 'pending' and next_attempt_at <= ${dialect.now} order by next_attempt_at limit :limit
            ) as head
          ) as running where bytes <= ${TAKE_BYTES})
        ${dialect.skipLocked('c')}
      )
      update pillarbox.callbacks as c
      set next_attempt_at = ${dialect.plus(dialect.now, ':leaseMs')}, attempt_count = c.attempt_count + 1
      from due where c.id = due.due_id
      returning ${CALLBACKS.columns}, body`,
    { limit, leaseMs: Math.round(leaseMs) },
  )
  return taken.map(callbackOf).sort((a, b) => a.id - b.id)
}

interface SettledCallback {
  id: number
  result: CallbackResult
}

const CALLBACK_RESULT = {
  id: 'bigint',
  status: 'text',
  reports: 'bigint',
  matched: 'bigint',
  moved: 'bigint',
  unreadable: 'bigint',
  delay_ms: 'bigint',
} as const

function* settleAll(dialect: Dialect, settled: readonly SettledCallback[]): Script<undefined[]> {
  const given = settled.map(({ id, result: { delayMs, ...result } }) => {
    return { id, ...result, delay_ms: Math.max(0, Math.round(delayMs)) }
  })
  yield* rows(
    `update pillarbox.callbacks as c set status = g.status, reports = g.reports, matched = g.matched, moved = g.moved,
        unreadable = g.unreadable,
        next_attempt_at = case when g.status = 'pending' then ${dialect.plus(dialect.now, 'g.delay_ms')} end
      from :g where c.id = g.id`,
    { g: givenRows(CALLBACK_RESULT, given) },
  )
  return settled.map(() => undefined)
}

function* replay(dialect: Dialect, id: number, actor: string): Script<boolean> {
  if (!Number.isSafeInteger(id)) return false
  const found = yield* row(
    `select c.tenant_id, c.status from pillarbox.callbacks c where c.id = :id ${dialect.lock('c')}`,
    { id },
  )
  if (!found) return false
  yield* rows(
    `update pillarbox.callbacks set status = 'pending', attempt_count = 0, next_attempt_at = ${dialect.now} where id = :id`,
    { id },
  )
  const [tenantId, from] = [textOrNull(found['tenant_id']), String(found['status'])]
  yield* writeAudit(dialect, { tenantId, actor, action: 'replay', subject: `callback:${id}`, from, to: 'pending' })
  return true
}

function* listCallbacks(filter: CallbackFilter, page: Page, bodyBytes?: number): Script<PageOf<ListedCallback>> {
  const where = conditionsOf(filter, {
    source: 'source = :source',
    tenantId: 'tenant_id = :tenantId',
    status: 'status = :status',
  })
  const before = page.cursor === undefined ? 0 : Number(decodeCursor(page.cursor, 1)[0])
  if (!Number.isSafeInteger(before)) throw invalidCursor()
  if (page.cursor !== undefined) where.push('id < :before')
  // Whole groups of base64, so that what is cut off can be read.
  const body = bodyBytes === undefined ? 'body' : 'substr(body, 1, :bodyLength)'
  const found = yield* rows(
    `select ${CALLBACKS.columns}, ${body} as body, octet_length(body) / 4 * 3 - octet_length(body) +
        octet_length(rtrim(body, '=')) as size
      from pillarbox.callbacks ${whereAll(where)} order by id desc limit :limit`,
    { ...filter, before, limit: page.limit + 1, bodyLength: Math.ceil((bodyBytes ?? 0) / 3) * 4 },
  )
  const listed = found.map((each) => {
    const callback = callbackOf(each)
    return { ...callback, body: callback.body.subarray(0, bodyBytes), size: Number(each['size']) }
  })
  return pageOf(listed, page.limit, ({ id }) => [String(id)])
}

/** Few callbacks have a note, and an index has those alone. Ids are looked for as they stand in JSON. */
function* listNotes(accountIds: readonly string[]): Script<Map<string, string>> {
  const given = accountIds.map((id) => ({ account_id: id, named: `%${JSON.stringify(id)}%` }))
  const found = yield* rows(
    `select g.account_id, c.note from pillarbox.callbacks c join :g on cast(c.account_ids as text) like g.named
      where c.note is not null order by c.id`,
    { g: givenRows({ account_id: 'text', named: 'text' }, given) },
  )
  return new Map(found.map(({ account_id: id, note }) => [String(id), String(note)]))
}

/** In the order of their keys, so that two processes wait for each other instead of deadlocking. */
function* countRefused(dialect: Dialect, counts: readonly RefusedCount[]): Script<void> {
  const sums = new Map<string, { source: string; tenant: string; why: string; count: number }>()
  for (const { source, tenantId, why, count } of counts) {
    const key = JSON.stringify([source, tenantId ?? '', why])
    sums.set(key, { source, tenant: tenantId ?? '', why, count: count + (sums.get(key)?.count ?? 0) })
  }
  for (const [, sum] of [...sums].sort(([a], [b]) => (a < b ? -1 : 1)))
    yield* rows(
      `insert into pillarbox.refused_callbacks as r (source, tenant_id, why, count, last_at)
        values (:source, :tenant, :why, :count, ${dialect.now})
        on conflict (source, tenant_id, why) do update set count = r.count + excluded.count, last_at = excluded.last_at`,
      sum,
    )
}

const REFUSED = nounOf<RefusedCallbacks>('refused_callbacks', {
  source: 'text',
  tenantId: 'text',
  why: 'text',
  count: 'number',
  lastAt: 'instant',
})

/** Without a tenant the column is empty: it is part of a key. */
function* listRefused(): Script<RefusedCallbacks[]> {
  const found = yield* rows(
    `select ${REFUSED.columns} from pillarbox.refused_callbacks order by source, tenant_id, why`,
  )
  return found.map(REFUSED.of).map((refused) => ({ ...refused, tenantId: refused.tenantId || null }))
}
