import type { Provider } from '../../packages/pillarbox/src/channels/channel.ts'
import { createEngine } from '../../packages/pillarbox/src/engine.ts'
import { CHANNELS } from '../../packages/pillarbox/src/model/channel.ts'
import type { NewNotification } from '../../packages/pillarbox/src/model/notification.ts'
import { createIdSource } from '../../packages/pillarbox/src/runtime/ids.ts'
import { createPayloadSeal } from '../../packages/pillarbox/src/security/payload-seal.ts'
import { openSqlite } from '../../packages/pillarbox/src/store/sqlite/open.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { createUntrustedInProcess } from '../../packages/pillarbox/src/untrusted/untrusted.ts'
import { sampleNotification } from '../support/samples.ts'
import { processClock, Scheduler, seededRandom } from './scheduler.ts'
import { ENGINE_SETTINGS, silent } from './simulate.ts'

/**
 * P8: an account with a large backlog whose provider hangs, and a quiet one on the same channel. Answers how long each
 * of the quiet one's notifications waited for its call, in virtual ms, and what one claim round may take.
 */
export async function simulateFairness(
  seed: number,
  plant: (store: Store) => Store = (store) => store,
): Promise<{ waitedMs: number[]; roundMs: number }> {
  const random = seededRandom(seed)
  const scheduler = new Scheduler(random)
  const clock = processClock(
    scheduler,
    (time, wake) => void scheduler.at(time, wake),
    () => 0,
  )
  const ids = createIdSource(clock, random)
  const store = await openSqlite({ path: ':memory:', clock, logger: silent, defer: (flush) => flush() })
  await store.migrate()
  const flooded = await account(store, ids(), 'flooded')
  const quiet = await account(store, ids(), 'quiet')
  await store.notifications.insert(Array.from({ length: 60 }, (_, n) => notification(ids(), 'flooded', flooded, n)))

  const insertedAt = new Map<string, number>()
  const waitedMs: number[] = []
  const provider: Provider = {
    name: 'vendor',
    channels: CHANNELS,
    capability: () => 'key',
    send: ({ account, notificationId, signal }) => {
      if (account.id === quiet) {
        waitedMs.push(scheduler.now - (insertedAt.get(notificationId) ?? 0))
        return Promise.resolve({ kind: 'accepted', providerMessageId: notificationId })
      }
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ kind: 'unknown', code: 'timeout', error: 'hangs' }), {
          once: true,
        }),
      )
    },
  }
  const engine = createEngine({
    store: plant(store),
    registry: () => provider,
    receiptSources: new Map(),
    untrusted: createUntrustedInProcess(),
    processes: null,
    openSecrets: () => ({}),
    payloadSeal: createPayloadSeal(Buffer.alloc(32, 7)),
    scrub: (text) => text,
    clock,
    random,
    ids,
    logger: silent,
    settings: ENGINE_SETTINGS,
  })
  void engine.start()
  const count = 6
  for (let n = 0; n < count; n++)
    scheduler.at(300 + random() * 3_000, () => {
      const row = notification(ids(), 'quiet', quiet, n)
      insertedAt.set(row.id, scheduler.now)
      void store.notifications.insert([row])
    })
  await scheduler.run(() => waitedMs.length === count, 20_000)
  await store.close()
  while (waitedMs.length < count) waitedMs.push(Number.POSITIVE_INFINITY)
  return { waitedMs, roundMs: ENGINE_SETTINGS.pollMaxMs * 1.2 }
}

async function account(store: Store, id: string, tenantId: string): Promise<string> {
  await store.tenants.insert({ id: tenantId, name: tenantId, defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  await store.accounts.insert({
    id,
    tenantId,
    channel: 'sms',
    provider: 'vendor',
    name: 'sms',
    settings: {},
    sealedSecrets: null,
    secretNames: [],
    pace: null,
    retry: { delays: ['PT0.1S'] },
    onUnknown: 'resend',
    // Never opens: the backlog keeps pressing.
    breaker: { failures: 1_000_000, resetAfterMs: 1 },
    priority: 0,
    status: 'active',
    statusReason: null,
  })
  return id
}

function notification(id: string, tenantId: string, accountId: string, n: number): NewNotification {
  return sampleNotification({ id, tenantId, accountId, idempotencyKey: `${n}` })
}
