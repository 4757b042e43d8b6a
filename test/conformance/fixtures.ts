import assert from 'node:assert/strict'
import type { Claim, Completion } from '../../packages/pillarbox/src/dispatch/dispatch-store.ts'
import type { Channel } from '../../packages/pillarbox/src/model/channel.ts'
import type { NewEvent, StoredEvent } from '../../packages/pillarbox/src/model/event.ts'
import { skippedKey } from '../../packages/pillarbox/src/model/idempotency.ts'
import type {
  Content,
  NewNotification,
  NotificationStatus,
  NotificationView,
} from '../../packages/pillarbox/src/model/notification.ts'
import type { Page, PageOf } from '../../packages/pillarbox/src/model/page.ts'
import type { ReceiptKind } from '../../packages/pillarbox/src/model/receipt.ts'
import type { StoredSchedule } from '../../packages/pillarbox/src/model/schedule.ts'
import type { ActRequest } from '../../packages/pillarbox/src/plan/notification-store.ts'
import type { Cancels, EventPlan } from '../../packages/pillarbox/src/plan/plan-store.ts'
import type { NewReceipt } from '../../packages/pillarbox/src/receipts/receipt-store.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'

/** A store as an engine's test file opens it: empty, migrated, and with time that can be moved on. */
export interface OpenStore {
  store: Store
  /** Moves the store's time. On an engine that uses the database's clock this really waits, so rules keep it short. */
  advance(ms: number): Promise<void>
  /** A second handle on the same database, as another process has one. Absent where there can be none. */
  another?(): Promise<Store>
  /** Every row of every table, by table and column, as the engine's driver gives them. Absent where nobody else can look. */
  tables?(): Promise<Record<string, Record<string, unknown>[]>>
  /** `hasFailed`: the rule was not kept, and what it has begun may still be under way. */
  close(hasFailed: boolean): Promise<void>
}

/** Registers one promise of the contract as a test with a fresh store. */
export type Rule = (name: string, body: (bench: Bench) => Promise<void>) => void

/** An account of a tenant: what notifications are queued on and claimed from. */
export interface Lane {
  id: string
  tenantId: string
  channel: Channel
}

/** One rule's store, and short ways to put things into it. Each bench has ids and names of its own. */
export interface Bench {
  store: Store
  /** The same database as another process has it; where there can be none, the same store. */
  another(): Promise<Store>
  advance(ms: number): Promise<void>
  /** Every row of every table; null where nobody but the store can look. */
  tables(): Promise<Record<string, Record<string, unknown>[]>> | null
  /** UUIDv7s that sort in the order they were made. */
  newId(): string
  /** A new tenant's id. */
  tenant(): Promise<string>
  /** A new active account; of a new tenant unless one is named. */
  lane(options?: { tenantId?: string; channel?: Channel }): Promise<Lane>
  /** A new registered worker's id. */
  worker(): Promise<string>
  event(tenantId: string, changes?: Partial<NewEvent>): NewEvent
  notification(lane: Lane, changes?: Partial<NewNotification>): NewNotification
  /** Inserts `count` notifications on the lane and answers their ids in order. */
  enqueue(lane: Lane, count?: number, changes?: Partial<NewNotification>): Promise<string[]>
  /** Claims up to `limit` rows of one lane; fails when the worker is fenced. */
  claim(workerId: string, lane: Lane, limit?: number): Promise<Claim[]>
  view(id: string): Promise<NotificationView>
  storedEvent(tenantId: string, id: string): Promise<StoredEvent>
  schedule(tenantId: string, id: string): Promise<StoredSchedule>
  /** Says that the rule removes history: what has happened stays in the sums, and a count of the rows no longer finds it. */
  purges(): void
  hasPurged(): boolean
}

/** Far enough away that no test machine is slow enough to get there. */
export const FAR_MS = 600_000

