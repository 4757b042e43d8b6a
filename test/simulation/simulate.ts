import { parseCatalogue } from '../../packages/pillarbox/src/catalogue/parse.ts'
import type { ClaimAnswer, Completion } from '../../packages/pillarbox/src/dispatch/dispatch-store.ts'
import { createEngine, type Engine, type EngineSettings } from '../../packages/pillarbox/src/engine.ts'
import type { NewEvent } from '../../packages/pillarbox/src/model/event.ts'
import type { Action, NewNotification } from '../../packages/pillarbox/src/model/notification.ts'
import type { Logger } from '../../packages/pillarbox/src/model/ports.ts'
import type { ReceiptKind } from '../../packages/pillarbox/src/model/receipt.ts'
import { createIdSource } from '../../packages/pillarbox/src/runtime/ids.ts'
import { createPayloadSeal } from '../../packages/pillarbox/src/security/payload-seal.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { createUntrustedInProcess } from '../../packages/pillarbox/src/untrusted/untrusted.ts'
import { sampleNotification } from '../support/samples.ts'
import { Ledger } from './ledger.ts'
import { ALL_DUE_MS, CHAOS_MS, planRun, type RunPlan, TENANTS, TIMES } from './plan-of-run.ts'
import type { PlantedBug } from './planted-bugs.ts'
import { EPOCH, processClock, Scheduler, seededRandom } from './scheduler.ts'
import { overTheWire, SimProcess } from './simulated-process.ts'
import { createVendor, type Message, type Vendor, type VendorReport, vendorReceipts } from './simulated-provider.ts'
import { cleanStage, type Stage } from './stage.ts'

export interface RunResult {
  plan: RunPlan
  /** Broken promises, each with its number; empty when all hold. */
  violations: string[]
  story: string[]
  /** Equal for equal seeds: the run is deterministic. */
  trace: number
  steps: number
  virtualMs: number
}

/** One world: a store, a vendor, workers that die, a publisher and an operator; then peace, and the reckoning. */
export async function simulate(seed: number, options: { bug?: PlantedBug; story?: boolean } = {}): Promise<RunResult> {
  const random = seededRandom(seed)
  const plan = planRun(seed, random)
  const scheduler = new Scheduler(random)
  const story: string[] = []
  const tell = (line: string): void => {
    if (options.story) story.push(`${scheduler.now.toFixed(1).padStart(10)} ms  ${line}`)
  }
  const clock = processClock(
    scheduler,
    (time, wake) => void scheduler.at(time, wake),
    () => 0,
  )
  const ids = createIdSource(clock, random)
  const stage = await cleanStage(clock, build)
  const base = stage.store
  await furnish(base, plan, ids)
  const ledger = new Ledger(scheduler)
  const vendor = createVendor(
    scheduler,
    random,
    plan.vendor,
    (message, tenantId, kind) => void receive(world, message, tenantId, kind),
  )
  const world: World = {
    plan,
    scheduler,
    random,
    base,
    store: options.bug?.store?.(base, ledger) ?? base,
    ledger,
    vendor,
    tell,
    telling: options.story ?? false,
    ids,
    bug: options.bug,
  }

  const crew = new Crew(world)
  for (let i = 0; i < plan.workers; i++) await crew.hire()
  void publish(world)
  void operate(world)
  void administer(world)
  await scheduler.run(() => false, CHAOS_MS)

  tell('— peace —')
  vendor.calm()
  await crew.makePeace()
  const finished = await scheduler.run(quietCheck(scheduler, stage), 15 * 60_000)
  const violations = await ledger.reckon(world, finished)
  return { plan, violations, story, trace: ledger.trace, steps: scheduler.steps, virtualMs: scheduler.now }
}

export interface World {
  plan: RunPlan
  scheduler: Scheduler
  random: () => number
  /** The store itself, for the reckoning. */
  base: Store
  /** The store everybody works with: the same, unless a bug is planted in it. */
  store: Store
  ledger: Ledger
  vendor: Vendor
  tell(line: string): void
  /** Whether anybody listens. */
  telling: boolean
  ids: () => string
  bug: PlantedBug | undefined
}

/** Small numbers on purpose: limits are reached, batches are cut, queues form. */
export const ENGINE_SETTINGS: EngineSettings = {
  host: 'simulated',
  pid: 0,
  version: '0',
  channels: null,
  slotsPerChannel: 4,
  claimRows: 3,
  callTimeoutMs: TIMES.call,
  callGraceMs: TIMES.callGrace,
  pollMaxMs: 1_000,
  discoverEveryMs: 20,
  rescueEveryMs: 500,
  chainEveryMs: 500,
  scrubEveryMs: 2_500,
  operateEveryMs: 1_000,
  retention: null,
  scans: null,
  workerTtlMs: TIMES.ttl,
  shutdownGraceMs: TIMES.grace,
  planRows: 4,
  flushMs: TIMES.flush,
  flushRows: 3,
  flushers: 2,
  configMaxAgeMs: 2_000,
  pausedHoldMs: TIMES.pausedHold,
}

