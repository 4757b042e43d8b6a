import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sampleSandboxMessage } from '../../../../test/support/samples.ts'
import { type Scope, shared } from '../../../../test/support/shared.ts'
import { CHANNELS } from '../model/channel.ts'
import { PillarboxError } from '../model/errors.ts'
import { openAccountSecrets } from '../security/account-secrets.ts'
import type { Store } from '../store/store.ts'
import { CATALOGUE, openFixture } from './fixture.ts'

async function setup(t: Scope, options: Parameters<typeof openFixture>[0] = {}) {
  const f = await openFixture(options)
  t.after(() => f.app.close())
  return f
}

async function setupTenant(t: Scope) {
  const f = await setup(t)
  const { keys } = await f.tenant('acme')
  return { f, keys }
}

describe('tenants', () => {
  const refusing = shared(setup)

  it('are provisioned with a first admin key that works', async (t) => {
    const f = await setup(t)

    const answer = await f.call(f.opsKey, 'POST', '/ops/tenants', {
      id: 'acme-1',
      name: 'Acme',
      defaultLocale: 'de-DE',
      timeZone: 'Europe/Berlin',
    })

    assert.equal(answer.statusCode, 201)
    const { keys, ...tenant } = answer.json()
    assert.deepEqual(tenant, {
      id: 'acme-1',
      name: 'Acme',
      defaultLocale: 'de-DE',
      timeZone: 'Europe/Berlin',
      createdAt: new Date(f.now()).toISOString(),
    })
    assert.match(keys.admin, /^pbx_/)
    assert.deepEqual((await f.call(keys.admin, 'GET', '/api/tenant')).json(), tenant)
    assert.deepEqual((await f.call(f.opsKey, 'GET', '/ops/tenants/acme-1')).json(), tenant)
    assert.deepEqual((await f.call(f.opsKey, 'GET', '/ops/tenants')).json(), { items: [tenant], nextCursor: null })
    const again = await f.call(f.opsKey, 'POST', '/ops/tenants', { id: 'acme-1', name: 'Other' })
    assert.deepEqual([again.statusCode, again.json().code], [409, 'already_exists'])
  })

  it('may not have the name of the tenant that alerts are sent from', async (t) => {
    const f = await setup(t)

    const answer = await f.call(f.opsKey, 'POST', '/ops/tenants', { id: 'ops', name: 'Mine' })

    assert.deepEqual(
      [answer.statusCode, answer.json().code, answer.json().errors[0]?.path],
      [422, 'invalid_body', '/id'],
    )
    assert.match(answer.json().detail, /is reserved: alerts are sent from the tenant ops/)
    assert.equal(await f.store.tenants.find('ops'), null)
  })

  it('take a catalogue with them, by name or whole, or are not made at all', async (t) => {
    const f = await setup(t)
    const make = (id: string, catalogue: unknown) =>
      f.call(f.opsKey, 'POST', '/ops/tenants', { id, name: id, catalogue })

    for (const [id, catalogue, type] of [
      ['named', 'atlas', 'booking.cancelled'],
      ['whole', CATALOGUE, 'booking.confirmed'],
    ] as const) {
      const { keys } = (await make(id, catalogue)).json()
      const types = (await f.call(keys.admin, 'GET', '/api/event-types')).json()
      assert.equal(types.items[0]?.name, type)
      assert.ok(Number(types.items[0]?.templateCount) > 0)
      const [version] = (await f.call(keys.admin, 'GET', '/api/event-types/versions')).json().items
      assert.equal(version?.importedBy, 'key:ops')
    }
    for (const wrong of ['missing', '../atlas', { eventTypes: {} }]) {
      const answer = await make('broken', wrong)
      assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_catalogue'])
      assert.ok(answer.json().errors[0]?.path.startsWith('/catalogue'))
    }
    assert.match(
      (await make('broken', 'atals')).json().detail,
      /ready-made one: atlas, busflow, eventhub, ops, push, scada/,
    )
    assert.equal((await f.call(f.opsKey, 'GET', '/ops/tenants/broken')).statusCode, 404)
  })

  it('have the catalogue’s locale unless they name one', async (t) => {
    const f = await setup(t)
    const make = async (id: string, rest: object) =>
      (await f.call(f.opsKey, 'POST', '/ops/tenants', { id, name: id, ...rest })).json().defaultLocale

    assert.equal(await make('a', { catalogue: 'busflow' }), 'de-DE')
    assert.equal(await make('b', { catalogue: 'busflow', defaultLocale: 'de-AT' }), 'de-AT')
    assert.equal(await make('c', {}), 'en')
  })

  it('change what is named and keep the rest', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')

    await f.call(f.opsKey, 'PATCH', '/ops/tenants/acme', { dateFormat: 'dd-MMM-yyyy', missingPlaceholder: 'keep' })
    const answer = await f.call(tenant.keys.admin, 'PATCH', '/api/tenant', {
      timeZone: 'Asia/Kolkata',
      retention: 'P365D',
    })

    const { id: _, createdAt: __, ...rest } = answer.json()
    assert.deepEqual(rest, {
      name: 'acme',
      defaultLocale: 'en',
      timeZone: 'Asia/Kolkata',
      dateFormat: 'dd-MMM-yyyy',
      missingPlaceholder: 'keep',
      retention: 'P365D',
    })
  })

  for (const [path, body] of [
    ['/id', { id: 'Acme', name: 'x' }],
    ['/id', { id: 'a_b', name: 'x' }],
    ['/id', { id: '', name: 'x' }],
    ['/id', { id: 'a'.repeat(64), name: 'x' }],
    ['/id', { name: 'x' }],
    ['/name', { id: 'a' }],
    ['/timeZone', { id: 'a', name: 'x', timeZone: 'Mars/Olympus' }],
    ['/defaultLocale', { id: 'a', name: 'x', defaultLocale: 'German' }],
    ['/retention', { id: 'a', name: 'x', retention: '1 year' }],
    ['/missingPlaceholder', { id: 'a', name: 'x', missingPlaceholder: 'explode' }],
    ['/createdAt', { id: 'a', name: 'x', createdAt: 'now' }],
  ] as const)
    it(`are refused with a wrong ${path}: ${JSON.stringify(body).slice(0, 40)}`, async () => {
      const f = await refusing()
      const answer = await f.call(f.opsKey, 'POST', '/ops/tenants', body)

      assert.equal(answer.statusCode, 422)
      assert.equal(answer.json().errors[0]?.path, path)
    })
})

