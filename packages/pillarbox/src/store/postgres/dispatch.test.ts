import assert from 'node:assert/strict'
import { it } from 'node:test'
import pg from 'pg'
import { type Bench, completion, createBench } from '../../../../../test/conformance/fixtures.ts'
import { migratedDatabase } from '../../../../../test/support/postgres/database.ts'
import { until } from '../../../../../test/support/until.ts'
import type { Logger } from '../../model/ports.ts'
import { systemClock } from '../../runtime/system.ts'
import { openPostgres } from './open.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** A session reports what it counted when it ends, so each part of the test has a store of its own. */
async function withStore<T>(url: string, body: (bench: Bench) => Promise<T>): Promise<T> {
  const store = await openPostgres({ url, clock: systemClock, logger: silent })
  try {
    return await body(await createBench({ store, advance: systemClock.sleep, close: () => store.close() }))
  } finally {
    await store.close()
  }
}

it('drains a backlog by index lookups alone, and claims without writing an index', async () => {
  await using database = await migratedDatabase()
  // The table's statistics will say that it is empty: where a planner left alone goes wrong.
  const { lane, worker } = await withStore(database.url, async (bench) => {
    const target = await bench.lane()
    for (let i = 0; i < 4; i++) await bench.enqueue(target, 1_000)
    return { lane: target, worker: await bench.worker() }
  })
  const before = await statistics(database.url)

  await withStore(database.url, async ({ store, claim }) => {
    for (let i = 0; i < 8; i++) {
      const claims = await claim(worker, lane, 500)
      assert.equal(claims.length, 500)
      await store.dispatch.complete(
        worker,
        claims.map((each, n) => (n % 50 === i ? completion(each, 'retrying') : completion(each, 'sent'))),
      )
    }
    assert.deepEqual(await store.dispatch.dueLanes(null, 10), [])
  })

  const after = await statistics(database.url)
  assert.equal(after.seqScans - before.seqScans, 0, 'the work table was read from end to end')
  assert.equal(after.updated - before.updated, 4_080)
  // Every claim is heap-only; of the 80 retries, which move in the claim index, none can be.
  assert.equal(after.heapOnly - before.heapOnly, 4_000)
  assert.ok(after.dueIndexScans - before.dueIndexScans >= 8, 'claims do not use the claim index')
})

it('finds a row that was committed far behind what has been claimed since', async () => {
  await using database = await migratedDatabase()
  await withStore(database.url, async ({ store, lane, worker, enqueue, claim }) => {
    const target = await lane()
    const by = await worker()
    await enqueue(target, 3)
    assert.equal((await claim(by, target, 1)).length, 1)
    const [late = ''] = await enqueue(target, 1)
    await backdate(database.url, late)

    // As a dispatcher does it: it looks which lanes have work, and claims from those.
    const claimed = new Set<string>()
    await until('the late one is claimed', async () => {
      for (const { accountId } of await store.dispatch.dueLanes(null, 10)) {
        const answer = await store.dispatch.claim(by, [{ accountId, limit: 10 }])
        assert.ok(!answer.fenced)
        for (const { notificationId } of answer.claims) claimed.add(notificationId)
      }
      return claimed.has(late)
    })
  })
})

async function backdate(url: string, notificationId: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const text = `update pillarbox.dispatch set visible_at = now() - interval '1 hour' where notification_id = $1`
    await client.query(text, [notificationId])
  } finally {
    await client.end()
  }
}

async function statistics(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ seq: string; updated: string; hot: string; due: string }>(
      `select t.seq_scan as seq, t.n_tup_upd as updated, t.n_tup_hot_upd as hot, i.idx_scan as due
        from pg_stat_user_tables t join pg_stat_user_indexes i on i.relid = t.relid and i.indexrelname = 'dispatch_due'
        where t.schemaname = 'pillarbox' and t.relname = 'dispatch'`,
    )
    const [row] = rows
    assert.ok(row !== undefined)
    return {
      seqScans: Number(row.seq),
      updated: Number(row.updated),
      heapOnly: Number(row.hot),
      dueIndexScans: Number(row.due),
    }
  } finally {
    await client.end()
  }
}
