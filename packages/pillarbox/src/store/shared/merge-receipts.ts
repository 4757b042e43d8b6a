import type { EndedChain, NotificationStatus, Takeover } from '../../model/notification.ts'
import type { ReceiptKind } from '../../model/receipt.ts'
import { bucketBetween, isDeliveredBy, type RollupMove, rollupStatus, secondOf } from '../../model/rollup.ts'
import type { NewReceipt, ReceiptStore } from '../../receipts/receipt-store.ts'
import { writeAudit } from './audit.ts'
import { booleanOf, textOrNull, uuidOrNull } from './fields.ts'
import {
  isFailure,
  type ReceiptChanges,
  type ReceivingNotification,
  receiptChanges,
  type ToldTimes,
  toldTimes,
  wordOf,
} from './receipt-changes.ts'
import { GROUP_COLUMNS, groupOf, plainMove, writeMoves } from './rollup-deltas.ts'
import { type Dialect, givenIds, givenRows, instantOf, type Row, rows, type Script } from './script.ts'

type MergeAnswer = Awaited<ReturnType<ReceiptStore['merge']>>

/** What receipts came to, in the given order, and who takes over: to be written and linked in the same transaction. */
export interface Merged {
  answers: readonly MergeAnswer[]
  takers: readonly { id: string; next: Takeover }[]
  /** What is skipped on the channels of chains that have ended by this. */
  skipped: EndedChain['skipped']
}

/**
 * Keeps receipts and moves their notifications, any number in a handful of statements; see `merge` of the contract.
 *
 *   lock the notifications ─▶ keep the receipts ─▶ read where each rests ─▶ `receiptChanges` ─▶ write them
 *
 * The notifications' own rows are locked first: a retry by hand locks them too, so that from then on nothing is sent again
 * before the end, and other receipts wait. A `sent` notification has no other row to lock.
 */
export function* mergeReceipts(dialect: Dialect, given: readonly NewReceipt[]): Script<Merged> {
  const receipts = given.map((receipt) => ({ ...receipt, notificationId: uuidOrNull(receipt.notificationId) ?? '' }))
  const locked = yield* lockNotifications(dialect, receipts)
  const known = receipts.filter((receipt) => locked.has(nameOf(receipt)))
  const answers = yield* keep(dialect, known)
  const news = known.filter((receipt) => answers.get(receipt) === 'kept' && wordOf(receipt) !== null)
  const concerned = news.length > 0 ? yield* lockSettled(dialect, news, locked) : []
  const changed = concerned.map((each) => ({ ...each, ...receiptChanges(each.notification, each.receipts) }))
  for (const { moved } of changed) for (const receipt of moved) answers.set(receipt, 'moved')
  yield* writeStandings(dialect, changed)
  yield* writeAudit(dialect, ...changed.flatMap(({ audits }) => audits))
  yield* writeMoves(changed.flatMap(receiptMoves))
  const ended = changed.filter(({ skipped }) => skipped.length > 0)
  yield* endChains(ended.map(({ notification }) => notification.id))
  return {
    // One that is not there, or not the tenant's, changes nothing.
    answers: receipts.map((receipt) => answers.get(receipt) ?? 'repeated'),
    takers: changed.flatMap(({ notification: { id }, next }) => (next ? [{ id, next }] : [])),
    skipped: ended.flatMap(({ skipped }) => skipped),
  }
}

/** A tenant's id has no space, so no two pairs have one name. */
function nameOf({ tenantId, notificationId }: Pick<NewReceipt, 'tenantId' | 'notificationId'>): string {
  return `${tenantId} ${notificationId}`
}

/**
 * The ledger rows of the notifications that are there, by `nameOf`. They are locked in the order of their ids, as
 * everywhere.
 */
