import type { NewNotification } from '../../model/notification.ts'
import { addressOf } from '../../model/recipient.ts'
import type { NotificationStore } from '../../plan/notification-store.ts'
import { isSealed } from '../shared/fields.ts'
import { jsonArray, plainArray, storable, textArray } from './arrays.ts'
import { grouped } from './group.ts'
import type { Run, Session } from './session.ts'

type Answer = { id: string; duplicate: boolean }

/** Writing new notifications. Concurrent calls share a commit; one that is refused spoils no other. */
export function openNotificationInsert(intake: Session): Pick<NotificationStore, 'insert'> {
  return {
    insert: grouped(
      async (given: readonly NewNotification[]) => (await insertNotifications(intake.run, given)).answers,
    ),
  }
}

/** What came of each notification, in the given order, and the lanes that now have due work. */
export interface Inserted {
  answers: Answer[]
  lanes: string[]
}

/**
 * Common table expressions that write notifications: the ledger, for each a work row or, if it is born parked, where it
 * rests, and which of them are to be scrubbed one day. `ledger` has what was written; repeats of a key are not. The work
 * rows are sorted as claims will take them, so that a claim finds its rows side by side. Their parameters are
 * `notificationValues`, the statement's first.
 *
 * `(… in (…)) is true` rather than a join: that is looked up in a hash table, however the session joins.
 */
export const WRITE_NOTIFICATIONS = `
  ledger as (
    insert into pillarbox.notifications (id, tenant_id, idempotency_key, channel, account_id, provider, recipient, address,
      content, event_id, event_type, schedule_id, entity_type, entity_id, template_id, template_version, locale,
      correlation_id, execution_id, parent_execution_id, site, triggered_by, fallback, fallback_of, warnings, contact_id,
      conversation_id, policy, due_at, expires_at)
    select id, tenant_id, idempotency_key, channel, account_id, provider, recipient, address, content, event_id,
      event_type, schedule_id, entity_type, entity_id, template_id, template_version, locale, correlation_id,
      execution_id, parent_execution_id, site, triggered_by, fallback, fallback_of, warnings, contact_id,
      conversation_id, policy, to_timestamp(due_ms / 1000), to_timestamp(expires_ms / 1000)
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::json[], $8::text[],
      $9::json[], $10::text[], $11::text[], $12::uuid[], $13::text[], $14::text[], $15::text[], $16::int[], $17::text[],
      $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::json[], $24::uuid[], $25::json[],
      $26::uuid[], $27::uuid[], $28::json[], $29::float8[], $30::float8[])
      as given (id, tenant_id, idempotency_key, channel, account_id, provider, recipient, address, content, event_id,
        event_type, schedule_id, entity_type, entity_id, template_id, template_version, locale, correlation_id,
        execution_id, parent_execution_id, site, triggered_by, fallback, fallback_of, warnings, contact_id,
        conversation_id, policy, due_ms, expires_ms)
    on conflict (tenant_id, idempotency_key) do nothing
    returning id, account_id, due_at
  ), queued as (
    insert into pillarbox.dispatch (notification_id, lane_id, visible_at)
    select id, account_id, greatest(now(), due_at) from ledger
    where (id in (select unnest($31::uuid[]))) is not true
    order by account_id, greatest(now(), due_at), id
    returning lane_id, visible_at
  ), parked as (
    insert into pillarbox.settled (notification_id, tenant_id, status, reason, last_error)
    select id, tenant_id, 'parked', reason, error
    from unnest($31::uuid[], $32::text[], $33::text[], $34::text[]) as given (id, tenant_id, reason, error)
    where (id in (select id from ledger)) is true
  ), sealed as (
    insert into pillarbox.sealed_contents (notification_id, tenant_id, event_id)
    select id, tenant_id, event_id
    from unnest($35::uuid[], $36::text[], $37::text[]) as given (id, tenant_id, event_id)
    where (id in (select id from ledger)) is true
  )`

/** How many parameters `WRITE_NOTIFICATIONS` has. */
export const NOTIFICATION_VALUES = 37

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
  for (const { id, accountId, parked } of firsts)
    if (accountId !== null && parked === null && written.get(id) === true) lanes.add(accountId)
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
 * The parameters of `WRITE_NOTIFICATIONS`, one array per column; columns that are null throughout stay empty, which
 * `unnest` fills up. In the order of their keys: two writers of the same keys then wait for each other instead of
 * deadlocking.
 */
export function notificationValues(notifications: readonly NewNotification[]): string[] {
  const given = notifications
    .map((each) => ({ key: keyOf(each), each }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ each }) => each)
  const parked = given.filter((each) => each.parked !== null)
  const sealed = given.filter((each) => isSealed(each.content))
  return [
    plainArray(given.map((each) => each.id)),
    textArray(given.map((each) => each.tenantId)),
    textArray(given.map((each) => each.idempotencyKey)),
    plainArray(given.map((each) => each.channel)),
    plainArray(given.map((each) => each.accountId)),
    textArray(given.map((each) => each.provider)),
    jsonArray(given.map((each) => each.to)),
    textArray(given.map((each) => addressOf(each.channel, each.to))),
    jsonArray(given.map((each) => each.content)),
    textArray(given.map((each) => each.eventId)),
    textArray(given.map((each) => each.eventType)),
    plainArray(given.map((each) => each.scheduleId)),
    textArray(given.map((each) => each.entity?.type ?? null)),
    textArray(given.map((each) => each.entity?.id ?? null)),
    textArray(given.map((each) => each.templateId)),
    plainArray(given.map((each) => each.templateVersion)),
    textArray(given.map((each) => each.locale)),
    textArray(sparse(given.map((each) => each.correlationId))),
    textArray(sparse(given.map((each) => each.executionId))),
    textArray(sparse(given.map((each) => each.parentExecutionId))),
    textArray(sparse(given.map((each) => each.site))),
    textArray(given.map((each) => each.triggeredBy)),
    jsonArray(sparse(given.map((each) => (each.fallback.length > 0 ? each.fallback : null)))),
    plainArray(sparse(given.map((each) => each.fallbackOf))),
    jsonArray(sparse(given.map((each) => (each.warnings.length > 0 ? each.warnings : null)))),
    plainArray(sparse(given.map((each) => each.contactId))),
    plainArray(sparse(given.map((each) => each.conversationId))),
    jsonArray(sparse(given.map((each) => each.policy))),
    plainArray(sparse(given.map((each) => each.dueAt))),
    plainArray(sparse(given.map((each) => each.expiresAt))),
    plainArray(parked.map((each) => each.id)),
    textArray(parked.map((each) => each.tenantId)),
    textArray(parked.map((each) => each.parked?.reason ?? null)),
    textArray(parked.map((each) => each.parked?.error ?? null)),
    plainArray(sealed.map((each) => each.id)),
    textArray(sealed.map((each) => each.tenantId)),
    textArray(sealed.map((each) => each.eventId)),
  ]
}

/** Nothing, if there is nothing but null. */
function sparse<T>(values: T[]): T[] {
  return values.every((value) => value === null) ? [] : values
}

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
