import { createSuppressionBook } from '../../../packages/pillarbox/src/dispatch/suppressions.ts'
import type { NewEvent } from '../../../packages/pillarbox/src/model/event.ts'
import { noMeters, noTracing } from '../../../packages/pillarbox/src/model/ports.ts'
import { createContextBook } from '../../../packages/pillarbox/src/plan/context-book.ts'
import { createPlanner } from '../../../packages/pillarbox/src/plan/planner.ts'
import { createSkipReport } from '../../../packages/pillarbox/src/plan/skip-report.ts'
import { createHub } from '../../../packages/pillarbox/src/runtime/hub.ts'
import { systemClock } from '../../../packages/pillarbox/src/runtime/system.ts'
import { createPayloadSeal } from '../../../packages/pillarbox/src/security/payload-seal.ts'
import type { Store } from '../../../packages/pillarbox/src/store/store.ts'
import { createTenantSnapshots } from '../../../packages/pillarbox/src/tenant/snapshots.ts'
import { createPool } from '../../../packages/pillarbox/src/untrusted/pool.ts'
import type { Consumer, Planning, PlanVariant, Settings } from '../peer.ts'
import { range } from '../statistics.ts'
import { DEFAULTS, importCatalogue, insertAccount, logger, newId, random, TENANT } from './pillarbox-parts.ts'

const BATCH = 1_000
const EVENT_TYPES = { bare: 'trip.bare', 'full-new': 'trip.full', 'full-known': 'trip.full' } as const

const field = { type: 'string' }
const PAYLOAD = {
  type: 'object',
  required: ['trip', 'departure', 'guests'],
  properties: {
    trip: field,
    destination: field,
    price: { type: 'number' },
    departure: { type: 'string', format: 'date-time' },
    device: field,
    guests: {
      type: 'array',
      items: { type: 'object', properties: { name: field, email: field, phone: field } },
    },
  },
}

/** Both types get the same payload, checked against the same schema; what they make of it differs. */
const CATALOGUE = {
  name: 'planning',
  defaultLocale: 'en',
  entities: { trip: 'trips' },
  eventTypes: {
    // A device token identifies nobody: no contact is looked for. No placeholder: nothing is filled in.
    'trip.bare': {
      entity: 'trip',
      once: 'per-event',
      payload: PAYLOAD,
      recipients: [{ deviceToken: 'device' }],
      delivery: { all: true },
      templates: [{ channel: 'push', subject: 'Your trip', body: 'Your trip has been confirmed.' }],
    },
    'trip.full': {
      entity: 'trip',
      once: 'per-event',
      payload: PAYLOAD,
      recipients: [{ name: 'guests[].name', email: 'guests[].email', phone: 'guests[].phone' }],
      delivery: { all: true },
      templates: [
        { channel: 'sms', body: '{{recipient.name}}: {{trip}} to {{destination}} on {{departure}}, {{price}} EUR.' },
        {
          channel: 'email',
          subject: 'Your trip {{trip}}',
          body: 'Dear {{recipient.name}}, your trip to {{destination}} leaves on {{departure}}. It costs {{price}} EUR.',
        },
      ],
    },
  },
}

interface Guest {
  name: string
  email: string
  phone: string
}

/** Nobody is in two events, so that nobody is known from the batch before. */
function guestsOf(i: number): Guest[] {
  return [2 * i, 2 * i + 1].map((n) => ({
    name: `Guest ${n}`,
    email: `guest${n}@example.test`,
    phone: `+49151${10_000_000 + n}`,
  }))
}

function eventOf(variant: PlanVariant, i: number): NewEvent {
  const trip = `T-${1_000_000 + i}`
  return {
    id: newId(),
    tenantId: TENANT,
    type: EVENT_TYPES[variant],
    entity: { type: 'trip', id: trip },
    payload: {
      trip,
      destination: 'Lisbon',
      price: 249,
      departure: new Date(Date.UTC(2026, 11, 1 + (i % 28), 9, i % 60)).toISOString(),
      device: `device-${i}`,
      guests: guestsOf(i),
    },
    occurredAt: null,
    dueAt: null,
    correlationId: String(i),
    locale: null,
    recipients: null,
    channels: null,
    conversation: null,
    schemaVersion: 1,
    topic: null,
    publishedBy: null,
  }
}

/** Planning alone, on either store: no worker registers and nothing is dispatched. */
export function planningOn(open: (name: string) => Promise<Store>): Planning {
  return {
    async publish(name, variant, count) {
      const store = await open(name)
      try {
        await importCatalogue(store, CATALOGUE)
        for (const channel of ['sms', 'push'] as const) await insertAccount(store, newId(), channel)
        for (let from = 0; from < count; from += BATCH) {
          const numbers = range(from, Math.min(count, from + BATCH))
          if (variant === 'full-known') {
            const guests = numbers.flatMap(guestsOf)
            await store.people.resolve(
              guests.map((guest) => ({ tenantId: TENANT, ...guest, conversation: null })),
              newId,
            )
          }
          await store.events.insert(numbers.map((i) => eventOf(variant, i)))
        }
      } finally {
        await store.close()
      }
    },
    planner: async (name, settings, planned) => plannerOf(await open(name), settings, planned),
    async isComplete(name) {
      const store = await open(name)
      try {
        const one = { limit: 1 }
        const found = await Promise.all([
          store.events.list({ status: 'pending' }, one),
          store.events.list({ status: 'failed' }, one),
          store.notifications.list({ status: ['parked'] }, one),
        ])
        return found.every(({ items }) => items.length === 0)
      } finally {
        await store.close()
      }
    },
  }
}

function plannerOf(
  store: Store,
  { engine: changed = {} }: Settings,
  planned: (events: number, notifications: number) => void,
): Consumer {
  const settings = { ...DEFAULTS, ...changed }
  const hub = createHub(systemClock, store.wake)
  const stopping = new AbortController()
  const untrusted = createPool({ clock: systemClock, logger, size: 2 })
  const planner = createPlanner({
    store: {
      ...store,
      plan: {
        ...store.plan,
        async takeEvents(limit, turns) {
          const batch = await store.plan.takeEvents(limit, turns)
          return {
            ...batch,
            async write(plans) {
              const written = await batch.write(plans)
              planned(written.decided, written.inserted)
              return written
            },
          }
        },
      },
    },
    contexts: createContextBook(store, createTenantSnapshots(store, systemClock, settings.configMaxAgeMs)),
    untrusted,
    guard: null,
    skips: createSkipReport({ logger, meters: noMeters }),
    sealing: createPayloadSeal(Buffer.alloc(32, 7)),
    suppressions: createSuppressionBook({
      suppressions: store.suppressions,
      clock: systemClock,
      ids: newId,
      logger,
      maxAgeMs: settings.configMaxAgeMs,
    }),
    resolve: null,
    hub,
    meters: noMeters,
    tracing: noTracing,
    clock: systemClock,
    random,
    ids: newId,
    logger,
    settings: { batchRows: settings.planRows, pollMaxMs: settings.pollMaxMs },
  })
  let running: Promise<void> = Promise.resolve()
  return {
    start: async () => {
      running = planner.run(stopping.signal)
    },
    stop: async () => {
      stopping.abort()
      await running
      await untrusted.close()
      hub.close()
      await store.close()
    },
  }
}
