import { reportTookTooLong } from '../shared/report.ts'
import {
  boundStatement,
  type Dialect,
  follow as followScript,
  row,
  rows,
  type Script,
  type ScriptRunner,
  type Value,
} from '../shared/script.ts'
import { plainArray, storable, textArray } from './arrays.ts'
import type { Query, Run, Session } from './session.ts'
import { isTimedOut } from './unavailable.ts'

export const dialect: Dialect = {
  engine: 'postgres',
  now: 'now()',
  instant: (parameter) => `to_timestamp(${parameter}::double precision / 1000.0)`,
  plus: (instant, ms) => `(${instant} + (${ms})::double precision * interval '1 millisecond')`,
  table: (alias, columns, rows, add) => {
    const arrays = Object.entries(columns).map(([name, type]) => {
      const values = rows.map((row) => row[name])
      const isQuoted = type === 'text' || type === 'json'
      return `${add(isQuoted ? textArray(values.map(textOrNull)) : plainArray(values as Value[]))}::${type}[]`
    })
    return `unnest(${arrays.join(', ')}) as ${alias} (${Object.keys(columns).join(', ')})`
  },
  lookedUp: (table, alias, condition, lock = '') =>
    `cross join lateral (select * from pillarbox.${table} ${alias} where ${condition} limit 1 ${lock}) ${alias}`,
  *newTokens(count) {
    const taken = yield* rows(
      `select nextval('pillarbox.claim_tokens') as token from generate_series(1, cast(:count as int))`,
      { count },
    )
    return taken.map(({ token }) => Number(token))
  },
  salt: 'gen_random_uuid()::text',
  // The transaction's own id comes after the number: whoever has taken a number up to it has a lower id.
  *auditHorizon() {
    const upTo = yield* lastAuditId()
    const own = yield* row('select pg_current_xact_id()::text as id')
    return { upTo, transaction: String(own?.['id']) }
  },
  horizonBy: 'write',
  lastAuditId,
  isOver: (transaction) => `pg_snapshot_xmin(pg_current_snapshot()) >= cast(${transaction} as xid8)`,
  *allowAuditUpkeep() {
    yield* rows(`set local pillarbox.audit_upkeep = 'on'`)
  },
  unindexed: (expression) => expression,
  bytewise: (text) => `(${text} collate "C")`,
  keyShare: (alias) => `for key share of ${alias}`,
  share: (alias) => `for share of ${alias}`,
  lock: (alias) => `for no key update of ${alias}`,
  skipLocked: (alias) => `for no key update of ${alias} skip locked`,
  deleteSkipLocked: (alias) => `for update of ${alias} skip locked`,
}

function textOrNull(value: unknown): string | null {
  if (typeof value === 'string') return value
  return value === null || value === undefined ? null : JSON.stringify(value)
}

/** Connections for what may take long, whose statements the server ends. */
export interface ReportSession {
  session: Session
  limitMs: number
}

export interface PostgresScripts extends ScriptRunner {
  /** Runs a script as part of a transaction that is open. */
  follow<T>(run: Run, script: Script<T>): Promise<T>
}

/**
 * Runs the scripts both engines share: a read statement by statement, a write in one transaction. `prepares`: for scripts
 * that run with every batch, whose few statements are worth a name.
 */
export function scriptRunner(
  session: Session,
  { prepares = false, reports = null }: { prepares?: boolean; reports?: ReportSession | null } = {},
): PostgresScripts {
  const names = new Map<string, string>()
  const named = (query: Query): Query => {
    if (!prepares) return query
    const name = names.get(query.text) ?? `script_${names.size + 1}`
    names.set(query.text, name)
    return { ...query, name }
  }
  const following = <T>(run: Run, script: Script<T>): Promise<T> => follow((query) => run(named(query)), script)
  return {
    dialect,
    follow: following,
    read: (script) => following(session.run, script()),
    report: (script) =>
      reports === null
        ? following(session.run, script())
        : following(reports.session.run, script()).catch((error: unknown) => {
            throw isTimedOut(error) ? reportTookTooLong(reports.limitMs) : error
          }),
    write: (script) => session.transaction((run) => following(run, script())),
    change: (text, values) => following(session.run, rows(text, values)),
  }
}

function follow<T>(run: Run, script: Script<T>): Promise<T> {
  return followScript(script, (statement) => {
    const { text, values } = boundStatement(dialect, statement)
    return run({ text, values: values.map((value) => (typeof value === 'string' ? storable(value) : value)) })
  })
}

function* lastAuditId(): Script<number> {
  const last = yield* row('select last_value from pillarbox.audit_ids')
  return Number(last?.['last_value'])
}