describe('a tenant’s settings', () => {
  const ALL = {
    defaultLocale: 'en-IN',
    timeZone: 'Asia/Kolkata',
    region: 'IN',
    dateFormat: 'dd-MMM-yyyy',
    currency: 'INR',
    missingPlaceholder: 'keep',
    retention: 'P365D',
    hasuraSecretHeader: 'x-hasura-secret',
  }
  const refusing = shared(setupTenant)

  it('are set by ops and by its admin, and removed with null', async (t) => {
    const f = await setup(t)
    const { keys } = await f.tenant('acme')

    const set = await f.call(f.opsKey, 'PATCH', '/ops/tenants/acme', ALL)
    assert.equal(set.statusCode, 200, set.body)
    const { id: _, name: __, createdAt: ___, ...settings } = set.json()
    assert.deepEqual(settings, ALL)

    const { region, currency, dateFormat } = (
      await f.call(keys.admin, 'PATCH', '/api/tenant', { region: null, currency: 'EUR' })
    ).json()
    assert.deepEqual([region, currency, dateFormat], [undefined, 'EUR', 'dd-MMM-yyyy'])
    assert.equal((await f.call(keys.viewer, 'GET', '/api/tenant')).json().currency, 'EUR')
  })

  it('are given when it is made', async (t) => {
    const f = await setup(t)

    const { keys: _, ...made } = (
      await f.call(f.opsKey, 'POST', '/ops/tenants', { id: 'acme', name: 'A', ...ALL })
    ).json()

    assert.deepEqual(made, { id: 'acme', name: 'A', ...ALL, createdAt: made.createdAt })
  })

  for (const [path, body] of [
    ['/timeZone', { timeZone: 'Mars/Olympus' }],
    ['/timeZone', { timeZone: '+05:30' }],
    ['/region', { region: 'XX' }],
    ['/region', { region: 'India' }],
    ['/dateFormat', { dateFormat: '' }],
    ['/dateFormat', { dateFormat: 'whenever' }],
    ['/currency', { currency: 'rupees' }],
    ['/currency', { currency: 'QQQ' }],
    ['/defaultLocale', { defaultLocale: 'en-' }],
    ['/retention', { retention: '1 year' }],
    ['/missingPlaceholder', { missingPlaceholder: 'explode' }],
    ['/hasuraSecretHeader', { hasuraSecretHeader: 'x secret' }],
    ['/catalogue', { catalogue: 'atlas' }],
    ['/colour', { colour: 'red' }],
  ] as const)
    it(`are refused with ${JSON.stringify(body)}`, async () => {
      const { f, keys } = await refusing()

      for (const answer of [
        await f.call(keys.admin, 'PATCH', '/api/tenant', body),
        await f.call(f.opsKey, 'PATCH', '/ops/tenants/acme', body),
      ]) {
        assert.equal(answer.statusCode, 422, answer.body)
        assert.equal(answer.json().errors[0]?.path, path)
      }
    })
})

