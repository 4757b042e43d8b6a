import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import {
  assertCausesUpgraded,
  assertListUpgraded,
  assertReceiptsUpgraded,
  listOfSchema2,
  rowsOfSchema2,
} from '../../../../../../test/conformance/upgrade.ts'
import { openSqlite } from '../open.ts'
import { spine } from './0001-spine.ts'
import { people } from './0002-people.ts'

it('takes along where receipts had led, and lists, in a database of schema 2', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'store.db')
  const old = new DatabaseSync(path)
  old.exec(`${spine} ${people}
    create table pillarbox_schema_versions (version integer primary key, name text not null, applied_at integer not null);
    insert into pillarbox_schema_versions values (1, 'spine', 0), (2, 'people', 0);
    ${rowsOfSchema2('pillarbox_', '1800000000000')} ${listOfSchema2('pillarbox_', '1800000000000')}`)
  old.close()
  const store = await openSqlite({
    path,
    clock: { now: () => 1_800_000_001_000, monotonic: () => 0, sleep: () => Promise.resolve() },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })

  await store.migrate()

  await assertCausesUpgraded(store)
  await assertReceiptsUpgraded(store)
  await assertListUpgraded(store)
  await store.close()
})
