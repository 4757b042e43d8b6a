import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { planEvents } from '../../../../../test/support/planning.ts'
import { isPillarboxError } from '../../model/errors.ts'
import type { Clock, Logger } from '../../model/ports.ts'
import { systemClock } from '../../runtime/system.ts'
import type { Store } from '../store.ts'
import { openSqlite, type SqliteOptions } from './open.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

async function setup(t: TestContext, options: Partial<SqliteOptions> = {}): Promise<{ store: Store; path: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
  const path = join(folder, 'store.db')
  const store = await openSqlite({ path, clock: systemClock, logger: silent, ...options })
  await store.migrate()
  t.after(async () => {
    await store.close()
    await rm(folder, { recursive: true })
  })
  return { store, path }
}

/** The host application's own connection to the same file. */
function hostConnection(t: TestContext, path: string): DatabaseSync {
  const host = new DatabaseSync(path)
  t.after(() => host.close())
  return host
}

const tenant = (id: string) => ({ id, name: id, defaultLocale: 'en', timeZone: 'UTC', settings: {} })

describe('closing', () => {
  it('leaves everything in the file itself, and nothing in its log', async (t) => {
    const { store, path } = await setup(t)
    await store.tenants.insert(tenant('a'))
    await store.tenants.find('a')

    await store.close()

    assert.deepEqual(await readdir(dirname(path)), ['store.db'])
    const file = new DatabaseSync(path, { readOnly: true })
    t.after(() => file.close())
    assert.deepEqual(file.prepare('select id from pillarbox_tenants').all(), [{ __proto__: null, id: 'a' }])
  })

  it('empties the log also while the host has the file open', async (t) => {
    const { store, path } = await setup(t)
    const host = hostConnection(t, path)
    host.prepare('select count(*) from pillarbox_tenants').get()
    await store.tenants.insert(tenant('a'))

    await store.close()

    assert.equal((await stat(`${path}-wal`)).size, 0)
  })
})

describe('a lock held by the host in the same thread', () => {
  it('is waited out without blocking the thread', async (t) => {
    const { store, path } = await setup(t)
    const host = hostConnection(t, path)
    host.exec('begin immediate')
    let hostCommitted = false

    const inserted = store.tenants.insert(tenant('a')).then((answer) => ({ answer, hostCommitted }))
    // Only a free event loop gets here: the lock's holder and the store share the thread.
    await nextTurn()
    host.exec('commit')
    hostCommitted = true

    assert.deepEqual(await inserted, { answer: true, hostCommitted: true })
  })

  it('does not stop reads', async (t) => {
    const { store, path } = await setup(t)
    await store.tenants.insert(tenant('a'))
    const host = hostConnection(t, path)
    host.exec(`begin immediate; update pillarbox_tenants set name = 'changed'`)

    const found = await store.tenants.find('a')

    assert.equal(found?.name, 'a')
    host.exec('rollback')
  })

  it('lets everything asked for meanwhile through in one go', async (t) => {
    const waits: (() => void)[] = []
    const clock: Clock = { ...systemClock, sleep: () => new Promise<void>((resolve) => waits.push(resolve)) }
    const { store, path } = await setup(t, { clock, defer: (flush) => flush() })
    const host = hostConnection(t, path)
    host.exec('begin immediate')
    const writes = ['a', 'b', 'c'].map((id) => store.tenants.insert(tenant(id)))

    host.exec('commit')
    assert.equal(waits.length, 1)
    waits.shift()?.()

    assert.deepEqual(await Promise.all(writes), [true, true, true])
    assert.equal(waits.length, 0)
  })

  it('is given up on after 30 s with store_unavailable', async (t) => {
    let waitedMs = 0
    const waits: number[] = []
    const clock: Clock = {
      now: Date.now,
      monotonic: () => waitedMs,
      sleep: async (ms) => {
        waits.push(ms)
        waitedMs += ms
      },
    }
    const { store, path } = await setup(t, { clock })
    const host = hostConnection(t, path)
    host.exec('begin immediate')

    await assert.rejects(store.tenants.insert(tenant('a')), (error) => isPillarboxError(error, 'store_unavailable'))

    assert.ok(waitedMs >= 30_000 && waitedMs < 30_100, `${waitedMs} ms`)
    assert.deepEqual(waits.slice(0, 8), [1, 2, 4, 8, 16, 32, 50, 50])
    host.exec('rollback')
    assert.equal(await store.tenants.insert(tenant('a')), true)
  })
})

