import { it } from 'node:test'
import { freshDatabase } from '../support/postgres/database.ts'
import { hasPgBouncer, startPgBouncer } from '../support/postgres/pgbouncer.ts'
import { type PoolingProxy, startPoolingProxy } from '../support/postgres/pooling-proxy.ts'
import { until } from '../support/until.ts'
import { openWorld } from '../support/world.ts'

const POOLERS: [string, (url: string) => Promise<PoolingProxy>][] = [
  ['a pooler that changes sessions with every transaction', (url) => startPoolingProxy(url, 40)],
]
// npm does not bring it.
if (hasPgBouncer) POOLERS.push(['PgBouncer in transaction mode', (url) => startPgBouncer(url, 'transaction')])

for (const [name, start] of POOLERS)
  it(`everything between a host’s transaction and the vendor works behind ${name}`, async () => {
    await using database = await freshDatabase()
    await using pooler = await start(database.url)
    await using world = await openWorld('postgres', { databaseUrl: pooler.url })
    await world.start()
    const tenant = await world.tenant({ catalogue: 'push', channels: ['push'] })
    const host = await world.host()

    const events = Array.from({ length: 20 }, (_, i) => ({
      tenantId: tenant.id,
      type: 'push.message',
      entity: { type: 'device', id: String(i) },
      payload: { targetPlatform: 'FCM', deviceToken: `device-${i}`, title: 'Bus 12', body: 'leaves at 9' },
    }))
    for (const event of events) await host.transact({ events: [event] })

    await until('all are sent', () => world.sandboxMessages().length === events.length)
    await until('the ledger says so', async () => {
      const { body } = await world.ops('GET', `/api/notifications?tenantId=${tenant.id}&status=sent&limit=100`)
      return (body as { items: unknown[] }).items.length === events.length
    })
  })
