import type { Claim, ClaimAnswer, Completion } from '../../packages/pillarbox/src/dispatch/dispatch-store.ts'
import type { NewCallback } from '../../packages/pillarbox/src/model/callback.ts'
import type { NewEvent, StoredEvent } from '../../packages/pillarbox/src/model/event.ts'
import type {
  AttemptView,
  ListedNotification,
  NewNotification,
} from '../../packages/pillarbox/src/model/notification.ts'
import { RECEIPTS, type ReceiptKind } from '../../packages/pillarbox/src/model/receipt.ts'
import { verifyChain } from '../../packages/pillarbox/src/operate/verify-audit.ts'
import type { WrittenBatch } from '../../packages/pillarbox/src/plan/plan-store.ts'
import type { NewReceipt } from '../../packages/pillarbox/src/receipts/receipt-store.ts'
import { CrashLedger } from './crash-ledger.ts'
import { TENANTS } from './plan-of-run.ts'
import { EPOCH, type Scheduler } from './scheduler.ts'
import type { World } from './simulate.ts'
import type { SimProcess } from './simulated-process.ts'
import type { VendorReport } from './simulated-provider.ts'

/**
 * What really happened, kept outside the system under test: every acknowledged write, every committed claim and
 * result, every provider call. After a run it is compared with what the store says, promise by promise.
 */