describe('a file', () => {
  it('keeps what the host wrote in its own transaction, with no more than the event itself', async (t) => {
    const { store, path } = await setup(t)
    const host = hostConnection(t, path)

    host.exec(`insert into pillarbox_events (tenant_id, id, type, entity_type, entity_id, payload)
      values ('a', 'e-1', 'booking.confirmed', 'booking', '42', '{"guest":"Ada"}')`)
    const seen: string[] = []
    await planEvents(store, 10, ({ id }) => {
      seen.push(id)
      return { kind: 'later' }
    })

    assert.deepEqual(seen, ['e-1'])
  })

  it('refuses an event whose payload is no JSON where it is written', async (t) => {
    const { path } = await setup(t)
    const host = hostConnection(t, path)

    assert.throws(
      () =>
        host.exec(`insert into pillarbox_events (tenant_id, id, type, entity_type, entity_id, payload)
          values ('a', 'e-1', 'booking.confirmed', 'booking', '42', '{oops')`),
      /CHECK/,
    )
  })

  it('is in WAL mode', async (t) => {
    const { path } = await setup(t)
    const host = hostConnection(t, path)

    assert.equal(host.prepare('pragma journal_mode').get()?.['journal_mode'], 'wal')
  })

  it('that is closed refuses reads and writes with store_unavailable', async (t) => {
    const { store } = await setup(t)
    await store.close()

    const isUnavailable = (error: unknown): boolean => isPillarboxError(error, 'store_unavailable')
    await assert.rejects(store.tenants.find('a'), isUnavailable)
    await assert.rejects(store.tenants.insert(tenant('a')), isUnavailable)
    await assert.rejects(store.now(), isUnavailable)
  })
})

describe('what others commit', () => {
  it('wakes subscribers for every topic, and own commits do not', async (t) => {
    const looks: (() => void)[] = []
    const clock: Clock = { ...systemClock, sleep: () => new Promise<void>((resolve) => looks.push(resolve)) }
    const look = async (): Promise<void> => {
      looks.shift()?.()
      await new Promise(setImmediate)
    }
    const { store, path } = await setup(t, { clock, watch: true })
    const host = hostConnection(t, path)
    const heard: string[] = []
    const unsubscribe = store.wake.subscribe((topic) => heard.push(topic))

    await store.tenants.insert(tenant('a'))
    await look()
    assert.deepEqual(heard, [])

    host.exec(`update pillarbox_tenants set name = 'b'`)
    await look()
    assert.deepEqual(heard, ['events', 'dispatch', 'receipts', 'inbox'])

    unsubscribe()
    await look()
    assert.equal(looks.length, 0, 'it goes on looking though nobody listens')
  })

  it('is not looked for unless asked to', async (t) => {
    const clock: Clock = { ...systemClock, sleep: () => assert.fail('it looked') }
    const { store } = await setup(t, { clock })

    store.wake.subscribe(() => {})

    assert.equal(await store.tenants.insert(tenant('a')), true)
  })
})

describe('in memory, flushed at once, with a clock that stands still', () => {
  it('answers the same calls with the same answers in the same order', async () => {
    const [first, second] = [await history(), await history()]

    assert.equal(first.length, 9)
    assert.deepEqual(first, second)
  })

  it('has written when the call returns, without a timer or a turn of the event loop', async () => {
    const store = await stillStore()

    const inserted = store.tenants.insert(tenant('a'))
    // Not awaited: a read looks when it is asked, so it would miss what is only about to be written.
    const found = store.tenants.find('a')

    assert.equal((await found)?.id, 'a')
    assert.equal(await inserted, true)
    await store.close()
  })
})

function stillStore(): Promise<Store> {
  const clock: Clock = { now: () => 5, monotonic: () => 5, sleep: () => assert.fail('nothing sleeps') }
  return openSqlite({ path: ':memory:', clock, logger: silent, defer: (flush) => flush() }).then(async (store) => {
    await store.migrate()
    return store
  })
}

/** A few concurrent calls, and what came of them in the order in which they were answered. */
async function history(): Promise<string[]> {
  const store = await stillStore()
  const answers: string[] = []
  const noted = async (name: string, call: Promise<unknown>): Promise<void> => {
    const answer = await call.catch((error: unknown) => String(error))
    answers.push(`${name} ${JSON.stringify(answer)}`)
  }
  const worker = { id: '00000000-0000-7000-8000-000000000001', host: 'h', pid: 1, version: '0', channels: null }
  await Promise.all([
    noted('tenant', store.tenants.insert(tenant('a'))),
    noted('again', store.tenants.insert(tenant('a'))),
    noted('bad tenant', store.tenants.insert(tenant('NOT A SLUG'))),
    noted('worker', store.workers.register(worker)),
    noted('workers', store.workers.list()),
    noted('claim', store.dispatch.claim(worker.id, [])),
    noted('due', store.dispatch.dueLanes(null, 10)),
    noted('count', store.notifications.countByStatus(null)),
    noted('tenants', store.tenants.list({ limit: 10 })),
  ])
  await store.close()
  return answers
}
