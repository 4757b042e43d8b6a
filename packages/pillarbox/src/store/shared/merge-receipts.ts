import type { NewNotification, NotificationStatus } from '../../model/notification.ts'
import { landingOf, outranks, type ReceiptKind, type Standing, wordOfOne } from '../../model/receipt.ts'
import type { NewReceipt, ReceiptStore } from '../../receipts/receipt-store.ts'
import { booleanOf, textOrNull, uuidOrNull } from './fields.ts'
import { parameters } from './parameters.ts'
import { type Dialect, type Row, rows, type Script } from './script.ts'

type Answer = Awaited<ReturnType<ReceiptStore['merge']>>

/** What receipts came to, in the given order, and who takes over: to be written and linked in the same transaction. */
export interface Merged {
  answers: readonly Answer[]
  takers: readonly { id: string; next: NewNotification }[]
}

/**
 * Keeps receipts and moves their notifications, any number in a handful of statements; see `merge` of the contract.
 *
 *   lock the notifications ─▶ keep the receipts ─▶ read where each rests ─▶ judge ─▶ write where they rest, and the audit
 *
 * The notifications' own rows are locked first: a retry by hand locks them too, so that from then on nothing is sent again
 * before the end, and other receipts wait. A `sent` notification has no other row to lock.
 */
export function* mergeReceipts(dialect: Dialect, given: readonly NewReceipt[]): Script<Merged> {
  const receipts = given.map((receipt) => ({ ...receipt, notificationId: uuidOrNull(receipt.notificationId) ?? '' }))
  const takenOver = yield* lock(dialect, receipts)
  const known = receipts.filter((receipt) => takenOver.has(nameOf(receipt)))
  const answers = yield* keep(dialect, known)
  const news = known.filter((receipt) => answers.get(receipt) === 'kept' && wordOf(receipt) !== null)
  const resting = news.length > 0 ? yield* restingPlaces(dialect, news, takenOver) : new Map<string, Resting>()
  const takers: { id: string; next: NewNotification }[] = []
  const moves: Move[] = []
  for (const receipt of news) {
    const rest = resting.get(receipt.notificationId)
    const move = rest && judge(receipt, rest)
    if (!rest || !move) continue
    answers.set(receipt, 'moved')
    moves.push(move)
    if (move.next) takers.push({ id: receipt.notificationId, next: move.next })
  }
  yield* writeResting(dialect, [...resting.values()])
  yield* writeAudit(dialect, moves)
  // One that is not there, or not the tenant's, changes nothing.
  return { answers: receipts.map((receipt) => answers.get(receipt) ?? 'repeated'), takers }
}

/** What a receipt says of the message as a whole; null: nothing. */
function wordOf({ kind, recipient }: NewReceipt): ReceiptKind | null {
  return recipient === null ? kind : wordOfOne(kind)
}

function isFailure(word: ReceiptKind | null): boolean {
  return word === 'failed' || word === 'bounced'
}

/** A tenant's id has no space, so no two pairs have one name. */
function nameOf({ tenantId, notificationId }: Pick<NewReceipt, 'tenantId' | 'notificationId'>): string {
  return `${tenantId} ${notificationId}`
}

/** Each notification that is there, by name, and who has taken over from it. Locked in one order everywhere. */
function* lock(dialect: Dialect, receipts: readonly NewReceipt[]): Script<Map<string, string | null>> {
  const wanted = new Map(receipts.map((receipt) => [nameOf(receipt), receipt]))
  const given = [...wanted.values()].flatMap(({ notificationId, tenantId }) =>
    notificationId === '' ? [] : [{ given_id: notificationId, given_tenant: tenantId }],
  )
  if (given.length === 0) return new Map()
  const { add, values } = parameters()
  const found = yield* rows(
    `select n.id, n.tenant_id, n.fallback_to from ${dialect.table('g', { given_id: 'uuid', given_tenant: 'text' }, given, add)}
      cross join pillarbox.notifications n where n.id = g.given_id and n.tenant_id = g.given_tenant
      order by n.id ${dialect.lock('n')}`,
    values,
  )
  return new Map(
    found.map((row) => {
      const name = nameOf({ tenantId: String(row['tenant_id']), notificationId: String(row['id']) })
      return [name, textOrNull(row['fallback_to'])]
    }),
  )
}

function keyOf({ notificationId, providerMessageId, kind, recipient }: NewReceipt): string {
  return JSON.stringify([notificationId, providerMessageId, kind, recipient ?? ''])
}

