import type { Completion } from '../../dispatch/dispatch-store.ts'
import { type CompletionChanges, completionChanges, isSent, lateChanges } from '../shared/transitions.ts'
import { jsonArray, plainArray, textArray, wholeArray } from './arrays.ts'
import { insertNotifications } from './notifications.ts'
import { bucketIn, countedClaims, countedTable, INSERT_DELTAS, NOW_MS } from './rollup-deltas.ts'
import type { Run, Session } from './session.ts'

type Completed = { fenced: string[]; lanes: string[] }

/**
 * Writes results; see `complete` in dispatch/dispatch-store.ts. One statement per call: a short one where every result is an accepted message, the
 * whole one otherwise. Only results whose token is no longer the row's need a second, those that move to another account
 * one more, and those that carry a fallback notification or end their chain two, in one transaction.
 */
export async function complete(session: Session, workerId: string, given: readonly Completion[]): Promise<Completed> {
  if (given.length === 0) return { fenced: [], lanes: [] }
  // Rows are locked in the order given: the same order everywhere, so that no two statements wait for each other.
  const sorted = given.toSorted((a, b) => (a.notificationId < b.notificationId ? -1 : 1))
  if (sorted.every(isSent)) {
    const { numbers, arrays } = countedClaims(sorted)
    const values = [workerId, ...sentColumns(sorted), plainArray(numbers), wantedColumn(sorted), ...arrays]
    const query = { name: 'complete_sent', text: SENT, values }
    return { fenced: await writeLate(session.run, workerId, sorted, await session.run<Stale>(query)), lanes: [] }
  }
  const all = sorted.map(completionChanges)
  const isOneStatement = all.every(
    ({ next, skipped, moveTo }) => next === null && skipped.length === 0 && moveTo === null,
  )
  return isOneStatement
    ? writeChanges(session.run, workerId, all)
    : session.transaction((run) => writeChanges(run, workerId, all))
}

async function writeChanges(run: Run, workerId: string, all: readonly CompletionChanges[]): Promise<Completed> {
  const { numbers, nextNumbers, arrays } = countedClaims(all)
  const counted = [plainArray(numbers), wantedColumn(all), plainArray(nextNumbers), ...arrays]
  const stale = await run<Stale>({ name: 'complete', text: COMPLETE, values: [workerId, ...columns(all), ...counted] })
  const fenced = await writeLate(run, workerId, all, stale)
  const written = stale.length === 0 ? all : all.filter((each) => !isStale(stale, each))
  await writeMoves(run, written)
  await endChains(run, written)
  const lanes = new Set(written.flatMap(({ dueLane }) => dueLane ?? []))
  for (const lane of await writeFallbacks(run, written)) lanes.add(lane)
  return { fenced, lanes: [...lanes] }
}

/** A result that found its token gone: the claim was taken over, or an earlier try of the same call has written it. */
interface Stale {
  id: string
  token: number
}

function isStale(stale: readonly Stale[], { notificationId, token }: Completion): boolean {
  return stale.some((each) => each.id === notificationId && each.token === token)
}

/** Accepted messages: most of all results, so they get the fewest parameters and plan nodes. */
const SENT = `
  with given as materialized (
    select * from unnest($2::uuid[], $3::bigint[], $4::int[], $5::boolean[], $6::int[], $7::int[], $8::text[], $9::text[],
        $10::uuid[], $11::text[], $12::text[], $13::int[], $14::bigint[])
      as g (id, token, attempt, possible_duplicate, age_ms, duration_ms, provider, provider_message_id, account_id, answer,
        tenant_id, counted_as, wanted_ms)
  ), ended as (
    delete from pillarbox.dispatch d using given
    where d.notification_id = given.id and d.token = given.token
    returning given.*
  ), logged as (
    insert into pillarbox.attempts (notification_id, number, late, outcome, to_status, possible_duplicate, duration_ms,
      started_at, token, worker_id, provider, provider_message_id, account_id, answer, tenant_id)
    select id, attempt, false, 'accepted', 'sent', possible_duplicate, duration_ms,
      now() - age_ms * interval '1 millisecond', token, $1::uuid, provider, provider_message_id, account_id, answer,
      tenant_id
    from ended
  ), counted as (
    ${INSERT_DELTAS}
    select sums.at_second, c.tenant_id, c.channel, c.account_id, c.site, c.event_type, 'live', 'sent', c.due_second,
      sums.latency, c.is_delivered, true, sums.count
    from (
      select counted_as, sent_ms / 1000 as at_second, ${bucketIn('sent_ms - wanted_ms')} as latency, count(*) as count
      from (select counted_as, wanted_ms, ${NOW_MS} - age_ms + duration_ms as sent_ms from ended) as sent
      group by 1, 2, 3
    ) as sums join ${countedTable(15)} on c.number = sums.counted_as
  )
  select id, token from given where (id, token) not in (select id, token from ended)`

