import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { spine } from '../../pillarbox/src/store/sqlite/migrations/0001-spine.ts'
import { fromNodeSqlite } from './adapters/node-sqlite.ts'
import { publish, publishMany, publishManySync, publishSync } from './publish.ts'
import type { SyncTransaction, Transaction } from './transaction.ts'

const event = { tenantId: 'demo', type: 'a.b', entity: { type: 'a', id: '1' }, payload: {} }

/** What somebody may hand over who forgot the adapter; the first would even run the statement, in no transaction. */
const BARE: Record<string, unknown> = {
  'a library with a run of its own': { run: () => assert.fail('it was used') },
  'a pg client': { query: () => assert.fail('it was used') },
  'a better-sqlite3 database': { inTransaction: true, prepare: () => assert.fail('it was used') },
  null: null,
  undefined: undefined,
}

describe('publish', () => {
  for (const [name, tx] of Object.entries(BARE))
    it(`names the adapter that is missing around ${name}`, async () => {
      const missing = { name: 'TypeError', message: /adapter, such as publish\(fromPg\(client\), event\)/ }

      await assert.rejects(publish(tx as Transaction, event), missing)
      await assert.rejects(publishMany(tx as Transaction, [event]), missing)
      assert.throws(() => publishSync(tx as SyncTransaction, event), missing)
    })
})

describe('publishSync', () => {
  it('writes into a database that the server has not migrated yet, as long as nothing new is used', (t) => {
    const db = new DatabaseSync(':memory:')
    t.after(() => db.close())
    db.exec(`${spine}; begin`)

    publishSync(fromNodeSqlite(db), { ...event, id: '1' })
    publishManySync(fromNodeSqlite(db), [{ ...event, id: '2', locale: 'de' }])

    assert.deepEqual({ ...db.prepare('select count(*) as events from pillarbox_events').get() }, { events: 2 })
    assert.throws(() => publishSync(fromNodeSqlite(db), { ...event, topic: 'a' }), /no column named topic/)
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    assert.throws(() => publishSync(fromNodeSqlite(db), { ...event, traceparent }), /no column named traceparent/)
  })
})
