/**
 * How long one page of each list takes, with every filter, in a store of some size and of ten times as much: both stores, the
 * page that people see first. What is rare stands among the oldest hundredth of the rows.
 *
 *   run-lists.ts [--sizes 20000,200000] [--times 20] [--stores sqlite,postgres] [--only text]
 */
import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../../../packages/pillarbox/src/runtime/system.ts'
import { openPostgres } from '../../../packages/pillarbox/src/store/postgres/open.ts'
import { openSqlite } from '../../../packages/pillarbox/src/store/sqlite/open.ts'
import type { Store } from '../../../packages/pillarbox/src/store/store.ts'
import { DATA, postgresUrl } from '../environment.ts'
import { freshDatabase } from '../postgres-admin.ts'
import { startServers } from '../servers.ts'
import { quantiles } from '../statistics.ts'
import { idOf, RARE, seedPostgres, seedSqlite, TENANT, timeOf } from './seed.ts'

const { values: flags } = parseArgs({
  options: {
    sizes: { type: 'string', default: '20000,200000' },
    times: { type: 'string', default: '20' },
    stores: { type: 'string', default: 'sqlite,postgres' },
    only: { type: 'string', default: '' },
  },
})
const SIZES = flags.sizes.split(',').map(Number)
const TIMES = Number(flags.times)
const DATABASE = 'bench_lists'
const silent = { debug() {}, info() {}, warn() {}, error() {} }

type List = (store: Store) => Promise<unknown>

function listsOf(count: number, now: number): Record<string, List> {
  const page = { limit: 50 }
  const tenantId = TENANT
  const old = { from: timeOf(count / 50, count, now), to: timeOf(count / 40, count, now) }
  const notifications =
    (filter: object): List =>
    (store) =>
      store.notifications.list({ tenantId, ...filter }, page)
  const ofAll =
    (filter: object): List =>
    (store) =>
      store.notifications.list(filter, page)
  const events =
    (filter: object): List =>
    (store) =>
      store.events.list(filter, page)
  const schedules =
    (filter: object): List =>
    (store) =>
      store.schedules.list({ tenantId, ...filter }, page)
  const contacts =
    (q: string): List =>
    (store) =>
      store.people.listContacts(tenantId, { q }, page)
  const k = count / 1000
  return {
    notifications: notifications({}),
    'notifications of a small tenant': notifications({ tenantId: 'small' }),
    'notifications of all tenants': ofAll({}),
    'notifications status=queued': notifications({ status: ['queued'] }),
    'notifications status=parked': notifications({ status: ['parked'] }),
    'notifications status=sent': notifications({ status: ['sent'] }),
    'notifications status=parked of all tenants': ofAll({ status: ['parked'] }),
    'notifications channel (rare)': notifications({ channel: RARE.channel }),
    'notifications channel': notifications({ channel: 'email' }),
    'notifications eventType (rare)': notifications({ eventType: RARE.eventType }),
    'notifications eventType': notifications({ eventType: 'booking.type4' }),
    'notifications accountId (rare)': notifications({ accountId: RARE.accountId }),
    'notifications site (rare)': notifications({ site: RARE.site }),
    'notifications eventId': notifications({ eventId: `event-${k}` }),
    'notifications entity': notifications({ entityType: 'booking', entityId: String(k) }),
    'notifications contactId': notifications({
      contactId: `00000000-03e8-7000-8000-${(3).toString(16).padStart(12, '0')}`,
    }),
    'notifications reason (rare)': notifications({ reason: RARE.reason }),
    'notifications fingerprint (rare)': notifications({ fingerprint: RARE.fingerprint }),
    'notifications possibleDuplicate': notifications({ possibleDuplicate: true }),
    'notifications stuck': notifications({ stuckForMs: 600_000 }),
    'notifications stale (rare)': notifications({ staleForMs: 3_600_000 }),
    'notifications from, to (old)': notifications(old),
    'notifications q=id': notifications({ q: idOf(k, count, now) }),
    'notifications q=key': notifications({ q: `key-${k}` }),
    'notifications q=provider id': notifications({ q: `message-${k}` }),
    'notifications q=address': notifications({ q: 'person3@example.test' }),
    'notifications q of all tenants': ofAll({ q: 'person3@example.test' }),
    'notifications eventType (rare) and status=sent': notifications({ eventType: RARE.eventType, status: ['sent'] }),
    'notifications channel (rare) and status=parked': notifications({ channel: RARE.channel, status: ['parked'] }),
    causes: (store) => store.operations.causes({ tenantId }, { mostRows: 10_000, limit: 50 }),
    events: events({ tenantId }),
    'events type (rare)': events({ tenantId, type: RARE.eventType }),
    'events entity': events({ tenantId, entityType: 'booking', entityId: String(k) }),
    'events from, to (old)': events({ tenantId, ...old }),
    outbox: events({}),
    'outbox status=failed': events({ status: 'failed' }),
    'outbox from, to (old)': events(old),
    schedules: schedules({}),
    'schedules of a small tenant': schedules({ tenantId: 'small' }),
    'schedules status=pending': schedules({ status: ['pending'] }),
    'schedules eventType (rare)': schedules({ eventType: RARE.eventType }),
    'schedules entity': schedules({ entityType: 'booking', entityId: String(k) }),
    'schedules dueFrom, dueTo (old)': schedules({ dueFrom: old.from, dueTo: old.to }),
    contacts: (store) => store.people.listContacts(tenantId, {}, page),
    'contacts q=email': contacts('person3@example.test'),
    'contacts q=name': contacts('person 17'),
    'contacts q=nobody': contacts('nobody at all'),
  }
}

