import type { WorkerStore } from '../../dispatch/worker-store.ts'
import type { Channel } from '../../model/channel.ts'
import { jsonText } from '../shared/fields.ts'
import { jsonOrNull } from '../shared/script.ts'
import { isRegistered, takeOverAbandoned } from './dispatch.ts'
import type { Connections } from './scripts.ts'
import { untilFree } from './until-free.ts'

export function sqliteWorkers({ connection, reader, writer, clock }: Connections): WorkerStore {
  return {
    register: (worker) =>
      writer.write((now) => {
        connection
          .prepare(REGISTER)
          .run(worker.id, worker.host, worker.pid, worker.version, jsonText(worker.channels), now)
      }),
    beat: (id, inFlight = 0) => writer.write((now) => connection.prepare(BEAT).run(id, now, inFlight).changes === 1),
    remove: (id) =>
      writer.write(() => {
        // Looking whether it holds anything reads the whole table: better the one that leaves does it than the others.
        if (connection.prepare(REMOVE).run(id).changes > 0) connection.prepare(DEPART_HOLDING).run(id)
      }),
    takeOver: (workerId, ttlMs, limit) =>
      writer.write((now) => {
        if (!isRegistered(connection, workerId)) return []
        // Declared dead first: from here on they claim nothing, and every claim of theirs is abandoned.
        for (const { id } of connection.prepare(BURY).all(now - ttlMs, workerId))
          connection.prepare(DEPART).run(String(id))
        if (!connection.prepare(HAS_DEPARTED).get()) return []
        const taken = takeOverAbandoned(connection, now, workerId, limit)
        if (taken.length < limit) connection.prepare(FORGET).run()
        return taken
      }),
    list: () =>
      untilFree(clock, () => {
        const now = clock.now()
        return reader
          .prepare(LIST)
          .all()
          .map((worker) => ({
            id: String(worker['id']),
            host: String(worker['host']),
            pid: Number(worker['pid']),
            version: String(worker['version']),
            channels: jsonOrNull<Channel[]>(worker['channels']),
            startedAt: Number(worker['started_at']),
            silentForMs: Math.max(0, now - Number(worker['beat_at'])),
            inFlight: Number(worker['in_flight']),
          }))
      }),
  }
}

const REGISTER = `insert into pillarbox.workers (id, host, pid, version, channels, started_at, beat_at)
  values ($1, $2, $3, $4, $5, $6, $6)`

const BEAT = 'update pillarbox.workers set beat_at = $2, in_flight = $3 where id = $1'

const REMOVE = 'delete from pillarbox.workers where id = $1'

const BURY = 'delete from pillarbox.workers where beat_at < $1 and id <> $2 returning id'

const DEPART = 'insert into pillarbox.departed (worker_id) values ($1) on conflict do nothing'
const DEPART_HOLDING = `insert into pillarbox.departed (worker_id)
  select $1 where exists (select 1 from pillarbox.dispatch where worker_id = $1 and token is not null)
  on conflict do nothing`
const HAS_DEPARTED = 'select 1 from pillarbox.departed limit 1'
const FORGET = 'delete from pillarbox.departed'

const LIST = 'select * from pillarbox.workers order by started_at, id'
