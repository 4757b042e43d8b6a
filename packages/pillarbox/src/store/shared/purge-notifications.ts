import type { NotificationStatus } from '../../model/notification.ts'
import { rollupStatus } from '../../model/rollup.ts'
import type { Purged, PurgedCounts, PurgedNoun } from '../../operate/retention-store.ts'
import { booleanOf } from './fields.ts'
import {
  accountForRemoval,
  firstIdOf,
  instantsOf,
  isOver,
  NO_ID,
  removeWhere,
  storeTime,
  type TenantStretch,
} from './purge-rules.ts'
import { forgetNotifications, GROUP_COLUMNS, groupOf, secondNow } from './rollup-deltas.ts'
import { type Dialect, givenIds, type Row, rows, type Script, type ScriptRunner } from './script.ts'
import { WORK_ROWS } from './scrub.ts'

export async function purgeNotifications(run: ScriptRunner, stretch: TenantStretch): Promise<Purged> {
  const { dialect, read, write } = run
  const { limit, isDryRun } = stretch
  const { now, found } = await read(() => lookAtNotifications(dialect, stretch))
  const over = found.filter((each) => booleanOf(each['is_over'])).map(idOf)
  const last = found.length === limit ? found.at(-1) : undefined
  const rest = { looked: found.length, next: last ? idOf(last) : null }
  if (over.length === 0) return { counts: {}, ...rest }
  if (isDryRun) return { counts: await read(() => removeWithChildren(over, isDryRun)), ...rest }
  return { counts: await write(() => removeNotifications(dialect, over, instantsOf(stretch.before, now))), ...rest }
}

function idOf(found: Row): string {
  return String(found['id'])
}

function* lookAtNotifications(
  dialect: Dialect,
  { tenantId, before, after, limit }: TenantStretch,
): Script<{ now: number; found: Row[] }> {
  const now = yield* storeTime(dialect)
  const found = yield* rows(
    `select n.id, ${isOver(dialect)} as is_over
      from (select id from pillarbox.notifications where tenant_id = :tenantId and id > :after and id < :end
        order by id limit :limit) w
      join pillarbox.notifications n on n.id = w.id ${WORK_ROWS} order by n.id`,
    { tenantId, after: after ?? NO_ID, end: firstIdOf(before), limit, ...instantsOf(before, now) },
  )
  return { now, found }
}

/**
 * The ledger row is locked, and with it a retry, a receipt or a scrub kept away; then the row where it rests, and with it
 * every other act. What somebody else has locked is about to change, and is left for the next time.
 */
function* removeNotifications(
  dialect: Dialect,
  ids: readonly string[],
  instants: { before: number; chainBefore: number },
): Script<PurgedCounts> {
  const locked = yield* rows(
    `select n.id from :g join pillarbox.notifications n on n.id = g.id order by n.id ${dialect.deleteSkipLocked('n')}`,
    { g: givenIds(ids) },
  )
  const g = givenIds(locked.map(idOf))
  const resting = yield* rows(
    `select s.notification_id as id from :g join pillarbox.settled s on s.notification_id = g.id
      order by s.notification_id ${dialect.deleteSkipLocked('s')}`,
    { g },
  )
  const atRest = new Set(resting.map(idOf))
  const found = yield* rows(
    `select n.id, ${GROUP_COLUMNS}, s.notification_id as settled, coalesce(s.status, 'sent') as status
      from :g join pillarbox.notifications n on n.id = g.id ${WORK_ROWS} where ${isOver(dialect)} order by n.id`,
    { g, ...instants },
  )
  const gone = found.filter(({ settled }) => settled === null || atRest.has(settled as string))
  const [first] = gone
  if (!first) return {}
  yield* accountForRemoval(dialect, String(first['tenant_id']), instants.before)
  yield* tellNumbers(dialect, gone)
  return yield* removeWithChildren(gone.map(idOf), false)
}

/** What is gone is told to the numbers of what is there; what happened stays counted. */
function* tellNumbers(dialect: Dialect, gone: readonly Row[]): Script<void> {
  const alike = Map.groupBy(gone, (each) => JSON.stringify([groupOf(each), each['status']]))
  yield* forgetNotifications(
    yield* secondNow(dialect),
    [...alike.values()].flatMap(([first, ...more]) => {
      const status = first && rollupStatus(first['status'] as NotificationStatus)
      return first && status && status !== 'live' ? [{ group: groupOf(first), status, count: 1 + more.length }] : []
    }),
  )
}

/** Every table that has rows of a notification, by the column that names it. `counted`: as what they are reported. */
const OF_NOTIFICATION: readonly { table: string; column: string; counted?: PurgedNoun }[] = [
  { table: 'attempts', column: 'notification_id', counted: 'attempts' },
  { table: 'receipts', column: 'notification_id', counted: 'receipts' },
  { table: 'inbox_messages', column: 'id', counted: 'inboxMessages' },
  { table: 'audit', column: 'notification_id', counted: 'audit' },
  { table: 'sealed_contents', column: 'notification_id' },
  { table: 'settled', column: 'notification_id' },
  { table: 'notifications', column: 'id', counted: 'notifications' },
]

function* removeWithChildren(ids: readonly string[], isDryRun: boolean): Script<PurgedCounts> {
  const counts: PurgedCounts = {}
  for (const { table, column, counted } of OF_NOTIFICATION) {
    const where = `${column} in (select g.id from :g)`
    const count = yield* removeWhere({ table, where, values: { g: givenIds(ids) }, isDryRun })
    if (counted) counts[counted] = count
  }
  return counts
}
