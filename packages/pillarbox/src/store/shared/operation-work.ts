import type { Operation, OperationItem } from '../../model/operation.ts'
import type { CanaryItem, Checkpoint, OperationStore, TakenOperation } from '../../operate/operation-store.ts'
import { writeAudit } from './audit.ts'
import { textOrNull } from './fields.ts'
import { nounOf } from './noun.ts'
import { STAND_COLUMNS, standOf } from './operation-items.ts'
import { type Dialect, instantOf, instantOrNull, row, rows, type Script } from './script.ts'

/** What the worker of an operation asks for, and writes. */

export const OPERATIONS = nounOf<Operation>('operations', {
  id: 'uuid',
  tenantId: 'text',
  action: 'text',
  options: 'json',
  status: 'text',
  total: 'number',
  done: 'number',
  leftAlone: 'number',
  failed: 'number',
  startedBy: 'text',
  startedAt: 'instant',
  note: 'text',
  perSecond: 'number',
  canary: 'number',
  graceUntil: 'instant',
  endedAt: 'instant',
  problem: 'text',
})

export function* takeOperation(dialect: Dialect, leaseMs: number): Script<TakenOperation | null> {
  const { now } = dialect
  // A canary that is all there is protects nothing.
  const taken = yield* row(
    `update pillarbox.operations set leased_until = ${dialect.plus(now, ':leaseMs')}, worked_at = ${now},
        begun_at = coalesce(begun_at, ${now}),
        status = case when status <> 'grace' then status when canary > 0 and canary < total then 'canary' else 'running' end
      where id in (
        select o.id from pillarbox.operations o
        where o.status in ('grace', 'canary', 'running') and (o.status <> 'grace' or o.grace_until <= ${now})
          and (o.leased_until is null or o.leased_until <= ${now})
        order by o.worked_at limit 1 ${dialect.skipLocked('o')}
      )
      returning ${OPERATIONS.columns}, position, canary_until, ${now} as now`,
    { leaseMs },
  )
  if (!taken) return null
  const until = instantOrNull(taken['canary_until'])
  const operation = OPERATIONS.of(taken)
  const status = operation.status === 'canary' ? 'canary' : 'running'
  const canaryLeftMs = until === null ? null : until - instantOf(taken['now'])
  return { ...operation, status, position: Number(taken['position']), canaryLeftMs }
}

export function* nextItems(
  operationId: string,
  afterPlace: number,
  limit: number,
): Script<Awaited<ReturnType<OperationStore['nextItems']>>> {
  const found = yield* rows(
    `select place, notification_id, outcome from pillarbox.operation_items
      where operation_id = :operationId and place > :afterPlace order by place limit :limit`,
    { operationId, afterPlace, limit },
  )
  return found.map((each) => ({
    place: Number(each['place']),
    notificationId: String(each['notification_id']),
    outcome: textOrNull(each['outcome']) as OperationItem['outcome'],
  }))
}

export function* canaryItems(operationId: string): Script<CanaryItem[]> {
  const found = yield* rows(
    `select i.notification_id, i.outcome, i.why, s.reason, ${STAND_COLUMNS}
      from pillarbox.operation_items i
      left join pillarbox.dispatch d on d.notification_id = coalesce(i.result_id, i.notification_id)
      left join pillarbox.settled s on s.notification_id = coalesce(i.result_id, i.notification_id)
      where i.operation_id = :operationId and i.outcome in ('done', 'failed') order by i.place`,
    { operationId },
  )
  return found.map((each) => ({
    notificationId: String(each['notification_id']),
    outcome: String(each['outcome']) as CanaryItem['outcome'],
    why: textOrNull(each['why']),
    status: standOf(each).status,
    reason: textOrNull(each['reason']),
  }))
}

export function* checkpoint(
  dialect: Dialect,
  { operationId: id, from, position, to, problem, leaseMs, canaryMs }: Checkpoint,
): Script<void> {
  const found = yield* row(
    `select o.tenant_id, o.status, o.position from pillarbox.operations o where o.id = :id ${dialect.lock('o')}`,
    { id },
  )
  if (!found || Number(found['position']) !== from) return
  const counted = yield* rows(
    `select outcome, count(*) as count from pillarbox.operation_items
      where operation_id = :id and place > :from and place <= :position and outcome is not null group by outcome`,
    { id, from, position },
  )
  const count = (outcome: string): number => Number(counted.find((each) => each['outcome'] === outcome)?.['count'] ?? 0)
  const status = String(found['status'])
  const isRunning = status === 'canary' || status === 'running'
  const next = isRunning && to !== null ? to : status
  const isOver = next !== status && next !== 'running'
  yield* rows(
    `update pillarbox.operations set position = :position, status = :next, done = done + :done,
        left_alone = left_alone + :leftAlone, failed = failed + :failed,
        ${isOver ? `ended_at = ${dialect.now}, problem = :problem,` : ''}
        ${canaryMs === undefined ? '' : `canary_until = ${dialect.plus(dialect.now, ':canaryMs')},`}
        leased_until = ${leaseMs > 0 ? dialect.plus(dialect.now, ':leaseMs') : 'null'}, worked_at = ${dialect.now}
      where id = :id`,
    {
      id,
      position,
      next,
      done: count('done'),
      leftAlone: count('left_alone'),
      failed: count('failed'),
      problem: problem ?? null,
      leaseMs,
      canaryMs: canaryMs ?? 0,
    },
  )
  if (!isOver) return
  const tenantId = String(found['tenant_id'])
  const audit = { tenantId, actor: 'system', subject: `operation:${id}`, from: status, to: next, operationId: id }
  yield* writeAudit(dialect, { ...audit, action: next === 'done' ? 'complete' : 'fail', note: problem ?? null })
}
