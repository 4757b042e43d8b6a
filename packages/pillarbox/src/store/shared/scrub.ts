import type { NotificationStore } from '../../plan/notification-store.ts'
import { booleanOf } from './fields.ts'
import { type Dialect, givenIds, givenRows, type Row, rows, type Script, type ScriptRunner } from './script.ts'

/** Looked at for each row that may be changed: what is not final yet costs a look every time round. */
const WINDOW = 10
/** Payloads are read and written whole. */
const MAX_PAYLOADS = 100

/** Before the first of each. */
const NO_CONTENT = '00000000-0000-0000-0000-000000000000'
const NO_PAYLOAD: EventKey = { tenantId: '', eventId: '' }

interface EventKey {
  tenantId: string
  eventId: string
}

/**
 * Removes secrets that nothing needs any more: first contents, then the payloads they were made from. Each call looks at
 * a stretch of what is sealed, from where the last one ended, so that a long queue of sealed contents costs no call more
 * than a short one.
 */
export function scrubber({ dialect, read, write }: ScriptRunner): NotificationStore['scrub'] {
  let content = NO_CONTENT
  let payload = NO_PAYLOAD
  return async (limit) => {
    const contents = await read(() => sealedContents(content, limit))
    content = contents.next ?? NO_CONTENT
    const scrubbed = contents.final.length > 0 ? await write(() => scrubContents(dialect, contents.final)) : 0
    const most = Math.min(limit - scrubbed, MAX_PAYLOADS)
    if (most <= 0) return scrubbed
    const payloads = await read(() => sealedPayloads(payload, most))
    payload = payloads.next ?? NO_PAYLOAD
    return payloads.final.length > 0 ? scrubbed + (await write(() => scrubPayloads(payloads.final))) : scrubbed
  }
}

/** What may go, and where the next look begins; null: with the first again. */
interface Look<Key> {
  final: Key[]
  next: Key | null
}

/** Whether nothing more can come of a notification `n`, given its rows `d` and `s` in the work tables. */
const IS_FINAL = `case when d.notification_id is not null then false
  when s.notification_id is null or s.status = 'sent' then n.fallback is null
  else s.status in ('delivered', 'read', 'failed', 'discarded', 'cancelled') end`
/** The rows of the work tables that tell where a notification `n` stands. */
export const WORK_ROWS = `left join pillarbox.dispatch d on d.notification_id = n.id
  left join pillarbox.settled s on s.notification_id = n.id`

function* sealedContents(after: string, limit: number): Script<Look<string>> {
  const found = yield* rows(
    `select c.notification_id as id, ${IS_FINAL} as is_final
      from (select notification_id from pillarbox.sealed_contents where notification_id > :after
        order by notification_id limit :most) c
      left join pillarbox.notifications n on n.id = c.notification_id ${WORK_ROWS} order by c.notification_id`,
    { after, most: limit * WINDOW },
  )
  return look(found, limit, (row) => String(row['id']))
}

function look<Key>(found: readonly Row[], limit: number, keyOf: (row: Row) => Key): Look<Key> {
  const final = found.filter((row) => booleanOf(row['is_final']))
  const last = final.length > limit ? final[limit - 1] : found.length === limit * WINDOW ? found.at(-1) : undefined
  return { final: final.slice(0, limit).map(keyOf), next: last ? keyOf(last) : null }
}

/**
 * The rows are locked before they are judged again: a retry by hand, which locks them too, either is seen here or finds
 * its notification scrubbed.
 */
function* scrubContents(dialect: Dialect, ids: readonly string[]): Script<number> {
  const values = { g: givenIds(ids) }
  yield* rows(
    `select n.id from :g join pillarbox.notifications n on n.id = g.id order by n.id ${dialect.lock('n')}`,
    values,
  )
  const scrubbed = yield* rows(
    `update pillarbox.notifications set content = null, is_scrubbed = true
      where id in (select n.id from :g join pillarbox.notifications n on n.id = g.id ${WORK_ROWS} where ${IS_FINAL})
      returning id`,
    values,
  )
  // A notification that is gone needs no note either.
  yield* rows(
    `delete from pillarbox.sealed_contents where notification_id in (select g.id from :g)
      and notification_id not in (select n.id from :g join pillarbox.notifications n on n.id = g.id
        where not n.is_scrubbed)`,
    values,
  )
  return scrubbed.length
}

