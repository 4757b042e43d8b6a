import assert from 'node:assert/strict'
import type { Completion } from '../../packages/pillarbox/src/dispatch/dispatch-store.ts'
import type { Action } from '../../packages/pillarbox/src/model/notification.ts'
import type { DueSchedule, EventPlan, SchedulePlan } from '../../packages/pillarbox/src/plan/plan-store.ts'
import { jsonOf } from '../../packages/pillarbox/src/store/shared/script.ts'
import { planEvents as takeAndPlanEvents, planSchedules as takeAndPlanSchedules } from '../support/planning.ts'
import { EXPECTED_ROWS } from './expected-rows.ts'
import {
  at,
  type Bench,
  bornParked,
  bornSkipped,
  completion,
  dueLater,
  dueNow,
  FAR_MS,
  type Lane,
  only,
  type Rule,
  receiptOf,
  replacementOn,
} from './fixtures.ts'

/** Far beyond any token that a claim may get: sessions of PostgreSQL take them by the hundred. */
const NO_SUCH_CLAIM = 1_000_000_000

/**
 * Both engines leave the same rows behind. A life of events, schedules and notifications is played through the contract,
 * and then every column of every table is compared with one picture, `expected-rows.ts`.
 */
export function rowRules(rule: Rule): void {
  rule('every column of every table is the same on every engine after the same life', async (bench) => {
    const tables = bench.tables()
    if (tables === null)
      return assert.equal(bench.store.engine, 'sqlite', 'only a database in memory has no other reader')
    await playLife(bench)
    const now = await bench.store.now()

    while ((await bench.store.rollups.fold(1_000)) > 0);
    assert.equal(pictureOf(withoutTimedSums((await bench.tables()) ?? {}), now), EXPECTED_ROWS)
  })

  rule('an event ends only what stands for the same entity of its own tenant', async (bench) => {
    const { store, event, newId, enqueue } = bench
    const of = { type: 'stay.reminder', entity: { type: 'stay', id: '7' } }
    const [mine, theirs] = [await bench.lane(), await bench.lane()]
    const standing = new Map<Lane, { scheduleId: string; notificationId: string }>()
    for (const lane of [mine, theirs]) {
      const scheduleId = newId()
      await store.events.insert([event(lane.tenantId, of)])
      await planEvents(bench, () => dueLater(scheduleId, FAR_AWAY))
      const queued = { eventType: of.type, entity: of.entity }
      standing.set(lane, { scheduleId, notificationId: only(await enqueue(lane, 1, queued)) })
    }
    await bench.advance(2)

    await store.events.insert([event(mine.tenantId, { ...of, type: 'stay.cancelled' })])
    await planEvents(bench, () => dueNow(newId(), [], { eventTypes: [of.type], replaces: true }))

    const statuses: string[] = []
    for (const [{ tenantId }, { scheduleId, notificationId }] of standing)
      statuses.push((await bench.schedule(tenantId, scheduleId)).status, (await bench.view(notificationId)).status)
    assert.deepEqual(statuses, ['cancelled', 'cancelled', 'pending', 'queued'])
    const asked = [mine, theirs].map(({ tenantId }) => ({ tenantId, entity: of.entity, eventType: of.type }))
    const [cancelledAt, notCancelled] = await store.plan.cancelledAt(asked)
    assert.equal(typeof cancelledAt, 'number')
    assert.equal(notCancelled, null)
  })
}

/** A time that no test run reaches. */
const FAR_AWAY = 4_000_000_000_000

const ACTOR = 'key:ada'

async function playLife(bench: Bench): Promise<void> {
  const tenantId = await bench.tenant()
  const [email, standIn] = [await bench.lane({ tenantId }), await bench.lane({ tenantId })]
  const sms = await bench.lane({ tenantId, channel: 'sms' })
  const worker = await bench.worker()
  await planAll(bench, email)
  await completeAll(bench, worker, { email, standIn, sms })
  await receiveAll(bench, worker, { email, sms })
  await actOnAll(bench, worker, email)
  await rescueAll(bench, worker, email)
  await scrubAll(bench, worker, email)
  await sendByHand(bench, worker, sms)
  await holdLanes(bench, { email, standIn, sms })
  await skipAll(bench, email)
  await operateOnAll(bench, worker, await bench.lane({ tenantId }))
}

