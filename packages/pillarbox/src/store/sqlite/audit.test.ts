import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { createBench } from '../../../../../test/conformance/fixtures.ts'
import { createManualClock } from '../../../../../test/support/manual-clock.ts'
import { silent } from '../../../../../test/support/samples.ts'
import { assertPurgeIsAccountedFor, assertTamperingsAreFound } from '../../../../../test/support/tampering.ts'
import { openSqlite } from './open.ts'

it('what is done to the audit of an SQLite file by hand is found, and what retention does is not', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
  const path = join(folder, 'store.db')
  const clock = createManualClock()
  const store = await openSqlite({ path, clock, logger: silent })
  await store.migrate()
  const database = new DatabaseSync(path)
  t.after(async () => {
    database.close()
    await store.close()
    await rm(folder, { recursive: true })
  })
  const bench = await createBench({ store, advance: async () => {}, close: () => store.close() })

  const byHand = async (sql: string): Promise<void> => database.exec(sql)
  await assertTamperingsAreFound(bench, 'pillarbox_', byHand)
  await assertPurgeIsAccountedFor(bench, 'pillarbox_', byHand)
})
