import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { Claim, Completion } from '../../packages/pillarbox/src/dispatch/dispatch-store.ts'
import type { Entity } from '../../packages/pillarbox/src/model/event.ts'
import {
  ACTIONS,
  type Action,
  NOTIFICATION_STATUSES,
  type NotificationStatus,
} from '../../packages/pillarbox/src/model/notification.ts'
import {
  outranks,
  RECEIPT_KINDS,
  RECEIPTS,
  type ReceiptKind,
  wordOfOne,
} from '../../packages/pillarbox/src/model/receipt.ts'
import { planEvents } from '../support/planning.ts'
import {
  assertCounted,
  at,
  type Bench,
  bornParked,
  completion,
  createBench,
  dueNow,
  FAR_MS,
  type Lane,
  type OpenStore,
  receiptOf,
  replacementOn,
} from './fixtures.ts'

/**
 * Random histories of inserts, claims, results, releases, rescues, cancellations, receipts and operators' actions, compared
 * step by step with a reference that keeps one small record per notification. The reference knows nothing of tables, only of the contract.
 *
 * A failing history is shrunk and printed with its seed, path and replayPath; to run it again, set
 * PILLARBOX_MODEL_REPLAY to the three of them, with spaces between. A seed alone runs the same histories.
 */
export function modelRules(open: () => Promise<OpenStore>, runs: number): void {
  it(`agrees with the reference model over ${runs} random histories`, async (t) => {
    const [given, path, replayPath] = process.env['PILLARBOX_MODEL_REPLAY']?.split(' ') ?? []
    const seed = Number(given ?? Date.now() % 0x7fffffff)
    t.diagnostic(`seed ${seed}`)
    const commands = fc.commands(COMMANDS, { maxCommands: 40, size: 'max', ...(replayPath ? { replayPath } : {}) })

    await fc.assert(
      fc.asyncProperty(commands, async (commands) => {
        const opened = await open()
        let hasFailed = true
        try {
          const real = await createSystem(opened)
          await fc.asyncModelRun(() => ({ model: createReference(), real }), [...commands, new Inspect()])
          await assertCounted(opened.store, real.bench.newId)
          hasFailed = false
        } finally {
          await opened.close(hasFailed)
        }
      }),
      { numRuns: runs, seed, includeErrorInReport: true, ...(path ? { path } : {}) },
    )
  })
}

/** What the contract says of one notification, and no more. */
interface Expected {
  id: string
  lane: number
  status: NotificationStatus
  /** What a release goes back to. */
  waitingAs: 'queued' | 'retrying'
  isDue: boolean
  /** Provider calls made or under way. */
  attempt: number
  spent: number
  possibleDuplicate: boolean
  /** It was uncertain when it was discarded. */
  isInDoubt: boolean
  /** The claim in force, and who holds it. */
  token: number | null
  holder: number | null
  /** Numbers of the attempts on record, and of the late ones. */
  attempts: number[]
  late: Set<number>
  hasContent: boolean
  /** What the notification is about: one of two entities. */
  entity: number
  isSealed: boolean
  isScrubbed: boolean
  /** The receipt that brought it where it is, and all that were kept. */
  heard: ReceiptKind | null
  receipts: Set<string>
}

/** A claim as it was handed out, and what became of it. */
interface Handed {
  claim: Claim
  /** The boot that holds it. */
  workerId: string
  /** It was taken over: whether its call was made is unknown, so it can be settled but not given back. */
  isInDoubt: boolean
  /** The result that was written for it. */
  written: Completion | null
}

interface Reference {
  byKey: Map<string, Expected>
  byId: Map<string, Expected>
  /** Every claim ever handed out, so that stale ones can be tried as well. */
  claims: Handed[]
  /** Whether each worker is registered. */
  isAlive: boolean[]
}

interface System {
  bench: Bench
  lanes: Lane[]
  /** The id of the present boot of each worker. */
  workers: string[]
}

