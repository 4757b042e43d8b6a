import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { metaError, startInteraktServer, startMetaServer } from '@pillarbox/vendors'
import type { Notification, TestTenant } from '../support/tenant.ts'
import { onEachStore, startWorld, type World } from '../support/world.ts'

const GUEST = '+919876543210'

/** A tenant that writes by WhatsApp: through Meta, and where that fails, through Interakt. */
async function setup(t: TestContext, world: World, meta: object = {}) {
  const servers = { meta: await startMetaServer(), interakt: await startInteraktServer() }
  t.after(servers.meta.close)
  t.after(servers.interakt.close)
  const tenant = await world.tenant({ catalogue: 'busflow' })
  const account = async (provider: string, body: object): Promise<string> => {
    const { id } = await tenant.account({
      channel: 'whatsapp',
      provider,
      name: provider,
      // One attempt each: what is sent after a failure shows that no attempt was burned.
      retry: { maxAttempts: 1, fixed: 'PT1S' },
      ...body,
    })
    return id
  }
  const first = await account('meta', {
    settings: { phoneNumberId: '1234567890', endpoint: servers.meta.url },
    secrets: { accessToken: 'EAAexample' },
    ...meta,
  })
  const second = await account('interakt', {
    settings: { endpoint: servers.interakt.url },
    secrets: { apiKey: 'a2V5Og==' },
    priority: 1,
  })
  return { ...servers, tenant, first, second }
}

function submit(tenant: TestTenant): Promise<string> {
  return tenant.submit({ channel: 'whatsapp', to: { phone: GUEST }, body: 'Bus 12 leaves at 9' })
}

async function accountOf(tenant: TestTenant, id: string): Promise<{ status: string; statusReason: string | null }> {
  const { body } = await tenant.call('GET', `/api/channel-accounts/${id}`)
  return { status: String(body['status']), statusReason: body['statusReason'] as string | null }
}

const callsOf = ({ attempts }: Notification): string[] =>
  attempts.map(({ provider, outcome }) => `${provider}: ${outcome}`)

onEachStore(
  'a second account of the channel',
  (engine) => startWorld(engine, { settings: { PILLARBOX_PROVIDER_TIMEOUT: 'PT0.5S' } }),
  (world) => {
    it('sends when the first one’s credentials are refused, which pauses the first and says why', async (t) => {
      const { meta, interakt, tenant, first, second } = await setup(t, world())
      meta.alwaysAnswer(metaError(190, 'The access token has expired'))

      const id = await submit(tenant)

      const sent = await tenant.comesTo(id, 'sent')
      assert.deepEqual([sent.provider, sent.accountId, sent.possibleDuplicate], ['interakt', second, false])
      assert.deepEqual(callsOf(sent), ['meta: unauthorized', 'interakt: accepted'])
      assert.ok(
        sent.audit.some((row) => row.action === 'move' && row.reason === `account:${first} → account:${second}`),
      )
      assert.deepEqual([meta.messages.length, interakt.messages.length], [0, 1])
      assert.equal(interakt.messages[0]?.to, GUEST.slice(1))
      const { status, statusReason } = await accountOf(tenant, first)
      assert.equal(status, 'paused')
      assert.match(statusReason ?? '', /The access token has expired/)
    })

    it('is no longer needed once the first one’s credentials are mended', async (t) => {
      const { meta, interakt, tenant, first } = await setup(t, world())
      meta.answerWith(metaError(190, 'The access token has expired'))
      await tenant.comesTo(await submit(tenant), 'sent')

      await tenant.call('PATCH', `/api/channel-accounts/${first}`, { secrets: { accessToken: 'EAAnew' } })
      const sent = await tenant.comesTo(await submit(tenant), 'sent')

      assert.equal((await accountOf(tenant, first)).status, 'active')
      assert.equal(sent.provider, 'meta')
      assert.deepEqual([meta.messages.length, interakt.messages.length], [1, 1])
    })

    it('never gets what the first one may have sent: it took the message and did not answer', async (t) => {
      const { meta, interakt, tenant, first } = await setup(t, world(), { retry: { maxAttempts: 3, fixed: 'PT1H' } })
      meta.answerWith('silence_after_accept')

      const held = await tenant.comesTo(await submit(tenant), 'retrying')

      assert.deepEqual([held.provider, held.accountId, held.possibleDuplicate], ['meta', first, true])
      assert.deepEqual(callsOf(held), ['meta: unknown'])
      assert.deepEqual([meta.messages.length, interakt.messages.length], [1, 0])
      assert.ok(held.audit.every(({ action }) => action !== 'move'))
    })

    it('nor gets it when the first is suspended afterwards: a person decides', async (t) => {
      const { meta, interakt, tenant, first } = await setup(t, world(), { retry: { maxAttempts: 3, fixed: 'PT1H' } })
      meta.answerWith('silence_after_accept', { status: 429, headers: { 'retry-after': '600' }, body: '' })
      const doubtful = await submit(tenant)
      await tenant.comesTo(doubtful, 'retrying')
      await tenant.comesTo(await submit(tenant), 'retrying')
      const waiting = await submit(tenant)

      await tenant.call('POST', `/api/channel-accounts/${first}/suspend`)
      await tenant.comesTo(waiting, 'sent')
      await world().timePasses(3_600_000)

      const parked = await tenant.comesTo(doubtful, 'parked')
      assert.deepEqual([parked.accountId, parked.possibleDuplicate], [first, true])
      assert.ok(interakt.messages.every(({ callbackData }) => callbackData !== doubtful))
    })

    it('sends what the first one has failed to send as often as it may', async (t) => {
      const { meta, tenant } = await setup(t, world())
      meta.alwaysAnswer(metaError(131016, 'Service unavailable'))

      const sent = await tenant.comesTo(await submit(tenant), 'sent')

      assert.deepEqual(callsOf(sent), ['meta: transient', 'interakt: accepted'])
    })

    it('sends what the first one would only send tomorrow', async (t) => {
      const { meta, tenant } = await setup(t, world(), { retry: { maxAttempts: 3, fixed: 'PT1S' } })
      meta.alwaysAnswer(metaError(131049, 'To maintain a healthy ecosystem engagement'))

      const sent = await tenant.comesTo(await submit(tenant), 'sent')

      assert.deepEqual(callsOf(sent), ['meta: transient', 'interakt: accepted'])
    })

    it('takes over what waits for the first one when that is suspended', async (t) => {
      const { meta, tenant, first } = await setup(t, world())
      meta.answerWith({ status: 429, headers: { 'retry-after': '600' }, body: '' })
      const throttled = await submit(tenant)
      await tenant.comesTo(throttled, 'retrying')
      const waiting = await submit(tenant)

      await tenant.call('POST', `/api/channel-accounts/${first}/suspend`)
      const moved = await tenant.comesTo(waiting, 'sent')
      await world().timePasses(600_000)
      const later = await tenant.comesTo(throttled, 'sent')

      assert.deepEqual(callsOf(moved), ['interakt: accepted'])
      assert.deepEqual(callsOf(later), ['meta: throttled', 'interakt: accepted'])
    })

    it('has nothing to do with a message that the first one refuses for good', async (t) => {
      const { meta, interakt, tenant } = await setup(t, world())
      meta.alwaysAnswer(metaError(131026, 'Message undeliverable'))

      const parked = await tenant.comesTo(await submit(tenant), 'parked')

      assert.deepEqual(callsOf(parked), ['meta: permanent'])
      assert.equal(interakt.messages.length, 0)
    })
  },
)
