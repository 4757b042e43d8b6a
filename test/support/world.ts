import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import { fromNodeSqlite, fromPg, type NewEvent, publish, publishSync } from '../../packages/client/src/index.ts'
import { resolveConfig } from '../../packages/pillarbox/src/config/config.ts'
import { createPillarbox } from '../../packages/pillarbox/src/pillarbox.ts'
import { type FreshDatabase, freshDatabase } from './postgres/database.ts'

/** A whole Pillarbox over one store, used as a host and its operators use it: over HTTP, and in transactions. */
export interface World {
  readonly engine: 'sqlite' | 'postgres'
  /** A tenant with a ready-made catalogue and sandbox accounts on the given channels. */
  provision(catalogue: string, options?: { settings?: object; channels?: readonly string[] }): Promise<TestTenant>
  /** As an ops key sees it. */
  ops(method: string, url: string, body?: unknown): Promise<Answer>
  /**
   * As if so much time had passed: all that waits is due that much earlier. The databases keep their own time, so a
   * test cannot move the clock of both.
   */
  timePasses(ms: number): Promise<void>
  /** Publishes as a host does, in a transaction with a row of its own, which it then commits or takes back. */
  publishWith(row: string, event: NewEvent, end: 'commit' | 'rollback'): Promise<void>
  hostRows(): Promise<string[]>
}

export interface TestTenant {
  readonly id: string
  readonly adminKey: string
  call(method: string, url: string, body?: unknown): Promise<Answer>
  /** An event over HTTP that is expected to be taken; answers its id. */
  publish(event: object): Promise<string>
  /** Waits until nothing is left to do for this tenant at this time. */
  settle(): Promise<void>
  /** What the sandbox was sent, oldest first; settles before. */
  inbox(): Promise<Message[]>
  /** Oldest first, whole. */
  notifications(query?: string): Promise<Notification[]>
  /** Oldest first. */
  schedules(query?: string): Promise<Schedule[]>
}

export interface Answer {
  status: number
  body: Record<string, unknown>
}

export interface To {
  name?: string
  phone?: string
  email?: string
  deviceToken?: string
  platform?: string
  list?: string
  bcc?: string[]
}

export interface Message {
  channel: string
  key: string
  notificationId: string
  to: To
  subject: string | null
  body: string
  data: Record<string, unknown>
  providerTemplate: ProviderTemplate | null
}

export interface Notification {
  id: string
  status: string
  reason: string | null
  lastError: string | null
  channel: string
  to: To
  eventType: string
  locale: string | null
  idempotencyKey: string
  attemptCount: number
  nextAttemptAt: string | null
  templateId: string | null
  triggeredBy: string
  resolvedTargets: string[] | null
  warnings: { code: string; key?: string; message: string }[]
  content: { subject: string | null; body: string; providerTemplate?: ProviderTemplate } | null
  isSealed: boolean
  isScrubbed: boolean
  fallbackTo: string | null
  contactId: string | null
  conversationId: string | null
}

export interface ProviderTemplate {
  name: string
  language: string
  components: { type: string; parameters: { type: string; text: string }[] }[]
}

export interface Schedule {
  id: string
  eventId: string
  eventType: string
  dueAt: string
  status: string
  lastError: string | null
  approvedBy?: string | null
}

/** Registers tests once for each store; each gets one server for all of them, with `settings` in its environment. */
export function onEachStore(
  name: string,
  tests: (world: () => World) => void,
  settings: Readonly<Record<string, string>> = {},
): void {
  for (const engine of ['sqlite', 'postgres'] as const)
    describe(`${name}, on ${engine}`, () => {
      let opened: (World & { close(): Promise<void> }) | null = null
      before(async () => {
        opened = await openWorld(engine, settings)
      })
      after(() => opened?.close())
      tests(() => opened ?? assert.fail('the server did not start'))
    })
}

const OPS_KEY = 'catalogues-ops-key-0123456789'
const PATIENCE_MS = 20_000

