import assert from 'node:assert/strict'
import path from 'node:path'
import { describe, it } from 'node:test'
import { ENGINE_NAMES, type EngineName } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { chaosWorld } from './chaos-world.ts'
import { KILL_POINTS } from './kill-points.ts'
import { call, openShop, TENANT } from './shop.ts'

/** Each worker dies of the operation that the one before it died of, and is followed by one that lives. */
const DEATHS = [
  'operate.taken:1',
  'operate.moving:2',
  'operate.moved:3',
  'operate.counting:1',
  'operate.moved:7',
  'operate.counted:1',
]
/** More than one page, so that some are left when the first page was counted. */
const ROWS = 130

const UNDER_TEST = path.join(import.meta.dirname, 'worker-under-test.ts')

describe('an operation whose workers are killed one after the other', { concurrency: 2 }, () => {
  for (const engine of ENGINE_NAMES)
    it(`${engine}: does every item once (${DEATHS.join(', ')})`, () => operateThroughDeaths(engine))

  it('dies at every point that there is', () => {
    const named = new Set(DEATHS.map((text) => text.split(':')[0]))
    assert.deepEqual(
      Object.keys(KILL_POINTS).filter((point) => point.startsWith('operate') && !named.has(point)),
      [],
    )
  })
})

interface ShownOperation {
  status: string
  total: number
  done: number
  leftAlone: number
  failed: number
}

async function operateThroughDeaths(engine: EngineName): Promise<void> {
  await using world = await chaosWorld(engine)
  const of = `?tenantId=${TENANT}`
  const { url } = await world.startProcess('api')
  await openShop(url, { channels: ['email'] })
  const { items: accounts } = await call<{ items: { id: string }[] }>(url, 'GET', `/api/channel-accounts${of}`)
  const account = `/api/channel-accounts/${accounts[0]?.id}`
  await call(url, 'POST', `${account}/suspend${of}`)
  const items = Array.from({ length: ROWS }, (_, i) => ({
    idempotencyKey: `row-${i}`,
    channel: 'email',
    to: { email: 'ana@example.test' },
    body: `Row ${i}`,
  }))
  const { results } = await call<{ results: { id: string }[] }>(url, 'POST', `/api/notifications/batch${of}`, { items })
  const ids = results.map(({ id }) => id)
  await call(url, 'POST', `${account}/activate${of}`)
  const filter = { status: ['parked'] }
  const preview = await call<{ token: string; count: number }>(url, 'POST', `/api/notifications/bulk/preview${of}`, {
    action: 'retry',
    filter,
  })
  assert.equal(preview.count, ROWS)
  const { token } = preview
  await call(url, 'POST', `/api/notifications/bulk${of}`, { token, grace: 'PT0S', canary: 0, note: 'mended' })

  for (const killAt of DEATHS) {
    const doomed = await world.startScript(UNDER_TEST, { CHAOS_KILL_AT: killAt }, { mayEnd: true })
    await until(`the process reaches ${killAt}`, () => doomed.hasExited()).catch((error: unknown) => {
      throw new Error(`it lives on:\n${doomed.log()}`, { cause: error })
    })
    assert.equal((await doomed.exited).signal, 'SIGKILL')
    assert.match(doomed.log(), /"msg":"killed"/)
  }
  await world.startProcess('worker')

  const operation = await until('the operation is done', async () => {
    const seen = await call<ShownOperation>(url, 'GET', `/api/operations/${token}${of}`)
    return seen.status === 'done' && seen
  })
  const { total, done, leftAlone, failed } = operation
  assert.deepEqual({ total, done, leftAlone, failed }, { total: ROWS, done: ROWS, leftAlone: 0, failed: 0 })
  for (const id of ids) {
    const seen = await until(`${id} is sent`, async () => {
      const view = await call<{
        status: string
        audit: { action: string; operationId: string | null; note: string | null }[]
      }>(url, 'GET', `/api/notifications/${id}${of}`)
      return view.status === 'sent' && view
    })
    const acts = seen.audit.filter(({ operationId }) => operationId !== null)
    assert.deepEqual(
      acts.map(({ action, operationId, note }) => ({ action, operationId, note })),
      [{ action: 'retry', operationId: token, note: 'mended' }],
    )
  }
  const taken = world.sandboxMessages()
  assert.deepEqual(taken.map(({ notificationId }) => notificationId).toSorted(), ids.toSorted())
}
