import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { ENGINES } from '../../../../test/support/engines.ts'
import { silent } from '../../../../test/support/samples.ts'
import { makeTenant, openAll, type SealedRows, sealedRows } from '../../../../test/support/sealed-rows.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemClock } from '../runtime/system.ts'
import { MASTER_KEY } from '../security/key-state.ts'
import { createKeyring, type Keyring, keyIdOf } from '../security/keyring.ts'
import { createPayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import { createKeyWatch } from './key-watch.ts'
import { type RotationDeps, rotateKeys } from './rotate-keys.ts'
import { SEALED_TABLES, type SealedTable } from './sealed-store.ts'

const [OLD, NEW, THIRD] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)]
const [OLD_ID, NEW_ID, THIRD_ID] = [keyIdOf(OLD), keyIdOf(NEW), keyIdOf(THIRD)]

const TIMING = { silentMs: 600, patienceMs: 100, settleMs: 50, pollMs: 10 }

const ids = createIdSource(systemClock, Math.random)

function rotation(store: Store, ring: Keyring, changes: Partial<RotationDeps> = {}): RotationDeps {
  return {
    store,
    ring,
    clock: systemClock,
    self: { id: randomUUID(), host: 'here', pid: 1, part: 'keys rotate' },
    timing: TIMING,
    rows: 3,
    onWait: () => {},
    onProgress: () => {},
    onTurned: async () => {},
    ...changes,
  }
}

/** A process that has these keys, and follows. */
async function runProcess(store: Store, ring: Keyring, part = 'start') {
  const watch = createKeyWatch({
    store,
    ring,
    readKeys: async () => [],
    clock: systemClock,
    logger: silent,
    self: { id: randomUUID(), host: 'there', pid: 2, part },
    lookEveryMs: 15,
    announceEveryMs: 60,
  })
  const stop = new AbortController()
  await watch.announce()
  const running = watch.run(stop.signal)
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
      await watch.leave()
    },
  }
}

async function fill(rows: SealedRows, count: number): Promise<void> {
  for (let i = 0; i < count; i++) for (const table of SEALED_TABLES) await rows.write(table, `${table} ${i}`)
}

