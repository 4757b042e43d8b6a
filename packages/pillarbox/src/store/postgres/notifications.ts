import { cancelledKey } from '../../model/idempotency.ts'
import type { NewNotification, SettledStatus } from '../../model/notification.ts'
import type { NotificationStore } from '../../plan/notification-store.ts'
import { act, handAudits, takeRepeated } from '../shared/act.ts'
import { writeAudit } from '../shared/audit.ts'
import { duplicateOf, givesKeyTo, type KeyOwner } from '../shared/duplicates.ts'
import { isSealed } from '../shared/fields.ts'
import { NEW_NOTIFICATION } from '../shared/new-rows.ts'
import { bornPrint } from '../shared/transitions.ts'
import { columnArrays, givenColumns, plainArray, storable, textArray } from './arrays.ts'
import { grouped } from './group.ts'
import { INSERT_DELTAS, secondIn } from './rollup-deltas.ts'
import { dialect, scriptRunner } from './scripts.ts'
import type { Run, Session } from './session.ts'

type InsertedNotification = { id: string; duplicate: boolean }

/** Writing new notifications. Concurrent calls share a commit; one that is refused spoils no other. */
export function openNotifications(
  intake: Session,
  admin: Session,
): Pick<NotificationStore, 'insert' | 'insertByHand' | 'act'> {
  const scripts = scriptRunner(admin)
  return {
    insert: grouped(
      async (given: readonly NewNotification[]) => (await insertNotifications(intake.run, given)).answers,
    ),
    insertByHand: (notifications, by) =>
      admin.transaction(async (run) => {
        if (by.item && !(await scripts.follow(run, takeRepeated(dialect, by.item, notifications)))) return false
        await insertNotifications(run, notifications)
        await scripts.follow(run, writeAudit(dialect, ...handAudits(notifications, by)))
        return true
      }),
    act: (request) =>
      admin.transaction(async (run) => {
        const acted = await scripts.follow(run, act(dialect, request))
        if (acted?.moved && request.correction) await insertNotifications(run, [request.correction])
        return acted
      }),
  }
}

/** What came of each notification, in the given order, and the lanes that now have due work. */
export interface Inserted {
  answers: InsertedNotification[]
  lanes: string[]
}

const LEDGER = givenColumns(NEW_NOTIFICATION)
const LEDGER_VALUES = Object.keys(NEW_NOTIFICATION).length

/** The parameter that stands so many places behind those of the ledger. */
const behind = (place: number): string => `$${LEDGER_VALUES + place}`
const STOPPED_IDS = `${behind(1)}::uuid[]`

/**
 * Common table expressions that write notifications: the ledger, for each a work row or, if it is born stopped, where it
 * rests, and which of them are to be scrubbed one day. `ledger` has what was written; repeats of a key are not. The work
 * rows are sorted as claims will take them, so that a claim finds its rows side by side. Their parameters are
 * `notificationValues`, the statement's first.
 *
 * `(… in (…)) is true` rather than a join: that is looked up in a hash table, however the session joins.
 */
export const WRITE_NOTIFICATIONS = `
  ledger as (
    insert into pillarbox.notifications (${LEDGER.names})
    select ${LEDGER.selected} from unnest(${LEDGER.arrays}) as given (${LEDGER.names})
    on conflict (tenant_id, idempotency_key) do nothing
    returning id, account_id, due_at, tenant_id, channel, site, event_type
  ), queued as (
    insert into pillarbox.dispatch (notification_id, lane_id, visible_at)
    select id, account_id, greatest(now(), due_at) from ledger
    where (id in (select unnest(${STOPPED_IDS}))) is not true
    order by account_id, greatest(now(), due_at), id
    returning lane_id, visible_at
  ), stopped as (
    insert into pillarbox.settled (notification_id, tenant_id, status, reason, last_error, fingerprint)
    select id, tenant_id, status, reason, error, fingerprint
    from unnest(${STOPPED_IDS}, ${behind(2)}::text[], ${behind(3)}::text[], ${behind(4)}::text[], ${behind(5)}::text[],
        ${behind(6)}::text[])
      as given (id, tenant_id, status, reason, error, fingerprint)
    where (id in (select id from ledger)) is true
  ), sealed as (
    insert into pillarbox.sealed_contents (notification_id, tenant_id, event_id)
    select id, tenant_id, event_id
    from unnest(${behind(7)}::uuid[], ${behind(8)}::text[], ${behind(9)}::text[]) as given (id, tenant_id, event_id)
    where (id in (select id from ledger)) is true
  ), counted as (
    ${INSERT_DELTAS}
    select ${secondIn('now()')}, tenant_id, channel, account_id, site, event_type, 'new', to_status,
      case when to_status = 'live' then ${secondIn('visible_at')} end, null, false, false, count(*)
    from (
      select tenant_id, channel, account_id, site, event_type, greatest(now(), due_at) as visible_at,
        case when (id in (select unnest(${STOPPED_IDS}))) is not true then 'live'
          when (id in (select unnest(${behind(10)}::uuid[]))) is true then 'skipped' else 'parked' end as to_status
      from ledger
    ) as born
    group by tenant_id, channel, account_id, site, event_type, to_status, 9
  )`

