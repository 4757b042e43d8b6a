import type { NotificationStatus } from '../../model/notification.ts'
import { outranks, RECEIPTS, type ReceiptKind } from '../../model/receipt.ts'
import type { NewReceipt, ReceiptStore, ReceiptView } from '../store.ts'
import { writeAudit } from './audit.ts'
import { textOrNull, uuidOrNull } from './fields.ts'
import { type Dialect, instantOf, row, rows, type Script, type ScriptRunner } from './script.ts'

export function sharedReceipts({ dialect, read, write }: ScriptRunner): ReceiptStore {
  return {
    merge: (receipt) => write(() => merge(dialect, receipt)),
    match: (limit) => write(() => match(dialect, limit)),
    list: (notificationId) => read(() => listReceipts(notificationId)),
  }
}

function* merge(dialect: Dialect, receipt: NewReceipt): Script<'moved' | 'kept' | 'repeated' | 'waiting'> {
  const { tenantId, provider, providerMessageId, kind, at } = receipt
  const kept = yield* row(
    `insert into pillarbox.receipts (tenant_id, provider, provider_message_id, kind, at, received_at)
      values ($1, $2, $3, $4, ${dialect.instant('$5')}, ${dialect.now})
      on conflict (tenant_id, provider, provider_message_id, kind) do nothing returning id`,
    [tenantId, provider, providerMessageId, kind, at],
  )
  return kept ? yield* apply(dialect, Number(kept['id']), receipt) : 'repeated'
}

function* match(dialect: Dialect, limit: number): Script<number> {
  const waiting = yield* rows(
    `select id, tenant_id, provider, provider_message_id, kind, at from pillarbox.receipts
      where notification_id is null order by id limit $1`,
    [limit],
  )
  let matched = 0
  for (const found of waiting) {
    const answer = yield* apply(dialect, Number(found['id']), {
      tenantId: String(found['tenant_id']),
      provider: String(found['provider']),
      providerMessageId: String(found['provider_message_id']),
      kind: String(found['kind']) as ReceiptKind,
      at: instantOf(found['at']),
    })
    if (answer !== 'waiting') matched++
  }
  return matched
}

/** Applies a receipt that is on record: to its notification, once that has come to rest. */
function* apply(dialect: Dialect, id: number, receipt: NewReceipt): Script<'moved' | 'kept' | 'waiting'> {
  const notificationId = yield* notificationOf(receipt)
  if (notificationId === null) return 'waiting'
  const answer = yield* move(dialect, receipt, notificationId)
  if (answer !== 'waiting')
    yield { text: 'update pillarbox.receipts set notification_id = $2 where id = $1', values: [id, notificationId] }
  return answer
}

/** The notification whose call the provider answered with this message id, late answers included. */
function* notificationOf({ tenantId, provider, providerMessageId }: NewReceipt): Script<string | null> {
  const found = yield* row(
    `select a.notification_id from pillarbox.attempts a join pillarbox.notifications n on n.id = a.notification_id
      where a.provider_message_id = $1 and a.provider = $2 and n.tenant_id = $3 limit 1`,
    [providerMessageId, provider, tenantId],
  )
  return found && String(found['notification_id'])
}

/**
 * Moves the notification if the receipt outranks where it stands. A `sent` one has no row of its own to lock, so the
 * settled row is made if it is missing, and whoever made it first, the rank decides on the locked row.
 */
function* move(dialect: Dialect, receipt: NewReceipt, notificationId: string): Script<'moved' | 'kept' | 'waiting'> {
  const { kind, tenantId, at } = receipt
  const { to, reason, action } = RECEIPTS[kind]
  const made = yield* row(
    `insert into pillarbox.settled (notification_id, tenant_id, status, reason, spent, attempt, possible_duplicate,
        settled_at, delivered_at, read_at)
      select n.id, n.tenant_id, $2, $3, 0, (select coalesce(max(x.number), 0) from pillarbox.attempts x where x.notification_id = n.id),
        coalesce((select x.possible_duplicate from pillarbox.attempts x where x.notification_id = n.id and not x.late
          order by x.number desc limit 1), false),
        ${dialect.now}, ${instantIf(dialect, kind === 'delivered', '$4')}, ${instantIf(dialect, kind === 'read', '$4')}
      from pillarbox.notifications n
      where n.id = $1 and not exists (select 1 from pillarbox.dispatch d where d.notification_id = n.id)
      on conflict (notification_id) do nothing returning attempt`,
    [notificationId, to, reason, at],
  )
  let from: NotificationStatus = 'sent'
  let attempt = Number(made?.['attempt'] ?? 0)
  if (!made) {
    // Changes nothing but the times, and locks the row, so that the standing read here is the one that is moved from.
    const standing = yield* row(
      `update pillarbox.settled set delivered_at = ${earliest(dialect, 'delivered_at', kind === 'delivered')},
          read_at = ${earliest(dialect, 'read_at', kind === 'read')}
        where notification_id = $1 and not exists (select 1 from pillarbox.dispatch d where d.notification_id = $1)
        returning status, reason, attempt`,
      kind === 'delivered' || kind === 'read' ? [notificationId, at] : [notificationId],
    )
    // Neither made nor there: it is being sent, perhaps again; only when that is over is there anything to compare.
    if (!standing) return 'waiting'
    from = String(standing['status']) as NotificationStatus
    attempt = Number(standing['attempt'])
    if (!outranks(kind, from, textOrNull(standing['reason']))) return 'kept'
    yield {
      text: `update pillarbox.settled set status = $2, reason = $3, settled_at = ${dialect.now} where notification_id = $1`,
      values: [notificationId, to, reason],
    }
  }
  yield* writeAudit(dialect, { tenantId, actor: 'system', action, notificationId, attempt, from, to, reason })
  return 'moved'
}

function instantIf(dialect: Dialect, wanted: boolean, parameter: string): string {
  // The parameter must be named either way, or PostgreSQL could not tell its type.
  const at = dialect.instant(parameter)
  return wanted ? at : `case when ${at} is null then ${at} end`
}

function earliest(dialect: Dialect, column: string, wanted: boolean): string {
  if (!wanted) return column
  const at = dialect.instant('$2')
  return `case when ${column} is null or ${column} > ${at} then ${at} else ${column} end`
}

function* listReceipts(notificationId: string): Script<ReceiptView[]> {
  const id = uuidOrNull(notificationId)
  if (id === null) return []
  const found = yield* rows(
    `select kind, at, received_at, provider, provider_message_id from pillarbox.receipts
      where notification_id = $1 order by id`,
    [id],
  )
  return found.map((receipt) => ({
    kind: String(receipt['kind']) as ReceiptKind,
    at: instantOf(receipt['at']),
    receivedAt: instantOf(receipt['received_at']),
    provider: String(receipt['provider']),
    providerMessageId: String(receipt['provider_message_id']),
  }))
}
