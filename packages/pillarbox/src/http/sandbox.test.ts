import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { sampleSandboxMessage, storedAccount } from '../../../../test/support/samples.ts'
import { until } from '../../../../test/support/until.ts'
import type { SandboxMessage } from '../channels/sandbox/vendor.ts'
import type { Clock } from '../model/ports.ts'
import { systemClock } from '../runtime/system.ts'
import type { SandboxReader } from './context.ts'
import { type Fixture, openFixture, type TestTenant } from './fixture.ts'

describe('whoever tries things out', () => {
  let f: Fixture
  let tenant: TestTenant
  const taken: SandboxMessage[] = []
  let looks = 0
  const sandbox: SandboxReader = ({ tenantId, to, limit }) => {
    looks += 1
    return taken
      .filter((each) => each.tenantId === tenantId && (to === undefined || each.to.email === to))
      .slice(0, limit)
  }
  const message = (email: string): SandboxMessage =>
    sampleSandboxMessage({ id: `sbx-${taken.length + 1}`, tenantId: tenant.id, to: { email } })
  const look = (query: string) => f.call(tenant.keys.admin, 'GET', `/api/sandbox/messages?${query}`)

  before(async () => {
    f = await openFixture({ deps: { sandbox, clock: systemClock } })
    tenant = await f.tenant('sandboxed')
  })
  after(() => f.app.close())

  it('waits for a message instead of asking again and again', async () => {
    const waiting = look('to=ada@example.test&wait=PT20S')
    const before = looks
    await until('it has looked in vain', () => looks > before + 1)
    taken.push(message('bo@example.test'), message('ada@example.test'))

    const { items } = (await waiting).json()
    assert.deepEqual(
      items.map(({ to }) => to.email),
      ['ada@example.test'],
    )
  })

  it('is answered without one when the time is over, and at once where there is one', async () => {
    assert.deepEqual((await look('to=nobody@example.test&wait=PT0.05S')).json().items, [])
    assert.equal((await look('to=ada@example.test&wait=PT20S')).json().items.length, 1)
    for (const wait of ['PT26S', 'soon', 'P1D']) {
      const refused = await look(`wait=${wait}`)
      assert.deepEqual([refused.statusCode, refused.json().code], [422, 'invalid_query'])
      assert.equal(refused.json().errors[0]?.message, 'must be an ISO 8601 duration from PT0S to PT25S')
    }
  })

  it('keeps nobody from reading lists meanwhile', async () => {
    const waiting = Array.from({ length: 20 }, () => look('to=late@example.test&wait=PT20S'))
    const before = looks
    await until('all of them wait', () => looks > before + 20)
    assert.equal((await f.call(tenant.keys.admin, 'GET', '/api/notifications')).statusCode, 200)
    taken.push(message('late@example.test'))

    for (const answer of await Promise.all(waiting)) assert.equal(answer.json().items.length, 1)
  })

  it('is no longer looked for once the client has gone', async () => {
    let sleeping = 0
    // Nobody wakes up by time here, only by being told to.
    const sleep: Clock['sleep'] = (ms, signal) =>
      new Promise((resolve) => {
        if (ms < 1 || signal === undefined) return resolve()
        sleeping += 1
        const wake = (): void => {
          sleeping -= 1
          resolve()
        }
        signal.addEventListener('abort', wake, { once: true })
      })
    const still = await openFixture({ deps: { sandbox, clock: { ...systemClock, sleep } } })
    const { keys } = await still.tenant('still')
    const url = await still.app.listen({ port: 0, host: '127.0.0.1' })
    const gone = new AbortController()
    const headers = { authorization: `Bearer ${keys.admin}` }
    const asked = request(`${url}/api/sandbox/messages?to=never@example.test&wait=PT25S`, {
      headers,
      signal: gone.signal,
    })
    asked.on('error', () => {})
    asked.end()
    await until('somebody waits', () => sleeping === 1)
    gone.abort()
    await until('nobody does', () => sleeping === 0)
    await still.app.close()
  })

  it('turns the clock on and back, and has no real account meanwhile', async () => {
    const turn = (body: object) => f.call(tenant.keys.operator, 'POST', '/api/sandbox/clock', body)
    const on = await turn({ advance: 'P1DT2H' })
    assert.deepEqual([on.statusCode, on.json().ahead], [200, 'P1DT2H'], on.body)
    assert.equal((await turn({ advance: 'PT1H' })).json().ahead, 'P1DT3H')
    const dueAt = new Date(Date.now() + 3_600_000).toISOString()
    const body = { channel: 'email', to: { email: 'ada@example.test' }, body: 'x', dueAt }
    const { id } = (await f.call(tenant.keys.admin, 'POST', '/api/notifications', body)).json()
    const shown = (await f.call(tenant.keys.admin, 'GET', `/api/notifications/${id}`)).json()
    assert.equal(Date.parse(dueAt) - Date.parse(String(shown.dueAt)), 27 * 3_600_000)

    const real = storedAccount({ id: f.deps.ids(), tenantId: tenant.id, status: 'suspended' })
    await f.store.accounts.insert(real)
    const activate = () => f.call(tenant.keys.admin, 'POST', `/api/channel-accounts/${real.id}/activate`)
    const refused = await activate()
    assert.deepEqual([refused.statusCode, refused.json().code], [409, 'in_use'], refused.body)
    assert.equal((await turn({ reset: true })).json().ahead, 'PT0S')
    for (const wrong of [
      {},
      { advance: 'P1D', reset: true },
      { advance: 'PT0S' },
      { advance: 'P1Y' },
      { reset: false },
    ])
      assert.equal((await turn(wrong)).statusCode, 422, JSON.stringify(wrong))
  })
})

