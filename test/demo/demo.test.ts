import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { it } from 'node:test'
import { demoApi } from './demo-api.ts'
import { startDemo } from './demo-world.ts'
import { createPastClock } from './past-clock.ts'
import { screensOf } from './screens.ts'
import { createTraffic } from './traffic.ts'

const HOUR = 3_600_000
const START = Date.UTC(2026, 2, 2)

it('publishes the same week for the same seed, and another for another', () => {
  const week = (seed: number): string => {
    const traffic = createTraffic(seed)
    return JSON.stringify(Array.from({ length: 168 }, (_, hour) => traffic.eventsAt(START + hour * HOUR)))
  }
  assert.equal(week(1), week(1))
  assert.notEqual(week(1), week(2))
})

it('wakes whoever sleeps when the clock is put forward, and never goes back', async () => {
  const clock = createPastClock(START, 1)
  const slept = clock.sleep(HOUR)
  clock.jumpTo(START + 2 * HOUR)
  await slept
  clock.jumpTo(START)
  assert.ok(clock.now() >= START + 2 * HOUR)
})

it('leaves a week behind in which something is in every state that screens show', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'pillarbox-demo-test-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  const demo = await startDemo({ dir, port: 0, seed: 1, say: () => {} })
  t.after(demo.stop)
  const api = demoApi(demo.url, demo.opsKey, Date.now)
  const some = async (asked: string) =>
    (await api.call<{ items: { createdAt: string; status: string }[] }>('GET', `${asked}tenantId=demo&limit=200`)).items

  for (const status of ['delivered', 'read', 'parked', 'uncertain', 'skipped', 'discarded', 'queued'])
    assert.ok((await some(`/api/notifications?status=${status}&`)).length > 0, `nothing is ${status}`)
  for (const list of [
    '/api/conversations?',
    '/api/recipient-lists?',
    '/api/suppressions?',
    '/api/automation-schedules?status=pending&',
  ])
    assert.ok((await some(list)).length > 0, list)
  const accounts = await some('/api/channel-accounts?')
  assert.ok(accounts.some(({ status }) => status === 'suspended'))
  const { total } = await api.call<{ total: { counts: { created: number } } }>(
    'GET',
    `/api/kpis?tenantId=demo&from=${new Date(Date.now() - 7 * 24 * HOUR).toISOString()}&to=${new Date().toISOString()}`,
  )
  assert.ok(total.counts.created > 300, `${total.counts.created} in a week`)
  for (const [name, address] of Object.entries(await screensOf(demo)))
    assert.doesNotMatch(address, /undefined|null/, `no address for the picture of ${name}`)
})
