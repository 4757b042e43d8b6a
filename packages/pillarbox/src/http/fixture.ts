import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { holdToDocument } from '../../../../test/support/documented-answers.ts'
import { readyCatalogues } from '../catalogue/ready.ts'
import type { Provider } from '../channels/channel.ts'
import { createRegistry } from '../channels/registry.ts'
import type { ApiKey, Role } from '../model/api-key.ts'
import { CHANNELS } from '../model/channel.ts'
import { type Clock, type Logger, noTracing } from '../model/ports.ts'
import { issueKey } from '../operate/api-keys.ts'
import { createResend } from '../operate/resend.ts'
import { createContextBook } from '../plan/context-book.ts'
import { createEventBook } from '../plan/event-book.ts'
import { createPeopleBook } from '../plan/people.ts'
import { createRewrite } from '../plan/rewrite.ts'
import { createSkipReport } from '../plan/skip-report.ts'
import { createReceiptSources } from '../receipts/sources.ts'
import { createIdSource } from '../runtime/ids.ts'
import { createMetrics } from '../runtime/metrics.ts'
import { systemClock } from '../runtime/system.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import { createPayloadSeal } from '../security/payload-seal.ts'
import { createSeal } from '../security/seal.ts'
import { createTokenSeal } from '../security/token-seal.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import { createTenantSnapshots } from '../tenant/snapshots.ts'
import { createUntrustedInProcess } from '../untrusted/untrusted.ts'
import { buildApp } from './app.ts'
import { type AppDeps, DEFAULT_HTTP_CONFIG, type HttpConfig } from './context.ts'
import { createInboxFeed } from './inbox-feed.ts'

/**
 * An app over an empty store in memory, with time that only `advance` moves, for the tests of this folder. An answer that
 * the OpenAPI document does not have fails the test that got it.
 */
export interface Fixture {
  app: FastifyInstance
  store: Store
  deps: AppDeps
  opsKey: string
  nudges: WakeTopic[]
  /** Everything that was logged, as text. */
  log: string[]
  now(): number
  advance(ms: number): void
  /** A tenant with a key for each role. */
  tenant(id: string): Promise<TestTenant>
  key(wanted: Partial<ApiKey> & Pick<ApiKey, 'tenantId' | 'role'>): Promise<string>
  call(key: string | null, method: string, url: string, body?: unknown): Promise<Answer>
  inject(options: Omit<InjectOptions, 'method'> & { method: string }): Promise<Answer>
}

export interface Answer {
  statusCode: number
  headers: OutgoingHttpHeaders
  body: string
  json(): AnswerJson
}

