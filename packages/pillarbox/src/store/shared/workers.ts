import type { Claim } from '../../dispatch/dispatch-store.ts'
import type { WorkerStore, WorkerView } from '../../dispatch/worker-store.ts'
import { CLAIM_COLUMNS, isRegistered, putInDoubt } from './claims.ts'
import { nounOf } from './noun.ts'
import { type Dialect, givenIds, instantOf, row, rows, type Script, type ScriptRunner } from './script.ts'

/**
 * Workers and what they leave behind.
 *
 *   registered ──beat──▶ registered      registered ──removed, or silent too long──▶ departed ──nothing left──▶ forgotten
 *                                        registered ──removed, and holds nothing──▶ forgotten
 *
 * A departed worker has no row in `workers`, so it can claim nothing more, and one in `departed` until its claims have
 * been taken over. A rescuer that dies half-way holds those rows itself, and is found in turn.
 *
 * `beats` runs what touches a worker's own row and nothing else: a beat that waited behind a take-over would cost the
 * worker its life.
 */
export function sharedWorkers({ dialect, ...control }: ScriptRunner, beats: ScriptRunner): WorkerStore {
  return {
    register: (worker) => beats.write(() => register(dialect, worker)),
    beat: async (id, inFlight = 0) =>
      (
        await beats.change(
          `update pillarbox.workers set beat_at = ${dialect.now}, in_flight = :inFlight where id = :id returning id`,
          { id, inFlight },
        )
      ).length === 1,
    remove: (id) => control.write(() => remove(id)),
    takeOver: async (workerId, ttlMs, limit) => {
      // Every worker asks this every few seconds; the answer is nearly always no.
      if (!(await control.read(() => isRescueNeeded(dialect, workerId, ttlMs)))) return []
      return control.write(() => takeOver(dialect, workerId, ttlMs, limit))
    },
    list: () => control.read(() => listWorkers(dialect)),
  }
}

/**
 * An id that was declared dead and registers anew may have claims from its earlier life, whose calls may have been made:
 * `orphans` answers them as in doubt. No index knows the worker, so looking for them reads the whole table: only where
 * there may be something to find.
 */
function* register(dialect: Dialect, worker: Parameters<WorkerStore['register']>[0]): Script<void> {
  yield* rows(
    `insert into pillarbox.workers (id, host, pid, version, channels, started_at, beat_at)
      values (:id, :host, :pid, :version, :channels, ${dialect.now}, ${dialect.now})
      on conflict (id) do update set host = excluded.host, pid = excluded.pid, version = excluded.version,
        channels = excluded.channels, started_at = excluded.started_at, beat_at = excluded.beat_at`,
    worker,
  )
  const revived = yield* row('delete from pillarbox.departed where worker_id = :id returning worker_id', worker)
  if (revived)
    yield* rows('update pillarbox.dispatch set in_doubt = true where worker_id = :id and token is not null', worker)
}

/**
 * Once the row is deleted, every claim of the worker is visible to the next statement. That reads the whole table, which
 * costs the one that leaves some time and nobody else: the others need not look for what it left.
 */
function* remove(id: string): Script<void> {
  const gone = yield* row('delete from pillarbox.workers where id = :id returning id', { id })
  if (!gone) return
  const holds = yield* row(
    'select 1 as held from pillarbox.dispatch where worker_id = :id and token is not null limit 1',
    { id },
  )
  if (holds) yield* depart([id])
}

function* depart(ids: readonly string[]): Script<void> {
  yield* rows(
    `insert into pillarbox.departed (worker_id) select g.id from :g where true order by g.id on conflict do nothing`,
    { g: givenIds(ids) },
  )
}

function silentWorkers(dialect: Dialect): string {
  return `pillarbox.workers w where w.beat_at < ${dialect.plus(dialect.now, ':sinceMs')} and w.id <> :workerId`
}

function* isRescueNeeded(dialect: Dialect, workerId: string, ttlMs: number): Script<boolean> {
  const found = yield* row(
    `select 1 as needed where exists (select 1 from pillarbox.departed)
      or exists (select 1 from ${silentWorkers(dialect)})`,
    { workerId, sinceMs: -ttlMs },
  )
  return found !== null
}

/**
 * Silent workers are declared dead first: from then on they can claim nothing, and every claim of theirs is visible to the
 * next statement. A claim under way holds its worker's row: such a worker is not silent, and is skipped. A result being
 * written is waited for rather than skipped: what it leaves must not be overlooked.
 */
function* takeOver(dialect: Dialect, workerId: string, ttlMs: number, limit: number): Script<Claim[]> {
  // A worker that was itself declared dead may not look, and so must not forget whom others left.
  if (!(yield* isRegistered(dialect, workerId))) return []
  const silent = yield* rows(
    `select w.id from ${silentWorkers(dialect)} order by w.id ${dialect.deleteSkipLocked('w')}`,
    {
      workerId,
      sinceMs: -ttlMs,
    },
  )
  if (silent.length > 0) {
    const ids = silent.map(({ id }) => String(id))
    yield* rows('delete from pillarbox.workers where id in (select g.id from :g)', { g: givenIds(ids) })
    yield* depart(ids)
  }
  const departed = yield* rows('select worker_id from pillarbox.departed order by worker_id')
  const g = givenIds(departed.map((worker) => String(worker['worker_id'])))
  const left = yield* rows(
    `select ${CLAIM_COLUMNS} from pillarbox.dispatch d cross join pillarbox.notifications n
      where d.token is not null and d.worker_id in (select g.id from :g) and n.id = d.notification_id
      order by d.notification_id limit :limit ${dialect.lock('d')}`,
    { g, limit },
  )
  if (left.length < limit) yield* rows('delete from pillarbox.departed where worker_id in (select g.id from :g)', { g })
  return yield* putInDoubt(dialect, workerId, left)
}

const WORKERS = nounOf<Omit<WorkerView, 'silentForMs'>>('workers', {
  id: 'uuid',
  host: 'text',
  pid: 'number',
  version: 'text',
  channels: 'json',
  startedAt: 'instant',
  beatAt: 'instant',
  inFlight: 'number',
})

function* listWorkers(dialect: Dialect): Script<WorkerView[]> {
  const found = yield* rows(
    `select ${WORKERS.columns}, ${dialect.now} as now from pillarbox.workers order by started_at, id`,
  )
  return found.map((worker) => ({
    ...WORKERS.of(worker),
    silentForMs: Math.max(0, instantOf(worker['now']) - instantOf(worker['beat_at'])),
  }))
}
