import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { builtinModule } from '../host-process.ts'
import type { CheckedNotification } from './site-notification.ts'

/**
 * What waits at a site, in a SQLite file. Whatever a method has written is on the disk when it returns (synchronous FULL), and
 * each is one transaction, so any number of processes may use one file.
 *
 * The buffer has an incarnation, an id that was made with the file, and numbers what it is given from 1 without gaps.
 */
export interface SiteBuffer {
  /** Throws `SiteBufferFullError`. A repeated id changes nothing, unless what has it was refused: that is replaced. */
  put(item: CheckedNotification, sentAt: number): void
  /** What is to be handed off next, urgent ones first, beside those that are set aside. */
  next(limits: { items: number; bytes: number }, setAside: ReadonlySet<string>): BufferedItem[]
  /** Marks what has expired by now: it is handed off last, to be reported. */
  expire(now: number): void
  /** Forgets what was acknowledged, and keeps what was refused for good with its words. */
  settle(acknowledged: readonly string[], refused: readonly { id: string; error: string }[]): void
  find(id: string): { state: BufferState; error: string | null } | null
  refused(limit: number): RefusedNotification[]
  /** What was refused waits again, under a new number. */
  retry(id: string): boolean
  /** Forgets what was refused. */
  discard(id: string): boolean
  totals(): BufferTotals
  incarnation(): string
  /** Begins anew to count what waits, under a new incarnation. */
  renew(incarnation: string): void
  close(): void
}

export type BufferState = 'waiting' | 'expired' | 'refused'

export interface BufferedItem {
  id: string
  sequence: number
  sentAt: number
  text: string
}

export interface BufferTotals {
  waiting: number
  expired: number
  refused: number
  /** Of all of them. */
  bytes: number
}

/** Something that the server refused for good. */
export interface RefusedNotification {
  notificationId: string
  error: string
  sentAt: string
  notification: Record<string, unknown>
}

/** The buffer is as large as it may get. Nothing was kept of what was to be sent, and nothing that waits was dropped. */
export class SiteBufferFullError extends Error {
  override readonly name = 'SiteBufferFullError'

  constructor({ waiting, expired, refused, bytes }: BufferTotals) {
    const what = `${waiting + expired} that wait and ${refused} that were refused, ${bytes} bytes`
    super(
      `the buffer of this site is full (${what}): it has to reach the server, or what was refused has to be discarded`,
    )
  }
}

const SCHEMA = `
create table if not exists site_meta (name text primary key, value text not null) strict, without rowid;
create table if not exists site_items (
  id text primary key,
  sequence integer not null,
  is_urgent integer not null check (is_urgent in (0, 1)),
  state text not null check (state in ('waiting', 'expired', 'refused')),
  text text not null,
  bytes integer not null,
  sent_at integer not null,
  expires_at integer,
  error text
) strict;
create index if not exists site_items_order on site_items (state, is_urgent, sequence);
create index if not exists site_items_expiry on site_items (expires_at) where state = 'waiting' and expires_at is not null;
-- Counted as they come and go: counting a long backlog for every one that is sent would take longer and longer.
create table if not exists site_totals (state text primary key, items integer not null, bytes integer not null)
  strict, without rowid;
insert or ignore into site_totals values ('waiting', 0, 0), ('expired', 0, 0), ('refused', 0, 0);
create trigger if not exists site_items_came after insert on site_items begin
  update site_totals set items = items + 1, bytes = bytes + new.bytes where state = new.state;
end;
create trigger if not exists site_items_went after delete on site_items begin
  update site_totals set items = items - 1, bytes = bytes - old.bytes where state = old.state;
end;
create trigger if not exists site_items_moved after update of state on site_items when old.state <> new.state begin
  update site_totals set items = items - 1, bytes = bytes - old.bytes where state = old.state;
  update site_totals set items = items + 1, bytes = bytes + new.bytes where state = new.state;
end;
`

/** Beside what a row itself takes: its indexes and its share of the pages. */
const ROW_BYTES = 200
const BUSY_TIMEOUT_MS = 10_000
/** Of what is handed off at once, the part that urgent ones may take while others wait. */
const URGENT_SHARE = 0.75

