import { fromPg, type NewEvent, nudge, publish, publishMany, type Transaction } from '@pillarbox/client'
import pg from 'pg'
import { systemClock } from '../../../packages/pillarbox/src/runtime/system.ts'
import { openPostgres } from '../../../packages/pillarbox/src/store/postgres/open.ts'
import type { Store } from '../../../packages/pillarbox/src/store/store.ts'
import { postgresAddress, postgresUrl } from '../environment.ts'
import { type Payload, payload } from '../payload.ts'
import type { Peer, Producer } from '../peer.ts'
import { freshDatabase, openClients, probePostgres, settlePostgres, withPostgres } from '../postgres-admin.ts'
import {
  ACCOUNT,
  acquaint,
  EVENT_TYPE,
  furnish,
  insertDirect,
  logger,
  openWorker,
  PROVIDER,
  preloadNotifications,
  TENANT,
} from './pillarbox-parts.ts'
import { planningOn } from './pillarbox-planning.ts'
import { sendingOn } from './sending-when-needed.ts'

/** Pillarbox on PostgreSQL, as a host and a worker use it. */
export const pillarbox: Peer = {
  reportsFinished: true,
  latency: { nudge: true, isKnown: true },
  create: async (name) => {
    await freshDatabase(name)
    await withStore(name, furnish)
  },
  seed,
  settle: settlePostgres,
  probe: (name) => probePostgres(name, PENDING),
  preload: (name, count) => withStore(name, (store) => preloadNotifications(store, count)),
  acquaint: (name, count) => withStore(name, (store) => acquaint(store, count)),
  producer: async (name, connections, settings) => {
    if (settings.publish === 'direct') return directProducer(await openStore(name))
    const clients = await openClients(name, connections)
    // What a host has beside its transactions: a pool. Never the connection that runs one.
    const pool = new pg.Pool({ ...postgresAddress(), database: name, max: 1 })
    const write = (work: (tx: Transaction) => Promise<unknown>): Promise<unknown> =>
      clients.use(async (client) => {
        if (settings.publish === 'autocommit') return work(prepared(client))
        await client.query('begin')
        await work(settings.publish === 'prepared' ? prepared(client) : fromPg(client))
        return client.query('commit')
      })
    const after = (): void => {
      if (settings.nudge) void nudge(fromPg(pool))
    }
    return {
      one: (each) => write((tx) => publish(tx, eventOf(each))).then(after),
      bulk: (many) => write((tx) => publishMany(tx, many.map(eventOf))).then(after),
      close: async () => {
        await clients.close()
        await pool.end()
      },
    }
  },
  consumer: async (name, handler, settings, finished) =>
    openWorker(await openStore(name), handler, settings, finished).consumer,
  planning: planningOn((name) => openStore(name)),
  sending: sendingOn((name) => openStore(name)),
}

function directProducer(store: Store): Producer {
  return {
    one: (each) => insertDirect(store, each),
    bulk: () => Promise.reject(new Error('direct notifications are measured one by one')),
    close: () => store.close(),
  }
}

const openStore = (name: string): Promise<Store> => openPostgres({ url: postgresUrl(name), clock: systemClock, logger })

