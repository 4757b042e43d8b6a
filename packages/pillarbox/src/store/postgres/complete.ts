import type { Completion } from '../../dispatch/dispatch-store.ts'
import type { NewNotification } from '../../model/notification.ts'
import { moveReason } from '../shared/audit.ts'
import { isSent } from '../shared/completions.ts'
import { jsonArray, plainArray, textArray, wholeArray } from './arrays.ts'
import { insertNotifications } from './notifications.ts'
import type { Run, Session } from './session.ts'

type Completed = { fenced: string[]; lanes: string[] }

/**
 * Writes results; see the contract. One statement per call: a short one where every result is an accepted message, the
 * whole one otherwise. Only results whose token is no longer the row's need a second, those that move to another account
 * one more, and those that carry a fallback notification two, in one transaction.
 */
export async function complete(session: Session, workerId: string, given: readonly Completion[]): Promise<Completed> {
  if (given.length === 0) return { fenced: [], lanes: [] }
  // Rows are locked in the order given: the same order everywhere, so that no two statements wait for each other.
  const sorted = given.toSorted((a, b) => (a.notificationId < b.notificationId ? -1 : 1))
  if (sorted.every((each) => each.next === null && each.moveTo === null)) {
    const { fenced, lanes } = await writeResults(session.run, workerId, sorted)
    return { fenced, lanes }
  }
  return session.transaction(async (run) => {
    const { fenced, lanes, stale } = await writeResults(run, workerId, sorted)
    await writeMoves(run, sorted, stale)
    const more = await writeFallbacks(run, sorted, stale)
    return { fenced, lanes: [...new Set([...lanes, ...more])] }
  })
}

/** `stale`: those that found their token gone, fenced or merely repeated. */
async function writeResults(
  run: Run,
  workerId: string,
  given: readonly Completion[],
): Promise<Completed & { stale: ReadonlySet<Completion> }> {
  const isShort = given.every(isSent)
  const rows = await run<ResultRow>(
    isShort
      ? { name: 'complete_sent', text: SENT, values: [workerId, ...sentColumns(given)], rowMode: 'array' }
      : { name: 'complete', text: COMPLETE, values: [workerId, ...columns(given)], rowMode: 'array' },
  )
  const unmet = new Set<string>()
  for (const [id, token, laneId] of rows) if (laneId === null) unmet.add(`${id} ${token}`)
  const late =
    unmet.size === 0 ? [] : given.filter(({ notificationId, token }) => unmet.has(`${notificationId} ${token}`))
  const stale = new Set(late)
  const lanes = new Set<string>()
  for (const [id, , laneId] of rows) {
    if (laneId === null) continue
    const written = given.find((each) => each.notificationId === id && !stale.has(each))
    lanes.add(written?.moveTo?.accountId ?? laneId)
  }
  return { fenced: late.length === 0 ? [] : await writeLate(run, workerId, late), lanes: [...lanes], stale }
}

/** A result whose token is no longer the row's, or one that is due again, and the lane it was on. */
type ResultRow = [id: string, token: number, laneId: null] | [id: string, token: null, laneId: string]

/** Accepted messages: most of all results, so they get the fewest parameters and plan nodes. */
const SENT = `
  with given as materialized (
    select * from unnest($2::uuid[], $3::bigint[], $4::int[], $5::boolean[], $6::int[], $7::int[], $8::text[], $9::text[])
      as g (id, token, attempt, possible_duplicate, age_ms, duration_ms, provider, provider_message_id)
  ), ended as (
    delete from pillarbox.dispatch d using given
    where d.notification_id = given.id and d.token = given.token
    returning given.*
  ), logged as (
    insert into pillarbox.attempts (notification_id, number, late, outcome, to_status, possible_duplicate, duration_ms,
      started_at, token, worker_id, provider, provider_message_id)
    select id, attempt, false, 'accepted', 'sent', possible_duplicate, duration_ms,
      now() - age_ms * interval '1 millisecond', token, $1::uuid, provider, provider_message_id
    from ended
  )
  select id, token, null::uuid from given where (id, token) not in (select id, token from ended)`

const GIVEN = `id, token, attempt, possible_duplicate, age_ms, duration_ms, provider, provider_message_id, outcome, code,
  error, to_status, reason, delay_ms, spent, resolved_targets`

const ALL_GIVEN = `
  select * from unnest($2::uuid[], $3::bigint[], $4::int[], $5::boolean[], $6::int[], $7::int[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::int[], $16::int[], $17::json[]) as g (${GIVEN})`

const ATTEMPT = `notification_id, number, late, outcome, to_status, possible_duplicate, duration_ms, started_at, token,
  worker_id, provider, provider_message_id, code, error, reason, resolved_targets`

/** An attempt of a row of `given`. */
function attemptOf(late: boolean): string {
  return `id, attempt, ${late}, outcome, to_status, possible_duplicate, duration_ms,
    now() - age_ms * interval '1 millisecond', token, $1::uuid, provider, provider_message_id, code, error, reason,
    resolved_targets`
}

