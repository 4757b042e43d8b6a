import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { VendorCallback } from '@pillarbox/vendors'
import { resolveConfig } from '../../packages/pillarbox/src/config/config.ts'
import { createPillarbox, type Parts, type Pillarbox } from '../../packages/pillarbox/src/pillarbox.ts'
import { startVendors, type Vendors } from '../support/loopback-vendors.ts'
import { freshDatabase } from '../support/postgres/database.ts'

/** A whole Pillarbox over one store, and the vendors it sends through, on the loopback interface. */
export interface World {
  readonly vendors: Vendors
  /** Stops everything that runs and starts these parts on the same data. */
  restart(parts: Parts): Promise<void>
  ops(method: string, url: string, body?: unknown): Promise<Answer>
  /** A tenant of its own. */
  tenant(): Promise<TestTenant>
  /** As a vendor calls: the path of an address that an account gave out. */
  callBack(webhookUrl: string, callback: VendorCallback): Promise<number>
  /** What was kept, newest first, once nothing of it is left to be read for the first time. */
  callbacks(source: string): Promise<KeptCallback[]>
  /** How many were not believed, by cause. */
  refused(source: string): Promise<Record<string, number>>
}

export interface TestTenant {
  readonly id: string
  account(body: object): Promise<Account>
  /** Sends one notification and waits until the vendor has it and we know. */
  send(body: object): Promise<Notification>
  submit(body: object): Promise<string>
  notification(id: string): Promise<Notification>
  /** Waits until a notification stands where it should. */
  comesTo(id: string, status: string): Promise<Notification>
}

export interface Answer {
  status: number
  body: Record<string, unknown>
}

export interface Account {
  id: string
  webhookUrl: string
}

export interface Notification {
  id: string
  status: string
  reason: string | null
  lastError: string | null
  channel: string
  fallbackOf: string | null
  fallbackTo: string | null
  providerMessageId: string | null
  deliveredAt: string | null
  readAt: string | null
  receipts: { kind: string }[]
}

export interface KeptCallback {
  id: string
  status: string
  attemptCount: number
  result: { reports: number; matched: number; moved: number; unreadable: number } | null
}

const OPS_KEY = 'receipts-ops-key-0123456789'
const PATIENCE_MS = 20_000
export const BOTH: Parts = { api: true, worker: true }

export async function openWorld(engine: 'sqlite' | 'postgres'): Promise<World & { close(): Promise<void> }> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'pillarbox-receipts-'))
  const database = engine === 'postgres' ? await freshDatabase() : null
  const vendors = await startVendors()
  const env = {
    PILLARBOX_PORT: '0',
    PILLARBOX_DATA_DIR: dataDir,
    PILLARBOX_OPS_KEY: OPS_KEY,
    PILLARBOX_DEMO: '0',
    PILLARBOX_ALLOW_PRIVATE_ENDPOINTS: '1',
    PILLARBOX_SNS_CERT_HOSTS: '127.0.0.1',
    PILLARBOX_PUBLIC_URL: 'https://notify.example.com',
    DATABASE_URL: database?.url ?? `sqlite:${path.join(dataDir, 'pillarbox.db')}`,
  }
  const read = resolveConfig({ flags: {}, env, file: null, cwd: dataDir })
  assert.ok('config' in read, 'the configuration is refused')
  const { config } = read
  let running: Pillarbox | null = null
  let base = ''
  let tenants = 0

  async function start(parts: Parts): Promise<void> {
    running = await createPillarbox(config)
    base = (await running.start(parts)).url ?? ''
  }
  await start(BOTH)

  async function call(key: string, method: string, url: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`${base}${url}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const ops: World['ops'] = (...request) => call(OPS_KEY, ...request)
  const items = async <T>(url: string): Promise<T[]> => {
    const answer = await ops('GET', url)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body['items'] as T[]
  }

  return {
    vendors,
    ops,
    async restart(parts) {
      await running?.stop()
      await start(parts)
    },
    async tenant() {
      tenants += 1
      const id = `tenant-${tenants}`
      const made = await ops('POST', '/ops/tenants', { id, name: id })
      assert.equal(made.status, 201, JSON.stringify(made.body))
      return tenantOf(id, ops)
    },
    async callBack(webhookUrl, { method, headers, body }) {
      const { pathname, search } = new URL(webhookUrl)
      const answer = await fetch(`${base}${pathname}${search}`, {
        method,
        headers,
        ...(body !== undefined && { body }),
      })
      await answer.arrayBuffer()
      return answer.status
    },
    async callbacks(source) {
      const list = (): Promise<KeptCallback[]> => items(`/ops/callbacks?source=${source}&limit=200`)
      return until(`every callback of ${source} was read`, async () => {
        const found = await list()
        return found.every(({ result }) => result !== null) && found
      })
    },
    async refused(source) {
      const found = await items<{ why: string; count: number }>(`/ops/callbacks/refused?source=${source}`)
      const sums: Record<string, number> = {}
      for (const { why, count } of found) sums[why] = (sums[why] ?? 0) + count
      return sums
    },
    async close() {
      await running?.stop()
      await vendors.close()
      await database?.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

function tenantOf(id: string, ops: World['ops']): TestTenant {
  async function call<T>(method: string, url: string, expected: number, body?: unknown): Promise<T> {
    const answer = await ops(method, `${url}?tenantId=${id}`, body)
    assert.equal(answer.status, expected, `${method} ${url}: ${JSON.stringify(answer.body)}`)
    return answer.body as T
  }
  const tenant: TestTenant = {
    id,
    account: (body) => call('POST', '/api/channel-accounts', 201, body),
    submit: async (body) => (await call<{ id: string }>('POST', '/api/notifications', 202, body)).id,
    send: async (body) => tenant.comesTo(await tenant.submit(body), 'sent'),
    notification: (notificationId) => call('GET', `/api/notifications/${notificationId}`, 200),
    async comesTo(notificationId, status) {
      await until(`${notificationId} of ${id} is ${status}`, async () => {
        const now = await call<{ status: string }>('GET', `/api/notifications/${notificationId}/status`, 200)
        return now.status === status && now
      })
      return tenant.notification(notificationId)
    },
  }
  return tenant
}

/** Asks until there is an answer, less and less often. */
export async function until<T>(what: string, ask: () => Promise<T | false>): Promise<T> {
  const giveUpAt = performance.now() + PATIENCE_MS
  for (let pauseMs = 5; ; pauseMs = Math.min(100, pauseMs * 1.5)) {
    const answer = await ask()
    if (answer !== false) return answer
    assert.ok(performance.now() < giveUpAt, `waited in vain: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
