import { validEvent, validEvents } from './check-event.ts'
import type { AnyEventTypes, EventTypes, NewEvent } from './event.ts'
import { wallClock } from './host-process.ts'
import { insertEvent, insertEvents, type Statement } from './insert-events.ts'
import { NotInTransactionError, type SyncTransaction, type Transaction } from './transaction.ts'
import { newUuidV7 } from './uuid-v7.ts'

export interface PublishOptions {
  /** Makes the id of an event that has none. Default: UUIDv7. */
  newId?: () => string
  /** The time in ms since 1970 that a SQLite row is stamped with; PostgreSQL uses its own. Default: the wall clock. */
  now?: () => number
}

export interface Published {
  /** The event's id: the given one, or the one made for it. */
  id: string
}

/**
 * Writes the event inside the host's transaction: it is delivered if and only if that transaction commits.
 *
 * A repeated (tenant, id) writes nothing and answers the same id. Bad input throws `InvalidEventError`, and a missing
 * transaction `NotInTransactionError`, before any statement runs, so the transaction stays usable. What the database
 * itself throws is passed on unchanged. No notification is sent to workers from inside the transaction (on PostgreSQL
 * that would make commits wait for one another): they poll, and `nudge` after the commit saves them the wait.
 */
export async function publish<Types extends EventTypes<Types> = AnyEventTypes>(
  tx: Transaction,
  event: NewEvent<Types>,
  options: PublishOptions = {},
): Promise<Published> {
  const { id, statement } = prepareOne(tx, event, options)
  await tx.run(statement.sql, statement.parameters)
  return { id }
}

/** Writes all events, or none if one is bad: one statement per thousand. Answers in the given order. */
export async function publishMany<Types extends EventTypes<Types> = AnyEventTypes>(
  tx: Transaction,
  events: readonly NewEvent<Types>[],
  options: PublishOptions = {},
): Promise<Published[]> {
  const { published, statements } = prepareMany(tx, events, options)
  for (const statement of statements) await tx.run(statement.sql, statement.parameters)
  return published
}

/**
 * `publish` for the synchronous SQLite libraries, whose transaction callbacks must not await: the row is written when
 * it returns, and what goes wrong is thrown where the callback can roll back.
 */
export function publishSync<Types extends EventTypes<Types> = AnyEventTypes>(
  tx: SyncTransaction,
  event: NewEvent<Types>,
  options: PublishOptions = {},
): Published {
  const { id, statement } = prepareOne(tx, event, options)
  runSync(tx, statement)
  return { id }
}

/** `publishMany` for the synchronous SQLite libraries. */
export function publishManySync<Types extends EventTypes<Types> = AnyEventTypes>(
  tx: SyncTransaction,
  events: readonly NewEvent<Types>[],
  options: PublishOptions = {},
): Published[] {
  const { published, statements } = prepareMany(tx, events, options)
  for (const statement of statements) runSync(tx, statement)
  return published
}

function prepareOne(tx: Transaction, event: unknown, options: PublishOptions): { id: string; statement: Statement } {
  const { newId = newUuidV7, now = wallClock } = options
  const checked = validEvent(event, newId)
  requireTransaction(tx)
  return { id: checked.id, statement: insertEvent(tx.engine, checked, now()) }
}

function prepareMany(
  tx: Transaction,
  events: readonly unknown[],
  options: PublishOptions,
): { published: Published[]; statements: Statement[] } {
  const { newId = newUuidV7, now = wallClock } = options
  const checked = validEvents(events, newId)
  requireTransaction(tx)
  return { published: checked.map(({ id }) => ({ id })), statements: insertEvents(tx.engine, checked, now()) }
}

function requireTransaction(tx: Transaction): void {
  const { engine, run } = (tx ?? {}) as Partial<Transaction>
  if ((engine !== 'postgres' && engine !== 'sqlite') || typeof run !== 'function')
    throw new TypeError(
      'publish() needs your transaction in its library’s adapter, such as publish(fromPg(client), event)',
    )
  if (tx.inTransaction?.() === false) throw new NotInTransactionError()
}

function runSync(tx: SyncTransaction, { sql, parameters }: Statement): void {
  const result = tx.run(sql, parameters)
  if (typeof (result as { then?: unknown } | null | undefined)?.then === 'function') {
    throw new TypeError('publishSync() was given a library that answers later: use await publish()')
  }
}
