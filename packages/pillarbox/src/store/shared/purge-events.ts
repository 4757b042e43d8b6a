import { type Purged, type PurgedCounts, sumOfCounts } from '../../operate/retention-store.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { booleanOf, textOrNull } from './fields.ts'
import { instantsOf, isOver, none, removeWhere, storeTime, type TenantStretch } from './purge-rules.ts'
import { type Dialect, givenRows, instantOf, type Row, rows, type Script, type ScriptRunner } from './script.ts'
import { WORK_ROWS } from './scrub.ts'

/**
 * An event goes with its schedules, once none of its notifications is left and none of the events that were made of it.
 *
 * A stretch begins with the millisecond that the last one ended in, behind the last event that was kept: a time is finer in
 * PostgreSQL than a number can say, and many events may have the same. By the kept one alone each stretch would go once more
 * over what the index still has of all that was removed (measured: 240 events a second instead of thousands).
 */
export async function purgeEvents(run: ScriptRunner, stretch: TenantStretch): Promise<Purged> {
  const { dialect, read, write } = run
  const { limit, isDryRun, tenantId } = stretch
  const { now, found } = await read(() => lookAtEvents(dialect, stretch))
  const over = found.filter((each) => booleanOf(each['is_over'])).map(eventIdOf)
  const { counts, gone } = isDryRun
    ? { counts: await read(() => removeWithSchedules(tenantId, over, isDryRun)), gone: [] }
    : over.length > 0
      ? await write(() => removeEvents(dialect, tenantId, over, instantsOf(stretch.before, now)))
      : { counts: {}, gone: [] }
  const removed = new Set<string>(gone)
  const last = found.length === limit ? found.at(-1) : undefined
  const kept = found.map(eventIdOf).findLast((id) => !removed.has(id)) ?? placeOf(stretch.after).kept
  const next = last ? encodeCursor([String(instantOf(last['created_at'])), kept]) : null
  return { counts, looked: found.length, next }
}

/** From which millisecond on, and behind which event; none: before the first. */
function placeOf(after: string | null): { from: number; kept: string } {
  if (after === null) return { from: 0, kept: '' }
  const [from, kept = ''] = decodeCursor(after, 2)
  return { from: Number(from), kept }
}

function eventIdOf(found: Row): string {
  return String(found['id'])
}

/** Of an event `e`. In a dry run its notifications and the events made of it are still there, so each is judged itself. */
function isEventOver(dialect: Dialect, isDryRun: boolean): string {
  const before = dialect.instant(':before')
  const kept = isDryRun ? `and not ${isOver(dialect)}` : ''
  const keptChild = isDryRun ? `and not (c.status <> 'pending' and c.created_at < ${before})` : ''
  return `(e.status <> 'pending' and e.created_at < ${before}
    and (e.published_at is null or e.published_at < ${before})
    and ${none(`pillarbox.schedules p where p.tenant_id = e.tenant_id and p.event_id = e.id
      and (p.status in ('pending', 'awaiting_approval') or p.created_at >= ${before} or p.completed_at >= ${before})`)}
    and ${none(`pillarbox.notifications n ${WORK_ROWS} where n.tenant_id = e.tenant_id
      and n.entity_type = e.entity_type and n.entity_id = e.entity_id and n.event_id = e.id ${kept}`)}
    and ${none(`pillarbox.events c where c.tenant_id = e.tenant_id and c.derived_from = e.id ${keptChild}`)})`
}

function* lookAtEvents(
  dialect: Dialect,
  { tenantId, before, after, limit, isDryRun }: TenantStretch,
): Script<{ now: number; found: Row[] }> {
  const now = yield* storeTime(dialect)
  const { from, kept } = placeOf(after)
  const behind = `and (created_at, id) >
    ((select c.created_at from pillarbox.events c where c.tenant_id = :tenantId and c.id = :kept), :kept)`
  const found = yield* rows(
    `select e.id, e.created_at, ${isEventOver(dialect, isDryRun)} as is_over
      from (select tenant_id, id from pillarbox.events
        where tenant_id = :tenantId and status <> 'pending' and created_at >= ${dialect.instant(':from')}
          and created_at < ${dialect.instant(':before')} ${kept === '' ? '' : behind}
        order by created_at, id limit :limit) w
      join pillarbox.events e on e.tenant_id = w.tenant_id and e.id = w.id order by e.created_at, e.id`,
    { tenantId, from, kept, limit, ...instantsOf(before, now) },
  )
  return { now, found }
}

/** Events and schedules that somebody else has locked are about to change: they are left for the next time. */
function* removeEvents(
  dialect: Dialect,
  tenantId: string,
  ids: readonly string[],
  instants: { before: number; chainBefore: number },
): Script<{ counts: PurgedCounts; gone: string[] }> {
  const locked = yield* rows(
    `select e.id from :g join pillarbox.events e on e.tenant_id = :tenantId and e.id = g.id
      order by e.id ${dialect.deleteSkipLocked('e')}`,
    { tenantId, g: givenTexts(ids) },
  )
  const g = givenTexts(locked.map(eventIdOf))
  const planned = yield* rows(
    `select p.id from :g join pillarbox.schedules p on p.tenant_id = :tenantId and p.event_id = g.id
      order by p.id ${dialect.deleteSkipLocked('p')}`,
    { tenantId, g },
  )
  const atRest = new Set(planned.map(eventIdOf))
  const schedules = yield* rows(
    `select p.id, p.event_id from :g join pillarbox.schedules p on p.tenant_id = :tenantId and p.event_id = g.id`,
    { tenantId, g },
  )
  const taken = new Set(schedules.filter((each) => !atRest.has(eventIdOf(each))).map((each) => each['event_id']))
  const found = yield* rows(
    `select e.id, e.derived_from from :g join pillarbox.events e on e.tenant_id = :tenantId and e.id = g.id
      where ${isEventOver(dialect, false)}`,
    { tenantId, g, ...instants },
  )
  const over = found.filter(({ id }) => !taken.has(id))
  const gone = over.map(eventIdOf)
  const counts = yield* removeWithSchedules(tenantId, gone, false)
  const parents = over.flatMap((each) => textOrNull(each['derived_from']) ?? [])
  if (parents.length === 0) return { counts, gone }
  // The domain event they were made of may have waited for them alone.
  const also = yield* removeEvents(dialect, tenantId, [...new Set(parents)], instants)
  return { counts: sumOfCounts(counts, also.counts), gone: [...gone, ...also.gone] }
}

function givenTexts(ids: readonly string[]): object {
  return givenRows(
    { id: 'text' },
    ids.map((id) => ({ id })),
  )
}

function* removeWithSchedules(tenantId: string, ids: readonly string[], isDryRun: boolean): Script<PurgedCounts> {
  const values = { tenantId, g: givenTexts(ids) }
  const where = (column: string): string => `tenant_id = :tenantId and ${column} in (select g.id from :g)`
  const schedules = yield* removeWhere({ table: 'schedules', where: where('event_id'), values, isDryRun })
  yield* removeWhere({ table: 'sealed_payloads', where: where('event_id'), values, isDryRun })
  const events = yield* removeWhere({ table: 'events', where: where('id'), values, isDryRun })
  return { events, schedules }
}