describe('all that is wrong with a tenant’s settings', () => {
  const WRONG = {
    timeZone: 'Mars/Olympus',
    defaultLocale: 'en-',
    region: 'XX',
    currency: 'QQQ',
    retention: '1 year',
    dateFormat: 'whenever',
    missingPlaceholder: 'explode',
    hasuraSecretHeader: 'x secret',
    name: '',
    colour: 'red',
  }

  it('is said at once, whether it is the form or what it says, and once each', async (t) => {
    const f = await setup(t)
    const { keys } = await f.tenant('acme')

    for (const answer of [
      await f.call(keys.admin, 'PATCH', '/api/tenant', WRONG),
      await f.call(f.opsKey, 'PATCH', '/ops/tenants/acme', WRONG),
      await f.call(f.opsKey, 'POST', '/ops/tenants', { id: 'other', ...WRONG }),
    ]) {
      assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_body'])
      const paths = answer.json().errors.map(({ path }) => path)
      assert.deepEqual(
        paths.toSorted(),
        Object.keys(WRONG)
          .map((name) => `/${name}`)
          .toSorted(),
      )
    }
    assert.equal((await f.call(keys.viewer, 'GET', '/api/tenant')).json().currency, undefined)
  })

  it('is said of a body that is no object as well', async (t) => {
    const f = await setup(t)
    const { keys } = await f.tenant('acme')

    for (const body of [[], 'text', null, {}]) {
      const answer = await f.call(keys.admin, 'PATCH', '/api/tenant', body)
      assert.ok(answer.statusCode === 422 || answer.statusCode === 400, answer.body)
    }
  })
})

