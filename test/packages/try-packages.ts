import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../support/postgres/launcher.ts'
import { answers, whileServing } from '../support/server-process.ts'

/**
 * Packs what is published, installs it into an empty project as a user does, and uses it there: the types under every way
 * of finding them, `pillarbox start`, and an event that becomes a message. Needs `npm run build` before it.
 */
const ROOT = path.resolve(import.meta.dirname, '../..')
const PACKAGES = ['client', 'vendors', 'pillarbox']
/** The last TypeScript that knows the classic way of finding modules; 7 has dropped it. */
const TYPESCRIPT = 'typescript@5.9.3'
const NODE_TYPES = '@types/node@24.19.2'

const USER = `import { fromPg, PillarboxClient, publish } from '@pillarbox/client'
import { checkEvent } from '@pillarbox/client/contract'
import { startWebhookReceiver } from '@pillarbox/vendors'
import { createPillarbox, resolveConfig } from 'pillarbox'

export const health: Promise<{ status: string }> = new PillarboxClient({ url: 'http://localhost', key: 'k' }).health()
export { createPillarbox, checkEvent, fromPg, publish, resolveConfig, startWebhookReceiver }
`

const SENDER = `import { PillarboxClient } from '@pillarbox/client'

const [url, key] = process.argv.slice(2)
const client = new PillarboxClient({ url, key, tenantId: 'demo' })
const { id } = await client.publish({
  type: 'booking.confirmed',
  entity: { type: 'booking', id: '12345' },
  payload: { bookingId: 12345, guestName: 'Asha', guestPhone: '+919876543210', guestEmail: 'asha@example.com' },
})
for (;;) {
  const items = await Array.fromAsync(client.notifications({ eventId: id }))
  if (items.length > 0 && items.every(({ status }) => status === 'sent' || status === 'delivered')) {
    console.log(items.map(({ channel, status }) => channel + ' ' + status).join(', '))
    break
  }
  await new Promise((resolve) => setTimeout(resolve, 100))
}
`

const run = promisify(execFile)
const folder = await mkdtemp(path.join(tmpdir(), 'pillarbox-packages-'))
try {
  await tryPackages()
} finally {
  await rm(folder, { recursive: true, force: true })
}
console.log('✔ the packages work where they are installed')

async function tryPackages(): Promise<void> {
  const tarballs = await pack()
  const project = path.join(folder, 'project')
  await mkdir(project)
  await writeFile(path.join(project, 'package.json'), '{ "private": true, "type": "module" }\n')
  const quietly = ['--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', ['install', ...quietly, ...tarballs, TYPESCRIPT, NODE_TYPES], { cwd: project })
  await findTypes(project)
  await sendThroughIt(project)
}

async function pack(): Promise<string[]> {
  for (const name of PACKAGES)
    await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: path.join(ROOT, 'packages', name) })
  const tarballs = (await readdir(folder)).map((name) => path.join(folder, name))
  for (const tarball of tarballs)
    console.log(`  ${path.basename(tarball)}: ${Math.round((await stat(tarball)).size / 1024)} KiB`)
  if (tarballs.length !== PACKAGES.length) throw new Error(`${PACKAGES.length} packages made ${tarballs.length} files`)
  return tarballs
}

async function findTypes(project: string): Promise<void> {
  await writeFile(path.join(project, 'user.ts'), USER)
  const tsc = path.join(project, 'node_modules/.bin/tsc')
  const common = ['--noEmit', '--strict', '--target', 'es2023', '--lib', 'es2024,esnext.disposable', '--types', 'node']
  for (const [name, flags] of Object.entries({
    node16: ['--module', 'node16', '--moduleResolution', 'node16'],
    bundler: ['--module', 'esnext', '--moduleResolution', 'bundler'],
    classic: ['--module', 'esnext', '--moduleResolution', 'node10'],
  })) {
    await run(tsc, [...common, ...flags, 'user.ts'], { cwd: project }).catch((error: { stdout?: string }) => {
      throw new Error(`the types cannot be used with the resolution "${name}":\n${error.stdout}`, { cause: error })
    })
    console.log(`  types: ${name}`)
  }
}

/** With the Node that runs this: the machine's own may be too old for the server. */
async function sendThroughIt(project: string): Promise<void> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const PATH = [path.dirname(process.execPath), process.env['PATH']].join(path.delimiter)
  const env = { ...process.env, PATH, PILLARBOX_PORT: String(port) }
  const command = path.join(project, 'node_modules/.bin/pillarbox')
  const server = { name: 'pillarbox start', command, args: ['start'], cwd: project, env }
  await whileServing({ ...server, isUp: () => answers(`${url}/health`) }, async () => {
    await writeFile(path.join(project, 'send.js'), SENDER)
    const keyFile = (await readdir(path.join(project, '.pillarbox'))).find((name) => name.startsWith('ops-')) ?? ''
    const key = (await readFile(path.join(project, '.pillarbox', keyFile), 'utf8')).trim()
    const { stdout } = await run('node', ['send.js', url, key], { cwd: project, env, timeout: 120_000 })
    console.log(`  pillarbox start: ${stdout.trim()}`)
  })
}
