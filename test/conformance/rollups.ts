import assert from 'node:assert/strict'
import type { Dimension, RollupTally } from '../../packages/pillarbox/src/model/rollup.ts'
import type { RollupNumbers, RollupQuery } from '../../packages/pillarbox/src/operate/rollup-store.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { bornSkipped, completion, FAR_MS, only, type Rule, receiptOf } from './fixtures.ts'

/** Sums are what a count gives: that is looked at after every rule of the suite (`assertCounted`). These say the rest. */
export function rollupRules(rule: Rule): void {
  rule('tells what stands where by every dimension, before and after it is folded', async (bench) => {
    const { store } = bench
    const [mine, theirs] = [await bench.lane({ channel: 'sms' }), await bench.lane()]
    const of = { site: 'mill-3', eventType: 'trip.late' }
    await bench.enqueue(mine, 2, of)
    await bench.enqueue(theirs, 1)
    const eventId = 'e'
    await store.notifications.insert([bench.notification(mine, bornSkipped(eventId, '0'))])
    const seen = async () => ({
      total: await standing(store, mine.tenantId, 'total'),
      all: await standing(store, null, 'total'),
      channels: await standing(store, mine.tenantId, 'channel'),
      accounts: await standing(store, mine.tenantId, 'accountId'),
      sites: await standing(store, mine.tenantId, 'site'),
      types: await standing(store, mine.tenantId, 'eventType'),
      tenants: await standing(store, null, 'tenantId'),
    })
    const expected = {
      total: { '': { live: 2, skipped: 1 } },
      all: { '': { live: 3, skipped: 1 } },
      channels: { sms: { live: 2, skipped: 1 } },
      accounts: { [mine.id]: { live: 2 }, '': { skipped: 1 } },
      sites: { 'mill-3': { live: 2 }, '': { skipped: 1 } },
      types: { 'trip.late': { live: 2 }, '': { skipped: 1 } },
      tenants: { [mine.tenantId]: { live: 2, skipped: 1 }, [theirs.tenantId]: { live: 1 } },
    }

    const before = await seen()
    assert.equal(await store.rollups.fold(1), 1)
    const between = await seen()
    while ((await store.rollups.fold(100)) > 0);

    assert.deepEqual([before, between, await seen()], [expected, expected, expected])
  })

  rule('tells due from scheduled and stuck, and since when the oldest is due', async (bench) => {
    const { store, enqueue, advance } = bench
    const lane = await bench.lane()
    const now = await store.now()
    await enqueue(lane)
    const later = only(await enqueue(lane, 1, { dueAt: now + FAR_MS }))
    const numbers = async (stuckForMs = FAR_MS) => only(await read(store, { tenantId: lane.tenantId, stuckForMs }))
    await advance(2)

    for (const isFolded of [false, true]) {
      if (isFolded) while ((await store.rollups.fold(100)) > 0);
      const { scheduled, stuck, oldestDueSecond } = await numbers()
      assert.deepEqual([scheduled, stuck], [1, 0])
      assert.ok(oldestDueSecond !== null && Math.abs(oldestDueSecond - now / 1_000) <= 2)
      assert.equal((await numbers(-FAR_MS / 2)).stuck, 1, 'what is due before the time that is named is stuck')
    }

    await store.notifications.act({ tenantId: lane.tenantId, id: later, action: 'cancel', actor: 'key:ada' })
    assert.equal((await numbers()).scheduled, 0)
  })

  rule('tells what was sent and delivered in the last seconds, and how long it took', async (bench) => {
    const { store, enqueue } = bench
    const lane = await bench.lane()
    const by = await bench.worker()
    const wantedAt = (await store.now()) - 5_000
    const ids = await enqueue(lane, 2, { provider: 'ses', wantedAt })
    for (const provider of ['ses', 'smtp']) {
      const claim = only(await bench.claim(by, lane))
      await store.dispatch.complete(by, [completion(claim, 'sent', { provider })])
    }
    const window = async (): Promise<RollupTally> => only(await read(store, { tenantId: lane.tenantId })).window

    const { created, sent, delivered, ...latencies } = await window()
    assert.deepEqual(
      [created, sent, delivered],
      [2, 2, 1],
      'what no receipt can tell of is delivered when it is accepted',
    )
    assert.ok(
      Object.keys(latencies).every((name) => /^eventToSent\.(?:8\d|9\d)$/.test(name)),
      JSON.stringify(latencies),
    )

    await store.receipts.merge(receiptOf(lane, ids[0] ?? '', 'delivered', { provider: 'ses' }))
    await store.receipts.merge(receiptOf(lane, ids[0] ?? '', 'read', { provider: 'ses' }))
    const after = await window()
    assert.deepEqual([after['delivered'], after['read']], [2, 1])
    assert.ok(Object.keys(after).some((name) => name.startsWith('sentToDelivered.')))
  })

  rule('tells a range in steps, which add up to the whole', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    await bench.enqueue(lane, 3)
    const minute = Math.floor((await store.now()) / 60_000) * 60
    const range = { from: minute - 600, to: minute + 120, finest: 60, step: 60 }

    for (const isFolded of [false, true]) {
      if (isFolded) while ((await store.rollups.fold(100)) > 0);
      const numbers = only(await read(store, { tenantId: lane.tenantId, range }))
      const steps = [...numbers.series.values()].map((tally) => tally['created'] ?? 0)
      assert.deepEqual([numbers.range['created'], steps.reduce((a, b) => a + b, 0)], [3, 3])
    }
  })

  rule(
    'one at a time folds; a rebuild meanwhile is refused a second, and mends nothing that is right',
    async (bench) => {
      const { store, newId, enqueue } = bench
      const lane = await bench.lane()
      await enqueue(lane, 20)
      const other = await bench.another()

      const folded = await Promise.all([
        store.rollups.fold(1_000),
        other.rollups.fold(1_000),
        store.rollups.fold(1_000),
      ])
      assert.equal(
        folded.reduce((a, b) => a + b, 0),
        1,
        'the one delta was folded once',
      )
      let seen = 0
      // Either may be the one that is refused.
      const see = (counted: number): void => {
        seen = Math.max(seen, counted)
      }
      const rebuilt = await Promise.all([store, other].map(({ rollups }) => rollups.rebuild(newId(), see)))

      assert.ok(rebuilt.some((each) => each?.mended === 0 && each.notifications === 20))
      assert.ok(rebuilt.every((each) => each === null || each.mended === 0))
      assert.equal(seen, 20)
    },
  )

  rule('a rebuild while others write leaves what a count gives', async (bench) => {
    const { store, newId, enqueue } = bench
    const lane = await bench.lane()
    await enqueue(lane, 50)

    const rebuilding = store.rollups.rebuild(newId(), () => {})
    await Promise.all([enqueue(lane, 5), store.rollups.fold(10), enqueue(lane, 5), store.rollups.fold(10)])
    assert.notEqual(await rebuilding, null)

    assert.deepEqual(await standing(store, lane.tenantId, 'total'), { '': { live: 60 } })
  })

  rule('forgets times that are no longer kept, and nothing else', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const by = await bench.worker()
    await bench.enqueue(lane, 2)
    // A call that ended three hours ago, the result of which is written only now.
    const long = 3 * 3_600_000
    const old = completion(only(await bench.claim(by, lane)), 'sent', { ageMs: long, durationMs: 5 })
    await store.dispatch.complete(by, [old])
    while ((await store.rollups.fold(100)) > 0);

    assert.ok((await store.rollups.prune(100)) > 0)
    assert.equal(await store.rollups.prune(100), 0)

    assert.deepEqual(await standing(store, lane.tenantId, 'total'), { '': { live: 1, sent: 1 } })
  })
}

async function read(store: Store, changes: Partial<RollupQuery>): Promise<RollupNumbers[]> {
  const query = { tenantId: null, dimensions: ['total'], stuckForMs: FAR_MS, windowSeconds: 60, range: null } as const
  const reading = await store.rollups.read({ ...query, ...changes })
  assert.ok(reading, 'nothing is counted')
  return reading.numbers
}

async function standing(
  store: Store,
  tenantId: string | null,
  dimension: Dimension,
): Promise<Record<string, RollupTally>> {
  const numbers = await read(store, { tenantId, dimensions: [dimension] })
  const some = numbers.filter((each) => Object.keys(each.standing).length > 0)
  return Object.fromEntries(some.map((each) => [each.value, each.standing]))
}
