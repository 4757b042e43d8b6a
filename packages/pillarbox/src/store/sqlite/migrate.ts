import { SetupError } from '../../model/errors.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { spine } from './migrations/0001-spine.ts'
import { people } from './migrations/0002-people.ts'
import { channels } from './migrations/0003-channels.ts'
import { skipped } from './migrations/0006-skipped.ts'
import { crashes } from './migrations/0007-crashes.ts'
import { providerFacts } from './migrations/0008-provider-facts.ts'
import { acts } from './migrations/0009-acts.ts'
import { eventFacts } from './migrations/0010-event-facts.ts'
import { notesAndTraces } from './migrations/0011-notes-and-traces.ts'
import { operations } from './migrations/0012-operations.ts'
import { answers } from './migrations/0013-answers.ts'
import { turns } from './migrations/0014-turns.ts'
import { audit } from './migrations/0015-audit.ts'
import { rollups } from './migrations/0016-rollups.ts'
import { retention } from './migrations/0017-retention.ts'
import { alerts } from './migrations/0018-alerts.ts'
import { sessions } from './migrations/0019-sessions.ts'
import { reads } from './migrations/0020-reads.ts'
import { sites } from './migrations/0021-sites.ts'
import { sources } from './migrations/0022-sources.ts'
import { keyUse } from './migrations/0023-key-use.ts'
import type { Connections } from './scripts.ts'
import { untilFree } from './until-free.ts'

/**
 * In order; never changed once released. The schema's version is how many of them have been applied. Both stores have the
 * same versions, so one that is PostgreSQL's alone stands here as nothing to do.
 */
export const MIGRATIONS = [
  { name: 'spine', sql: spine },
  { name: 'people', sql: people },
  { name: 'channels', sql: channels },
  { name: 'checked-publish', sql: '' }, // of a function in SQL, which SQLite does not have
  { name: 'event-rules', sql: '' }, // of the same function
  { name: 'skipped', sql: skipped },
  { name: 'crashes', sql: crashes },
  { name: 'provider-facts', sql: providerFacts },
  { name: 'acts', sql: acts },
  { name: 'event-facts', sql: eventFacts },
  { name: 'notes-and-traces', sql: notesAndTraces },
  { name: 'operations', sql: operations },
  { name: 'answers', sql: answers },
  { name: 'turns', sql: turns },
  { name: 'audit', sql: audit },
  { name: 'rollups', sql: rollups },
  { name: 'retention', sql: retention },
  { name: 'alerts', sql: alerts },
  { name: 'sessions', sql: sessions },
  { name: 'reads', sql: reads },
  { name: 'sites', sql: sites },
  { name: 'sources', sql: sources },
  { name: 'key-use', sql: keyUse },
] as const

/** Bringing the schema up to date, forward only. */
export function sqliteSchema({ connection, reader, writer, clock }: Connections): Pick<Store, 'migrate' | 'schema'> {
  return {
    schema: () => untilFree(clock, () => ({ found: foundVersion(reader), wanted: MIGRATIONS.length })),
    // One write is one immediate transaction: of two processes, the second begins when the first has committed, and
    // finds the work done.
    migrate: () =>
      writer.write((now) => {
        const from = foundVersion(connection)
        if (from > MIGRATIONS.length)
          throw new SetupError(
            `The database has schema version ${from}, and this Pillarbox knows versions up to ${MIGRATIONS.length}.`,
            'start a Pillarbox at least as new as the one that wrote it',
          )
        for (const [i, { name, sql }] of MIGRATIONS.entries()) {
          if (i < from) continue
          if (i === 0) connection.db.exec(VERSIONS)
          connection.db.exec(sql)
          connection.prepare('insert into pillarbox.schema_versions values ($1, $2, $3)').run(i + 1, name, now)
        }
        return { from, to: MIGRATIONS.length }
      }),
  }
}

const VERSIONS = `create table pillarbox_schema_versions (
  version integer primary key, name text not null, applied_at integer not null
) strict`

function foundVersion(connection: Connection): number {
  const table = connection.prepare(
    `select 1 from sqlite_schema where type = 'table' and name = 'pillarbox_schema_versions'`,
  )
  if (!table.get()) return 0
  const newest = connection.prepare('select max(version) as version from pillarbox.schema_versions').get()
  return Number(newest?.['version'] ?? 0)
}
