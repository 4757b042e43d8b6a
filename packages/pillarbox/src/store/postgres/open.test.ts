import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import pg from 'pg'
import { createBench } from '../../../../../test/conformance/fixtures.ts'
import { planEvents } from '../../../../../test/support/planning.ts'
import { freshDatabase } from '../../../../../test/support/postgres/database.ts'
import { startPostgres } from '../../../../../test/support/postgres/launcher.ts'
import type { Clock, Logger } from '../../model/ports.ts'
import { systemClock } from '../../runtime/system.ts'
import type { Store } from '../store.ts'
import { openPostgres } from './open.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const NOBODY = '01900000-0000-7000-8000-000000000000'

/** One call on every kind of connection. */
function everyRole(store: Store): (() => Promise<unknown>)[] {
  return [
    () => store.now(),
    () => store.tenants.find('nobody'),
    () => store.events.insert([]),
    () => planEvents(store, 1, () => ({ kind: 'later' })),
    () => store.dispatch.dueLanes(null, 1),
    () => store.dispatch.release(NOBODY, [{ notificationId: NOBODY, token: 1 }]),
    () => store.receipts.take(1, 1_000),
    () => store.lanes.giveBack(NOBODY, 1, { perSecond: 1, burst: 1 }),
    () => store.workers.beat(NOBODY),
  ]
}

describe('openPostgres', () => {
  it('opens where no server listens yet, and says so when it is asked something', async () => {
    const store = await openPostgres({
      url: 'postgres://postgres@127.0.0.1:1/postgres',
      clock: systemClock,
      logger: silent,
    })

    await assert.rejects(store.now(), { name: 'PillarboxError', code: 'store_unavailable' })
    await store.close()
  })

  it('lives through a stop and a crash of the server, keeping what was committed', async () => {
    await using server = await startPostgres({ durable: true })
    const store = await openPostgres({ url: server.url, clock: systemClock, logger: silent })
    await store.migrate()
    const bench = await createBench({ store, advance: systemClock.sleep, close: () => store.close() })
    const lane = await bench.lane()
    const worker = await bench.worker()

    for (const goDown of [() => server.stop(), () => server.kill()]) {
      const [id] = await bench.enqueue(lane)
      const [claim] = await bench.claim(worker, lane)
      for (const call of everyRole(store)) await call()
      await goDown()
      for (const call of [
        ...everyRole(store).filter((_, i) => i !== 2),
        () => bench.enqueue(lane),
        () => bench.claim(worker, lane),
      ])
        await assert.rejects(call, { code: 'store_unavailable' })
      await server.start()

      for (const call of everyRole(store)) await call()
      assert.equal((await bench.view(id ?? '')).status, 'sending')
      assert.equal(claim?.notificationId, id)
    }
    await store.close()
  })

  it('makes callers that wait for a server share one failure instead of queueing up for it', async () => {
    await using server = await startPostgres()
    const sleeps: number[] = []
    const counting: Clock = { ...systemClock, sleep: async (ms) => void sleeps.push(ms) }
    const store = await openPostgres({ url: server.url, clock: counting, logger: silent, poolSize: 1 })
    await server.stop()

    const answers = await Promise.allSettled(Array.from({ length: 50 }, () => store.now()))

    assert.ok(answers.every(({ status }) => status === 'rejected'))
    assert.ok(sleeps.length <= 2, `slept ${sleeps.length} times`)
    await store.close()
  })

  it('replaces connections that an administrator ended, without anybody noticing', async () => {
    await using database = await freshDatabase()
    const store = await openPostgres({ url: database.url, clock: systemClock, logger: silent })
    await store.migrate()
    for (const call of everyRole(store)) await call()
    const admin = new pg.Client({ connectionString: database.url })
    await admin.connect()

    const { rows } = await admin.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where application_name like 'pillarbox%' and datname = current_database()`,
    )
    await admin.end()
    await nextTurn()

    assert.ok(rows.length >= 5)
    for (const call of everyRole(store)) await call()
    await store.close()
  })

  it('leaves no connection behind when it is closed', async () => {
    await using database = await freshDatabase()
    const store = await openPostgres({ url: database.url, clock: systemClock, logger: silent })
    await store.migrate()
    for (const call of everyRole(store)) await call()
    const message = { id: NOBODY, tenantId: 'nobody', userId: 'nobody', sealed: 'x' }
    await assert.rejects(store.inbox.put(message), 'there is no such tenant, but asking takes the connection')
    const admin = new pg.Client({ connectionString: database.url })
    await admin.connect()
    const roles = async (): Promise<string[]> => {
      const { rows } = await admin.query<{ name: string }>(
        `select distinct application_name as name from pg_stat_activity
          where application_name like 'pillarbox%' and datname = current_database() order by 1`,
      )
      return rows.map(({ name }) => name)
    }
    const before = await roles()

    await store.close()

    assert.ok(before.some((name) => name.includes('inbox')) && before.length >= 8, before.join())
    assert.deepEqual(await roles(), [])
    await admin.end()
  })

  it('gives a statement up after its time and goes on', async () => {
    await using database = await freshDatabase()
    const store = await openPostgres({ url: database.url, clock: systemClock, logger: silent, statementTimeoutMs: 100 })
    await store.migrate()
    const blocker = new pg.Client({ connectionString: database.url })
    await blocker.connect()
    await blocker.query('begin; lock table pillarbox.tenants')

    await assert.rejects(store.tenants.find('x'), { code: 'store_unavailable' })
    await blocker.query('rollback')
    await blocker.end()

    assert.equal(await store.tenants.find('x'), null)
    await store.close()
  })

  it('rejects calls after it was closed', async () => {
    await using database = await freshDatabase()
    const store = await openPostgres({ url: database.url, clock: systemClock, logger: silent })
    await store.close()

    await assert.rejects(store.now(), { code: 'store_unavailable' })
  })
})
