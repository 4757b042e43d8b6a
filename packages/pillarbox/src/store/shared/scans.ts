import { SYSTEM } from '../../model/audit.ts'
import { PROVIDERS_WITH_RECEIPTS } from '../../model/receipt.ts'
import type { RetryingAccount, ScanStore, StaleStretch } from '../../operate/scan-store.ts'
import { booleanOf } from './fields.ts'
import { storeTime } from './purge-rules.ts'
import { type Dialect, givenIds, givenList, instantOf, row, rows, type Script, type ScriptRunner } from './script.ts'
import { turnsAt } from './turns.ts'

export function sharedScans(run: ScriptRunner): ScanStore {
  const { dialect, read, write } = run
  const turns = (scan: string) => turnsAt(run, `scan:${scan}`)
  return {
    begin: (scan, holder, options) => turns(scan).begin(holder, options),
    keep: (scan, holder, leaseMs) => turns(scan).keep(holder, leaseMs),
    end: (scan, holder, isDone) => turns(scan).end(holder, isDone),
    nextStale: (tenantId, options) => write(() => nextStale(dialect, tenantId, options)),
    retryingAccounts: () => read(retryingAccounts),
    parkedToRetry: (account, options) => read(() => parkedToRetry(dialect, account, options)),
  }
}

/**
 * The audit's order is that of time but for moments, and attempts have an index by it. The first that is too young ends the
 * stretch, and is looked at again next time.
 */
function* nextStale(
  dialect: Dialect,
  tenantId: string,
  { staleForMs, limit }: { staleForMs: number; limit: number },
): Script<StaleStretch> {
  const mark = yield* row(`select position from pillarbox.scan_marks where scan = 'stale' and tenant_id = :tenantId`, {
    tenantId,
  })
  const before = (yield* storeTime(dialect)) - staleForMs
  const attempts = yield* rows(
    `select notification_id, audit_id, started_at, outcome, late from pillarbox.attempts
      where tenant_id = :tenantId and audit_id > :position order by audit_id limit :limit`,
    { tenantId, position: Number(mark?.['position'] ?? 0), limit },
  )
  const tooYoung = attempts.findIndex((attempt) => instantOf(attempt['started_at']) >= before)
  const looked = tooYoung === -1 ? attempts : attempts.slice(0, tooYoung)
  const last = looked.at(-1)
  if (!last) return { stale: 0, isMore: false }
  yield* rows(
    `insert into pillarbox.scan_marks (scan, tenant_id, position) values ('stale', :tenantId, :position)
      on conflict (scan, tenant_id) do update set position = excluded.position`,
    { tenantId, position: Number(last['audit_id']) },
  )
  const accepted = looked.filter((attempt) => attempt['outcome'] === 'accepted' && !booleanOf(attempt['late']))
  const stale = yield* row(
    `select count(*) as count from :g ${dialect.lookedUp('notifications', 'n', 'n.id = g.id')}
        left join pillarbox.dispatch d on d.notification_id = g.id
        left join pillarbox.settled s on s.notification_id = g.id
      where n.provider in (:providers) and d.notification_id is null and coalesce(s.status, 'sent') = 'sent'`,
    {
      g: givenIds(accepted.map((attempt) => String(attempt['notification_id']))),
      providers: givenList([...PROVIDERS_WITH_RECEIPTS]),
    },
  )
  return { stale: Number(stale?.['count']), isMore: tooYoung === -1 && attempts.length === limit }
}

function* retryingAccounts(): Script<RetryingAccount[]> {
  const found = yield* rows(
    `select a.id, a.tenant_id, a.parked_retry_after_ms from pillarbox.accounts a
        join pillarbox.lanes l on l.account_id = a.id
      where a.parked_retry_after_ms is not null and a.removed_at is null and a.status = 'active'
        and l.breaker = 'closed' order by a.id`,
  )
  return found.map((account) => ({
    id: String(account['id']),
    tenantId: String(account['tenant_id']),
    afterMs: Number(account['parked_retry_after_ms']),
  }))
}

/** Who last took the notification of a settled row `s` out of where it had stopped: somebody, or nobody but us. */
const LAST_RETRIED_BY = `(select r.actor from pillarbox.audit r
  where r.notification_id = s.notification_id and r.action = 'retry' and r.from_status in ('parked', 'uncertain')
  order by r.id desc limit 1)`

function* parkedToRetry(
  dialect: Dialect,
  { tenantId, id, afterMs }: RetryingAccount,
  { reasons, windowMs, limit }: Parameters<ScanStore['parkedToRetry']>[1],
): Script<string[]> {
  const now = yield* storeTime(dialect)
  const found = yield* rows(
    `select s.notification_id from pillarbox.settled s join pillarbox.notifications n on n.id = s.notification_id
      where s.tenant_id = :tenantId and s.status = 'parked' and s.reason in (:reasons) and not s.possible_duplicate
        and s.settled_at >= ${dialect.instant(':from')} and s.settled_at < ${dialect.instant(':to')}
        and n.account_id = :id and (n.expires_at is null or n.expires_at > ${dialect.now})
        and coalesce(${LAST_RETRIED_BY}, '') <> :system
      order by s.settled_at limit :limit`,
    {
      tenantId,
      id,
      reasons: givenList([...reasons]),
      from: now - afterMs - windowMs,
      to: now - afterMs,
      system: SYSTEM,
      limit,
    },
  )
  return found.map((each) => String(each['notification_id']))
}
