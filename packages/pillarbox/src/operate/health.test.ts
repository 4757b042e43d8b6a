import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import { createManualClock, START } from '../../../../test/support/manual-clock.ts'
import { migratedDatabase } from '../../../../test/support/postgres/database.ts'
import { silent, storedAccount } from '../../../../test/support/samples.ts'
import { PillarboxError } from '../model/errors.ts'
import { systemClock } from '../runtime/system.ts'
import { openPostgres } from '../store/postgres/open.ts'
import { translated } from '../store/sqlite/connection.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import { createHealthWatch, type HealthReason } from './health.ts'

const CONFIG = { workerTtlMs: 30_000, stuckAfterMs: 600_000 }
const codes = (reasons: readonly HealthReason[]): string[] => reasons.map(({ code }) => code)

/** An empty store on SQLite, with a worker that lives as long as `beat` says so. */
async function setup(t: TestContext, changes: (store: Store) => Partial<Store> = () => ({})) {
  const clock = createManualClock()
  const real = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => real.close())
  await real.migrate()
  const store = { ...real, ...changes(real) }
  const health = createHealthWatch({ store, clock, logger: silent, config: CONFIG })
  const beat = (id = 'worker-1', channels: ['sms'] | null = null) =>
    real.workers.register({ id, host: 'h', pid: 1, version: 'v', channels })
  /** As of now, and not as of half a second ago. */
  const whole = async () => {
    await clock.advance(500)
    return await health.whole()
  }
  return { clock, store: real, health, beat, whole }
}

