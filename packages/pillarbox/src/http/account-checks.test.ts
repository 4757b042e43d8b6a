import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { BAD_VALUES, FREE_TEXT, SAMPLE_ACCOUNTS, type SampleAccount } from '../../../../test/support/accounts.ts'
import { closedOutbound } from '../../../../test/support/providers.ts'
import { allProviders } from '../channels/all.ts'
import { createRegistry } from '../channels/registry.ts'
import { systemClock } from '../runtime/system.ts'
import { createReach } from '../security/reach.ts'
import { type Answer, type Fixture, openFixture } from './fixture.ts'

const providers = allProviders({
  outbound: closedOutbound().outbound,
  dial: async () => ({ kind: 'failure', code: 'connect_failed', error: 'no way out', hasLeft: false }),
  clock: systemClock,
  inbox: { put: () => assert.fail('nothing is sent here'), seal: () => assert.fail('nothing is sent here') },
})

const lookup = async (host: string) => [
  { address: host === 'inside.example.com' ? '10.0.0.7' : '93.184.216.34', family: 4 },
]

let f: Fixture
let key = ''
let made = 0

before(async () => {
  f = await openFixture({
    deps: {
      registry: createRegistry(providers),
      reach: createReach({ clock: systemClock, allowPrivate: false, lookup }),
    },
  })
  key = (await f.tenant('acme')).keys.admin
})
after(() => f.app.close())

function post(provider: string, sample: SampleAccount, rest: object = {}): Promise<Answer> {
  made += 1
  const body = { channel: sample.channel, provider, name: `${provider} ${made}`, ...rest }
  return f.call(key, 'POST', '/api/channel-accounts', {
    ...body,
    settings: sample.settings,
    secrets: sample.secrets,
  })
}

function sampleOf(provider: string): SampleAccount {
  return structuredClone(SAMPLE_ACCOUNTS[provider] ?? assert.fail(`no sample of ${provider}`))
}

/** The sample with one value changed, by its path in the body; `undefined` takes it away. */
function sampleWith(provider: string, path: string, value: unknown): SampleAccount {
  const sample = sampleOf(provider)
  const steps = path.split('/').slice(1)
  const last = steps.pop() ?? ''
  let place = sample as unknown as Record<string, unknown>
  for (const step of steps) place = place[step] as Record<string, unknown>
  place[last] = value
  return sample
}

const withFields = providers.filter(({ name }) => Object.hasOwn(SAMPLE_ACCOUNTS, name))