const planEvents = ({ store }: Bench, plan: () => EventPlan) => takeAndPlanEvents(store, 10, plan)
const planSchedules = ({ store }: Bench, plan: (due: DueSchedule) => SchedulePlan) =>
  takeAndPlanSchedules(store, 10, plan)

/** Events: deferred and then published, failed, replayed; schedules: due, in parts, approved, rejected, cancelled. */
async function planAll(bench: Bench, lane: Lane): Promise<void> {
  const { store, event, newId, notification } = bench
  const { tenantId } = lane
  const publish = async (plan: EventPlan, changes: Partial<ReturnType<typeof event>> = {}): Promise<string> => {
    const { id } = only(await store.events.insert([event(tenantId, changes)]))
    await planEvents(bench, () => plan)
    return id
  }
  const deferred = event(tenantId, { locale: 'de', recipients: [{ email: 'ada@example.test' }], correlationId: 'c-1' })
  await store.events.insert([deferred])
  await store.plan.deferEvent({ tenantId, id: deferred.id }, 'boom', 0)
  const planned = { eventId: deferred.id, eventType: deferred.type, entity: deferred.entity }
  await planEvents(bench, () => dueNow(newId(), [notification(lane, { ...planned, locale: 'de' })]))

  const failed = await publish({ kind: 'failed', reason: 'planning_failed', error: 'no such type' })
  await store.events.replay(tenantId, failed, ACTOR)
  await planEvents(bench, () => ({ kind: 'failed', reason: 'planning_failed', error: 'still no such type' }))

  const now = await store.now()
  const [parts, stopped, approved, rejected, cancelled] = [newId(), newId(), newId(), newId(), newId()]
  await publish(dueLater(parts, now), { type: 'booking.reminder' })
  await planSchedules(bench, () => ({
    kind: 'part',
    notifications: [notification(lane)],
    progress: { after: '1' } as never,
  }))
  await bench.advance(2)
  await planSchedules(bench, () => ({ kind: 'notifications', notifications: [notification(lane)] }))
  await publish(dueLater(stopped, now), { type: 'booking.reminder' })
  await store.plan.deferSchedule({ tenantId, id: stopped }, 'boom', 0)
  await planSchedules(bench, () => ({ kind: 'failed', reason: 'no_recipient', error: 'nobody' }))
  await store.schedules.act({ tenantId, id: stopped, action: 'replay', actor: ACTOR })
  await planSchedules(bench, () => ({ kind: 'cancelled', reason: 'cancelled_by_host', error: 'the host said no' }))
  await publish(dueLater(approved, now + FAR_MS, { needsApproval: true }), { type: 'booking.offer' })
  await store.schedules.act({ tenantId, id: approved, action: 'approve', actor: ACTOR })
  await publish(dueLater(rejected, now + FAR_MS, { needsApproval: true }), { type: 'booking.offer' })
  await store.schedules.act({ tenantId, id: rejected, action: 'reject', actor: ACTOR, reason: 'too dear' })

  // What stands for an entity is ended by a later event.
  await publish(dueLater(cancelled, now + FAR_MS), { type: 'stay.reminder', entity: { type: 'stay', id: '7' } })
  const stay = { eventType: 'stay.reminder', entity: { type: 'stay', id: '7' } }
  await bench.enqueue(lane, 1, stay)
  await bench.advance(2)
  await publish(dueNow(newId(), [], { eventTypes: ['stay.reminder'], replaces: true }), {
    type: 'stay.cancelled',
    entity: { type: 'stay', id: '7' },
  })
}

