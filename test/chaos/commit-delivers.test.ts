import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { fromNodeSqlite, fromPg, nudge, publish, publishSync } from '@pillarbox/client'
import pg from 'pg'
import { reckon, vendorMessages } from './oracle.ts'
import { createRig, ENGINES, type Rig, until } from './rig.ts'
import { eventOf, newOrders, type Order, openShop, TENANT } from './shop.ts'

/** An application with an orders table of its own in the product's database. */
interface Host {
  /** Stores the orders and publishes their events in one transaction, then ends it as told. */
  pay(orders: readonly Order[], end: 'commit' | 'rollback'): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const HOSTS = { postgres: postgresHost, sqlite: sqliteHost }

describe('what the application commits is delivered', { concurrency: 2 }, () => {
  for (const engine of ENGINES)
    it(`${engine}: a commit delivers, a rollback does not, two in one transaction both arrive`, {
      timeout: 60_000,
    }, async () => {
      await using rig = await createRig(engine)
      const product = await rig.start('start')
      await openShop(product.url, { channels: ['email'] })
      await using host = await HOSTS[engine](rig)
      const [committed, undone, pair] = [newOrders(1, 'committed'), newOrders(1, 'undone'), newOrders(2, 'pair')]

      await host.pay(undone, 'rollback')
      await host.pay(committed, 'commit')
      await host.pay(pair, 'commit')
      await until('all three have arrived', 10_000, async () => vendorMessages(rig.dataDir).length >= 3)
      for (const order of [...committed, ...pair]) order.acknowledged = true
      const orders = [...committed, ...pair]
      const { broken, messages } = await reckon({ url: product.url, dataDir: rig.dataDir, orders, channels: ['email'] })

      assert.deepEqual(broken, [])
      assert.equal(messages.length, 3)
    })
})

async function postgresHost({ databaseUrl }: Rig): Promise<Host> {
  const pool = new pg.Pool({ connectionString: databaseUrl })
  await pool.query('create table orders (id text primary key)')
  return {
    async pay(orders, end) {
      const client = await pool.connect()
      await client.query('begin')
      for (const order of orders) {
        await client.query('insert into orders values ($1)', [order.id])
        await publish(fromPg(client), { tenantId: TENANT, ...eventOf(order) })
      }
      await client.query(end)
      client.release()
      await nudge(fromPg(pool))
    },
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

async function sqliteHost({ databaseUrl }: Rig): Promise<Host> {
  const db = new DatabaseSync(databaseUrl.slice('sqlite:'.length), { timeout: 5_000 })
  db.exec('create table orders (id text primary key)')
  return {
    async pay(orders, end) {
      db.exec('begin immediate')
      for (const order of orders) {
        db.prepare('insert into orders values (?)').run(order.id)
        publishSync(fromNodeSqlite(db), { tenantId: TENANT, ...eventOf(order) })
      }
      db.exec(end)
    },
    async [Symbol.asyncDispose]() {
      db.close()
    },
  }
}
