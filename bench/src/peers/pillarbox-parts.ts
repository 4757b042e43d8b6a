import { openSync, writeSync } from 'node:fs'
import { parseCatalogue } from '../../../packages/pillarbox/src/catalogue/parse.ts'
import type { Provider, ProviderRegistry } from '../../../packages/pillarbox/src/channels/channel.ts'
import { createEngine, type Engine, type EngineSettings } from '../../../packages/pillarbox/src/engine.ts'
import type { Channel } from '../../../packages/pillarbox/src/model/channel.ts'
import type { NewNotification } from '../../../packages/pillarbox/src/model/notification.ts'
import type { Logger, Random } from '../../../packages/pillarbox/src/model/ports.ts'
import { createIdSource } from '../../../packages/pillarbox/src/runtime/ids.ts'
import { createLogger } from '../../../packages/pillarbox/src/runtime/logger.ts'
import { systemClock, systemRandom } from '../../../packages/pillarbox/src/runtime/system.ts'
import { createPayloadSeal } from '../../../packages/pillarbox/src/security/payload-seal.ts'
import { redactForLog } from '../../../packages/pillarbox/src/security/redact.ts'
import type { Store } from '../../../packages/pillarbox/src/store/store.ts'
import type { OpenSecrets } from '../../../packages/pillarbox/src/tenant/account-book.ts'
import { createPool } from '../../../packages/pillarbox/src/untrusted/pool.ts'
import { type Payload, payload, wordsOf } from '../payload.ts'
import type { Consumer, Handler, Settings } from '../peer.ts'
import { range } from '../statistics.ts'

export const TENANT = 'bench'
export const EVENT_TYPE = 'order.shipped'
export const ACCOUNT = '01900000-0000-7000-8000-000000000001'
export const PROVIDER = 'counting'
const TEMPLATE = '01900000-0000-7000-8000-000000000002'
const BATCH = 1_000

export const random: Random = systemRandom()
export const newId = createIdSource(systemClock, random)

/**
 * Silent unless something is wrong: a warning during a sample would explain its result. With BENCH_LOG=info the lines of
 * the product are made as in production and thrown away.
 */
export const logger: Logger = {
  ...(process.env['BENCH_LOG'] === 'info' ? thrownAway() : { debug() {}, info() {} }),
  warn: (fields, message) => console.error('pillarbox', message, fields),
  error: (fields, message) => console.error('pillarbox', message, fields),
}

function thrownAway(): Logger {
  const nowhere = openSync('/dev/null', 'w')
  const write = (text: string): void => void writeSync(nowhere, text)
  return createLogger({
    level: 'info',
    clock: systemClock,
    scrub: (text) => redactForLog(text),
    write,
    defer: setImmediate,
    style: 'json',
  })
}

