// Only on PostgreSQL: connections to a server break and are made again. SQLite's are in `sqlite/connection.ts`.

import pg from 'pg'
import { PillarboxError } from '../../model/errors.ts'
import type { Clock, Logger } from '../../model/ports.ts'
import type { PoolingProbe } from './pooling.ts'
import { isRolledBack, isUnavailable, sqlStateOf, translated } from './unavailable.ts'

export interface Query {
  /** Prepared once per connection under this name, unless the session does not prepare. */
  name?: string
  text: string
  values?: readonly unknown[]
  /** Rows as arrays in column order: cheaper for wide results. */
  rowMode?: 'array'
}

/**
 * A transaction that stays open between two calls, with the rows that its first statement answered. It holds the session
 * until it ends: by `commit` or `rollback`, when its connection is lost, or after `OPEN_TRANSACTION_MS`.
 */
export interface OpenTransaction<T> {
  readonly rows: T[]
  /**
   * Runs the statements in their order and commits; answers the rows of each. Where one fails, nothing is written and the
   * first error is the answer. A transaction that has ended already rejects with `store_unavailable`; one that was kept for
   * too long with an error of its own, because trying the same again would take as long again. `finish` sees what the
   * statements answered and may run more of them before the commit, which costs a round trip.
   */
  commit(writes: readonly Query[], finish?: FinishCommit): Promise<unknown[][]>
  /** Undoes everything. Does nothing where the transaction has ended. Never rejects. */
  rollback(): Promise<void>
}

/** Runs one statement and answers its rows. */
export type Run = <R = Record<string, unknown>>(query: Query) => Promise<R[]>

export type FinishCommit = (answers: unknown[][], run: Run) => Promise<void>

/**
 * One connection with one role. Callers take turns on it; it connects when first used and again after it broke.
 * Connection trouble rejects with `store_unavailable`; whether a commit that was under way happened is then unknown.
 */
export interface Session {
  /** One statement, committed when it resolves. */
  readonly run: Run
  /** Begins, runs `body`, commits. Runs `body` again if PostgreSQL rolled it back to end a deadlock. */
  transaction<T>(body: (run: Run) => Promise<T>): Promise<T>
  /**
   * Begins a transaction with `take` as its first statement, in one round trip, and leaves it open: what `take` locked
   * stays locked, and other callers wait, until the transaction ends. Begins anew if PostgreSQL rolled `take` back to end
   * a deadlock.
   */
  begin<T>(take: Query): Promise<OpenTransaction<T>>
  /** Callers that wait or run. */
  readonly load: number
  close(): Promise<void>
}

export interface SessionOptions {
  url: string
  /** Shown in pg_stat_activity after `pillarbox`. */
  role: string
  clock: Clock
  logger: Logger
  statementTimeoutMs: number
  /** False behind a pooler in transaction mode: no named statements, no session settings. Or who finds that out. */
  prepare: boolean | PoolingProbe
  /** Sends statements without waiting for the answers of those before; `begin` needs it. Default: false. */
  pipeline?: boolean
  /** Further settings of the session, `name = value`. */
  settings?: readonly string[]
}

const CONNECT_TIMEOUT_MS = 5_000
const LOCK_TIMEOUT_MS = 10_000
const IDLE_IN_TRANSACTION_MS = 15_000
/** The session's own limit, for servers behind a pooler that know nothing of ours. */
const OPEN_TRANSACTION_MS = IDLE_IN_TRANSACTION_MS
/** How long past the server's own limit the driver waits before it takes the socket for dead. */
const SILENCE_MS = 5_000
const FIRST_BACK_OFF_MS = 50
const MAX_BACK_OFF_MS = 1_000
const ROLLBACK_TRIES = 4
/** How long `close` waits for the server's end of a connection to go away. */
const GOODBYE_MS = 2_000

/**
 * int8 as number: tokens and counts stay far below 2^53. JSON as its text, as SQLite has it: the scripts both engines
 * share could not tell a parsed string from text that is still to be parsed. timestamptz as Date, like the driver's own.
 */
const PARSERS: Record<number, (text: string) => unknown> = { 20: Number, 114: String, 1184: instant }
const parseTimestamp = pg.types.getTypeParser(1184) as (text: string) => unknown
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary'): unknown =>
    PARSERS[oid] ?? pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

