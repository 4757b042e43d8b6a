import type { NewNotification, SettledStatus } from '../../model/notification.ts'
import { secondOf } from '../../model/rollup.ts'
import type { NotificationStore } from '../../plan/notification-store.ts'
import { act, handAudits, takeRepeated } from '../shared/act.ts'
import type { KeyOwner } from '../shared/duplicates.ts'
import { booleanOf, isSealed, textOrNull } from '../shared/fields.ts'
import { NEW_NOTIFICATION } from '../shared/new-rows.ts'
import { plainMove } from '../shared/rollup-deltas.ts'
import { bornPrint } from '../shared/transitions.ts'
import { insertAudit } from './audit.ts'
import type { Connection } from './connection.ts'
import { type Gathered, gather, gatherMarks, insertGathered } from './marks.ts'
import { type Connections, dialect, insertText, runScript } from './scripts.ts'

export function openNotifications({
  connection,
  writer,
}: Connections): Pick<NotificationStore, 'insert' | 'insertByHand' | 'act'> {
  return {
    insert: (notifications) =>
      writer.write((now) => {
        const gathered = gather()
        const answers = notifications.map((notification) => {
          const { id, duplicate } = insertNotification(connection, notification, now, gathered)
          return { id, duplicate: duplicate !== false }
        })
        insertGathered(connection, gathered)
        return answers
      }),
    insertByHand: (notifications, by) =>
      writer.write((now) => {
        if (by.item && !runScript(connection, takeRepeated(dialect, by.item, notifications))) return false
        insertNotifications(connection, notifications, now)
        insertAudit(connection, ...handAudits(notifications, by))
        return true
      }),
    act: (request) =>
      writer.write((now) => {
        const acted = runScript(connection, act(dialect, request))
        if (acted?.moved && request.correction) insertNotifications(connection, [request.correction], now)
        return acted
      }),
  }
}

const VALUES = Object.values(NEW_NOTIFICATION).map(({ of }) => of)
const INSERT = `${insertText('notifications', [...Object.keys(NEW_NOTIFICATION), 'created_at'])}
  on conflict (tenant_id, idempotency_key) do nothing`
const FIRST = `select n.id, n.event_id, n.place, s.status, s.reason, s.possible_duplicate from pillarbox.notifications n
  left join pillarbox.settled s on s.notification_id = n.id where n.tenant_id = $1 and n.idempotency_key = $2`

const ENQUEUE = 'insert into pillarbox.dispatch (notification_id, lane_id, visible_at) values ($1, $2, $3)'

const STOP = `insert into pillarbox.settled (notification_id, tenant_id, status, reason, last_error, fingerprint, settled_at)
  values ($1, $2, $3, $4, $5, $6, $7)`

const SEAL = 'insert into pillarbox.sealed_contents (notification_id, tenant_id, event_id) values ($1, $2, $3)'

/** Writes notifications inside a transaction, with what they add to other tables; answers their ids. */
export function insertNotifications(
  connection: Connection,
  notifications: readonly NewNotification[],
  now: number,
): string[] {
  const gathered = gather()
  const ids = notifications.map((notification) => insertNotification(connection, notification, now, gathered).id)
  insertGathered(connection, gathered)
  return ids
}

/**
 * One ledger row with its dispatch or settled row, inside a transaction; what that adds to other tables is put to
 * `gathered`, which the caller writes. `lane`: the account that now has due work.
 * A repeated key answers the one that has it and writes nothing.
 */
export function insertNotification(
  connection: Connection,
  n: NewNotification,
  now: number,
  gathered: Gathered,
): { id: string; duplicate: false; lane: string | null } | { id: string; duplicate: KeyOwner; lane: null } {
  const written = connection.prepare(INSERT).run(...VALUES.map((of) => of(n)), now)
  if (written.changes === 0) {
    const found = connection.prepare(FIRST).get(n.tenantId, n.idempotencyKey) ?? {}
    const first = {
      id: String(found['id']),
      eventId: textOrNull(found['event_id']),
      place: textOrNull(found['place']),
      status: textOrNull(found['status']) as SettledStatus | null,
      reason: textOrNull(found['reason'] ?? null),
      possibleDuplicate: booleanOf(found['possible_duplicate'] ?? 0),
    }
    return { id: first.id, duplicate: first, lane: null }
  }
  gatherMarks(gathered, n)
  if (isSealed(n.content)) connection.prepare(SEAL).run(n.id, n.tenantId, n.eventId)
  if (n.stopped) {
    const { status, reason, error } = n.stopped
    connection.prepare(STOP).run(n.id, n.tenantId, status, reason, error, bornPrint(n), now)
    gathered.moves.push(plainMove({ group: n, from: 'new', to: status, atSecond: secondOf(now) }))
    return { id: n.id, duplicate: false, lane: null }
  }
  const visibleAt = Math.max(n.dueAt ?? now, now)
  connection.prepare(ENQUEUE).run(n.id, n.accountId, visibleAt)
  const [atSecond, dueSecond] = [secondOf(now), secondOf(visibleAt)]
  gathered.moves.push(plainMove({ group: n, from: 'new', to: 'live', atSecond, dueSecond }))
  return { id: n.id, duplicate: false, lane: visibleAt <= now ? n.accountId : null }
}