describe('an account’s settings and secrets', () => {
  for (const { name, fields } of withFields) {
    it(`are saved for ${name} with everything that it knows, without a warning`, async () => {
      const sample = sampleOf(name)

      const answer = await post(name, sample)

      assert.equal(answer.statusCode, 201, answer.body)
      assert.deepEqual(answer.json().warnings, [])
      assert.deepEqual(Object.keys(sample.settings).toSorted(), Object.keys(fields?.settings ?? {}).toSorted())
      assert.deepEqual(Object.keys(sample.secrets).toSorted(), Object.keys(fields?.secrets ?? {}).toSorted())
    })

    for (const [path, field] of [
      ...Object.entries(fields?.settings ?? {}).map(([setting, each]) => [`/settings/${setting}`, each] as const),
      ...Object.entries(fields?.secrets ?? {}).map(([secret, each]) => [`/secrets/${secret}`, each] as const),
    ]) {
      it(`are refused for ${name} with a line break in ${path}`, async () => {
        for (const value of ['a\r\nx-evil: 1', 'a\u0000', 'a\u2028b']) {
          const answer = await post(name, sampleWith(name, path, value))

          assert.equal(answer.statusCode, 422, answer.body)
          assert.deepEqual([...new Set(answer.json().errors.map((error) => error.path))], [path])
        }
      })

      if (field.isRequired)
        it(`are refused for ${name} without ${path}`, async () => {
          const answer = await post(name, sampleWith(name, path, undefined))

          assert.equal(answer.statusCode, 422, answer.body)
          assert.deepEqual(
            answer.json().errors.map((error) => [error.path, error.message.split(':')[0]]),
            [[path, 'is missing']],
          )
        })
    }
  }

  for (const [provider, path, value] of BAD_VALUES)
    it(`are refused for ${provider} with ${path} ${JSON.stringify(value).slice(0, 60)}`, async () => {
      const answer = await post(provider, sampleWith(provider, path, value))

      assert.equal(answer.statusCode, 422, answer.body)
      assert.deepEqual(
        answer.json().errors.map((error) => error.path),
        [path],
      )
      assert.match(answer.json().errors[0]?.message ?? '', /^(?:must|cannot)/)
    })

  it('are each refused for something, in the table above', () => {
    const refused = new Set(BAD_VALUES.map(([provider, path]) => `${provider}${path.split('/').slice(0, 3).join('/')}`))
    const all = withFields.flatMap(({ name, fields }) => [
      ...Object.keys(fields?.settings ?? {}).map((setting) => `${name}/settings/${setting}`),
      ...Object.keys(fields?.secrets ?? {}).map((secret) => `${name}/secrets/${secret}`),
    ])

    assert.deepEqual(
      all.filter((field) => !refused.has(field)),
      FREE_TEXT,
    )
  })

  it('are named all at once', async () => {
    const answer = await post('smtp', {
      channel: 'email',
      settings: { host: 'a b', port: 0, tls: 'x', fromAddress: 'y', oauth2: {} },
      secrets: { password: 'a\nb' },
    })

    assert.deepEqual(
      answer.json().errors.map(({ path }) => path),
      [
        '/settings/host',
        '/settings/port',
        '/settings/tls',
        '/settings/fromAddress',
        '/settings/oauth2/tokenUrl',
        '/settings/oauth2/clientId',
        '/secrets/password',
        '/settings/user',
      ],
    )
  })

  it('are refused where they do not go together', async () => {
    const smtp = (settings: object, secrets: Record<string, string> = {}) =>
      post('smtp', {
        channel: 'email',
        settings: { host: 'mail.example.com', port: 25, tls: 'none', fromAddress: 'a@example.com', ...settings },
        secrets,
      })
    const oauth2 = { tokenUrl: 'https://login.example.com/token', clientId: 'client' }
    const pathsOf = async (answer: Promise<Answer>) => ((await answer).json().errors ?? []).map(({ path }) => path)

    assert.deepEqual(await pathsOf(smtp({ user: 'u' })), ['/secrets/password'])
    assert.deepEqual(await pathsOf(smtp({ user: 'u', oauth2 }, { password: 'p' })), ['/secrets/oauth2ClientSecret'])
    assert.deepEqual(await pathsOf(smtp({ oauth2 }, { oauth2ClientSecret: 's' })), ['/settings/user'])
    assert.deepEqual(await pathsOf(smtp({})), [])
    assert.deepEqual(
      await pathsOf(post('wns', { channel: 'push', settings: { tenantId: 'x' }, secrets: { clientSecret: 's' } })),
      ['/settings/packageSid'],
    )
  })

  it('do not take a secret for a setting, where everybody could read it', async () => {
    const answer = await post('meta', sampleWith('meta', '/settings/accessToken', 'EAAexample'))

    assert.deepEqual(
      [answer.statusCode, answer.json().errors[0]?.path, answer.body.includes('EAAexample')],
      [422, '/settings/accessToken', false],
    )
  })

  it('do not take what sounds like a secret for a setting, whether the provider knows it or not', async () => {
    for (const [provider, path] of [
      ['webhook', '/settings/bearerToken'],
      ['webhook', '/settings/api_key'],
      ['meta', '/settings/password'],
      ['smtp', '/settings/oauth2/clientSecret'],
    ] as const) {
      const sample = sampleOf(provider)
      const [name = '', inner] = path.split('/').slice(2)
      const settings: Record<string, unknown> = { ...sample.settings }
      settings[name] = inner === undefined ? 'canary' : { ...(settings[name] as object), [inner]: 'canary' }

      const answer = await post(provider, { ...sample, settings })

      assert.deepEqual(
        [answer.statusCode, answer.json().errors?.map((error) => error.path)],
        [422, [path]],
        answer.body,
      )
      assert.match(answer.json().detail, /give it under secrets/)
      assert.equal(answer.body.includes('canary'), false)
    }
  })

  it('are told apart by their names where the provider declares none', async (t) => {
    const plain = await openFixture()
    t.after(() => plain.app.close())
    const { keys } = await plain.tenant('acme')
    const statusWith = async (settings: object) => {
      const body = { channel: 'sms', provider: 'sandbox', name: JSON.stringify(settings), settings }
      return (await plain.call(keys.admin, 'POST', '/api/channel-accounts', body)).statusCode
    }

    for (const name of ['privateKey', 'Password', 'auth_token', 'apikey', 'x-api-key', 'credentials'])
      assert.equal(await statusWith({ [name]: 'x' }), 422, name)
    for (const name of ['tokenUrl', 'keyId', 'honoursKeys', 'monkey', 'passengerField', 'secretary'])
      assert.equal(await statusWith({ [name]: 'x' }), 201, name)
  })

  it('are no token that can be guessed, if it is set by hand', async () => {
    const withToken = (token: string) => sampleWith('msg91', '/secrets/webhookToken', token)

    const short = await post('msg91', withToken('fifteen-letters'))
    assert.equal(short.statusCode, 422)
    assert.deepEqual(short.json().errors, [
      {
        path: '/secrets/webhookToken',
        message: 'must be at least 16 characters that nobody can guess; leave it out to have one made',
      },
    ])
    const made = await post('msg91', withToken('sixteen-letters!'))
    assert.equal(made.statusCode, 201, made.body)
    const changed = await f.call(key, 'PATCH', `/api/channel-accounts/${made.json().id}`, {
      secrets: { webhookToken: 'short' },
    })
    assert.equal(changed.statusCode, 422)
  })

  it('show the paths of URLs to those only who may change them', async () => {
    const { keys } = await f.tenant('hooks')
    const url = 'https://hooks.example.com/services/T000/B000/canary?token=canary'
    const { id } = (
      await f.call(keys.admin, 'POST', '/api/channel-accounts', {
        channel: 'webhook',
        provider: 'webhook',
        name: 'chat',
        settings: { url, more: [{ address: 'HTTPS://user:canary@hooks.example.com/canary' }], note: 'ours' },
        secrets: sampleOf('webhook').secrets,
      })
    ).json()
    // As it could be saved before.
    const { settings: stored } = (await f.store.accounts.find('hooks', id)) ?? assert.fail()
    await f.store.accounts.update('hooks', id, { settings: { ...stored, bearerToken: 'canary' } })

    for (const role of ['viewer', 'operator'] as const)
      for (const path of ['/api/channel-accounts', `/api/channel-accounts/${id}`]) {
        const answer = await f.call(keys[role], 'GET', path)
        assert.equal(answer.statusCode, 200)
        assert.ok(!answer.body.includes('canary'), answer.body)
        assert.ok(answer.body.includes('"https://hooks.example.com/***"') && answer.body.includes('"ours"'))
      }
    const whole = (await f.call(keys.admin, 'GET', `/api/channel-accounts/${id}`)).json()
    assert.equal((whole.settings as { url: string }).url, url)
  })

  it('never come back in a refusal', async () => {
    for (const [provider, path, value] of [
      ['meta', '/secrets/accessToken', 'canary canary'],
      ['acs', '/secrets/connectionString', 'endpoint=https://canary;accesskey='],
      ['fcm', '/secrets/serviceAccount', '{"private_key": "canary"'],
      ['webhook', '/secrets/signingSecret', 'canary'],
    ] as const) {
      const answer = await post(provider, sampleWith(provider, path, value))

      assert.deepEqual([answer.statusCode, answer.body.includes('canary')], [422, false], answer.body)
    }
  })

  it('are checked when they are changed, and only then', async () => {
    const { id } = (await post('meta', sampleOf('meta'))).json()
    const patch = (body: object) => f.call(key, 'PATCH', `/api/channel-accounts/${id}`, body)
    const old = { phoneNumberId: 'saved under older rules' }
    await f.store.accounts.update('acme', id, { settings: old })

    assert.equal((await patch({ priority: 3 })).statusCode, 200)
    assert.equal((await patch({ secrets: { accessToken: 'new' } })).json().errors[0]?.path, '/settings/phoneNumberId')
    assert.equal(
      (await patch({ settings: { phoneNumberId: '1', tier: 'x' } })).json().errors[0]?.path,
      '/settings/tier',
    )
    assert.equal((await patch({ settings: { phoneNumberId: '1' }, secrets: { accessToken: 'a b' } })).statusCode, 422)
    assert.equal((await patch({ secrets: { accessToken: null } })).statusCode, 422)
    assert.equal((await patch({ settings: { phoneNumberId: '1' } })).statusCode, 200)
  })
})

