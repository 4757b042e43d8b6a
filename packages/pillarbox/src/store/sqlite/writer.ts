// Only on SQLite: one connection writes for all callers. PostgreSQL's callers share a commit by `postgres/group.ts`.

import { PillarboxError } from '../../model/errors.ts'
import type { Clock } from '../../model/ports.ts'
import { type Connection, isBusy, translated, unavailable } from './connection.ts'
import { BUSY_LIMIT_MS, busyWaits } from './until-free.ts'

/** Something to be written, run inside the transaction with its one point in time. */
export type QueuedWork<T> = (now: number) => T

/**
 * Group commit on the one write connection: what is asked for while the thread was busy goes into one transaction, and
 * every caller hears of it only after the commit. A piece of work that throws is undone and rejected alone.
 */
export interface Writer {
  write<T>(work: QueuedWork<T>): Promise<T>
  /** The time of the transaction that is open, or else the clock's. */
  now(): number
  /** Pieces of work that are not committed yet and have not begun. */
  readonly waiting: number
  /** Resolves when nothing is queued any more; what comes later is refused. */
  close(): Promise<void>
}

export interface WriterOptions {
  connection: Connection
  clock: Clock
  /** When to commit what has been asked for; called once for each group. */
  defer: (flush: () => void) => void
}

/** Beyond this the rest waits for the next transaction, so that the event loop gets its turn. */
const MAX_GROUP = 256

interface Queued {
  work: QueuedWork<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
  since: number
}

type Done = { queued: Queued; value: unknown }

export function openWriter({ connection, clock, defer }: WriterOptions): Writer {
  const begin = connection.db.prepare('begin immediate')
  const commit = connection.db.prepare('commit')
  const rollback = connection.db.prepare('rollback')
  const savepoint = connection.db.prepare('savepoint work')
  const undo = connection.db.prepare('rollback to work')
  const release = connection.db.prepare('release work')

  let queue: Queued[] = []
  /** From the first piece of work until its group is committed, waits for a lock included. */
  let isUnderWay = false
  let isClosed = false
  let transactionNow: number | null = null
  let onIdle: (() => void) | null = null

  const write = <T>(work: QueuedWork<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      if (isClosed) {
        reject(new PillarboxError('store_unavailable', 'The store is closed'))
        return
      }
      queue.push({ work, resolve: resolve as (value: unknown) => void, reject, since: clock.monotonic() })
      if (isUnderWay) return
      isUnderWay = true
      defer(flush)
    })

  const flush = (): void => {
    if (commitGroup()) afterGroup()
    else void waitForLock()
  }

  const afterGroup = (): void => {
    if (queue.length > 0) {
      defer(flush)
      return
    }
    isUnderWay = false
    onIdle?.()
  }

  /** Meanwhile the queue grows; all of it goes into the transaction that at last begins. */
  const waitForLock = async (): Promise<void> => {
    const nextWait = busyWaits()
    do {
      await clock.sleep(nextWait())
      if (commitGroup()) break
      const oldest = clock.monotonic() - BUSY_LIMIT_MS
      const late = queue.filter((queued) => queued.since <= oldest)
      queue = queue.filter((queued) => queued.since > oldest)
      for (const { reject } of late)
        reject(new PillarboxError('store_unavailable', 'Another connection has held the write lock for 30 s'))
    } while (queue.length > 0)
    afterGroup()
  }

  /** One transaction; false, with the queue as it was, when the lock is somebody else's. */
  const commitGroup = (): boolean => {
    try {
      begin.run()
    } catch (error) {
      if (isBusy(error)) return false
      const refused = queue
      queue = []
      for (const { reject } of refused) reject(translated(error))
      return true
    }
    transactionNow = clock.now()
    const group = queue.splice(0, MAX_GROUP)
    const done = group.length === 1 ? runAlone(group) : runGroup(group)
    transactionNow = null
    if (done.length === 0) {
      if (connection.db.isTransaction) rollback.run()
      return true
    }
    try {
      commit.run()
    } catch (error) {
      if (connection.db.isTransaction) rollback.run()
      for (const { queued } of done) queued.reject(unavailable(error))
      return true
    }
    for (const { queued, value } of done) queued.resolve(value)
    return true
  }

  const runAlone = ([queued]: Queued[]): Done[] => {
    if (!queued) return []
    try {
      return [{ queued, value: queued.work(transactionNow ?? 0) }]
    } catch (error) {
      queued.reject(translated(error))
      return []
    }
  }

  const runGroup = (group: Queued[]): Done[] => {
    const done: Done[] = []
    for (const [i, queued] of group.entries()) {
      savepoint.run()
      try {
        const value = queued.work(transactionNow ?? 0)
        release.run()
        done.push({ queued, value })
      } catch (error) {
        if (connection.db.isTransaction) {
          undo.run()
          release.run()
          queued.reject(translated(error))
          continue
        }
        // A full disk and the like end the whole transaction: what ran before is undone too, the rest has not begun.
        for (const lost of [...done.map((entry) => entry.queued), queued]) lost.reject(unavailable(error))
        queue.unshift(...group.slice(i + 1))
        return []
      }
    }
    return done
  }

  return {
    write,
    get waiting() {
      return queue.length
    },
    now: () => transactionNow ?? clock.now(),
    close: async () => {
      isClosed = true
      if (isUnderWay)
        await new Promise<void>((resolve) => {
          onIdle = resolve
        })
    },
  }
}
