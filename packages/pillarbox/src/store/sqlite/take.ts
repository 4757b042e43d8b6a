import type { TakeTurns } from '../../plan/plan-store.ts'
import { EVENT_COLUMNS, SCHEDULE_COLUMNS } from '../shared/events.ts'
import { TAKE_BYTES } from '../shared/plan.ts'
import type { Row } from '../shared/script.ts'
import type { Connections } from './scripts.ts'

/** How rows to be planned are found: from the head of the queue, in turns, or of one tenant; but none of those held. */
type Taking = (limit: number, turns: TakeTurns | undefined, held: Iterable<RowPlace>) => Row[]

/** Where SQLite finds a row: `place` of those that are taken. An event has moved if the file was compacted meanwhile. */
export type RowPlace = string | number

/** Tenants take turns once there is more than one batch takes, until nothing is left. */
export function createTaking({ reader, clock }: Connections, table: keyof typeof TAKE_TEXTS): Taking {
  let isMoreLikely = false
  const texts = TAKE_TEXTS[table]

  /** Those whose rows are due, first behind the one whose turn it was last, and no more than there are rows to take. */
  function tenantsInTurn(limit: number, { after = '', without = [] }: TakeTurns): string[] {
    const now = clock.now()
    const tenants: string[] = []
    const walk = (from: string, until: string | null): void => {
      for (let last = from; tenants.length < limit; ) {
        const next = reader.prepare(texts.nextTenant).get(last)?.['tenant_id']
        if (typeof next !== 'string' || (until !== null && next > until)) return
        last = next
        if (!without.includes(next) && reader.prepare(texts.isDue).get(next, now)) tenants.push(next)
      }
    }
    walk(after, null)
    walk('', after)
    return tenants
  }

  /** Rows are read one at a time, and no further than they fit: payloads may be large. */
  function free(text: string, limit: number, held: string, ...given: string[]): Iterable<Row> {
    return reader.prepare(text).iterate(clock.now(), limit, held, ...given)
  }

  /** Of each tenant the same share, in laps. Which of them fit is known by their sizes, before they are read. */
  function inTurns(limit: number, tenants: readonly string[], held: string): Row[] {
    const share = Math.max(1, Math.floor(limit / tenants.length))
    const sizes = tenants.map((tenantId) => [...free(texts.sizes, share, held, tenantId)])
    const fitting = thatFit(inLaps(sizes, share), ({ bytes }) => Number(bytes))
    const found = fitting.map(({ place }) => reader.prepare(texts.one).get(place as RowPlace))
    return found.filter((row) => row !== undefined)
  }

  return (limit, turns = {}, places) => {
    const { only, without = [] } = turns
    const held = JSON.stringify([...places])
    const first = (text: string, ...given: string[]): Row[] => thatFit(free(text, limit, held, ...given), lengthOf)
    if (only !== undefined) return first(texts.ofTenant, only)
    const isInTurns = isMoreLikely || without.length > 0
    const tenants = isInTurns ? tenantsInTurn(limit, turns) : []
    const [tenant, ...others] = tenants
    const found = !isInTurns
      ? first(texts.first)
      : tenant === undefined
        ? []
        : others.length === 0
          ? first(texts.ofTenant, tenant)
          : inTurns(limit, tenants, held)
    isMoreLikely = isInTurns ? found.length > 0 : found.length === limit
    return found
  }
}

const EVENTS_IN_ORDER = 'order by e.next_attempt_at, e.created_at, e.rowid limit $2'
const SCHEDULES_IN_ORDER = 'order by s.next_attempt_at, s.id limit $2'
const EVENTS_DUE = `from pillarbox.events e where e.status = 'pending' and e.next_attempt_at <= $1
  and e.rowid not in (select value from json_each($3))`
// `cross join`: the schedules first. With statistics of a time when there were few, SQLite would go through all events.
const SCHEDULES_WITH_EVENTS =
  'from pillarbox.schedules s cross join pillarbox.events e on e.tenant_id = s.tenant_id and e.id = s.event_id'
const SCHEDULES_DUE = `${SCHEDULES_WITH_EVENTS} where s.status = 'pending' and s.next_attempt_at <= $1
  and s.id not in (select value from json_each($3))`
const EVENT_SELECTED = `select e.rowid as place, e.crashes, ${EVENT_COLUMNS}`
const SCHEDULE_SELECTED = `select s.id as place, s.crashes, ${SCHEDULE_COLUMNS},
  s.next_attempt_at as schedule_next_attempt_at, ${EVENT_COLUMNS}`

export const TAKE_TEXTS = {
  events: {
    first: `${EVENT_SELECTED} ${EVENTS_DUE} ${EVENTS_IN_ORDER}`,
    ofTenant: `${EVENT_SELECTED} ${EVENTS_DUE} and e.tenant_id = $4 ${EVENTS_IN_ORDER}`,
    sizes: `select e.rowid as place, octet_length(e.payload) as bytes
      ${EVENTS_DUE} and e.tenant_id = $4 ${EVENTS_IN_ORDER}`,
    one: `${EVENT_SELECTED} from pillarbox.events e where e.rowid = $1`,
    nextTenant: nextTenantText('events'),
    isDue: isDueText('events'),
  },
  schedules: {
    first: `${SCHEDULE_SELECTED} ${SCHEDULES_DUE} ${SCHEDULES_IN_ORDER}`,
    ofTenant: `${SCHEDULE_SELECTED} ${SCHEDULES_DUE} and s.tenant_id = $4 ${SCHEDULES_IN_ORDER}`,
    sizes: `select s.id as place, octet_length(e.payload) as bytes
      ${SCHEDULES_DUE} and s.tenant_id = $4 ${SCHEDULES_IN_ORDER}`,
    one: `${SCHEDULE_SELECTED} ${SCHEDULES_WITH_EVENTS} where s.id = $1`,
    nextTenant: nextTenantText('schedules'),
    isDue: isDueText('schedules'),
  },
} as const

function nextTenantText(table: string): string {
  return `select tenant_id from pillarbox.${table} where status = 'pending' and tenant_id > $1 order by tenant_id limit 1`
}

function isDueText(table: string): string {
  return `select 1 from pillarbox.${table} where status = 'pending' and tenant_id = $1 and next_attempt_at <= $2 limit 1`
}

/** The first of each, then the second of each, and so on. */
function* inLaps(lists: readonly Row[][], laps: number): Generator<Row> {
  for (let lap = 0; lap < laps; lap++)
    for (const list of lists) {
      const row = list[lap]
      if (row) yield row
    }
}

function lengthOf(found: Row): number {
  return String(found['payload']).length
}

/** The first rows, as many as have no more than `TAKE_BYTES` of payload together, but one at least. */
function thatFit(found: Iterable<Row>, bytesOf: (found: Row) => number): Row[] {
  const rows: Row[] = []
  let bytes = 0
  for (const row of found) {
    bytes += bytesOf(row)
    if (rows.length > 0 && bytes > TAKE_BYTES) break
    rows.push(row)
  }
  return rows
}