describe('an account’s warnings', () => {
  it('name what the provider does not know, with the name that was probably meant', async () => {
    const sample = sampleOf('smtp')

    const answer = await post('smtp', {
      ...sample,
      settings: {
        ...sample.settings,
        formAddress: 'a@example.com',
        colour: 'red',
        oauth2: { ...(sample.settings['oauth2'] as object), clientID: 'x' },
      },
      secrets: { ...sample.secrets, passwort: 'x' },
    })

    assert.equal(answer.statusCode, 201, answer.body)
    assert.deepEqual(
      answer.json().warnings.map(({ code, key: name, message }) => [code, name, message]),
      [
        ['unknown_setting', 'formAddress', 'smtp knows no setting "formAddress". Did you mean "fromAddress"?'],
        ['unknown_setting', 'colour', 'smtp knows no setting "colour".'],
        [
          'unknown_setting',
          'oauth2.clientID',
          'smtp knows no setting "oauth2.clientID". Did you mean "oauth2.clientId"?',
        ],
        ['unknown_secret', 'passwort', 'smtp knows no secret "passwort". Did you mean "password"?'],
      ],
    )
  })

  it('say which addresses will not be called, when they are saved', async () => {
    const inside: readonly (readonly [string, string, string])[] = [
      ['meta', 'endpoint', 'http://127.0.0.1:8080'],
      ['ses', 'endpoint', 'http://[::1]:4566/aws'],
      ['wns', 'tokenUrl', 'http://10.1.2.3/token'],
      ['smtp', 'host', 'inside.example.com'],
      ['webhook', 'url', 'https://inside.example.com/hooks'],
    ]
    for (const [provider, setting, value] of inside) {
      const answer = await post(provider, sampleWith(provider, `/settings/${setting}`, value))

      assert.equal(answer.statusCode, 201, answer.body)
      const [warning, ...more] = answer.json().warnings
      assert.deepEqual([warning?.code, warning?.key, more], ['private_endpoint', setting, []])
      assert.match(warning?.message ?? '', /No call will be made: .* not a public address.*ALLOW_PRIVATE_ENDPOINTS=1/)
    }
  })

  it('say so for every way of saving, and not when an account is merely read', async () => {
    const sample = sampleWith('meta', '/settings/endpoint', 'http://127.0.0.1:8080')
    const { id } = (await post('meta', sample)).json()
    const url = `/api/channel-accounts/${id}`

    const patched = await f.call(key, 'PATCH', url, { priority: 1 })
    const put = await f.call(key, 'PUT', url, {
      channel: 'whatsapp',
      provider: 'meta',
      name: 'm',
      settings: sample.settings,
    })
    const read = await f.call(key, 'GET', url)

    assert.deepEqual(
      [patched, put, read].map((answer) => answer.json().warnings.map(({ code }) => code)),
      [['private_endpoint'], ['private_endpoint'], []],
    )
  })
})

