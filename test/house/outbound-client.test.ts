import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'

const root = path.resolve(import.meta.dirname, '../..')

/** What the project's own lint rules say about files of ours: for each path, the rules it breaks. */
async function lint(t: TestContext, files: Readonly<Record<string, string>>): Promise<Map<string, string[]>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'pillarbox-lint-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await cp(path.join(root, '.oxlintrc.json'), path.join(folder, '.oxlintrc.json'))
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
    await writeFile(path.join(folder, name), `${text}\n`)
  }
  const oxlint = path.join(root, 'node_modules/oxlint/bin/oxlint')
  const output = await new Promise<string>((resolve) => {
    // It ends with 1 where it found something.
    execFile(process.execPath, [oxlint, '--format', 'json', '.'], { cwd: folder }, (_error, stdout) => resolve(stdout))
  })
  const { diagnostics } = JSON.parse(output) as { diagnostics: { code: string; filename: string }[] }
  const broken = new Map(Object.keys(files).map((name): [string, string[]] => [name, []]))
  for (const { code, filename } of diagnostics)
    if (code.includes('no-restricted')) broken.get(filename.split(path.sep).join('/'))?.push(code)
  return broken
}

const WAYS_OUT = {
  'the global fetch': `export const ask = () => fetch('https://example.com')`,
  'fetch by another name': `export const ask = globalThis.fetch`,
  'fetch taken out of the global object': `export const { fetch: ask } = globalThis`,
  'a socket of the platform': `export const socket = new WebSocket('wss://example.com')`,
  'node:http': `import { request } from 'node:http'\nexport const ask = request`,
  'node:https under its old name': `import https from 'https'\nexport const ask = https.get`,
  'a client that is loaded later': `export const load = () => import('undici')`,
  'a builtin that is loaded later': `export const load = () => import('node:https')`,
  'a client that is passed on': `export { request } from 'node:http2'`,
  axios: `import axios from 'axios'\nexport const ask = axios`,
  'a part of a client': `import { fetch as ask } from 'undici/index.js'\nexport { ask }`,
  'the SDKs’ own way out': `import { NodeHttpHandler } from '@smithy/node-http-handler'\nexport { NodeHttpHandler }`,
  'a plain socket': `import { connect } from 'node:net'\nexport const dial = connect`,
  'a TLS socket': `import tls from 'node:tls'\nexport const dial = tls.connect`,
  'mail without dial': `import { createTransport } from 'nodemailer'\nexport const mail = createTransport`,
}

const slug = (name: string): string => name.replaceAll(/\W+/g, '-').toLowerCase()

describe('the outbound client', () => {
  it('is the only one: lint refuses every other way out', async (t) => {
    const fileOf = (name: string): string => `packages/pillarbox/src/channels/sms/${slug(name)}.ts`
    const files = Object.fromEntries(Object.entries(WAYS_OUT).map(([name, text]) => [fileOf(name), text]))

    const broken = await lint(t, files)

    for (const name of Object.keys(WAYS_OUT)) assert.notEqual(broken.get(fileOf(name))?.length, 0, name)
  })

  it('is the only one in every stage', async (t) => {
    const stages = [
      'channels',
      'cli',
      'dispatch',
      'http',
      'operate',
      'plan',
      'receipts',
      'runtime',
      'security',
      'store',
    ]
    const fileOf = (stage: string): string => `packages/pillarbox/src/${stage}/x.ts`

    const broken = await lint(
      t,
      Object.fromEntries(stages.map((stage) => [fileOf(stage), WAYS_OUT['the global fetch']])),
    )

    for (const stage of stages) assert.equal(broken.get(fileOf(stage))?.length, 1, stage)
  })

  it('may itself use what others may not; so may tests, the client package and the vendors’ servers', async (t) => {
    const text = `${WAYS_OUT['node:http']}\n${WAYS_OUT['a plain socket']}\nexport const web = fetch`
    const files = [
      'packages/pillarbox/src/security/outbound.ts',
      'packages/pillarbox/src/security/dial.ts',
      'packages/pillarbox/src/http/x.test.ts',
      'packages/client/src/x.ts',
      'packages/vendors/src/x.ts',
    ]

    const broken = await lint(t, Object.fromEntries(files.map((file) => [file, text])))

    assert.deepEqual([...broken.values()].flat(), [])
  })

  it('is not needed for types, for listening, or for what only has the name', async (t) => {
    const text = [
      `import { createServer, isIP } from 'node:net'`,
      `import type { Socket } from 'node:net'`,
      `import type { IncomingMessage } from 'node:http'`,
      `export type Both = Socket | IncomingMessage`,
      `export const listen = [createServer, isIP]`,
      `export const ask = (fetch: () => void): void => fetch()`,
    ].join('\n')

    const broken = await lint(t, { 'packages/pillarbox/src/http/x.ts': text })

    assert.deepEqual([...broken.values()].flat(), [])
  })
})
