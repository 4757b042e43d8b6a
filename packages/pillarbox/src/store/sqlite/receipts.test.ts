import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { MESSAGE_ID_PROVIDERS } from '../../model/receipt.ts'
import { findByMessageId } from '../shared/receipts.ts'
import { boundStatement } from '../shared/script.ts'
import { localText } from './connection.ts'
import { openSqlite } from './open.ts'
import { dialect } from './scripts.ts'

it('finds a message by its id through an index that has the same providers, and no other', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'store.db')
  const store = await openSqlite({
    path,
    clock: { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  await store.migrate()
  await store.close()
  const db = new DatabaseSync(path)
  t.after(() => db.close())

  const wanted = [{ place: 0, provider: 'ses', message: 'message' }]
  const { text, values } = boundStatement(dialect, findByMessageId(wanted))
  const plan = db.prepare(`explain query plan ${localText(text)}`).all(String(values[0]))
  const index = db.prepare(`select sql from sqlite_master where name = 'pillarbox_attempts_message'`).get()

  assert.match(JSON.stringify(plan), /USING INDEX pillarbox_attempts_message/)
  assert.deepEqual(
    [...String(index?.['sql']).matchAll(/'([\w-]+)'/g)].map(([, provider]) => provider),
    [...MESSAGE_ID_PROVIDERS],
  )
})