export function openBuffer(options: {
  path: string
  maxItems: number
  maxBytes: number
  newIncarnation: () => string
}): SiteBuffer {
  const { path, maxItems, maxBytes } = options
  // What waits names people: nobody else on the machine may read it.
  if (path !== ':memory:') {
    const { closeSync, openSync } = builtinModule('node:fs')
    closeSync(openSync(path, 'a', 0o600))
  }
  const { DatabaseSync: Database } = builtinModule('node:sqlite')
  const db = new Database(path, { timeout: BUSY_TIMEOUT_MS })
  try {
    db.exec('pragma journal_mode = wal; pragma synchronous = full')
    inTransaction(db, () => {
      db.exec(SCHEMA)
      const meta = db.prepare('insert or ignore into site_meta values (?, ?)')
      meta.run('incarnation', options.newIncarnation())
      meta.run('next', '1')
    })
  } catch (error) {
    db.close()
    throw error
  }

  const prepared = new Map<string, StatementSync>()
  const statement = (sql: string): StatementSync => {
    const known = prepared.get(sql) ?? db.prepare(sql)
    prepared.set(sql, known)
    return known
  }
  const numberOf = (value: unknown): number => Number(value)

  /** The next number, which is then used up. Only within a transaction that uses it. */
  function takeNumber(): number {
    const taken = statement(
      `update site_meta set value = cast(value as integer) + 1 where name = 'next' returning cast(value as integer) - 1 as taken`,
    ).get()
    return numberOf(taken?.['taken'])
  }

  function totals(): BufferTotals {
    const found = { waiting: 0, expired: 0, refused: 0, bytes: 0 }
    for (const { state, items, bytes } of statement('select state, items, bytes from site_totals').all()) {
      found[state as BufferState] = numberOf(items)
      found.bytes += numberOf(bytes)
    }
    return found
  }

  /** The first of one kind, as many as fit. */
  function pick(state: BufferState, isUrgent: boolean, room: Room, setAside: ReadonlySet<string>): BufferedItem[] {
    const picked: BufferedItem[] = []
    if (room.items <= 0) return picked
    const found = statement(
      `select id, sequence, sent_at, text, bytes from site_items where state = ? and is_urgent = ? order by sequence limit ?`,
    ).iterate(state, isUrgent ? 1 : 0, room.items + setAside.size)
    for (const row of found) {
      const id = String(row['id'])
      if (setAside.has(id)) continue
      const bytes = numberOf(row['bytes'])
      // One that is larger than all that fits goes alone.
      if (room.items <= 0 || (bytes > room.bytes && !room.isEmpty)) break
      picked.push({
        id,
        sequence: numberOf(row['sequence']),
        sentAt: numberOf(row['sent_at']),
        text: String(row['text']),
      })
      room.items -= 1
      room.bytes -= bytes
      room.isEmpty = false
    }
    return picked
  }

  return {
    totals,
    put: ({ notificationId, isUrgent, expiresAt, text }, sentAt) =>
      inTransaction(db, () => {
        // Whoever sends again what was refused has mended it.
        statement(`delete from site_items where id = ? and state = 'refused'`).run(notificationId)
        if (statement('select 1 from site_items where id = ?').get(notificationId)) return
        const bytes = Buffer.byteLength(text) + ROW_BYTES
        const all = totals()
        const isFull = all.waiting + all.expired + all.refused >= maxItems || all.bytes + bytes > maxBytes
        if (isFull) throw new SiteBufferFullError(all)
        statement(
          `insert into site_items (id, sequence, is_urgent, state, text, bytes, sent_at, expires_at)
            values (?, ?, ?, 'waiting', ?, ?, ?, ?)`,
        ).run(notificationId, takeNumber(), isUrgent ? 1 : 0, text, bytes, sentAt, expiresAt)
      }),
    next({ items, bytes }, setAside) {
      const room: Room = { items: Math.ceil(items * URGENT_SHARE), bytes, isEmpty: true }
      const urgent = pick('waiting', true, room, setAside)
      room.items = items - urgent.length
      const others = pick('waiting', false, room, setAside)
      const taken = new Set([...setAside, ...urgent.map(({ id }) => id)])
      return [
        ...urgent,
        ...others,
        ...pick('waiting', true, room, taken),
        ...pick('expired', true, room, setAside),
        ...pick('expired', false, room, setAside),
      ]
    },
    expire(now) {
      if (!statement(`select 1 from site_items where state = 'waiting' and expires_at <= ? limit 1`).get(now)) return
      statement(`update site_items set state = 'expired' where state = 'waiting' and expires_at <= ?`).run(now)
    },
    settle: (acknowledged, refused) =>
      inTransaction(db, () => {
        for (const id of acknowledged) statement('delete from site_items where id = ?').run(id)
        for (const { id, error } of refused)
          statement(`update site_items set state = 'refused', error = ? where id = ?`).run(error, id)
      }),
    find(id) {
      const found = statement('select state, error from site_items where id = ?').get(id)
      if (!found) return null
      const { state, error } = found
      return { state: state as BufferState, error: error === null ? null : String(error) }
    },
    refused: (limit) =>
      statement(
        `select id, error, sent_at, text from site_items where state = 'refused' order by is_urgent, sequence limit ?`,
      )
        .all(limit)
        .map((row) => ({
          notificationId: String(row['id']),
          error: String(row['error']),
          sentAt: new Date(numberOf(row['sent_at'])).toISOString(),
          notification: JSON.parse(String(row['text'])) as Record<string, unknown>,
        })),
    retry: (id) =>
      inTransaction(db, () => {
        const found = statement(`select 1 from site_items where id = ? and state = 'refused'`).get(id)
        if (!found) return false
        statement(`update site_items set state = 'waiting', error = null, sequence = ? where id = ?`).run(
          takeNumber(),
          id,
        )
        return true
      }),
    discard: (id) => statement(`delete from site_items where id = ? and state = 'refused'`).run(id).changes > 0,
    incarnation: () => String(statement(`select value from site_meta where name = 'incarnation'`).get()?.['value']),
    renew: (incarnation) =>
      inTransaction(db, () => {
        statement(`update site_meta set value = ? where name = 'incarnation'`).run(incarnation)
        statement(
          `update site_items set sequence = given.number
            from (select id, row_number() over (order by sequence) as number from site_items where state <> 'refused') given
            where site_items.id = given.id`,
        ).run()
        statement(
          `update site_meta set value = (select count(*) + 1 from site_items where state <> 'refused') where name = 'next'`,
        ).run()
      }),
    close() {
      if (db.isOpen) db.close()
    },
  }
}

/** What still fits. */
interface Room {
  items: number
  bytes: number
  isEmpty: boolean
}

function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('begin immediate')
  try {
    const result = work()
    db.exec('commit')
    return result
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}