const WORKERS = 3
const LANES = 2
const ENTITIES = 2
const EVENT_TYPE = 'booking.confirmed'
const FINAL: readonly NotificationStatus[] = ['sent', 'delivered', 'read', 'failed', 'discarded', 'cancelled']

function entityOf(n: number): Entity {
  return { type: 'booking', id: String(n) }
}

function createReference(): Reference {
  return {
    byKey: new Map(),
    byId: new Map(),
    claims: [],
    isAlive: Array.from({ length: WORKERS }, () => true),
  }
}

async function createSystem(opened: OpenStore): Promise<System> {
  const bench = await createBench(opened)
  const first = await bench.lane()
  const lanes = [first]
  while (lanes.length < LANES) lanes.push(await bench.lane({ tenantId: first.tenantId, channel: 'sms' }))
  const workers: string[] = []
  while (workers.length < WORKERS) workers.push(await bench.worker())
  return { bench, lanes, workers }
}

type Step = fc.AsyncCommand<Reference, System>

class Insert implements Step {
  readonly key: string
  readonly lane: number
  readonly isParked: boolean
  readonly isSealed: boolean
  readonly entity: number
  constructor(key: string, lane: number, isParked: boolean, isSealed: boolean, entity: number) {
    this.key = key
    this.lane = lane
    this.isParked = isParked
    this.isSealed = isSealed && !isParked
    this.entity = entity
  }
  check(): boolean {
    return true
  }
  async run(model: Reference, { bench, lanes }: System): Promise<void> {
    const row = bench.notification(at(lanes, this.lane), {
      idempotencyKey: this.key,
      eventType: EVENT_TYPE,
      entity: entityOf(this.entity),
      ...(this.isSealed ? { content: { sealed: 'x' } } : {}),
      ...(this.isParked ? bornParked() : {}),
    })
    const [answer] = await bench.store.notifications.insert([row])

    const existing = model.byKey.get(this.key)
    assert.deepEqual(answer, { id: existing?.id ?? row.id, duplicate: existing !== undefined })
    if (existing) return
    const expected: Expected = {
      id: row.id,
      lane: this.lane,
      status: this.isParked ? 'parked' : 'queued',
      waitingAs: 'queued',
      isDue: !this.isParked,
      attempt: 0,
      spent: 0,
      possibleDuplicate: false,
      isInDoubt: false,
      token: null,
      holder: null,
      attempts: [],
      late: new Set(),
      hasContent: !this.isParked,
      entity: this.entity,
      isSealed: this.isSealed,
      isScrubbed: false,
      heard: null,
      receipts: new Set(),
    }
    model.byKey.set(this.key, expected)
    model.byId.set(row.id, expected)
  }
  toString(): string {
    const how = `${this.isParked ? ', parked' : ''}${this.isSealed ? ', sealed' : ''}`
    return `insert(${this.key}, lane ${this.lane}, entity ${this.entity}${how})`
  }
}

class ClaimDue implements Step {
  readonly worker: number
  readonly lane: number
  readonly limit: number
  constructor(worker: number, lane: number, limit: number) {
    this.worker = worker
    this.lane = lane
    this.limit = limit
  }
  check(): boolean {
    return true
  }
  async run(model: Reference, { bench, lanes, workers }: System): Promise<void> {
    const lane = at(lanes, this.lane)
    const due = [...model.byId.values()].filter((row) => isWaiting(row) && row.isDue && row.lane === this.lane)

    const answer = await bench.store.dispatch.claim(at(workers, this.worker), [
      { accountId: lane.id, limit: this.limit },
    ])

    if (!at(model.isAlive, this.worker)) {
      assert.deepEqual(answer, { fenced: true })
      return
    }
    assert.ok(!answer.fenced, 'a living worker is fenced')
    assert.equal(answer.claims.length, Math.min(this.limit, due.length), 'claimed too few or too many')
    assertNewTokens(model, answer.claims)
    for (const claim of answer.claims) {
      const row = due.find(({ id }) => id === claim.notificationId)
      assert.ok(row && row.token === null, `${claim.notificationId} was not there to be claimed`)
      assert.deepEqual(
        { attempt: claim.attempt, spent: claim.spent, possibleDuplicate: claim.possibleDuplicate },
        { attempt: row.attempt + 1, spent: row.spent, possibleDuplicate: row.possibleDuplicate },
      )
      row.attempt += 1
      hold(model, row, { claim, workerId: at(workers, this.worker), isInDoubt: false, written: null }, this.worker)
    }
  }
  toString(): string {
    return `claim(worker ${this.worker}, lane ${this.lane}, ${this.limit})`
  }
}

