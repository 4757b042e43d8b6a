import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { PillarboxError, type SetupError } from '../model/errors.ts'
import { MASTER_KEY } from '../security/key-state.ts'
import { createKeyring, type Keyring, keyIdOf } from '../security/keyring.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { checkMasterKey, ensureDataDir, loadKeyring, openPrivately, refusalOf } from './setup.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'setup-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const open = (path: string) =>
  openPrivately('The database', path, () => openSqlite({ path, clock: createManualClock(), logger }))

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const [OLD_ID, NEW_ID] = [keyIdOf(OLD), keyIdOf(NEW)]

async function keyed(t: TestContext) {
  const store = await open(join(folder(t), 'pillarbox.db'))
  await store.migrate()
  const check = async (masterKey: Buffer, ...others: Buffer[]): Promise<Keyring> => {
    const ring = createKeyring(masterKey, others)
    await checkMasterKey(store, ring)
    return ring
  }
  return { store, check }
}

describe('a start', () => {
  it('makes a data folder that only its owner may look into', (t) => {
    const path = join(folder(t), 'a', 'b')

    ensureDataDir(path)

    assert.equal(statSync(path).mode & 0o777, 0o700)
  })

  it('says that the data folder cannot be made, and what to do', (t) => {
    const file = join(folder(t), 'file')
    writeFileSync(file, '')

    assert.throws(
      () => ensureDataDir(join(file, 'data')),
      (error: SetupError) => {
        assert.match(error.message, /The data folder .*file\/data cannot be made/)
        assert.match(error.advice, /expected in PILLARBOX_DATA_DIR or --data-dir: a folder/)
        return true
      },
    )
  })

  it('makes database files that only their owner may read', async (t) => {
    const path = join(folder(t), 'pillarbox.db')
    const store = await open(path)

    await store.migrate()

    for (const file of [path, `${path}-wal`, `${path}-shm`]) assert.equal(statSync(file).mode & 0o777, 0o600, file)
    await store.close()
  })

  it('leaves the mode of a database that is there to its owner', async (t) => {
    const path = join(folder(t), 'pillarbox.db')
    writeFileSync(path, '', { mode: 0o640 })

    await (await open(path)).close()

    assert.equal(statSync(path).mode & 0o777, 0o640)
  })

  it('says that the database is a folder, or not a database', async (t) => {
    const path = folder(t)
    mkdirSync(join(path, 'folder'))
    writeFileSync(join(path, 'text'), 'not a database, but long enough to be taken for one '.repeat(20))

    await assert.rejects(open(join(path, 'folder')), { name: 'SetupError', advice: 'name a file, not a folder' })
    await assert.rejects(open(join(path, 'text')), { name: 'SetupError', advice: /is no SQLite database/ })
  })

  it('says which key file is not one, and what to do', async (t) => {
    const dataDir = folder(t)
    const load = () =>
      loadKeyring({ masterKey: null, formerMasterKeys: [], dataDir }, { randomBytes: Buffer.alloc, newId: () => 'id' })

    writeFileSync(join(dataDir, 'master.key'), 'junk')
    await assert.rejects(load(), { name: 'SetupError', message: /master\.key does not hold a master key/ })
    rmSync(join(dataDir, 'master.key'))
    mkdirSync(join(dataDir, 'master.key'))
    await assert.rejects(load(), {
      name: 'SetupError',
      message: new RegExp(`^The master keys in ${dataDir} cannot be used: EISDIR`),
      advice: /restore .* from your backup/,
    })
    rmdirSync(join(dataDir, 'master.key'))
    assert.equal((await load()).currentId, keyIdOf(Buffer.alloc(32)))
  })

  it('says of a data folder that takes no files that another is needed', {
    skip: process.platform !== 'linux' && 'there is no /proc',
  }, async () => {
    const config = { masterKey: null, formerMasterKeys: [], dataDir: '/proc/self' }

    await assert.rejects(loadKeyring(config, { randomBytes: Buffer.alloc, newId: () => 'id' }), {
      name: 'SetupError',
      message: /^The master keys in \/proc\/self cannot be used: ENOENT/,
      advice: /choose another with --data-dir or PILLARBOX_DATA_DIR$/,
    })
  })

  it('refuses another master key than the one the secrets are sealed under', async (t) => {
    const { store, check } = await keyed(t)
    await check(OLD)

    await check(OLD)
    await assert.rejects(check(NEW), {
      name: 'SetupError',
      message: `The secrets in this database are sealed under master key ${OLD_ID}, and this process has ${NEW_ID}.`,
      advice: /PILLARBOX_MASTER_KEY/,
    })
    await store.close()
  })

  it('seals under the key that the database names, whichever of its own that is', async (t) => {
    const { store, check } = await keyed(t)
    await check(OLD)

    assert.equal((await check(NEW, OLD)).currentId, OLD_ID)
    assert.ok(await store.instance.change(MASTER_KEY, OLD_ID, `${NEW_ID} from ${OLD_ID}`))
    assert.equal((await check(OLD, NEW)).currentId, NEW_ID)
    await store.close()
  })

  it('refuses to do without a former key while a rotation is under way', async (t) => {
    const { store, check } = await keyed(t)
    await check(OLD)
    await store.instance.change(MASTER_KEY, OLD_ID, `${NEW_ID} from ${OLD_ID}`)

    await assert.rejects(check(NEW), {
      name: 'SetupError',
      message: new RegExp(`being changed to ${NEW_ID}, and some secrets are still sealed under ${OLD_ID}`),
      advice: /PILLARBOX_FORMER_MASTER_KEYS.*until "pillarbox keys rotate" has finished/,
    })
    await assert.rejects(check(OLD), /sealed under master key/)
    assert.ok(await store.instance.change(MASTER_KEY, `${NEW_ID} from ${OLD_ID}`, NEW_ID))
    assert.equal((await check(NEW)).currentId, NEW_ID)
    await store.close()
  })

  it('does not wait for a database that answered and will not have us', () => {
    const refused = Object.assign(new Error('database "x" does not exist'), { code: '3D000' })
    const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const wrapped = (cause: Error) => new PillarboxError('store_unavailable', 'PostgreSQL cannot be reached', { cause })

    assert.match(refusalOf(wrapped(refused))?.message ?? '', /database "x" does not exist/)
    assert.match(refusalOf(wrapped(refused))?.advice ?? '', /create the database/)
    assert.equal(refusalOf(wrapped(away)), null)
  })
})
