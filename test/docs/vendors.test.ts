import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import * as vendors from '@pillarbox/vendors'

const root = path.resolve(import.meta.dirname, '../..')
const readme = await readFile(path.join(root, 'packages/vendors/README.md'), 'utf8')

describe('packages/vendors/README.md', () => {
  it('names everything that the package has', () => {
    const NOT_FOR_USERS = ['snsCertificate']

    const missing = Object.keys(vendors).filter((name) => !readme.includes(name) && !NOT_FOR_USERS.includes(name))

    assert.deepEqual(missing, [])
  })

  it('names nothing that the package does not have', () => {
    const named = [...readme.matchAll(/`(start\w+)\(/g), ...readme.matchAll(/\| `(\w+Error)\(/g)].map(
      ([, name = '']) => name,
    )

    assert.ok(named.length > 15)
    assert.deepEqual(
      named.filter((name) => !Object.hasOwn(vendors, name)),
      [],
    )
  })

  it('shows a test that passes', async (t) => {
    const [, code = ''] = /```js\n(import assert[\s\S]*?)```/.exec(readme) ?? []
    // Beneath the workspace, so that the package is found as a user's would be.
    const cache = path.join(root, 'node_modules/.cache')
    await mkdir(cache, { recursive: true })
    const folder = await mkdtemp(path.join(cache, 'readme-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    await writeFile(path.join(folder, 'readme.mjs'), code)

    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--conditions=source', '--test-reporter=tap', path.join(folder, 'readme.mjs')],
      { env, cwd: root },
    )

    assert.match(stdout, /^# pass 1$/m)
  })
})
