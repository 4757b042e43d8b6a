import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { ensurePrivateFolder } from './private-file.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'private-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

describe('a private folder', () => {
  it('is made with those above it, for their owner alone', (t) => {
    const top = folder(t)

    ensurePrivateFolder(join(top, 'a', 'b', 'c'))

    for (const path of ['a', 'a/b', 'a/b/c']) assert.equal(statSync(join(top, path)).mode & 0o777, 0o700, path)
  })

  it('stays as it is where it is there, also behind a link', (t) => {
    const top = folder(t)
    chmodSync(top, 0o755)
    symlinkSync(top, join(top, 'link'))

    ensurePrivateFolder(top)
    ensurePrivateFolder(join(top, 'link'))

    assert.equal(statSync(top).mode & 0o777, 0o755)
    assert.deepEqual(readdirSync(top), ['link'])
  })

  it('is refused below a file, behind a link that leads nowhere, and where the file system takes no folders', (t) => {
    const top = folder(t)
    writeFileSync(join(top, 'file'), '')
    symlinkSync(join(top, 'unmounted'), join(top, 'link'))

    assert.throws(() => ensurePrivateFolder(join(top, 'file', 'data')), { code: 'EEXIST' })
    assert.throws(() => ensurePrivateFolder(join(top, 'link', 'data')), { code: 'EEXIST' })
    if (process.platform === 'linux')
      assert.throws(() => ensurePrivateFolder('/proc/pillarbox/data'), { code: 'ENOENT' })
  })
})