/** Stateless but for its cache of parsed templates, so one serves all. */
const untrusted = createUntrustedInProcess()

/** The workers: hired, killed by chance, replaced. */
class Crew {
  readonly #world: World
  readonly #staff: { process: SimProcess; engine: Engine }[] = []
  #hired = 0
  #peace = false

  constructor(world: World) {
    this.#world = world
  }

  async hire(): Promise<void> {
    const { plan, scheduler, random, ledger, tell, telling, vendor, bug } = this.#world
    const process = new SimProcess(`w${++this.#hired}`, scheduler)
    process.calm = this.#peace
    ledger.hired(process)
    const clock = processClock(scheduler, process.gate, () => 0)
    const store = overTheWire(this.#world.store, {
      process,
      random,
      faults: plan.process,
      stallMs: plan.stallMs,
      tell,
      committed: (operation, args, answer) => {
        ledger.committed(process.name, operation, args, answer)
        if (telling) tell(`${process.name}: ${brief(operation, args, answer)}`)
      },
    })
    const provider = vendor.provider(process.name)
    const engine = createEngine({
      store: bug?.client?.(store) ?? store,
      registry: (channel) => (channel ? (bug?.provider?.(provider, ledger) ?? provider) : null),
      receiptSources: new Map([['vendor', vendorReceipts]]),
      untrusted,
      processes: {
        space: 'simulated',
        boot: process.name,
        isRunning: (pid) => this.#staff[pid - 1]?.process.dead === false,
      },
      openSecrets: () => ({}),
      payloadSeal: createPayloadSeal(Buffer.alloc(32, 7)),
      scrub: (text) => text,
      clock,
      random,
      ids: this.#world.ids,
      logger: storyteller(tell, process.name),
      settings: { ...ENGINE_SETTINGS, pid: this.#hired },
    })
    this.#staff.push({ process, engine })
    void engine.start()
    this.#watch(process)
  }

