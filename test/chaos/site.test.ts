import assert from 'node:assert/strict'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { SiteOutbox } from '@pillarbox/client'
import { request } from '../support/api.ts'
import { ENGINE_NAMES } from '../support/engines.ts'
import { type LinkFault, openLink } from '../support/faulty-link.ts'
import { CLI, type ProductProcess, productProcesses } from '../support/product-process.ts'
import { type TestTenant, tenantOf } from '../support/tenant.ts'
import { until } from '../support/until.ts'
import { startWorld, type World } from '../support/world.ts'
import { chaosWorld } from './chaos-world.ts'

const COUNT = 2_000
const AT_ONCE = 16
const DAY_MS = 86_400_000

interface LocalHealth extends Record<string, unknown> {
  waiting: number
  refused: number
}

interface SiteRow {
  site: string
  backlog: number
  sequence: number
  missing: number
  incarnation: string
  rewoundAt: string | null
}

/** A tenant with a list, an account, and a key of its site plant-1. */
async function plant(world: World, url: () => string) {
  const made = await request<{ keys: { admin: string } }>(`${url()}/ops/tenants`, {
    method: 'POST',
    body: { id: 'plant', name: 'Plant' },
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const tenant = tenantOf({ id: 'plant', adminKey: made.body.keys.admin }, url)
  await tenant.account({ channel: 'email', provider: 'sandbox', name: 'mail', pace: null })
  await tenant.call('POST', '/api/recipient-lists', { name: 'operators', members: [{ email: 'o@example.test' }] })
  const key = await tenant.call('POST', '/api/keys', { name: 'plant-1', role: 'publisher', site: 'plant-1' })
  return { tenant, key: String(key.body['key']), world }
}

/** Every row of a list, page by page. */
async function everyItem(tenant: TestTenant, target: string): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = []
  for (let cursor: string | null = null; ; ) {
    const page = `${target}&limit=200${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
    const { body } = await tenant.call('GET', page)
    all.push(...(body['items'] as Record<string, unknown>[]))
    cursor = body['nextCursor'] as string | null
    if (cursor === null) return all
  }
}

async function siteOf(tenant: TestTenant): Promise<SiteRow> {
  const { body } = await tenant.call('GET', '/api/sites')
  const [site] = body['items'] as SiteRow[]
  return site ?? assert.fail('the site was never heard of')
}

describe('a site', { concurrency: 2 }, () => {
  for (const engine of ENGINE_NAMES)
    it(`${engine}: that goes dark, is killed and comes back over a bad link to a server that is killed: nothing is lost, nothing sent twice`, async (t) => {
      await using world = await chaosWorld(engine)
      await using link = await openLink()
      let api = await world.startProcess('api')
      await world.startProcess('worker')
      link.target = api.url
      const { tenant, key } = await plant(world, () => api.url)
      const folder = await mkdtemp(path.join(tmpdir(), 'pillarbox-agent-'))
      await using agents = productProcesses(folder)
      t.after(() => rm(folder, { recursive: true, force: true }))
      const startAgent = (): Promise<ProductProcess> =>
        agents.start([CLI, 'site', '--port', '0', '--data-dir', folder], {
          PILLARBOX_CENTRAL: link.url,
          PILLARBOX_SITE: 'plant-1',
          PILLARBOX_KEY: key,
        })
      const health = async (): Promise<LocalHealth> =>
        (await request<LocalHealth>(`${agent.url}/health`, { method: 'GET' })).body
      const ids: string[] = []
      const send = async (from: number, to: number): Promise<void> => {
        let next = from
        const sender = async (): Promise<void> => {
          for (let i = next++; i < to; i = next++) {
            const body = { list: 'operators', subject: `alarm ${i}`, body: 'x', urgent: i % 20 === 0 }
            const answer = await request(`${agent.url}/notifications`, { method: 'POST', body })
            assert.equal(answer.status, 202)
            ids.push(String(answer.body['notificationId']))
          }
        }
        await Promise.all(Array.from({ length: AT_ONCE }, sender))
      }

      link.fault = () => 'dark'
      let agent = await startAgent()
      await send(0, COUNT / 2)
      agent.signal('SIGKILL')
      await agent.exited
      agent = await startAgent()
      await send(COUNT / 2, COUNT)
      assert.equal((await health()).waiting, COUNT)
      const local = await request(`${agent.url}/notifications/${ids[0]}/status`, { method: 'GET' })
      assert.deepEqual([local.status, local.body['status']], [200, 'forwarding'])

      const faults: LinkFault[] = ['lose the answer', 'twice', 'none', 'dark', 'none']
      link.fault = (count) => faults[count % faults.length] ?? 'none'
      await until('some have come', async () => (await health()).waiting < COUNT)
      api.signal('SIGKILL')
      await api.exited
      api = await world.startProcess('api')
      link.target = api.url
      await until('more have come', async () => (await health()).waiting < COUNT - 600)
      agent.signal('SIGKILL')
      await agent.exited
      agent = await startAgent()
      await until('nothing waits', async () => (await health()).waiting === 0)
      assert.equal((await health()).refused, 0)
      // Whatever was on its way somewhere comes once more, in another order.
      assert.deepEqual(new Set(await link.replay()), new Set([200]))
      await tenant.settle()
      // On a busy machine a call may take too long and be made again later.
      await until('everything is sent', () => world.sandboxMessages().length >= COUNT)

      const rows = await everyItem(tenant, '/api/notifications?site=plant-1')
      assert.equal(new Set(ids).size, COUNT)
      assert.equal(rows.length, COUNT)
      assert.deepEqual(new Set(rows.map(({ idempotencyKey }) => idempotencyKey)), new Set(ids))
      const sent = world.sandboxMessages()
      assert.equal(sent.length, COUNT)
      assert.equal(new Set(sent.map(({ notificationId }) => notificationId)).size, COUNT)
      const audit = await everyItem(tenant, '/api/audit?action=notify_send')
      assert.equal(audit.length, COUNT)
      const { sequence, missing, rewoundAt } = await siteOf(tenant)
      assert.deepEqual({ sequence, missing, rewoundAt }, { sequence: COUNT, missing: 0, rewoundAt: null })
      const status = await request(`${agent.url}/notifications/${ids[7]}/status`, { method: 'GET' })
      assert.deepEqual([status.status, status.body['notificationId']], [200, ids[7]])

      agent.signal('SIGTERM')
      assert.deepEqual(await agent.exited, { code: 0, signal: null })
    })

  it('whose buffer was cloned is noticed, and both go on without losing anything', async (t) => {
    await using world = await startWorld('sqlite')
    const { tenant, key } = await plant(world, () => world.url)
    const folder = await mkdtemp(path.join(tmpdir(), 'pillarbox-clone-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const open = (name: string): SiteOutbox =>
      new SiteOutbox({ path: path.join(folder, name), central: world.url, key, site: 'plant-1' })
    const alarm = (subject: string) => ({ list: 'operators', subject, body: 'x' })
    const original = open('a.db')
    original.send(alarm('before'))
    assert.ok(await original.flush(60_000))
    const { incarnation } = original.health()
    await original.close()
    await copyFile(path.join(folder, 'a.db'), path.join(folder, 'b.db'))

    const [first, second] = [open('a.db'), open('b.db')]
    for (const [i, outbox] of [first, second, first, second].entries()) {
      outbox.send(alarm(`after ${i}`))
      assert.ok(await outbox.flush(60_000))
    }

    assert.equal(first.health().incarnation, incarnation)
    assert.notEqual(second.health().incarnation, incarnation)
    await Promise.all([first.close(), second.close()])
    const rows = await everyItem(tenant, '/api/notifications?site=plant-1')
    assert.equal(rows.length, 5)
    const noticed = await everyItem(tenant, '/api/audit?action=rewind_buffer')
    assert.equal(noticed.length, 1)
    assert.notEqual((await siteOf(tenant)).rewoundAt, null)
  })

  it('whose clock is a day off has everything delivered once, and what expires is judged by how long it had', async (t) => {
    await using world = await startWorld('sqlite')
    const { tenant, key } = await plant(world, () => world.url)
    const folder = await mkdtemp(path.join(tmpdir(), 'pillarbox-clock-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const statuses: string[][] = []
    for (const days of [-1, 1]) {
      const now = (): number => Date.now() + days * DAY_MS
      const outbox = new SiteOutbox({
        path: path.join(folder, `${days}.db`),
        central: world.url,
        key,
        site: 'plant-1',
        sources: { now },
      })
      const within = (ms: number) => ({
        list: 'operators',
        subject: 'alarm',
        body: 'x',
        expiresAt: new Date(now() + ms),
      })
      const ids = [within(3_600_000), within(-60_000)].map((one) => outbox.send(one).notificationId)
      assert.ok(await outbox.flush(60_000))
      await tenant.settle()
      const told = await Promise.all(ids.map((id) => outbox.status(id)))
      statuses.push(told.map((one) => String(one?.status)))
      await outbox.close()
    }

    assert.deepEqual(statuses, [
      ['sent', 'cancelled'],
      ['sent', 'cancelled'],
    ])
  })
})