describe('health', () => {
  it('is ok while a worker is alive and nothing waits', async (t) => {
    const { beat, whole, health } = await setup(t)
    await beat()

    const { status, database, reasons } = await whole()

    assert.deepEqual([status, database, reasons], ['ok', 'up', []])
    assert.equal(await health.unready(), null)
  })

  it('says that no worker is alive, that one is silent, and that nobody sends on a channel', async (t) => {
    const { clock, store, beat, whole } = await setup(t)
    await store.tenants.insert({ id: 'acme', name: 'acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
    assert.deepEqual(codes((await whole()).reasons), ['no_worker'])

    await beat('worker-1')
    await clock.advance(31_000)
    await beat('worker-2', ['sms'])
    await store.accounts.insert(storedAccount({ id: 'account-1', channel: 'email' }))

    const { status, reasons } = await whole()
    assert.deepEqual([status, codes(reasons)], ['degraded', ['worker_silent', 'channel_without_worker']])
    assert.match(reasons[0]?.message ?? '', /^Of 2 workers 1 said nothing/)
    assert.match(reasons[1]?.message ?? '', /accounts for email, .* PILLARBOX_CHANNELS/)
  })

  it('says that something waits and nobody works on it', async (t) => {
    let oldest = 600_000
    const { beat, whole } = await setup(t, (store) => ({
      notifications: { ...store.notifications, oldestDueMs: async () => oldest },
    }))
    await beat()
    assert.equal((await whole()).status, 'ok')

    oldest += 1_000
    const { status, reasons } = await whole()
    assert.deepEqual([status, codes(reasons)], ['degraded', ['backlog']])
    assert.match(reasons[0]?.message ?? '', /due for 601 s/)
  })

  it('says for ten minutes that the clock was set', async (t) => {
    const { clock, beat, whole } = await setup(t)
    await beat()
    await whole()

    clock.setWall(clock.now() - 3_600_000)
    await beat()
    const set = await whole()
    await clock.advance(600_000)
    await beat()
    const later = await whole()

    assert.deepEqual([set.status, codes(set.reasons)], ['degraded', ['clock_stepped']])
    assert.match(set.reasons[0]?.message ?? '', /set back by 3600 s.*time service/)
    assert.deepEqual(later.reasons, [])
  })

  it('takes no slow answer for a clock that was set', async (t) => {
    let isSlow = false
    const { clock, beat, health, whole } = await setup(t, (store) => ({
      now: async () => {
        const time = await store.now()
        if (isSlow) await clock.sleep(4_000)
        return time
      },
    }))
    await beat()
    await whole()

    await clock.advance(500)
    isSlow = true
    const slow = health.whole()
    await clock.advance(4_000)

    assert.deepEqual((await slow).reasons, [])
  })

  it('says that the clocks of the database and of this machine differ', async (t) => {
    const { beat, whole } = await setup(t, () => ({ now: async () => START + 60_000 }))
    await beat()

    const { status, reasons } = await whole()

    assert.deepEqual([status, codes(reasons)], ['degraded', ['clocks_apart']])
    assert.match(reasons[0]?.message ?? '', /is (?:59|60) s ahead of this machine/)
  })

  it('writes seldom while that goes well, and looks again at once while it does not', async (t) => {
    let touches = 0
    let fails = false
    const { clock, beat, whole } = await setup(t, () => ({
      instance: {
        touch: async () => {
          touches += 1
          if (fails) throw new PillarboxError('store_unavailable', 'away')
        },
      } as Store['instance'],
    }))
    await beat()
    for (let i = 0; i < 10; i++) await whole()
    assert.equal(touches, 1)

    fails = true
    await clock.advance(5_000)
    assert.equal((await whole()).status, 'down')
    fails = false
    assert.equal((await whole()).status, 'ok')
  })

  it('waits only seconds for a database that does not answer', async (t) => {
    const never = new Promise<never>(() => {})
    const { clock, health } = await setup(t, (store) => ({ workers: { ...store.workers, list: () => never } }))

    const asked = health.whole()
    await clock.advance(5_000)

    const { status, database, reasons } = await asked
    assert.deepEqual([status, database, codes(reasons)], ['down', 'down', ['unreachable']])
  })
})

describe('a store that can only be read', () => {
  /** What SQLite itself says, as the store passes it on. */
  function saidBySqlite(work: (path: string) => void): Error {
    try {
      work(':memory:')
    } catch (error) {
      return translated(error) as Error
    }
    throw new Error('SQLite said nothing')
  }

  const FULL = saidBySqlite((path) => {
    const db = new DatabaseSync(path)
    db.exec('create table t (x); pragma max_page_count = 2')
    db.exec('insert into t values (zeroblob(100000))')
  })
  const READ_ONLY = saidBySqlite((path) => {
    const db = new DatabaseSync(path)
    db.exec('create table t (x); pragma query_only = on')
    db.exec('insert into t values (1)')
  })

  for (const [what, error, code, words] of [
    ['whose disk is full', FULL, 'disk_full', /disk .* is full.*Make room/],
    ['that is read-only', READ_ONLY, 'read_only', /only lets itself be read.*writable/],
  ] as const)
    it(`is down, on SQLite ${what}`, async (t) => {
      const { beat, whole, health } = await setup(t, (store) => ({
        instance: { ...store.instance, touch: () => Promise.reject(error) },
      }))
      await beat()

      const { status, database, reasons } = await whole()

      assert.deepEqual([status, database, codes(reasons)], ['down', 'unwritable', [code]])
      assert.match(reasons[0]?.message ?? '', words)
      assert.match((await health.unready()) ?? '', words)
    })

  /** The health of a database that `change` was done to, as a process finds it that starts then. */
  async function healthAfter(t: TestContext, change: (admin: pg.Client, url: string) => Promise<string>) {
    const database = await migratedDatabase()
    const admin = new pg.Client(database.url)
    await admin.connect()
    const url = await change(admin, database.url)
    const store = await openPostgres({ url, clock: systemClock, logger: silent })
    t.after(async () => {
      await store.close()
      await admin.query(`drop owned by reader_${admin.database}`).catch(() => undefined)
      await admin.query(`drop role if exists reader_${admin.database}`)
      await admin.end()
      await database.drop()
    })
    return createHealthWatch({ store, clock: systemClock, logger: silent, config: CONFIG })
  }

  it('is down, on PostgreSQL for a user that may only read', async (t) => {
    const health = await healthAfter(t, async (admin, given) => {
      const role = `reader_${admin.database}`
      await admin.query(`create role ${role} login password 'reader'`)
      await admin.query(`grant usage on schema pillarbox to ${role}`)
      await admin.query(`grant select on all tables in schema pillarbox to ${role}`)
      const url = new URL(given)
      url.username = role
      url.password = 'reader'
      return url.href
    })

    const { status, database, reasons } = await health.whole()

    assert.deepEqual([status, database, codes(reasons)], ['down', 'unwritable', ['forbidden', 'no_worker']])
    assert.match((await health.unready()) ?? '', /may not write.*DATABASE_URL/)
  })

  it('is down, on PostgreSQL where the database is read-only', async (t) => {
    const health = await healthAfter(t, async (admin, url) => {
      await admin.query(`alter database ${admin.database} set default_transaction_read_only = on`)
      return url
    })

    const { status, database, reasons } = await health.whole()

    assert.deepEqual([status, database, codes(reasons)], ['down', 'unwritable', ['read_only', 'no_worker']])
    assert.match(reasons[0]?.message ?? '', /standby.*primary/)
  })
})
