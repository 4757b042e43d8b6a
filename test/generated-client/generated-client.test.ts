import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { CATALOGUE, type Fixture, openFixture } from '../../packages/pillarbox/src/http/fixture.ts'

const run = promisify(execFile)
const pathTo = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** As strict as a user's compiler may be. */
const TSCONFIG = {
  compilerOptions: {
    target: 'es2022',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noUnusedLocals: true,
    noEmit: true,
    skipLibCheck: false,
  },
  files: ['caller.ts', 'openapi.d.ts'],
}

describe('a client that openapi-typescript makes from the document', () => {
  let f: Fixture
  let folder: string

  before(async () => {
    f = await openFixture()
    folder = await mkdtemp(join(tmpdir(), 'pillarbox-client-'))
    await writeFile(join(folder, 'openapi.json'), (await f.call(null, 'GET', '/openapi.json')).body)
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG))
    await copyFile(pathTo('./caller.ts'), join(folder, 'caller.ts'))
    await symlink(pathTo('../../node_modules'), join(folder, 'node_modules'))
    const generator = pathTo('./node_modules/.bin/openapi-typescript')
    await run(generator, ['openapi.json', '--output', 'openapi.d.ts'], { cwd: folder })
  })
  after(async () => {
    await f.app.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('compiles', async () => {
    const { stdout } = await run(pathTo('../../node_modules/.bin/tsc'), ['--project', folder]).catch(
      (error: { stdout: string }) => error,
    )

    assert.equal(stdout, '')
  })

  it('publishes, sends, lists, reads, acts and understands a problem', async () => {
    const { keys } = await f.tenant('acme')
    await f.call(keys.admin, 'PUT', '/api/event-types', CATALOGUE)
    const BASE_URL = await f.app.listen({ host: '127.0.0.1', port: 0 })

    const { stdout } = await run(process.execPath, ['caller.ts'], {
      cwd: folder,
      env: { ...process.env, BASE_URL, KEY: keys.admin },
    })

    assert.deepEqual(JSON.parse(stdout), {
      published: { id: 'order-1', duplicate: false },
      again: { id: 'order-1', duplicate: true },
      sent: true,
      repeated: [409, 'duplicate_notification', true],
      // There is no account to send through.
      listed: [{ status: 'parked', channel: 'email', reason: 'no_active_channels' }],
      subject: 'Paid',
      discarded: 'discarded',
      missing: [404, 'not_found'],
      health: 'degraded',
    })
  })
})