function* lockNotifications(dialect: Dialect, receipts: readonly NewReceipt[]): Script<LockedNotifications> {
  const wanted = new Map(receipts.map((receipt) => [nameOf(receipt), receipt]))
  const given = [...wanted.values()].flatMap(({ notificationId, tenantId }) =>
    notificationId === '' ? [] : [{ id: notificationId, tenant_id: tenantId }],
  )
  if (given.length === 0) return new Map()
  const found = yield* rows(
    `select n.id, ${GROUP_COLUMNS}, n.provider, n.fallback_to, ${dialect.now} as now from :g cross join pillarbox.notifications n
      where n.id = g.id and n.tenant_id = g.tenant_id order by n.id ${dialect.lock('n')}`,
    { g: givenRows({ id: 'uuid', tenant_id: 'text' }, given) },
  )
  return new Map(
    found.map((row) => [nameOf({ tenantId: String(row['tenant_id']), notificationId: String(row['id']) }), row]),
  )
}

type LockedNotifications = ReadonlyMap<string, Row>

/** The notification that took over, or null. */
function takerOf(locked: LockedNotifications, receipt: NewReceipt): string | null {
  return textOrNull(locked.get(nameOf(receipt))?.['fallback_to'])
}

const RECEIPT_KEY = { notification_id: 'uuid', provider_message_id: 'text', kind: 'text', recipient: 'text' } as const
const KEY = Object.keys(RECEIPT_KEY).join(', ')

function keyRow({ notificationId, providerMessageId, kind, recipient }: NewReceipt) {
  return { notification_id: notificationId, provider_message_id: providerMessageId, kind, recipient: recipient ?? '' }
}

function keyOf(receipt: NewReceipt): string {
  return keyOfRow(keyRow(receipt))
}

function keyOfRow({ notification_id: id, provider_message_id: messageId, kind, recipient }: Row): string {
  return JSON.stringify([id, messageId, kind, recipient])
}

const RECEIPT = {
  ...RECEIPT_KEY,
  place: 'bigint',
  tenant_id: 'text',
  provider: 'text',
  code: 'text',
  error: 'text',
  told_at: 'bigint',
} as const

/** On record, unless its notification is being sent: only when that is over is there anything to compare. */
function* keep(dialect: Dialect, receipts: readonly NewReceipt[]): Script<Map<NewReceipt, MergeAnswer>> {
  const answers = new Map<NewReceipt, MergeAnswer>()
  if (receipts.length === 0) return answers
  const firsts = new Map<string, NewReceipt>()
  for (const receipt of receipts) if (!firsts.has(keyOf(receipt))) firsts.set(keyOf(receipt), receipt)
  const given = [...firsts.values()].map((receipt, place) => ({
    ...keyRow(receipt),
    place,
    tenant_id: receipt.tenantId,
    provider: receipt.provider,
    code: receipt.failure?.code ?? null,
    error: receipt.failure?.error ?? null,
    told_at: Math.round(receipt.at),
  }))
  const written = yield* rows(
    `insert into pillarbox.receipts (tenant_id, provider, code, error, at, received_at, ${KEY})
      select g.tenant_id, g.provider, g.code, g.error, ${dialect.instant('g.told_at')}, ${dialect.now},
        g.notification_id, g.provider_message_id, g.kind, g.recipient
      from :g where not exists (select 1 from pillarbox.dispatch d where d.notification_id = g.notification_id)
      order by g.place on conflict (${KEY}) do nothing returning ${KEY}`,
    { g: givenRows(RECEIPT, given) },
  )
  const kept = new Set(written.map(keyOfRow))
  const missing = [...firsts].flatMap(([key, receipt]) => (kept.has(key) ? [] : [receipt]))
  const repeated = missing.length > 0 ? yield* knownAmong(missing) : new Set<string>()
  for (const receipt of receipts) {
    const key = keyOf(receipt)
    const isFirst = firsts.get(key) === receipt
    if (kept.has(key)) answers.set(receipt, isFirst ? 'kept' : 'repeated')
    else answers.set(receipt, repeated.has(key) ? 'repeated' : 'waiting')
  }
  return answers
}

function* knownAmong(receipts: readonly NewReceipt[]): Script<Set<string>> {
  const found = yield* rows(
    `select r.notification_id, r.provider_message_id, r.kind, r.recipient from :g cross join pillarbox.receipts r
      where r.notification_id = g.notification_id and r.provider_message_id = g.provider_message_id and r.kind = g.kind
        and r.recipient = g.recipient`,
    { g: givenRows(RECEIPT_KEY, receipts.map(keyRow)) },
  )
  return new Set(found.map(keyOfRow))
}