  #watch(process: SimProcess): void {
    const { scheduler, plan, random } = this.#world
    const look = (): void => {
      if (process.dead) {
        const deaths = this.#staff.filter((member) => member.process.dead).length
        if (deaths <= plan.mostDeaths || this.#peace) void this.hire()
      } else if (!this.#peace) scheduler.at(scheduler.now + 100 + random() * 500, look)
    }
    scheduler.at(scheduler.now + 100 + random() * 500, look)
  }

  async makePeace(): Promise<void> {
    this.#peace = true
    for (const { process } of this.#staff) process.calm = true
    if (this.#staff.every(({ process }) => process.dead)) await this.hire()
  }
}

export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

function storyteller(tell: (line: string) => void, name: string): Logger {
  const log = (fields: Record<string, unknown>, message: string): void =>
    tell(`${name}: ${message} ${JSON.stringify(fields)}`)
  return { debug() {}, info() {}, warn: log, error: log }
}

function claimed(answer: ClaimAnswer): string {
  if (answer.fenced) return 'claim refused: declared dead'
  const rows = answer.claims.map((claim) => `${claim.notificationId.slice(-6)}#${claim.attempt}@${claim.token}`)
  return rows.length ? `claims ${rows.join(' ')}` : 'claims nothing'
}

/** Of the audit's chain: its salts are the database's own chance, so they differ when a seed is run again. */
const HASH = /[0-9a-f]{64}/g

function brief(operation: string, args: readonly unknown[], answer: unknown): string {
  if (operation === 'dispatch.claim') return claimed(answer as ClaimAnswer)
  if (operation.startsWith('plan.take') && operation.endsWith('.write'))
    return `${operation} → ${JSON.stringify(answer)}`
  if (operation !== 'dispatch.complete')
    return `${operation} ${JSON.stringify(args.slice(1))} → ${JSON.stringify(answer)?.replaceAll(HASH, '…').slice(0, 100)}`
  const rows = (args[1] as Completion[]).map(({ notificationId, attempt, token, outcome, to, moveTo }) => {
    const where = moveTo ? `${to} on ${moveTo.accountId.slice(-6)}` : to
    return `${notificationId.slice(-6)}#${attempt}@${token} ${outcome}→${where}`
  })
  const { fenced } = answer as { fenced: string[] }
  return `reports ${rows.join(' ')}${fenced.length ? ` (fenced: ${fenced.map((id) => id.slice(-6)).join(' ')})` : ''}`
}

// ── what the world contains ──────────────────────────────────────────────────────────────────────────────────────

const words = (channel: string, body: string) => ({ channel, locale: 'en', subject: 'S', body })

const CATALOGUE = {
  name: 'simulated',
  eventTypes: {
    'order.paid': {
      entity: 'order',
      recipients: [{ email: 'email', phone: 'phone' }],
      delivery: { all: true },
      templates: [words('email', 'Paid {{id}}'), words('sms', 'Paid {{id}}')],
    },
    'order.reminder': {
      entity: 'order',
      once: 'per-event',
      recipients: [{ email: 'email' }],
      timing: { after: 'PT1S' },
      templates: [words('email', 'Soon {{id}}')],
    },
    'order.chain': {
      entity: 'order',
      recipients: [{ email: 'email', phone: 'phone' }],
      delivery: { fallback: ['sms', 'email'] },
      templates: [words('email', 'Chain {{id}}'), words('sms', 'Chain {{id}}')],
    },
    'order.broken': {
      entity: 'order',
      recipients: [{ email: 'email' }],
      templates: [words('email', '{{ id | no_such_filter }}')],
    },
  },
}

/** What is the same in every run. */
async function build(store: Store): Promise<void> {
  const parsed = parseCatalogue(CATALOGUE)
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems))
  let made = 0
  const newId = (): string => `fixed-${++made}`
  for (const id of TENANTS) {
    await store.tenants.insert({ id, name: id, defaultLocale: 'en', timeZone: 'UTC', settings: {} })
    await store.catalogue.replace(id, parsed.catalogue, { document: '{}', actor: 'system', newId })
  }
}

async function furnish(store: Store, plan: RunPlan, ids: () => string): Promise<void> {
  for (const account of plan.accounts) {
    const id = ids()
    plan.accountNames.set(id, `${account.tenantId}/${account.channel}/${account.rank}`)
    await store.accounts.insert({
      id,
      tenantId: account.tenantId,
      channel: account.channel,
      provider: 'vendor',
      name: `${account.channel} ${account.rank}`,
      settings: { capability: account.capability },
      sealedSecrets: null,
      secretNames: [],
      pace: account.pace,
      retry: { maxAttempts: account.maxAttempts, base: 'PT0.1S', cap: 'PT1S' },
      onUnknown: account.onUnknown,
      breaker: { failures: 3, resetAfterMs: TIMES.reset },
      priority: account.rank,
      status: 'active',
      statusReason: null,
    })
  }
}

/** The host application: it publishes, and repeats what it got no answer for, as a client would. */
async function publish(world: World): Promise<void> {
  const { plan, random, scheduler, store, ledger, tell } = world
  const process = new SimProcess('publisher', scheduler)
  const wire = overTheWire(world.bug?.publisher?.(store) ?? store, {
    process,
    random,
    faults: { ...plan.process, crash: 0, stall: 0 },
    stallMs: 0,
    tell,
    committed: (operation, args, answer) => ledger.committed('publisher', operation, args, answer),
  })
  const persist = async <T>(send: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await send()
      } catch {
        await process.after(50)
      }
    }
  }
  const jobs: (() => Promise<void>)[] = []
  const event = (type: string, n: number, twice: boolean): void => {
    const tenantId = TENANTS[n % 2] as string
    const entityId = `${type}-${n}`
    for (const suffix of twice ? ['a', 'b'] : ['a'])
      jobs.push(async () => {
        const written = eventOf(tenantId, `${entityId}-${suffix}`, type, entityId)
        await persist(() => wire.events.insert([written]))
        ledger.acknowledgedEvent(written)
        if (random() < 0.2) await persist(() => wire.events.insert([written]))
      })
  }
  for (let n = 0; n < plan.orders; n++) event('order.paid', n, random() < 0.3)
  for (let n = 0; n < plan.reminders; n++) event('order.reminder', n, false)
  for (let n = 0; n < plan.chains; n++) event('order.chain', n, false)
  for (let n = 0; n < plan.poison; n++) event(n % 2 ? 'nobody.knows' : 'order.broken', n, false)
  for (let n = 0; n < plan.direct; n++)
    jobs.push(async () => {
      const notification = await direct(world, n)
      await persist(() => wire.notifications.insert([notification]))
      ledger.acknowledgedNotification(notification)
    })
  await Promise.all(
    jobs.map(async (job) => {
      await process.after(random() * 2_000)
      await job()
    }),
  )
}

