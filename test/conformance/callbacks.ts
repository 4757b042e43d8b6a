import assert from 'node:assert/strict'
import type { CallbackResult, NewCallback } from '../../packages/pillarbox/src/model/callback.ts'
import { allPages, assertBetween, at, type Bench, FAR_MS, only, type Rule } from './fixtures.ts'

/** Raw callbacks: kept before they are answered, applied after, and kept still when that is done. */
export function callbackRules(rule: Rule): void {
  rule('keeps a callback byte by byte', async (bench) => {
    const { store } = bench
    const before = await store.now()
    const body = Buffer.from([0, 255, 128, 10, 13, 34, 39, 92])

    assert.equal(await store.receipts.keep(callback(bench, { body, headers: { 'ce-type': 'x "y"' } })), true)

    const kept = only(await store.receipts.take(10, FAR_MS))
    assert.deepEqual(kept.body, body)
    assert.deepEqual(
      [kept.source, kept.tenantId, kept.accountIds, kept.headers, kept.status, kept.attemptCount, kept.result],
      ['meta', 'acme', ['account-1'], { 'ce-type': 'x "y"' }, 'pending', 1, null],
    )
    assertBetween(kept.receivedAt, before, await store.now())
  })

  rule('keeps the very same bytes once, also when they come at the same time', async (bench) => {
    const { store, another } = bench
    const given = callback(bench)
    const other = await another()

    const answers = await Promise.all([
      store.receipts.keep(given),
      other.receipts.keep(given),
      store.receipts.keep(given),
    ])

    assert.equal(answers.filter(Boolean).length, 1)
    only(await store.receipts.take(10, FAR_MS))
    assert.equal(await store.receipts.keep(given), false)
  })

  rule(
    'takes the same bytes from another vendor, to another tenant or for another account for another callback',
    async (bench) => {
      const { store } = bench
      const given = callback(bench)

      for (const changes of [
        {},
        { source: 'interakt' },
        { tenantId: 'other' },
        { tenantId: null },
        { accountIds: ['account-2'] },
      ])
        assert.equal(await store.receipts.keep({ ...given, ...changes }), true, JSON.stringify(changes))
    },
  )

  rule('takes fewer of very large ones, and each of them in the end', async (bench) => {
    const { store } = bench
    for (const letter of ['a', 'b', 'c'])
      await store.receipts.keep(callback(bench, { body: Buffer.from(letter.repeat(1_100_000)) }))

    const taken: number[] = []
    for (let round = 0; round < 4; round++) taken.push((await store.receipts.take(10, FAR_MS)).length)

    assert.deepEqual(taken, [1, 1, 1, 0])
  })

  rule('takes what is due, the oldest first, and hides it from others while it is leased', async (bench) => {
    const { store, another, advance } = bench
    const bodies = ['a', 'b', 'c'].map((text) => Buffer.from(text))
    for (const body of bodies) {
      await store.receipts.keep(callback(bench, { body }))
      await advance(2)
    }
    const other = await another()

    const first = await store.receipts.take(2, FAR_MS)
    const rest = await other.receipts.take(2, FAR_MS)

    assert.deepEqual(
      first.map(({ body }) => body.toString()),
      ['a', 'b'],
    )
    assert.equal(only(rest).body.toString(), 'c')
    assert.deepEqual(await store.receipts.take(2, FAR_MS), [])
  })

  rule('gives out again what was taken by somebody who never came back', async (bench) => {
    const { store, advance } = bench
    const { id } = await taken(bench, 5)

    await advance(10)

    const again = only(await store.receipts.take(5, FAR_MS))
    assert.deepEqual([again.id, again.attemptCount], [id, 2])
  })

  rule('never gives one callback to two that ask at the same time', async (bench) => {
    const { store, another } = bench
    for (let i = 0; i < 12; i++) await store.receipts.keep(callback(bench, { body: Buffer.from(`${i}`) }))
    const other = await another()

    const taken = await Promise.all([store, other, store, other].map(({ receipts }) => receipts.take(4, FAR_MS)))

    const ids = taken.flat().map(({ id }) => id)
    assert.equal(new Set(ids).size, ids.length)
    const rest = await store.receipts.take(12, FAR_MS)
    assert.equal(ids.length + rest.length, 12)
  })

  rule('is done with a callback that was applied, and keeps what it came to', async (bench) => {
    const { store, advance } = bench
    const { id } = await taken(bench, 5)

    await store.receipts.settle(id, result({ reports: 3, matched: 2, moved: 1, unreadable: 4 }))

    await advance(10)
    assert.deepEqual(await store.receipts.take(10, FAR_MS), [])
    const kept = only((await store.receipts.callbacks({}, { limit: 10 })).items)
    assert.deepEqual([kept.status, kept.result], ['applied', { reports: 3, matched: 2, moved: 1, unreadable: 4 }])
  })

  rule('brings a callback that has to wait back after its delay', async (bench) => {
    const { store, advance } = bench
    const [soon, later] = [await taken(bench, FAR_MS), await taken(bench, FAR_MS)]

    await store.receipts.settle(soon.id, result({ status: 'pending', delayMs: 5 }))
    await store.receipts.settle(later.id, result({ status: 'pending', delayMs: FAR_MS }))

    await advance(10)
    const again = only(await store.receipts.take(10, FAR_MS))
    assert.deepEqual([again.id, again.attemptCount, again.result?.reports], [soon.id, 2, 1])
  })

  rule('reads a callback again when it is asked to, on record', async (bench) => {
    const { store } = bench
    for (const status of ['applied', 'unmatched'] as const) {
      const { id } = await taken(bench, FAR_MS)
      await store.receipts.settle(id, result({ status }))

      assert.equal(await store.receipts.replay(id, 'key:ada'), true)

      const again = only(await store.receipts.take(10, FAR_MS))
      assert.deepEqual([again.id, again.status, again.attemptCount], [id, 'pending', 1])
    }
    for (const unknown of [999_999, -1, 0.5, Number.NaN, 2 ** 60])
      assert.equal(await store.receipts.replay(unknown, 'key:ada'), false)
  })

  rule('lists callbacks, the newest first, by source, tenant and status', async (bench) => {
    const { store } = bench
    for (const [source, tenantId] of [
      ['meta', 'acme'],
      ['ses', null],
      ['meta', 'other'],
      ['meta', 'acme'],
    ] as const)
      await store.receipts.keep(callback(bench, { source, tenantId }))
    const applied = at(await store.receipts.take(1, FAR_MS), 0)
    await store.receipts.settle(applied.id, result({}))
    const ids = async (filter: Parameters<typeof store.receipts.callbacks>[0]): Promise<number[]> =>
      (await allPages((page) => store.receipts.callbacks(filter, page), 2)).map(({ id }) => id)
    const all = await ids({})

    assert.equal(all.length, 4)
    assert.deepEqual(
      all,
      all.toSorted((a, b) => b - a),
    )
    assert.equal((await ids({ source: 'meta' })).length, 3)
    assert.equal((await ids({ tenantId: 'acme' })).length, 2)
    assert.deepEqual(await ids({ status: 'applied' }), [applied.id])
    assert.equal((await ids({ source: 'meta', tenantId: 'acme', status: 'pending' })).length, 1)
    await assert.rejects(store.receipts.callbacks({}, { limit: 2, cursor: 'nonsense' }), { code: 'invalid_query' })
  })

  rule('lists as much of the bodies as is asked for, and how long they are', async (bench) => {
    const { store } = bench
    const lengths = [0, 1, 2, 3, 4, 100]
    for (const length of lengths) await store.receipts.keep(callback(bench, { body: Buffer.alloc(length, 'é') }))

    for (const bodyBytes of [0, 1, 2, 3, 50, undefined]) {
      const { items } = await store.receipts.callbacks({}, { limit: 10 }, bodyBytes)
      const expected = lengths.toReversed().map((size) => [size, Buffer.alloc(size, 'é').subarray(0, bodyBytes)])
      assert.deepEqual(
        items.map(({ size, body }) => [size, body]),
        expected,
      )
    }
  })

  rule('tells what the newest callbacks about accounts ask somebody to do', async (bench) => {
    const { store } = bench
    const keep = (accountIds: string[], note?: string) =>
      store.receipts.keep(callback(bench, { accountIds, ...(note !== undefined && { note }) }))
    await keep(['noted-1', 'noted-2'], 'an older one')
    await keep(['noted-1'], 'a newer one')
    await keep(['noted-1', 'plain-1'])

    const notes = await store.receipts.notes(['plain-1', 'noted-1', 'noted-2', 'noted-'])

    assert.deepEqual(
      [...notes].toSorted(([a], [b]) => a.localeCompare(b)),
      [
        ['noted-1', 'a newer one'],
        ['noted-2', 'an older one'],
      ],
    )
    assert.deepEqual([...(await store.receipts.notes([]))], [])
    const listed = (await store.receipts.callbacks({}, { limit: 3 })).items
    assert.deepEqual(
      listed.map(({ note }) => note),
      [null, 'a newer one', 'an older one'],
    )
  })

  rule('counts what was not believed, by source, tenant and cause', async (bench) => {
    const { store } = bench
    const before = await store.now()
    const forged = { source: 'meta', tenantId: 'acme', why: 'signature_wrong', count: 2 }

    await store.receipts.countRefused([])
    await store.receipts.countRefused([forged, { ...forged, tenantId: null }, { ...forged, count: 5 }])
    await store.receipts.countRefused([
      { ...forged, count: 1 },
      { ...forged, why: 'replayed', count: 3 },
    ])

    const refused = await store.receipts.refused()
    assert.deepEqual(
      refused.map(({ lastAt: _lastAt, ...counted }) => counted),
      [
        { ...forged, tenantId: null, count: 2 },
        { ...forged, why: 'replayed', count: 3 },
        { ...forged, count: 8 },
      ],
    )
    for (const { lastAt } of refused) assertBetween(lastAt, before, await store.now())
  })

  rule('loses no count when several processes add to it at once', async (bench) => {
    const { store, another } = bench
    const other = await another()
    const counts = ['a', 'b', 'c'].map((why) => ({ source: 'ses', tenantId: null, why, count: 1 }))

    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (i % 2 ? store : other).receipts.countRefused(i % 3 ? counts : counts.toReversed()),
      ),
    )

    assert.deepEqual(
      (await store.receipts.refused()).map(({ count }) => count),
      [20, 20, 20],
    )
  })
}

/** Each with a body of its own, unless one is given. */
function callback({ newId }: Bench, changes: Partial<NewCallback> = {}): NewCallback {
  const body = Buffer.from(JSON.stringify({ id: newId() }))
  return { source: 'meta', tenantId: 'acme', accountIds: ['account-1'], headers: {}, body, ...changes }
}

async function taken(bench: Bench, leaseMs: number): Promise<{ id: number }> {
  await bench.store.receipts.keep(callback(bench))
  return only(await bench.store.receipts.take(10, leaseMs))
}

function result(changes: Partial<CallbackResult>): CallbackResult {
  return { reports: 1, matched: 0, moved: 0, unreadable: 0, status: 'applied', delayMs: 0, ...changes }
}