const GIVEN = `
  select * from unnest($2::uuid[], $3::bigint[], $4::int[], $5::boolean[], $6::int[], $7::int[], $8::text[], $9::text[],
    $10::uuid[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::int[],
    $19::int[], $20::json[], $21::text[], $22::text[], $23::json[], $24::text[], $25::int[], $26::bigint[], $27::int[])
    as g (id, token, attempt, possible_duplicate, age_ms, duration_ms, provider, provider_message_id, account_id, answer,
      tenant_id, outcome, code, error, to_status, reason, wait_ms, spent, resolved_targets, settled_as, audited_as, refused,
      fingerprint, counted_as, wanted_ms, next_counted_as)`

const ATTEMPT = `notification_id, number, late, outcome, to_status, possible_duplicate, duration_ms, started_at, token,
  worker_id, provider, provider_message_id, account_id, answer, tenant_id, code, error, reason, resolved_targets, refused`

/** An attempt of a row of `given`. */
function attemptOf(late: boolean): string {
  return `id, attempt, ${late}, outcome, to_status, possible_duplicate, duration_ms,
    now() - age_ms * interval '1 millisecond', token, $1::uuid, provider, provider_message_id, account_id, answer,
    tenant_id, code, error, reason, resolved_targets, refused`
}

/** Applies `CompletionChanges`. `over` leaves the work table; `again` waits for its next attempt. */
const COMPLETE = `
  with given as materialized (${GIVEN}), over as (
    delete from pillarbox.dispatch d using given
    where d.notification_id = given.id and d.token = given.token and given.wait_ms is null
    returning given.*
  ), again as (
    update pillarbox.dispatch d
    set token = null, worker_id = null, claimed_at = null, in_doubt = false,
      visible_at = now() + given.wait_ms * interval '1 millisecond', spent = given.spent,
      possible_duplicate = given.possible_duplicate, last_error = given.error
    from given
    where d.notification_id = given.id and d.token = given.token and given.wait_ms is not null
    returning given.*
  ), ended as materialized (
    select * from over union all select * from again
  ), logged as (
    insert into pillarbox.attempts (${ATTEMPT})
    select ${attemptOf(false)} from ended where outcome is not null
  ), settled as (
    insert into pillarbox.settled
      (notification_id, tenant_id, status, reason, last_error, spent, attempt, possible_duplicate, code, fingerprint)
    select id, tenant_id, settled_as, reason, error, spent, attempt, possible_duplicate, code, fingerprint
    from ended where settled_as is not null
  ), audited as (
    insert into pillarbox.audit (tenant_id, actor, action, notification_id, attempt, from_status, to_status, reason)
    select tenant_id, 'system', audited_as, id, attempt, 'sending', to_status, reason
    from ended where audited_as is not null
  ), counted as (
    ${INSERT_DELTAS}
    select sums.at_second, c.tenant_id, c.channel, c.account_id, c.site, c.event_type, sums.from_status, sums.to_status,
      coalesce(sums.due_second, c.due_second), sums.latency, sums.to_status = 'sent' and c.is_delivered,
      sums.is_by_account, sums.count
    from (
      select counted_as, ended_ms / 1000 as at_second, 'live' as from_status, to_status, null::bigint as due_second,
        case when outcome = 'accepted' and to_status = 'sent' then ${bucketIn('ended_ms - wanted_ms')} end as latency,
        outcome is not null as is_by_account, count(*) as count
      from (
        select counted_as, to_status, outcome, wanted_ms,
          ${NOW_MS} - case when outcome is null then 0 else age_ms - duration_ms end as ended_ms
        from over
      ) as stopped
      group by 1, 2, 4, 6, 7
      union all
      select counted_as, ${NOW_MS} / 1000, 'live', 'moved', null, null, false, count(*) from again group by 1
      union all
      select next_counted_as, ${NOW_MS} / 1000, 'moved', 'live', (${NOW_MS} + wait_ms) / 1000, null, false, count(*)
      from again group by 1, 5
    ) as sums join ${countedTable(28)} on c.number = sums.counted_as
  )
  select id, token from given where (id, token) not in (select id, token from ended)`

/**
 * Results that found their token gone. Those that an earlier try of the same call has written are no news: their
 * attempt has the same token. The others are kept, once each. A statement of its own, because it must see what the one
 * it waited for has committed, and the first statement's snapshot does not.
 */
const LATE = `
  with given as materialized (${GIVEN}), fenced as materialized (
    select * from given
    where not exists (
      select from pillarbox.attempts a
      where a.notification_id = given.id and a.number = given.attempt and not a.late and a.token = given.token
    )
  ), logged as (
    insert into pillarbox.attempts (${ATTEMPT})
    select ${attemptOf(true)} from fenced where outcome is not null
    on conflict do nothing
  )
  select id from fenced`

