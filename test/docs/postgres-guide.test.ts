import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { it, type TestContext } from 'node:test'
import { fromPg, type NewEvent, publish } from '@pillarbox/client'
import pg from 'pg'
import { verifyChain } from '../../packages/pillarbox/src/operate/verify-audit.ts'
import { systemClock } from '../../packages/pillarbox/src/runtime/system.ts'
import { openPostgres } from '../../packages/pillarbox/src/store/postgres/open.ts'
import { completion, createBench } from '../conformance/fixtures.ts'
import { chainAudit } from '../support/audit.ts'
import { migratedDatabase } from '../support/postgres/database.ts'
import { silent } from '../support/samples.ts'

const page = readFileSync(new URL('../../docs/guides/postgres.md', import.meta.url), 'utf8')

/** A database in which the guide's block was run for a role of this test's own, and a connection as that role. */
async function setup(t: TestContext, block: 'client' | 'function' | 'audit') {
  const sql = new RegExp(`^\`\`\`sql ${block}\n(.*?)^\`\`\``, 'ms').exec(page)?.[1]
  assert.ok(sql, `the guide has a block "sql ${block}"`)
  const role = `acme_app_${randomUUID().slice(0, 8)}`
  const database = await migratedDatabase()
  const owner = new pg.Client({ connectionString: database.url })
  await owner.connect()
  await owner.query(`create role ${role} login; ${sql.replaceAll(/acme_app|pillarbox_app/g, role)}`)
  const url = new URL(database.url)
  url.username = role
  const app = new pg.Client({ connectionString: url.href })
  await app.connect()
  t.after(async () => {
    await Promise.all([app.end(), owner.end()])
    await database.drop()
    const server = new pg.Client({ connectionString: process.env['PILLARBOX_TEST_POSTGRES'] })
    await server.connect()
    await server.query(`drop role ${role}`)
    await server.end()
  })
  const events = async (): Promise<unknown[]> =>
    (await owner.query<Record<string, unknown>>('select tenant_id, id, status from pillarbox.events order by id')).rows
  return { app, owner, events, url: url.href }
}

const PENDING = { tenant_id: 'acme', status: 'pending' }
const FORBIDDEN = { code: '42501' }

it('the guide’s rights for the client package let a host publish for its tenant, and nothing else', async (t) => {
  const { app, owner, events } = await setup(t, 'client')
  const send = async (event: Partial<NewEvent>): Promise<void> => {
    await app.query('begin')
    const whole = {
      tenantId: 'acme',
      type: 'booking.made',
      entity: { type: 'booking', id: '1' },
      payload: {},
      ...event,
    }
    try {
      await publish(fromPg(app), whole)
      await app.query('commit')
    } catch (error) {
      await app.query('rollback')
      throw error
    }
  }
  await owner.query(
    `insert into pillarbox.events (tenant_id, id, type, entity_type, entity_id, payload) values ('other', 'x', 't', 'e', '1', '{}')`,
  )

  await send({ id: 'a' })
  await send({ id: 'a' })
  await send({
    id: 'b',
    occurredAt: new Date(),
    dueAt: new Date(),
    correlationId: 'c',
    topic: 'bookings',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    locale: 'en',
    channels: ['sms'],
    recipients: [{ phone: '+12025550100' }],
    conversation: { type: 'booking', id: '1' },
    schemaVersion: 2,
  })

  await assert.rejects(send({ tenantId: 'other', id: 'c' }), FORBIDDEN)
  for (const attempt of [
    'select payload from pillarbox.events',
    'select tenant_id from pillarbox.notifications',
    `update pillarbox.events set payload = '{}'`,
    'delete from pillarbox.events',
    `insert into pillarbox.events (tenant_id, id, type, entity_type, entity_id, payload, status) values ('acme', 'z', 't', 'e', '1', '{}', 'failed')`,
  ])
    await assert.rejects(app.query(attempt), FORBIDDEN, attempt)
  assert.deepEqual((await app.query('select tenant_id, id from pillarbox.events order by id')).rows, [
    { tenant_id: 'acme', id: 'a' },
    { tenant_id: 'acme', id: 'b' },
  ])
  assert.deepEqual(await events(), [
    { ...PENDING, id: 'a' },
    { ...PENDING, id: 'b' },
    { ...PENDING, tenant_id: 'other', id: 'x' },
  ])
})

it('the guide’s function lets a host publish for its tenant, in its own transaction, without any other right', async (t) => {
  const { app, events } = await setup(t, 'function')

  await app.query(`begin; select acme_publish('booking.made', 'booking', '1', id => 'gone'); rollback`)
  await app.query(`select acme_publish('booking.made', 'booking', '1', '{"bookingId": 1}', id => 'a')`)

  await assert.rejects(app.query(`select pillarbox.publish('other', 'booking.made', 'booking', '1')`), FORBIDDEN)
  await assert.rejects(app.query('select id from pillarbox.events'), FORBIDDEN)
  await assert.rejects(app.query(`select acme_publish('booking made', 'booking', '1')`), { column: 'type' })
  assert.deepEqual(await events(), [{ ...PENDING, id: 'a' }])
})

it('the guide’s rights let Pillarbox work, and not change what is on record', async (t) => {
  const { app, url } = await setup(t, 'audit')
  const store = await openPostgres({ url, clock: systemClock, logger: silent })
  t.after(() => store.close())
  const bench = await createBench({ store, advance: systemClock.sleep, close: () => store.close() })

  const [lane, worker] = [await bench.lane(), await bench.worker()]
  const [id = ''] = await bench.enqueue(lane, 2)
  const claims = await bench.claim(worker, lane, 2)
  await store.dispatch.complete(
    worker,
    claims.map((claim) => completion(claim, claim.notificationId === id ? 'parked' : 'sent')),
  )
  await store.notifications.act({ tenantId: lane.tenantId, id, action: 'retry', actor: 'key:ada', note: 'x' })
  await chainAudit(store)

  assert.equal((await verifyChain(store.audit, lane.tenantId)).fault, null)
  for (const attempt of [
    `update pillarbox.audit set actor = 'key:eve'`,
    'delete from pillarbox.audit',
    'truncate pillarbox.audit',
    `begin; set local pillarbox.audit_upkeep = 'on'; delete from pillarbox.audit`,
    'rollback; delete from pillarbox.audit_links',
    `update pillarbox.audit_links set hash = ''`,
    'update pillarbox.attempts set duration_ms = 0',
    'alter table pillarbox.audit disable trigger all',
  ])
    await assert.rejects(app.query(attempt), FORBIDDEN, attempt)
})