describe('an account’s pace', () => {
  const meta = (settings: object, rest: object = {}) =>
    post('meta', { ...sampleOf('meta'), settings: { phoneNumberId: '1', ...settings } }, rest)
  const patch = (id: string, body: object) => f.call(key, 'PATCH', `/api/channel-accounts/${id}`, body)

  it('is the tier in the settings where nothing else is said', async () => {
    const answer = await meta({ tier: 'STANDARD' })

    assert.deepEqual(answer.json().pace, { tier: 'STANDARD' })
    const { perSecond, burst } = (await f.store.accounts.find('acme', answer.json().id))?.pace ?? {}
    assert.deepEqual([perSecond, burst], [80, 80])
  })

  it('follows the tier in the settings, unless it was set by hand', async () => {
    const byTier = (await meta({ tier: 'TIER_1' })).json().id
    const byHand = (await meta({ tier: 'TIER_1' }, { pace: { perSecond: 3, burst: 4 } })).json().id
    const settings = { phoneNumberId: '1', tier: 'TIER_3' }

    assert.deepEqual((await patch(byTier, { settings })).json().pace, { tier: 'TIER_3' })
    assert.deepEqual((await patch(byHand, { settings })).json().pace, { perSecond: 3, burst: 4 })
    assert.deepEqual((await patch(byHand, { pace: null })).json().pace, { tier: 'TIER_3' })
    assert.deepEqual((await patch(byTier, { priority: 1 })).json().pace, { tier: 'TIER_3' })
  })

  it('cannot be one tier here and another there', async () => {
    const refused = await meta({ tier: 'TIER_1' }, { pace: { tier: 'TIER_2' } })
    const { id } = (await meta({ tier: 'TIER_1' }, { pace: { tier: 'TIER_1' } })).json()
    const changed = await patch(id, { pace: { tier: 'HIGH' } })
    const both = await patch(id, { pace: { tier: 'HIGH' }, settings: { phoneNumberId: '1', tier: 'HIGH' } })

    assert.deepEqual([refused.statusCode, refused.json().errors[0]?.path], [422, '/pace/tier'])
    assert.deepEqual([changed.statusCode, changed.json().errors[0]?.path], [422, '/pace/tier'])
    assert.deepEqual([both.statusCode, both.json().pace], [200, { tier: 'HIGH' }])
  })

  it('has nothing to do with a setting of that name that the provider does not know', async () => {
    const answer = await post('interakt', sampleWith('interakt', '/settings/tier', 'TIER_1'))

    assert.deepEqual([answer.json().pace, answer.json().warnings[0]?.key], [{ perSecond: 50, burst: 50 }, 'tier'])
  })

  it('is 50 a second where nobody has said anything, and none on in_app or where it is null', async () => {
    const url = '/api/channel-accounts'
    const { tier: _tier, ...settings } = sampleOf('meta').settings
    const inbox = { channel: 'in_app', provider: 'inbox', name: 'Inbox' }
    const careless = await post('interakt', sampleOf('interakt'), { pace: null })
    const untold = await post('interakt', sampleOf('interakt'))
    const tiered = await post('meta', { ...sampleOf('meta'), settings })
    const changed = await f.call(key, 'PATCH', `${url}/${tiered.json().id}`, {
      settings: { ...settings, tier: 'TIER_2' },
    })

    assert.deepEqual(untold.json().pace, { perSecond: 50, burst: 50 })
    assert.equal(careless.json().pace, null)
    assert.equal((await f.call(key, 'POST', url, inbox)).json().pace, null)
    assert.deepEqual(changed.json().pace, { tier: 'TIER_2' }, 'a tier goes before what nobody has said')
  })
})

