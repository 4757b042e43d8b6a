import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, silent } from '../../../../test/support/samples.ts'
import { MASTER_KEY } from '../security/key-state.ts'
import { createKeyring, keyIdOf } from '../security/keyring.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { createKeyWatch } from './key-watch.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const [OLD_ID, NEW_ID] = [keyIdOf(OLD), keyIdOf(NEW)]
const self = { id: 'p1', host: 'host', pid: 7, part: 'start' }

async function setup(t: TestContext, others: Buffer[] = []) {
  const clock = createManualClock()
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  await store.instance.settle(MASTER_KEY, OLD_ID)
  const ring = createKeyring(OLD, others)
  const logger = recordingLogger()
  const folder: Buffer[] = []
  const trouble: { error: Error | null } = { error: null }
  const watch = createKeyWatch({
    store: {
      ...store,
      instance: {
        ...store.instance,
        read: async (name) => {
          if (trouble.error) throw trouble.error
          return store.instance.read(name)
        },
      },
    },
    ring,
    readKeys: async () => folder,
    clock,
    logger,
    self,
    lookEveryMs: 1_000,
    announceEveryMs: 10_000,
  })
  const stop = new AbortController()
  const holder = async () => (await store.sealed.holders())[0]
  return { clock, store, ring, logger, folder, trouble, watch, stop, holder }
}

describe('a process that watches the master key', () => {
  it('says which keys it has before it knows which to seal under, and then that', async (t) => {
    const { watch, holder, clock, stop } = await setup(t, [NEW])

    await watch.announce()
    const before = await holder()
    const running = watch.run(stop.signal)
    await clock.settle()

    assert.deepEqual([before?.keyIds, before?.sealsUnder], [[OLD_ID, NEW_ID], null])
    assert.equal((await holder())?.sealsUnder, OLD_ID)
    stop.abort()
    await running
  })

  it('follows within a second when the database names another key, and says so', async (t) => {
    const { watch, holder, clock, stop, store, ring, logger } = await setup(t, [NEW])
    void watch.run(stop.signal)
    await clock.settle()
    await store.instance.change(MASTER_KEY, OLD_ID, `${NEW_ID} from ${OLD_ID}`)

    await clock.advance(1_000)
    stop.abort()

    assert.equal(ring.currentId, NEW_ID)
    assert.equal((await holder())?.sealsUnder, NEW_ID)
    assert.match(logger.lines.map(({ message }) => message).join(), /sealed under another master key from now on/)
  })

  it('takes up a key that turns up in its data folder', async (t) => {
    const { watch, holder, clock, stop, folder } = await setup(t)
    void watch.run(stop.signal)
    await clock.settle()
    assert.deepEqual((await holder())?.keyIds, [OLD_ID])
    folder.push(NEW)

    await clock.advance(1_000)
    stop.abort()

    assert.deepEqual((await holder())?.keyIds, [OLD_ID, NEW_ID])
  })

  it('goes on as before where it does not have the key, and says so once', async (t) => {
    const { watch, holder, clock, stop, store, ring, logger } = await setup(t)
    void watch.run(stop.signal)
    await clock.settle()
    await store.instance.change(MASTER_KEY, OLD_ID, `${NEW_ID} from ${OLD_ID}`)

    await clock.advance(5_000)
    stop.abort()

    assert.deepEqual([ring.currentId, (await holder())?.sealsUnder], [OLD_ID, OLD_ID])
    const errors = logger.lines.filter(({ level }) => level === 'error')
    assert.equal(errors.length, 1)
    assert.match(errors[0]?.message ?? '', new RegExp(`does not have master key ${NEW_ID}`))
  })

  it('speaks now and then though nothing changes, and no more often', async (t) => {
    const { watch, holder, clock, stop } = await setup(t)
    void watch.run(stop.signal)
    await clock.advance(9_000)
    assert.equal((await holder())?.silentForMs, 9_000)

    await clock.advance(3_000)
    stop.abort()

    assert.equal((await holder())?.silentForMs, 2_000)
  })

  it('survives a store that is away', async (t) => {
    const { watch, clock, stop, trouble, store, ring, logger } = await setup(t, [NEW])
    void watch.run(stop.signal)
    await clock.settle()
    trouble.error = new Error('away')
    await store.instance.change(MASTER_KEY, OLD_ID, NEW_ID)
    await clock.advance(3_000)
    assert.equal(ring.currentId, OLD_ID)

    trouble.error = null
    await clock.advance(1_000)
    stop.abort()

    assert.equal(ring.currentId, NEW_ID)
    assert.equal(logger.lines.filter(({ level }) => level === 'error').length, 1)
  })

  it('is gone from the list when it leaves', async (t) => {
    const { watch, store } = await setup(t)
    await watch.announce()

    await watch.leave()

    assert.deepEqual(await store.sealed.holders(), [])
  })
})