/** A result for any claim ever made, in force or not. */
class Complete implements Step {
  readonly pick: number
  readonly to: Completion['to']
  readonly delayMs: number
  readonly burns: boolean
  readonly flags: boolean
  /** The lane it moves to if it is to be tried again; null: it stays. */
  readonly moveTo: number | null
  constructor(
    pick: number,
    to: Completion['to'],
    isSoon: boolean,
    burns: boolean,
    flags: boolean,
    moveTo: number | null,
  ) {
    this.pick = pick
    this.to = to
    this.delayMs = isSoon ? 0 : FAR_MS
    this.burns = burns
    this.flags = flags
    this.moveTo = moveTo
  }
  check(model: Readonly<Reference>): boolean {
    return model.claims.length > 0
  }
  async run(model: Reference, { bench, lanes }: System): Promise<void> {
    const handed = at(model.claims, this.pick % model.claims.length)
    const { claim } = handed
    const row = model.byId.get(claim.notificationId) ?? assert.fail()
    // One claim has one result: a caller that has lost the answer sends the same one again.
    const result =
      handed.written ??
      completion(claim, this.to, {
        delayMs: this.delayMs,
        moveTo: this.moveTo === null ? null : { accountId: at(lanes, this.moveTo).id, provider: 'other' },
        ...(this.burns ? {} : { spent: claim.spent }),
        possibleDuplicate: claim.possibleDuplicate || this.flags,
      })

    const { fenced } = await bench.store.dispatch.complete(handed.workerId, [result])

    if (handed.written) {
      if (result.outcome !== null) assert.deepEqual(fenced, [], 'the repeat of a written result was fenced')
      return
    }
    if (row.token !== claim.token) {
      assert.deepEqual(fenced, [claim.notificationId], 'a stale result was taken')
      if (result.outcome !== null) row.late.add(claim.attempt)
      return
    }
    assert.deepEqual(fenced, [], 'a result in force was fenced')
    handed.written = result
    if (result.outcome !== null) row.attempts.push(claim.attempt)
    row.status = this.to
    row.waitingAs = 'retrying'
    row.isDue = this.to === 'retrying' && this.delayMs === 0
    if (this.to === 'retrying' && this.moveTo !== null) row.lane = this.moveTo
    row.spent = result.spent
    row.possibleDuplicate = result.possibleDuplicate
    row.token = null
    row.holder = null
    row.heard = null
  }
  toString(): string {
    const how = `${this.burns ? '' : ', unspent'}${this.flags ? ', flagged' : ''}`
    return `complete(#${this.pick}, ${this.to}, in ${this.delayMs}${how}${this.moveTo === null ? '' : `, lane ${this.moveTo}`})`
  }
}

class Release implements Step {
  readonly pick: number
  constructor(pick: number) {
    this.pick = pick
  }
  check(model: Readonly<Reference>): boolean {
    return model.claims.length > 0
  }
  async run(model: Reference, { bench }: System): Promise<void> {
    const { claim, workerId, isInDoubt } = at(model.claims, this.pick % model.claims.length)
    const row = model.byId.get(claim.notificationId) ?? assert.fail()

    await bench.store.dispatch.release(workerId, [claim])

    if (row.token !== claim.token || isInDoubt) return
    row.status = row.waitingAs
    row.attempt -= 1
    row.token = null
    row.holder = null
  }
  toString(): string {
    return `release(#${this.pick})`
  }
}

