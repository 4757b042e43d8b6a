import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { sesEvent } from '@pillarbox/vendors'
import { storedAccount } from '../../../../test/support/samples.ts'
import { withSns } from '../../../../test/support/sns.ts'
import { clientOf, type TrustedProxies, trustIn } from './client-address.ts'
import { openFixture } from './fixture.ts'

const NOW = Date.UTC(2026, 0, 15, 12)
const TOPIC = 'arn:aws:sns:us-east-1:123456789012:ses'
const PROXY = '10.1.2.3'
const [FORGER, VENDOR] = ['198.51.100.7', '203.0.113.9']

/** One account of SES, and a limit of three callbacks that are not believed. */
async function setup(t: TestContext, trustedProxies: TrustedProxies) {
  const { message, receiptSources } = await withSns(t, { now: NOW, topicArn: TOPIC })
  const f = await openFixture({
    deps: { receiptSources },
    config: { trustedProxies, failedKeysPerSecond: 1, failedKeysBurst: 3 },
  })
  t.after(() => f.app.close())
  const { keys } = await f.tenant('acme')
  await f.store.accounts.insert(
    storedAccount({ id: f.deps.ids(), channel: 'email', provider: 'ses', settings: { topicArn: TOPIC } }),
  )
  const from = (forwardedFor: string, remoteAddress = PROXY) => ({
    remoteAddress,
    headers: { 'x-forwarded-for': forwardedFor },
  })
  const forge = async (where: ReturnType<typeof from>) =>
    (await f.inject({ method: 'POST', url: '/api/webhooks/ses', payload: '{}', ...where })).statusCode
  const genuine = async (where: ReturnType<typeof from>) => {
    const { method, headers, body } = message({
      message: sesEvent('Delivery', { messageId: 'ses-1', recipients: ['guest@example.com'], at: NOW }),
    })
    const answer = await f.inject({
      method,
      url: '/api/webhooks/ses',
      remoteAddress: where.remoteAddress,
      headers: { ...headers, ...where.headers },
      ...(body !== undefined && { payload: body }),
    })
    return answer.statusCode
  }
  return { f, keys, from, forge, genuine }
}

describe('behind a proxy that is trusted', () => {
  for (const trusted of [['10.0.0.0/8'], 1])
    it(`a flood of forged callbacks keeps no genuine one away (${JSON.stringify(trusted)})`, async (t) => {
      const { from, forge, genuine } = await setup(t, trusted)
      const statuses = []
      for (let i = 0; i < 5; i++) statuses.push(await forge(from(FORGER)))

      assert.deepEqual(statuses, [403, 403, 403, 429, 429])
      assert.equal(await genuine(from(VENDOR)), 200)
    })

  it('whoever guesses keys keeps nobody else away', async (t) => {
    const { f, keys, from } = await setup(t, [PROXY])
    const ask = async (key: string, where: ReturnType<typeof from>) => {
      const { remoteAddress, headers } = where
      const answer = await f.inject({
        method: 'GET',
        url: '/api/notifications',
        remoteAddress,
        headers: { ...headers, authorization: `Bearer ${key}` },
      })
      return answer.statusCode
    }
    for (let i = 0; i < 4; i++) await ask(`guess-${i}-of-a-key`, from(FORGER))

    assert.equal(await ask('guess-5-of-a-key', from(FORGER)), 429)
    assert.equal(await ask(keys.viewer, from(VENDOR)), 200)
  })

  it('whoever floods is not told apart by addresses that he made up himself', async (t) => {
    const { from, forge } = await setup(t, ['10.0.0.0/8'])
    const statuses = []
    for (let i = 0; i < 5; i++) statuses.push(await forge(from(`192.0.2.${i}, ${FORGER}`)))

    assert.deepEqual(statuses, [403, 403, 403, 429, 429])
  })

  it('nor by the port he comes from, where the proxy writes it', async (t) => {
    const { from, forge } = await setup(t, ['10.0.0.0/8'])
    const statuses = []
    for (let i = 0; i < 5; i++) statuses.push(await forge(from(`${FORGER}:${50_000 + i}`)))

    assert.deepEqual(statuses, [403, 403, 403, 429, 429])
  })
})

it('nobody is believed who is not a trusted proxy', async (t) => {
  for (const trusted of [[], ['10.9.0.0/16']]) {
    const { from, forge, genuine } = await setup(t, trusted)
    for (let i = 0; i < 4; i++) await forge(from(`192.0.2.${i}`))

    assert.equal(await genuine(from(VENDOR)), 429)
  }
})

describe('trust', () => {
  const believes = (proxies: TrustedProxies, address: string, hop = 0) => {
    const trust = trustIn(proxies)
    return trust !== false && trust(address, hop)
  }

  it('is in nobody unless somebody is named', () => {
    assert.deepEqual([trustIn([]), trustIn(0)], [false, false])
  })

  it('is in addresses and ranges, of both kinds and however they are written', () => {
    const proxies = ['10.0.0.0/8', '192.0.2.1', '2001:db8::/32']
    for (const good of [
      '10.255.0.1',
      '::ffff:10.0.0.1',
      '192.0.2.1',
      '192.0.2.1:443',
      '2001:db8:1::5',
      '[2001:db8::1]:80',
    ])
      assert.ok(believes(proxies, good), good)
    for (const bad of ['11.0.0.1', '192.0.2.2', '2001:db9::1', 'unknown', '', '10.0.0.1, 10.0.0.2'])
      assert.ok(!believes(proxies, bad), bad)
  })

  it('in a number of proxies ends with the last of them', () => {
    assert.deepEqual([believes(2, 'any', 0), believes(2, 'any', 1), believes(2, 'any', 2)], [true, true, false])
  })
})

it('counts one caller as one, whatever its address is written like', () => {
  const client = (ip: string) => clientOf({ ip })

  assert.equal(client('::ffff:192.0.2.1'), '192.0.2.1')
  assert.equal(client('192.0.2.1:8080'), '192.0.2.1')
  for (const same of [
    '2001:db8:0:1::1',
    '2001:0DB8:0:1:ffff::',
    '[2001:db8::1:5:6:7:8]:443',
    '2001:db8:0:1:0:0:192.0.2.1',
  ])
    assert.equal(client(same), '2001:db8:0:1::/64', same)
  assert.equal(client('::1'), '0:0:0:0::/64')
  assert.equal(client('64:ff9b::192.0.2.1'), '64:ff9b:0:0::/64')
  assert.notEqual(client('2001:db8:0:2::1'), client('2001:db8:0:1::1'))
  assert.equal(client('unknown'), 'unknown')
})