/** A notification with the receipts about it that are news. */
interface Concerned {
  notification: ReceivingNotification
  /** Its ledger row, as far as it is counted. */
  ledger: Row
  /** When the provider took it, where an attempt says so. */
  sentMs: number | null
  receipts: NewReceipt[]
  times: ToldTimes
  /** Whether it has a row in `settled`. That row has the times already. */
  isSettled: boolean
}

/** Where each notification rests. Its row in `settled`, if there is one, is locked by writing the times to it. */
function* lockSettled(dialect: Dialect, news: readonly NewReceipt[], locked: LockedNotifications): Script<Concerned[]> {
  const byId = Map.groupBy(news, ({ notificationId }) => notificationId)
  const told = new Map([...byId].map(([id, receipts]) => [id, toldTimes(receipts)]))
  const settled = yield* writeTimes(dialect, told)
  const unsettled = [...byId.keys()].filter((id) => !settled.has(id))
  const attempts = unsettled.length > 0 ? yield* lastAttempts(unsettled) : new Map<string, Row>()
  const channels = yield* channelsOf(news, locked)
  return [...byId].flatMap(([id, receipts]): Concerned[] => {
    const [first] = receipts
    if (!first) return []
    const row = settled.get(id)
    const last = row ?? attempts.get(id)
    const notification: ReceivingNotification = {
      id,
      tenantId: first.tenantId,
      status: row ? (String(row['status']) as NotificationStatus) : 'sent',
      heard: row ? (textOrNull(row['heard']) as ReceiptKind | null) : null,
      reason: row ? textOrNull(row['reason']) : null,
      attempt: Number(last?.['attempt'] ?? 0),
      possibleDuplicate: booleanOf(last?.['possible_duplicate']),
      takenOverBy: channels.get(takerOf(locked, first) ?? '') ?? null,
      accountId: textOrNull(locked.get(nameOf(first))?.['account_id']),
    }
    const times = told.get(id) ?? { delivered: null, read: null }
    const sentMs = row ? null : acceptedMs(last)
    return [
      { notification, ledger: locked.get(nameOf(first)) ?? {}, sentMs, receipts, times, isSettled: row !== undefined },
    ]
  })
}

function* writeTimes(dialect: Dialect, told: ReadonlyMap<string, ToldTimes>): Script<Map<string, Row>> {
  const given = [...told].map(([id, { delivered, read }]) => ({ id, delivered, read }))
  const earlier = (column: string, at: string): string => {
    const instant = dialect.instant(at)
    return `case when ${column} is null or ${column} > ${instant} then coalesce(${instant}, ${column}) else ${column} end`
  }
  const found = yield* rows(
    `update pillarbox.settled as s set delivered_at = ${earlier('s.delivered_at', 'g.delivered')},
        read_at = ${earlier('s.read_at', 'g.read')}
      from :g where s.notification_id = g.id
      returning notification_id, status, reason, heard, attempt, possible_duplicate`,
    { g: givenRows({ id: 'uuid', delivered: 'bigint', read: 'bigint' }, given) },
  )
  return new Map(found.map((row) => [String(row['notification_id']), row]))
}

function* lastAttempts(ids: readonly string[]): Script<Map<string, Row>> {
  const found = yield* rows(
    `select a.notification_id, a.number as attempt, a.possible_duplicate, a.outcome, a.started_at, a.duration_ms
      from :g cross join pillarbox.attempts a
      where a.notification_id = g.id and not a.late and a.number =
        (select max(x.number) from pillarbox.attempts x where x.notification_id = g.id and not x.late)`,
    { g: givenIds(ids) },
  )
  return new Map(found.map((row) => [String(row['notification_id']), row]))
}

/** The channels of those that took over before, where that matters. */
function* channelsOf(news: readonly NewReceipt[], locked: LockedNotifications): Script<Map<string, string>> {
  const ids = new Set(news.flatMap((receipt) => (isFailure(wordOf(receipt)) ? (takerOf(locked, receipt) ?? []) : [])))
  if (ids.size === 0) return new Map()
  const found = yield* rows('select n.id, n.channel from :g cross join pillarbox.notifications n where n.id = g.id', {
    g: givenIds([...ids]),
  })
  return new Map(found.map((row) => [String(row['id']), String(row['channel'])]))
}

