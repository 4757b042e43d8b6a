import type { Snapshot } from '../shared/rollup-rebuild.ts'
import type { PostgresScripts } from './scripts.ts'
import type { Run, Session } from './session.ts'

/** Reads in one transaction that sees the database as it was when it began. Others write meanwhile. */
export function snapshotOf(session: Session, { follow }: Pick<PostgresScripts, 'follow'>): Snapshot {
  return (script, between) =>
    session.transaction(async (run) => {
      await run({ text: 'set transaction isolation level repeatable read, read only' })
      const inTurns: Run = async (query) => {
        const found = await run<never>(query)
        await between()
        return found
      }
      return follow(inTurns, script())
    })
}
