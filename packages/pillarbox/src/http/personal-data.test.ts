import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Fixture, openFixture, type TestTenant } from './fixture.ts'

const ADA = { address: 'ada@example.test' }

describe('the cursor of a walk through one person’s data', () => {
  let f: Fixture
  let tenant: TestTenant
  /** Whether the time of an answer is over as soon as its first stretch was looked at. */
  let isSlow = false

  before(async () => {
    const passTime = (): void => {
      if (isSlow) f.advance(f.deps.config.handlerTimeoutMs)
    }
    f = await openFixture({
      wrapStore: (store) => ({
        ...store,
        personal: {
          ...store.personal,
          find: async (step, stretch) => {
            passTime()
            return await store.personal.find(step, stretch)
          },
          erase: async (step, stretch) => {
            passTime()
            return await store.personal.erase(step, stretch)
          },
        },
      }),
    })
    tenant = await f.tenant('acme')
  })
  after(() => f.app.close())

  const ask = (what: 'export' | 'erase', body: object, key = tenant.keys.admin) =>
    f.call(key, 'POST', `/api/personal-data/${what}`, body)
  const begin = async (what: 'export' | 'erase', body: object): Promise<string> => {
    isSlow = true
    const answer = await ask(what, body)
    isSlow = false
    assert.equal(answer.statusCode, 200, answer.body)
    return String(answer.json().nextCursor ?? assert.fail('it ended'))
  }
  const recorded = async (action: string): Promise<number> =>
    (await f.store.audit.list({ tenantId: tenant.id, action }, { limit: 50 })).items.length

  it('leads on to the end, and the walk is on record once', async () => {
    for (const [what, body] of [
      ['export', ADA],
      ['erase', { ...ADA, note: 'asked' }],
    ] as const) {
      const [cursor, count] = [await begin(what, body), await recorded(what)]

      const rest = await ask(what, { cursor, ...body })

      assert.deepEqual([rest.statusCode, rest.json().nextCursor], [200, null])
      assert.equal(await recorded(what), count)
    }
  })

  it('cannot be made up: no walk goes unrecorded', async () => {
    const count = await recorded('export')

    for (const cursor of ['0.', '0.0.', '1.0.', 's1.x.AAAA', 'x'])
      for (const [what, body] of [
        ['export', ADA],
        ['erase', { ...ADA, note: 'asked' }],
      ] as const) {
        const answer = await ask(what, { ...body, cursor })
        assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_body'], `${what} ${cursor}`)
        const message = 'is not the nextCursor of an earlier answer to this request'
        assert.deepEqual(answer.json().errors, [{ path: '/cursor', message }])
      }
    assert.equal(await recorded('export'), count)
  })

  it('is good for nobody else, for no other person and for no other walk', async () => {
    const cursor = await begin('export', ADA)
    const another = await f.key({ tenantId: tenant.id, role: 'admin', name: 'another' })

    const refused = [
      await ask('export', { ...ADA, cursor }, another),
      await ask('export', { address: 'ben@example.test', cursor }),
      await ask('erase', { ...ADA, note: 'asked', cursor }),
      await f.call((await f.tenant('other')).keys.admin, 'POST', '/api/personal-data/export', { ...ADA, cursor }),
      await f.call(f.opsKey, 'POST', `/api/personal-data/export?tenantId=${tenant.id}`, { ...ADA, cursor }),
    ]

    for (const answer of refused) assert.equal(answer.json().code, 'invalid_body', answer.body)
    assert.equal((await ask('export', { ...ADA, cursor })).statusCode, 200)
  })
})