/** Events of which nothing is sent: for want of an address, told already, called off; and one that is planned anew. */
async function skipAll(bench: Bench, lane: Lane): Promise<void> {
  const { store, event, newId, notification } = bench
  const { tenantId } = lane
  const skip = async (plan: (eventId: string) => EventPlan): Promise<void> => {
    const { id } = only(await store.events.insert([event(tenantId)]))
    await planEvents(bench, () => plan(id))
  }
  const [mended, failed] = [newId(), newId()]
  const untold = { reason: 'no_recipient', error: 'No recipient: nobody' } as const
  await skip((id) => ({ ...dueNow(failed, [notification(lane, { id: mended, ...bornSkipped(id, '0') })]), untold }))
  await store.schedules.act({ tenantId, id: failed, action: 'replay', actor: ACTOR })
  const idempotencyKey = 'told-once'
  const replacement = replacementOn(lane, { idempotencyKey })
  await store.notifications.act({ tenantId, id: mended, action: 'retry', actor: 'system', replacement })
  await planSchedules(bench, () => ({ kind: 'notifications', notifications: [] }))
  await skip((eventId) => dueNow(newId(), [notification(lane, { eventId, place: '0', idempotencyKey })]))
  await skip((id) => ({
    kind: 'cancelled',
    scheduleId: newId(),
    reason: 'cancelled_by_host',
    error: 'called off',
    notifications: [notification(lane, bornSkipped(id, '0'))],
    cancels: null,
  }))
}

/** Claims the oldest row of a lane. */
async function claimOne(bench: Bench, worker: string, lane: Lane) {
  return only(await bench.claim(worker, lane))
}

/** Sends away everything that waits on a lane, so that the next step begins with it empty. */
async function drain(bench: Bench, worker: string, lane: Lane): Promise<void> {
  for (const claim of await bench.claim(worker, lane, 100))
    await bench.store.dispatch.complete(worker, [completion(claim, 'sent', { answer: '200 {"id":"x"}' })])
}

/** Every way a worker's result may go. */
async function completeAll(
  bench: Bench,
  worker: string,
  { email, standIn, sms }: { email: Lane; standIn: Lane; sms: Lane },
): Promise<void> {
  const { store, enqueue, notification } = bench
  await drain(bench, worker, email)
  const complete = async (to: Completion['to'], changes: Partial<Completion> = {}): Promise<void> => {
    await enqueue(email)
    const claim = await claimOne(bench, worker, email)
    await store.dispatch.complete(worker, [completion(claim, to, changes)])
  }
  const refused = [{ recipient: 'bob@example.test', error: '550 no such user' }]
  await complete('sent', { resolvedTargets: ['ada@example.test', 'bob@example.test'], refused, answer: '250 taken' })
  await complete('retrying', { possibleDuplicate: true, ageMs: 12.4, durationMs: 11.6, delayMs: FAR_MS + 0.4 })
  await complete('retrying', { outcome: null, spent: 0, delayMs: 2 * FAR_MS })
  await complete('retrying', { moveTo: { accountId: standIn.id, provider: 'other' } })
  await complete('parked')
  await complete('uncertain')
  await complete('cancelled')
  await complete('failed', { next: notification(sms, { fallbackOf: null }) })

  // Repeated because its answer was lost; given back; late, because another worker took it over.
  const [repeated, released, late] = [
    only(await enqueue(email)),
    only(await enqueue(email)),
    only(await enqueue(email)),
  ]
  const claims = new Map((await bench.claim(worker, email, 3)).map((claim) => [claim.notificationId, claim]))
  const result = completion(claims.get(repeated) ?? assert.fail(), 'sent')
  await store.dispatch.complete(worker, [result])
  await store.dispatch.complete(worker, [result])
  await store.dispatch.release(worker, [claims.get(released) ?? assert.fail()])
  const stale = claims.get(late) ?? assert.fail()
  const answer = await store.dispatch.complete(worker, [
    { ...completion(stale, 'sent'), token: stale.token + NO_SUCH_CLAIM },
  ])
  assert.deepEqual(answer.fenced, [late])
  await store.dispatch.complete(worker, [completion(stale, 'retrying', { possibleDuplicate: true })])
  await store.dispatch.complete(worker, [completion(stale, 'retrying', { possibleDuplicate: true })])
  await drain(bench, worker, email)
}