export async function createBench({ store, advance, another, tables }: OpenStore): Promise<Bench> {
  let time = await store.now()
  let count = 0
  const next = (): number => ++count
  const newId = (): string => {
    const n = next()
    const stamp = Math.floor(time + n / 4096)
      .toString(16)
      .padStart(12, '0')
    const rest = (n % 4096).toString(16).padStart(3, '0')
    return `${stamp.slice(0, 8)}-${stamp.slice(8)}-7${rest}-8000-${n.toString(16).padStart(12, '0')}`
  }

  let hasPurged = false
  const bench: Bench = {
    store,
    purges: () => {
      hasPurged = true
    },
    hasPurged: () => hasPurged,
    another: async () => (await another?.()) ?? store,
    newId,
    tables: () => tables?.() ?? null,
    async advance(ms) {
      assert.ok(ms <= 50, 'a rule moves the time by at most 50 ms: on PostgreSQL it is waited for')
      await advance(ms)
      time += ms
    },
    async tenant() {
      const id = `tenant-${next()}`
      assert.ok(await store.tenants.insert({ id, name: id, defaultLocale: 'en', timeZone: 'UTC', settings: {} }))
      return id
    },
    async lane({ tenantId, channel = 'email' } = {}) {
      const lane = { id: newId(), tenantId: tenantId ?? (await bench.tenant()), channel }
      const inserted = await store.accounts.insert({
        ...lane,
        provider: 'sandbox',
        name: `account-${next()}`,
        settings: {},
        sealedSecrets: null,
        secretNames: [],
        pace: null,
        retry: null,
        onUnknown: 'resend',
        breaker: { failures: 5, resetAfterMs: 30_000 },
        priority: 0,
        status: 'active',
        statusReason: null,
      })
      assert.ok(inserted)
      return lane
    },
    async worker() {
      const id = newId()
      await store.workers.register({ id, host: 'host', pid: next(), version: '0.0.0', channels: null })
      return id
    },
    event: (tenantId, changes = {}) => ({
      id: `event-${next()}`,
      tenantId,
      type: 'booking.confirmed',
      entity: { type: 'booking', id: '42' },
      payload: { guest: 'Ada' },
      occurredAt: null,
      dueAt: null,
      correlationId: null,
      locale: null,
      recipients: null,
      channels: null,
      conversation: null,
      schemaVersion: 1,
      topic: null,
      publishedBy: null,
      ...changes,
    }),
    notification: (lane, changes = {}) => ({
      id: newId(),
      tenantId: lane.tenantId,
      idempotencyKey: `key-${next()}`,
      channel: lane.channel,
      accountId: lane.id,
      provider: 'sandbox',
      to: { email: 'ada@example.test', phone: '+4915112345678' },
      content: content('Hello'),
      contactId: null,
      conversationId: null,
      policy: null,
      eventId: null,
      eventType: null,
      scheduleId: null,
      entity: null,
      templateId: null,
      templateVersion: null,
      locale: null,
      correlationId: null,
      executionId: null,
      parentExecutionId: null,
      site: null,
      triggeredBy: 'system',
      fallback: [],
      fallbackOf: null,
      correctedFrom: null,
      warnings: [],
      dueAt: null,
      expiresAt: null,
      place: null,
      duplicateOf: null,
      stopped: null,
      ...changes,
    }),
    async enqueue(lane, count = 1, changes = {}) {
      const rows = Array.from({ length: count }, () => bench.notification(lane, changes))
      const answers = await store.notifications.insert(rows)
      return answers.map(({ id }) => id)
    },
    async claim(workerId, lane, limit = 1) {
      const answer = await store.dispatch.claim(workerId, [{ accountId: lane.id, limit }])
      assert.ok(!answer.fenced, 'the worker is fenced')
      // Which rows come first is promised; in what order they are named, the server's plan decides.
      return answer.claims.toSorted((a, b) => (a.notificationId < b.notificationId ? -1 : 1))
    },
    async view(id) {
      const view = await store.notifications.find(null, id)
      assert.ok(view, `notification ${id} is gone`)
      return view
    },
    async storedEvent(tenantId, id) {
      const event = await store.events.find(tenantId, id)
      assert.ok(event, `event ${id} is gone`)
      return event
    },
    async schedule(tenantId, id) {
      const schedule = await store.schedules.find(tenantId, id)
      assert.ok(schedule, `schedule ${id} is gone`)
      return schedule
    },
  }
  return bench
}

export function content(body: string): Content {
  return { subject: null, body, data: {} }
}

/** An event that is due now, and what it puts an end to. */
export function dueNow(
  scheduleId: string,
  notifications: NewNotification[] = [],
  cancels: Cancels | null = null,
): EventPlan {
  return { kind: 'notifications', scheduleId, notifications, cancels }
}

/** An event that is due later. */
export function dueLater(
  scheduleId: string,
  dueAt: number,
  changes: Partial<Extract<EventPlan, { kind: 'schedule' }>> = {},
): EventPlan {
  return { kind: 'schedule', scheduleId, dueAt, needsApproval: false, cancels: null, ...changes }
}

