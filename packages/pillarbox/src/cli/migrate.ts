import { access } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import type { Logger } from '../model/ports.ts'
import { openPrivately } from '../setup.ts'
import type { EngineModule } from './engine.ts'

export interface MigrateDeps {
  config: Config
  logger: Logger
  openStore: EngineModule['openStore']
  write(text: string): void
}

/** Brings the schema up to date and says from where to where. Answers the exit code. */
export async function migrate({ config, logger, openStore, write }: MigrateDeps): Promise<number> {
  const path = sqlitePath(config)
  // Makes it, or says what is in the way.
  if (path !== null) await openPrivately('The database', path, () => {})
  const store = await openStore(config, logger)
  try {
    const { from, to } = await store.migrate()
    write(from === to ? `up to date: schema version ${to}\n` : `migrated: schema version ${from} → ${to}\n`)
    return 0
  } finally {
    await store.close()
  }
}

/** Changes nothing; answers 1 when the schema is not the one this version wants. */
export async function checkSchema({ config, logger, openStore, write }: MigrateDeps): Promise<number> {
  const path = sqlitePath(config)
  // Opening a file that is not there would make it.
  const isThere =
    path === null ||
    (await access(path).then(
      () => true,
      () => false,
    ))
  if (!isThere) {
    write(`behind: there is no ${path} yet; run "pillarbox migrate"\n`)
    return 1
  }
  const store = await openStore(config, logger)
  try {
    const { found, wanted } = await store.schema()
    write(`${describeSchema(found, wanted)}\n`)
    return found === wanted ? 0 : 1
  } finally {
    await store.close()
  }
}

export function describeSchema(found: number, wanted: number): string {
  if (found === wanted) return `up to date: schema version ${found}`
  if (found < wanted) return `behind: schema version ${found}, wanted ${wanted}; run "pillarbox migrate"`
  return `ahead: schema version ${found}, this version of Pillarbox knows ${wanted}; install a newer one`
}

/** Null for what is no file. */
export function sqlitePath({ databaseUrl }: Config): string | null {
  const path = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : null
  return path === ':memory:' ? null : path
}