/** Every rank of receipt, in and out of order, with a fallback and for one recipient of several. */
async function receiveAll(bench: Bench, worker: string, { email, sms }: { email: Lane; sms: Lane }): Promise<void> {
  const { store, enqueue, notification } = bench
  const send = async (): Promise<string> => {
    const id = only(await enqueue(email))
    await drain(bench, worker, email)
    return id
  }
  const [read, bounced, uncertain] = [await send(), await send(), only(await enqueue(email))]
  await store.receipts.merge(receiptOf(email, read, 'read'))
  await store.receipts.merge(receiptOf(email, read, 'delivered'))
  await store.receipts.merge(receiptOf(email, read, 'read'))
  await store.receipts.merge(receiptOf(email, bounced, 'bounced', { next: notification(sms) }))
  await store.receipts.merge(receiptOf(email, bounced, 'failed'))
  const claim = await claimOne(bench, worker, email)
  await store.dispatch.complete(worker, [completion(claim, 'uncertain')])
  await store.receipts.merge(receiptOf(email, uncertain, 'sent'))
  const several = await send()
  await store.receipts.merge(receiptOf(email, several, 'failed', { recipient: 'bob@example.test' }))
  await store.receipts.merge(receiptOf(email, several, 'read', { recipient: 'ada@example.test' }))
  const complained = await send()
  await store.receipts.merge(receiptOf(email, complained, 'complained'))
}

/** Every operator's act, from every status that it moves. */
async function actOnAll(bench: Bench, worker: string, lane: Lane): Promise<void> {
  const { store, enqueue } = bench
  const { tenantId } = lane
  const act = async (id: string, action: Action, note?: string): Promise<void> => {
    const given = { tenantId, id, action, actor: ACTOR }
    const acted = await store.notifications.act(note === undefined ? given : { ...given, note })
    assert.equal(acted?.moved, true, `${action} moved nothing`)
  }
  const settle = async (to: Completion['to']): Promise<string> => {
    const id = only(await enqueue(lane))
    await store.dispatch.complete(worker, [completion(await claimOne(bench, worker, lane), to)])
    return id
  }
  await act(await settle('parked'), 'discard')
  const doubtful = await settle('uncertain')
  await act(doubtful, 'discard', 'told by telephone')
  await act(doubtful, 'restore')
  await act(await settle('uncertain'), 'park')
  await act(await settle('retrying'), 'cancel')
  await act(await settle('retrying'), 'park')
  await act(only(await enqueue(lane)), 'cancel')
  await act(only(await enqueue(lane)), 'park')
  await act(await settle('parked'), 'retry')
  await drain(bench, worker, lane)
  await act(await settle('uncertain'), 'retry')
  const born = only(await enqueue(lane, 1, bornParked()))
  const replacement = replacementOn(lane)
  await store.notifications.act({ tenantId, id: born, action: 'retry', actor: ACTOR, replacement })
  await enqueue(lane, 1, bornParked())
  // Everything that waits on a lane whose account is suspended.
  const suspended = await bench.lane({ tenantId })
  await enqueue(suspended, 2)
  await store.dispatch.complete(worker, [completion(await claimOne(bench, worker, suspended), 'retrying')])
  await store.accounts.setStatus(suspended.id, 'suspended', 'bill unpaid', ACTOR)
  await store.dispatch.stopLane(suspended.id, 'channel_suspended', 'The account is suspended', ACTOR, 10)
}

/** What operators have sent otherwise than it was planned. */
async function sendByHand(bench: Bench, worker: string, lane: Lane): Promise<void> {
  const { store, enqueue, notification } = bench
  const { tenantId } = lane
  await drain(bench, worker, lane)
  const [wrong, banned] = [only(await enqueue(lane)), only(await enqueue(lane))]
  const act = { tenantId, actor: ACTOR }
  await store.notifications.act({ ...act, id: wrong, action: 'park' })
  const correction = notification(lane, { correctedFrom: wrong })
  await store.notifications.act({ ...act, id: wrong, action: 'discard', correction })
  await store.notifications.act({ ...act, id: banned, action: 'park' })
  await store.notifications.act({ ...act, id: banned, action: 'retry', overridesSuppression: true })
  await store.notifications.insertByHand([notification(lane)], { actor: ACTOR, action: 'resend', note: 'lost' })
}

