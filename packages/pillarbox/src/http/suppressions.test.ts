import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ENGINES } from '../../../../test/support/engines.ts'
import type { Suppression } from '../model/suppression.ts'
import { type Fixture, openFixture } from './fixture.ts'

for (const { engine, open } of ENGINES)
  describe(`suppressions on ${engine}`, () => {
    let f: Fixture
    let counter = 0
    before(async () => {
      f = await openFixture({ open })
    })
    after(() => f.app.close())

    /** A tenant in India, and a short way to call as its admin. */
    async function setup() {
      const tenant = await f.tenant(`suppressions-${++counter}`)
      await f.call(tenant.keys.admin, 'PATCH', '/api/tenant', { region: 'IN' })
      const call = (method: string, path: string, body?: unknown, key = tenant.keys.admin) =>
        f.call(key, method, `/api/suppressions${path}`, body)
      const suppress = async (channel: string, address: string) =>
        (await call('POST', '', { channel, address })).json().id
      /** As dispatch does it. */
      const learn = (changes: Partial<Suppression>) =>
        f.store.suppressions.insert({
          id: f.deps.ids(),
          tenantId: tenant.id,
          channel: 'sms',
          address: '+919876543210',
          cause: 'dead_address',
          error: null,
          notificationId: null,
          createdBy: 'system',
          ...changes,
        })
      return { tenant, call, suppress, learn }
    }

    it('are made by hand, read and listed', async () => {
      const { tenant, call } = await setup()

      const made = await call('POST', '', { channel: 'push', address: 'Device:1' })

      assert.equal(made.statusCode, 201, made.body)
      const { id, createdAt, ...rest } = made.json()
      assert.deepEqual(rest, {
        tenantId: tenant.id,
        channel: 'push',
        address: 'Device:1',
        cause: 'operator',
        error: null,
        notificationId: null,
        createdBy: 'key:admin',
      })
      assert.ok(Date.parse(createdAt) > 0)
      assert.deepEqual((await call('GET', `/${id}`)).json(), made.json())
      assert.deepEqual((await call('GET', '')).json(), { items: [made.json()], nextCursor: null })
    })

    it('have their address as notifications on the channel have it', async () => {
      const { call } = await setup()
      const kept = async (channel: string, address: string) =>
        (await call('POST', '', { channel, address })).json().address

      assert.equal(await kept('sms', ' 098765 43210'), '+919876543210')
      assert.equal(await kept('whatsapp', '+91 98765-43210'), '+919876543210')
      assert.equal(await kept('email', ' Ada@EXAMPLE.com '), 'ada@example.com')
      assert.equal(await kept('webhook', 'https://example.com/Hook'), 'https://example.com/Hook')
      assert.equal(await kept('in_app', 'User-1'), 'User-1')
    })

    it('are refused where nothing could be sent to the address, with what would do', async () => {
      const { call } = await setup()
      const refusal = async (channel: string, address: string) => {
        const answer = await call('POST', '', { channel, address })
        assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_body'], answer.body)
        const [error] = answer.json().errors
        assert.equal(error?.path, '/address')
        return error?.message ?? ''
      }

      assert.match(await refusal('sms', '12'), /must be a telephone number of IN/)
      assert.match(await refusal('email', 'nobody'), /must be an email address/)
      assert.match(await refusal('webhook', 'ftp://example.com'), /must be an http or https URL/)
      await refusal('push', 'two\nlines')
      assert.equal((await call('POST', '', { channel: 'fax', address: '1' })).statusCode, 422)
    })

    it('are each there once per channel', async () => {
      const { call, learn } = await setup()
      await learn({})

      const again = await call('POST', '', { channel: 'sms', address: '098765 43210' })
      const other = await call('POST', '', { channel: 'whatsapp', address: '098765 43210' })

      assert.deepEqual([again.statusCode, again.json().code], [409, 'already_exists'])
      assert.equal(other.statusCode, 201)
    })

    it('are found by channel and by address, however that is written', async () => {
      const { call, suppress } = await setup()
      const ids = [
        await suppress('sms', '+919876543210'),
        await suppress('whatsapp', '+919876543210'),
        await suppress('email', 'ada@example.com'),
        await suppress('push', '9876543210'),
      ]
      const found = async (query: Record<string, string>) =>
        (await call('GET', `?${new URLSearchParams(query).toString()}`)).json().items.map(({ id }) => ids.indexOf(id))

      assert.deepEqual(await found({ channel: 'email' }), [2])
      assert.deepEqual(await found({ address: '+919876543210' }), [1, 0])
      assert.deepEqual(await found({ address: '098765 43210' }), [1, 0])
      assert.deepEqual(await found({ address: '098765 43210', channel: 'sms' }), [0])
      assert.deepEqual(await found({ address: ' ADA@Example.com' }), [2])
      // As it arrives when somebody forgot to escape the plus sign.
      assert.deepEqual(await found({ address: ' 919876543210' }), [1, 0])
      // Exactly an address goes before what could also be a telephone number.
      assert.deepEqual(await found({ address: '9876543210' }), [3])
      assert.deepEqual(await found({ address: 'nobody' }), [])
    })

    it('are listed newest first, page by page', async () => {
      const { call, suppress } = await setup()
      for (const address of ['1', '2', '3']) await suppress('push', address)

      const first = (await call('GET', '?limit=2')).json()
      const second = (await call('GET', `?limit=2&cursor=${first.nextCursor}`)).json()

      assert.deepEqual(
        [...first.items, ...second.items].map(({ address }) => address),
        ['3', '2', '1'],
      )
      assert.equal(second.nextCursor, null)
    })

    it('are masked for a viewer, in the provider’s words too', async () => {
      const { tenant, call, learn } = await setup()
      await learn({ error: '919876543210 (+919876543210) is not valid' })
      await learn({
        channel: 'email',
        address: 'ada@example.com',
        cause: 'bounced',
        error: '<Ada@Example.com> unknown',
      })
      await learn({ channel: 'webhook', address: 'https://example.com/token/1', error: null })

      const seen = (await call('GET', '', undefined, tenant.keys.viewer)).json().items
      const whole = (await call('GET', '', undefined, tenant.keys.operator)).json().items

      assert.deepEqual(
        seen.map(({ address, error }) => [address, error]),
        [
          ['https://example.com/***', null],
          ['a***@example.com', '<a***@example.com> unknown'],
          ['+91***10', '+91***10 (+91***10) is not valid'],
        ],
      )
      const one = (await call('GET', `/${seen[1]?.id}`, undefined, tenant.keys.viewer)).json()
      assert.deepEqual(one, seen[1])
      assert.equal(whole[1]?.address, 'ada@example.com')
    })

    it('are lifted, and can be made again', async () => {
      const { call, suppress } = await setup()
      const id = await suppress('email', 'ada@example.com')

      assert.equal((await call('DELETE', `/${id}`)).statusCode, 204)

      assert.equal((await call('GET', `/${id}`)).statusCode, 404)
      assert.equal((await call('DELETE', `/${id}`)).statusCode, 404)
      assert.equal((await call('POST', '', { channel: 'email', address: 'ada@example.com' })).statusCode, 201)
    })
  })
