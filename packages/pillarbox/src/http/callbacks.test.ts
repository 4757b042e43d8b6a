import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { NewCallback } from '../model/callback.ts'
import { type FixtureOptions, openFixture } from './fixture.ts'

async function setup(t: TestContext, options: FixtureOptions = {}) {
  const f = await openFixture(options)
  t.after(() => f.app.close())
  const keep = (given: Partial<NewCallback> & { body: Buffer }) =>
    f.store.receipts.keep({ source: 'meta', tenantId: 'acme', accountIds: ['account'], headers: {}, ...given })
  const list = async (query = '') => (await f.call(f.opsKey, 'GET', `/ops/callbacks${query}`)).json()
  return { f, keep, list }
}

describe('/ops/callbacks', () => {
  it('lists what vendors called back with, newest first, page by page', async (t) => {
    const { keep, list } = await setup(t)
    for (let i = 0; i < 5; i++) await keep({ body: Buffer.from(`body ${i}`) })

    const first = await list('?limit=3&withBody=true')
    const rest = await list(`?limit=3&withBody=true&cursor=${first.nextCursor}`)

    assert.deepEqual(
      [...first.items, ...rest.items].map(({ body }) => body),
      ['body 4', 'body 3', 'body 2', 'body 1', 'body 0'],
    )
    assert.equal(rest.nextCursor, null)
  })

  it('says of each what became of it, and shows the body only when asked', async (t) => {
    const { f, keep, list } = await setup(t)
    await keep({ body: Buffer.from('{"a":1}') })
    const [taken] = await f.store.receipts.take(1, 1_000)
    const result = { reports: 2, matched: 1, moved: 1, unreadable: 1 }
    await f.store.receipts.settle(taken?.id ?? 0, { ...result, status: 'applied', delayMs: 0 })

    const [shown] = (await list()).items

    assert.deepEqual(shown, {
      id: String(taken?.id),
      source: 'meta',
      tenantId: 'acme',
      accountIds: ['account'],
      status: 'applied',
      attemptCount: 1,
      receivedAt: new Date(f.now()).toISOString(),
      result,
      note: null,
      size: 7,
    })
  })

  it('reads no bodies that are not shown, and shows the beginnings of few at a time', async (t) => {
    const { f, keep, list } = await setup(t, {
      wrapStore: (store) => ({
        ...store,
        receipts: {
          ...store.receipts,
          callbacks: async (...given) => {
            const page = await store.receipts.callbacks(...given)
            read += page.items.reduce((sum, { body }) => sum + body.length, 0)
            return page
          },
        },
      }),
    })
    let read = 0
    for (let i = 0; i < 25; i++) await keep({ body: Buffer.from(`${i} `.padEnd(100_000, 'x')) })

    const all = await list('?limit=200')
    assert.deepEqual([all.items.length, all.items[0]?.size, read], [25, 100_000, 0])
    const shown = await list('?limit=200&withBody=true')
    assert.deepEqual([shown.items.length, String(shown.items[0]?.body).length], [20, 65_536])
    assert.equal(read, 20 * 65_536)
    const rest = await f.call(f.opsKey, 'GET', `/ops/callbacks?limit=200&withBody=true&cursor=${shown.nextCursor}`)
    assert.deepEqual([rest.json().items.length, rest.json().nextCursor], [5, null])
  })

  it('narrows by source, tenant and status', async (t) => {
    const { f, keep, list } = await setup(t)
    await keep({ body: Buffer.from('1') })
    await keep({ body: Buffer.from('2'), tenantId: 'other' })
    await keep({ body: Buffer.from('3'), source: 'ses', tenantId: null })
    const [taken] = await f.store.receipts.take(1, 1_000)
    const nothing = { reports: 0, matched: 0, moved: 0, unreadable: 0 }
    await f.store.receipts.settle(taken?.id ?? 0, { ...nothing, status: 'unmatched', delayMs: 0 })
    const bodies = async (query: string): Promise<unknown[]> =>
      (await list(`?withBody=true&${query}`)).items.map(({ body }) => body)

    assert.deepEqual(await bodies('source=ses'), ['3'])
    assert.deepEqual(await bodies('tenantId=other'), ['2'])
    assert.deepEqual(await bodies('status=unmatched'), ['1'])
    assert.deepEqual(await bodies('status=pending&source=meta'), ['2'])
    assert.equal((await f.call(f.opsKey, 'GET', '/ops/callbacks?status=lost')).statusCode, 422)
    assert.equal((await f.call(f.opsKey, 'GET', '/ops/callbacks?cursor=nonsense')).statusCode, 422)
  })

  it('shows of a body that is not text, or endless, what can be shown', async (t) => {
    const { keep, list } = await setup(t)
    await keep({ body: Buffer.from([0xff, 0xfe, 0x41]) })
    await keep({ body: Buffer.alloc(200_000, 'x') })

    const [long, odd] = (await list('?withBody=true')).items

    assert.equal(String(odd?.body).at(-1), 'A')
    assert.equal(String(long?.body).length, 65_536)
  })

  it('reads one again when asked, wakes the worker, and knows no other', async (t) => {
    const { f, keep, list } = await setup(t)
    await keep({ body: Buffer.from('1') })
    const [taken] = await f.store.receipts.take(1, 1_000)
    const nothing = { reports: 0, matched: 0, moved: 0, unreadable: 0 }
    await f.store.receipts.settle(taken?.id ?? 0, { ...nothing, status: 'applied', delayMs: 0 })
    const replay = (id: unknown) => f.call(f.opsKey, 'POST', `/ops/callbacks/${String(id)}/replay`)

    const answer = await replay(taken?.id)

    assert.equal(answer.statusCode, 202)
    assert.deepEqual(answer.json(), { id: String(taken?.id), status: 'pending' })
    assert.equal((await list()).items[0]?.status, 'pending')
    assert.deepEqual(f.nudges, ['receipts'])
    for (const unknown of ['999', '0', '-1', '1.5', 'x', '9'.repeat(20)])
      assert.equal((await replay(unknown)).statusCode, 404, unknown)
  })
})

describe('/ops/callbacks/refused', () => {
  it('counts by source, tenant and cause, page by page', async (t) => {
    const { f } = await setup(t)
    const count = async (source: string, tenantId: string | null, times: number) => {
      await f.store.receipts.countRefused([{ source, tenantId, why: 'token_wrong', count: times }])
      f.advance(1_000)
    }
    await count('acs', 'acme', 2)
    await count('msg91', 'acme', 1)
    await count('msg91', null, 5)
    await count('acs', 'acme', 3)
    const get = async (query: string) => (await f.call(f.opsKey, 'GET', `/ops/callbacks/refused${query}`)).json()
    const rows = (items: unknown): unknown[] =>
      (items as { source: string; tenantId: string | null; count: number }[]).map(
        ({ source, tenantId, count: times }) => [source, tenantId, times],
      )

    const first = await get('?limit=2')
    const rest = await get(`?limit=2&cursor=${encodeURIComponent(String(first.nextCursor))}`)

    assert.deepEqual(rows([...first.items, ...rest.items]), [
      ['acs', 'acme', 5],
      ['msg91', null, 5],
      ['msg91', 'acme', 1],
    ])
    assert.equal(rest.nextCursor, null)
    assert.deepEqual(rows((await get('?tenantId=acme&source=msg91')).items), [['msg91', 'acme', 1]])
    assert.deepEqual(Object.keys(first.items[0] ?? {}).sort(), ['count', 'lastAt', 'source', 'tenantId', 'why'])
  })
})