mkdirSync(DATA, { recursive: true })
const servers = await startServers()
try {
  for (const engine of flags.stores.split(',')) {
    const measured = new Map<string, number[]>()
    for (const count of SIZES) {
      const now = Date.now()
      const store = await opened(engine, count, now)
      try {
        for (const [name, list] of Object.entries(listsOf(count, now)).filter(([name]) => name.includes(flags.only)))
          measured.set(name, [...(measured.get(name) ?? []), await p95(() => list(store))])
      } finally {
        await store.close()
      }
    }
    report(engine, measured)
  }
} finally {
  await servers.stop()
  rmSync(DATA, { recursive: true, force: true })
}

async function opened(engine: string, count: number, now: number): Promise<Store> {
  if (engine === 'postgres') {
    await freshDatabase(DATABASE)
    const store = await openPostgres({ url: postgresUrl(DATABASE), clock: systemClock, logger: silent })
    await store.migrate()
    await seedPostgres(DATABASE, count, now)
    return store
  }
  const file = path.join(DATA, 'lists.db')
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
  const empty = await openSqlite({ path: file, clock: systemClock, logger: silent })
  await empty.migrate()
  await empty.close()
  seedSqlite(file, count, now)
  return openSqlite({ path: file, clock: systemClock, logger: silent })
}

/** In milliseconds; the first is not counted. */
async function p95(list: () => Promise<unknown>): Promise<number> {
  await list()
  const taken: number[] = []
  for (let k = 0; k < TIMES; k++) {
    const from = performance.now()
    await list()
    taken.push(performance.now() - from)
  }
  return quantiles(taken).p95
}

function report(engine: string, measured: ReadonlyMap<string, readonly number[]>): void {
  const sizes = SIZES.map((size) => `p95 ms at ${size.toLocaleString('en')}`)
  console.log(`\n| ${engine} | ${sizes.join(' | ')} | growth |\n|---|${SIZES.map(() => '---|').join('')}---|`)
  for (const [name, taken] of measured) {
    const growth = (taken.at(-1) ?? 0) / (taken[0] ?? 1)
    console.log(`| ${name} | ${taken.map((each) => each.toFixed(1)).join(' | ')} | ${growth.toFixed(1)} |`)
  }
}
process.exit(0)