it('tells what the test clock says', async (t) => {
  const f = await openFixture()
  t.after(() => f.app.close())
  const { keys } = await f.tenant('acme')
  assert.deepEqual(Object.values((await f.call(keys.viewer, 'GET', '/api/sandbox/clock')).json())[1], 'PT0S')

  await f.call(keys.operator, 'POST', '/api/sandbox/clock', { advance: 'P1D' })

  const { now, ahead } = (await f.call(keys.viewer, 'GET', '/api/sandbox/clock')).json() as unknown as Record<
    string,
    string
  >
  assert.deepEqual([now, ahead], [new Date(f.now() + 86_400_000).toISOString(), 'P1D'])
})

it('has the pretend vendor misbehave on demand, and behave again', async (t) => {
  const f = await openFixture()
  t.after(() => f.app.close())
  const { keys } = await f.tenant('acme')
  const account = { channel: 'sms', provider: 'sandbox', name: 'texts', settings: { latencyMs: 5 } }
  const { id: accountId } = (await f.call(keys.admin, 'POST', '/api/channel-accounts', account)).json()
  const add = (fault: object) => f.call(keys.operator, 'POST', '/api/sandbox/faults', { accountId, fault })

  const refused = await add({ kind: 'nonsense' })
  assert.deepEqual([refused.statusCode, refused.json().errors[0]?.path], [422, '/fault/kind'])
  assert.equal((await add({ kind: 'timeout_after_accept', times: 3 })).statusCode, 201)
  const { items } = (await f.call(keys.viewer, 'GET', '/api/sandbox/faults')).json() as unknown as {
    items: { account: { name: string }; fault: object }[]
  }
  assert.deepEqual(
    items.map((each) => [each.account.name, each.fault]),
    [['texts', { kind: 'timeout_after_accept', times: 3 }]],
  )

  const stopped = (await f.call(keys.operator, 'DELETE', '/api/sandbox/faults')).json() as unknown as {
    stopped: number
  }

  assert.equal(stopped.stopped, 1)
  const settings = (await f.call(keys.admin, 'GET', `/api/channel-accounts/${accountId}`)).json().settings
  assert.deepEqual(settings, { latencyMs: 5 })
  assert.equal((await f.call(keys.viewer, 'DELETE', '/api/sandbox/faults')).statusCode, 403)
})
