import pg from 'pg'
import { sleep } from '../clock.ts'
import { postgresAddress } from '../environment.ts'
import type { Payload } from '../payload.ts'
import type { Consumer, Handler, Peer } from '../peer.ts'
import { connect, freshDatabase, openClients, probePostgres, settlePostgres, withPostgres } from '../postgres-admin.ts'

/**
 * The least that keeps our promises, by hand: the host's transaction holds an event and no NOTIFY; the hint follows on another
 * connection; the worker reads the event, and one statement marks it and writes the message as already claimed, which is
 * on the disk before the call. No contacts, no templates, no lanes, no fence. For latency only.
 */
export const rawPgPlanned: Peer = {
  reportsFinished: true,
  create: async (store) => {
    await freshDatabase(store)
    await withPostgres(store, (client) => client.query(SCHEMA))
  },
  seed: () => Promise.reject(new Error('measured for latency alone')),
  settle: settlePostgres,
  probe: (store) => probePostgres(store, 'select exists(select from events where is_pending) as pending'),
  producer: async (store, connections) => {
    const clients = await openClients(store, connections)
    const pool = new pg.Pool({ ...postgresAddress(), database: store, max: 1 })
    const insert = (many: readonly Payload[]): Promise<unknown> =>
      clients
        .use(async (client) => {
          await client.query('begin')
          for (const one of many) await client.query({ name: 'one', text: PUBLISH, values: [JSON.stringify(one)] })
          return client.query('commit')
        })
        .then(() => void pool.query({ name: 'hint', text: "select pg_notify('events', '')" }))
    return {
      one: (each) => insert([each]),
      bulk: insert,
      close: async () => {
        await clients.close()
        await pool.end()
      },
    }
  },
  consumer,
}

const SCHEMA = `
create table events (
  id bigint generated always as identity primary key,
  is_pending boolean not null default true,
  payload jsonb not null
);
create index events_pending on events (id) where is_pending;
create table messages (
  id bigint generated always as identity primary key,
  event_id bigint not null unique,
  claimed_by int,
  state smallint not null default 1, -- 1 claimed, 2 done
  payload jsonb not null
);
create table attempts (message_id bigint primary key, at timestamptz not null default now());`

const PUBLISH = 'insert into events (payload) values ($1::text::jsonb)'
const READ = 'select id, payload from events where is_pending order by id limit 100'
const PLAN_AND_CLAIM = `
with planned as (update events set is_pending = false where id = $1 and is_pending returning id, payload)
insert into messages (event_id, claimed_by, payload) select id, $2, payload from planned returning id`
const COMPLETE = `
with done as (update messages set state = 2 where id = $1 and claimed_by = $2 returning id)
insert into attempts (message_id) select id from done`

async function consumer(
  store: string,
  handler: Handler,
  _settings: unknown,
  finished: (count: number) => void,
): Promise<Consumer> {
  const [planning, completing, listener] = await Promise.all([connect(store), connect(store), connect(store)])
  let isStopping = false
  let isPinged = false
  let wake: (() => void) | null = null
  await listener.query('listen events')
  listener.on('notification', () => {
    isPinged = true
    wake?.()
  })
  const call = async (id: string, { i }: Payload): Promise<void> => {
    await handler(i)
    await completing.query({ name: 'complete', text: COMPLETE, values: [id, process.pid] })
    finished(1)
  }
  const loop = async (): Promise<void> => {
    while (!isStopping) {
      isPinged = false
      const { rows } = await planning.query<{ id: string; payload: Payload }>({ name: 'read', text: READ })
      for (const { id, payload } of rows) {
        const written = await planning.query<{ id: string }>({
          name: 'plan',
          text: PLAN_AND_CLAIM,
          values: [id, process.pid],
        })
        for (const message of written.rows) void call(message.id, payload)
      }
      if (rows.length > 0 || isPinged) continue
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      await Promise.race([woken, sleep(1_000)])
    }
  }
  let running: Promise<void> = Promise.resolve()
  return {
    start: async () => {
      running = loop()
    },
    stop: async () => {
      isStopping = true
      wake?.()
      await running
      await Promise.all([planning.end(), completing.end(), listener.end()])
    },
  }
}
