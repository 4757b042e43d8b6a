import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { OPS_KEY } from '../support/api.ts'
import { type TestTenant, tenantOf } from '../support/tenant.ts'
import { until } from '../support/until.ts'
import { BOTH, openWorld, type World } from '../support/world.ts'
import { follow, stepsOf } from './follow.ts'

const folder = path.resolve(import.meta.dirname, '../../docs/runbook')
const read = (page: string): string => readFileSync(path.join(folder, page), 'utf8')

const CATALOGUE = {
  name: 'shop',
  defaultLocale: 'en',
  eventTypes: {
    'order.paid': {
      entity: 'order',
      recipients: [{ email: 'email' }],
      delivery: { channels: ['email'] },
      templates: [{ channel: 'email', subject: 'Paid', body: 'Welcme, order {{orderId}} is paid' }],
    },
  },
}
const EVENT = {
  type: 'order.paid',
  entity: { type: 'order', id: '42' },
  payload: { orderId: 42, email: 'ana@example.test' },
}
const MAIL = { channel: 'email', provider: 'sandbox', name: 'mail' }
const API = { api: true, worker: false }

/** A trouble: how a server gets into it, and what is done by hand in the middle of the page. */
interface Trouble {
  parts?: typeof BOTH
  settings?: Record<string, string>
  /** What the page's commands need beside the keys. */
  prepare?(world: World, tenant: TestTenant): Promise<Record<string, string> | undefined>
  byHand?(world: World): Promise<void>
}

const startWorker = (world: World): Promise<void> => world.start({ api: false, worker: true })

const TROUBLES: Readonly<Record<string, Trouble>> = {
  'nobody-got-anything.md': {
    async prepare(_world, tenant) {
      await tenant.publish(EVENT)
      return undefined
    },
  },
  'stays-queued.md': {
    parts: API,
    async prepare(_world, tenant) {
      await tenant.account(MAIL)
      await tenant.publish(EVENT)
      return undefined
    },
    byHand: startWorker,
  },
  'parked.md': {
    async prepare(_world, tenant) {
      await tenant.account({
        ...MAIL,
        settings: { faults: [{ kind: 'permanent', times: 2, reason: 'permanent_refusal' }] },
      })
      for (const name of ['ana', 'ben']) {
        const id = await tenant.submit({ channel: 'email', to: { email: `${name}@example.test` }, body: 'Hello' })
        await tenant.comesTo(id, 'parked')
      }
      return undefined
    },
  },
  'vendor-down.md': {
    async prepare(_world, tenant) {
      const retry = { maxAttempts: 20, fixed: 'PT0.05S' }
      await tenant.account({ ...MAIL, settings: { faults: [{ kind: 'server_error', times: 50 }] }, retry })
      for (const name of ['ana', 'ben', 'eva'])
        await tenant.submit({ channel: 'email', to: { email: `${name}@example.test` }, body: 'Hello' })
      return undefined
    },
  },
  'worker-died.md': {
    parts: API,
    settings: { PILLARBOX_WORKER_TTL: 'PT2S', PILLARBOX_PROVIDER_TIMEOUT: 'PT0.5S' },
    async prepare(world, tenant) {
      await tenant.account(MAIL)
      const worker = await world.startProcess('worker')
      worker.signal('SIGKILL')
      await worker.exited
      await tenant.submit({ channel: 'email', to: { email: 'ana@example.test' }, body: 'Hello' })
      return undefined
    },
    byHand: startWorker,
  },
  'disk-full.md': {},
  'clock.md': {},
  'leaked-key.md': {
    async prepare(_world, tenant) {
      const made = await tenant.call('POST', '/api/keys', { name: 'shop', role: 'publisher' })
      return { SHOP_KEY: String(made.body['key']) }
    },
  },
  'wrong-words.md': {
    async prepare(_world, tenant) {
      await tenant.account(MAIL)
      await tenant.publish(EVENT)
      await until('it is sent', async () => (await tenant.notifications())[0]?.status === 'sent')
      return undefined
    },
  },
  'restore.md': { prepare: async (_world, tenant) => void (await tenant.account(MAIL)) },
  'upgrade.md': {},
  'move.md': {},
}

/** Has no commands, or none that are run. */
const READ_ONLY = new Set(['README.md', 'sizing.md'])

describe('docs/runbook', { concurrency: 2 }, () => {
  it('has a test for every page, and a line in its index', () => {
    const pages = readdirSync(folder)
    assert.deepEqual(pages.toSorted(), [...Object.keys(TROUBLES), ...READ_ONLY].toSorted())
    const index = read('README.md')
    for (const page of pages) assert.ok(page === 'README.md' || index.includes(`](${page})`), page)
  })

  for (const [page, { parts = BOTH, settings, prepare, byHand }] of Object.entries(TROUBLES))
    it(`${page}: shows commands that answer what it says`, async () => {
      await using world = await openWorld('sqlite', { ...(settings && { settings }) })
      await world.start(parts)
      const made = await world.ops('POST', '/ops/tenants', { id: 'acme', name: 'Acme', catalogue: CATALOGUE })
      assert.equal(made.status, 201, JSON.stringify(made.body))
      const adminKey = (made.body['keys'] as { admin: string }).admin
      const tenant = tenantOf({ id: 'acme', adminKey }, () => world.url)
      const more = await prepare?.(world, tenant)

      await follow(
        world,
        stepsOf(read(page)),
        { OPS_KEY, KEY: adminKey, ...more },
        () => byHand?.(world) ?? Promise.resolve(),
      )
    })
})
