import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { publish, publishMany, publishSync } from './publish.ts'
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
