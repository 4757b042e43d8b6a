import assert from 'node:assert/strict'
import { readdir, readFile, stat } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import { it } from 'node:test'
import { resolveConfig } from '../../packages/pillarbox/src/config/config.ts'
import { createPillarbox, type Started } from '../../packages/pillarbox/src/pillarbox.ts'
import { request } from '../support/api.ts'
import { openWorld, type World } from '../support/world.ts'

const API = { api: true, worker: false }
const CLI = path.resolve(import.meta.dirname, '../../packages/pillarbox/src/cli/main.ts')

async function startWith(world: World, port: number): Promise<{ started: Started; stop(): Promise<void> }> {
  const env = { ...world.settings, PILLARBOX_OPS_KEY: '', PILLARBOX_PORT: String(port) }
  const read = resolveConfig({ flags: {}, env, file: null, cwd: world.dataDir })
  assert.ok('config' in read)
  const pillarbox = await createPillarbox(read.config)
  try {
    return { started: await pillarbox.start(API), stop: pillarbox.stop }
  } catch (error) {
    await pillarbox.stop()
    throw error
  }
}

it('a start that finds its port taken makes no ops key; the next one does, and answers to it', async () => {
  await using world = await openWorld('sqlite')
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  await using _ = other

  await assert.rejects(startWith(world, (other.address() as AddressInfo).port), { code: 'EADDRINUSE' })
  const { started, stop } = await startWith(world, 0)
  const answer = await request(`${started.url}/ops/keys`, { method: 'GET', ...started.newOpsKey })
  await stop()

  assert.equal(answer.status, 200)
  const { items } = answer.body as { items: { id: string }[] }
  assert.deepEqual(
    items.map(({ id }) => id),
    [started.newOpsKey?.id],
  )
})

it('keys ops makes one more key, in a file of its owner’s where no terminal is looking', async () => {
  await using world = await openWorld('sqlite')
  await world.start(API)

  const made = world.runScript([CLI, 'keys', 'ops'])
  assert.deepEqual(await made.exited, { code: 0, signal: null })

  const [file = ''] = (await readdir(world.dataDir)).filter((name) => name.startsWith('ops-'))
  const written = path.join(world.dataDir, file)
  assert.equal(made.log(), `${written}\n`)
  assert.equal((await stat(written)).mode & 0o777, 0o600)
  const key = (await readFile(written, 'utf8')).trim()
  assert.equal((await request(`${world.url}/ops/keys`, { method: 'GET', key })).status, 200)
})