async function withStore<T>(name: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(name)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

export function eventOf(each: Payload): NewEvent {
  return {
    tenantId: TENANT,
    type: EVENT_TYPE,
    entity: { type: 'order', id: each.vars.order },
    payload: each,
    correlationId: String(each.i),
  }
}

/**
 * What a host can hand over instead of `fromPg`: statements prepared once per connection, and no question whether a
 * transaction is open. Outside of one, the event accompanies no other change and its statement commits itself.
 */
function prepared(client: pg.Client): Transaction {
  return {
    engine: 'postgres',
    run: (text, parameters) =>
      client.query({ name: text.includes('unnest') ? 'many' : 'one', text, values: [...parameters] }),
  }
}

const PENDING = `select exists(select from pillarbox.events where status = 'pending')
  or exists(select from pillarbox.dispatch where visible_at <= now()) as pending`

/** A UUIDv7 of `g` ten-milliseconds after `from`. */
const idAt = (from: string, salt: string): string => `(
  lpad(to_hex((extract(epoch from ${from}) * 1000)::bigint + g * 10), 12, '0') || '7' || lpad(to_hex(g % 4096), 3, '0')
  || '8' || substr(md5('${salt}' || g), 1, 15))::uuid`

const notificationColumns = `id, tenant_id, idempotency_key, channel, account_id, provider, recipient, address, content, event_id,
  event_type, schedule_id, entity_type, entity_id, template_id, template_version, locale, correlation_id, triggered_by, created_at`

const notificationValues = (
  id: string,
  at: string,
): string => `${id}, '${TENANT}', 'seed-' || g || ${id} || ':${EVENT_TYPE}:email', 'email',
  '${ACCOUNT}'::uuid, '${PROVIDER}', $2::text::json, 'user0@example.test', $3::text::json, 'seed-' || g, '${EVENT_TYPE}', ${id}, 'order',
  'S-' || g, '${ACCOUNT}', 1, 'en', 'seed', 'system', ${at}`

/** History of a day ago: published events, completed schedules, ledger, attempts; and work rows of tomorrow. */
async function seed(name: string, { finished, future }: { finished: number; future: number }): Promise<string> {
  const sample = payload(0)
  const recipient = JSON.stringify({ name: sample.vars.name, email: sample.to })
  const content = JSON.stringify({ subject: `Your order ${sample.vars.order}`, body: sample.vars.text, data: {} })
  const past = `date_trunc('day', now()) - interval '1 day'`
  const at = `${past} + g * interval '10 ms'`
  await withPostgres(name, async (client) => {
    const texts: [string, unknown[]][] = [
      [
        `insert into pillarbox.events (tenant_id, id, type, entity_type, entity_id, payload, correlation_id, status,
           next_attempt_at, created_at, published_at)
         select '${TENANT}', 'seed-' || g, '${EVENT_TYPE}', 'order', 'S-' || g, $2::text::json, 'seed', 'published', ${at}, ${at}, ${at}
         from generate_series(1, $1::int) g`,
        [finished, JSON.stringify(sample)],
      ],
      [
        `insert into pillarbox.schedules (id, tenant_id, event_id, event_type, entity_type, entity_id, due_at, status, created_at,
           completed_at)
         select ${idAt(past, 's')}, '${TENANT}', 'seed-' || g, '${EVENT_TYPE}', 'order', 'S-' || g, ${at}, 'completed', ${at}, ${at}
         from generate_series(1, $1::int) g`,
        [finished],
      ],
      [
        `insert into pillarbox.notifications (${notificationColumns})
         select ${notificationValues(idAt(past, 'n'), at)} from generate_series(1, $1::int) g`,
        [finished, recipient, content],
      ],
      [
        `insert into pillarbox.attempts (notification_id, number, outcome, to_status, duration_ms, started_at, token, worker_id,
           provider, provider_message_id, tenant_id)
         select id, 1, 'accepted', 'sent', 3, created_at, 1, '${ACCOUNT}'::uuid, '${PROVIDER}', id::text, tenant_id from pillarbox.notifications`,
        [],
      ],
      [
        `insert into pillarbox.notifications (${notificationColumns}, due_at)
         select ${notificationValues(idAt(`${past} + interval '12 hours'`, 'f'), 'now()')}, now() + interval '1 day' + g * interval '1 second'
         from generate_series(1, $1::int) g`,
        [future, recipient, content],
      ],
      [
        `insert into pillarbox.dispatch (notification_id, lane_id, visible_at)
         select id, account_id, due_at from pillarbox.notifications where due_at is not null`,
        [],
      ],
    ]
    for (const [text, values] of texts) await client.query(text, values)
  })
  return `${finished} events, schedules, notifications, attempts + ${future} future`
}
