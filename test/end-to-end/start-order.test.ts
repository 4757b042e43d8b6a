import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ResolveHook } from '../../packages/pillarbox/src/plan/resolve-hook.ts'
import { ENGINE_NAMES } from '../support/engines.ts'
import { freePort } from '../support/postgres/launcher.ts'
import { until } from '../support/until.ts'
import { BOTH, openWorld } from '../support/world.ts'

// Building the API keeps the thread: a transaction that planning began before would stay open for as long.
for (const engine of ENGINE_NAMES)
  it(`plans nothing before the API is built, on ${engine}`, async () => {
    const port = String(await freePort())
    await using world = await openWorld(engine, { settings: { PILLARBOX_PORT: port } })
    await world.start({ api: true, worker: false })
    const tenant = await world.tenant({ catalogue: 'push', channels: ['push'] })
    const payload = { targetPlatform: 'FCM', deviceToken: 'device-1', title: 'Bus 12', body: 'leaves at 9' }
    const event = { tenantId: tenant.id, type: 'push.message', entity: { type: 'device', id: '1' }, payload }
    await (await world.host()).transact({ events: [event] })
    await world.stop()
    const statuses: unknown[] = []
    const hook: ResolveHook = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/health/live`).catch((error: Error) => error.message)
      statuses.push(typeof answer === 'string' ? answer : answer.status)
      return { cancel: 'it was asked, which is enough' }
    }

    await world.start(BOTH, { resolve: hook })
    await until('the event is planned', () => statuses.length > 0)

    assert.deepEqual(statuses, [200])
  })