function acceptedMs(attempt: Row | undefined): number | null {
  if (attempt?.['outcome'] !== 'accepted') return null
  return instantOf(attempt['started_at']) + Number(attempt['duration_ms'])
}

/** What each step that receipts took a notification adds to the numbers. */
function receiptMoves({ ledger, sentMs, audits }: Concerned & ReceiptChanges): RollupMove[] {
  const nowMs = instantOf(ledger['now'])
  const provider = textOrNull(ledger['provider'])
  return audits.flatMap((audit) => {
    const [from, to] = [audit.from, audit.to].map((status) => rollupStatus(status as NotificationStatus))
    if (!from || !to || from === to) return []
    const isDelivered = isDeliveredBy(provider, from, to)
    const latency = isDelivered && from === 'sent' && sentMs !== null ? bucketBetween(sentMs, nowMs) : null
    return plainMove({
      group: groupOf(ledger),
      from,
      to,
      atSecond: secondOf(nowMs),
      latency,
      isDelivered,
      isByAccount: true,
    })
  })
}

const STANDING = {
  id: 'uuid',
  tenant_id: 'text',
  new_status: 'text',
  new_reason: 'text',
  error: 'text',
  new_code: 'text',
  new_fingerprint: 'text',
  new_heard: 'text',
  attempt: 'bigint',
  possible_duplicate: 'boolean',
  delivered: 'bigint',
  read: 'bigint',
} as const

function* writeStandings(dialect: Dialect, all: readonly (Concerned & ReceiptChanges)[]): Script<void> {
  const given = all.flatMap(({ notification, settled, times, isSettled }) => {
    if (!settled) return []
    const { id, tenantId, attempt, possibleDuplicate } = notification
    const { status, reason, heard, lastError: error, code, fingerprint } = settled
    const standing = { id, tenant_id: tenantId, new_status: status, new_reason: reason, error, new_heard: heard }
    const cause = { new_code: code, new_fingerprint: fingerprint }
    return [{ isSettled, ...standing, ...cause, attempt, possible_duplicate: possibleDuplicate, ...times }]
  })
  const known = given.filter(({ isSettled }) => isSettled)
  if (known.length > 0)
    yield* rows(
      `update pillarbox.settled as s set status = g.new_status, reason = g.new_reason, last_error = g.error,
          code = g.new_code, fingerprint = g.new_fingerprint, heard = g.new_heard, settled_at = ${dialect.now}
        from :g where s.notification_id = g.id`,
      { g: givenRows(STANDING, known) },
    )
  const fresh = given.filter(({ isSettled }) => !isSettled)
  if (fresh.length > 0)
    yield* rows(
      `insert into pillarbox.settled (notification_id, tenant_id, status, reason, last_error, code, fingerprint, heard,
          spent, attempt, possible_duplicate, settled_at, delivered_at, read_at)
        select g.id, g.tenant_id, g.new_status, g.new_reason, g.error, g.new_code, g.new_fingerprint, g.new_heard, 0,
          g.attempt, g.possible_duplicate, ${dialect.now}, ${dialect.instant('g.delivered')}, ${dialect.instant('g.read')} from :g`,
      { g: givenRows(STANDING, fresh) },
    )
}

/** The channels of these chains have notifications of their own from now on. */
function* endChains(ids: readonly string[]): Script<void> {
  if (ids.length > 0)
    yield* rows('update pillarbox.notifications as n set fallback = null from :g where n.id = g.id', {
      g: givenIds(ids),
    })
}

/** Writes to each notification which one took over from it. */
export function* linkTakers(links: readonly { id: string; nextId: string }[]): Script<void> {
  yield* rows('update pillarbox.notifications as n set fallback_to = g.next_id from :g where n.id = g.id', {
    g: givenRows(
      { id: 'uuid', next_id: 'uuid' },
      links.map(({ id, nextId }) => ({ id, next_id: nextId })),
    ),
  })
}