function keyOfRow(row: Row): string {
  const { notification_id: id, provider_message_id: messageId, kind, recipient } = row
  return JSON.stringify([id, messageId, kind, recipient])
}

const KEY = 'notification_id, provider_message_id, kind, recipient'

/** On record, unless its notification is being sent: only when that is over is there anything to compare. */
function* keep(dialect: Dialect, receipts: readonly NewReceipt[]): Script<Map<NewReceipt, Answer>> {
  const answers = new Map<NewReceipt, Answer>()
  if (receipts.length === 0) return answers
  const firsts = new Map<string, NewReceipt>()
  for (const receipt of receipts) if (!firsts.has(keyOf(receipt))) firsts.set(keyOf(receipt), receipt)
  const columns = {
    place: 'bigint',
    given_id: 'uuid',
    tenant_id: 'text',
    provider: 'text',
    message: 'text',
    kind: 'text',
    recipient: 'text',
    code: 'text',
    error: 'text',
    told_at: 'bigint',
  } as const
  const given = [...firsts.values()].map((receipt, place) => ({
    place,
    given_id: receipt.notificationId,
    tenant_id: receipt.tenantId,
    provider: receipt.provider,
    message: receipt.providerMessageId,
    kind: receipt.kind,
    recipient: receipt.recipient ?? '',
    code: receipt.failure?.code ?? null,
    error: receipt.failure?.error ?? null,
    told_at: Math.round(receipt.at),
  }))
  const { add, values } = parameters()
  const written = yield* rows(
    `insert into pillarbox.receipts (tenant_id, notification_id, provider, provider_message_id, kind, recipient, code, error,
        at, received_at)
      select g.tenant_id, g.given_id, g.provider, g.message, g.kind, g.recipient, g.code, g.error,
        ${dialect.instant('g.told_at')}, ${dialect.now}
      from ${dialect.table('g', columns, given, add)}
      where not exists (select 1 from pillarbox.dispatch d where d.notification_id = g.given_id) order by g.place
      on conflict (${KEY}) do nothing returning ${KEY}`,
    values,
  )
  const kept = new Set(written.map(keyOfRow))
  const missing = [...firsts].flatMap(([key, receipt]) => (kept.has(key) ? [] : [receipt]))
  const repeated = missing.length > 0 ? yield* knownAmong(dialect, missing) : new Set<string>()
  for (const receipt of receipts) {
    const key = keyOf(receipt)
    const isFirst = firsts.get(key) === receipt
    if (kept.has(key)) answers.set(receipt, isFirst ? 'kept' : 'repeated')
    else answers.set(receipt, repeated.has(key) ? 'repeated' : 'waiting')
  }
  return answers
}

function* knownAmong(dialect: Dialect, receipts: readonly NewReceipt[]): Script<Set<string>> {
  const { add, values } = parameters()
  const given = dialect.table(
    'g',
    { given_id: 'uuid', given_message: 'text', given_kind: 'text', given_recipient: 'text' },
    receipts.map(({ notificationId, providerMessageId, kind, recipient }) => {
      return {
        given_id: notificationId,
        given_message: providerMessageId,
        given_kind: kind,
        given_recipient: recipient ?? '',
      }
    }),
    add,
  )
  const found = yield* rows(
    `select ${KEY} from ${given} cross join pillarbox.receipts r where r.notification_id = g.given_id
      and r.provider_message_id = g.given_message and r.kind = g.given_kind and r.recipient = g.given_recipient`,
    values,
  )
  return new Set(found.map(keyOfRow))
}

interface Resting extends Standing {
  id: string
  tenantId: string
  reason: string | null
  error: string | null
  attempt: number
  possibleDuplicate: boolean
  /** The channel that took over. */
  takenOverBy: string | null
  /** Whether it has a settled row, and whether there is anything to write. */
  isSettled: boolean
  isChanged: boolean
  times: Times
}

interface Times {
  delivered: number | null
  read: number | null
}