async function openWorld(
  engine: World['engine'],
  settings: Readonly<Record<string, string>>,
): Promise<World & { close(): Promise<void> }> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'pillarbox-catalogues-'))
  const database: FreshDatabase | null = engine === 'postgres' ? await freshDatabase() : null
  const file = path.join(dataDir, 'pillarbox.db')
  const env = {
    PILLARBOX_PORT: '0',
    PILLARBOX_DATA_DIR: dataDir,
    PILLARBOX_OPS_KEY: OPS_KEY,
    PILLARBOX_DEMO: '0',
    // The vendors of tests are on the loopback interface.
    PILLARBOX_ALLOW_PRIVATE_ENDPOINTS: '1',
    // What tests make due earlier is only seen by looking.
    PILLARBOX_POLL_MAX: 'PT0.1S',
    DATABASE_URL: database?.url ?? `sqlite:${file}`,
    ...settings,
  }
  const read = resolveConfig({ flags: {}, env, file: null, cwd: dataDir })
  assert.ok('config' in read, 'the configuration is refused')
  const pillarbox = await createPillarbox(read.config)
  const { url } = await pillarbox.start({ api: true, worker: true })
  assert.ok(url !== null)
  const host = database ? await openPostgresHost(database.url) : openSqliteHost(file)
  let tenants = 0

  async function call(key: string, method: string, target: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`${url}${target}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) }
  }

  return {
    engine,
    ops: (method, target, body) => call(OPS_KEY, method, target, body),
    timePasses: host.timePasses,
    publishWith: host.publishWith,
    hostRows: host.rows,
    async provision(catalogue, { settings = {}, channels = [] } = {}) {
      tenants += 1
      const id = `${catalogue}-${tenants}`
      const made = await call(OPS_KEY, 'POST', '/ops/tenants', { id, name: catalogue, catalogue, ...settings })
      assert.equal(made.status, 201, JSON.stringify(made.body))
      const adminKey = (made.body['keys'] as { admin: string }).admin
      for (const channel of channels) {
        const account = { channel, provider: 'sandbox', name: channel }
        const answer = await call(adminKey, 'POST', '/api/channel-accounts', account)
        assert.equal(answer.status, 201, JSON.stringify(answer.body))
      }
      return tenantOf(
        id,
        adminKey,
        (...request) => call(adminKey, ...request),
        (target) => call(OPS_KEY, 'GET', target),
      )
    },
    async close() {
      await pillarbox.stop()
      await host.close()
      await database?.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

function tenantOf(
  id: string,
  adminKey: string,
  call: TestTenant['call'],
  ops: (target: string) => Promise<Answer>,
): TestTenant {
  async function items<T>(get: (target: string) => Promise<Answer>, target: string): Promise<T[]> {
    const answer = await get(target)
    assert.equal(answer.status, 200, `${target}: ${JSON.stringify(answer.body)}`)
    return (answer.body['items'] as T[]).toReversed()
  }
  const get = (target: string): Promise<Answer> => call('GET', target)

  /** In the order of the flow, so that nothing can slip from a part not looked at yet to one looked at before. */
  async function isSettled(): Promise<boolean> {
    if ((await items(ops, `/ops/outbox?tenantId=${id}&status=pending&limit=1`)).length > 0) return false
    if ((await items(get, '/api/automation-schedules?status=pending&due=past&limit=1')).length > 0) return false
    return (await items(get, '/api/notifications?status=queued&status=sending&limit=1')).length === 0
  }

  const tenant: TestTenant = {
    id,
    adminKey,
    call,
    async publish(event) {
      const answer = await call('POST', '/api/events', event)
      assert.equal(answer.status, 202, JSON.stringify(answer.body))
      return String(answer.body['id'])
    },
    settle: () => until(`tenant ${id} has nothing left to do`, isSettled),
    async inbox() {
      await tenant.settle()
      return items<Message>(get, '/api/sandbox/messages?limit=200')
    },
    async notifications(query = '') {
      await tenant.settle()
      const found = await items<{ id: string }>(get, `/api/notifications?limit=200&${query}`)
      return Promise.all(
        found.map(async ({ id: notificationId }) => {
          const answer = await get(`/api/notifications/${notificationId}`)
          return answer.body as unknown as Notification
        }),
      )
    },
    async schedules(query = '') {
      await tenant.settle()
      return items<Schedule>(get, `/api/automation-schedules?limit=200&${query}`)
    },
  }
  return tenant
}

/** Asks until it is so. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + PATIENCE_MS
  while (!(await isSo())) {
    assert.ok(performance.now() < giveUpAt, `waited in vain: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

// ── the host's own database, which is also Pillarbox's ───────────────────────────────────────────────────────────

interface Host extends Pick<World, 'timePasses' | 'publishWith'> {
  rows(): Promise<string[]>
  close(): Promise<void>
}

async function openPostgresHost(url: string): Promise<Host> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('create table host_row (name text primary key)')
  return {
    async timePasses(ms) {
      const earlier = (column: string): string => `${column} = ${column} - $1 * interval '1 millisecond'`
      await client.query(`update pillarbox.dispatch set ${earlier('visible_at')}`, [ms])
      await client.query(
        `update pillarbox.schedules set ${earlier('due_at')}, ${earlier('next_attempt_at')} where status = 'pending'`,
        [ms],
      )
    },
    async publishWith(row, event, end) {
      await client.query('begin')
      await client.query('insert into host_row values ($1)', [row])
      await publish(fromPg(client), event)
      await client.query(end)
    },
    async rows() {
      const { rows } = await client.query<{ name: string }>('select name from host_row order by name')
      return rows.map(({ name }) => name)
    },
    close: () => client.end(),
  }
}

function openSqliteHost(file: string): Host {
  const db = new DatabaseSync(file, { timeout: 5_000 })
  db.exec('create table host_row (name text primary key)')
  return {
    async timePasses(ms) {
      db.prepare('update pillarbox_dispatch set visible_at = visible_at - ?').run(ms)
      db.prepare(
        `update pillarbox_schedules set due_at = due_at - ?, next_attempt_at = next_attempt_at - ? where status = 'pending'`,
      ).run(ms, ms)
    },
    async publishWith(row, event, end) {
      db.exec('begin immediate')
      db.prepare('insert into host_row values (?)').run(row)
      publishSync(fromNodeSqlite(db), event)
      db.exec(end)
    },
    rows: async () =>
      db
        .prepare('select name from host_row order by name')
        .all()
        .map(({ name }) => String(name)),
    close: async () => db.close(),
  }
}

// ── what a reader sees ───────────────────────────────────────────────────────────────────────────────────────────

/** The words of an HTML mail, one line per paragraph, table row or break. */
export function wordsOf(html: string): string {
  return html
    .replace(/\s*\n\s*/g, ' ')
    .replace(/<\/(p|tr|div)>|<br>/g, '\n')
    .replace(/<\/td>/g, ' ')
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#34;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .split('\n')
    .map((line) => line.replace(/[ \t]+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n')
}

/** Nothing was left unfilled, and nothing about it is odd. */
export function assertClean(notifications: readonly Notification[]): void {
  assert.ok(notifications.length > 0)
  for (const { eventType, channel, status, warnings, content, lastError } of notifications) {
    const which = `${eventType} by ${channel}`
    assert.deepEqual(warnings, [], which)
    assert.equal(status, 'sent', `${which}: ${lastError}`)
    assert.doesNotMatch(JSON.stringify(content), /\{\{|\{%|undefined|\[object|NaN/, which)
  }
}