class Act implements Step {
  readonly pick: number
  readonly action: Action
  constructor(pick: number, action: Action) {
    this.pick = pick
    this.action = action
  }
  check(model: Readonly<Reference>): boolean {
    return model.byId.size > 0
  }
  async run(model: Reference, { bench, lanes }: System): Promise<void> {
    const row = at([...model.byId.values()], this.pick % model.byId.size)
    const lane = at(lanes, row.lane)
    const [idempotencyKey = ''] = [...model.byKey].find(([, expected]) => expected.id === row.id) ?? []
    const replacement = replacementOn(lane, { idempotencyKey })

    const answer = await bench.store.notifications.act({
      tenantId: lane.tenantId,
      id: row.id,
      action: this.action,
      actor: 'key:ada',
      ...(this.action === 'retry' && !row.hasContent ? { replacement } : {}),
    })

    const { from, to } = ACTIONS[this.action]
    const isAllowed = (from as readonly NotificationStatus[]).includes(row.status)
    assert.deepEqual([answer?.moved, answer?.from], [isAllowed, row.status])
    if (!isAllowed) return
    // Its call may have arrived: sending it again may make it two.
    if (row.status === 'uncertain' && this.action !== 'discard') row.possibleDuplicate = true
    if (this.action === 'discard') row.isInDoubt = row.status === 'uncertain'
    if (this.action === 'restore' && row.isInDoubt) row.possibleDuplicate = true
    row.status = to
    row.isDue = to === 'queued'
    row.heard = null
    if (this.action !== 'retry') return
    row.waitingAs = 'queued'
    row.spent = 0
    row.hasContent = true
  }
  toString(): string {
    return `${this.action}(#${this.pick})`
  }
}

/** What the provider says of any notification, sent or not. */
class Hear implements Step {
  readonly pick: number
  readonly kind: ReceiptKind
  readonly recipient: string | null
  constructor(pick: number, kind: ReceiptKind, isOfOne: boolean) {
    this.pick = pick
    this.kind = kind
    this.recipient = isOfOne ? 'ada@example.test' : null
  }
  check(model: Readonly<Reference>): boolean {
    return model.byId.size > 0
  }
  async run(model: Reference, { bench, lanes }: System): Promise<void> {
    const row = at([...model.byId.values()], this.pick % model.byId.size)
    const given = receiptOf(at(lanes, row.lane), row.id, this.kind, { recipient: this.recipient })

    const answer = await bench.store.receipts.merge(given)

    const name = `${this.kind} ${this.recipient}`
    if (row.receipts.has(name)) {
      assert.ok(answer === 'repeated', `${answer} to a receipt that was kept before`)
      return
    }
    if (isWaiting(row) || row.status === 'sending') {
      assert.equal(answer, 'waiting')
      return
    }
    row.receipts.add(name)
    const word = this.recipient === null ? this.kind : wordOfOne(this.kind)
    const isMoved = word !== null && outranks(word, row)
    assert.equal(answer, isMoved ? 'moved' : 'kept')
    if (!isMoved) return
    row.status = RECEIPTS[word].to
    row.heard = word
  }
  toString(): string {
    return `hear(#${this.pick}, ${this.kind}${this.recipient === null ? '' : ' of one'})`
  }
}

