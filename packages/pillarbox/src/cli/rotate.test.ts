import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { silent } from '../../../../test/support/samples.ts'
import { makeTenant, openAll, sealedRows } from '../../../../test/support/sealed-rows.ts'
import { createKeyFiles } from '../config/key-files.ts'
import { loadMasterKey } from '../config/master-key.ts'
import { SEALED_TABLES } from '../operate/sealed-store.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemClock } from '../runtime/system.ts'
import { MASTER_KEY } from '../security/key-state.ts'
import { createKeyring, keyIdOf } from '../security/keyring.ts'
import { createPayloadSeal } from '../security/payload-seal.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { type RotateDeps, retire, rotate } from './rotate.ts'

const deps = { randomBytes, newId: randomUUID }
const ids = createIdSource(systemClock, Math.random)

interface Given {
  masterKey?: Buffer
  formerMasterKeys?: Buffer[]
}

async function setup(t: TestContext, { masterKey, formerMasterKeys = [] }: Given = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'rotate-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  const store = await openSqlite({ path: ':memory:', clock: systemClock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  await makeTenant(store)
  const first = masterKey ?? (await loadMasterKey({ dataDir, masterKey: null }, deps)).key
  await store.instance.settle(MASTER_KEY, keyIdOf(first))
  const rows = sealedRows(store, createKeyring(first), ids)
  for (const table of SEALED_TABLES) await rows.write(table, `secret of ${table}`)
  const files = createKeyFiles(dataDir, deps)
  let output = ''
  const rotating = (given: Given = {}): RotateDeps => ({
    config: { dataDir, masterKey: given.masterKey ?? null, formerMasterKeys: given.formerMasterKeys ?? [] },
    store,
    files,
    clock: systemClock,
    randomBytes,
    self: { id: randomUUID(), host: 'here', pid: 1 },
    write: (text) => {
      output += text
    },
    timing: { silentMs: 300, patienceMs: 50, settleMs: 20, pollMs: 5 },
  })
  return {
    dataDir,
    store,
    first,
    rows,
    files,
    rotating: (given: Given = { ...(masterKey && { masterKey }), formerMasterKeys }) => rotating(given),
    output: () => output,
    keyFiles: () =>
      readdirSync(dataDir)
        .filter((name) => name.endsWith('.key'))
        .sort(),
    master: async () => (await files.master()) ?? assert.fail('there is no master.key'),
    state: () => store.instance.read(MASTER_KEY),
  }
}

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const [OLD_ID, NEW_ID] = [keyIdOf(OLD), keyIdOf(NEW)]
const RUN = { isDryRun: false }

