import { until } from '../support/until.ts'
import type { SandboxMessage, World } from '../support/world.ts'
import { call, type Order, POLICIES, type ShopChannel, TENANT } from './shop.ts'

/** A notification as the API shows it to an operator. */
export interface Seen {
  id: string
  status: string
  reason: string | null
  channel: ShopChannel
  eventId: string | null
  idempotencyKey: string
  attemptCount: number
  possibleDuplicate: boolean
  attempts: { number: number; outcome: string; code: string | null; late: boolean; workerId: string }[]
}

/** What the run came to: the ledger as an operator sees it beside what the vendor really took. */
export interface Reckoning {
  notifications: Seen[]
  messages: SandboxMessage[]
  /** Broken promises, in words; empty when all are kept. */
  broken: string[]
}

export interface Expected {
  /** Of a process that answers. */
  url: string
  world: Pick<World, 'sandboxMessages'>
  orders: readonly Order[]
  channels: readonly ShopChannel[]
  /** Orders whose one notification was sent straight to the ledger. */
  direct?: readonly Order[]
}

const LIVE = ['queued', 'sending', 'retrying']

/** Resolves when nothing is left to do, judged from outside; then holds the ledger against the vendor's own record. */
export async function reckon(expected: Expected): Promise<Reckoning> {
  await untilQuiet(expected.url)
  const notifications = await readLedger(expected.url)
  const messages = expected.world.sandboxMessages()
  const failed = await list<{ id: string; lastError: string }>(
    expected.url,
    `/ops/outbox?status=failed&tenantId=${TENANT}`,
  )
  const broken = [
    ...failed.map(({ id, lastError }) => `P1: event ${id} failed: ${lastError}`),
    ...nothingLost(expected, notifications),
    ...noSilentDuplicate(notifications, messages),
  ]
  return { notifications, messages, broken }
}

/** No event waits to be planned and no notification to be sent. */
export async function untilQuiet(url: string): Promise<void> {
  let waiting = ''
  await until('nothing is left to do', async () => {
    // In this order: an event and its notifications change hands in one transaction.
    const pending = await list(url, `/ops/outbox?status=pending&tenantId=${TENANT}`)
    const live = await listLive(url)
    const some = live.slice(0, 5).map(({ id, status, attemptCount }) => `${id} ${status} after ${attemptCount}`)
    waiting = `${pending.length} events, ${live.length} notifications: ${some.join(', ')}`
    return pending.length + live.length === 0
  }).catch((error: unknown) => {
    throw new Error(`P1: not at rest in time; waiting: ${waiting}`, { cause: error })
  })
}

/** Notifications that are to be sent, or are being sent. */
export function listLive(url: string, statuses: readonly string[] = LIVE): Promise<Seen[]> {
  return list(url, `/api/notifications?tenantId=${TENANT}&${statuses.map((status) => `status=${status}`).join('&')}`)
}

async function readLedger(url: string): Promise<Seen[]> {
  const rows = await list<Seen>(url, `/api/notifications?tenantId=${TENANT}`)
  for (const row of rows) {
    // One attempt and done has no story to tell.
    if (row.attemptCount === 1 && row.status === 'sent') row.attempts = []
    else row.attempts = (await call<Seen>(url, 'GET', `/api/notifications/${row.id}?tenantId=${TENANT}`)).attempts
  }
  return rows
}

async function list<T>(url: string, path: string): Promise<T[]> {
  const items: T[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { items: T[]; nextCursor: string | null } = await call(
      url,
      'GET',
      `${path}&limit=200${cursor && `&cursor=${cursor}`}`,
    )
    items.push(...page.items)
    cursor = page.nextCursor
  }
  return items
}

/** P1 and P2: everything acknowledged has exactly its notifications, and nothing else is there. */
function nothingLost({ orders, channels, direct = [] }: Expected, rows: readonly Seen[]): string[] {
  const broken: string[] = []
  const wanted = new Map<string, boolean>()
  for (const { id, acknowledged } of orders)
    for (const channel of channels) wanted.set(`${id}/${channel}`, acknowledged)
  for (const { id, acknowledged } of direct) wanted.set(id, acknowledged)
  const found = new Set<string>()
  for (const row of rows) {
    const name = row.eventId === null ? row.idempotencyKey : `${row.eventId}/${row.channel}`
    if (found.has(name)) broken.push(`P2: two notifications for ${name}`)
    found.add(name)
    if (!wanted.has(name)) broken.push(`P2: nobody asked for ${name}`)
    const isHeld = POLICIES[row.channel].onUnknown === 'hold' && row.status === 'uncertain'
    if (row.status !== 'sent' && !isHeld) broken.push(`P1: ${name} ended ${row.status} (${row.reason})`)
  }
  for (const [name, acknowledged] of wanted)
    if (acknowledged && !found.has(name)) broken.push(`P1: ${name} was acknowledged and is not there`)
  return broken
}

/** P4, and that "sent" means sent: the vendor's count per notification agrees with what the ledger admits to. */
function noSilentDuplicate(rows: readonly Seen[], messages: readonly SandboxMessage[]): string[] {
  const broken: string[] = []
  const ids = new Set(rows.map((row) => row.id))
  for (const { notificationId } of messages)
    if (!ids.has(notificationId))
      broken.push(`P3: the vendor has a message of ${notificationId}, which is not in the ledger`)
  const taken = Map.groupBy(messages, (message) => message.notificationId)
  for (const row of rows) {
    const name = `${row.id.slice(-6)} (${row.channel}, ${row.status})`
    const count = taken.get(row.id)?.length ?? 0
    const hasUnknown = row.attempts.some((attempt) => attempt.outcome === 'unknown')
    if (row.status === 'sent' && count === 0) broken.push(`P1: ${name} never reached the vendor`)
    if (row.status === 'uncertain' && !hasUnknown) broken.push(`P4: ${name} is held, and no attempt of it is unknown`)
    if (row.channel === 'whatsapp' && count > 1)
      broken.push(`P4: ${name} was sent ${count} times though it must be held`)
    if (row.channel === 'email' && row.possibleDuplicate)
      broken.push(`P4: ${name} is flagged though its vendor honours keys`)
    if (count > 1 && !row.possibleDuplicate) broken.push(`P4: ${name} arrived ${count} times and is not flagged`)
    if (count > 1 && !hasUnknown) broken.push(`P4: ${name} arrived ${count} times without an unknown attempt`)
  }
  return broken
}