/** An operation that moves one, leaves one alone and cannot move one; and a preview that nobody starts. */
async function operateOnAll(bench: Bench, worker: string, lane: Lane): Promise<void> {
  const { store, newId } = bench
  const { tenantId } = lane
  const ids: string[] = []
  for (let i = 0; i < 3; i++) {
    ids.push(only(await bench.enqueue(lane)))
    await store.dispatch.complete(worker, [completion(await claimOne(bench, worker, lane), 'parked')])
  }
  const preview = { tenantId, action: 'retry', options: { rerender: true }, actor: ACTOR, canary: 5 } as const
  const [operationId, unused] = [newId(), newId()]
  for (const id of [operationId, unused])
    await store.operations.beginPreview({ id, ...preview }, { most: 10, lifeMs: FAR_MS })
  const chosen = await store.operations.candidatesById(tenantId, ids)
  await store.operations.addItems(
    operationId,
    chosen.map(({ id, status, attempt, settledAt }, i) => ({
      place: i + 1,
      notificationId: id,
      status,
      attempt: i === 1 ? attempt + 1 : attempt,
      settledAt,
    })),
  )
  await store.operations.endPreview(operationId, 3)
  const start = { tenantId, id: operationId, actor: ACTOR, note: 'mended', perSecond: 2.5, canary: 0, graceMs: 0 }
  await store.operations.start(start)
  await store.operations.steer({ tenantId, id: operationId, action: 'pause', actor: ACTOR })
  await store.operations.steer({ tenantId, id: operationId, action: 'resume', actor: ACTOR })
  assert.equal((await store.operations.take(FAR_MS))?.id, operationId)
  for (const [i, { id }] of chosen.slice(0, 2).entries()) {
    const item = { operationId, place: i + 1 }
    await store.notifications.act({ tenantId, id, action: 'retry', actor: ACTOR, note: 'mended', item })
  }
  await store.operations.settleItem({ operationId, place: 3 }, { outcome: 'failed', why: 'its address is suppressed' })
  await store.operations.checkpoint({ operationId, from: 0, position: 3, to: 'done', leaseMs: 0 })
}

/** A worker leaves while it holds two claims; another takes them over, settles one and loses the answer to the other. */
async function rescueAll(bench: Bench, worker: string, lane: Lane): Promise<void> {
  const { store, enqueue } = bench
  await drain(bench, worker, lane)
  const gone = await bench.worker()
  const [first, second] = [only(await enqueue(lane)), only(await enqueue(lane))]
  await claimOne(bench, gone, lane)
  await claimOne(bench, gone, lane)
  await store.workers.remove(gone)
  const taken = await store.workers.takeOver(worker, FAR_MS, 10)
  assert.deepEqual(taken.map(({ notificationId }) => notificationId).toSorted(), [first, second].toSorted())
  const mine = taken.find(({ notificationId }) => notificationId === first) ?? assert.fail()
  const unknown = { outcome: 'unknown', code: 'worker_gone', error: 'nobody knows', possibleDuplicate: true } as const
  await store.dispatch.complete(worker, [completion(mine, 'retrying', unknown)])
  const lost = only(await enqueue(lane))
  await claimOne(bench, worker, lane)
  const answered = await store.dispatch.orphans(worker, [])
  assert.deepEqual(
    answered.map(({ notificationId }) => notificationId),
    [second],
  )
  assert.equal((await bench.view(lost)).status, 'queued')
  await drain(bench, worker, lane)
}

/** Sealed content that is sent, and then scrubbed. */
async function scrubAll(bench: Bench, worker: string, lane: Lane): Promise<void> {
  await bench.enqueue(lane, 1, { content: { sealed: 'v1:words' } as never })
  await bench.enqueue(lane, 1, {
    content: { sealed: 'v1:waiting' } as never,
    dueAt: (await bench.store.now()) + FAR_MS,
  })
  await drain(bench, worker, lane)
  assert.equal(await bench.store.notifications.scrub(10), 1)
}

/** Pace, hold and breaker. */
async function holdLanes({ store }: Bench, lanes: { email: Lane; standIn: Lane; sms: Lane }): Promise<void> {
  const [email, standIn, sms] = [lanes.email.id, lanes.standIn.id, lanes.sms.id]
  const pace = { perSecond: 0.000_001, burst: 5 }
  assert.equal(at(await store.lanes.take([{ accountId: email, want: 3, pace }]), 0).granted, 3)
  await store.lanes.giveBack(email, 1, pace)
  await store.lanes.hold(standIn, 2 * FAR_MS, 'slow down')
  await store.lanes.openBreaker(standIn, FAR_MS, 'five failures')
  await store.lanes.openBreaker(sms, 0, 'five failures')
  assert.equal(await store.lanes.probe(sms, 2 * FAR_MS), true)
  await store.lanes.openBreaker(sms, FAR_MS, 'the probe failed')
}

