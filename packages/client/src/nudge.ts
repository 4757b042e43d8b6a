import { callLater, monotonicClock } from './host-process.ts'
import type { Transaction } from './transaction.ts'

/** The connection to nudge over: an adapter made from a pool, never from the object that runs a transaction. */
export type NudgeConnection = Pick<Transaction, 'engine' | 'run' | 'inTransaction'>

const SQL = `select pg_notify('pillarbox', 'events')`
const INTERVAL_MS = 5

/**
 * Tells workers, after the commit, that there are new events: `await nudge(fromPg(pool))`. Optional: without it they
 * find the events at their next poll. At most one goes out per 5 ms and process; a call in between is made up for at
 * the end of those 5 ms, so that no commit goes unannounced. Never throws; does nothing on SQLite, and nothing on an
 * object that is in a transaction.
 */
export const nudge: (connection: NudgeConnection) => Promise<void> = nudger({
  monotonic: monotonicClock,
  later: callLater,
})

export interface NudgeClock {
  monotonic: () => number
  later: (ms: number, task: () => void) => void
}

export function nudger({ monotonic, later }: NudgeClock): (connection: NudgeConnection) => Promise<void> {
  let sentAt = Number.NEGATIVE_INFINITY
  let waiting: NudgeConnection | null = null

  const send = async (connection: NudgeConnection): Promise<void> => {
    sentAt = monotonic()
    try {
      await connection.run(SQL, [])
    } catch {
      // The events are committed; the next poll finds them. Telling the host of a missed hint would only alarm it.
    }
  }

  return async (connection) => {
    if (connection.engine !== 'postgres') return
    const inTransaction = connection.inTransaction?.()
    if (inTransaction === true) return
    const waitMs = sentAt + INTERVAL_MS - monotonic()
    if (waitMs <= 0) return send(connection)
    // Used later only where it can tell that it is then in no transaction; a bare client may be in its next one.
    if (inTransaction !== false) return
    if (waiting === null) {
      later(waitMs, () => {
        const next = waiting
        waiting = null
        if (next?.inTransaction?.() === false) void send(next)
      })
    }
    waiting = connection
  }
}