for (const { engine, open } of ENGINES)
  describe(`${engine}: a rotation of the master key`, () => {
    async function setup() {
      const store = await open({ clock: systemClock, logger: silent })
      await store.migrate()
      await store.instance.settle(MASTER_KEY, OLD_ID)
      await makeTenant(store)
      const rows = sealedRows(store, createKeyring(OLD), ids)
      return { store, rows, [Symbol.asyncDispose]: () => store.close() }
    }

    async function assertAllUnder(store: Store, key: Buffer, ...written: SealedRows[]): Promise<void> {
      const expected = new Map(written.flatMap(({ secrets }) => [...secrets]))
      assert.deepEqual(await openAll(store, key), { opened: expected, closed: [] })
    }

    it('brings everything under the new key, and nothing opens with the old one', async () => {
      await using bench = await setup()
      const { store, rows } = bench
      await fill(rows, 5)

      const done = await rotateKeys(rotation(store, createKeyring(NEW, [OLD])), NEW_ID)

      assert.equal(done.resealed, rows.secrets.size)
      assert.deepEqual([done.byHosts, done.unreadable], [2, []])
      await assertAllUnder(store, NEW, rows)
      assert.equal((await openAll(store, OLD)).opened.size, 0)
      assert.equal(await store.instance.read(MASTER_KEY), NEW_ID)
      assert.deepEqual(await store.sealed.holders(), [])
    })

    it('finds nothing to do the second time', async () => {
      await using bench = await setup()
      const { store, rows } = bench
      await fill(rows, 2)
      const ring = createKeyring(NEW, [OLD])
      await rotateKeys(rotation(store, ring), NEW_ID)

      const again = await rotateKeys(rotation(store, ring), NEW_ID)

      assert.equal(again.resealed, 0)
      await assertAllUnder(store, NEW, rows)
    })

    it('is refused while a process runs that does not have the new key, and changes nothing', async () => {
      await using bench = await setup()
      const { store, rows } = bench
      await fill(rows, 1)
      await using _process = await runProcess(store, createKeyring(OLD), 'worker')

      await assert.rejects(rotateKeys(rotation(store, createKeyring(NEW, [OLD])), NEW_ID), {
        name: 'SetupError',
        message: `Master key ${NEW_ID} is not known to worker on there (process 2).`,
        advice: /PILLARBOX_FORMER_MASTER_KEYS.*run "pillarbox keys rotate" again/,
      })

      await assertAllUnder(store, OLD, rows)
      assert.equal(await store.instance.read(MASTER_KEY), OLD_ID)
    })

    it('does not wait for ever for a process that was killed', async () => {
      await using bench = await setup()
      const { store, rows } = bench
      await fill(rows, 1)
      const id = randomUUID()
      await store.sealed.announce({ id, host: 'x', pid: 3, part: 'api', keyIds: [OLD_ID], sealsUnder: OLD_ID })
      const waited: string[] = []

      await rotateKeys(
        rotation(store, createKeyring(NEW, [OLD]), { onWait: (all) => waited.push(...all.map(({ part }) => part)) }),
        NEW_ID,
      )

      assert.deepEqual(waited, ['api'])
      await assertAllUnder(store, NEW, rows)
    })

    it('waits until every process has followed before it seals anything anew', async () => {
      await using bench = await setup()
      const { store, rows } = bench
      await fill(rows, 1)
      const rings = [createKeyring(NEW, [OLD]), createKeyring(OLD, [NEW])]
      for (const ring of rings) ring.use(OLD_ID)
      await using _one = await runProcess(store, rings[0] as Keyring)
      await using _two = await runProcess(store, rings[1] as Keyring, 'api')
      const seen: string[][] = []
      const onProgress = () => void seen.push(rings.map(({ currentId }) => currentId))

      await rotateKeys(rotation(store, createKeyring(NEW, [OLD]), { onProgress }), NEW_ID)

      assert.deepEqual(new Set(seen.map((each) => each.join())), new Set([`${NEW_ID},${NEW_ID}`]))
      await assertAllUnder(store, NEW, rows)
    })

    it('says so where a process has the key and does not follow', async () => {
      await using bench = await setup()
      const { store } = bench
      const stuck = { id: randomUUID(), host: 'x', pid: 3, part: 'api', keyIds: [OLD_ID, NEW_ID], sealsUnder: OLD_ID }
      await store.sealed.announce(stuck)
      const speaking = setInterval(() => void store.sealed.announce(stuck), 20)

      await assert
        .rejects(rotateKeys(rotation(store, createKeyring(NEW, [OLD])), NEW_ID), {
          message: new RegExp(`api on x \\(process 3\\) does not seal under master key ${NEW_ID}`),
        })
        .finally(() => clearInterval(speaking))

      assert.equal(await store.instance.read(MASTER_KEY), `${NEW_ID} from ${OLD_ID}`)
    })

    it('can be run by two at once', async () => {
      await using bench = await setup()
      const { store, rows } = bench
      await fill(rows, 8)

      await Promise.all(
        [1, 2].map((pid) => {
          const self = { id: randomUUID(), host: 'here', pid, part: 'keys rotate' }
          return rotateKeys(rotation(store, createKeyring(NEW, [OLD]), { self }), NEW_ID)
        }),
      )

      await assertAllUnder(store, NEW, rows)
      assert.equal(await store.instance.read(MASTER_KEY), NEW_ID)
    })

    it('can be given up half-way for one to a third key', async () => {
      await using bench = await setup()
      const { store, rows } = bench
      await fill(rows, 4)
      const broken = rotation(store, createKeyring(NEW, [OLD]), {
        onProgress(table) {
          if (table === 'events') throw new Error('killed')
        },
      })
      await assert.rejects(rotateKeys(broken, NEW_ID), /killed/)
      await fill(rows, 1)

      await rotateKeys(rotation(store, createKeyring(THIRD, [NEW, OLD])), THIRD_ID)

      await assertAllUnder(store, THIRD, rows)
      assert.equal(await store.instance.read(MASTER_KEY), THIRD_ID)
    })

    it('never declares itself finished when another has turned the key meanwhile', async () => {
      await using bench = await setup()
      const { store, rows } = bench
      await fill(rows, 1)
      const overtaken = rotation(store, createKeyring(NEW, [OLD]), {
        async onTurned() {
          await store.instance.change(MASTER_KEY, `${NEW_ID} from ${OLD_ID}`, `${THIRD_ID} from ${NEW_ID},${OLD_ID}`)
        },
      })

      await assert.rejects(rotateKeys(overtaken, NEW_ID), /another rotation has begun/)

      assert.equal(await store.instance.read(MASTER_KEY), `${THIRD_ID} from ${NEW_ID},${OLD_ID}`)
    })

    it('names what cannot be opened, leaves it, and finishes', async () => {
      await using bench = await setup()
      const { store, rows } = bench
      await fill(rows, 2)
      const foreign = sealedRows(store, createKeyring(THIRD), ids)
      await foreign.write('accounts', 'foreign')
      await foreign.write('events', 'foreign')

      const done = await rotateKeys(rotation(store, createKeyring(NEW, [OLD])), NEW_ID)

      assert.deepEqual(
        done.unreadable.map(({ table, id }) => `${table}/${id}`),
        [...foreign.secrets.keys()],
      )
      assert.deepEqual((await openAll(store, THIRD)).opened, foreign.secrets)
      assert.deepEqual((await openAll(store, NEW)).opened, rows.secrets)
      assert.equal(await store.instance.read(MASTER_KEY), NEW_ID)
    })

    it('re-seals what an application sealed with the old sealing key after the rotation', async () => {
      await using bench = await setup()
      const { store, rows } = bench
      await fill(rows, 1)
      const ring = createKeyring(NEW, [OLD])
      await rotateKeys(rotation(store, ring), NEW_ID)
      const late = sealedRows(store, ring, ids, createPayloadSeal(OLD).sealingKey)
      for (const secret of ['by the server', 'by the application']) await late.write('events', secret)

      const again = await rotateKeys(rotation(store, ring), NEW_ID)

      assert.deepEqual([again.resealed, again.byHosts], [1, 1])
      await assertAllUnder(store, NEW, rows, late)
    })

    it('loses nothing that running processes write at the same time, in whatever order', async () => {
      const action = fc.record({
        what: fc.constantFrom<SealedTable | 'rewrite' | 'nap'>(
          ...SEALED_TABLES,
          'rewrite',
          'rewrite',
          'rewrite',
          'nap',
        ),
        which: fc.nat(11),
      })
      const actions = fc.array(action, { minLength: 5, maxLength: 30 })

      await fc.assert(
        fc.asyncProperty(actions, actions, async (...works) => {
          await using bench = await setup()
          const { store, rows } = bench
          await fill(rows, 3)
          const rings = [createKeyring(NEW, [OLD]), createKeyring(OLD, [NEW])] as const
          for (const ring of rings) ring.use(OLD_ID)
          await using _one = await runProcess(store, rings[0])
          await using _two = await runProcess(store, rings[1], 'worker')
          const writers = rings.map((ring) => sealedRows(store, ring, ids))
          for (const writer of writers) for (let i = 0; i < 12; i++) await writer.write('accounts', `first ${i}`)
          let isOver = false
          const work = async (writer: SealedRows, [...todo]: (typeof works)[0]): Promise<void> => {
            for (let i = 0; !isOver; i++) {
              const { what, which } = todo[i % todo.length] ?? assert.fail()
              const secret = `${what} ${i}`
              // A store in memory answers at once: others must have their turn.
              await nextTurn()
              if (what === 'nap') await systemClock.sleep(3)
              else if (what === 'rewrite') await writer.rewriteAccount(which + i, secret)
              else await writer.write(what, secret)
            }
          }
          // A slow one: whatever it is about to replace has time to be changed by others.
          const sealed: Store['sealed'] = {
            ...store.sealed,
            async replace(table, changes) {
              if (changes.length > 0) await systemClock.sleep(10)
              return await store.sealed.replace(table, changes)
            },
          }
          // What was sealed before its process followed is written by then, also on a busy machine.
          const timing = { ...TIMING, settleMs: engine === 'postgres' ? 1_000 : 200 }
          const rotating = rotateKeys(rotation({ ...store, sealed }, createKeyring(NEW, [OLD]), { timing }), NEW_ID)

          await Promise.all([
            ...writers.map((writer, by) => work(writer, works[by] ?? [])),
            rotating.finally(() => {
              isOver = true
            }),
          ])

          await assertAllUnder(store, NEW, rows, ...writers)
          assert.equal((await openAll(store, OLD)).opened.size, 0)
        }),
        { numRuns: engine === 'postgres' ? 4 : 10 },
      )
    })
  })