/** How many parameters `WRITE_NOTIFICATIONS` has. */
export const NOTIFICATION_VALUES = LEDGER_VALUES + 10

const INSERT = `with ${WRITE_NOTIFICATIONS} select id, coalesce(due_at <= now(), true) as due from ledger`

/** A second statement on purpose: the first one's snapshot does not see a row whose writer committed meanwhile. */
const EXISTING = `
  select n.tenant_id, n.idempotency_key, n.id
  from unnest($1::text[], $2::text[]) as given (tenant_id, idempotency_key)
  join pillarbox.notifications n on n.tenant_id = given.tenant_id and n.idempotency_key = given.idempotency_key`

/** Writes notifications with one statement. Repeats answer the first's id, which takes another. */
export async function insertNotifications(run: Run, given: readonly NewNotification[]): Promise<Inserted> {
  const keys = given.map(keyOf)
  const firstByKey = new Map<string, NewNotification>()
  const isFirst = given.map((each, i) => {
    const key = keys[i] as string
    return !firstByKey.has(key) && firstByKey.set(key, each) !== undefined
  })
  const firsts = [...firstByKey.values()]
  const rows = await run<{ id: string; due: boolean }>({
    name: 'insert_notifications',
    text: INSERT,
    values: notificationValues(firsts),
  })
  const written = new Map(rows.map(({ id, due }) => [id, due]))
  const existing =
    written.size < firsts.length
      ? await findExisting(
          run,
          firsts.filter((each) => !written.has(each.id)),
        )
      : new Map<string, string>()
  const lanes = new Set<string>()
  for (const { id, accountId, stopped } of firsts)
    if (accountId !== null && stopped === null && written.get(id) === true) lanes.add(accountId)
  return {
    answers: keys.map((key, i) => {
      const first = firstByKey.get(key) as NewNotification
      const isWritten = written.has(first.id)
      return {
        id: isWritten ? first.id : (existing.get(key) ?? first.id),
        duplicate: !isWritten || isFirst[i] !== true,
      }
    }),
    lanes: [...lanes],
  }
}

/**
 * The parameters of `WRITE_NOTIFICATIONS`, one array per column. In the order of their keys: two writers of the same keys
 * then wait for each other instead of deadlocking.
 */
export function notificationValues(notifications: readonly NewNotification[]): string[] {
  const given = notifications
    .map((each) => ({ key: keyOf(each), each }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ each }) => each)
  const stopped = given.filter((each) => each.stopped !== null)
  const sealed = given.filter((each) => isSealed(each.content))
  return [
    ...columnArrays(NEW_NOTIFICATION, given),
    plainArray(stopped.map((each) => each.id)),
    textArray(stopped.map((each) => each.tenantId)),
    ...(['status', 'reason', 'error'] as const).map((field) =>
      textArray(stopped.map((each) => each.stopped?.[field] ?? null)),
    ),
    plainArray(stopped.map(bornPrint)),
    plainArray(sealed.map((each) => each.id)),
    textArray(sealed.map((each) => each.tenantId)),
    textArray(sealed.map((each) => each.eventId)),
    plainArray(stopped.flatMap(({ id, stopped }) => (stopped?.status === 'skipped' ? id : []))),
  ]
}

