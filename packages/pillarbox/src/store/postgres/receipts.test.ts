import assert from 'node:assert/strict'
import { it } from 'node:test'
import pg from 'pg'
import { migratedDatabase } from '../../../../../test/support/postgres/database.ts'
import { MESSAGE_ID_PROVIDERS } from '../../model/receipt.ts'
import { findByMessageId } from '../shared/receipts.ts'
import { boundStatement } from '../shared/script.ts'
import { dialect } from './scripts.ts'

it('finds a message by its id through an index that has the same providers, and no other', async () => {
  await using database = await migratedDatabase()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const lines = async (text: string): Promise<string> =>
    (await client.query<Record<string, string>>(text)).rows.map((row) => Object.values(row)[0]).join('\n')

  try {
    const { text } = boundStatement(dialect, findByMessageId([{ place: 0, provider: 'ses', message: 'message' }]))
    await client.query('set enable_seqscan = off; set plan_cache_mode = force_generic_plan')
    await client.query(`prepare find as ${text}`)
    const plan = await lines(`explain execute find('{0}', '{ses}', '{message}')`)
    const condition = await lines(
      `select pg_get_expr(indpred, indrelid) from pg_index where indexrelid = 'pillarbox.attempts_message'::regclass`,
    )

    assert.match(plan, /attempts_message/)
    assert.deepEqual(
      [...condition.matchAll(/'([\w-]+)'/g)].map(([, provider]) => provider),
      [...MESSAGE_ID_PROVIDERS],
    )
  } finally {
    await client.end()
  }
})