export class Ledger {
  trace = 0
  /** Promises broken while the run was still going on. */
  readonly broken: string[] = []
  readonly #scheduler: Scheduler
  readonly #events = new Map<string, NewEvent>()
  readonly #direct = new Map<string, NewNotification>()
  /** The token the store last gave for a notification; absent when it is not claimed. */
  readonly #token = new Map<string, number>()
  readonly #tokensSeen = new Map<string, Set<number>>()
  /** `notification#attempt` → when a claim of it was first committed. */
  readonly #intents = new Map<string, number>()
  readonly #written = new Set<string>()
  /** Notification → what was heard of its messages. */
  readonly #heard = new Map<string, Set<ReceiptKind>>()
  /** Notifications that receipts handed over to another channel. */
  readonly #takenOver = new Set<string>()
  readonly #touchedByHand = new Set<string>()
  readonly #crashes = new CrashLedger()
  #inserted = 0

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler
  }

  /** Somebody works from now on. */
  hired(process: SimProcess): void {
    this.#crashes.hired(process)
  }

  acknowledgedEvent(event: NewEvent): void {
    this.#events.set(`${event.tenantId}/${event.id}`, event)
  }

  acknowledgedNotification(notification: NewNotification): void {
    this.#direct.set(`${notification.tenantId}/${notification.idempotencyKey}`, notification)
  }

  /** The token of a row that is claimed now. */
  tokenOf(notificationId: string): number | undefined {
    return this.#token.get(notificationId)
  }

  committed(worker: string, operation: string, args: readonly unknown[], answer: unknown): void {
    this.trace = (Math.imul(this.trace, 31) + hash(`${worker} ${operation} ${this.#scheduler.now}`)) | 0
    switch (operation) {
      case 'plan.takeEvents.write':
      case 'plan.takeSchedules.write':
        this.#inserted += (answer as WrittenBatch).inserted
        return
      case 'notifications.insert':
        this.#inserted += (answer as { duplicate: boolean }[]).filter(({ duplicate }) => !duplicate).length
        return
      case 'plan.note':
      case 'plan.forgetNote':
      case 'plan.countCrashes':
        this.broken.push(...this.#crashes.committed(worker, operation, args, this.#scheduler.now))
        return
      case 'workers.register':
      case 'workers.beat':
        // Whoever was declared dead is told so, and not heard.
        if (answer !== false) this.#crashes.heard(worker, this.#scheduler.now)
        if (operation === 'workers.register') this.#crashes.registered(worker, (args[0] as { id: string }).id)
        return
      case 'dispatch.claim':
        this.#answered(answer as ClaimAnswer)
        return
      case 'workers.takeOver':
      case 'dispatch.orphans':
        for (const claim of answer as Claim[]) this.#claimed(claim, false)
        return
      case 'receipts.keep': {
        const { notificationId, kind } = JSON.parse((args[0] as NewCallback).body.toString()) as VendorReport
        this.#heard.set(notificationId, this.#heardOf(notificationId).add(kind))
        return
      }
      case 'receipts.merge': {
        const { notificationId, next, skipped } = args[0] as NewReceipt
        if (next && answer === 'moved') this.#takenOver.add(notificationId)
        if (answer === 'moved') this.#inserted += skipped?.length ?? 0
        return
      }
      case 'notifications.act':
        this.#touchedByHand.add((args[0] as { id: string }).id)
        return
      case 'dispatch.complete':
        this.#completed(worker, args[1] as Completion[], (answer as { fenced: string[] }).fenced)
    }
  }

  #heardOf(notificationId: string): Set<ReceiptKind> {
    return this.#heard.get(notificationId) ?? new Set()
  }

  /** After a receipt said that a call of unknown outcome had come to nothing. */
  #isSentAgainByHand(notificationId: string): boolean {
    const heard = this.#heardOf(notificationId)
    const isGivenUp = (['failed', 'bounced', 'complained'] as const).some((kind) => heard.has(kind))
    return isGivenUp && this.#touchedByHand.has(notificationId)
  }

  #answered(answer: ClaimAnswer | null): void {
    if (answer && !answer.fenced) for (const claim of answer.claims) this.#claimed(claim, true)
  }

  #claimed(claim: Claim, isIntent: boolean): void {
    const { notificationId, token, attempt } = claim
    const seen = this.#tokensSeen.get(notificationId) ?? new Set()
    if (seen.has(token)) this.broken.push(`P5: token ${token} was given twice for ${short(notificationId)}`)
    seen.add(token)
    this.#tokensSeen.set(notificationId, seen)
    this.#token.set(notificationId, token)
    const intent = `${notificationId}#${attempt}`
    if (isIntent && !this.#intents.has(intent)) this.#intents.set(intent, this.#scheduler.now)
  }

  /** The store's word on who was fenced must be ours: only the row's present token may change it. */
  #completed(worker: string, completions: readonly Completion[], fenced: readonly string[]): void {
    for (const completion of completions) {
      const { notificationId, token, attempt } = completion
      const mark = `${notificationId}@${token}#${attempt}`
      const current = this.#token.get(notificationId) === token
      const repeat = this.#written.has(mark)
      // A worker that took over its own row may report both results at once; the store names the notification for the stale.
      const hasStaleTwin =
        current && completions.some((other) => other.notificationId === notificationId && other.token !== token)
      const refused = fenced.includes(notificationId) && !hasStaleTwin
      if (!current && !repeat && !refused)
        this.broken.push(`P5: ${worker} wrote a result for ${short(notificationId)} with the stale token ${token}`)
      if (current && refused)
        this.broken.push(
          `P5: ${worker} was fenced on ${short(notificationId)} though it held the current token ${token}`,
        )
      if (!current || refused) continue
      this.#token.delete(notificationId)
      this.#written.add(mark)
      if (completion.next) this.#inserted += 1 + (completion.next.passedOver?.length ?? 0)
      // A chain that ends leaves a row for each channel that it could not go on with.
      if (completion.to === 'parked' || completion.to === 'failed') this.#inserted += completion.skipped?.length ?? 0
    }
  }

  /** All promises, after the run. `finished`: everything came to rest in time. */
  async reckon(world: World, finished: boolean): Promise<string[]> {
    const rows: ListedNotification[] = []
    for (const tenantId of TENANTS)
      rows.push(...(await world.base.notifications.list({ tenantId }, { limit: 200 })).items)
    const byId = new Map(rows.map((row) => [row.id, row]))
    const attempts = new Map<string, AttemptView[]>()
    for (const { id } of rows) attempts.set(id, await world.base.notifications.attempts(id))
    const attemptsOf = (id: string): AttemptView[] => attempts.get(id) ?? []
    return [
      ...this.broken,
      ...(await this.#nothingLost(world, rows, finished)),
      ...oneRowPerKey(rows),
      ...(finished ? await this.#mergedByRank(world, rows, attemptsOf) : []),
      ...this.#intentBeforeEffect(world, byId),
      ...noSilentDuplicate(world, byId, attemptsOf, (id) => this.#isSentAgainByHand(id)),
      ...this.#throughOneAccount(world, byId),
      ...(await onRecord(world, rows, attemptsOf, (id) => this.#heardOf(id))),
      ...(await chained(world)),
      ...paceKept(world),
      ...(await countedRight(world)),
    ]
  }

  /** P1 and P7: everything acknowledged ended, visibly, and the poison harmed nobody else. */
  async #nothingLost({ base }: World, rows: readonly ListedNotification[], finished: boolean): Promise<string[]> {
    const wrong: string[] = []
    if (!finished) {
      const stuck = rows.filter((row) => ['queued', 'retrying', 'sending'].includes(row.status))
      wrong.push(
        `P1: not at rest in time; still waiting: ${stuck.map((row) => `${short(row.id)} ${row.status}`).join(', ') || 'events'}`,
      )
    }
    const counts = Object.values(await base.notifications.countByStatus(null)).reduce((a, b) => a + b, 0)
    const byReceipt = rows.filter(({ fallbackOf }) => this.#takenOver.has(fallbackOf ?? '')).length
    if (counts !== rows.length || counts !== this.#inserted + byReceipt)
      wrong.push(
        `P1: ${this.#inserted + byReceipt} notifications were accepted, ${counts} are counted, ${rows.length} are listed`,
      )
    for (const event of this.#events.values()) {
      const stored = await base.events.find(event.tenantId, event.id)
      if (!stored) {
        wrong.push(`P1: acknowledged event ${event.id} does not exist`)
        continue
      }
      const poisoned = await poisonedRow(base, stored)
      if (poisoned !== null) {
        const deaths = this.#crashes.deathsAlone(poisoned)
        if (deaths < 2) wrong.push(`P7: event ${event.id} is poisoned, and ${deaths} processes died over it alone`)
        continue
      }
      const wanted = event.type === 'nobody.knows' ? 'failed' : 'published'
      if (finished && stored.status !== wanted)
        wrong.push(`P1/P7: event ${event.id} is ${stored.status}, not ${wanted}`)
      if (finished) wrong.push(...conserved(event, rows))
    }
    for (const { idempotencyKey, tenantId } of this.#direct.values())
      if (!rows.some((row) => row.tenantId === tenantId && row.idempotencyKey === idempotencyKey))
        wrong.push(`P1: acknowledged notification ${idempotencyKey} does not exist`)
    for (const row of rows) {
      if (row.reason?.startsWith('fallback_triggered:') && !rows.some((next) => next.fallbackOf === row.id))
        wrong.push(`P1: ${short(row.id)} failed for a fallback that does not exist`)
      if (row.eventType === 'order.broken' && finished && !['parked', 'discarded', 'skipped'].includes(row.status))
        wrong.push(`P7: the broken template's notification is ${row.status}`)
    }
    return wrong
  }

  /** P6: the highest receipt that was kept decides, whatever the order was, unless something else has closed the row. */
  async #mergedByRank({ base }: World, rows: readonly ListedNotification[], attemptsOf: AttemptsOf): Promise<string[]> {
    const wrong: string[] = []
    for (const row of rows) {
      if (this.#touchedByHand.has(row.id) || !isOpenToReceipts(row, attemptsOf)) continue
      const heard = [...this.#heardOf(row.id)]
      const highest = heard.toSorted((a, b) => RECEIPTS[b].rank - RECEIPTS[a].rank)[0]
      if (!endsOf(highest).includes(row.status))
        wrong.push(`P6: ${short(row.id)} is ${row.status}; ${heard.join(', ') || 'nothing'} was heard`)
    }
    for (const { id, status, body } of (await base.receipts.callbacks({}, { limit: 200 })).items) {
      // What was sent again by hand may have moved on to another account, which the first one does not speak for.
      const { notificationId } = JSON.parse(body.toString()) as VendorReport
      if (status !== 'applied' && !this.#touchedByHand.has(notificationId))
        wrong.push(`P6: the callback ${id} is ${status}`)
    }
    return wrong
  }

  /**
   * P4 between accounts: what one account may have sent is never sent through another, flagged or not, unless a person
   * says so. And the ledger names the account that sent it.
   */
  #throughOneAccount({ vendor }: World, byId: ReadonlyMap<string, ListedNotification>): string[] {
    const wrong: string[] = []
    for (const [id, messages] of Map.groupBy(vendor.messages, (message) => message.notificationId)) {
      if (this.#touchedByHand.has(id)) continue
      const accounts = new Set(messages.map(({ accountId }) => accountId))
      if (accounts.size > 1) wrong.push(`P4: ${short(id)} arrived through two accounts`)
      const row = byId.get(id)
      if (row?.status === 'sent' && !accounts.has(row.accountId ?? ''))
        wrong.push(`P11: ${short(id)} was sent by another account than the ledger says`)
    }
    return wrong
  }

  /** P3: a committed claim of the same attempt precedes every call. */
  #intentBeforeEffect({ vendor }: World, byId: ReadonlyMap<string, ListedNotification>): string[] {
    const wrong: string[] = []
    for (const call of vendor.calls) {
      const intendedAt = this.#intents.get(`${call.notificationId}#${call.attempt}`) ?? Number.POSITIVE_INFINITY
      if (intendedAt > call.at)
        wrong.push(`P3: ${short(call.notificationId)}#${call.attempt} was sent before its claim was committed`)
      const row = byId.get(call.notificationId)
      if (row?.expiresAt && EPOCH + intendedAt > row.expiresAt + 1)
        wrong.push(`P1: ${short(row.id)} was sent after it had expired`)
    }
    return wrong
  }
}

/** The id of the event, or of its schedule, that is poisoned; null where neither is. */
async function poisonedRow(base: World['base'], { tenantId, id: eventId, status, lastError }: StoredEvent) {
  const isPoisoned = (row: { status: string; lastError: string | null }): boolean =>
    row.status === 'failed' && /ended the process twice/.test(row.lastError ?? '')
  if (isPoisoned({ status, lastError })) return eventId
  const { items } = await base.schedules.list({ tenantId, eventId }, { limit: 10 })
  return items.find(isPoisoned)?.id ?? null
}

/** Whoever died and wherever: what the numbers are told from is what a count of all rows gives. */
async function countedRight({ base, ids }: World): Promise<string[]> {
  const rebuilt = await base.rollups.rebuild(ids(), () => {})
  if (rebuilt?.mended === 0) return []
  return [
    `numbers: ${rebuilt ? `${rebuilt.mended} sums differ` : 'nothing can be said of how the sums differ'} from a count`,
  ]
}

type AttemptsOf = (notificationId: string) => AttemptView[]

/** Where nothing but a receipt can have led, or from where one leads on. */
function isOpenToReceipts({ id, status, reason }: ListedNotification, attemptsOf: AttemptsOf): boolean {
  if (status === 'parked') return reason === 'bounced' || reason === 'complained' || reason === 'unreachable'
  if (status === 'failed') return attemptsOf(id).findLast(({ late }) => !late)?.outcome === 'accepted'
  return ['sent', 'delivered', 'read', 'uncertain'].includes(status)
}

/** A failure ends either way, by whether another channel could take over. */
function endsOf(highest: ReceiptKind | undefined): readonly string[] {
  if (highest === undefined) return ['sent', 'uncertain']
  return highest === 'failed' || highest === 'bounced' ? ['parked', 'failed'] : [RECEIPTS[highest].to]
}

const CHANNELS_OF: Record<string, string[]> = {
  'order.paid': ['email', 'sms'],
  'order.reminder': ['email'],
  'order.chain': ['email', 'sms'],
  'order.broken': ['email'],
}

/** P1: recipients × channels = rows + channels still held by chains. Each of these events has one recipient. */
function conserved({ id, type, tenantId }: NewEvent, rows: readonly ListedNotification[]): string[] {
  const own = rows.filter((row) => row.tenantId === tenantId && row.eventId === id && row.place === '0')
  const held = own.flatMap(({ fallback, fallbackTo }) => (fallbackTo === null ? fallback : []))
  const found = [...own.map(({ channel }) => channel), ...held].toSorted()
  const asked = CHANNELS_OF[type] ?? []
  if (found.join() === asked.join()) return []
  return [`P1: event ${id} asked for ${asked.join(', ') || 'nothing'} and has ${found.join(', ') || 'nothing'}`]
}

function oneRowPerKey(rows: readonly ListedNotification[]): string[] {
  const wrong: string[] = []
  const keys = new Set<string>()
  const things = new Set<string>()
  for (const row of rows) {
    const key = `${row.tenantId}/${row.idempotencyKey}`
    if (keys.has(key)) wrong.push(`P2: two rows with key ${key}`)
    keys.add(key)
    // What is skipped has a key of its own, whatever was sent before.
    if (row.entity === null || row.fallbackOf !== null || row.status === 'skipped') continue
    const thing = `${row.tenantId}/${row.entity.id}/${row.eventType}/${row.channel}`
    if (things.has(thing)) wrong.push(`P2: two notifications for ${thing}`)
    things.add(thing)
  }
  return wrong
}

/** P4: a recipient got it twice only where the row says so, and an attempt says why. */
function noSilentDuplicate(
  { vendor }: World,
  byId: ReadonlyMap<string, ListedNotification>,
  attemptsOf: AttemptsOf,
  isSentAgainByHand: (notificationId: string) => boolean,
): string[] {
  const wrong: string[] = []
  const count = new Map<string, number>()
  for (const message of vendor.messages) count.set(message.notificationId, (count.get(message.notificationId) ?? 0) + 1)
  for (const [id, messages] of count) {
    const row = byId.get(id)
    const attempts = attemptsOf(id)
    // After an accepted call only a person sends again: that is meant, not a duplicate.
    const accepted = attempts.filter((attempt) => attempt.outcome === 'accepted' && !attempt.late).length
    const meant = accepted + Number(isSentAgainByHand(id))
    if (messages <= Math.max(1, meant)) continue
    if (!row?.possibleDuplicate) wrong.push(`P4: ${short(id)} arrived ${messages} times and is not flagged`)
    if (!attempts.some((attempt) => attempt.outcome === 'unknown'))
      wrong.push(`P4: ${short(id)} arrived ${messages} times without an unknown attempt`)
  }
  for (const row of byId.values()) {
    if (row.status !== 'sent') continue
    if (!count.has(row.id)) wrong.push(`P1: ${short(row.id)} is "sent" and never arrived`)
  }
  return wrong
}

/** P11 as far as dispatch goes: attempts are numbered without gaps or repeats below the last, and agree with the row. */
async function onRecord(
  { base }: World,
  rows: readonly ListedNotification[],
  attemptsOf: AttemptsOf,
  heardOf: (notificationId: string) => ReadonlySet<ReceiptKind>,
): Promise<string[]> {
  const wrong: string[] = []
  for (const row of rows) {
    const attempts = attemptsOf(row.id).filter((attempt) => !attempt.late)
    const numbers = attempts.map((attempt) => attempt.number)
    if (new Set(numbers).size !== numbers.length) wrong.push(`P11: ${short(row.id)} has two attempts of one number`)
    // Only a receipt can tell that a call whose outcome is unknown was accepted.
    if (row.status === 'sent' && attempts.at(-1)?.outcome !== 'accepted' && !heardOf(row.id).has('sent'))
      wrong.push(`P11: ${short(row.id)} is sent, its last attempt is ${attempts.at(-1)?.outcome}`)
    const last = (await base.notifications.audit(row.id)).findLast((entry) => entry.to !== null)
    if (attempts.length > 0 && row.status !== 'queued' && row.status !== 'sending' && last?.to !== row.status)
      wrong.push(`P11: ${short(row.id)} is ${row.status}, the last audit row says ${last?.to}`)
  }
  return wrong
}

/** The token bucket holds across workers: no window of calls is larger than burst + rate × time. */
function paceKept({ vendor, plan }: World): string[] {
  // A process that was stopped uses its granted tokens when it wakes up, however late.
  if (plan.process.stall > 0) return []
  const wrong: string[] = []
  const byAccount = Map.groupBy(vendor.calls, (call) => call.accountId)
  const paces = new Map(
    plan.accounts.map(({ tenantId, channel, rank, pace }) => [`${tenantId}/${channel}/${rank}`, pace]),
  )
  for (const [accountId, calls] of byAccount) {
    const pace = paces.get(plan.accountNames.get(accountId) ?? '')
    if (!pace) continue
    for (let i = 0; i < calls.length; i++)
      for (let j = i; j < calls.length; j++) {
        const spanMs = (calls[j]?.at ?? 0) - (calls[i]?.at ?? 0)
        // A granted token is used within the round trips that follow.
        const allowed = pace.burst + ((spanMs + 100) / 1_000) * pace.perSecond
        if (j - i + 1 > allowed) wrong.push(`pace: ${j - i + 1} calls of ${accountId} within ${spanMs.toFixed(0)} ms`)
      }
  }
  return wrong.slice(0, 1)
}

function short(id: string): string {
  return id.slice(-6)
}

function hash(text: string): number {
  let h = 0
  for (let i = 0; i < text.length; i++) h = (Math.imul(h, 33) + text.charCodeAt(i)) | 0
  return h
}

/** P11: whoever chained the audit, and whoever died over it, its chains are whole. */
async function chained({ base }: World): Promise<string[]> {
  const wrong: string[] = []
  for (const tenantId of TENANTS) {
    const { fault } = await verifyChain(base.audit, tenantId)
    if (fault) wrong.push(`P11: the audit of ${tenantId}: ${fault.message}`)
  }
  return wrong
}
