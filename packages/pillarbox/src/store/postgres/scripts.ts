import type { ColumnType, Dialect, Script, ScriptRunner, Value } from '../shared/script.ts'
import { plainArray, storable, textArray } from './arrays.ts'
import type { Query, Run, Session } from './session.ts'

export const dialect: Dialect = {
  engine: 'postgres',
  now: 'now()',
  instant: (parameter) => `to_timestamp(${parameter}::double precision / 1000.0)`,
  plus: (instant, ms) => `(${instant} + (${ms})::double precision * interval '1 millisecond')`,
  table: (alias, columns, rows, add) => {
    const names = Object.keys(columns) as (keyof typeof columns)[]
    const arrays = names.map((name) => {
      const type: ColumnType = columns[name]
      const values = rows.map((row) => row[name])
      const isPlain = type === 'uuid' || type === 'bigint'
      return `${add(isPlain ? plainArray(values) : textArray(values.map(textOrNull)))}::${type}[]`
    })
    return `unnest(${arrays.join(', ')}) as ${alias} (${names.join(', ')})`
  },
  share: (alias) => `for share of ${alias}`,
  lock: (alias) => `for no key update of ${alias}`,
  skipLocked: (alias) => `for no key update of ${alias} skip locked`,
}

function textOrNull(value: Value): string | null {
  return value === null ? null : String(value)
}

export interface PostgresScripts extends ScriptRunner {
  /** Runs a script as part of a transaction that is open. */
  follow<T>(run: Run, script: Script<T>): Promise<T>
}

/**
 * Runs the scripts both engines share: a read statement by statement, a write in one transaction. `prepares`: for scripts
 * that run with every batch, whose few statements are worth a name.
 */
export function scriptRunner(session: Session, { prepares = false } = {}): PostgresScripts {
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
    write: (script) => session.transaction((run) => following(run, script())),
  }
}

async function follow<T>(run: Run, script: Script<T>): Promise<T> {
  let step = script.next()
  while (step.done !== true) {
    const { text, values } = step.value
    const bound = values.map((value) => (typeof value === 'string' ? storable(value) : value))
    let rows: Record<string, unknown>[]
    try {
      rows = await run({ text, values: bound })
    } catch (error) {
      // Into the script, so that it ends as a function that threw would.
      step = script.throw(error)
      continue
    }
    step = script.next(rows)
  }
  return step.value
}
