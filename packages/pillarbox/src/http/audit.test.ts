import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Provider } from '../channels/channel.ts'
import { createRegistry } from '../channels/registry.ts'
import { CHANNELS } from '../model/channel.ts'
import { type AnswerJson, type FixtureOptions, openFixture } from './fixture.ts'

async function setup(t: TestContext, options: FixtureOptions = {}) {
  const f = await openFixture(options)
  t.after(() => f.app.close())
  const tenant = await f.tenant('acme')
  const list = async (key: string, query = '', path = '/api/audit'): Promise<AnswerJson[]> => {
    const answer = await f.call(key, 'GET', `${path}${query}`)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json().items
  }
  return { f, tenant, list }
}

describe('/api/audit', () => {
  it('tells who changed what, with before and after', async (t) => {
    const { f, tenant, list } = await setup(t)
    const { admin } = tenant.keys
    const made = await f.call(admin, 'POST', '/api/channel-accounts', {
      channel: 'email',
      provider: 'sandbox',
      name: 'main',
    })
    await f.call(admin, 'PATCH', `/api/channel-accounts/${made.json().id}`, { priority: 3 })
    await f.call(admin, 'POST', `/api/channel-accounts/${made.json().id}/suspend`)

    const entries = (await list(admin, '?actor=key:admin')) as unknown as Record<string, unknown>[]

    assert.deepEqual(
      entries.map(({ action, subject, from, to }) => [action, subject, from, to]),
      [
        ['suspend', `account:${made.json().id}`, 'active', 'suspended'],
        ['update', `account:${made.json().id}`, null, null],
        ['create', `account:${made.json().id}`, null, null],
      ],
    )
    assert.deepEqual([entries[1]?.['before'], entries[1]?.['after']], [{ priority: 0 }, { priority: 3 }])
  })

  it('shows a viewer neither notes nor people, and what each entry is about', async (t) => {
    const { f, tenant, list } = await setup(t)
    const { admin, operator, viewer, publisher } = tenant.keys
    await f.call(admin, 'POST', '/api/channel-accounts', { channel: 'email', provider: 'sandbox', name: 'main' })
    const contact = await f.call(admin, 'POST', '/api/contacts', { name: 'Ada Lovelace', email: 'ada@example.test' })
    const body = { channel: 'email', to: { email: 'ada@example.test' }, body: 'x' }
    const { id } = (await f.call(publisher, 'POST', '/api/notifications', body)).json()
    await f.call(operator, 'POST', `/api/notifications/${id}/park`, { note: 'Ada Lovelace asked for it' })

    const [parked, created] = await list(viewer)
    const [seen] = await list(operator)

    assert.deepEqual([parked?.action, parked?.note, parked?.notificationId], ['park', '***', id])
    assert.deepEqual([created?.action, created?.subject], ['create', `contact:${contact.json().id}`])
    assert.equal(seen?.note, 'Ada Lovelace asked for it')
    const shown = JSON.stringify(await list(viewer))
    assert.ok(!shown.includes('Lovelace') && !shown.includes('ada@'))
  })

  it('is over all tenants for ops, or of the one that is named', async (t) => {
    const { f, tenant, list } = await setup(t)
    const other = await f.tenant('other')
    for (const { keys } of [tenant, other]) await f.call(keys.admin, 'PATCH', '/api/tenant', { name: 'Renamed' })

    const all = await list(f.opsKey, '?action=update', '/ops/audit')
    const one = await list(f.opsKey, '?action=update&tenantId=other', '/ops/audit')
    const own = await list(tenant.keys.viewer, '?action=update')

    assert.deepEqual(
      [all, one, own].map((entries) => entries.map(({ tenantId }) => tenantId)),
      [['other', 'acme'], ['other'], ['acme']],
    )
  })

  it('refuses what it does not know, with what is wrong', async (t) => {
    const { f, tenant } = await setup(t)

    for (const query of ['?actr=x', '?from=yesterday', '?limit=201', '?cursor=x', '?tenantId=acme']) {
      const answer = await f.call(tenant.keys.viewer, 'GET', `/api/audit${query}`)
      assert.equal(answer.statusCode, 422, query)
      assert.equal(answer.json().code, 'invalid_query')
    }
  })

  it('has who connected an account with its vendor, and whether the vendor took it', async (t) => {
    const provider: Provider = {
      name: 'meta',
      channels: CHANNELS,
      checkSettings: () => [],
      capability: () => 'none',
      send: async () => ({ kind: 'permanent', code: 'x', error: 'x', reason: 'permanent_refusal' }),
      connect: async () => ({ isGood: false, error: 'not yours' }),
    }
    const { f, tenant, list } = await setup(t, { deps: { registry: createRegistry([provider]) } })
    const body = { channel: 'whatsapp', provider: 'meta', name: 'main', secrets: { appSecret: 'CANARY' } }
    const { id } = (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', body)).json()

    await f.call(tenant.keys.admin, 'POST', `/api/channel-accounts/${id}/connect`)

    const [connected] = await list(tenant.keys.admin, '?action=connect')
    assert.deepEqual(
      [connected?.actor, connected?.subject, connected?.reason],
      ['key:admin', `account:${id}`, 'refused_by_vendor'],
    )
    assert.ok(!JSON.stringify(await list(f.opsKey, '', '/ops/audit')).includes('CANARY'))
  })
})