/** Whatever an answer may hold, so that tests can name it; that it is there is what they assert. */
export interface AnswerJson {
  format: string | null
  isHtml: boolean
  acceptedAt: unknown
  accountId: unknown
  action: unknown
  actor: unknown
  added: unknown
  address: unknown
  ahead: unknown
  approvedAt: unknown
  approvedBy: unknown
  attemptCount: unknown
  note: unknown
  attempts: unknown
  audit: AnswerJson[]
  backlog: unknown
  body: unknown
  breaker: unknown
  cause: unknown
  changedBy: unknown
  changes: AnswerJson[]
  channel: unknown
  city: unknown
  code: unknown
  complete: unknown
  contactId: unknown
  content: unknown
  context: unknown
  conversationId: unknown
  correctedFrom: unknown
  correctedTo: unknown
  correlationId: unknown
  count: unknown
  counts: Record<string, number>
  createdAt: string
  createdBy: unknown
  currency: unknown
  database: unknown
  dateFormat: unknown
  defaultLocale: unknown
  deleted: Record<string, number>
  delivery: unknown
  detail: string
  document: string
  dryRun: unknown
  dueAt: unknown
  duplicate: unknown
  duplicates: unknown
  email: string
  entities: unknown
  entity: unknown
  error: unknown
  errors: { path: string; message: string }[]
  event: AnswerJson
  eventId: unknown
  eventType: unknown
  eventTypes: unknown
  executionId: unknown
  expiresAt: unknown
  explanation: AnswerJson[]
  fingerprint: unknown
  firstAt: unknown
  from: unknown
  id: string
  idempotencyKey: string
  importedAt: unknown
  importedBy: unknown
  index: unknown
  isActive: unknown
  isEdited: unknown
  isScrubbed: unknown
  isSealed: unknown
  items: AnswerJson[]
  key: string
  keys: { admin: string }
  kind: unknown
  lastAt: unknown
  lastError: unknown
  links: unknown
  locale: unknown
  memberCount: unknown
  members: unknown
  message: string
  missing: unknown
  more: unknown
  name: string
  nextCursor: string | null
  nights: unknown
  notificationId: unknown
  notifications: string[]
  onUndeliverable: unknown
  onUnmapped: unknown
  nextStep: unknown
  onUnknown: unknown
  openBreakers: unknown
  operationId: string
  openapi: unknown
  pace: unknown
  path: unknown
  pausedAccounts: unknown
  payload: AnswerJson
  phone: unknown
  priority: unknown
  profileId: unknown
  progress: unknown
  providerTemplate: unknown
  reason: string
  reasons: AnswerJson[]
  receipts: Record<string, unknown>[]
  recipients: unknown
  region: unknown
  requestId: string
  resolvedTargets: unknown
  results: AnswerJson[]
  retry: unknown
  revokedAt: unknown
  role: unknown
  schedule: AnswerJson
  scopeId: unknown
  scopeType: unknown
  secrets: unknown
  segments: unknown
  settings: unknown
  size: unknown
  status: unknown
  statusReason: unknown
  stuck: unknown
  subject: unknown
  templateCount: unknown
  templateId: unknown
  templateVersion: unknown
  templates: AnswerJson[]
  tenantId: unknown
  text: string
  timing: unknown
  to: AnswerJson
  token: string
  topic: unknown
  toAddress: unknown
  triggeredBy: unknown
  unknown: unknown
  updatedAt: unknown
  userId: unknown
  version: unknown
  waitingFor: unknown
  warnings: AnswerJson[]
  workers: AnswerJson[]
}

export interface TestTenant {
  id: string
  keys: Record<Exclude<Role, 'ops'>, string>
}

export interface FixtureOptions {
  config?: Partial<HttpConfig>
  deps?: Partial<AppDeps>
  wrapStore?: (store: Store) => Store
  /** An empty store, not migrated. Default: SQLite in memory. */
  open?: (deps: { clock: Clock; logger: Logger }) => Promise<Store>
}