describe('ops keys', () => {
  it('are issued once in clear, listed without it, and open every tenant until they are revoked', async (t) => {
    const f = await setup(t)

    const issued = await f.call(f.opsKey, 'POST', '/ops/keys', { name: 'night shift', ratePerSecond: 50 })

    assert.equal(issued.statusCode, 201, issued.body)
    const { key, id, role, tenantId } = issued.json()
    assert.deepEqual([role, tenantId], ['ops', null])
    assert.equal((await f.call(key, 'GET', '/ops/tenants')).statusCode, 200)
    const listed = await f.call(f.opsKey, 'GET', '/ops/keys')
    assert.deepEqual(
      listed.json().items.map(({ name, revokedAt }) => [name, revokedAt]),
      [
        ['night shift', null],
        ['ops', null],
      ],
    )
    assert.ok(!listed.body.includes(key))
    assert.equal((await f.call(f.opsKey, 'DELETE', `/ops/keys/${id}`)).statusCode, 204)
    assert.equal((await f.call(key, 'GET', '/ops/tenants')).statusCode, 401)
    assert.equal((await f.call(f.opsKey, 'DELETE', `/ops/keys/${id}`)).statusCode, 404)
  })

  it('are never all revoked, nor left with one that has expired', async (t) => {
    const f = await setup(t)
    const [own] = (await f.call(f.opsKey, 'GET', '/ops/keys')).json().items
    const remove = () => f.call(f.opsKey, 'DELETE', `/ops/keys/${own?.id}`)

    assert.deepEqual([(await remove()).statusCode, (await remove()).json().code], [409, 'last_key'])
    const expiresAt = new Date(f.now() + 60_000).toISOString()
    await f.call(f.opsKey, 'POST', '/ops/keys', { name: 'short', expiresAt })
    f.advance(120_000)
    assert.equal((await remove()).json().code, 'last_key')
    await f.call(f.opsKey, 'POST', '/ops/keys', { name: 'lasting' })
    assert.equal((await remove()).statusCode, 204)
  })

  it('are not found among a tenant’s, and take no role or site', async (t) => {
    const f = await setup(t)
    const { keys } = await f.tenant('acme')
    const theirs = (await f.call(keys.admin, 'POST', '/api/keys', { name: 'x', role: 'viewer' })).json()

    assert.equal((await f.call(f.opsKey, 'DELETE', `/ops/keys/${theirs.id}`)).statusCode, 404)
    for (const [path, body] of [
      ['/role', { name: 'x', role: 'ops' }],
      ['/site', { name: 'x', site: 'plant' }],
      ['/name', {}],
      ['/expiresAt', { name: 'x', expiresAt: '2020-01-01T00:00:00Z' }],
    ] as const)
      assert.equal((await f.call(f.opsKey, 'POST', '/ops/keys', body)).json().errors[0]?.path, path)
  })
})

const ACCOUNT = {
  channel: 'email',
  provider: 'sandbox',
  name: 'mail',
  settings: { fromAddress: 'no-reply@example.com' },
  secrets: { password: 'hunter2-hunter2', serviceAccount: { private_key: 'canary-key' } },
  pace: { perSecond: 5, burst: 10 },
  retry: { maxAttempts: 3, fixed: 'PT1M' },
  onUnknown: 'hold',
  breaker: { failures: 2, resetAfter: 'PT10S' },
  parkedRetryAfter: 'PT1H',
  priority: 4,
}

