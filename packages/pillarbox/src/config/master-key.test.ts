import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { isMasterKeyExposed, loadMasterKey, masterKeyPath } from './master-key.ts'

const deps = { randomBytes, newId: randomUUID }

function setup(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'master-key-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const dataDir = join(folder, 'data')
  return { dataDir, path: masterKeyPath(dataDir), load: () => loadMasterKey({ dataDir, masterKey: null }, deps) }
}

it('makes a key on first use that only its owner can read', async (t) => {
  const { load, path, dataDir } = setup(t)

  const made = await load()

  assert.equal(made.key.length, 32)
  assert.ok(made.isNew)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(dataDir).mode & 0o077, 0)
  assert.equal(await isMasterKeyExposed(path), false)
})

it('finds the same key again', async (t) => {
  const { load } = setup(t)
  const made = await load()

  const found = await load()

  assert.deepEqual(found, { ...made, isNew: false })
})

it('prefers the configured key, and then makes no file', async (t) => {
  const { dataDir } = setup(t)
  const masterKey = Buffer.alloc(32, 1)

  const loaded = await loadMasterKey({ dataDir, masterKey }, deps)

  assert.deepEqual(loaded, { key: masterKey, isNew: false, path: null })
  assert.throws(() => readdirSync(dataDir), { code: 'ENOENT' })
})

it('gives one and the same key to all who start at once, and leaves nothing else behind', async (t) => {
  const { load, dataDir } = setup(t)

  const loaded = await Promise.all(Array.from({ length: 8 }, load))

  assert.equal(new Set(loaded.map(({ key }) => key.toString('hex'))).size, 1)
  assert.equal(loaded.filter(({ isNew }) => isNew).length, 1)
  assert.deepEqual(readdirSync(dataDir), ['master.key'])
})

it('refuses a file that holds no key, and leaves it alone', async (t) => {
  const { load, path } = setup(t)
  await load()
  writeFileSync(path, 'half a k')

  await assert.rejects(load, /does not hold a master key .*restore it from your backup/)
  assert.equal(readFileSync(path, 'utf8'), 'half a k')
})

it('notices a key that others can read', async (t) => {
  const { load, path } = setup(t)
  await load()
  chmodSync(path, 0o644)

  assert.equal(await isMasterKeyExposed(path), true)
})