/** An event that puts an end to all that waits for an entity. */
class CancelAll implements Step {
  readonly entity: number
  constructor(entity: number) {
    this.entity = entity
  }
  check(): boolean {
    return true
  }
  async run(model: Reference, { bench, lanes }: System): Promise<void> {
    const { store, event, newId } = bench
    const given = event(at(lanes, 0).tenantId, { type: 'booking.cancelled', entity: entityOf(this.entity) })
    await store.events.insert([given])

    const planned = await planEvents(store, 1, () => dueNow(newId(), [], { eventTypes: [EVENT_TYPE], replaces: false }))

    assert.equal(planned.decided, 1)
    for (const row of model.byId.values()) {
      if (row.entity !== this.entity || !isWaiting(row)) continue
      row.status = 'cancelled'
      row.isDue = false
    }
  }
  toString(): string {
    return `cancel all(entity ${this.entity})`
  }
}

class Scrub implements Step {
  check(): boolean {
    return true
  }
  async run(model: Reference, { bench }: System): Promise<void> {
    const wanted = [...model.byId.values()].filter(
      (row) => row.isSealed && !row.isScrubbed && FINAL.includes(row.status),
    )

    assert.equal(await bench.store.notifications.scrub(100), wanted.length)

    for (const row of wanted) row.isScrubbed = true
  }
  toString(): string {
    return 'scrub'
  }
}

/** A worker leaves without a word about what it holds; later it comes back under a new id. */
class Leave implements Step {
  readonly worker: number
  constructor(worker: number) {
    this.worker = worker
  }
  check(): boolean {
    return true
  }
  async run(model: Reference, { bench, workers }: System): Promise<void> {
    if (at(model.isAlive, this.worker)) {
      await bench.store.workers.remove(at(workers, this.worker))
      assert.equal(await bench.store.workers.beat(at(workers, this.worker)), false)
      model.isAlive[this.worker] = false
      for (const row of model.byId.values()) if (row.holder === this.worker) row.holder = ORPHANED
    } else {
      workers[this.worker] = await bench.worker()
      model.isAlive[this.worker] = true
    }
  }
  toString(): string {
    return `leave or return(worker ${this.worker})`
  }
}

/** Nobody living holds the row's claim. */
const ORPHANED = -1

class TakeOver implements Step {
  readonly worker: number
  readonly limit: number
  constructor(worker: number, limit: number) {
    this.worker = worker
    this.limit = limit
  }
  check(model: Readonly<Reference>): boolean {
    return at(model.isAlive, this.worker)
  }
  async run(model: Reference, { bench, workers }: System): Promise<void> {
    const orphans = [...model.byId.values()].filter(({ holder }) => holder === ORPHANED)

    const taken = await bench.store.workers.takeOver(at(workers, this.worker), FAR_MS, this.limit)

    assert.equal(taken.length, Math.min(this.limit, orphans.length), 'took over too few or too many')
    assertNewTokens(model, taken)
    for (const claim of taken) {
      const row = orphans.find(({ id }) => id === claim.notificationId)
      assert.ok(row && row.holder === ORPHANED, `${claim.notificationId} was not there to be taken over`)
      assert.deepEqual([claim.attempt, claim.spent], [row.attempt, row.spent])
      hold(model, row, { claim, workerId: at(workers, this.worker), isInDoubt: true, written: null }, this.worker)
    }
  }
  toString(): string {
    return `takeOver(worker ${this.worker}, ${this.limit})`
  }
}

/** Some deltas go into the sums; that they agree with a count is looked at after every history. */
class Fold implements Step {
  readonly limit: number
  constructor(limit: number) {
    this.limit = limit
  }
  check(): boolean {
    return true
  }
  async run(_model: Reference, { bench }: System): Promise<void> {
    assert.ok((await bench.store.rollups.fold(this.limit)) <= this.limit)
  }
  toString(): string {
    return `fold(${this.limit})`
  }
}