/** Where each rests, with the times that the receipts tell whether or not they move anything. The rows are locked. */
function* restingPlaces(
  dialect: Dialect,
  news: readonly NewReceipt[],
  takenOver: ReadonlyMap<string, string | null>,
): Script<Map<string, Resting>> {
  const told = timesOf(news)
  const settled = yield* lockSettled(dialect, told)
  const unsettled = [...told.keys()].filter((id) => !settled.has(id))
  const attempts = unsettled.length > 0 ? yield* lastAttempts(dialect, unsettled) : new Map<string, Row>()
  const channels = yield* channelsOf(dialect, news, takenOver)
  const resting = new Map<string, Resting>()
  for (const { notificationId: id, tenantId } of news) {
    const row = settled.get(id)
    const last = row ?? attempts.get(id)
    resting.set(id, {
      id,
      tenantId,
      status: row ? (String(row['status']) as NotificationStatus) : 'sent',
      heard: row ? (textOrNull(row['heard']) as ReceiptKind | null) : null,
      reason: row ? textOrNull(row['reason']) : null,
      error: null,
      attempt: Number(last?.['attempt'] ?? 0),
      possibleDuplicate: booleanOf(last?.['possible_duplicate']),
      takenOverBy: channels.get(takenOver.get(nameOf({ tenantId, notificationId: id })) ?? '') ?? null,
      isSettled: row !== undefined,
      isChanged: false,
      times: told.get(id) ?? { delivered: null, read: null },
    })
  }
  return resting
}

function timesOf(news: readonly NewReceipt[]): Map<string, Times> {
  const times = new Map<string, Times>()
  for (const receipt of news) {
    const word = wordOf(receipt)
    const told = times.get(receipt.notificationId) ?? { delivered: null, read: null }
    if (word === 'delivered' || word === 'read')
      told[word] = Math.min(told[word] ?? Number.POSITIVE_INFINITY, Math.round(receipt.at))
    times.set(receipt.notificationId, told)
  }
  return times
}

function* lockSettled(dialect: Dialect, told: ReadonlyMap<string, Times>): Script<Map<string, Row>> {
  const { add, values } = parameters()
  const given = dialect.table(
    'g',
    { given_id: 'uuid', given_delivered: 'bigint', given_read: 'bigint' },
    [...told].map(([id, { delivered, read }]) => ({ given_id: id, given_delivered: delivered, given_read: read })),
    add,
  )
  const earlier = (column: string, at: string): string => {
    const instant = dialect.instant(at)
    return `case when ${column} is null or ${column} > ${instant} then coalesce(${instant}, ${column}) else ${column} end`
  }
  const found = yield* rows(
    `update pillarbox.settled as s set delivered_at = ${earlier('s.delivered_at', 'g.given_delivered')},
        read_at = ${earlier('s.read_at', 'g.given_read')}
      from ${given} where s.notification_id = g.given_id
      returning notification_id, status, reason, heard, attempt, possible_duplicate`,
    values,
  )
  return new Map(found.map((row) => [String(row['notification_id']), row]))
}

function* lastAttempts(dialect: Dialect, ids: readonly string[]): Script<Map<string, Row>> {
  const { add, values } = parameters()
  const given = dialect.table(
    'g',
    { given_id: 'uuid' },
    ids.map((id) => ({ given_id: id })),
    add,
  )
  const found = yield* rows(
    `select a.notification_id, a.number as attempt, a.possible_duplicate from ${given} cross join pillarbox.attempts a
      where a.notification_id = g.given_id and not a.late and a.number =
        (select max(x.number) from pillarbox.attempts x where x.notification_id = g.given_id and not x.late)`,
    values,
  )
  return new Map(found.map((row) => [String(row['notification_id']), row]))
}

/** The channels of those that took over before, where that matters. */
function* channelsOf(
  dialect: Dialect,
  news: readonly NewReceipt[],
  takenOver: ReadonlyMap<string, string | null>,
): Script<Map<string, string>> {
  const takers = new Set(
    news.flatMap((receipt) => {
      const taker = takenOver.get(nameOf(receipt))
      return taker && isFailure(wordOf(receipt)) ? [taker] : []
    }),
  )
  if (takers.size === 0) return new Map()
  const { add, values } = parameters()
  const given = dialect.table(
    'g',
    { given_id: 'uuid' },
    [...takers].map((id) => ({ given_id: id })),
    add,
  )
  const found = yield* rows(
    `select n.id, n.channel from ${given} cross join pillarbox.notifications n where n.id = g.given_id`,
    values,
  )
  return new Map(found.map((row) => [String(row['id']), String(row['channel'])]))
}

interface Move {
  id: string
  tenantId: string
  attempt: number
  from: NotificationStatus
  to: NotificationStatus
  reason: string | null
  action: string
  next: NewNotification | null
}

