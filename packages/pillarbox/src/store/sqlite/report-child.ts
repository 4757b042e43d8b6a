import { DatabaseSync, type SQLInputValue } from 'node:sqlite'

/** A statement to be run, in SQLite's own words. `now`: what `pillarbox_now()` answers. */
export interface ReportQuestion {
  text: string
  values: SQLInputValue[]
  now: number
}

export type ReportAnswer =
  | { rows: Record<string, unknown>[] }
  /** What SQLite said, with its code, if it was SQLite that said it. */
  | { error: { message: string; errcode: unknown } }

/** It may wait for a lock: nobody waits for this process but whoever asked. */
const BUSY_MS = 5_000

/** The main file of a process that reads for reports (`reports.ts`): it answers one statement after another. */
const [, , path = ''] = process.argv
let now = 0
const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS })
db.function('pillarbox_now', { deterministic: true }, () => now)

function answerTo({ text, values, ...asked }: ReportQuestion): ReportAnswer {
  now = asked.now
  try {
    return { rows: db.prepare(text).all(...values) }
  } catch (error) {
    const { errcode } = error as { errcode?: unknown }
    return { error: { message: error instanceof Error ? error.message : String(error), errcode } }
  }
}

process.on('message', (question: ReportQuestion) => process.send?.(answerTo(question)))
// Whoever started it is gone.
process.on('disconnect', () => process.exit(0))
