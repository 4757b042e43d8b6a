import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sleep } from '../clock.ts'
import { DATA } from '../environment.ts'
import { type Payload, payload } from '../payload.ts'
import type { Consumer, Handler, Peer, Settings } from '../peer.ts'

/** The physical limit on SQLite: `node:sqlite`, WAL, the same batched lifecycle as `raw-pg` in one thread. */
export const sqlite: Peer = {
  reportsFinished: true,
  inProcess: true,
  create: async (store, settings) => {
    removeFile(store)
    using database = open(store, settings)
    database.exec(SCHEMA)
  },
  seed: async (store, { finished, future }, settings) => {
    using database = open(store, settings)
    const sample = JSON.stringify(payload(0))
    database.exec('begin')
    database.prepare(SEED_FINISHED).run(finished, Date.now() - 86_400_000, sample)
    database.prepare('insert into attempts select id, 1, 1, ?1 from jobs where state = 2').run(Date.now())
    database.prepare(SEED_FUTURE).run(future, Date.now() + 86_400_000, sample)
    database.exec('commit')
    return `${finished} finished + ${finished} attempts + ${future} future`
  },
  settle: async (store, settings) => {
    using database = open(store, settings)
    database.exec('pragma optimize; pragma wal_checkpoint(truncate)')
  },
  probe: async (store, settings) => {
    const database = open(store, settings)
    const pending = database.prepare(PENDING)
    return {
      pending: async () => pending.get(Date.now())?.['pending'] === 1,
      close: async () => database.close(),
    }
  },
  producer: async (store, _connections, settings) => {
    const { shared } = settings
    const database = shared?.database ?? open(store, settings)
    const insert = database.prepare('insert into jobs (due_at, created_at, payload) values (?1, ?1, ?2)')
    return {
      one: async (each) => {
        insert.run(Date.now(), JSON.stringify(each))
        shared?.ping?.()
      },
      bulk: async (many) => {
        database.exec('begin immediate')
        const at = Date.now()
        for (const each of many) insert.run(at, JSON.stringify(each))
        database.exec('commit')
      },
      close: async () => {
        if (!shared) database.close()
      },
    }
  },
  consumer,
}

export const fileOf = (store: string): string => path.join(DATA, `${store}.sqlite`)

export function removeFile(store: string): void {
  mkdirSync(DATA, { recursive: true })
  for (const suffix of ['', '-wal', '-shm']) rmSync(fileOf(store) + suffix, { force: true })
}

function open(store: string, { synchronous = 'FULL' }: Settings): DatabaseSync {
  mkdirSync(DATA, { recursive: true })
  const database = new DatabaseSync(fileOf(store))
  database.exec(
    `pragma journal_mode = wal; pragma synchronous = ${synchronous}; pragma busy_timeout = 10000; pragma cache_size = -65536`,
  )
  return database
}

const SCHEMA = `
create table jobs (
  id integer primary key, due_at integer, created_at integer not null, locked_until integer, finished_at integer,
  locked_by integer, state integer not null default 0, attempts integer not null default 0, payload text not null
) strict;
create index jobs_due on jobs (due_at, id) where due_at is not null;
create table attempts (
  job_id integer not null, n integer not null, outcome integer not null, at integer not null, primary key (job_id, n)
) strict, without rowid;`

const SEED_FINISHED = `
insert into jobs (created_at, finished_at, locked_by, state, attempts, payload)
with recursive c(x) as (select 1 union all select x + 1 from c where x < ?1)
select ?2, ?2, 1, 2, 1, ?3 from c`

const SEED_FUTURE = `
insert into jobs (due_at, created_at, payload)
with recursive c(x) as (select 1 union all select x + 1 from c where x < ?1)
select ?2 + x * 1000, ?2, ?3 from c`

const PENDING = `select exists(select 1 from jobs where due_at <= ?)
  or (select count(*) from attempts) < (select count(*) from jobs where due_at is null) as pending`

const claimText = (batch: number): string => `
update jobs set due_at = null, state = 1, attempts = attempts + 1, locked_by = ?2, locked_until = ?3
where id in (select id from jobs where due_at <= ?1 order by due_at, id limit ${batch})
returning id, attempts, payload`

async function consumer(
  store: string,
  handler: Handler,
  settings: Settings,
  finished: (count: number) => void,
): Promise<Consumer> {
  const { batch = 500, shared } = settings
  const database = open(store, settings)
  const claim = database.prepare(claimText(batch))
  const finish = database.prepare(
    'update jobs set state = 2, finished_at = ?2, locked_until = null where id = ?1 and locked_by = ?3',
  )
  const attempt = database.prepare('insert into attempts values (?1, ?2, 1, ?3)')
  let isStopping = false
  let wake: (() => void) | null = null
  if (shared) {
    shared.database = database
    shared.ping = () => wake?.()
  }

  const loop = async (): Promise<void> => {
    const who = process.pid
    while (!isStopping) {
      const at = Date.now()
      database.exec('begin immediate')
      const rows = claim.all(at, who, at + 30_000) as unknown as { id: number; attempts: number; payload: string }[]
      database.exec('commit')
      if (rows.length === 0) {
        const woken = new Promise<void>((resolve) => {
          wake = resolve
        })
        await Promise.race([woken, sleep(20)])
        continue
      }
      await Promise.all(rows.map((row) => handler((JSON.parse(row.payload) as Payload).i)))
      const endedAt = Date.now()
      database.exec('begin immediate')
      for (const row of rows)
        if (finish.run(row.id, endedAt, who).changes === 1) attempt.run(row.id, row.attempts, endedAt)
      database.exec('commit')
      finished(rows.length)
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }
  let running: Promise<void> = Promise.resolve()
  return {
    start: async () => {
      running = loop()
    },
    stop: async () => {
      isStopping = true
      wake?.()
      await running
      database.close()
    },
  }
}
