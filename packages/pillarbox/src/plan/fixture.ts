import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ENGINES } from '../../../../test/support/engines.ts'
import { createManualClock, type ManualClock } from '../../../../test/support/manual-clock.ts'
import { wholeNotifications } from '../../../../test/support/notifications.ts'
import {
  recordingLogger,
  recordingMeters,
  sampleEvent,
  silent,
  storedAccount,
} from '../../../../test/support/samples.ts'
import { parseCatalogue } from '../catalogue/parse.ts'
import { createSuppressionBook } from '../dispatch/suppressions.ts'
import type { Channel } from '../model/channel.ts'
import type { NewEvent, StoredEvent } from '../model/event.ts'
import type { Content, NotificationView } from '../model/notification.ts'
import { type Clock, noTracing } from '../model/ports.ts'
import type { StoredSchedule } from '../model/schedule.ts'
import type { Tenant } from '../model/tenant.ts'
import { createHub, type Hub } from '../runtime/hub.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemClock } from '../runtime/system.ts'
import { createPayloadSeal, isSealedContent } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import { createTenantSnapshots } from '../tenant/snapshots.ts'
import { createUntrustedInProcess } from '../untrusted/untrusted.ts'
import { createContextBook } from './context-book.ts'
import { createEventBook } from './event-book.ts'
import type { ChainDeps } from './next-in-chain.ts'
import { createPeopleBook } from './people.ts'
import { createPlanner, type Planner, type PlannerDeps } from './planner.ts'
import type { ReplanDeps } from './replan.ts'
import type { ResolveHook } from './resolve-hook.ts'
import { createSkipReport } from './skip-report.ts'

export interface Options {
  /** Parsed YAML or JSON. */
  catalogue: { eventTypes: Record<string, unknown> } & Record<string, unknown>
  /** Channels with an active account, of each tenant. */
  accounts?: readonly Channel[]
  tenant?: Partial<Tenant>
  engine?: Store['engine']
  /** What the planner has in place of parts of the store. */
  plant?: (base: Store) => Partial<Store>
  resolve?: ResolveHook
  batchRows?: number
}

/** A planner over a real store, one round at a time. */
export interface Bench {
  /** On PostgreSQL the database's time counts: this one is then the real one, and stands still for `advance`. */
  clock: ManualClock
  store: Store
  logger: ReturnType<typeof recordingLogger>
  meters: ReturnType<typeof recordingMeters>
  hub: Hub
  deps: PlannerDeps
  chain: ChainDeps & ReplanDeps
  seal: ReturnType<typeof createPayloadSeal>
  /** Contexts that were read, as `tenant type`. */
  loads: string[]
  ids: () => string
  /** Another process that plans the same store. */
  planner(changes?: Partial<PlannerDeps>): Planner
  round(): Promise<number>
  /** Rounds until there is nothing left to decide. */
  plan(): Promise<void>
  publish(changes?: Partial<NewEvent>): Promise<string>
  event(id: string, tenantId?: string): Promise<StoredEvent>
  schedules(): Promise<StoredSchedule[]>
  schedule(): Promise<StoredSchedule>
  /** In the order they were made; at most 200. */
  notifications(): Promise<NotificationView[]>
  accountId(channel: Channel, tenantId?: string): string
  /** Bans an address of acme's on email. */
  suppress(address: string): Promise<unknown>
  /** Replaces acme's catalogue. */
  import(catalogue: Options['catalogue']): Promise<void>
}

const TENANTS = ['acme', 'other'] as const