/** What a retry by hand brings along for a notification that was born parked. */
export function replacementOn(
  { id: accountId, channel }: Lane,
  changes: Partial<NonNullable<ActRequest['replacement']>> = {},
): NonNullable<ActRequest['replacement']> {
  return {
    accountId,
    provider: 'sandbox',
    channel,
    content: content('x'),
    templateId: null,
    templateVersion: null,
    locale: null,
    to: { email: 'ada@example.test' },
    fallback: [],
    warnings: [],
    idempotencyKey: 'planned-anew',
    ...changes,
  }
}

/** What planning answers for a notification that could not be addressed or worded: visible, and waiting for a remedy. */
export function bornParked(): Partial<NewNotification> {
  return {
    accountId: null,
    provider: null,
    content: null,
    stopped: { status: 'parked', reason: 'no_active_channels', error: 'the tenant has no active email account' },
  }
}

/** What planning answers where there is nothing to send on a channel to the recipient at a place of the event. */
export function bornSkipped(eventId: string, place: string): Partial<NewNotification> {
  return {
    eventId,
    place,
    idempotencyKey: skippedKey({ eventId, place, channel: 'email' }),
    accountId: null,
    provider: null,
    content: null,
    stopped: { status: 'skipped', reason: 'no_address', error: 'no address for email' },
  }
}

/** The completion a dispatcher writes for this claim when it moves to `to`; `changes` says what is special. */
export function completion(claim: Claim, to: Completion['to'], changes: Partial<Completion> = {}): Completion {
  return {
    notificationId: claim.notificationId,
    tenantId: claim.tenantId,
    correlationId: claim.correlationId,
    accountId: claim.accountId,
    counted: claim,
    token: claim.token,
    attempt: claim.attempt,
    provider: 'sandbox',
    code: null,
    error: null,
    providerMessageId: null,
    resolvedTargets: null,
    answer: null,
    refused: null,
    ageMs: 8,
    durationMs: 7,
    to,
    reason: null,
    delayMs: 0,
    moveTo: null,
    spent: claim.spent + 1,
    possibleDuplicate: claim.possibleDuplicate,
    next: null,
    ...usual(claim, to),
    ...changes,
  }
}

function usual(claim: Claim, to: Completion['to']): Partial<Completion> & Pick<Completion, 'outcome'> {
  switch (to) {
    case 'sent':
      return { outcome: 'accepted', providerMessageId: `accepted-${claim.notificationId}` }
    case 'retrying':
      return { outcome: 'transient', code: '503', error: 'try again', delayMs: FAR_MS }
    case 'parked':
      return { outcome: 'permanent', code: '550', error: 'no such user', reason: 'invalid_recipient' }
    case 'uncertain':
      return {
        outcome: 'unknown',
        code: 'timeout',
        error: 'no answer',
        reason: 'outcome_unknown',
        possibleDuplicate: true,
      }
    case 'failed':
      return { outcome: 'permanent', code: '550', error: 'no such user', reason: 'fallback_triggered:sms' }
    case 'cancelled':
      return { outcome: null, error: 'it was not sent in time', reason: 'expired', spent: claim.spent }
  }
}

/** What the provider says of a notification that `completion` sent. */
export function receiptOf(
  { tenantId }: Pick<Lane, 'tenantId'>,
  notificationId: string,
  kind: ReceiptKind,
  changes: Partial<NewReceipt> = {},
): NewReceipt {
  const isFailure = kind === 'failed' || kind === 'bounced'
  return {
    tenantId,
    notificationId,
    provider: 'sandbox',
    providerMessageId: `accepted-${notificationId}`,
    kind,
    recipient: null,
    failure: isFailure ? { reason: 'unreachable', code: '550', error: 'mailbox unavailable', to: 'parked' } : null,
    at: RECEIPT_AT[kind],
    next: null,
    ...changes,
  }
}

/** When each kind is said to have happened. */
export const RECEIPT_AT: Readonly<Record<ReceiptKind, number>> = {
  sent: 1_767_225_599_000,
  failed: 1_767_225_599_500,
  delivered: 1_767_225_600_000,
  bounced: 1_767_225_601_000,
  complained: 1_767_225_602_000,
  read: 1_767_225_603_000,
}

/** Every status that the contract's own methods lead to; receipts lead to the other two. */
export const REACHABLE = [
  'queued',
  'sending',
  'retrying',
  'sent',
  'parked',
  'uncertain',
  'failed',
  'discarded',
  'cancelled',
] as const satisfies NotificationStatus[]

export type Reachable = (typeof REACHABLE)[number]

