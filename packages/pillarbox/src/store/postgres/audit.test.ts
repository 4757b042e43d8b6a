import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import { completion, createBench } from '../../../../../test/conformance/fixtures.ts'
import { chainAudit } from '../../../../../test/support/audit.ts'
import { migratedDatabase } from '../../../../../test/support/postgres/database.ts'
import { silent } from '../../../../../test/support/samples.ts'
import { assertPurgeIsAccountedFor, assertTamperingsAreFound } from '../../../../../test/support/tampering.ts'
import { linkOf } from '../../operate/audit-chain.ts'
import { verifyChain } from '../../operate/verify-audit.ts'
import { systemClock } from '../../runtime/system.ts'
import { listAudit } from '../shared/audit-list.ts'
import { boundStatement, type Script } from '../shared/script.ts'
import { openPostgres } from './open.ts'
import { dialect } from './scripts.ts'

const LIMIT = { chains: 10, rowsOfEach: 100 }

/** A store, and a connection of somebody else's. */
async function setup(t: TestContext) {
  const database = await migratedDatabase()
  const store = await openPostgres({ url: database.url, clock: systemClock, logger: silent })
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  t.after(async () => {
    await Promise.all([store.close(), client.end()])
    await database.drop()
  })
  const bench = await createBench({ store, advance: systemClock.sleep, close: () => store.close() })
  return { store, bench, client }
}

describe('the audit on PostgreSQL', () => {
  it('refuses to be changed, emptied or shortened, and says who may', async (t) => {
    const { store, bench, client } = await setup(t)
    await bench.tenant()
    await chainAudit(store)

    for (const sql of [
      `update pillarbox.audit set actor = 'key:eve'`,
      'delete from pillarbox.audit',
      'truncate pillarbox.audit',
      `update pillarbox.audit_links set hash = ''`,
      'delete from pillarbox.audit_links',
      'truncate pillarbox.audit_links',
    ])
      await assert.rejects(client.query(sql), { code: '42501', hint: /pillarbox.audit_upkeep/ }, sql)

    await client.query(`begin; set local pillarbox.audit_upkeep = 'on'; delete from pillarbox.audit; commit`)
    assert.deepEqual((await client.query('select from pillarbox.audit')).rows, [])
    await bench.tenant()
    await assert.rejects(client.query('delete from pillarbox.audit'), { code: '42501' })
  })

  it('what is done to it by hand all the same is found', async (t) => {
    const { bench, client } = await setup(t)
    await client.query('set session_replication_role = replica')

    const byHand = async (sql: string): Promise<void> => {
      await client.query(sql)
    }
    await assertTamperingsAreFound(bench, 'pillarbox.', byHand)
    await assertPurgeIsAccountedFor(bench, 'pillarbox.', byHand)
  })

  it('a row that is committed late is chained in its place, and nothing behind it before', async (t) => {
    const { store, bench, client } = await setup(t)
    const tenantId = await bench.tenant()
    const record = (action: string) => store.audit.record({ tenantId, actor: 'key:ada', action, subject: 's' })
    await record('early')
    await client.query('begin')
    await client.query(`insert into pillarbox.audit (tenant_id, actor, action) values ($1, 'key:ada', 'late')`, [
      tenantId,
    ])
    await record('after')

    const horizon = await store.audit.horizon()
    assert.equal(await store.audit.unchained(horizon, LIMIT), null)
    await client.query('commit')
    const [stretch] = (await store.audit.unchained(horizon, LIMIT)) ?? assert.fail('all is over')
    assert.ok(stretch)
    assert.deepEqual(
      stretch.rows.map((row) => row.kind === 'act' && row.action),
      ['create', 'early', 'late', 'after'],
    )
    await store.audit.append([linkOf(stretch)])
    assert.equal((await verifyChain(store.audit, tenantId)).fault, null)
  })

  it('lists rows in the order of an index, whatever there is of them', async (t) => {
    const { bench, client } = await setup(t)
    const lane = await bench.lane()
    const { tenantId } = lane
    const [id = ''] = await bench.enqueue(lane, 1)
    const worker = await bench.worker()
    const claims = await bench.claim(worker, lane, 1)
    await bench.store.dispatch.complete(
      worker,
      claims.map((claim) => completion(claim, 'sent')),
    )
    await bench.tenant()
    await client.query(
      `insert into pillarbox.attempts (notification_id, number, outcome, to_status, duration_ms, started_at, token, worker_id,
          provider, provider_message_id, tenant_id)
        select gen_random_uuid(), 1, 'accepted', 'sent', 3, now(), 1, $1, 'sandbox', g::text, 'tenant-' || g % 20
        from generate_series(1, 30000) g`,
      [worker],
    )
    await client.query(
      `insert into pillarbox.audit (tenant_id, actor, action, notification_id)
        select 'tenant-' || g % 20, 'system', 'deliver', gen_random_uuid() from generate_series(1, 30000) g`,
    )
    await client.query('analyze')
    const day = 24 * 3_600_000

    for (const filter of [
      { tenantId },
      { tenantId, actor: 'key:ada' },
      { tenantId, action: 'park' },
      { tenantId, notificationId: id },
      { tenantId, from: Date.now() - day, to: Date.now() + day },
      {},
    ]) {
      const plans = await plansOf(client, listAudit(dialect, filter, { limit: 50 }))
      const big = plans.filter(({ node, rows }) => rows > 10_100 && node !== 'Limit')
      assert.deepEqual(big, [], JSON.stringify(filter))
      assert.ok(!plans.some(({ node }) => node === 'Seq Scan on attempts'), JSON.stringify(filter))
    }
  })
})

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

/** How each statement of a script was done: the nodes of its plans, and how many rows went through each. */
async function plansOf(client: pg.Client, script: Script<unknown>): Promise<{ node: string; rows: number }[]> {
  const nodes: { node: string; rows: number }[] = []
  const visit = (plan: PlanNode): void => {
    const { 'Relation Name': table, 'Actual Rows': rows, 'Actual Loops': loops } = plan
    const node = table === undefined ? plan['Node Type'] : `${plan['Node Type']} on ${table}`
    nodes.push({ node, rows: (rows + (plan['Rows Removed by Filter'] ?? 0)) * loops })
    for (const child of plan.Plans ?? []) visit(child)
  }
  let step = script.next()
  while (step.done !== true) {
    const { text, values } = boundStatement(dialect, step.value)
    const explained = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, format json) ${text}`,
      values,
    )
    visit(explained.rows[0]?.['QUERY PLAN'][0].Plan ?? assert.fail('there is no plan'))
    step = script.next((await client.query<Record<string, unknown>>(text, values)).rows)
  }
  return nodes
}
