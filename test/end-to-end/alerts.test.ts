import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startWebhookReceiver } from '@pillarbox/vendors'
import type { Parts } from '../../packages/pillarbox/src/pillarbox.ts'
import type { EngineName } from '../support/engines.ts'
import { ENGINE_NAMES } from '../support/engines.ts'
import { operatorCommand } from '../support/operator-command.ts'
import { type TestTenant, tenantOf } from '../support/tenant.ts'
import { until } from '../support/until.ts'
import { BOTH, openWorld, type World } from '../support/world.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

interface Alert {
  id: string
  rule: string
  status: string
  subjectId: string
}

/** A server that tells of open breakers, and of missing workers where it has none, within moments: by email from the ops tenant, and to a webhook. */
async function setup(t: TestContext, engine: EngineName, parts: Parts = BOTH) {
  const receiver = await startWebhookReceiver()
  t.after(receiver.close)
  const world = await openWorld(engine, {
    settings: {
      PILLARBOX_ALERT_TO: 'ops@example.test',
      PILLARBOX_ALERT_WEBHOOK: `${receiver.url}/alerts`,
      PILLARBOX_ALERT_WEBHOOK_SECRET: SECRET,
      PILLARBOX_ALERT_RULES: 'breaker_open,no_worker',
      PILLARBOX_ALERT_EVERY: 'PT0.1S',
      PILLARBOX_ALERT_BREAKER_FOR: 'PT0.2S',
      // Longer than a start takes where a worker is started, too.
      PILLARBOX_ALERT_NO_WORKER: parts.worker ? 'PT1H' : 'PT0.2S',
      PILLARBOX_ALERT_CLEAR_AFTER: 'PT0.2S',
    },
  })
  t.after(() => world[Symbol.asyncDispose]())
  await world.start(parts)
  const alerts = async (): Promise<Alert[]> =>
    ((await world.ops('GET', '/ops/alerts')).body['items'] as Alert[]).toReversed()
  return {
    world,
    receiver,
    alerts,
    ops: await opsTenant(world),
    /** What arrived at the webhook. */
    posted: () =>
      receiver.received.map(({ body, headers }) => {
        const { type, data } = JSON.parse(body) as { type: string; data: { rule: string } }
        return `${type} ${data.rule} ${headers['webhook-id']}`
      }),
  }
}

/** The tenant that alerts are sent from, as an operator furnishes it. */
async function opsTenant(world: World): Promise<TestTenant> {
  const made = await world.ops('POST', '/ops/tenants/ops/keys', { name: 'admin', role: 'admin' })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const tenant = tenantOf({ id: 'ops', adminKey: String(made.body['key']) }, () => world.url)
  await tenant.account({ channel: 'email', provider: 'sandbox', name: 'mail' })
  return tenant
}

/** A tenant with an account whose vendor is away until `mend`. */
async function failing(tenant: TestTenant) {
  const { id } = await tenant.account({
    channel: 'sms',
    provider: 'sandbox',
    name: 'gateway',
    settings: { faults: [{ kind: 'refuse' }] },
    retry: { maxAttempts: 100, fixed: 'PT1S' },
    breaker: { failures: 1, resetAfter: 'PT2S' },
  })
  return {
    id,
    notificationId: await tenant.submit({ channel: 'sms', to: { phone: '+4915112345678' }, body: 'Hello' }),
    mend: () => tenant.call('PATCH', `/api/channel-accounts/${id}`, { settings: { faults: [] } }),
  }
}

for (const engine of ENGINE_NAMES) {
  it(`a breaker that opens is told once, and once when it is closed, by two workers and over a restart, on ${engine}`, async (t) => {
    const { world, receiver, ops, alerts, posted } = await setup(t, engine)
    await world.start({ api: false, worker: true })
    const tenant = await world.tenant()
    const gateway = await failing(tenant)

    await until('the alert arrives at the webhook', () => receiver.received.length > 0)
    const [mail] = await until('the alert arrives by mail', async () => {
      const inbox = await ops.inbox()
      return inbox.length > 0 && inbox
    })
    assert.deepEqual(mail?.to, { email: 'ops@example.test' })
    assert.match(
      mail?.subject ?? '',
      /^ALERT \(breaker_open\): Account “gateway” \(sms, sandbox\) of tenant tenant-1 fails/,
    )
    assert.match(mail?.body ?? '', /GET \/api\/channel-accounts says what went wrong/)
    const [open] = await alerts()
    assert.deepEqual([open?.rule, open?.status, open?.subjectId], ['breaker_open', 'open', gateway.id])

    await world.stop()
    await world.start(BOTH)
    await gateway.mend()
    await tenant.comesTo(gateway.notificationId, 'sent')
    await until('the alert is cleared', async () => (await alerts())[0]?.status === 'cleared')
    await until('that arrives at the webhook', () => receiver.received.length > 1)
    await until('that arrives by mail', async () => (await ops.inbox()).length > 1)

    const key = `alert-${open?.id}`
    assert.deepEqual(posted(), [`alert.raised breaker_open ${key}-raised`, `alert.cleared breaker_open ${key}-cleared`])
    const mails = await ops.inbox()
    assert.deepEqual(
      mails.map(({ subject }) => subject?.split(' ')[0]),
      ['ALERT', 'Cleared'],
    )
    assert.equal((await alerts()).length, 1)
    assert.deepEqual(
      (await ops.notifications()).map(({ status, attemptCount }) => `${status} ${attemptCount}`),
      ['sent 1', 'sent 1'],
    )
  })

  it(`an alert about the account that alerts are sent through goes to the webhook alone, on ${engine}`, async (t) => {
    const { world, receiver, ops, alerts, posted } = await setup(t, engine)
    const gateway = await failing(ops)

    await until('the alert arrives at the webhook', () => receiver.received.length > 0)
    const [open] = (await operatorCommand(world, ['alerts', 'list', '--rule', 'breaker_open'])).rows
    const seen = await operatorCommand(world, ['alerts', 'acknowledge', String(open?.['id']), '--note', 'on it'])
    assert.deepEqual([seen.code, seen.rows[0]?.['note']], [0, 'on it'], seen.stderr)
    await gateway.mend()
    await until('the alert is cleared', async () => (await alerts())[0]?.status === 'cleared')
    await until('that arrives at the webhook', () => receiver.received.length > 1)

    assert.deepEqual(
      posted().map((each) => each.split(' ')[0]),
      ['alert.raised', 'alert.cleared'],
    )
    assert.equal((await ops.notifications('channel=email')).length, 0)
  })

  it(`an API that finds no worker says so at once by the webhook, and by mail when there is one, on ${engine}`, async (t) => {
    const { world, receiver, ops, posted } = await setup(t, engine, { api: true, worker: false })

    await until('the alert arrives at the webhook', () => receiver.received.length > 0)
    assert.equal(world.sandboxMessages().length, 0)
    await world.start({ api: false, worker: true })
    await until('that it is over arrives at the webhook', () => receiver.received.length > 1)
    await until('both arrive by mail', async () => (await ops.inbox()).length > 1)

    assert.deepEqual(
      posted().map((each) => each.split(' ').slice(0, 2).join(' ')),
      ['alert.raised no_worker', 'alert.cleared no_worker'],
    )
    assert.deepEqual(
      (await ops.inbox()).map(({ subject }) => subject?.split(':')[0]),
      ['ALERT (no_worker)', 'Cleared (no_worker)'],
    )
  })
}