/** Every kind of result. `over` leaves the work table; `again` waits for its next attempt. */
const COMPLETE = `
  with given as materialized (${ALL_GIVEN}), over as (
    delete from pillarbox.dispatch d using given
    where d.notification_id = given.id and d.token = given.token and given.to_status <> 'retrying'
    returning given.*, d.lane_id
  ), again as (
    update pillarbox.dispatch d
    set token = null, worker_id = null, claimed_at = null, in_doubt = false,
      visible_at = now() + given.delay_ms * interval '1 millisecond', spent = given.spent,
      possible_duplicate = given.possible_duplicate, last_error = given.error
    from given
    where d.notification_id = given.id and d.token = given.token and given.to_status = 'retrying'
    returning given.*, d.lane_id
  ), ended as materialized (
    select * from over union all select * from again
  ), logged as (
    insert into pillarbox.attempts (${ATTEMPT})
    select ${attemptOf(false)} from ended where outcome is not null
  ), settled as (
    insert into pillarbox.settled
      (notification_id, tenant_id, status, reason, last_error, spent, attempt, possible_duplicate)
    select over.id, n.tenant_id, over.to_status, over.reason, over.error, over.spent, over.attempt, over.possible_duplicate
    from over join pillarbox.notifications n on n.id = over.id
    where over.to_status <> 'sent'
  ), audited as (
    insert into pillarbox.audit (tenant_id, actor, action, notification_id, attempt, from_status, to_status, reason)
    select n.tenant_id, 'system',
      case ended.to_status when 'sent' then 'send' when 'retrying' then 'retry' when 'parked' then 'park'
        when 'uncertain' then 'hold' when 'failed' then 'fail' else 'cancel' end,
      ended.id, ended.attempt, 'sending', ended.to_status, ended.reason
    from ended join pillarbox.notifications n on n.id = ended.id
    where ended.outcome is null
  )
  select id, token, null::uuid as lane_id from given where (id, token) not in (select id, token from ended)
  union all
  select id, null, lane_id from again where delay_ms = 0`

/**
 * Results that found their token gone. Those that an earlier try of the same call has written are no news: their
 * attempt has the same token. The others are kept, once each. A statement of its own, because it must see what the one
 * it waited for has committed, and the first statement's snapshot does not.
 */
const LATE = `
  with given as materialized (${ALL_GIVEN}), fenced as materialized (
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

async function writeLate(run: Run, workerId: string, late: readonly Completion[]): Promise<string[]> {
  const rows = await run<{ id: string }>({ name: 'complete_late', text: LATE, values: [workerId, ...columns(late)] })
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
  ]
}

function columns(given: readonly Completion[]): string[] {
  return [
    ...sentColumns(given),
    plainArray(given.map((each) => each.outcome)),
    textArray(given.map((each) => each.code)),
    textArray(given.map((each) => each.error)),
    plainArray(given.map((each) => each.to)),
    textArray(given.map((each) => each.reason)),
    wholeArray(given.map((each) => each.delayMs)),
    wholeArray(given.map((each) => each.spent)),
    jsonArray(given.map((each) => each.resolvedTargets)),
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
async function writeMoves(run: Run, given: readonly Completion[], stale: ReadonlySet<Completion>): Promise<void> {
  const moves = given.flatMap((each) =>
    each.moveTo && each.to === 'retrying' && !stale.has(each) ? [{ ...each, moveTo: each.moveTo }] : [],
  )
  if (moves.length === 0) return
  await run({
    name: 'move',
    text: MOVE,
    values: [
      plainArray(moves.map((each) => each.notificationId)),
      plainArray(moves.map((each) => each.attempt)),
      plainArray(moves.map((each) => each.moveTo.accountId)),
      textArray(moves.map((each) => each.moveTo.provider)),
      textArray(moves.map((each) => moveReason(each.laneId, each.moveTo.accountId))),
    ],
  })
}

const LINK = `
  update pillarbox.notifications n set fallback_to = given.next
  from unnest($1::uuid[], $2::uuid[]) as given (id, next)
  where n.id = given.id`

/** The notifications that take over from those that failed; answers the lanes that got work. */
async function writeFallbacks(
  run: Run,
  given: readonly Completion[],
  stale: ReadonlySet<Completion>,
): Promise<string[]> {
  const pairs = given.flatMap((each): { id: string; next: NewNotification }[] =>
    each.next === null || stale.has(each) ? [] : [{ id: each.notificationId, next: each.next }],
  )
  if (pairs.length === 0) return []
  const { answers, lanes } = await insertNotifications(
    run,
    pairs.map(({ next }) => next),
  )
  await run({
    name: 'link_fallback',
    text: LINK,
    values: [plainArray(pairs.map(({ id }) => id)), plainArray(answers.map(({ id }) => id))],
  })
  return lanes
}
