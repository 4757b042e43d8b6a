import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { fcmError, startFcmServer } from '@pillarbox/vendors'
import type { TestTenant } from '../support/tenant.ts'
import { onEachStore, startWorld, type World } from '../support/world.ts'

interface Suppressed {
  id: string
  channel: string
  address: string
  cause: string
  error: string | null
  notificationId: string | null
}

/** A tenant that pushes through FCM and mails into the sandbox. */
async function setup(t: TestContext, world: World) {
  const fcm = await startFcmServer()
  t.after(fcm.close)
  const tenant = await world.tenant({ catalogue: 'push', channels: ['email'] })
  await tenant.account({
    channel: 'push',
    provider: 'fcm',
    name: 'fcm',
    settings: { projectId: 'example', endpoint: fcm.url },
    secrets: { serviceAccount: fcm.serviceAccount },
  })
  const push = (changes: object = {}) =>
    send(tenant, { channel: 'push', to: DEVICE, subject: 'Bus 12', body: 'leaves at 9', ...changes })
  /** Calls about messages, not those for access tokens. */
  const calls = (): number => fcm.requests.filter(({ path }) => path.endsWith('/messages:send')).length
  return { fcm, tenant, push, calls }
}

const DEVICE = { deviceToken: 'device-1', platform: 'fcm', email: 'ada@example.com' }

/** Sends one, waits until nothing is left to do, and answers its id. */
async function send(tenant: TestTenant, body: object): Promise<string> {
  const id = await tenant.submit(body)
  await tenant.settle()
  return id
}

async function act(tenant: TestTenant, method: string, url: string, status: number, body?: unknown): Promise<void> {
  const answer = await tenant.call(method, url, body)
  assert.equal(answer.status, status, JSON.stringify(answer.body))
  await tenant.settle()
}

async function suppressed(tenant: TestTenant, query = ''): Promise<Suppressed[]> {
  return (await tenant.call('GET', `/api/suppressions?${query}`)).body['items'] as Suppressed[]
}

onEachStore('a dead address', startWorld, (world) => {
  it('is called once; what follows goes straight to the next channel', async (t) => {
    const { fcm, tenant, push, calls } = await setup(t, world())
    fcm.answerWith(fcmError('UNREGISTERED', 404, true, 'The registration token is not registered'))

    const first = await push({ fallback: ['email'] })
    const second = await push({ fallback: ['email'] })

    assert.equal(calls(), 1)
    for (const id of [first, second]) {
      const { status, reason, fallbackTo } = await tenant.notification(id)
      assert.deepEqual([status, reason], ['failed', 'fallback_triggered:email'])
      assert.equal((await tenant.notification(fallbackTo ?? '')).status, 'sent')
    }
    assert.deepEqual((await tenant.notification(second)).attempts, [])
    assert.equal((await tenant.inbox()).length, 2)
    const [{ id: _id, ...known } = assert.fail()] = await suppressed(tenant)
    assert.deepEqual(
      [known.channel, known.address, known.cause, known.notificationId],
      ['push', 'device-1', 'dead_address', first],
    )
    assert.match(known.error ?? '', /The registration token is not registered/)
  })

  it('stays suppressed when it is retried, says what to do, and is sent to once that is done', async (t) => {
    const { fcm, tenant, push, calls } = await setup(t, world())
    fcm.answerWith(fcmError('UNREGISTERED', 404))
    await push()
    const id = await push()
    const [suppression = assert.fail()] = await suppressed(tenant, 'channel=push&address=device-1')

    const before = await tenant.notification(id)
    await act(tenant, 'POST', `/api/notifications/${id}/retry`, 409)
    const after = await tenant.notification(id)

    for (const { status, reason, lastError } of [before, after]) {
      assert.deepEqual([status, reason], ['parked', 'suppressed'])
      assert.ok(lastError?.endsWith(`with DELETE /api/suppressions/${suppression.id}, then retry`), String(lastError))
    }
    assert.equal(calls(), 1)
    await act(tenant, 'DELETE', `/api/suppressions/${suppression.id}`, 204)
    await act(tenant, 'POST', `/api/notifications/${id}/retry`, 200)
    assert.equal((await tenant.notification(id)).status, 'sent')
    assert.deepEqual(
      fcm.messages.map(({ token }) => token),
      ['device-1'],
    )
  })

  it('concerns nobody else: other devices, channels and tenants', async (t) => {
    const { fcm, tenant, push } = await setup(t, world())
    const other = await setup(t, world())
    fcm.answerWith(fcmError('UNREGISTERED', 404))
    await push()

    const device = await push({ to: { ...DEVICE, deviceToken: 'device-2' } })
    const mail = await push({ channel: 'email' })
    const elsewhere = await other.push()

    for (const [whose, id] of [
      [tenant, device],
      [tenant, mail],
      [other.tenant, elsewhere],
    ] as const)
      assert.equal((await whose.notification(id)).status, 'sent')
  })
})

onEachStore('an address that an admin suppressed', startWorld, (world) => {
  it('is left out of the mail to a list, until it is lifted', async (t) => {
    const { tenant } = await setup(t, world())
    const members = ['Ada@example.com', 'bob@example.com'].map((email) => ({ email }))
    await act(tenant, 'POST', '/api/recipient-lists', 201, { name: 'team', members })
    await act(tenant, 'POST', '/api/suppressions', 201, { channel: 'email', address: 'ada@example.com' })
    const mail = { channel: 'email', to: { list: 'team' }, subject: 'News', body: 'Hello' }

    const first = await send(tenant, mail)
    const [{ id } = assert.fail()] = await suppressed(tenant)
    await act(tenant, 'DELETE', `/api/suppressions/${id}`, 204)
    const second = await send(tenant, mail)

    assert.deepEqual((await tenant.notification(first)).resolvedTargets, ['bob@example.com'])
    assert.deepEqual((await tenant.notification(second)).resolvedTargets, ['Ada@example.com', 'bob@example.com'])
    assert.deepEqual(
      (await tenant.inbox()).map(({ to }) => to.bcc),
      [['bob@example.com'], ['Ada@example.com', 'bob@example.com']],
    )
  })

  it('stops the mail to a list on which nobody else is', async (t) => {
    const { tenant } = await setup(t, world())
    await act(tenant, 'POST', '/api/recipient-lists', 201, { name: 'solo', members: [{ email: 'ada@example.com' }] })
    await act(tenant, 'POST', '/api/suppressions', 201, { channel: 'email', address: 'ada@example.com' })

    const id = await send(tenant, { channel: 'email', to: { list: 'solo' }, subject: 'News', body: 'Hello' })

    const { status, reason } = await tenant.notification(id)
    assert.deepEqual([status, reason], ['parked', 'suppressed'])
    assert.deepEqual(await tenant.inbox(), [])
  })
})
