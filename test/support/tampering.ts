import assert from 'node:assert/strict'
import { purgeOf } from '../../packages/pillarbox/src/model/audit.ts'
import type { AuditFault } from '../../packages/pillarbox/src/operate/verify-audit.ts'
import { verifyChain } from '../../packages/pillarbox/src/operate/verify-audit.ts'
import { type Bench, completion } from '../conformance/fixtures.ts'
import { chainAudit } from './audit.ts'

/** What somebody with the database's password might try, and what is found. `$p` stands before each table's name. */
export const TAMPERINGS: readonly (readonly [string, AuditFault['kind']])[] = [
  [`update $paudit set actor = 'key:eve' where id = $act`, 'changed'],
  [`update $paudit set note = 'never said' where id = $act`, 'changed'],
  [`update $paudit set id = 1000000 where id = $act`, 'deleted'],
  [`delete from $paudit where id = $act`, 'deleted'],
  [`update $pattempts set duration_ms = duration_ms + 1 where audit_id = $attempt`, 'changed'],
  [`update $pattempts set to_status = 'parked' where audit_id = $attempt`, 'changed'],
  [`update $pattempts set tenant_id = 'another' where audit_id = $attempt`, 'deleted'],
  [`delete from $pattempts where audit_id = $attempt`, 'deleted'],
  [`update $paudit set id = 0 where id = $act`, 'inserted'],
  [`update $paudit_links set leaves = '' where tenant_id = '$tenant' and number = 2`, 'link_changed'],
  [`delete from $paudit_links where tenant_id = '$tenant' and number = 2`, 'link_missing'],
]

/** Rows that retention removes are accounted for, as long as it says so. */
export async function assertPurgeIsAccountedFor(
  { store, ...bench }: Bench,
  prefix: string,
  run: (sql: string) => Promise<void>,
): Promise<void> {
  const tenantId = await bench.tenant()
  const record = (act: { action: string; subject: string; reason?: string }): Promise<void> =>
    store.audit.record({ tenantId, actor: 'system', ...act })
  for (const subject of ['a', 'b', 'c']) await record({ action: 'update', subject })
  await chainAudit(store, 2)
  await run(`delete from ${prefix}audit where tenant_id = '${tenantId}' and subject in ('a', 'c')`)

  assert.equal((await verifyChain(store.audit, tenantId)).fault?.kind, 'deleted')
  await record(purgeOf((await store.now()) + 60_000, { audit: 2 }))
  await chainAudit(store)

  const { fault, purged } = await verifyChain(store.audit, tenantId)
  assert.deepEqual([fault, purged], [null, 2])
}

/** Plays each tampering on a chain of its own, by `run`, which somebody without any scruples uses. */
export async function assertTamperingsAreFound(
  bench: Bench,
  prefix: string,
  run: (sql: string) => Promise<void>,
): Promise<void> {
  for (const [text, kind] of TAMPERINGS) {
    const lane = await bench.lane()
    const { tenantId } = lane
    const [retried = ''] = await bench.enqueue(lane, 4)
    const worker = await bench.worker()
    const claims = await bench.claim(worker, lane, 4)
    const results = claims.map((claim) => completion(claim, claim.notificationId === retried ? 'parked' : 'sent'))
    await bench.store.dispatch.complete(worker, results)
    await bench.store.notifications.act({ tenantId, id: retried, action: 'retry', actor: 'key:ada', note: 'mended' })
    await chainAudit(bench.store, 2)
    const page = await bench.store.audit.list({ tenantId }, { limit: 200 })
    const numberOf = (action: string): number =>
      Number(page.items.find((entry) => entry.action === action)?.id ?? assert.fail(`there is no ${action}`))
    assert.equal((await verifyChain(bench.store.audit, tenantId)).fault, null)

    const sql = text
      .replaceAll('$paudit', `${prefix}audit`)
      .replaceAll('$pattempts', `${prefix}attempts`)
      .replaceAll('$attempt', String(numberOf('send')))
      .replaceAll('$act', String(numberOf('retry')))
      .replaceAll('$tenant', tenantId)
    await run(sql)

    const { fault } = await verifyChain(bench.store.audit, tenantId)
    assert.equal(fault?.kind, kind, sql)
  }
}