/** Answers which notifications were no longer the worker's. */
async function writeLate(
  run: Run,
  workerId: string,
  given: readonly Completion[],
  stale: readonly Stale[],
): Promise<string[]> {
  if (stale.length === 0) return []
  const late = given.filter((each) => isStale(stale, each)).map(lateChanges)
  // What changes nothing is not counted.
  const values = [workerId, ...columns(late), '{}', '{}', '{}']
  const rows = await run<{ id: string }>({ name: 'complete_late', text: LATE, values })
  return rows.map(({ id }) => id)
}

function sentColumns(given: readonly Completion[]): string[] {
  return [
    plainArray(given.map((each) => each.notificationId)),
    plainArray(given.map((each) => each.token)),
    plainArray(given.map((each) => each.attempt)),
    plainArray(given.map((each) => each.possibleDuplicate)),
    wholeArray(given.map((each) => each.ageMs)),
    wholeArray(given.map((each) => each.durationMs)),
    textArray(given.map((each) => each.provider)),
    textArray(given.map((each) => each.providerMessageId)),
    plainArray(given.map((each) => each.accountId)),
    textArray(given.map((each) => each.answer)),
    textArray(given.map((each) => each.tenantId)),
  ]
}

/** Since when each was wanted, in milliseconds. */
function wantedColumn(given: readonly Completion[]): string {
  return plainArray(given.map(({ counted }) => Math.floor(counted.wantedAt)))
}

function columns(all: readonly CompletionChanges[]): string[] {
  return [
    ...sentColumns(all),
    plainArray(all.map((each) => each.outcome)),
    textArray(all.map((each) => each.code)),
    textArray(all.map((each) => each.error)),
    plainArray(all.map((each) => each.to)),
    textArray(all.map((each) => each.reason)),
    plainArray(all.map((each) => each.waitMs)),
    wholeArray(all.map((each) => each.spent)),
    jsonArray(all.map((each) => each.resolvedTargets)),
    plainArray(all.map((each) => each.settledAs)),
    plainArray(all.map((each) => each.auditedAs)),
    jsonArray(all.map((each) => each.refused)),
    plainArray(all.map((each) => each.fingerprint)),
  ]
}

/** Only rows that this transaction has just set back, so nobody else has them. */
const MOVE = `
  with given as materialized (
    select * from unnest($1::uuid[], $2::int[], $3::uuid[], $4::text[], $5::text[])
      as g (id, attempt, account_id, provider, reason)
  ), moved as (
    update pillarbox.dispatch d set lane_id = given.account_id
    from given where d.notification_id = given.id
  ), noted as (
    update pillarbox.notifications n set account_id = given.account_id, provider = given.provider
    from given where n.id = given.id
    returning n.tenant_id, given.id, given.attempt, given.reason
  )
  insert into pillarbox.audit (tenant_id, actor, action, notification_id, attempt, reason)
  select tenant_id, 'system', 'move', id, attempt, reason from noted`

/** From now on another account's, in the ledger too. */
async function writeMoves(run: Run, written: readonly CompletionChanges[]): Promise<void> {
  const moves = written.filter(({ moveTo }) => moveTo !== null)
  if (moves.length === 0) return
  await run({
    name: 'move',
    text: MOVE,
    values: [
      plainArray(moves.map((each) => each.notificationId)),
      plainArray(moves.map((each) => each.attempt)),
      plainArray(moves.map(({ moveTo }) => moveTo?.accountId ?? null)),
      textArray(moves.map(({ moveTo }) => moveTo?.provider ?? null)),
      textArray(moves.map((each) => each.moveReason)),
    ],
  })
}

const END_CHAINS = 'update pillarbox.notifications set fallback = null where id = any($1::uuid[])'

/** What is skipped on the channels of chains that nobody takes over on, which hold them no more. */
async function endChains(run: Run, written: readonly CompletionChanges[]): Promise<void> {
  const ended = written.filter(({ skipped }) => skipped.length > 0)
  if (ended.length === 0) return
  await insertNotifications(
    run,
    ended.flatMap(({ skipped }) => skipped),
  )
  await run({ name: 'end_chains', text: END_CHAINS, values: [plainArray(ended.map((each) => each.notificationId))] })
}

const LINK = `
  update pillarbox.notifications n set fallback_to = given.next
  from unnest($1::uuid[], $2::uuid[]) as given (id, next)
  where n.id = given.id`

/** The notifications that take over from those that failed; answers the lanes that got work. */
async function writeFallbacks(run: Run, written: readonly CompletionChanges[]): Promise<string[]> {
  const failed = written.filter(({ next }) => next !== null)
  if (failed.length === 0) return []
  const { answers, lanes } = await insertNotifications(
    run,
    failed.flatMap(({ next }) => next ?? []),
  )
  const passedOver = failed.flatMap(({ next }) => next?.passedOver ?? [])
  if (passedOver.length > 0) await insertNotifications(run, passedOver)
  await run({
    name: 'link_fallback',
    text: LINK,
    values: [plainArray(failed.map((each) => each.notificationId)), plainArray(answers.map(({ id }) => id))],
  })
  return lanes
}
