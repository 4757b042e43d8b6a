import type { Snapshot } from '../shared/rollup-rebuild.ts'
import { boundStatement, type Row } from '../shared/script.ts'
import { openConnection } from './connection.ts'
import { type Connections, dialect, runScript } from './scripts.ts'

/**
 * Reads over a connection of its own, whose transaction sees the file as it was when it began: the one that writes goes on
 * beside it. A database in memory (`path` is null) has one connection only, so that nobody writes until the script is done.
 */
export function snapshotOf(
  { connection, writer, clock }: Connections,
  { path, defer }: { path: string | null; defer: (next: () => void) => void },
): Snapshot {
  return async (script, between) => {
    if (path === null) return writer.write(() => runScript(connection, script()))
    const reader = openConnection({ path, readOnly: true, now: clock.now })
    try {
      reader.db.exec('begin')
      const steps = script()
      let step = steps.next()
      while (!step.done) {
        const { text, values } = boundStatement(dialect, step.value)
        const found: Row[] = reader.all(text, values)
        await between()
        await new Promise<void>((resolve) => defer(resolve))
        step = steps.next(found)
      }
      return step.value
    } finally {
      reader.close()
    }
  }
}
