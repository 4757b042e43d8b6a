import type { Ending } from '../shared/plan-changes.ts'
import { stopWaiting, WAITING_COLUMNS } from '../shared/settle.ts'
import { stopBy } from '../shared/transitions.ts'
import { insertAudit } from './audit.ts'
import type { Connection } from './connection.ts'
import { dialect, runScript } from './scripts.ts'

const STANDING = `select s.id, s.status from pillarbox.schedules s
  join pillarbox.events e on e.tenant_id = s.tenant_id and e.id = s.event_id
  where s.tenant_id = $1 and s.entity_type = $2 and s.entity_id = $3 and s.event_type = $4
    and s.status in ('pending', 'awaiting_approval') and e.created_at <= $5 order by s.id`

const CANCEL = `update pillarbox.schedules set status = $2, next_attempt_at = null, last_error = $3 where id = $1`

/** What is claimed is left to its worker. */
const WAITING = `select ${WAITING_COLUMNS}
  from pillarbox.notifications n cross join pillarbox.dispatch d
  left join pillarbox.events e on e.tenant_id = n.tenant_id and e.id = n.event_id
  where n.tenant_id = $1 and n.entity_type = $2 and n.entity_id = $3 and n.event_type = $4
    and d.notification_id = n.id and d.token is null and coalesce(e.created_at, n.created_at) <= $5
  order by d.notification_id`

const REMEMBER = `insert into pillarbox.cancellations (tenant_id, entity_type, entity_id, event_type, at)
  values ($1, $2, $3, $4, $5)
  on conflict (tenant_id, entity_type, entity_id, event_type) do update set at = max(at, excluded.at)`

/** Puts an end to what stands for an entity because of earlier events; see `Ending`. */
export function cancel(connection: Connection, ending: Ending): void {
  const { tenantId, entity, eventType, reason, at } = ending
  const stop = stopBy(ending)
  const { to, action, actor, error } = stop
  const key = [tenantId, entity.type, entity.id, eventType, at] as const
  const standing = connection.prepare(STANDING).all(...key)
  for (const { id } of standing) connection.prepare(CANCEL).run(String(id), to, error)
  const audits = standing.map(({ id, status }) => ({
    tenantId,
    actor,
    action,
    subject: `schedule:${String(id)}`,
    from: String(status),
    to,
    reason,
  }))
  insertAudit(connection, ...audits)
  if (reason === 'replaced') return
  runScript(connection, stopWaiting(dialect, connection.prepare(WAITING).all(...key), stop))
  connection.prepare(REMEMBER).run(...key)
}
