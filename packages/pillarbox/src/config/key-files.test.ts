import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { keyIdOf } from '../security/keyring.ts'
import { createKeyFiles, readOtherKeys } from './key-files.ts'
import { loadMasterKey } from './master-key.ts'

const deps = { randomBytes, newId: randomUUID }

async function setup(t: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), 'key-files-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  const { key } = await loadMasterKey({ dataDir, masterKey: null }, deps)
  const files = createKeyFiles(dataDir, deps)
  const names = () => readdirSync(dataDir).sort()
  return { dataDir, first: keyIdOf(key), files, names }
}

describe('the master keys in a data folder', () => {
  it('make room for a new one, and every one is there all the while', async (t) => {
    const { files, names, first } = await setup(t)

    const next = keyIdOf(await files.propose())
    assert.deepEqual(names(), ['master.key', `next-${next}.key`])
    await files.keepMaster()
    assert.deepEqual(names(), [`former-${first}.key`, 'master.key', `next-${next}.key`])
    await files.promote(next)

    assert.deepEqual(names(), [`former-${first}.key`, 'master.key'])
    assert.equal(keyIdOf((await files.master()) ?? assert.fail()), next)
    assert.deepEqual(
      (await files.others()).map(({ role, id }) => [role, id]),
      [['former', first]],
    )
  })

  it('can be read by their owner only', async (t) => {
    const { files, names, dataDir } = await setup(t)
    const next = keyIdOf(await files.propose())
    await files.keepMaster()

    for (const name of names()) assert.equal(statSync(join(dataDir, name)).mode & 0o777, 0o600, name)
    await files.promote(next)
    for (const name of names()) assert.equal(statSync(join(dataDir, name)).mode & 0o777, 0o600, name)
  })

  it('are not made again by whoever repeats a step', async (t) => {
    const { files, names, first } = await setup(t)

    const [one, two] = [await files.propose(), await files.propose()]
    assert.deepEqual(one, two)
    await files.keepMaster()
    await files.keepMaster()
    await files.promote(keyIdOf(one))
    await files.promote(keyIdOf(one))
    await files.promote('00000000')

    assert.deepEqual(names(), [`former-${first}.key`, 'master.key'])
  })

  it('survive several who change them at once', async (t) => {
    const { files, first } = await setup(t)
    const next = keyIdOf(await files.propose())

    await Promise.all(
      Array.from({ length: 8 }, async () => {
        await files.keepMaster()
        await files.promote(next)
      }),
    )

    assert.equal(keyIdOf((await files.master()) ?? assert.fail()), next)
    assert.ok((await files.others()).some(({ role, id }) => role === 'former' && id === first))
  })

  it('are removed once they are former ones, and named', async (t) => {
    const { files, names, first, dataDir } = await setup(t)
    const next = keyIdOf(await files.propose())
    await files.keepMaster()
    await files.promote(next)

    assert.deepEqual(await files.removeFormer([next, '00000000']), [])
    assert.deepEqual(await files.removeFormer([first]), [join(dataDir, `former-${first}.key`)])

    assert.deepEqual(names(), ['master.key'])
  })

  it('count beside those of the settings; a folder that is not there has none', async (t) => {
    const { files, dataDir, first } = await setup(t)
    await files.keepMaster()
    const configured = Buffer.alloc(32, 1)

    const ids = async (folder: string) =>
      (await readOtherKeys({ formerMasterKeys: [configured], dataDir: folder })).map(keyIdOf)

    assert.deepEqual(await ids(dataDir), [keyIdOf(configured), first])
    assert.deepEqual(await ids(join(dataDir, 'none')), [keyIdOf(configured)])
  })

  it('are refused where a file holds anything but a key', async (t) => {
    const { files, dataDir } = await setup(t)
    writeFileSync(join(dataDir, 'former-x.key'), 'half a k')

    await assert.rejects(files.others(), /former-x\.key does not hold a master key/)
  })
})