describe('channel accounts', () => {
  const refusing = shared(setupTenant)

  it('are refused settings that their provider cannot use, and leave a pause with ones that it can', async (t) => {
    const f = await setup(t)
    const { keys } = await f.tenant('acme')
    const post = (settings: object) => f.call(keys.admin, 'POST', '/api/channel-accounts', { ...ACCOUNT, settings })

    const refused = await post({ wrong: 1 })
    assert.deepEqual([refused.statusCode, refused.json().errors[0]?.path], [422, '/settings/wrong'])

    const { id } = (await post({})).json()
    await f.store.accounts.setStatus(id, 'paused', 'refused', 'system')
    const patch = (settings: object) => f.call(keys.admin, 'PATCH', `/api/channel-accounts/${id}`, { settings })
    assert.equal((await patch({ wrong: 1 })).statusCode, 422)
    assert.equal((await patch({ right: 1 })).json().status, 'active')
  })

  it('answer with all but their secrets, of which they name those that are set', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')

    const answer = await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', ACCOUNT)

    assert.equal(answer.statusCode, 201)
    const { id, createdAt: _, updatedAt: __, ...account } = answer.json()
    assert.deepEqual(account, {
      ...ACCOUNT,
      tenantId: 'acme',
      secrets: ['password', 'serviceAccount'],
      onUndeliverable: 'park',
      onUnmapped: 'retry',
      status: 'active',
      statusReason: null,
      lane: { breaker: 'closed', heldUntil: null, holdReason: null },
      webhookUrl: null,
      nextStep: null,
      warnings: [],
    })
    const stored = await f.store.accounts.find('acme', id)
    assert.ok(stored)
    assert.deepEqual(openAccountSecrets(f.deps.seal, stored), {
      password: 'hunter2-hunter2',
      serviceAccount: '{"private_key":"canary-key"}',
    })
    const listed = await f.call(tenant.keys.viewer, 'GET', '/api/channel-accounts')
    for (const text of [answer.body, listed.body, JSON.stringify(stored), f.log.join()])
      for (const secret of ['hunter2', 'canary-key']) assert.ok(!text.includes(secret))
  })

  it('keep secrets that are not given, replace those that are, and drop those that are null', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    const { id } = (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', ACCOUNT)).json()
    const secrets = async () => {
      const stored = await f.store.accounts.find('acme', id)
      return stored && openAccountSecrets(f.deps.seal, stored)
    }

    const patched = await f.call(tenant.keys.admin, 'PATCH', `/api/channel-accounts/${id}`, {
      secrets: { password: 'new', token: 't', serviceAccount: null },
    })
    assert.deepEqual(patched.json().secrets, ['password', 'token'])
    assert.deepEqual(await secrets(), { password: 'new', token: 't' })
    const replaced = await f.call(tenant.keys.admin, 'PUT', `/api/channel-accounts/${id}`, {
      channel: 'email',
      provider: 'sandbox',
      name: 'renamed',
    })
    assert.deepEqual(
      [
        replaced.json().name,
        replaced.json().pace,
        replaced.json().settings,
        replaced.json().priority,
        replaced.json().onUnknown,
      ],
      ['renamed', null, {}, 0, 'resend'],
    )
    assert.deepEqual(await secrets(), { password: 'new', token: 't' })
    for (const body of [
      { channel: 'sms', provider: 'sandbox', name: 'x' },
      { channel: 'email', provider: 'smtp', name: 'x' },
    ])
      assert.equal((await f.call(tenant.keys.admin, 'PUT', `/api/channel-accounts/${id}`, body)).statusCode, 422)
  })

  it('change only what a patch names', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    const made = (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', ACCOUNT)).json()
    f.advance(1_000)

    const patched = (
      await f.call(tenant.keys.admin, 'PATCH', `/api/channel-accounts/${made.id}`, { pace: null, priority: 1 })
    ).json()

    assert.deepEqual(patched, { ...made, pace: null, priority: 1, updatedAt: new Date(f.now()).toISOString() })
  })

  it('show how sending through them goes: breaker, hold and why', async (t) => {
    const f = await setup(t)
    const { keys } = await f.tenant('acme')
    const { id } = (await f.call(keys.admin, 'POST', '/api/channel-accounts', ACCOUNT)).json()
    const laneOf = async () => {
      const one = (await f.call(keys.viewer, 'GET', `/api/channel-accounts/${id}`)).json() as { lane?: unknown }
      const { items } = (await f.call(keys.viewer, 'GET', '/api/channel-accounts')).json()
      assert.deepEqual((items[0] as { lane?: unknown }).lane, one.lane)
      return one.lane
    }

    await f.store.lanes.openBreaker(String(id), 30_000, 'the vendor is away')
    const open = await laneOf()
    await f.store.lanes.closeBreaker(String(id))

    const heldUntil = new Date(f.now() + 30_000).toISOString()
    assert.deepEqual(open, { breaker: 'open', heldUntil, holdReason: 'the vendor is away' })
    assert.deepEqual(await laneOf(), { breaker: 'closed', heldUntil: null, holdReason: null })
  })

  it('are suspended and activated, on record, and again without complaint', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    const { id } = (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', ACCOUNT)).json()
    const post = async (verb: string) =>
      (await f.call(tenant.keys.admin, 'POST', `/api/channel-accounts/${id}/${verb}`)).json()

    assert.deepEqual(
      [(await post('suspend')).status, (await post('suspend')).statusReason],
      ['suspended', 'suspended by key:admin'],
    )
    assert.deepEqual([(await post('activate')).status, (await post('activate')).statusReason], ['active', null])
    assert.ok(f.nudges.includes('dispatch'))
  })

  it('wake up when credentials that were refused are replaced', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    const { id } = (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', ACCOUNT)).json()
    await f.store.accounts.setStatus(id, 'paused', 'auth_failed', 'system')
    const patch = async (body: object) =>
      (await f.call(tenant.keys.admin, 'PATCH', `/api/channel-accounts/${id}`, body)).json().status

    assert.equal(await patch({ priority: 1 }), 'paused')
    assert.equal(await patch({ secrets: { password: 'mended' } }), 'active')
    await f.store.accounts.setStatus(id, 'suspended', null, 'system')
    assert.equal(await patch({ secrets: { password: 'again' } }), 'suspended')
  })

  it('go away unless something still waits on them', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    const { id } = (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', ACCOUNT)).json()
    const email = { channel: 'email', to: { email: 'a@example.com' }, body: 'x' }
    const sent = (await f.call(tenant.keys.publisher, 'POST', '/api/notifications', email)).json()

    const busy = await f.call(tenant.keys.admin, 'DELETE', `/api/channel-accounts/${id}`)
    assert.deepEqual([busy.statusCode, busy.json().code], [409, 'in_use'])
    await f.call(tenant.keys.operator, 'POST', `/api/notifications/${sent.id}/cancel`)
    assert.equal((await f.call(tenant.keys.admin, 'DELETE', `/api/channel-accounts/${id}`)).statusCode, 204)
    assert.equal((await f.call(tenant.keys.admin, 'GET', `/api/channel-accounts/${id}`)).statusCode, 404)
    assert.equal((await f.call(tenant.keys.publisher, 'POST', '/api/notifications', email)).json().status, 'parked')
  })

  it('have one name each per channel', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', ACCOUNT)
    const { id } = (
      await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', { ...ACCOUNT, name: 'two' })
    ).json()

    assert.equal(
      (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', ACCOUNT)).json().code,
      'already_exists',
    )
    assert.equal(
      (await f.call(tenant.keys.admin, 'PATCH', `/api/channel-accounts/${id}`, { name: 'mail' })).json().code,
      'already_exists',
    )
    assert.equal(
      (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', { ...ACCOUNT, channel: 'sms' })).statusCode,
      201,
    )
  })

  it('are listed newest first, by channel, provider and status', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    for (const channel of CHANNELS)
      await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', { ...ACCOUNT, channel, name: channel })
    const list = async (query: string) =>
      (await f.call(tenant.keys.viewer, 'GET', `/api/channel-accounts${query}`))
        .json()
        .items.map((item) => item.channel)

    assert.deepEqual(await list(''), [...CHANNELS].reverse())
    assert.deepEqual(await list('?channel=sms'), ['sms'])
    assert.deepEqual(await list('?provider=fcm'), [])
    assert.deepEqual(await list('?status=suspended'), [])
    const first = (await f.call(tenant.keys.viewer, 'GET', '/api/channel-accounts?limit=4')).json()
    assert.deepEqual(await list(`?limit=4&cursor=${first.nextCursor}`), ['sms', 'whatsapp'])
  })

  it('take WhatsApp tiers for a pace, and show them as given', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    const answer = await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', {
      ...ACCOUNT,
      channel: 'whatsapp',
      pace: { tier: 'TIER_2' },
    })

    assert.deepEqual(answer.json().pace, { tier: 'TIER_2' })
    assert.equal((await f.store.accounts.find('acme', answer.json().id))?.pace?.perSecond, 8.3)
  })

  it('warn about a stored retry policy that makes no sense', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')
    const { id } = (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', ACCOUNT)).json()
    await f.store.accounts.update('acme', id, { retry: { maxAttempts: -1 } })

    const { warnings, retry } = (await f.call(tenant.keys.viewer, 'GET', `/api/channel-accounts/${id}`)).json()
    assert.deepEqual([warnings[0]?.code, retry], ['retry_clamped', { maxAttempts: -1 }])
  })

  for (const [code, path, wrong] of [
    ['invalid_retry', '/retry/maxAttempts', { retry: { maxAttempts: 0 } }],
    ['invalid_retry', '/retry/base', { retry: { base: '5 seconds' } }],
    ['invalid_retry', '/retry/cap', { retry: { base: 'PT10S', cap: 'PT1S' } }],
    ['invalid_retry', '/retry/delays', { retry: { delays: [] } }],
    ['invalid_retry', '/retry/jitter', { retry: { jitter: 2 } }],
    ['invalid_retry', '/retry/nonsense', { retry: { nonsense: 1 } }],
    ['invalid_body', '/retry', { retry: 5 }],
    ['invalid_body', '/provider', { provider: 'smoke-signals' }],
    ['invalid_body', '/provider', { provider: 'fcm' }],
    ['invalid_body', '/pace/perSecond', { pace: { perSecond: 0 } }],
    ['invalid_body', '/pace/perSecond', { pace: { perSecond: -1, burst: 1 } }],
    ['invalid_body', '/pace/perSecond', { pace: { burst: 1 } }],
    ['invalid_body', '/pace/burst', { pace: { perSecond: 1, burst: 0.5 } }],
    ['invalid_body', '/pace', { pace: { tier: 'TIER_1', perSecond: 1 } }],
    ['invalid_body', '/pace/tier', { pace: { tier: 'TIER_9' } }],
    ['invalid_body', '/breaker/resetAfter', { breaker: { resetAfter: 'PT0S' } }],
    ['invalid_body', '/parkedRetryAfter', { parkedRetryAfter: 'PT1S' }],
    ['invalid_body', '/parkedRetryAfter', { parkedRetryAfter: 'an hour' }],
    ['invalid_body', '/secrets/password', { secrets: { password: 5 } }],
    ['invalid_body', '/status', { status: 'paused' }],
    ['invalid_body', '/onUnknown', { onUnknown: 'pray' }],
    ['invalid_body', '/sealedSecrets', { sealedSecrets: 'x' }],
  ] as const)
    it(`refuse ${JSON.stringify(wrong)}`, async () => {
      const { f, keys } = await refusing()
      const answer = await f.call(keys.admin, 'POST', '/api/channel-accounts', { ...ACCOUNT, ...wrong })

      assert.deepEqual([answer.statusCode, answer.json().code], [422, code], answer.body)
      assert.equal(answer.json().errors[0]?.path, path)
    })
})