/** A new notification on a lane of its own, brought to `status` the way production does it. */
export async function reach(
  bench: Bench,
  status: Reachable,
  tenantId?: string,
  changes: Partial<NewNotification> = {},
): Promise<{ id: string; lane: Lane }> {
  const lane = await bench.lane(tenantId === undefined ? {} : { tenantId })
  const id = only(await bench.enqueue(lane, 1, changes))
  const act = (action: 'discard' | 'cancel') =>
    bench.store.notifications.act({ tenantId: lane.tenantId, id, action, actor: 'key:ada' })
  const settle = async (to: Completion['to']): Promise<void> => {
    const worker = await bench.worker()
    const claim = only(await bench.claim(worker, lane))
    await bench.store.dispatch.complete(worker, [completion(claim, to)])
  }

  if (status === 'sending') await bench.claim(await bench.worker(), lane)
  else if (status === 'cancelled') await act('cancel')
  else if (status === 'discarded') {
    await settle('parked')
    await act('discard')
  } else if (status !== 'queued') await settle(status)
  assert.equal((await bench.view(id)).status, status)
  return { id, lane }
}

/** The one element of a list that has exactly one. */
export function only<T>(list: readonly T[]): T {
  assert.equal(list.length, 1, `expected exactly one, got ${list.length}`)
  return list[0] as T
}

/** The element at `index`, which is there. */
export function at<T>(list: readonly T[], index: number): T {
  assert.ok(index < list.length, `expected more than ${index}, got ${list.length}`)
  return list[index] as T
}

/** Fails unless `value` lies between two readings of the store's time, give or take the millisecond that rounding costs. */
export function assertBetween(value: number | null, from: number, to: number): void {
  assert.ok(value !== null && value >= from - 1 && value <= to + 1, `${value} is not between ${from} and ${to}`)
}

/** Every item of a list, page by page; `between` runs after each page. */
export async function allPages<T>(
  list: (page: Page) => Promise<PageOf<T>>,
  limit: number,
  between: () => Promise<unknown> = async () => {},
): Promise<T[]> {
  const items: T[] = []
  let cursor: string | null = null
  do {
    const page: PageOf<T> = await list(cursor === null ? { limit } : { limit, cursor })
    assert.ok(page.items.length <= limit, `asked for ${limit}, got ${page.items.length}`)
    items.push(...page.items)
    cursor = page.nextCursor
    await between()
    assert.ok(items.length < 10_000, 'the pages do not end')
  } while (cursor !== null)
  return items
}

/** P1: whatever was inserted is in exactly one status, and the sum over all statuses is the number of rows. */
export async function assertConserved({ store, newId, hasPurged }: Bench): Promise<void> {
  const rows = await allPages((page) => store.notifications.list({}, page), 200)
  const tenants = new Map<string, number>()
  for (const { tenantId } of rows) tenants.set(tenantId, (tenants.get(tenantId) ?? 0) + 1)

  assert.equal(sum(await store.notifications.countByStatus(null)), rows.length, 'the statuses do not add up')
  for (const [tenantId, count] of tenants)
    assert.equal(
      sum(await store.notifications.countByStatus(tenantId)),
      count,
      `${tenantId}: the statuses do not add up`,
    )
  if (hasPurged()) await assertStanding(store)
  else await assertCounted(store, newId)
}

/** Fails unless every sum is what a count of all rows gives, folded or not. */
export async function assertCounted(store: Store, newId: () => string): Promise<void> {
  // A rule may have left a store of an earlier schema, or none at all.
  const { found, wanted } = await store.schema()
  if (found < wanted) return
  assert.equal((await store.rollups.rebuild(newId(), () => {}))?.mended, 0, 'deltas and sums differ from a count')
  while ((await store.rollups.fold(1_000)) > 0);
  assert.equal((await store.rollups.rebuild(newId(), () => {}))?.mended, 0, 'the sums differ from a count')
  await assertStanding(store)
}

/** Fails unless the numbers of what is there are those of a count. */
async function assertStanding(store: Store): Promise<void> {
  while ((await store.rollups.fold(1_000)) > 0);
  const counts = await store.notifications.countByStatus(null)
  const reading = await store.rollups.read({
    tenantId: null,
    dimensions: ['total'],
    stuckForMs: FAR_MS,
    windowSeconds: 60,
    range: null,
  })
  const { live = 0, ...standing } = reading?.numbers[0]?.standing ?? {}
  const { queued, retrying, sending, ...settled } = counts
  assert.equal(live, queued + retrying + sending, 'what is live is not what is counted as live')
  for (const [status, count] of Object.entries(settled)) assert.equal(standing[status] ?? 0, count, status)
}

export function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}