export async function openPlanning(t: TestContext, options: Options): Promise<Bench> {
  const { engine = 'sqlite', accounts = ['sms', 'email'], batchRows = 10, resolve = null } = options
  const manual = createManualClock()
  const clock: ManualClock = engine === 'sqlite' ? manual : { ...manual, ...systemClock }
  const logger = recordingLogger()
  const meters = recordingMeters()
  const random = () => 0.5
  const ids = createIdSource(clock, random)
  const base = await openStore(t, engine, clock)
  await base.migrate()
  const accountIds = new Map<string, string>()
  const imported = async (tenantId: string, catalogue: Options['catalogue']): Promise<void> => {
    const parsed = parseCatalogue(catalogue)
    assert.ok('catalogue' in parsed, JSON.stringify(parsed))
    await base.catalogue.replace(tenantId, parsed.catalogue, { document: '{}', actor: 'test', newId: ids })
  }
  for (const id of TENANTS) {
    await base.tenants.insert({ id, name: id, defaultLocale: 'en', timeZone: 'UTC', settings: {}, ...options.tenant })
    await imported(id, options.catalogue)
    for (const channel of accounts) {
      const accountId = ids()
      accountIds.set(`${id} ${channel}`, accountId)
      await base.accounts.insert(storedAccount({ id: accountId, tenantId: id, channel }))
    }
  }
  const store: Store = { ...base, ...options.plant?.(base) }
  const hub = createHub(clock, base.wake)
  const loads: string[] = []
  const contexts = createContextBook(
    {
      ...base,
      catalogue: {
        ...base.catalogue,
        eventType: (tenantId, eventType) => {
          loads.push(`${tenantId} ${eventType}`)
          return base.catalogue.eventType(tenantId, eventType)
        },
      },
    },
    createTenantSnapshots(base, clock, 1_000),
  )
  const seal = createPayloadSeal(Buffer.alloc(32, 7))
  const common = {
    store,
    suppressions: createSuppressionBook({ suppressions: store.suppressions, clock, ids, logger, maxAgeMs: 1_000 }),
    untrusted: createUntrustedInProcess(),
    sealing: seal,
    clock,
    random,
    ids,
    logger,
    meters,
    tracing: noTracing,
    skips: createSkipReport({ logger, meters }),
  }
  const settings = { batchRows, pollMaxMs: 200 }
  const deps: PlannerDeps = { ...common, guard: null, contexts, resolve, hub, settings }
  const planner = createPlanner(deps)
  let published = 0
  const bench: Bench = {
    clock,
    store: base,
    logger,
    meters,
    hub,
    deps,
    chain: {
      ...common,
      events: createEventBook({ store, contexts, sealing: seal, resolve, clock }),
      people: createPeopleBook({ people: store.people, clock, ids }),
    },
    seal,
    loads,
    ids,
    planner: (changes = {}) => createPlanner({ ...deps, ...changes }),
    round: planner.round,
    async plan() {
      while ((await planner.round()) > 0);
    },
    async publish(changes = {}) {
      const id = changes.id ?? `event-${++published}`
      const {
        status: _s,
        attemptCount: _a,
        nextAttemptAt: _n,
        lastError: _l,
        createdAt: _c,
        publishedAt: _p,
        ...event
      } = sampleEvent()
      await base.events.insert([{ ...event, correlationId: null, entity: { type: 'booking', id }, ...changes, id }])
      return id
    },
    async event(id, tenantId = 'acme') {
      const event = await base.events.find(tenantId, id)
      assert.ok(event)
      return event
    },
    schedules: async () => (await base.schedules.list({}, { limit: 100 })).items.toReversed(),
    async schedule() {
      const all = await bench.schedules()
      assert.equal(all.length, 1)
      return all[0] as StoredSchedule
    },
    notifications: async () => (await wholeNotifications(base)).toReversed(),
    accountId: (channel, tenantId = 'acme') => accountIds.get(`${tenantId} ${channel}`) ?? '',
    suppress: (address) =>
      base.suppressions.insert({
        id: ids(),
        tenantId: 'acme',
        channel: 'email',
        address,
        cause: 'operator',
        error: null,
        notificationId: null,
        createdBy: 'key:ada',
      }),
    import: (catalogue) => imported('acme', catalogue),
  }
  return bench
}

async function openStore(t: TestContext, engine: Store['engine'], clock: Clock): Promise<Store> {
  const open = ENGINES.find((one) => one.engine === engine)?.open
  assert.ok(open)
  const store = await open({ clock, logger: silent })
  t.after(() => store.close())
  return store
}

/** The words of a notification that holds no secrets. */
function contentOf(notification: Pick<NotificationView, 'content'> | undefined): Content {
  const content = notification?.content
  assert.ok(content && !isSealedContent(content))
  return content
}

export function bodyOf(notification: Pick<NotificationView, 'content'> | undefined): string {
  return contentOf(notification).body
}