export function openSession(options: SessionOptions): Session {
  const { clock, logger, role } = options
  const closing = new AbortController()
  let client: pg.Client | null = null
  let mayPrepare = false
  let turn: Promise<unknown> = Promise.resolve()
  let load = 0
  let backOffMs = 0
  let retryAt = 0
  let lastFailure: PillarboxError | null = null
  /** Ends the transaction that is left open, if there is one, when its connection is gone. */
  let lost = (): void => {}

  /**
   * Callers take turns: the protocol answers one statement at a time, and a transaction must not be interleaved. Those
   * who waited while a connection could not be made share that failure, rather than each waiting for its own.
   */
  const exclusively = <T>(work: () => Promise<T>): Promise<T> => {
    load += 1
    const failureBefore = lastFailure
    const inTurn = async (): Promise<T> => {
      if (client === null && lastFailure !== null && lastFailure !== failureBefore) throw lastFailure
      return work()
    }
    const done = turn.then(inTurn).finally(() => {
      load -= 1
    })
    turn = done.catch(() => {})
    return done
  }

  const connected = async (): Promise<pg.Client> => {
    if (client !== null) return client
    const waitMs = retryAt - clock.monotonic()
    if (waitMs > 0) await clock.sleep(waitMs, closing.signal)
    if (closing.signal.aborted) throw new PillarboxError('store_unavailable', 'The store is closed')
    const fresh = newClient(options, (error) => {
      if (client !== fresh) return
      client = null
      logger.warn({ role, error: String(error) }, 'Lost a PostgreSQL connection')
      lost()
    })
    try {
      await fresh.connect()
      mayPrepare = await isSessionOurs(options, fresh)
      if (mayPrepare) await fresh.query(settingsOf(options))
    } catch (error) {
      discard(fresh)
      backOffMs = Math.min(MAX_BACK_OFF_MS, Math.max(FIRST_BACK_OFF_MS, backOffMs * 2))
      retryAt = clock.monotonic() + backOffMs
      const message = error instanceof Error ? error.message || String(error) : String(error)
      lastFailure = new PillarboxError('store_unavailable', `PostgreSQL cannot be reached: ${message}`, {
        cause: error,
      })
      throw lastFailure
    }
    backOffMs = 0
    lastFailure = null
    client = fresh
    return fresh
  }

  /** A connection whose state is in doubt is given up: after anything but an ordinary refusal by the server. */
  const failed = (from: pg.Client, error: unknown): void => {
    if (sqlStateOf(error) !== null && !connectionIsGone(error)) return
    if (client === from) client = null
    discard(from)
  }

  const runOn = async <R>(on: pg.Client, query: Query): Promise<R[]> => {
    const { name, text, values, rowMode } = query
    const config = {
      text,
      ...(name !== undefined && mayPrepare ? { name } : {}),
      ...(values === undefined ? {} : { values: values as unknown[] }),
      ...(rowMode === undefined ? {} : { rowMode }),
    }
    try {
      const result = await on.query(config)
      return result.rows as R[]
    } catch (error) {
      failed(on, error)
      throw translated(error)
    }
  }

  const transactionOn = async <T>(on: pg.Client, body: (run: Run) => Promise<T>): Promise<T> => {
    await runOn(on, { text: 'begin' })
    try {
      const result = await body((query) => runOn(on, query))
      await runOn(on, { text: 'commit' })
      return result
    } catch (error) {
      if (client === on) await runOn(on, { text: 'rollback' }).catch(() => failed(on, error))
      throw error
    }
  }

  /** Begins and takes in one round trip. */
  const takeOn = async <T>(on: pg.Client, take: Query): Promise<T[]> => {
    try {
      const [, rows] = await allOf([runOn(on, { text: 'begin' }), runOn<T>(on, take)])
      return rows
    } catch (error) {
      if (client === on) await runOn(on, { text: 'rollback' }).catch(() => failed(on, error))
      throw error
    }
  }

  /** A commit behind a statement that failed is a rollback, and no error. */
  const commitOn = async (on: pg.Client, writes: readonly Query[], finish?: FinishCommit): Promise<unknown[][]> => {
    const written = writes.map((write) => runOn<unknown>(on, write))
    if (finish) {
      try {
        await finish(await allOf(written), (query) => runOn(on, query))
      } catch (error) {
        if (client === on) await runOn(on, { text: 'rollback' }).catch(() => failed(on, error))
        throw error
      }
    }
    await allOf([...written, runOn(on, { text: 'commit' })])
    return Promise.all(written)
  }

  /** Keeps the caller's turn until the transaction has ended, one way or another. */
  const beginInTurn = async <T>(take: Query, opened: (transaction: OpenTransaction<T>) => void): Promise<void> => {
    const { on, rows } = await againIfRolledBack(async () => {
      const on = await connected()
      return { on, rows: await takeOn<T>(on, take) }
    })
    const ended = new AbortController()
    const over = Promise.withResolvers<void>()
    /** True for the first who ends it. */
    const end = (): boolean => {
      const isFirst = !ended.signal.aborted
      ended.abort()
      return isFirst
    }
    const openedAt = clock.monotonic()
    let isOvertime = false
    const endedAlready = (): Error =>
      // The server counts from a little earlier than we do, and may be the first to end it.
      isOvertime || clock.monotonic() - openedAt > OPEN_TRANSACTION_MS - 1_000
        ? new Error(`the transaction was kept open for longer than ${OPEN_TRANSACTION_MS / 1_000} s, and was given up`)
        : new PillarboxError('store_unavailable', 'The transaction was given up before it could be committed')
    lost = () => void (end() && over.resolve())
    opened({
      rows,
      commit: async (writes, finish) => {
        if (!end()) throw endedAlready()
        return commitOn(on, writes, finish).catch(asUnavailable).finally(over.resolve)
      },
      rollback: async () => {
        if (!end()) return
        await runOn(on, { text: 'rollback' }).catch((error: unknown) => failed(on, error))
        over.resolve()
      },
    })
    void clock.sleep(OPEN_TRANSACTION_MS, ended.signal).then(() => {
      if (!end()) return
      isOvertime = true
      logger.warn({ role }, 'a transaction was left open for too long; its connection is closed')
      failed(on, endedAlready())
      over.resolve()
    })
    await over.promise
    lost = () => {}
  }

  const againIfRolledBack = async <T>(work: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      try {
        return await work()
      } catch (error) {
        if (!isRolledBack(error) || tries === ROLLBACK_TRIES) throw error
      }
    }
  }

  return {
    get load() {
      return load
    },
    run: <R>(query: Query) => exclusively(() => againIfRolledBack(async () => runOn<R>(await connected(), query))),
    transaction: (body) => exclusively(() => againIfRolledBack(async () => transactionOn(await connected(), body))),
    begin: <T>(take: Query) =>
      new Promise<OpenTransaction<T>>((resolve, reject) => {
        exclusively(() => beginInTurn<T>(take, resolve)).catch(reject)
      }),
    close: async () => {
      closing.abort()
      await turn
      const last = client
      client = null
      if (last !== null) await Promise.race([last.end(), clock.sleep(GOODBYE_MS)])
    },
  }
}

