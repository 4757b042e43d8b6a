import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../support/postgres/launcher.ts'
import { CLI, type ProductProcess } from '../support/product-process.ts'
import { until } from '../support/until.ts'
import type { World } from '../support/world.ts'
import { chaosWorld } from './chaos-world.ts'
import { listLive, untilQuiet } from './oracle.ts'
import { newOrders, type Order, openShop, publish, publishUntilAcknowledged, type ShopChannel } from './shop.ts'

/** One vendor honours our keys, and one does not. */
const CHANNELS: readonly ShopChannel[] = ['email', 'sms']

const run = promisify(execFile)

describe('a server that is backed up under load, killed, and restored elsewhere', { concurrency: 2 }, () => {
  it('sqlite: has everything that it had acknowledged by then', async (t) => {
    await using world = await chaosWorld('sqlite')
    const server = await world.startProcess('start')
    const copy = path.join(world.dataDir, 'copy.db')
    const orders = await backedUp(server, async () => {
      const made = world.runScript([CLI, 'backup', copy])
      assert.equal((await made.exited).code, 0, made.log())
    })

    await using other = await chaosWorld('sqlite')
    await copyFile(copy, path.join(other.dataDir, 'pillarbox.db'))
    await assertRestored(t, { from: world, to: other, ...orders })
  })

  it('postgres: has everything that it had acknowledged by then', async (t) => {
    await using database = await startPostgres({ durable: true })
    await using world = await chaosWorld('postgres', { databaseUrl: database.url })
    const server = await world.startProcess('start')
    const copy = await mkdtemp(path.join(tmpdir(), 'pillarbox-base-backup-'))
    t.after(() => rm(copy, { recursive: true, force: true }))
    const orders = await backedUp(server, () => baseBackup(database, copy))

    // `-a` keeps the files their owner's.
    const fill = async (dataDir: string): Promise<void> => void (await run('cp', ['-a', `${copy}/.`, dataDir]))
    await using restored = await startPostgres({ durable: true, fill })
    await using other = await chaosWorld('postgres', { databaseUrl: restored.url })
    await assertRestored(t, { from: world, to: other, ...orders })
  })
})

interface Orders {
  /** Acknowledged before the backup began. */
  before: readonly Order[]
  orders: readonly Order[]
}

/** Publishes all the time, makes a backup in the middle of it, goes on, and kills the server. */
async function backedUp(server: ProductProcess, makeBackup: () => Promise<void>): Promise<Orders> {
  await openShop(server.url, { channels: CHANNELS, latencyMs: 50 })
  const orders = newOrders(600, 'order')
  const acknowledged = (): Order[] => orders.filter((order) => order.acknowledged)
  let next = 0
  const publishing = Array.from({ length: 4 }, async () => {
    for (let order = orders[next++]; order && !server.hasExited(); order = orders[next++])
      await publish(server.url, [order])
  })
  await until('some are acknowledged', () => acknowledged().length >= 50)
  const before = acknowledged()
  await makeBackup()
  const then = acknowledged().length
  await until('more are acknowledged', () => acknowledged().length >= Math.min(orders.length, then + 50))
  server.signal('SIGKILL')
  await Promise.all(publishing)
  return { before, orders }
}

/** What `pg_basebackup` does, in SQL and with `cp`: the test's PostgreSQL comes without it. */
async function baseBackup({ url, dataDir }: PostgresServer, to: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`select pg_backup_start('runbook', fast => true)`)
    // Files come and go while they are copied, which the log makes good.
    await run('cp', ['-a', `${dataDir}/.`, to]).catch(() => undefined)
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    const label = path.join(to, 'backup_label')
    await writeFile(label, rows[0]?.labelfile ?? assert.fail('no label'))
    await run('chown', ['--reference', path.join(to, 'PG_VERSION'), label])
    await run('cp', ['-a', `${dataDir}/pg_wal/.`, path.join(to, 'pg_wal')])
  } finally {
    await client.end()
  }
  await rm(path.join(to, 'postmaster.pid'), { force: true })
}

async function assertRestored(t: TestContext, { from, to, before, orders }: Orders & { from: World; to: World }) {
  await copyFile(path.join(from.dataDir, 'master.key'), path.join(to.dataDir, 'master.key'))
  // The vendor is still there, and remembers what it was sent.
  for (const file of ['sandbox.db', 'sandbox.db-wal'])
    await copyFile(path.join(from.dataDir, file), path.join(to.dataDir, file))
  const { url } = await to.startProcess('start')
  await untilQuiet(url)

  const rows = async () => new Set((await listLive(url, ['sent'])).map((row) => `${row.eventId}/${row.channel}`))
  const missing = async (of: readonly Order[]): Promise<string[]> => {
    const found = await rows()
    return of.flatMap(({ id }) => CHANNELS.map((channel) => `${id}/${channel}`)).filter((name) => !found.has(name))
  }
  assert.ok(before.length >= 50)
  assert.deepEqual(await missing(before), [])
  for (const command of [['audit', 'verify'], ['rollups', 'rebuild'], ['doctor']]) {
    const made = to.runScript([CLI, ...command])
    assert.equal((await made.exited).code, 0, made.log())
    if (command[0] === 'rollups') assert.match(made.log(), /every sum was right/)
  }

  // Whoever was told "taken" after the backup asks again, under the same ids.
  const lost = await missing(orders.filter((order) => order.acknowledged))
  for (const order of orders) order.acknowledged = false
  await publishUntilAcknowledged(url, orders)
  await untilQuiet(url)
  assert.deepEqual(await missing(orders), [])

  const messages = Map.groupBy(to.sandboxMessages(), ({ notificationId }) => notificationId)
  const twice = [...messages.values()].filter((same) => same.length > 1).map(([first]) => first?.channel)
  t.diagnostic(
    `${before.length} acknowledged before, ${lost.length} rows newer than the copy, ${twice.length} sent twice`,
  )
  assert.deepEqual(
    twice.filter((channel) => channel === 'email'),
    [],
    'a vendor that honours our keys takes none twice',
  )
}
