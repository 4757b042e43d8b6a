import { afterCrash } from '../../model/crash.ts'
import type { NoteRef, PlanStore } from '../../plan/plan-store.ts'
import { booleanOf, uuidOrNull } from './fields.ts'
import { type Dialect, givenRows, type Row, rows, type Script, type ScriptRunner } from './script.ts'

/** What planners are about to plan, so that a row that ends the process is known to whoever comes next. */
export function sharedPlanningNotes({
  dialect,
  write,
  change,
}: ScriptRunner): Pick<PlanStore, 'note' | 'forgetNote' | 'countCrashes'> {
  return {
    async note({ id, host, pid, space, boot, number }, noted, ttlMs) {
      const planner = { id, host, pid, space, boot, number, kind: noted[0]?.kind ?? 'event' }
      const refs = JSON.stringify(noted.map((ref) => [ref.tenantId, ref.id, ref.kind]))
      const values = { ...planner, noted: refs, sinceMs: -ttlMs }
      const { insert, select } = noteTexts(dialect)
      // Every event waits for it, so that on PostgreSQL both are one statement; there, neither sees what the other does.
      const others =
        dialect.engine === 'postgres'
          ? await change(`with noted as (${insert}) ${select}`, values)
          : await write(function* () {
              yield* rows(insert, values)
              return yield* rows(select, values)
            })
      return others.map(plannerOf)
    },
    forgetNote: async (workerId) =>
      void (await change('delete from pillarbox.planning_notes where worker_id = :workerId', { workerId })),
    countCrashes: (notes) => write(() => countCrashes(dialect, notes)),
  }
}

/** Notes what one planner is about to plan, and finds the others whose notes stand. */
function noteTexts({ now, plus }: Dialect): { insert: string; select: string } {
  return {
    insert: `insert into pillarbox.planning_notes (worker_id, host, pid, space, boot, number, kind, noted, noted_at)
      values (:id, :host, :pid, :space, :boot, :number, :kind, :noted, ${now})
      on conflict (worker_id) do update set number = excluded.number, kind = excluded.kind, noted = excluded.noted,
        noted_at = excluded.noted_at`,
    select: `select p.worker_id, p.host, p.pid, p.space, p.boot, p.number,
        w.id is not null or p.noted_at >= ${plus(now, ':sinceMs')} as is_beating
      from pillarbox.planning_notes p
      left join pillarbox.workers w on w.id = p.worker_id and w.beat_at >= ${plus(now, ':sinceMs')}
      where p.worker_id <> :id order by p.worker_id`,
  }
}

function plannerOf(found: Row): Awaited<ReturnType<PlanStore['note']>>[number] {
  return {
    id: String(found['worker_id']),
    host: String(found['host']),
    pid: Number(found['pid']),
    space: String(found['space']),
    boot: String(found['boot']),
    number: Number(found['number']),
    isBeating: booleanOf(found['is_beating']),
  }
}

function* countCrashes(dialect: Dialect, dead: readonly NoteRef[]): Script<number> {
  const notes = yield* rows(
    `delete from pillarbox.planning_notes where (worker_id, number) in (select g.id, g.number from :g)
      returning kind, noted`,
    { g: givenRows({ id: 'uuid', number: 'bigint' }, dead) },
  )
  let counted = 0
  for (const { kind: only, noted } of notes) {
    // Before rows of both kinds could stand in one note, its kind was that of all.
    const all = JSON.parse(String(noted)) as [string, string, string?][]
    for (const [kind, given] of Map.groupBy(all, ([, , own]) => own ?? only)) {
      const isEvent = kind === 'event'
      const refs = given.flatMap(([tenantId, rowId]) => {
        const id = isEvent ? rowId : uuidOrNull(rowId)
        return id === null ? [] : [{ tenant_id: tenantId, id }]
      })
      counted += yield* countCrash(dialect, isEvent ? 'event' : 'schedule', refs, all.length === 1)
    }
  }
  return counted
}

function* countCrash(
  dialect: Dialect,
  kind: 'event' | 'schedule',
  refs: { tenant_id: string; id: string }[],
  isAlone: boolean,
): Script<number> {
  const columns = { tenant_id: 'text', id: kind === 'event' ? 'text' : 'uuid' } as const
  const pending = yield* rows(
    `select r.tenant_id, r.id, r.crashes from pillarbox.${kind}s r
      where r.status = 'pending' and (r.tenant_id, r.id) in (select g.tenant_id, g.id from :g)
      order by r.tenant_id, r.id ${dialect.lock('r')}`,
    { g: givenRows(columns, refs) },
  )
  const changed = pending.flatMap((found) => {
    const before = Number(found['crashes'])
    const crashes = afterCrash(before, { isAlone })
    return crashes === before ? [] : [{ tenant_id: String(found['tenant_id']), id: String(found['id']), crashes }]
  })
  for (const [crashes, group] of Map.groupBy(changed, (each) => each.crashes))
    yield* rows(
      `update pillarbox.${kind}s set crashes = :crashes
        where (tenant_id, id) in (select g.tenant_id, g.id from :g)`,
      { crashes, g: givenRows(columns, group) },
    )
  return changed.length
}
