import type { Claim, ClaimAnswer, ClaimRequest } from '../../dispatch/dispatch-store.ts'
import { CLAIM_COLUMNS, type ClaimRow, claimOf } from '../shared/claims.ts'
import type { Connection } from './connection.ts'

const WORKER = 'select 1 from pillarbox.workers where id = $1'
const LANE = 'select breaker, hold_until from pillarbox.lanes where account_id = $1'
const NEW_TOKENS = 'update pillarbox.claim_tokens set value = value + $1 returning value'

/** The order is the claim index's; the cross join keeps the planner from starting with the ledger. */
const DUE = `select ${CLAIM_COLUMNS} from pillarbox.dispatch d cross join pillarbox.notifications n
  where d.lane_id = $1 and d.visible_at <= $2 and d.token is null and n.id = d.notification_id
  order by d.visible_at, d.notification_id limit $3`

const DUE_CHAINED = DUE.replace('order by', 'and n.fallback is not null and not d.possible_duplicate order by')

const CLAIM = `update pillarbox.dispatch set token = $2, worker_id = $3, claimed_at = $4, attempt = attempt + 1
  where notification_id = $1`

/**
 * The values of a `ClaimRow` in the order of `CLAIM_FIELDS`. SQLite's driver makes the names of 20 columns anew for every
 * row: with named rows, draining SQLite (the benchmark's row `e2`, `pillarbox-sqlite`) took a quarter more processor time.
 */
type ClaimValues = readonly ClaimRow[keyof ClaimRow][]

function claimRow(values: ClaimValues): ClaimRow {
  return {
    notification_id: values[0],
    lane_id: values[1],
    token: values[2],
    attempt: values[3],
    spent: values[4],
    possible_duplicate: values[5],
    tenant_id: values[6],
    channel: values[7],
    recipient: values[8],
    content: values[9],
    policy: values[10],
    event_type: values[11],
    entity_type: values[12],
    entity_id: values[13],
    locale: values[14],
    correlation_id: values[15],
    fallback: values[16],
    expires_at: values[17],
    overrides_suppression: values[18],
    traceparent: values[19],
    site: values[20],
    wanted_at: values[21],
    visible_at: values[22],
  } as ClaimRow
}

/** Claims due rows of each lane; see `claim` in dispatch/dispatch-store.ts. */
export function claim(connection: Connection, now: number, { workerId, lanes }: ClaimRequest): ClaimAnswer {
  if (connection.prepare(WORKER).get(workerId) === undefined) return { fenced: true }
  const claims: Claim[] = []
  const update = connection.prepare(CLAIM)
  for (const { accountId, limit, probe, chained } of lanes) {
    if (limit <= 0 || (!probe && !isOpen(connection, accountId, now))) continue
    const found = connection
      .prepareArrays(chained ? DUE_CHAINED : DUE)
      .all(accountId, now, limit) as unknown as ClaimValues[]
    if (found.length === 0) continue
    let token = firstToken(connection, found.length)
    for (const values of found) {
      const row = claimRow(values)
      update.run(row.notification_id, token, workerId, now)
      row.attempt += 1
      row.token = token++
      claims.push(claimOf(row, now))
    }
  }
  return { fenced: false, claims }
}

function isOpen(connection: Connection, accountId: string, now: number): boolean {
  const lane = connection.prepare(LANE).get(accountId)
  if (!lane) return true
  return lane['breaker'] === 'closed' && (lane['hold_until'] === null || Number(lane['hold_until']) <= now)
}

/** The first of `count` tokens in a row that nobody had before. */
function firstToken(connection: Connection, count: number): number {
  return Number(connection.prepare(NEW_TOKENS).get(count)?.['value']) - count + 1
}

/** Never one in doubt: its call may have been made, so it is only settled, by this worker or by the next rescuer. */
const RELEASE = `update pillarbox.dispatch set token = null, worker_id = null, claimed_at = null, attempt = attempt - 1
  where notification_id = $1 and token = $2 and worker_id = $3 and in_doubt = 0`

/** Gives unsent claims back; see `release` in dispatch/dispatch-store.ts. */
export function release(
  connection: Connection,
  workerId: string,
  claims: readonly { notificationId: string; token: number }[],
): void {
  const update = connection.prepare(RELEASE)
  for (const { notificationId, token } of claims) update.run(notificationId, token, workerId)
}
