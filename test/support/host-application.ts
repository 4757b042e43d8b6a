import { DatabaseSync } from 'node:sqlite'
import { fromNodeSqlite, fromPg, type NewEvent, nudge, publish, publishSync } from '@pillarbox/client'
import pg from 'pg'
import type { EngineName } from './engines.ts'

/** An application with a table of its own in the product's database. */
export interface HostApplication extends AsyncDisposable {
  /** Writes rows of its own and publishes events in one transaction, which it then commits or takes back. */
  transact(work: HostWork, end?: 'commit' | 'rollback'): Promise<void>
  /** Its own rows that were committed, in alphabetical order. */
  rows(): Promise<string[]>
  /**
   * As if so much time had passed: all that waits is due that much earlier. The databases keep their own time, so a
   * test cannot move the clock of both.
   */
  timePasses(ms: number): Promise<void>
}

export interface HostWork {
  rows?: readonly string[]
  events: readonly NewEvent[]
  /** Tells the product afterwards, which else has to look; SQLite has no way to. */
  nudges?: boolean
}

export function openHost({
  engine,
  databaseUrl,
}: {
  engine: EngineName
  databaseUrl: string
}): Promise<HostApplication> {
  return engine === 'postgres' ? openPostgresHost(databaseUrl) : openSqliteHost(databaseUrl.slice('sqlite:'.length))
}

const HOST_TABLE = 'create table if not exists host_row (name text primary key)'

async function openPostgresHost(url: string): Promise<HostApplication> {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  await pool.query(HOST_TABLE)
  return {
    async transact({ rows = [], events, nudges = false }, end = 'commit') {
      const client = await pool.connect()
      await client.query('begin')
      for (const row of rows) await client.query('insert into host_row values ($1)', [row])
      for (const event of events) await publish(fromPg(client), event)
      await client.query(end)
      client.release()
      if (nudges) await nudge(fromPg(pool))
    },
    async rows() {
      const { rows } = await pool.query<{ name: string }>('select name from host_row order by name')
      return rows.map(({ name }) => name)
    },
    async timePasses(ms) {
      const earlier = (column: string): string => `${column} = ${column} - $1 * interval '1 millisecond'`
      await pool.query(`update pillarbox.dispatch set ${earlier('visible_at')}`, [ms])
      await pool.query(
        `update pillarbox.schedules set ${earlier('due_at')}, ${earlier('next_attempt_at')} where status = 'pending'`,
        [ms],
      )
    },
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

async function openSqliteHost(file: string): Promise<HostApplication> {
  const db = new DatabaseSync(file, { timeout: 30_000 })
  db.exec(HOST_TABLE)
  return {
    async transact({ rows = [], events }, end = 'commit') {
      db.exec('begin immediate')
      for (const row of rows) db.prepare('insert into host_row values (?)').run(row)
      for (const event of events) publishSync(fromNodeSqlite(db), event)
      db.exec(end)
    },
    rows: async () =>
      db
        .prepare('select name from host_row order by name')
        .all()
        .map(({ name }) => String(name)),
    async timePasses(ms) {
      db.prepare('update pillarbox_dispatch set visible_at = visible_at - ?').run(ms)
      db.prepare(
        `update pillarbox_schedules set due_at = due_at - ?, next_attempt_at = next_attempt_at - ? where status = 'pending'`,
      ).run(ms, ms)
    },
    async [Symbol.asyncDispose]() {
      db.close()
    },
  }
}