/** Sums of seconds and minutes depend on when the life was played; that they are right is looked at after every rule. */
function withoutTimedSums(all: Record<string, Table>): Record<string, Table> {
  const tables = { ...all }
  delete tables['rollup_due']
  tables['rollup_counts'] = (all['rollup_counts'] ?? [])
    .filter(({ width }) => Number(width) === 0)
    .map(({ counts, ...sum }) => ({ ...sum, counts: sortedJson(jsonOf<Record<string, number>>(counts)) }))
  return tables
}

function sortedJson(counts: Record<string, number>): string {
  const names = Object.keys(counts).toSorted((a, b) => (a < b ? -1 : 1))
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, counts[name]])))
}

// ── the picture ──────────────────────────────────────────────────────────────────────────────────────────────────

type Table = Record<string, unknown>[]

/** One line per table with its columns, then one per row with every column that is not null. */
function pictureOf(tables: Record<string, Table>, now: number): string {
  const tokens = Object.values(tables)
    .flat()
    .flatMap((row) => ('token' in row && row['token'] !== null ? [Number(row['token'])] : []))
  assert.equal(new Set(tokens).size, tokens.length, 'two claims have one token')
  return Object.keys(tables)
    .toSorted()
    .flatMap((name) => {
      const rows = tables[name] ?? []
      const lines = ordered(rows).map((row) => `  ${lineOf(row, now)}`)
      const header = `${name}: ${Object.keys(rows[0] ?? {})
        .toSorted()
        .join(' ')}`
      // Rows whose ids are numbers were written one after the other; the others come in any order.
      return lines.length === 0 ? [] : [header, ...(isNumbered(rows) ? lines : lines.toSorted())]
    })
    .join('\n')
}

function isNumbered(rows: Table): boolean {
  return rows[0] !== undefined && 'id' in rows[0] && /^\d+$/.test(String(rows[0]['id']))
}

function ordered(rows: Table): Table {
  return isNumbered(rows) ? rows.toSorted((a, b) => Number(a['id']) - Number(b['id'])) : rows
}

/** Different at each run: that they are there is all there is to compare. */
const HIDDEN = new Set(['token', 'fingerprint', 'audit_id', 'salt'])

function lineOf(row: Record<string, unknown>, now: number): string {
  const columns = Object.keys(row).filter((name) => row[name] !== null && !(name === 'id' && isNumbered([row])))
  return columns
    .toSorted()
    .map((name) => (HIDDEN.has(name) ? name : `${name}=${shownValue(row[name], now)}`))
    .join(' ')
}

/** A value as both engines have it: booleans are 0 and 1, JSON is parsed, ids and times are told by their order. */
function shownValue(value: unknown, now: number): string {
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (value instanceof Date) return timeOf(value.getTime(), now)
  if (typeof value === 'number')
    return value > 1_500_000_000_000 ? timeOf(value, now) : String(Math.round(value * 1_000) / 1_000)
  if (typeof value === 'object') return withoutIds(JSON.stringify(value))
  const text = value as string
  const isJson = /^[[{]/.test(text)
  return withoutIds(isJson ? JSON.stringify(JSON.parse(text)) : text.includes(' ') ? JSON.stringify(text) : text)
}

/** Told by the receipts' own times, or in minutes from now: what took milliseconds is now. */
function timeOf(ms: number, now: number): string {
  const minutes = Math.round((ms - now) / 60_000)
  return Math.abs(minutes) > 60
    ? new Date(ms).toISOString()
    : minutes === 0
      ? 'now'
      : `${minutes > 0 ? '+' : ''}${minutes}m`
}

/** The bench numbers its ids, and the number is their last part. */
function withoutIds(text: string): string {
  return text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8000-([0-9a-f]{12})/g, (_, number: string) => {
    return `#${Number.parseInt(number, 16)}`
  })
}