/** What was written of planned notifications whose keys others have. */
interface WrittenInstead {
  inserted: number
  lanes: readonly string[]
  /** Those that are skipped and name the first. */
  duplicates: readonly NewNotification[]
}

export const NOTHING: WrittenInstead = { inserted: 0, lanes: [], duplicates: [] }

/**
 * Where the key of a planned notification belongs to another one: the skipped notification that says so or, where the other
 * one gives its key up, the notification itself.
 */
export async function writeInstead(run: Run, planned: readonly NewNotification[]): Promise<WrittenInstead> {
  const taken = await findTaken(run, planned)
  const duplicates = taken.flatMap(({ each, first }) =>
    givesKeyTo(each, first) ? [] : (duplicateOf(each, first) ?? []),
  )
  const { answers } = duplicates.length > 0 ? await insertNotifications(run, duplicates) : { answers: [] }
  const skipped = duplicates.filter((_, i) => answers[i]?.duplicate === false)
  const given = taken.filter(({ each, first }) => givesKeyTo(each, first))
  if (given.length === 0) return { inserted: skipped.length, lanes: [], duplicates: skipped }
  const owners = given.map(({ first }) => first.id).toSorted()
  await run({ name: 'give_keys', text: GIVE_KEYS, values: [plainArray(owners), textArray(owners.map(cancelledKey))] })
  const told = given.map(({ each }) => each)
  const written = await insertNotifications(run, told)
  const inserted = written.answers.filter(({ duplicate }) => !duplicate).length
  // Another planner was first: its notification has the key now, and gives it to nobody.
  const late = told.filter((_, i) => written.answers[i]?.duplicate)
  const rest = late.length > 0 ? await writeInstead(run, late) : NOTHING
  return {
    inserted: skipped.length + inserted + rest.inserted,
    lanes: [...written.lanes, ...rest.lanes],
    duplicates: [...skipped, ...rest.duplicates],
  }
}

const GIVE_KEYS = `
  update pillarbox.notifications n set idempotency_key = given.idempotency_key
  from unnest($1::uuid[], $2::text[]) as given (id, idempotency_key) where n.id = given.id`

async function findTaken(
  run: Run,
  planned: readonly NewNotification[],
): Promise<{ each: NewNotification; first: KeyOwner }[]> {
  type Found = { id: string; first_id: string; possible_duplicate: boolean | null } & Record<
    'event_id' | 'place' | 'status' | 'reason',
    string | null
  >
  const found = await run<Found>({
    name: 'find_taken_keys',
    text: TAKEN_KEYS,
    values: [
      plainArray(planned.map((each) => each.id)),
      textArray(planned.map((each) => each.tenantId)),
      textArray(planned.map((each) => each.idempotencyKey)),
    ],
  })
  const firsts = new Map(found.map((first) => [first.id, first]))
  return planned.flatMap((each) => {
    const first = firsts.get(each.id)
    if (!first) return []
    const { first_id: id, event_id: eventId, place, status, reason, possible_duplicate } = first
    const owner: KeyOwner = {
      id,
      eventId,
      place,
      status: status as SettledStatus | null,
      reason,
      possibleDuplicate: possible_duplicate ?? false,
    }
    return [{ each, first: owner }]
  })
}

const TAKEN_KEYS = `
  select given.id, n.id as first_id, n.event_id, n.place, s.status, s.reason, s.possible_duplicate
  from unnest($1::uuid[], $2::text[], $3::text[]) as given (id, tenant_id, idempotency_key)
  join pillarbox.notifications n on n.tenant_id = given.tenant_id and n.idempotency_key = given.idempotency_key
  left join pillarbox.settled s on s.notification_id = n.id
  where n.id <> given.id`

async function findExisting(run: Run, given: readonly NewNotification[]): Promise<Map<string, string>> {
  const rows = await run<{ tenant_id: string; idempotency_key: string; id: string }>({
    name: 'find_existing',
    text: EXISTING,
    values: [textArray(given.map((each) => each.tenantId)), textArray(given.map((each) => each.idempotencyKey))],
  })
  return new Map(rows.map((row) => [`${row.tenant_id} ${row.idempotency_key}`, row.id]))
}

/** A tenant's id has no space, so no two pairs give one key. */
function keyOf({ tenantId, idempotencyKey }: NewNotification): string {
  return `${tenantId} ${storable(idempotencyKey)}`
}
