import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import { cancelSchedules, SCHEDULE_RECORD } from '../../../../../test/conformance/cancel.ts'
import { type Bench, createBench, dueNow } from '../../../../../test/conformance/fixtures.ts'
import { planEvents } from '../../../../../test/support/planning.ts'
import { migratedDatabase } from '../../../../../test/support/postgres/database.ts'
import type { Logger } from '../../model/ports.ts'
import { systemClock } from '../../runtime/system.ts'
import { openPostgres } from './open.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** A session reports what it counted when it ends, so each part of a test has a store of its own. */
async function withStore<T>(url: string, body: (bench: Bench) => Promise<T>): Promise<T> {
  const store = await openPostgres({ url, clock: systemClock, logger: silent })
  try {
    return await body(await createBench({ store, advance: systemClock.sleep, close: () => store.close() }))
  } finally {
    await store.close()
  }
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

describe('cancelling', () => {
  it('leaves a record of each schedule, why, and what it was before', async () => {
    await using database = await migratedDatabase()

    const expected = await withStore(database.url, cancelSchedules)

    assert.deepEqual(await query(database.url, SCHEDULE_RECORD), expected)
  })

  it('reads no more than what stands for the entity, however long the backlog is', async () => {
    await using database = await migratedDatabase()
    const of = (id: string) => ({ eventType: 'booking.confirmed', entity: { type: 'booking', id } })
    const tenantId = await withStore(database.url, async ({ lane, enqueue }) => {
      const target = await lane()
      await enqueue(target, 2_000, of('7'))
      await enqueue(target, 3, of('42'))
      return target.tenantId
    })
    const before = await readsOf(database.url)

    await withStore(database.url, async ({ store, event, newId }) => {
      await store.events.insert([event(tenantId, { type: 'booking.cancelled', entity: { type: 'booking', id: '42' } })])
      const cancels = { eventTypes: ['booking.confirmed', 'booking.reminder'], replaces: true }
      await planEvents(store, 10, () => dueNow(newId(), [], cancels))
      const { cancelled, queued } = await store.notifications.countByStatus(null)
      assert.deepEqual([cancelled, queued], [3, 2_000])
    })

    const after = await readsOf(database.url)
    // Counting the statuses read each table once from end to end; nothing else did.
    assert.ok(after - before < 2 * 2_003 + 100, `${after - before} rows were read`)
  })
})

/** Rows read so far of the ledger and the work table, by whatever way. */
async function readsOf(url: string): Promise<number> {
  const [row] = await query(
    url,
    `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as reads from pg_stat_user_tables
      where relid in ('pillarbox.notifications'::regclass, 'pillarbox.dispatch'::regclass)`,
  )
  return (row as { reads: number }).reads
}
