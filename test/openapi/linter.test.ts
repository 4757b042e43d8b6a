import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openFixture } from '../../packages/pillarbox/src/http/fixture.ts'

const REDOCLY = fileURLToPath(new URL('../../node_modules/.bin/redocly', import.meta.url))
/** It asks nobody for a newer version, and tells nobody that it runs. */
const QUIET = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }

interface Document {
  paths: Record<string, Record<string, { operationId?: string }>>
}

describe('the recommended rules of Redocly’s linter', () => {
  let folder: string
  let served: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pillarbox-openapi-'))
    const fixture = await openFixture()
    served = (await fixture.call(null, 'GET', '/openapi.json')).body
    await fixture.app.close()
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('find nothing in the document that the server answers', async () => {
    assert.deepEqual(await problemsOf(served), [])
  })

  it('find an operation without a name', async () => {
    const document = JSON.parse(served) as Document
    delete document.paths['/api/events']?.['post']?.operationId

    assert.deepEqual(await problemsOf(JSON.stringify(document)), ['operation-operationId'])
  })

  async function problemsOf(document: string): Promise<string[]> {
    const file = join(folder, 'openapi.json')
    await writeFile(file, document)
    const found = await new Promise<string>((resolve, reject) => {
      const asked = ['lint', '--extends=recommended', '--format=json', '--max-problems=1000', file]
      const options = { cwd: folder, env: { ...process.env, ...QUIET }, maxBuffer: 64 * 1024 * 1024 }
      execFile(REDOCLY, asked, options, (error, stdout, stderr) => {
        // It ends with 1 where it finds errors.
        if (stdout === '') reject(new Error(stderr, { cause: error }))
        else resolve(stdout)
      })
    })
    const { problems } = JSON.parse(found) as { problems: { ruleId: string }[] }
    return problems.map(({ ruleId }) => ruleId)
  }
})