/** A notification of an event bears its entity: that is what the ledger's index knows. */
const IS_OVER = `e.status = 'published'
  and not exists (select 1 from pillarbox.schedules s where s.tenant_id = e.tenant_id and s.event_id = e.id
    and s.status not in ('completed', 'cancelled'))
  and not exists (select 1 from pillarbox.sealed_contents c where c.tenant_id = e.tenant_id and c.event_id = e.id)
  and not exists (select 1 from pillarbox.notifications n ${WORK_ROWS} where n.tenant_id = e.tenant_id
    and n.entity_type = e.entity_type and n.entity_id = e.entity_id and n.event_id = e.id and not (${IS_FINAL}))`

function* sealedPayloads({ tenantId, eventId }: EventKey, limit: number): Script<Look<EventKey>> {
  const found = yield* rows(
    `select p.tenant_id, p.event_id, (e.id is null or (${IS_OVER})) as is_final
      from (select tenant_id, event_id from pillarbox.sealed_payloads where (tenant_id, event_id) > (:tenantId, :eventId)
        order by tenant_id, event_id limit :most) p
      left join pillarbox.events e on e.tenant_id = p.tenant_id and e.id = p.event_id order by p.tenant_id, p.event_id`,
    { tenantId, eventId, most: limit * WINDOW },
  )
  return look(found, limit, (row) => ({ tenantId: String(row['tenant_id']), eventId: String(row['event_id']) }))
}

const EVENT_KEY = { tenant_id: 'text', id: 'text' } as const

function* scrubPayloads(events: readonly EventKey[]): Script<number> {
  const keys = events.map(({ tenantId, eventId }) => ({ tenant_id: tenantId, id: eventId }))
  const found = yield* rows(
    `select e.tenant_id, e.id, e.payload from :g
      join pillarbox.events e on e.tenant_id = g.tenant_id and e.id = g.id`,
    { g: givenRows(EVENT_KEY, keys) },
  )
  // What cannot be written again keeps its note: it is still there.
  const kept = new Set<string>()
  const changed: { tenant_id: string; id: string; payload: string }[] = []
  for (const row of found) {
    const key = { tenant_id: String(row['tenant_id']), id: String(row['id']) }
    const payload = String(row['payload'])
    const text = scrubbedText(payload)
    if (text === null) kept.add(JSON.stringify(key))
    else if (text !== payload) changed.push({ ...key, payload: text })
  }
  yield* rows(
    `update pillarbox.events as e set payload = g.payload from :g where e.tenant_id = g.tenant_id and e.id = g.id`,
    { g: givenRows({ ...EVENT_KEY, payload: 'json' }, changed) },
  )
  const noted = keys.filter((key) => !kept.has(JSON.stringify(key)))
  yield* rows(
    'delete from pillarbox.sealed_payloads where (tenant_id, event_id) in (select g.tenant_id, g.id from :g)',
    { g: givenRows(EVENT_KEY, noted) },
  )
  return changed.length
}

/** Whether a payload, as the store has it, has sealed fields; cheap, and right for all that our own sealing wrote. */
export function holdsSealed(payload: unknown): boolean {
  return typeof payload === 'string' && payload.includes('"$sealed"')
}

/**
 * The payload with `{"$scrubbed": true}` in place of every sealed value; as it is where there is none, null where it is
 * nested too deep to be written again.
 */
export function scrubbedText(payload: string): string | null {
  let isChanged = false
  const scrub = (_: string, value: unknown): unknown => {
    if (!isSealedValue(value)) return value
    isChanged = true
    return { $scrubbed: true }
  }
  try {
    const text = JSON.stringify(JSON.parse(payload), scrub)
    return isChanged ? text : payload
  } catch {
    return null
  }
}

function isSealedValue(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return typeof (value as Record<string, unknown>)['$sealed'] === 'string' && Object.keys(value).length === 1
}
