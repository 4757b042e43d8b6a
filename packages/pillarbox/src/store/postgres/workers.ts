import type { Claim } from '../../dispatch/dispatch-store.ts'
import type { WorkerStore, WorkerView } from '../../dispatch/worker-store.ts'
import type { Channel } from '../../model/channel.ts'
import { jsonOrNull } from '../shared/script.ts'
import { plainArray, storable } from './arrays.ts'
import { CLAIM_COLUMNS, type ClaimRow, claimsOf, NOW_MS } from './claim.ts'
import type { Run, Session } from './session.ts'

/** Which connection does what; see `open.ts`. */
export interface WorkerSessions {
  /** For nothing but a worker's own row: a beat that waited behind a take-over would cost the worker its life. */
  beats: Session
  control: Session
}

/**
 * Workers and what they leave behind.
 *
 *   registered ──beat──▶ registered      registered ──removed, or silent too long──▶ departed ──nothing left──▶ forgotten
 *                                        registered ──removed, and holds nothing──▶ forgotten
 *
 * A departed worker has no row in `workers`, so it can claim nothing more, and one in `departed` until its claims have
 * been taken over. Whoever does that and dies half-way holds those rows itself, and is found in turn.
 */
export function openWorkers({ beats, control }: WorkerSessions): WorkerStore {
  return {
    register: (worker) => beats.transaction((inTransaction) => register(inTransaction, worker)),
    beat: async (id, inFlight = 0) =>
      (await beats.run({ name: 'beat', text: BEAT, values: [id, inFlight] })).length === 1,
    remove: (id) => control.transaction((inTransaction) => remove(inTransaction, id)),
    takeOver: (workerId, ttlMs, limit) => takeOver(control, workerId, ttlMs, limit),
    list: () => list(control.run),
  }
}

const REGISTER = `
  insert into pillarbox.workers (id, host, pid, version, channels) values ($1, $2, $3, $4, $5)
  on conflict (id) do update set host = excluded.host, pid = excluded.pid, version = excluded.version,
    channels = excluded.channels, started_at = now(), beat_at = now()`

/** What an id left behind in an earlier life is not known to be unsent: `orphans` will answer it as in doubt. */
const REVIVE = 'delete from pillarbox.departed where worker_id = $1 returning worker_id'
const INHERIT = 'update pillarbox.dispatch set in_doubt = true where worker_id = $1 and token is not null'

async function register(
  run: Run,
  { id, host, pid, version, channels }: Parameters<WorkerStore['register']>[0],
): Promise<void> {
  const values = [id, storable(host), pid, version, channels === null ? null : JSON.stringify(channels)]
  await run({ name: 'register_worker', text: REGISTER, values })
  const revived = await run({ name: 'revive_worker', text: REVIVE, values: [id] })
  // No index knows the worker, so this reads the whole table: only where there may be something to find.
  if (revived.length > 0) await run({ name: 'inherit_claims', text: INHERIT, values: [id] })
}

const BEAT = 'update pillarbox.workers set beat_at = now(), in_flight = $2 where id = $1 returning id'

const REMOVE = 'delete from pillarbox.workers where id = $1 returning id'
const DEPART_HOLDING = `
  insert into pillarbox.departed (worker_id)
  select $1::uuid where exists (select from pillarbox.dispatch where worker_id = $1 and token is not null)
  on conflict do nothing`

/**
 * Once the row is deleted, every claim of the worker is visible to the next statement. That reads the whole table, which
 * costs the one that leaves some time and nobody else: the others need not look for what it left.
 */
async function remove(run: Run, id: string): Promise<void> {
  const gone = await run({ name: 'remove_worker', text: REMOVE, values: [id] })
  if (gone.length > 0) await run({ name: 'depart_holding', text: DEPART_HOLDING, values: [id] })
}

/** The question asked every few seconds by every worker; the answer is nearly always no. */
const IS_NEEDED = `
  select exists (select from pillarbox.departed)
    or exists (select from pillarbox.workers where beat_at < now() - $1::float8 * interval '1 millisecond' and id <> $2)
    as needed`

/**
 * A claim under way holds its worker's row: such a worker is not silent, and is skipped. Once the row is deleted every
 * claim of that worker is visible to the next statement, and it can make no more.
 */
const DEPART = `
  with silent as materialized (
    select id from pillarbox.workers
    where beat_at < now() - $1::float8 * interval '1 millisecond' and id <> $2
    order by id
    for update skip locked
  ), gone as (
    delete from pillarbox.workers w using silent where w.id = silent.id returning w.id
  )
  insert into pillarbox.departed (worker_id) select id from gone on conflict do nothing`

/** Waits for a result being written rather than skipping it: what it leaves must not be overlooked. */
const TAKE_OVER = `
  with me as materialized (
    select id from pillarbox.workers where id = $1 for key share
  ), left_behind as materialized (
    select d.notification_id from me cross join pillarbox.dispatch d
    where d.token is not null and d.worker_id = any ($2::uuid[])
    order by d.notification_id
    limit $3
    for no key update of d
  )
  update pillarbox.dispatch d
  set token = nextval('pillarbox.claim_tokens'), worker_id = $1, claimed_at = now(), in_doubt = true
  from left_behind join pillarbox.notifications n on n.id = left_behind.notification_id
  where d.notification_id = left_behind.notification_id
  returning ${NOW_MS}, ${CLAIM_COLUMNS}`

async function takeOver(session: Session, workerId: string, ttlMs: number, limit: number): Promise<Claim[]> {
  const [question] = await session.run<{ needed: boolean }>({
    name: 'is_rescue_needed',
    text: IS_NEEDED,
    values: [ttlMs, workerId],
  })
  if (question?.needed !== true) return []
  return session.transaction(async (run) => {
    await run({ name: 'depart_silent', text: DEPART, values: [ttlMs, workerId] })
    const departed = await run<{ worker_id: string }>({
      name: 'departed',
      text: 'select worker_id from pillarbox.departed order by worker_id',
    })
    const ids = plainArray(departed.map((row) => row.worker_id))
    const rows = await run<ClaimRow>({ text: TAKE_OVER, values: [workerId, ids, limit], rowMode: 'array' })
    if (rows.length < limit) await forget(run, workerId, ids)
    return claimsOf(rows)
  })
}

/** Only by a worker that is alive: a dead one found nothing because it was not allowed to look. */
async function forget(run: Run, workerId: string, ids: string): Promise<void> {
  await run({
    name: 'forget_departed',
    text: `
      delete from pillarbox.departed
      where worker_id = any ($1::uuid[]) and exists (select from pillarbox.workers where id = $2)`,
    values: [ids, workerId],
  })
}

const LIST = `
  select w.id, w.host, w.pid, w.version, w.channels, extract(epoch from w.started_at)::float8 * 1000 as started_at,
    extract(epoch from now() - w.beat_at)::float8 * 1000 as silent_ms, w.in_flight
  from pillarbox.workers w
  order by w.started_at, w.id`

interface WorkerRow {
  id: string
  host: string
  pid: number
  version: string
  channels: string | null
  started_at: number
  silent_ms: number
  in_flight: number
}

async function list(run: Run): Promise<WorkerView[]> {
  const rows = await run<WorkerRow>({ name: 'list_workers', text: LIST })
  return rows.map(({ id, host, pid, version, channels, started_at, silent_ms, in_flight }) => ({
    id,
    host,
    pid,
    version,
    channels: jsonOrNull<Channel[]>(channels),
    startedAt: Math.trunc(started_at),
    silentForMs: Math.max(0, Math.trunc(silent_ms)),
    inFlight: in_flight,
  }))
}
