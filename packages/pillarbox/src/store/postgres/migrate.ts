import { SetupError } from '../../model/errors.ts'
import type { Logger } from '../../model/ports.ts'
import { MIGRATIONS, type Migration } from './migrations/index.ts'
import type { Run, Session } from './session.ts'

/** Any number will do, as long as it stays the same and nobody else uses it. */
const LOCK_KEY = 7_310_561_204_117

/**
 * Brings the schema forward, one transaction per migration. Each begins by taking the lock and reading the version
 * again, so any number of processes may start at once, on an empty database too: one applies, the others wait and
 * find it done. The lock ends with the transaction, so a process that dies leaves none behind.
 */
export async function migrate(
  session: Session,
  logger: Logger,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<{ from: number; to: number }> {
  const wanted = latestOf(migrations)
  let from: number | null = null
  for (;;) {
    const applied = await session.transaction((run) => applyNext(run, migrations))
    from ??= applied.found
    if (applied.migration === null) return { from, to: wanted }
    const { version, name } = applied.migration
    logger.info({ version, name }, 'Migrated the schema')
  }
}

/** The schema version found (0: none) and the one this code wants. */
export async function schemaVersions(
  { run }: Session,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<{ found: number; wanted: number }> {
  const [there] = await run<{ there: boolean }>({
    text: `select to_regclass('pillarbox.schema_versions') is not null as there`,
  })
  return { found: there?.there === true ? await foundVersion(run) : 0, wanted: latestOf(migrations) }
}

async function applyNext(
  run: Run,
  migrations: readonly Migration[],
): Promise<{ found: number; migration: Migration | null }> {
  // Another process may be at work for longer than an ordinary statement may take.
  await run({ text: 'set local statement_timeout = 0' })
  await run({ text: 'set local lock_timeout = 0' })
  await run({ text: 'select pg_advisory_xact_lock($1)', values: [LOCK_KEY] })
  // Only now: "if not exists" alone does not keep two sessions from creating the same thing at once.
  await run({ text: 'create schema if not exists pillarbox' })
  await run({
    text: `create table if not exists pillarbox.schema_versions (
      version integer primary key, name text not null, applied_at timestamptz not null default now())`,
  })
  const found = await foundVersion(run)
  const wanted = latestOf(migrations)
  if (found > wanted)
    throw new SetupError(
      `The database has schema version ${found}, and this Pillarbox knows versions up to ${wanted}.`,
      'start a Pillarbox at least as new as the one that wrote it',
    )
  const migration = migrations.find(({ version }) => version === found + 1) ?? null
  if (migration === null) return { found, migration }
  await run({ text: migration.sql })
  await run({
    text: 'insert into pillarbox.schema_versions (version, name) values ($1, $2)',
    values: [migration.version, migration.name],
  })
  return { found, migration }
}

async function foundVersion(run: Run): Promise<number> {
  const [row] = await run<{ version: number }>({
    text: 'select coalesce(max(version), 0) as version from pillarbox.schema_versions',
  })
  return row?.version ?? 0
}

function latestOf(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0
}