export async function openFixture(options: FixtureOptions = {}): Promise<Fixture> {
  let now = Date.UTC(2026, 0, 15, 12)
  const sleepers = new Set<{ until: number; wake: () => void }>()
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (ms <= 0 || signal?.aborted) return resolve()
        const sleeper = { until: now + ms, wake }
        function wake(): void {
          sleepers.delete(sleeper)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', wake, { once: true })
      }),
  }
  const log: string[] = []
  const write = (fields: unknown, message: string): void => void log.push(`${message} ${JSON.stringify(fields)}`)
  const logger = { debug: write, info: write, warn: write, error: write }
  const opened = await (options.open?.({ clock, logger }) ?? openSqlite({ path: ':memory:', clock, logger }))
  await opened.migrate()
  const store = options.wrapStore?.(opened) ?? opened
  const ids = createIdSource(clock, seededRandom(7))
  const nudges: WakeTopic[] = []
  const nudge = (topic: WakeTopic): void => void nudges.push(topic)
  const untrusted = options.deps?.untrusted ?? createUntrustedInProcess()
  const tokens = createTokenSeal(Buffer.alloc(32, 2))
  const sealing = createPayloadSeal(Buffer.alloc(32, 1), tokens)
  const snapshots = createTenantSnapshots(store, clock, 1_000)
  const contexts = createContextBook(store, snapshots)
  const metrics = createMetrics()
  const skips = createSkipReport({ logger, meters: metrics.meters })
  const planning = {
    store,
    skips,
    events: createEventBook({ store, contexts, sealing, resolve: null, clock }),
    people: createPeopleBook({ people: store.people, clock, ids }),
    untrusted,
    sealing,
    clock,
    ids,
  }
  const deps: AppDeps = {
    store,
    snapshots,
    ids,
    clock,
    logger,
    registry: createRegistry([pretendProvider('sandbox'), pretendProvider('fcm'), pretendProvider('wns')]),
    seal: createSeal(Buffer.alloc(32, 1)),
    nudge,
    nextTurn: setImmediate,
    replan: async () => ({ problem: { reason: 'no_templates_found', error: 'There is still no template.' } }),
    rewrite: createRewrite(planning),
    resend: createResend({ ...planning, logger, nudge }),
    skips,
    metrics,
    tracing: noTracing,
    untrusted,
    payloadSeal: sealing,
    tokens,
    readyMade: readyCatalogues,
    inboxFeed: createInboxFeed({ inbox: store.inbox, wake: store.wake, clock: systemClock, logger }),
    receiptSources: createReceiptSources({
      outbound: {
        request: async () => ({ kind: 'failure', code: 'connect_failed', error: 'no way out', hasLeft: false }),
      },
      clock,
      certHosts: [],
    }),
    version: '0.0.0-test',
    ...options.deps,
    // The clock stands still: nobody would wake a list from its rest.
    config: {
      ...DEFAULT_HTTP_CONFIG,
      listTurns: { ...DEFAULT_HTTP_CONFIG.listTurns, mostRestMs: 0 },
      ...options.config,
    },
  }
  const app = await buildApp(deps)
  // What closes with the app still needs the store.
  const closeApp = app.close.bind(app)
  app.close = (async () => {
    await closeApp()
    await opened.close()
  }) as typeof app.close
  await app.ready()
  holdToDocument(app)

  const key: Fixture['key'] = async ({ name, ...wanted }) =>
    (await issueKey({ store: opened, ids }, { name: name ?? wanted.role, ...wanted }, 'system')).key
  const opsKey = await key({ tenantId: null, role: 'ops' })

  return {
    app,
    store,
    deps,
    opsKey,
    nudges,
    log,
    now: () => now,
    advance: (ms) => {
      now += ms
      for (const { until, wake } of sleepers) if (until <= now) wake()
    },
    key,
    async tenant(id) {
      await opened.tenants.insert({ id, name: id, defaultLocale: 'en', timeZone: 'UTC', settings: {} })
      const keys = {} as TestTenant['keys']
      for (const role of ['publisher', 'viewer', 'operator', 'admin'] as const)
        keys[role] = await key({ tenantId: id, role })
      return { id, keys }
    },
    inject: ({ method, ...rest }) => app.inject({ method: method as 'GET', ...rest }),
    call: (token, method, url, body) =>
      app.inject({
        method: method as 'GET',
        url,
        headers: {
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { payload: JSON.stringify(body) }),
      }),
  }
}

/** Providers that are only ever looked up here. */
function pretendProvider(name: string): Provider {
  return {
    name,
    channels: name === 'sandbox' ? CHANNELS : ['push'],
    checkSettings: (settings) => ('wrong' in settings ? [{ path: '/wrong', message: 'is wrong' }] : []),
    capability: () => 'none',
    send: async () => ({
      kind: 'permanent',
      code: 'test',
      error: 'never sent',
      reason: 'permanent_refusal',
    }),
  }
}

/** The same numbers every time: mulberry32. */
function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A small catalogue in the form callers send. */
export const CATALOGUE = {
  name: 'test',
  defaultLocale: 'en',
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      recipients: [{ email: 'guestEmail', phone: 'guestPhone' }],
      delivery: { channels: ['email'] },
      timing: { after: 'PT0S' },
      templates: [{ channel: 'email', locale: 'en', subject: 'Booking', body: 'Hello {{guestName}}' }],
    },
  },
}

/** An alert that stands, about an operation of the tenant; answers its id. */
export async function raiseAlert({ store, deps, now }: Fixture, tenantId: string): Promise<string> {
  const id = deps.ids()
  const reading = { rule: 'recovery_failed', subject: 'operation', subjectId: id, tenantId, value: 1 } as const
  const raise = { step: 'raise', id, isNew: true, reading, now: now(), summary: 'It failed' } as const
  await store.alerts.apply([raise], { ways: [], notByEvent: '' })
  return id
}