/** Moves `rest` on if the receipt outranks it. Null: it stays where it is, perhaps on a higher word. */
function judge(receipt: NewReceipt, rest: Resting): Move | null {
  const word = wordOf(receipt)
  if (word === null || !outranks(word, rest)) return null
  const mayTakeOver = isFailure(word) && rest.takenOverBy === null && !rest.possibleDuplicate
  const next = mayTakeOver ? receipt.next : null
  const { status: from, reason: before } = rest
  const landing = landingOf(word, receipt.failure, rest.takenOverBy ?? next?.channel ?? null)
  rest.status = landing.status
  rest.reason = landing.reason
  rest.error = landing.error
  rest.heard = word
  rest.takenOverBy ??= next?.channel ?? null
  rest.isChanged = true
  // Another channel had taken over already: that stands.
  if (landing.status === from && landing.reason === before) return null
  const { id, tenantId, attempt } = rest
  return { id, tenantId, attempt, from, to: landing.status, reason: landing.reason, action: landing.action, next }
}

function* writeResting(dialect: Dialect, all: readonly Resting[]): Script<void> {
  const changed = all.filter(({ isChanged }) => isChanged)
  const columns = {
    given_id: 'uuid',
    tenant_id: 'text',
    given_status: 'text',
    given_reason: 'text',
    given_error: 'text',
    given_heard: 'text',
    given_attempt: 'bigint',
    given_duplicate: 'bigint',
    given_delivered: 'bigint',
    given_read: 'bigint',
  } as const
  const table = (rests: readonly Resting[], add: ReturnType<typeof parameters>['add']): string =>
    dialect.table(
      'g',
      columns,
      rests.map((rest) => ({
        given_id: rest.id,
        tenant_id: rest.tenantId,
        given_status: rest.status,
        given_reason: rest.reason,
        given_error: rest.error,
        given_heard: rest.heard,
        given_attempt: rest.attempt,
        given_duplicate: Number(rest.possibleDuplicate),
        given_delivered: rest.times.delivered,
        given_read: rest.times.read,
      })),
      add,
    )
  const known = changed.filter(({ isSettled }) => isSettled)
  if (known.length > 0) {
    const { add, values } = parameters()
    yield {
      text: `update pillarbox.settled as s set status = g.given_status, reason = g.given_reason, last_error = g.given_error,
          heard = g.given_heard, settled_at = ${dialect.now}
        from ${table(known, add)} where s.notification_id = g.given_id`,
      values,
    }
  }
  const fresh = changed.filter(({ isSettled }) => !isSettled)
  if (fresh.length === 0) return
  const { add, values } = parameters()
  yield {
    text: `insert into pillarbox.settled (notification_id, tenant_id, status, reason, last_error, heard, spent, attempt,
        possible_duplicate, settled_at, delivered_at, read_at)
      select g.given_id, g.tenant_id, g.given_status, g.given_reason, g.given_error, g.given_heard, 0, g.given_attempt,
        g.given_duplicate = 1, ${dialect.now}, ${dialect.instant('g.given_delivered')}, ${dialect.instant('g.given_read')}
      from ${table(fresh, add)}`,
    values,
  }
}

function* writeAudit(dialect: Dialect, moves: readonly Move[]): Script<void> {
  if (moves.length === 0) return
  const { add, values } = parameters()
  const columns = {
    place: 'bigint',
    given_id: 'uuid',
    tenant_id: 'text',
    action: 'text',
    attempt: 'bigint',
    moved_from: 'text',
    moved_to: 'text',
    reason: 'text',
  } as const
  const given = moves.map((move, place) => ({
    place,
    given_id: move.id,
    tenant_id: move.tenantId,
    action: move.action,
    attempt: move.attempt,
    moved_from: move.from,
    moved_to: move.to,
    reason: move.reason,
  }))
  yield {
    text: `insert into pillarbox.audit
        (tenant_id, at, actor, action, notification_id, attempt, from_status, to_status, reason)
      select g.tenant_id, ${dialect.now}, 'system', g.action, g.given_id, g.attempt, g.moved_from, g.moved_to, g.reason
      from ${dialect.table('g', columns, given, add)} order by g.place`,
    values,
  }
}

/** Says who took over from each. */
export function* linkTakers(dialect: Dialect, links: readonly { id: string; nextId: string }[]): Script<void> {
  const { add, values } = parameters()
  const given = dialect.table(
    'g',
    { given_id: 'uuid', next_id: 'uuid' },
    links.map(({ id, nextId }) => ({ given_id: id, next_id: nextId })),
    add,
  )
  yield {
    text: `update pillarbox.notifications as n set fallback_to = g.next_id from ${given} where n.id = g.given_id`,
    values,
  }
}