describe('connecting an account', () => {
  const connect = async (provider: string, sample: SampleAccount) => {
    const { id, nextStep } = (await post(provider, sample)).json()
    const answer = await f.call(key, 'POST', `/api/channel-accounts/${id}/connect`)
    assert.equal(answer.statusCode, 200, answer.body)
    return { nextStep: String(nextStep).replace(String(id), '{id}'), ...(answer.json() as unknown as ConnectionAnswer) }
  }
  interface ConnectionAnswer {
    isConnected: boolean
    detail: string
  }

  it('says what is missing, and what the vendor needs where it cannot be told from here', async () => {
    const meta = await connect('meta', sampleWith('meta', '/settings/wabaId', undefined))
    const ses = await connect('ses', sampleOf('ses'))
    const smtp = await connect('smtp', sampleOf('smtp'))

    assert.deepEqual(
      [meta, ses, smtp].map(({ isConnected }) => isConnected),
      [false, false, false],
    )
    assert.match(meta.detail, /^Set wabaId first/)
    assert.match(meta.nextStep, /^POST \/api\/channel-accounts\/\{id\}\/connect has the vendor/)
    assert.match(ses.detail, /by hand/)
    assert.match(ses.nextStep, /^Give the vendor webhookUrl/)
    assert.match(smtp.detail, /sends no receipts/)
    assert.equal(smtp.nextStep, 'null')
  })
})

