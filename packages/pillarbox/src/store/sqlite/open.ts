import type { Clock, Logger } from '../../model/ports.ts'
import { sharedEvents } from '../shared/events.ts'
import { sharedInbox } from '../shared/inbox.ts'
import { sharedNotifications } from '../shared/notifications.ts'
import { sharedParts } from '../shared/parts.ts'
import { sharedPersonal } from '../shared/personal.ts'
import { sharedPlan } from '../shared/plan.ts'
import { sharedPlanningNotes } from '../shared/planning-notes.ts'
import { sharedReceipts } from '../shared/receipts.ts'
import { sharedRollups } from '../shared/rollups.ts'
import { row } from '../shared/script.ts'
import { sharedSites } from '../shared/sites.ts'
import type { Store } from '../store.ts'
import { applySettings, type Connection, openConnection } from './connection.ts'
import { openDispatch } from './dispatch.ts'
import { openEvents } from './events.ts'
import { sqliteSchema } from './migrate.ts'
import { openNotifications } from './notifications.ts'
import { sqlitePlan } from './plan.ts'
import { receiptParts } from './receipts.ts'
import { openReports, type Reports } from './reports.ts'
import { dialect, scriptRunner } from './scripts.ts'
import { openSites } from './sites.ts'
import { snapshotOf } from './snapshot.ts'
import { untilFree } from './until-free.ts'
import { openWake } from './wake.ts'
import { openWriter, type Writer } from './writer.ts'

export interface SqliteOptions {
  /** A file, or `:memory:`. */
  path: string
  clock: Clock
  logger: Logger
  /**
   * When to commit what has been asked for. Later means larger groups: `setImmediate` gathers a whole turn of the event
   * loop, `(flush) => flush()` commits each write at once. Default: `queueMicrotask`.
   */
  defer?: (flush: () => void) => void
  /** Whether to look out for what other processes commit to the file, every 25 ms while somebody subscribes. Default: false. */
  watch?: boolean
  /** How long a statement of a report may take, which is then read by another process; null: by this thread. Default: null. */
  reportLimitMs?: number | null
}

const IN_MEMORY = ':memory:'

/**
 * The embedded store. One connection writes, in group commits that are on the disk before any caller hears of them; for
 * a file, a second one reads beside it. Nothing ever blocks the thread on a lock. Without `watch`, and with a clock that
 * does not tick, the same calls give the same answers in the same order.
 */
export async function openSqlite({
  path,
  clock,
  logger,
  defer = queueMicrotask,
  watch = false,
  reportLimitMs = null,
}: SqliteOptions): Promise<Store> {
  let writer: Writer | null = null
  const connection = openConnection({ path, readOnly: false, now: () => writer?.now() ?? clock.now() })
  const open: Connection[] = [connection]
  try {
    // Switching to WAL wants the file to itself for a moment, so it may have to wait for another process.
    await untilFree(clock, () => applySettings(connection))
    writer = openWriter({ connection, clock, defer })
    const reader = path === IN_MEMORY ? connection : openConnection({ path, readOnly: true, now: clock.now })
    if (reader !== connection) open.push(reader)
    logger.debug({ path, sqlite: connection.db.prepare('select sqlite_version() as v').get()?.['v'] }, 'SQLite is open')
    const reports =
      reportLimitMs === null || path === IN_MEMORY ? null : openReports({ path, clock, limitMs: reportLimitMs })
    return compose({ path, defer, connection, reader, reports, writer, clock, watch, open })
  } catch (error) {
    for (const one of open) one.close()
    throw error
  }
}

/** Leaves everything in the file itself, as far as whoever else has it open lets us. */
function closeWhole(connection: Connection): void {
  try {
    connection.db.exec('pragma wal_checkpoint(truncate)')
  } catch {
    // A reader's connection, or a file that cannot be written any more: what is in the log stays there and is not lost.
  }
  connection.close()
}

/** Writes the file anew, without what was in its free space, and empties the log, which still has what was there before. */
function compact({ db }: Connection, mostBytes: number): 'done' | 'too_large' {
  const { size } = db
    .prepare('select page_count * page_size as size from pragma_page_count(), pragma_page_size()')
    .get() as { size: number }
  if (size > mostBytes) return 'too_large'
  db.exec('vacuum')
  db.exec('pragma wal_checkpoint(truncate)')
  return 'done'
}

interface OpenParts {
  path: string
  defer: (flush: () => void) => void
  connection: Connection
  reader: Connection
  reports: Reports | null
  writer: Writer
  clock: Clock
  watch: boolean
  open: Connection[]
}

function compose({ path, defer, connection, reader, reports, writer, clock, watch, open }: OpenParts): Store {
  const connections = { connection, reader, reports, writer, clock }
  const run = scriptRunner(connections)
  const wake = openWake({ connection, clock, watch })
  return {
    engine: 'sqlite',
    ...sqliteSchema(connections),
    now: () =>
      run.read(function* () {
        return Number((yield* row(`select ${dialect.now} as now`))?.['now'])
      }),
    load: () => new Map([['writer', writer.waiting]]),
    ...sharedParts({ admin: run, planning: run, dispatching: run, control: run, beats: run, retention: run }),
    events: { ...sharedEvents(run), ...openEvents(connections) },
    plan: { ...sharedPlan(run), ...sharedPlanningNotes(run), ...sqlitePlan(connections) },
    notifications: { ...sharedNotifications(run), ...openNotifications(connections) },
    dispatch: openDispatch(connections),
    receipts: sharedReceipts(run, receiptParts(connections)),
    inbox: sharedInbox(run),
    rollups: sharedRollups(run, snapshotOf(connections, { path: path === IN_MEMORY ? null : path, defer })),
    sites: { ...sharedSites(run), ...openSites(connections) },
    personal: sharedPersonal(run, (mostBytes) => untilFree(clock, () => compact(connection, mostBytes))),
    wake,
    close: async () => {
      wake.close()
      await reports?.close()
      await writer.close()
      // The one that writes last: a reader that is left cannot move the log's pages into the file.
      for (const one of open.toReversed()) if (one.db.isOpen) closeWhole(one)
    },
  }
}
