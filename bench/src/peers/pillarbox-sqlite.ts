import { DatabaseSync } from 'node:sqlite'
import type { NewEvent } from '../../../packages/pillarbox/src/model/event.ts'
import { systemClock } from '../../../packages/pillarbox/src/runtime/system.ts'
import { openSqlite } from '../../../packages/pillarbox/src/store/sqlite/open.ts'
import type { Store } from '../../../packages/pillarbox/src/store/store.ts'
import { type Payload, payload } from '../payload.ts'
import type { Peer } from '../peer.ts'
import {
  ACCOUNT,
  acquaint,
  EVENT_TYPE,
  furnish,
  logger,
  newId,
  openWorker,
  PROVIDER,
  preloadNotifications,
  TENANT,
} from './pillarbox-parts.ts'
import { planningOn } from './pillarbox-planning.ts'
import { sendingOn } from './sending-when-needed.ts'
import { fileOf, removeFile } from './sqlite.ts'

/** Pillarbox on a SQLite file: synchronous FULL, group commit once per turn of the event loop, as the server opens it. */
export const pillarboxSqlite: Peer = {
  reportsFinished: true,
  inProcess: true,
  latency: { isKnown: true },
  create: async (name) => {
    removeFile(name)
    await withStore(name, furnish)
  },
  seed,
  settle: async (name) => {
    using database = new DatabaseSync(fileOf(name), { timeout: 10_000 })
    database.exec('pragma optimize; pragma wal_checkpoint(truncate)')
  },
  probe: async (name) => {
    const database = new DatabaseSync(fileOf(name), { timeout: 10_000 })
    const pending = database.prepare(PENDING)
    return {
      pending: async () => pending.get(Date.now())?.['pending'] === 1,
      close: async () => database.close(),
    }
  },
  preload: (name, count) => withStore(name, (store) => preloadNotifications(store, count)),
  acquaint: (name, count) => withStore(name, (store) => acquaint(store, count)),
  producer: async (name, _connections, { shared }) => {
    const store = shared?.insert ? null : await openStore(name)
    const insert =
      shared?.insert ?? ((many: readonly Payload[]) => store?.events.insert(many.map(eventOf)) ?? Promise.resolve())
    return {
      one: (each) => insert([each]),
      bulk: insert,
      close: async () => {
        await store?.close()
      },
    }
  },
  consumer: async (name, handler, settings, finished) => {
    const store = await openStore(name)
    const { engine, consumer } = openWorker(store, handler, settings, finished)
    // What the API does in the same process: commit, then ring the planner.
    if (settings.shared)
      settings.shared.insert = async (many) => {
        await store.events.insert(many.map(eventOf))
        engine.hub.nudge('events')
      }
    return consumer
  },
  planning: planningOn((name) => openStore(name)),
  sending: sendingOn((name) => openStore(name)),
}

const openStore = (name: string): Promise<Store> =>
  openSqlite({ path: fileOf(name), clock: systemClock, logger, defer: setImmediate, watch: true })

async function withStore<T>(name: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(name)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

function eventOf(each: Payload): NewEvent {
  return {
    id: newId(),
    tenantId: TENANT,
    type: EVENT_TYPE,
    entity: { type: 'order', id: each.vars.order },
    payload: { ...each },
    occurredAt: null,
    dueAt: null,
    correlationId: String(each.i),
    locale: null,
    recipients: null,
    channels: null,
    conversation: null,
    schemaVersion: 1,
    topic: null,
    publishedBy: null,
  }
}

const PENDING = `select exists(select 1 from pillarbox_events where status = 'pending')
  or exists(select 1 from pillarbox_dispatch where visible_at <= ?) as pending`

const COUNT = 'with recursive c(g) as (select 1 union all select g + 1 from c where g < ?1)'

/** A UUIDv7 of `g` ten-milliseconds after ?2. */
const idAt = (salt: string): string =>
  `printf('%08x-%04x-7%03x-8%03x-%012x', (?2 + g * 10) >> 16, (?2 + g * 10) & 65535, g % 4096, ${salt}, (g * 2654435761) & 281474976710655)`

const LEDGER = `insert into pillarbox_notifications (id, tenant_id, idempotency_key, channel, account_id, provider, recipient, address,
  content, event_id, event_type, schedule_id, entity_type, entity_id, template_id, template_version, locale, correlation_id,
  triggered_by, created_at, due_at)`

const ledgerValues = (
  salt: string,
): string => `${idAt(salt)}, '${TENANT}', 'seed-${salt}-' || g || ':${EVENT_TYPE}:email', 'email',
  '${ACCOUNT}', '${PROVIDER}', ?3, 'user0@example.test', ?4, 'seed-' || g, '${EVENT_TYPE}', ${idAt('1')}, 'order', 'S-' || g,
  '${ACCOUNT}', 1, 'en', 'seed', 'system', ?2 + g * 10`

/** The same history and future as on PostgreSQL. */
async function seed(name: string, { finished, future }: { finished: number; future: number }): Promise<string> {
  const sample = payload(0)
  const recipient = JSON.stringify({ name: sample.vars.name, email: sample.to })
  const content = JSON.stringify({ subject: `Your order ${sample.vars.order}`, body: sample.vars.text, data: {} })
  const past = Date.now() - 86_400_000
  using database = new DatabaseSync(fileOf(name))
  database.exec('pragma cache_size = -262144; begin')
  database
    .prepare(
      `insert into pillarbox_events (tenant_id, id, type, entity_type, entity_id, payload, correlation_id, status,
         next_attempt_at, created_at, published_at)
       ${COUNT} select '${TENANT}', 'seed-' || g, '${EVENT_TYPE}', 'order', 'S-' || g, ?3, 'seed', 'published',
         ?2 + g * 10, ?2 + g * 10, ?2 + g * 10 from c`,
    )
    .run(finished, past, JSON.stringify(sample))
  database
    .prepare(
      `insert into pillarbox_schedules (id, tenant_id, event_id, event_type, entity_type, entity_id, due_at, status, created_at,
         completed_at)
       ${COUNT} select ${idAt('1')}, '${TENANT}', 'seed-' || g, '${EVENT_TYPE}', 'order', 'S-' || g, ?2 + g * 10, 'completed',
         ?2 + g * 10, ?2 + g * 10 from c`,
    )
    .run(finished, past)
  database
    .prepare(`${LEDGER} ${COUNT} select ${ledgerValues('2')}, null from c`)
    .run(finished, past, recipient, content)
  database.exec(
    `insert into pillarbox_attempts (notification_id, number, outcome, to_status, duration_ms, started_at, token, worker_id,
       provider, provider_message_id, tenant_id, audit_id)
     select id, 1, 'accepted', 'sent', 3, created_at, 1, '${ACCOUNT}', '${PROVIDER}', id, tenant_id,
       row_number() over (order by id) + (select seq from sqlite_sequence where name = 'pillarbox_audit')
     from pillarbox_notifications order by id`,
  )
  database.exec(
    `update sqlite_sequence set seq = (select max(audit_id) from pillarbox_attempts) where name = 'pillarbox_audit'`,
  )
  database
    .prepare(`${LEDGER} ${COUNT} select ${ledgerValues('3')}, ?5 + g * 1000 from c`)
    .run(future, past + 43_200_000, recipient, content, Date.now() + 86_400_000)
  database.exec(
    `insert into pillarbox_dispatch (notification_id, lane_id, visible_at)
     select id, account_id, due_at from pillarbox_notifications where due_at is not null order by id`,
  )
  database.exec('commit')
  return `${finished} events, schedules, notifications, attempts + ${future} future`
}
