import type { NotificationView } from '../../model/notification.ts'
import type { ReceiptView } from '../../model/receipt.ts'
import { FOUND_BY_MESSAGE_ID, isFoundByMessageId, type ReceiptKind } from '../../model/receipt.ts'
import type { NewReceipt, ReceiptStore } from '../../receipts/receipt-store.ts'
import { type CallbackParts, sharedCallbacks } from './callbacks.ts'
import { booleanOf, only, textOrNull, uuidOrNull } from './fields.ts'
import type { Merged } from './merge-receipts.ts'
import { VIEW_COLUMNS, VIEW_JOINS, viewOf } from './notification-view.ts'
import { parameters } from './parameters.ts'
import { type Dialect, instantOf, rows, type Script, type ScriptRunner } from './script.ts'

export interface ReceiptParts extends CallbackParts {
  /** Merges receipts, and writes and links whoever takes over, in one transaction. */
  merge(receipts: readonly NewReceipt[]): Promise<readonly Merged['answers'][number][]>
}

export function sharedReceipts(scripts: ScriptRunner, parts: ReceiptParts): ReceiptStore {
  const { dialect } = scripts
  const { applying } = parts
  const locate = parts.together((reports: readonly Report[]) => applying.read(() => locateAll(dialect, reports)))
  const merge = parts.together(parts.merge)
  return {
    ...sharedCallbacks(scripts, parts),
    locate: async (report) => only(await locate([report])),
    merge: async (receipt) => only(await merge([receipt])),
    list: (notificationId) => scripts.read(() => listReceipts(notificationId)),
  }
}

// ── whom a report is about ───────────────────────────────────────────────────────────────────────────────────────

type Report = Parameters<ReceiptStore['locate']>[0]

function* locateAll(dialect: Dialect, reports: readonly Report[]): Script<(NotificationView | null)[]> {
  const located: (NotificationView | null)[] = reports.map(() => null)
  yield* look(
    dialect,
    reports,
    located,
    reports.map(({ notificationId }) => (notificationId === null ? [] : [notificationId])),
  )
  const unknown = reports.map(({ provider }, i) => located[i] === null && isFoundByMessageId(provider))
  if (unknown.includes(true)) yield* look(dialect, reports, located, yield* byMessageId(dialect, reports, unknown))
  return located
}

/** Looks at candidates, of which each report has any number, and notes the first that is ours. */
function* look(
  dialect: Dialect,
  reports: readonly Report[],
  located: (NotificationView | null)[],
  candidates: readonly (readonly string[])[],
): Script<void> {
  const given = candidates.flatMap((ids, place) =>
    ids.flatMap((candidate) => {
      const id = uuidOrNull(candidate)
      return id === null ? [] : [{ place, given_id: id, given_provider: reports[place]?.provider ?? '' }]
    }),
  )
  if (given.length === 0) return
  const { add, values } = parameters()
  const table = dialect.table('g', { place: 'bigint', given_id: 'uuid', given_provider: 'text' }, given, add)
  // A reference may be anything that somebody once sent: it counts only where we called that provider, or are calling it.
  const found = yield* rows(
    `select g.place, ${VIEW_COLUMNS},
        ((n.provider = g.given_provider and d.token is not null) or exists (select 1 from pillarbox.attempts y
          where y.notification_id = n.id and y.provider = g.given_provider)) as was_called
      from ${table} cross join pillarbox.notifications n ${VIEW_JOINS} where n.id = g.given_id`,
    values,
  )
  for (const each of found) {
    const place = Number(each['place'])
    const accountId = textOrNull(each['account_id'])
    const isOurs = accountId !== null && reports[place]?.accountIds.includes(accountId) && booleanOf(each['was_called'])
    if (isOurs) located[place] ??= viewOf(each)
  }
}

/** Exactly the index's own condition: only then do both planners know that it has all that is asked for. */
const HAS_MESSAGE_ID = `a.provider in (${FOUND_BY_MESSAGE_ID.map((provider) => `'${provider}'`).join(', ')})`

function* byMessageId(
  dialect: Dialect,
  reports: readonly Report[],
  isWanted: readonly boolean[],
): Script<readonly string[][]> {
  const wanted = reports.flatMap(({ provider, providerMessageId }, place) =>
    isWanted[place] && providerMessageId !== null ? [{ place, provider, messageId: providerMessageId }] : [],
  )
  const candidates: string[][] = reports.map(() => [])
  if (wanted.length === 0) return candidates
  const { text, values } = findByMessageId(dialect, wanted)
  for (const found of yield* rows(text, values))
    candidates[Number(found['place'])]?.push(String(found['notification_id']))
  return candidates
}

export function findByMessageId(
  dialect: Dialect,
  wanted: readonly { place: number; provider: string; messageId: string }[],
): { text: string; values: readonly (string | number | boolean | null)[] } {
  const { add, values } = parameters()
  const table = dialect.table(
    'g',
    { place: 'bigint', given_provider: 'text', given_message: 'text' },
    wanted.map(({ place, provider, messageId }) => ({ place, given_provider: provider, given_message: messageId })),
    add,
  )
  const text = `select distinct g.place, a.notification_id from ${table} cross join pillarbox.attempts a
    where ${HAS_MESSAGE_ID} and a.provider_message_id = g.given_message and a.provider = g.given_provider`
  return { text, values }
}

// ── what was said ────────────────────────────────────────────────────────────────────────────────────────────────

function* listReceipts(notificationId: string): Script<ReceiptView[]> {
  const id = uuidOrNull(notificationId)
  if (id === null) return []
  const found = yield* rows(
    `select kind, at, received_at, provider, provider_message_id, recipient, code, error from pillarbox.receipts
      where notification_id = $1 order by id`,
    [id],
  )
  return found.map((receipt) => ({
    kind: String(receipt['kind']) as ReceiptKind,
    at: instantOf(receipt['at']),
    receivedAt: instantOf(receipt['received_at']),
    provider: String(receipt['provider']),
    providerMessageId: String(receipt['provider_message_id']),
    recipient: String(receipt['recipient']) || null,
    code: textOrNull(receipt['code']),
    error: textOrNull(receipt['error']),
  }))
}
