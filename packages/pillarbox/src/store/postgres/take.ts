import type { TakeTurns } from '../../plan/plan-store.ts'
import { EVENT_COLUMNS, SCHEDULE_COLUMNS } from '../shared/events.ts'
import { TAKE_BYTES } from '../shared/plan.ts'
import { textArray } from './arrays.ts'
import type { Query } from './session.ts'

/**
 * The statements that take rows to be planned: from the head of the queue, in turns, or of one tenant. What they take is
 * locked until the commit: another planner skips it, and a host's transaction that has not committed is not seen.
 */
export type PlannedTable = 'events' | 'schedules'

/** `isInTurns`: there is more than one batch takes. */
export function takeQuery(table: PlannedTable, limit: number, turns: TakeTurns, isInTurns: boolean): Query {
  const { after = '', without = [], only } = turns
  const { first, inTurns, ofTenant } = TAKES[table]
  if (only !== undefined) return { name: `take_${table}_of`, text: ofTenant, values: [limit, only] }
  if (!isInTurns) return { name: `take_${table}`, text: first, values: [limit] }
  return { name: `take_${table}_in_turns`, text: inTurns, values: [limit, after, textArray(without)] }
}

/** How one of the two tables is read. `a`: the alias of its rows; an event's is always `e`. */
interface TakenTable {
  table: string
  a: string
  /** What finds a row that is locked. */
  place: string
  selected: string
  /** Behind the rows themselves. */
  join: string
}

const EVENTS: TakenTable = {
  table: 'pillarbox.events',
  a: 'e',
  place: 'e.ctid',
  selected: `e.ctid as place, e.crashes, ${EVENT_COLUMNS}`,
  join: '',
}

const SCHEDULES: TakenTable = {
  table: 'pillarbox.schedules',
  a: 's',
  place: 's.id',
  selected: `s.crashes, ${SCHEDULE_COLUMNS}, ${EVENT_COLUMNS}`,
  join: 'join pillarbox.events e on e.tenant_id = s.tenant_id and e.id = s.event_id',
}

/** Behind which the numbers of those begin whose turn comes later. */
const MOST_TENANTS = 1_000_000_000

/** Of a payload, which is not read where its size is known without. */
const BYTES = `case when pg_column_compression(e.payload) is null then pg_column_size(e.payload)
    else octet_length(e.payload::text) end`

const TAKES: Record<PlannedTable, { first: string; inTurns: string; ofTenant: string }> = {
  events: textsFor(EVENTS),
  schedules: textsFor(SCHEDULES),
}

function textsFor(taken: TakenTable) {
  const ofTenant = firstText(taken, `and ${taken.a}.tenant_id = $2`)
  return { first: firstText(taken), ofTenant, inTurns: inTurnsText(taken) }
}

function isDue({ a }: TakenTable): string {
  return `${a}.status = 'pending' and ${a}.next_attempt_at <= now()`
}

/** As many of the first rows as have no more than `TAKE_BYTES` together, but one at least. */
function firstText(taken: TakenTable, condition = ''): string {
  const { table, a, selected, join } = taken
  const head = `from ${table} ${a} ${join} where ${isDue(taken)} ${condition} order by ${a}.next_attempt_at`
  return `
  select ${selected} ${head}
  limit (
    select greatest(1, count(*)) from (
      select sum(bytes) over (order by next_attempt_at rows unbounded preceding) as bytes
      from (select ${BYTES} as bytes, ${a}.next_attempt_at ${head} limit $1) as head
    ) as running where bytes <= ${TAKE_BYTES})
  for no key update of ${a} skip locked`
}

/**
 * Walks from tenant to tenant by the index, first behind the one whose turn it was last, and no further than there are
 * rows to take; then takes the same share of each, in laps.
 */
function inTurnsText(taken: TakenTable): string {
  const { table, a, place, selected, join } = taken
  const next = (condition: string): string => `
      select ${a}.tenant_id from ${table} ${a} where ${a}.status = 'pending' ${condition} order by ${a}.tenant_id limit 1`
  return `
  with recursive behind as (
    select (${next(`and ${a}.tenant_id > $2::text`)}) as tenant_id, 1 as turn
    union all
    select (${next(`and ${a}.tenant_id > behind.tenant_id`)}), turn + 1 from behind where behind.tenant_id is not null
  ), before as (
    select (${next('')}) as tenant_id, ${MOST_TENANTS} as turn
    union all
    select (${next(`and ${a}.tenant_id > before.tenant_id`)}), turn + 1 from before where before.tenant_id <= $2::text
  ), tenants as materialized (
    select walked.* from (
      select * from behind where tenant_id is not null union all select * from before where tenant_id <= $2::text
    ) walked cross join lateral (
      select from ${table} ${a} where ${isDue(taken)} and ${a}.tenant_id = walked.tenant_id limit 1
    ) due
    where walked.tenant_id <> all($3::text[])
    limit $1
  ), locked as materialized (
    select t.turn, own.* from tenants t cross join lateral (
      select ${place} as place, ${a}.next_attempt_at from ${table} ${a}
      where ${isDue(taken)} and ${a}.tenant_id = t.tenant_id
      order by ${a}.next_attempt_at
      limit (select greatest(1, $1 / count(*)) from tenants)
      for no key update skip locked
    ) own
  ), sized as (
    select locked.place, turn, row_number() over (partition by turn order by next_attempt_at) as lap, own.bytes
    from locked cross join lateral (
      select ${BYTES} as bytes from ${table} ${a} ${join} where ${place} = locked.place offset 0
    ) own
  ), running as (
    select place, turn, lap, bytes, sum(bytes) over (order by lap, turn rows unbounded preceding) as total from sized
  )
  select own.* from running cross join lateral (
    select ${selected} from ${table} ${a} ${join} where ${place} = running.place offset 0
  ) own
  where total <= ${TAKE_BYTES} or total = bytes
  order by lap, turn`
}