describe('the sandbox', () => {
  const message = sampleSandboxMessage({ id: 'sbx-2', to: { email: 'alice@example.com' } })

  it('shows what it took, newest first, to its own tenant', async (t) => {
    const asked: unknown[] = []
    const sandbox = (filter: unknown) => {
      asked.push(filter)
      return [message, { ...message, id: 'sbx-1' }]
    }
    const f = await setup(t, { deps: { sandbox } })
    const tenant = await f.tenant('acme')

    const list = async (query: string) =>
      (await f.call(tenant.keys.operator, 'GET', `/api/sandbox/messages?limit=1${query}`)).json()
    const { nextCursor } = await list('')
    const page = await list(`&channel=email&to=alice%40example.com&cursor=${nextCursor}`)

    assert.deepEqual(asked, [
      { tenantId: 'acme', limit: 2 },
      { tenantId: 'acme', limit: 2, channel: 'email', to: 'alice@example.com', before: 'sbx-2' },
    ])
    assert.deepEqual([page.items.length, page.items[0]?.acceptedAt], [1, '1970-01-01T00:00:00.000Z'])
    assert.equal(page.items[0]?.to.email, 'alice@example.com')
    const masked = (await f.call(tenant.keys.viewer, 'GET', '/api/sandbox/messages')).json()
    assert.deepEqual([masked.items[0]?.to.email, masked.nextCursor], ['a***@example.com', null])
    await f.call(f.opsKey, 'GET', '/api/sandbox/messages')
    assert.equal((asked.at(-1) as { tenantId: unknown }).tenantId, null)
  })

  it('is not found where there is none', async (t) => {
    const f = await setup(t)
    const tenant = await f.tenant('acme')

    assert.equal((await f.call(tenant.keys.viewer, 'GET', '/api/sandbox/messages')).statusCode, 404)
  })
})

