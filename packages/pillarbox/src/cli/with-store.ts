import { access } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import { SetupError } from '../model/errors.ts'
import type { Logger } from '../model/ports.ts'
import type { Store } from '../store/store.ts'
import type { EngineModule } from './engine.ts'
import { describeSchema, sqlitePath } from './migrate.ts'

export interface StoreAccess {
  config: Config
  logger: Logger
  openStore: EngineModule['openStore']
}

/** Opens the store as it is: it must be there, with the schema of this version. */
export async function withStore<T>(
  { config, logger, openStore }: StoreAccess,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const path = sqlitePath(config)
  // Opening a file that is not there would make it.
  const isThere =
    path === null ||
    (await access(path).then(
      () => true,
      () => false,
    ))
  if (!isThere)
    throw new SetupError(
      'there is no database yet',
      `there is no ${path}: name the server’s with --data-dir or --database-url, or run "pillarbox migrate"`,
    )
  const store = await openStore(config, logger)
  try {
    const { found, wanted } = await store.schema()
    if (found !== wanted) throw new SetupError('the database does not fit', describeSchema(found, wanted))
    return await work(store)
  } finally {
    await store.close()
  }
}
