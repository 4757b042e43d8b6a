import type { Clock } from '../../model/ports.ts'
import {
  boundStatement,
  type Dialect,
  follow,
  type Row,
  row,
  rows,
  type Script,
  type ScriptRunner,
} from '../shared/script.ts'
import { type Connection, translated } from './connection.ts'
import type { Reports } from './reports.ts'
import { untilFree } from './until-free.ts'
import type { Writer } from './writer.ts'

export const dialect: Dialect = {
  engine: 'sqlite',
  now: 'pillarbox_now()',
  instant: (parameter) => parameter,
  plus: (instant, ms) => `(${instant} + ${ms})`,
  table: (alias, columns, rows, add) => {
    const names = Object.keys(columns)
    const given = add(JSON.stringify(rows.map((row) => names.map((name) => scalar(row[name])))))
    const fields = names.map((name, i) => `value ->> ${i} as ${name}`)
    return `(select ${fields.join(', ')} from json_each(${given})) as ${alias}`
  },
  // `cross join` fixes the order.
  lookedUp: (table, alias, condition) => `cross join pillarbox.${table} ${alias} on ${condition}`,
  *newTokens(count) {
    const taken = yield* row('update pillarbox.claim_tokens set value = value + :count returning value', { count })
    const last = Number(taken?.['value'])
    return Array.from({ length: count }, (_, i) => last - count + 1 + i)
  },
  salt: 'lower(hex(randomblob(16)))',
  // Only one transaction writes at a time: what a read sees of the numbers is committed, and so are all lower ones.
  *auditHorizon() {
    return { upTo: yield* lastAuditId(), transaction: '0' }
  },
  horizonBy: 'read',
  lastAuditId,
  isOver: () => 'true',
  *allowAuditUpkeep() {},
  unindexed: (expression) => `+${expression}`,
  bytewise: (text) => text,
  // Nobody else writes while a transaction of this engine runs.
  keyShare: () => '',
  share: () => '',
  lock: () => '',
  skipLocked: () => '',
  deleteSkipLocked: () => '',
}

/** An object is text in SQLite too. */
function scalar(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}

/** Runs shared scripts: reads at once, reports elsewhere if there are processes for them, writes in the group commit. */
export function scriptRunner({ reader, reports, connection, writer, clock }: Connections): ScriptRunner {
  const read = <T>(script: () => Script<T>): Promise<T> => untilFree(clock, () => runScript(reader, script()))
  return {
    dialect,
    read,
    report: reports ? (script) => reported(reports, script()) : read,
    write: (script) => writer.write(() => runScript(connection, script())),
    change: (text, values) => writer.write(() => runScript(connection, rows(text, values))),
  }
}

async function reported<T>(reports: Reports, script: Script<T>): Promise<T> {
  try {
    return await follow(script, (statement) => {
      const { text, values } = boundStatement(dialect, statement)
      return reports.run(text, values)
    })
  } catch (error) {
    throw translated(error)
  }
}

export interface Connections {
  /** For statements that change something; only ever used inside `writer.write`. */
  connection: Connection
  writer: Writer
  /** The same connection where the database is in memory. */
  reader: Connection
  /** Null: what may take long is read on the same thread. */
  reports: Reports | null
  clock: Clock
}

export function runScript<T>(connection: Connection, script: Script<T>): T {
  let step = script.next()
  while (!step.done) {
    let found: Row[]
    try {
      const { text, values } = boundStatement(dialect, step.value)
      found = connection.all(text, values)
    } catch (error) {
      step = script.throw(error)
      continue
    }
    step = script.next(found)
  }
  return step.value
}

/** An insert of one row with its values in the order of these columns. */
export function insertText(table: string, columns: readonly string[]): string {
  return `insert into pillarbox.${table} (${columns.join(', ')}) values (${columns.map((_, i) => `$${i + 1}`).join(', ')})`
}

function* lastAuditId(): Script<number> {
  const last = yield* row(`select seq from sqlite_sequence where name = 'pillarbox_audit'`)
  return Number(last?.['seq'] ?? 0)
}