/** Compares everything that can be seen. */
class Inspect implements Step {
  check(): boolean {
    return true
  }
  async run(model: Reference, { bench, lanes, workers }: System): Promise<void> {
    const counts = Object.fromEntries(NOTIFICATION_STATUSES.map((status) => [status, 0]))
    for (const row of model.byId.values()) {
      counts[row.status] = (counts[row.status] ?? 0) + 1
      const { status, possibleDuplicate, isScrubbed, accountId } = await bench.view(row.id)
      assert.deepEqual(
        [status, possibleDuplicate, isScrubbed, accountId],
        [row.status, row.possibleDuplicate, row.isScrubbed, row.hasContent ? at(lanes, row.lane).id : null],
        row.id,
      )
      const attempts = await bench.store.notifications.attempts(row.id)
      const numbers = (late: boolean): number[] => attempts.filter((a) => a.late === late).map(({ number }) => number)
      assert.deepEqual(numbers(false), row.attempts)
      assert.deepEqual(new Set(numbers(true)), row.late)
    }
    assert.deepEqual({ ...(await bench.store.notifications.countByStatus(at(lanes, 0).tenantId)) }, counts)

    const due = await bench.store.dispatch.dueLanes(null, 10)
    const expected = lanes.filter((_, i) =>
      [...model.byId.values()].some((r) => r.lane === i && r.isDue && isWaiting(r)),
    )
    assert.deepEqual(new Set(due.map(({ accountId }) => accountId)), new Set(expected.map(({ id }) => id)))

    const seen = new Set((await bench.store.workers.list()).map(({ id }) => id))
    for (const [i, id] of workers.entries()) assert.equal(seen.has(id), at(model.isAlive, i))
  }
  toString(): string {
    return 'inspect'
  }
}

function isWaiting({ status }: Expected): boolean {
  return status === 'queued' || status === 'retrying'
}

function assertNewTokens(model: Reference, claims: readonly Claim[]): void {
  for (const { token } of claims)
    assert.ok(
      model.claims.every(({ claim }) => claim.token !== token),
      `token ${token} was given before`,
    )
}

function hold(model: Reference, row: Expected, handed: Handed, worker: number): void {
  const { claim } = handed
  model.claims.push(handed)
  row.status = 'sending'
  row.token = claim.token
  row.holder = worker
}

const worker = fc.nat(WORKERS - 1)
const lane = fc.nat(LANES - 1)
const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
const pick = fc.nat(99)
const result = fc.constantFrom<Completion['to']>(
  'sent',
  'retrying',
  'retrying',
  'parked',
  'uncertain',
  'failed',
  'cancelled',
)

const entity = fc.nat(ENTITIES - 1)
const insert = fc
  .tuple(key, lane, fc.boolean(), fc.boolean(), entity)
  .map(([key, lane, coin, isSealed, about]) => new Insert(key, lane, coin && key > 'e', isSealed, about))

const moveTo = fc.option(lane, { nil: null, freq: 2 })
const complete = fc
  .tuple(pick, result, fc.boolean(), fc.boolean(), fc.boolean(), moveTo)
  .map((args) => new Complete(...args))

/** What stands twice comes twice as often. */
const COMMANDS: fc.Arbitrary<Step>[] = [
  insert,
  insert,
  insert,
  fc.tuple(worker, lane, fc.nat(3)).map((args) => new ClaimDue(...args)),
  fc.tuple(worker, lane, fc.nat(3)).map((args) => new ClaimDue(...args)),
  complete,
  complete,
  pick.map((pick) => new Release(pick)),
  fc.tuple(pick, fc.constantFrom(...(Object.keys(ACTIONS) as Action[]))).map((args) => new Act(...args)),
  fc.tuple(pick, fc.constantFrom(...RECEIPT_KINDS), fc.boolean()).map((args) => new Hear(...args)),
  entity.map((about) => new CancelAll(about)),
  fc.constant(new Scrub()),
  worker.map((worker) => new Leave(worker)),
  fc.tuple(worker, fc.integer({ min: 1, max: 3 })).map((args) => new TakeOver(...args)),
  fc.integer({ min: 1, max: 5 }).map((limit) => new Fold(limit)),
  fc.constant(new Inspect()),
]