describe('keys rotate, with key files', () => {
  it('makes a new master key, keeps the former one, and says how far it is', async (t) => {
    const { rotating, output, keyFiles, first, store, rows, master, state } = await setup(t)

    assert.equal(await rotate(rotating(), RUN), 0)

    const id = keyIdOf(await master())
    assert.notEqual(id, keyIdOf(first))
    assert.deepEqual(keyFiles(), [`former-${keyIdOf(first)}.key`, 'master.key'])
    assert.deepEqual(await openAll(store, await master()), { opened: rows.secrets, closed: [] })
    assert.equal(await state(), id)
    assert.match(
      output(),
      new RegExp(`^from master key ${keyIdOf(first)} to ${id}\n {2}accounts +1 looked at, 1 sealed`),
    )
    assert.match(output(), /inbox messages {2}1 looked at, 1 sealed anew\n/)
    assert.match(output(), new RegExp(`done: everything is sealed under master key ${id}\nnext: give applications`))
  })

  it('makes another one each time', async (t) => {
    const { rotating, keyFiles, master, store, rows } = await setup(t)

    for (let i = 0; i < 3; i++) assert.equal(await rotate(rotating(), RUN), 0)

    assert.equal(keyFiles().length, 4)
    assert.deepEqual(await openAll(store, await master()), { opened: rows.secrets, closed: [] })
  })

  it('changes nothing in a dry run, and says what it would do', async (t) => {
    const { rotating, output, keyFiles, first, store, rows, state } = await setup(t)

    assert.equal(await rotate(rotating(), { isDryRun: true }), 0)

    assert.deepEqual(keyFiles(), ['master.key'])
    assert.deepEqual(await openAll(store, first), { opened: rows.secrets, closed: [] })
    assert.equal(await state(), keyIdOf(first))
    assert.match(output(), /^to a new master key; nothing is changed\n/)
    assert.match(output(), /\n4 rows would be sealed anew\n$/)
  })

  it('finishes a rotation whose key was turned to and not yet put in its place', async (t) => {
    const { rotating, files, first, store, rows, state, master, keyFiles } = await setup(t)
    const next = keyIdOf(await files.propose())
    await store.instance.change(MASTER_KEY, keyIdOf(first), `${next} from ${keyIdOf(first)}`)

    assert.equal(await rotate(rotating(), RUN), 0)

    assert.equal(keyIdOf(await master()), next)
    assert.equal(await state(), next)
    assert.deepEqual(keyFiles(), [`former-${keyIdOf(first)}.key`, 'master.key'])
    assert.deepEqual(await openAll(store, await master()), { opened: rows.secrets, closed: [] })
  })

  it('goes on with a rotation to the key that is in its place', async (t) => {
    const { rotating, files, first, store, rows, master, keyFiles } = await setup(t)
    const next = keyIdOf(await files.propose())
    await store.instance.change(MASTER_KEY, keyIdOf(first), `${next} from ${keyIdOf(first)}`)
    await files.keepMaster()
    await files.promote(next)

    assert.equal(await rotate(rotating(), RUN), 0)

    assert.equal(keyFiles().length, 2)
    assert.deepEqual(await openAll(store, await master()), { opened: rows.secrets, closed: [] })
  })

  it('keeps a key that was proposed in vain for the next time', async (t) => {
    const { rotating, store, keyFiles, first } = await setup(t)
    const server = { id: randomUUID(), host: 'there', pid: 2, part: 'worker', keyIds: [keyIdOf(first)] }
    const speak = () => store.sealed.announce({ ...server, sealsUnder: keyIdOf(first) })
    await speak()
    const speaking = setInterval(() => void speak(), 10)
    t.after(() => clearInterval(speaking))

    await assert.rejects(rotate(rotating(), RUN), /is not known to worker on there \(process 2\)/)
    const waiting = keyFiles().filter((name) => name.startsWith('next-'))
    clearInterval(speaking)
    await store.sealed.leave(server.id)
    await rotate(rotating(), RUN)

    assert.equal(waiting.length, 1)
    assert.equal(keyFiles().length, 2)
  })

  it('says that there is no master key, and makes none', async (t) => {
    const { rotating, dataDir, keyFiles } = await setup(t)
    rmSync(join(dataDir, 'master.key'))

    await assert.rejects(rotate(rotating(), RUN), { name: 'SetupError', message: /there is no master key/ })
    assert.deepEqual(keyFiles(), [])
  })
})

describe('keys rotate, with configured keys', () => {
  it('brings everything under PILLARBOX_MASTER_KEY, and makes no file', async (t) => {
    const { rotating, store, rows, keyFiles, state, output } = await setup(t, { masterKey: OLD })

    assert.equal(await rotate(rotating({ masterKey: NEW, formerMasterKeys: [OLD] }), RUN), 0)

    assert.deepEqual(await openAll(store, NEW), { opened: rows.secrets, closed: [] })
    assert.deepEqual(keyFiles(), [])
    assert.equal(await state(), NEW_ID)
    assert.match(output(), new RegExp(`^from master key ${OLD_ID} to ${NEW_ID}\n`))
  })

  it('looks for what is left when all is done', async (t) => {
    const { rotating, output, store } = await setup(t, { masterKey: OLD })
    const given = { masterKey: NEW, formerMasterKeys: [OLD] }
    await rotate(rotating(given), RUN)
    const late = sealedRows(store, createKeyring(OLD), ids)
    await late.write('inbox_messages', 'late')

    assert.equal(await rotate(rotating(given), RUN), 0)

    assert.match(output(), new RegExp(`everything new is sealed under master key ${NEW_ID} already`))
    assert.equal((await openAll(store, NEW)).closed.length, 0)
  })

  it('is refused without the former key, and says which', async (t) => {
    const { rotating, state } = await setup(t, { masterKey: OLD })

    await assert.rejects(rotate(rotating({ masterKey: NEW }), RUN), {
      name: 'SetupError',
      message: new RegExp(`sealed under master key ${OLD_ID}, and this process has ${NEW_ID}`),
      advice: /PILLARBOX_FORMER_MASTER_KEYS/,
    })
    assert.equal(await state(), OLD_ID)
  })

  it('is refused where no new key is given, and says how to make one', async (t) => {
    const { rotating } = await setup(t, { masterKey: OLD })

    await assert.rejects(rotate(rotating(), RUN), {
      name: 'SetupError',
      message: new RegExp(`sealed under master key ${OLD_ID}, and no other is given`),
      advice: /openssl rand -base64 32/,
    })
  })

  it('names in a dry run what does not open, and who lacks the key', async (t) => {
    const { rotating, store, output } = await setup(t, { masterKey: OLD })
    await sealedRows(store, createKeyring(Buffer.alloc(32, 9)), ids).write('accounts', 'foreign')
    await store.sealed.announce({
      id: randomUUID(),
      host: 'there',
      pid: 2,
      part: 'api',
      keyIds: [OLD_ID],
      sealsUnder: OLD_ID,
    })

    assert.equal(await rotate(rotating({ masterKey: NEW, formerMasterKeys: [OLD] }), { isDryRun: true }), 0)

    assert.match(output(), /api on there \(process 2\) does not have that key\n4 rows would be sealed anew\n/)
    assert.match(
      output(),
      /could not be opened with these keys, and left alone: 1 row\n {2}accounts .* of tenant acme: /,
    )
  })
})

