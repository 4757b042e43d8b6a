import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { openWorld } from '../support/world.ts'

it('a clean stop leaves all data in the SQLite files themselves, without their logs', async () => {
  await using world = await openWorld('sqlite')
  const running = await world.startProcess('start', { PILLARBOX_DEMO: '1' })

  running.signal('SIGTERM')
  assert.deepEqual(await running.exited, { code: 0, signal: null })

  const files = (await readdir(world.dataDir)).filter((name) => name.includes('.db'))
  assert.deepEqual(files.sort(), ['pillarbox.db', 'sandbox.db'])
  const database = new DatabaseSync(path.join(world.dataDir, 'pillarbox.db'), { readOnly: true })
  const tenants = database.prepare('select id from pillarbox_tenants').all()
  database.close()
  assert.deepEqual(
    tenants.map(({ id }) => id),
    ['demo'],
  )
})

it('a process that shares the SQLite file is named, and one that was killed keeps nobody from starting', async () => {
  await using world = await openWorld('sqlite')
  const first = await world.startProcess('start')
  const second = await world.startProcess('start')
  assert.match(second.log(), new RegExp(`"pid":${first.pid},.*another process uses this SQLite file`))

  for (const each of [first, second]) {
    each.signal('SIGKILL')
    await each.exited
  }
  const third = await world.startProcess('start')
  assert.doesNotMatch(third.log(), /another process uses this SQLite file/)
})
