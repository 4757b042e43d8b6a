import { openPrivately } from '../config/setup.ts'
import { type CommandCall, describeSchema, missingFile, sqlitePath } from './call.ts'

/** Brings the schema up to date and says from where to where; with `--check` only says where it is. */
export async function migrate(call: CommandCall): Promise<number> {
  const { config, logger } = await call.settle()
  const { write } = call.stdout
  const isCheck = call.options['check'] === true
  const missing = isCheck ? await missingFile(config) : null
  if (missing !== null) {
    write(`behind: there is no ${missing} yet; run "pillarbox migrate"\n`)
    return 1
  }
  const path = sqlitePath(config)
  // Makes it, or says what is in the way.
  if (!isCheck && path !== null) await openPrivately('The database', path, () => {})
  const { openStore } = await call.loadEngine()
  const store = await openStore(config, logger)
  try {
    if (isCheck) {
      const { found, wanted } = await store.schema()
      write(`${describeSchema(found, wanted)}\n`)
      return found === wanted ? 0 : 1
    }
    const { from, to } = await store.migrate()
    write(from === to ? `up to date: schema version ${to}\n` : `migrated: schema version ${from} → ${to}\n`)
    return 0
  } finally {
    await store.close()
  }
}