describe('health', () => {
  const worker = { host: 'h', pid: 1, version: 'v', channels: null }

  it('is ok while a worker is alive, and shows what is not well', async (t) => {
    const wrapStore = (store: Store): Store => ({
      ...store,
      notifications: { ...store.notifications, oldestDueMs: async () => 12_500 },
    })
    const f = await setup(t, { wrapStore })
    const tenant = await f.tenant('acme')
    const health = async () => {
      f.advance(500)
      return (await f.call(null, 'GET', '/health')).json()
    }

    assert.deepEqual([(await health()).status, (await health()).database], ['degraded', 'up'])
    const id = f.deps.ids()
    await f.store.workers.register({ id, ...worker })
    const well = await health()
    assert.deepEqual([well.status, well.workers[0]?.id, well.workers[0]?.status], ['ok', id, 'alive'])
    assert.deepEqual([well.backlog, well.openBreakers], [{ oldestPendingAgeSeconds: 12.5 }, []])
    const account = (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', ACCOUNT)).json()
    await f.store.lanes.openBreaker(account.id, 600_000, 'refused')
    const open = await health()
    assert.deepEqual([open.status, open.openBreakers, open.pausedAccounts], ['degraded', [account.id], []])
    await f.store.lanes.closeBreaker(account.id)
    await f.store.accounts.setStatus(account.id, 'paused', 'the credentials were refused', 'system')
    const paused = await health()
    assert.deepEqual([paused.status, paused.openBreakers, paused.pausedAccounts], ['degraded', [], [account.id]])
    f.advance(60_000)
    assert.equal((await health()).workers[0]?.status, 'silent')
  })

  it('is 503 while the database cannot be reached, and alive all the same', async (t) => {
    const away = () => Promise.reject(new PillarboxError('store_unavailable', 'away'))
    const wrapStore = (store: Store): Store => ({ ...store, schema: away, workers: { ...store.workers, list: away } })
    const f = await setup(t, { wrapStore })

    const health = await f.call(null, 'GET', '/health')
    assert.deepEqual([health.statusCode, health.json().status, health.json().database], [503, 'down', 'down'])
    assert.match(health.json().reasons[0]?.message ?? '', /cannot be reached.*DATABASE_URL/)
    assert.equal((await f.call(null, 'GET', '/health/ready')).statusCode, 503)
    assert.equal((await f.call(null, 'GET', '/health/live')).statusCode, 200)
  })

  it('is not ready before the schema is this version’s', async (t) => {
    const wrapStore = (store: Store): Store => ({ ...store, schema: async () => ({ found: 0, wanted: 1 }) })
    const f = await setup(t, { wrapStore })

    const answer = await f.call(null, 'GET', '/health/ready')
    assert.equal(answer.statusCode, 503)
    assert.match(answer.json().reason, /version 0.*needs 1/)
  })

  it('asks the database once, however often it is asked', async (t) => {
    let reads = 0
    const wrapStore = (store: Store): Store => ({
      ...store,
      workers: {
        ...store.workers,
        list: () => {
          reads += 1
          return store.workers.list()
        },
      },
    })
    const f = await setup(t, { wrapStore })

    await Promise.all(Array.from({ length: 20 }, () => f.call(null, 'GET', '/health')))
    assert.equal(reads, 1)
  })
})