/** Several sessions with one role; each call goes to the least busy. Connections are made only as load asks for them. */
export function openSessions(count: number, options: SessionOptions): Session {
  const sessions = Array.from({ length: count }, () => openSession(options))
  const leastBusy = (): Session => sessions.reduce((best, session) => (session.load < best.load ? session : best))
  return {
    get load() {
      return sessions.reduce((sum, session) => sum + session.load, 0)
    },
    run: (query) => leastBusy().run(query),
    transaction: (body) => leastBusy().transaction(body),
    begin: (take) => leastBusy().begin(take),
    close: async () => {
      await Promise.all(sessions.map((session) => session.close()))
    },
  }
}

/** A client that reports its end once and never lets an error event reach the process. */
export function newClient(options: SessionOptions, onLost: (error: unknown) => void): pg.Client {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: `pillarbox ${options.role}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: options.statementTimeoutMs + SILENCE_MS,
    keepAlive: true,
    pipeline: options.pipeline ?? false,
    types,
  })
  client.on('error', onLost)
  client.on('end', () => onLost(new Error('Connection terminated')))
  return client
}

/** Whether the connected client's session lasts as long as its connection. */
export async function isSessionOurs({ prepare }: SessionOptions, client: pg.Client): Promise<boolean> {
  return typeof prepare === 'boolean' ? prepare : await prepare(client)
}

/** Gives a client up without waiting: its socket may be half-open. */
export function discard(client: pg.Client): void {
  client.end().catch(() => {})
}

/** Waits for all, even if one fails: no answer is left on its way. Rejects with the first in order that failed. */
async function allOf<T extends readonly Promise<unknown>[]>(
  promises: readonly [...T],
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

/** What was taken is no longer locked, so the statements cannot simply be run again: the caller has to begin anew. */
function asUnavailable(error: unknown): never {
  if (!isRolledBack(error)) throw error
  throw new PillarboxError('store_unavailable', 'PostgreSQL rolled a transaction back to end a deadlock', {
    cause: error,
  })
}

/** The driver's own parser takes a regular expression and several times as long. */
function instant(text: string): unknown {
  const ms = text.endsWith('+00') ? Date.parse(`${text.slice(0, 10)}T${text.slice(11)}:00`) : Number.NaN
  return Number.isNaN(ms) ? parseTimestamp(text) : new Date(ms)
}

function settingsOf({ statementTimeoutMs, settings = [] }: SessionOptions): string {
  return [
    `statement_timeout = ${statementTimeoutMs}`,
    `lock_timeout = ${Math.min(LOCK_TIMEOUT_MS, statementTimeoutMs)}`,
    `idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`,
    // Our statements are short: compiling them would cost more than running them.
    'jit = off',
    ...settings,
  ]
    .map((setting) => `set ${setting}`)
    .join('; ')
}

function connectionIsGone(error: unknown): boolean {
  const state = sqlStateOf(error) ?? ''
  return isUnavailable(error) && !['57014', '55P03', '25006'].includes(state) && !state.startsWith('53')
}