describe('what an account does with an undeliverable address', () => {
  it('is set for every provider, in its own place or among the settings, and shown in both', async () => {
    for (const { name } of withFields) {
      const sample = sampleOf(name)
      const named = (await post(name, sample, { onUndeliverable: 'fail' })).json()
      const among = (await post(name, sampleWith(name, '/settings/onUndeliverable', 'fail'))).json()
      const neither = (await post(name, sample)).json()

      assert.deepEqual(
        [named, among, neither].map(({ onUndeliverable, settings }) => [
          onUndeliverable,
          (settings as { onUndeliverable?: string }).onUndeliverable,
        ]),
        [
          ['fail', 'fail'],
          ['fail', 'fail'],
          ['park', undefined],
        ],
        name,
      )
    }
  })

  it('stays when other settings are changed, and is replaced with the whole account', async () => {
    const sample = sampleOf('interakt')
    const { id } = (await post('interakt', sample, { onUndeliverable: 'fail' })).json()
    const url = `/api/channel-accounts/${id}`
    const whole = { channel: 'whatsapp', provider: 'interakt', name: 'i' }

    const kept = await f.call(key, 'PATCH', url, { settings: {} })
    const changed = await f.call(key, 'PATCH', url, { onUndeliverable: 'park' })
    const put = await f.call(key, 'PUT', url, { ...whole, onUndeliverable: 'fail' })
    const putWithout = await f.call(key, 'PUT', url, whole)

    assert.deepEqual(
      [kept, changed, put, putWithout].map((answer) => answer.json().onUndeliverable),
      ['fail', 'park', 'fail', 'park'],
    )
  })

  it('is refused where it says two things, or something else', async () => {
    const sample = sampleWith('meta', '/settings/onUndeliverable', 'park')

    const two = await post('meta', sample, { onUndeliverable: 'fail' })
    const other = await post('meta', sampleOf('meta'), { onUndeliverable: 'ignore' })

    assert.deepEqual([two.statusCode, two.json().errors[0]?.path], [422, '/onUndeliverable'])
    assert.deepEqual([other.statusCode, other.json().errors[0]?.path], [422, '/onUndeliverable'])
  })
})

describe('what an account does with a refusal that nobody has mapped', () => {
  it('is to try again, for SMTP to give up, unless the account says otherwise', async () => {
    const defaults = await Promise.all(['meta', 'ses', 'smtp'].map((name) => post(name, sampleOf(name))))
    const said = (await post('smtp', sampleOf('smtp'), { onUnmapped: 'retry' })).json()

    assert.deepEqual(
      defaults.map((answer) => answer.json().onUnmapped),
      ['retry', 'retry', 'park'],
    )
    assert.deepEqual([said.onUnmapped, (said.settings as { onUnmapped?: string }).onUnmapped], ['retry', 'retry'])
  })
})
