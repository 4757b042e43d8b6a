import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { CLI, type ProductProcess } from '../support/product-process.ts'
import { openWorld } from '../support/world.ts'

const KEYS = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))

it('a master key that a command prints is used by the server, by tools and in a rotation, and is not kept', async () => {
  await using world = await openWorld('sqlite')
  const [vault, former] = [path.join(world.dataDir, 'vault'), path.join(world.dataDir, 'former')]
  const [first = '', second = ''] = KEYS
  const command = { PILLARBOX_MASTER_KEY_COMMAND: `cat ${vault}` }
  const both = { ...command, PILLARBOX_FORMER_MASTER_KEYS_FILE: former }
  const logs: string[] = []
  const ended = async (run: ProductProcess): Promise<string> => {
    const { code } = await run.exited
    assert.equal(code, 0, run.log())
    logs.push(run.log())
    return run.log()
  }
  const stop = async (server: ProductProcess): Promise<void> => {
    server.signal('SIGTERM')
    await ended(server)
  }

  writeFileSync(vault, `${first}\n`)
  await stop(await world.startProcess('start', command))
  writeFileSync(vault, `${second}\n`)
  writeFileSync(former, `${first}\n`)
  const server = await world.startProcess('start', both)
  const rotated = await ended(world.runScript([CLI, 'keys', 'rotate'], both))
  assert.match(rotated, /^done: everything is sealed under master key/m)
  await stop(server)

  await stop(await world.startProcess('start', command))
  assert.equal(existsSync(path.join(world.dataDir, 'master.key')), false)
  for (const log of logs) for (const key of KEYS) assert.ok(!log.includes(key))
  writeFileSync(vault, `${first}\n`)
  const refused = world.runScript([CLI, 'start'], command)
  assert.deepEqual([(await refused.exited).code, /does not have|is not here|master key/.test(refused.log())], [1, true])
})