describe('keys retire', () => {
  it('removes former key files once nothing is sealed under them', async (t) => {
    const { rotating, keyFiles, output, first } = await setup(t)
    await rotate(rotating(), RUN)

    assert.equal(await retire(rotating(), RUN), 0)

    assert.deepEqual(keyFiles(), ['master.key'])
    assert.match(output(), new RegExp(`removed .*former-${keyIdOf(first)}\\.key\ndone: only master key`))
    assert.equal(await retire(rotating(), RUN), 0)
    assert.match(output(), /there are no former keys/)
  })

  it('says which configured keys may go', async (t) => {
    const { rotating, output } = await setup(t, { masterKey: OLD })
    const given = { masterKey: NEW, formerMasterKeys: [OLD] }
    await rotate(rotating(given), RUN)

    assert.equal(await retire(rotating(given), RUN), 0)

    assert.match(output(), new RegExp(`nothing is sealed under ${OLD_ID}: clear PILLARBOX_FORMER_MASTER_KEYS\n`))
  })

  it('keeps them while applications still seal with the old sealing key, and seals that anew', async (t) => {
    const { rotating, keyFiles, store, first, master } = await setup(t)
    await rotate(rotating(), RUN)
    const late = sealedRows(store, createKeyring(await master()), ids, createPayloadSeal(first).sealingKey)
    for (const secret of ['by the server', 'by an application']) await late.write('events', secret)

    await assert.rejects(retire(rotating(), RUN), {
      name: 'SetupError',
      message: /^1 value was sealed by applications with a former sealing key .* and the former keys stay\.$/,
      advice: /"pillarbox keys sealing"/,
    })
    assert.equal(keyFiles().length, 2)
    assert.deepEqual((await openAll(store, await master())).closed, [])

    assert.equal(await retire(rotating(), RUN), 0)
    assert.deepEqual(keyFiles(), ['master.key'])
  })

  it('is refused before the rotation is done', async (t) => {
    const { rotating, store } = await setup(t, { masterKey: OLD })
    const given = { masterKey: NEW, formerMasterKeys: [OLD] }
    const refused = { name: 'SetupError', advice: /run "pillarbox keys rotate" first/ }

    await assert.rejects(retire(rotating(given), RUN), refused)
    await store.instance.change(MASTER_KEY, OLD_ID, `${NEW_ID} from ${OLD_ID}`)
    await assert.rejects(retire(rotating(given), RUN), refused)
  })

  it('counts in a dry run what is left', async (t) => {
    const { rotating, store, output, keyFiles, first } = await setup(t)
    await rotate(rotating(), RUN)
    await sealedRows(store, createKeyring(first), ids).write('accounts', 'late')

    assert.equal(await retire(rotating(), { isDryRun: true }), 0)

    assert.match(output(), /\n1 row would be sealed anew\n$/)
    assert.equal(keyFiles().length, 2)
  })
})
