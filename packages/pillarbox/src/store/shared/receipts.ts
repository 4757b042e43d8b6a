import type { NotificationView } from '../../model/notification.ts'
import type { ReceiptView } from '../../model/receipt.ts'
import { isFoundByMessageId, MESSAGE_ID_PROVIDERS } from '../../model/receipt.ts'
import type { NewReceipt, ReceiptStore } from '../../receipts/receipt-store.ts'
import { type CallbackParts, sharedCallbacks } from './callbacks.ts'
import { booleanOf, only, textOrNull, uuidOrNull } from './fields.ts'
import type { Merged } from './merge-receipts.ts'
import { VIEW_COLUMNS, VIEW_JOINS, viewOf } from './notification-view.ts'
import { nounOf } from './noun.ts'
import { givenRows, rows, type Script, type ScriptRunner, type Statement } from './script.ts'

export interface ReceiptParts extends CallbackParts {
  /** Merges receipts, and writes and links the notifications that take over, in one transaction. */
  merge(receipts: readonly NewReceipt[]): Promise<readonly Merged['answers'][number][]>
}

export function sharedReceipts(scripts: ScriptRunner, parts: ReceiptParts): ReceiptStore {
  const locate = parts.together((reports: readonly Report[]) => parts.applying.read(() => locateAll(reports)))
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

function* locateAll(reports: readonly Report[]): Script<(NotificationView | null)[]> {
  const located: (NotificationView | null)[] = reports.map(() => null)
  yield* look(
    reports,
    located,
    reports.map(({ notificationId }) => (notificationId === null ? [] : [notificationId])),
  )
  const unknown = reports.map(({ provider }, i) => located[i] === null && isFoundByMessageId(provider))
  if (unknown.includes(true)) yield* look(reports, located, yield* byMessageId(reports, unknown))
  return located
}

/** Looks at candidates, of which each report has any number, and notes the first that is ours. */
function* look(
  reports: readonly Report[],
  located: (NotificationView | null)[],
  candidates: readonly (readonly string[])[],
): Script<void> {
  const given = candidates.flatMap((ids, place) =>
    ids.flatMap((candidate) => {
      const id = uuidOrNull(candidate)
      return id === null ? [] : [{ place, id, provider: reports[place]?.provider ?? '' }]
    }),
  )
  if (given.length === 0) return
  // A reference may be anything that somebody once sent: it counts only where we called that provider, or are calling it.
  const found = yield* rows(
    `select g.place as report, ${VIEW_COLUMNS},
        ((n.provider = g.provider and d.token is not null) or exists (select 1 from pillarbox.attempts y
          where y.notification_id = n.id and y.provider = g.provider)) as was_called
      from :g cross join pillarbox.notifications n ${VIEW_JOINS} where n.id = g.id`,
    { g: givenRows({ place: 'bigint', id: 'uuid', provider: 'text' }, given) },
  )
  for (const each of found) {
    const place = Number(each['report'])
    const accountId = textOrNull(each['account_id'])
    const isOurs = accountId !== null && reports[place]?.accountIds.includes(accountId) && booleanOf(each['was_called'])
    if (isOurs) located[place] ??= viewOf(each)
  }
}

/** Exactly the index's own condition: only then do both planners know that it has all that is asked for. */
export function hasMessageId(alias: string): string {
  return `${alias}.provider in (${MESSAGE_ID_PROVIDERS.map((provider) => `'${provider}'`).join(', ')})`
}

function* byMessageId(reports: readonly Report[], isWanted: readonly boolean[]): Script<readonly string[][]> {
  const wanted = reports.flatMap(({ provider, providerMessageId }, place) =>
    isWanted[place] && providerMessageId !== null ? [{ place, provider, message: providerMessageId }] : [],
  )
  const candidates: string[][] = reports.map(() => [])
  if (wanted.length === 0) return candidates
  const { text, values } = findByMessageId(wanted)
  for (const found of yield* rows(text, values))
    candidates[Number(found['place'])]?.push(String(found['notification_id']))
  return candidates
}

export function findByMessageId(wanted: readonly { place: number; provider: string; message: string }[]): Statement {
  return {
    text: `select distinct g.place, a.notification_id from :g cross join pillarbox.attempts a
      where ${hasMessageId('a')} and a.provider_message_id = g.message and a.provider = g.provider`,
    values: { g: givenRows({ place: 'bigint', provider: 'text', message: 'text' }, wanted) },
  }
}

// ── what was said ────────────────────────────────────────────────────────────────────────────────────────────────

const RECEIPTS = nounOf<ReceiptView>('receipts', {
  kind: 'text',
  at: 'instant',
  receivedAt: 'instant',
  provider: 'text',
  providerMessageId: 'text',
  recipient: 'text',
  code: 'text',
  error: 'text',
})

/** Without a recipient the column is empty: it is part of a key. */
function* listReceipts(notificationId: string): Script<ReceiptView[]> {
  const found = yield* rows(
    `select ${RECEIPTS.columns} from pillarbox.receipts where notification_id = :id order by id`,
    { id: uuidOrNull(notificationId) },
  )
  return found.map(RECEIPTS.of).map((receipt) => ({ ...receipt, recipient: receipt.recipient || null }))
}