function eventOf(tenantId: string, id: string, type: string, entityId: string): NewEvent {
  const payload = { id: entityId, email: `${entityId}@example.test`, phone: '+15550100' }
  return {
    id,
    tenantId,
    type,
    entity: { type: 'order', id: entityId },
    payload,
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
  }
}

async function direct({ base, ids, random, scheduler }: World, n: number): Promise<NewNotification> {
  const tenantId = TENANTS[n % 2] as string
  const account = (await base.accounts.list(tenantId, 'sms'))[0]
  return sampleNotification({
    id: ids(),
    tenantId,
    idempotencyKey: `direct-${n}`,
    accountId: account?.id ?? null,
    to: { phone: '+15550100', email: 'direct@example.test' },
    content: { subject: null, body: `direct ${n}`, data: {} },
    triggeredBy: 'key:simulated',
    fallback: random() < 0.5 ? ['email'] : [],
    expiresAt: random() < 0.2 ? EPOCH + Math.round(scheduler.now + random() * 1_500) : null,
  })
}

/** The webhook's side: a callback whose answer is lost is sent again, as vendors do. */
async function receive(world: World, message: Message, tenantId: string, kind: ReceiptKind): Promise<void> {
  const { plan, random, scheduler, store, ledger, tell } = world
  const process = new SimProcess('webhook', scheduler)
  const wire = overTheWire(store, {
    process,
    random,
    faults: { ...plan.process, crash: 0, stall: 0 },
    stallMs: 0,
    tell,
    committed: (operation, args, answer) => ledger.committed('webhook', operation, args, answer),
  })
  const { id: messageId, notificationId, accountId } = message
  const report: VendorReport = { messageId, notificationId, kind, at: EPOCH + Math.round(scheduler.now) }
  const body = Buffer.from(JSON.stringify(report))
  const callback = { source: 'vendor', tenantId, accountIds: [accountId], headers: {}, body }
  for (let isHeard = false; !isHeard; ) {
    try {
      tell(`webhook: ${kind} for ${notificationId.slice(-6)} → ${await wire.receipts.keep(callback)}`)
      isHeard = true
    } catch {
      await scheduler.after(30)
    }
  }
}

/** Somebody at the console, pressing buttons at the worst moment. */
async function operate(world: World): Promise<void> {
  const { plan, random, scheduler, store, ledger, tell } = world
  const actions: Action[] = ['retry', 'discard', 'cancel', 'park', 'restore']
  for (let i = 0; i < plan.operatorActions; i++) {
    await scheduler.after(200 + random() * 2_500)
    const tenantId = TENANTS[Math.floor(random() * 2)] as string
    const { items } = await store.notifications.list({ tenantId }, { limit: 50 })
    const target = items[Math.floor(random() * items.length)]
    const action = actions[Math.floor(random() * actions.length)] as Action
    if (!target || !(await store.notifications.find(tenantId, target.id))?.content) continue
    const answer = await store.notifications.act({ tenantId, id: target.id, action, actor: 'console:simulated' })
    ledger.committed('operator', 'notifications.act', [{ id: target.id, action }], answer)
    tell(`operator: ${action} ${target.id.slice(-6)} → ${JSON.stringify(answer)}`)
  }
}

/** Whoever looks after the accounts: mends what was refused, and suspends one now and then. At peace all send again. */
async function administer({ plan, random, scheduler, store, ledger, tell }: World): Promise<void> {
  const actor = 'console:simulated'
  for (let suspensions = plan.suspensions; ; ) {
    await scheduler.after(300 + random() * 1_500)
    const isPeace = scheduler.now > CHAOS_MS
    for (const tenantId of TENANTS)
      for (const { id, status } of await store.accounts.list(tenantId)) {
        const name = plan.accountNames.get(id)
        if (status !== 'active' && (isPeace || random() < 0.5)) {
          await store.accounts.setStatus(id, 'active', null, actor)
          tell(`administrator: activates ${name}`)
        } else if (status === 'active' && !isPeace && suspensions > 0 && random() < 0.2) {
          suspensions--
          const answer = await store.accounts.setStatus(id, 'suspended', 'by hand', actor)
          ledger.committed('administrator', 'accounts.setStatus', [id, 'suspended'], answer)
          tell(`administrator: suspends ${name}`)
        }
      }
  }
}

/** Nothing is left to do. Looked at twice per virtual second. */
function quietCheck(scheduler: Scheduler, stage: Stage): () => boolean {
  let quiet = false
  const look = (): void => {
    quiet = scheduler.now > ALL_DUE_MS && stage.isAtRest()
    if (!quiet) scheduler.at(scheduler.now + 500, look)
  }
  scheduler.at(scheduler.now, look)
  return () => quiet
}