/** One tenant, one account without pace, one event type with a template of four variables. */
export async function furnish(store: Store): Promise<void> {
  await store.migrate()
  await store.tenants.insert({ id: TENANT, name: 'Bench', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  await importCatalogue(store, CATALOGUE)
  await insertAccount(store, ACCOUNT, 'email')
}

export async function importCatalogue(store: Store, catalogue: unknown): Promise<void> {
  const read = parseCatalogue(catalogue)
  if ('problems' in read) throw new Error(JSON.stringify(read.problems))
  await store.catalogue.replace(TENANT, read.catalogue, { document: '{}', actor: 'system', newId })
}

export async function insertAccount(
  store: Store,
  id: string,
  channel: Channel,
  { provider = PROVIDER, settings = {} }: { provider?: string; settings?: Record<string, unknown> } = {},
): Promise<void> {
  await store.accounts.insert({
    id,
    tenantId: TENANT,
    channel,
    provider,
    name: provider,
    settings,
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
}

const CATALOGUE = {
  name: 'bench',
  defaultLocale: 'en',
  entities: { order: 'orders' },
  eventTypes: {
    [EVENT_TYPE]: {
      entity: 'order',
      once: 'per-event',
      recipients: [{ email: 'to', name: 'vars.name' }],
      delivery: { all: true },
      templates: [
        {
          channel: 'email',
          subject: 'Your order {{vars.order}}',
          body: 'Dear {{vars.name}}, {{vars.text}} This message went to {{to}}.',
        },
      ],
    },
  },
}

export type Addressed = Pick<NewNotification, 'channel' | 'accountId' | 'provider' | 'to'>

/** To the account that `furnish` makes. */
function toCounting(i: number): Addressed {
  const { to, vars } = payload(i)
  return { channel: 'email', accountId: ACCOUNT, provider: PROVIDER, to: { name: vars.name, email: to } }
}

/** What planning makes of `payload(i)`: ready to be sent. */
function notification(i: number, addressed: Addressed): NewNotification {
  const { vars } = payload(i)
  const eventId = newId()
  return {
    id: newId(),
    tenantId: TENANT,
    idempotencyKey: `${eventId}:${EVENT_TYPE}:${addressed.channel}:${TEMPLATE}`,
    ...addressed,
    contactId: null,
    conversationId: null,
    policy: null,
    content: { ...wordsOf(i), data: {} },
    eventId,
    eventType: EVENT_TYPE,
    scheduleId: newId(),
    entity: { type: 'order', id: vars.order },
    templateId: TEMPLATE,
    templateVersion: 1,
    locale: 'en',
    correlationId: String(i),
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
  }
}

/** One notification without an event, as the intake hands it to the store. */
export async function insertDirect(store: Store, { i }: Payload): Promise<void> {
  const direct = { ...notification(i, toCounting(i)), eventId: null, scheduleId: null }
  await store.notifications.insert([direct])
  store.wake.notify('dispatch', direct.accountId === null ? [] : [direct.accountId])
}

/** Ledger and work rows of `count` notifications, due now. */
export async function preloadNotifications(
  store: Store,
  count: number,
  address: (i: number) => Addressed = toCounting,
): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const numbers = range(from, Math.min(count, from + BATCH))
    await store.notifications.insert(numbers.map((i) => notification(i, address(i))))
  }
}

/** The recipients of the first `count` payloads as planning would have met them. */
export async function acquaint(store: Store, count: number): Promise<void> {
  const people = range(0, count).map((i) => {
    const { to, vars } = payload(i)
    return { tenantId: TENANT, email: to, name: vars.name, conversation: null }
  })
  await store.people.resolve(people, newId)
}

/** The configuration's defaults, as `pillarbox.ts` hands them to the engine. */
export const DEFAULTS: EngineSettings = {
  host: 'bench',
  pid: process.pid,
  version: '0.0.0',
  channels: null,
  slotsPerChannel: 256,
  claimRows: 256,
  callTimeoutMs: 10_000,
  callGraceMs: 500,
  pollMaxMs: 1_000,
  discoverEveryMs: 100,
  workerTtlMs: 30_000,
  rescueEveryMs: 1_000,
  scrubEveryMs: 2_000,
  operateEveryMs: 250,
  chainEveryMs: 10_000,
  retention: null,
  scans: null,
  shutdownGraceMs: 10_000,
  planRows: 200,
  flushMs: 5,
  flushRows: 500,
  flushers: 2,
  configMaxAgeMs: 1_000,
  pausedHoldMs: 30_000,
}

/** A worker whose provider counts and answers at once; it honours keys. `finished` hears of committed results. */
export function openWorker(
  store: Store,
  handler: Handler,
  settings: Settings,
  finished: (count: number) => void,
): { engine: Engine; consumer: Consumer } {
  const provider: Provider = {
    name: PROVIDER,
    channels: ['email'],
    capability: () => 'key',
    async send({ correlationId, key }) {
      await handler(Number(correlationId))
      return { kind: 'accepted', providerMessageId: key }
    },
  }
  return workerWith({ store, registry: () => provider, openSecrets: () => ({}) }, settings, finished)
}

export function workerWith(
  { store, registry, openSecrets }: { store: Store; registry: ProviderRegistry; openSecrets: OpenSecrets },
  { engine: changed = {} }: Settings,
  finished: (count: number) => void,
): { engine: Engine; consumer: Consumer } {
  const watched: Store = {
    ...store,
    dispatch: {
      ...store.dispatch,
      async complete(workerId, completions) {
        const answer = await store.dispatch.complete(workerId, completions)
        finished(completions.length - answer.fenced.length)
        return answer
      },
    },
  }
  const untrusted = createPool({ clock: systemClock, logger, size: 2 })
  const engine = createEngine({
    store: watched,
    registry,
    receiptSources: new Map(),
    untrusted,
    processes: { space: 'bench', boot: newId(), isRunning: () => true },
    openSecrets,
    payloadSeal: createPayloadSeal(Buffer.alloc(32, 7)),
    scrub: (text) => text,
    clock: systemClock,
    random,
    ids: newId,
    logger,
    settings: { ...DEFAULTS, ...changed },
  })
  const consumer: Consumer = {
    start: () => engine.start(),
    stop: async () => {
      await engine.stop()
      await untrusted.close()
      await store.close()
    },
  }
  return { engine, consumer }
}
