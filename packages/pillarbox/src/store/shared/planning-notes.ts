import type { PlanStore } from '../../plan/plan-store.ts'
import { uuidOrNull } from './fields.ts'
import { type Dialect, givenIds, givenRows, rows, type Script, type ScriptRunner } from './script.ts'

/** What planners are about to plan, so that a row that ends the process is known to whoever comes next. */
export function sharedPlanningNotes({
  dialect,
  write,
  change,
}: ScriptRunner): Pick<PlanStore, 'note' | 'forgetNote' | 'countCrashes'> {
  return {
    note: (planner, noted, ttlMs) => write(() => note(dialect, planner, noted, ttlMs)),
    forgetNote: async (workerId) =>
      void (await change('delete from pillarbox.planning_notes where worker_id = :workerId', { workerId })),
    countCrashes: (workerIds) => write(() => countCrashes(workerIds)),
  }
}

function* note(
  dialect: Dialect,
  { id, host, pid }: Parameters<PlanStore['note']>[0],
  { kind, rows: noted }: Parameters<PlanStore['note']>[1],
  ttlMs: number,
): Script<Awaited<ReturnType<PlanStore['note']>>> {
  yield* rows(
    `insert into pillarbox.planning_notes (worker_id, host, pid, kind, noted) values (:id, :host, :pid, :kind, :noted)
      on conflict (worker_id) do update set kind = excluded.kind, noted = excluded.noted`,
    { id, host, pid, kind, noted: JSON.stringify(noted.map((ref) => [ref.tenantId, ref.id])) },
  )
  const others = yield* rows(
    `select p.worker_id, p.host, p.pid, w.id as beating from pillarbox.planning_notes p
      left join pillarbox.workers w on w.id = p.worker_id and w.beat_at >= ${dialect.plus(dialect.now, ':sinceMs')}
      where p.worker_id <> :id order by p.worker_id`,
    { id, sinceMs: -ttlMs },
  )
  return others.map((other) => ({
    id: String(other['worker_id']),
    host: String(other['host']),
    pid: Number(other['pid']),
    isBeating: other['beating'] !== null,
  }))
}

function* countCrashes(workerIds: readonly string[]): Script<number> {
  const notes = yield* rows(
    'delete from pillarbox.planning_notes where worker_id in (select g.id from :g) returning kind, noted',
    { g: givenIds(workerIds) },
  )
  let counted = 0
  for (const { kind, noted } of notes) {
    const isEvent = kind === 'event'
    const refs = (JSON.parse(String(noted)) as [string, string][]).flatMap(([tenantId, given]) => {
      const id = isEvent ? given : uuidOrNull(given)
      return id === null ? [] : [{ tenant_id: tenantId, id }]
    })
    const found = yield* rows(
      `update pillarbox.${isEvent ? 'events' : 'schedules'} set crashes = crashes + 1
        where status = 'pending' ${refs.length > 1 ? 'and crashes = 0' : ''} and (tenant_id, id) in (select g.tenant_id, g.id from :g) returning id`,
      { g: givenRows({ tenant_id: 'text', id: isEvent ? 'text' : 'uuid' }, refs) },
    )
    counted += found.length
  }
  return counted
}
