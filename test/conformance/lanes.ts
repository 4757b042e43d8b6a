import assert from 'node:assert/strict'
import type { LaneView } from '../../packages/pillarbox/src/dispatch/lane-store.ts'
import { type Bench, FAR_MS, type Lane, only, type Rule } from './fixtures.ts'

/** What all workers agree on about an account: its pace, its holds, its breaker. */
export function laneRules(rule: Rule): void {
  paceRules(rule)
  holdRules(rule)
  breakerRules(rule)
}

function paceRules(rule: Rule): void {
  rule('a fresh bucket holds its burst and not one token more', async ({ store, lane, advance }) => {
    const { id } = await lane()
    const pace = { perSecond: 0.001, burst: 5 }
    await advance(20)

    const first = only(await store.lanes.take([{ accountId: id, want: 3, pace }]))
    const second = only(await store.lanes.take([{ accountId: id, want: 100, pace }]))
    const third = only(await store.lanes.take([{ accountId: id, want: 1, pace }]))

    assert.deepEqual([first.granted, second.granted, third.granted], [3, 2, 0])
    assert.ok(third.waitMs > 0)
  })

  rule('an idle bucket never holds more than its burst', async ({ store, lane, advance }) => {
    const { id } = await lane()
    const pace = { perSecond: 1_000, burst: 5 }
    await store.lanes.take([{ accountId: id, want: 5, pace }])
    await advance(50)

    const { granted } = only(await store.lanes.take([{ accountId: id, want: 100, pace }]))

    assert.equal(granted, 5)
  })

  rule('an empty bucket says how long to wait, and then it is true', async ({ store, lane, advance }) => {
    const { id } = await lane()
    const pace = { perSecond: 50, burst: 1 }
    await store.lanes.take([{ accountId: id, want: 1, pace }])

    // Retaken until it is refused: on an engine with real time the token may have flowed in meanwhile.
    let refused = only(await store.lanes.take([{ accountId: id, want: 1, pace }]))
    for (let i = 0; i < 50 && refused.granted > 0; i++)
      refused = only(await store.lanes.take([{ accountId: id, want: 1, pace }]))
    assert.equal(refused.granted, 0)
    assert.ok(refused.waitMs > 0 && refused.waitMs <= 21, `${refused.waitMs} ms`)
    await advance(refused.waitMs + 1)

    assert.equal(only(await store.lanes.take([{ accountId: id, want: 1, pace }])).granted, 1)
  })

  rule('grants whole tokens, as many as flowed in, to many takers at once', async ({ store, lane, advance }) => {
    const { id } = await lane()
    const pace = { perSecond: 200, burst: 100 }
    const round = async (): Promise<number> => {
      const takes = Array.from({ length: 8 }, () => store.lanes.take([{ accountId: id, want: 30, pace }]))
      const grants = (await Promise.all(takes)).flat()
      for (const { granted } of grants) assert.ok(Number.isInteger(granted) && granted >= 0 && granted <= 30)
      return grants.reduce((total, { granted }) => total + granted, 0)
    }

    const before = await store.now()
    let total = await round()
    const drained = await store.now()
    let lastRoundAt = drained
    for (let i = 0; i < 5; i++) {
      await advance(13)
      lastRoundAt = await store.now()
      total += await round()
    }
    const after = await store.now()

    const most = pace.burst + (pace.perSecond * (after - before + 2)) / 1_000
    const least = pace.burst + (pace.perSecond * (lastRoundAt - drained - 2)) / 1_000 - 1
    assert.ok(total <= most, `${total} granted where at most ${most} could be`)
    assert.ok(total >= least, `${total} granted where at least ${least} were there`)
  })

  rule('buckets of several lanes are taken from in one call, each on its own', async ({ store, lane }) => {
    const [a, b] = [await lane(), await lane()]
    const pace = { perSecond: 0.001, burst: 4 }
    await store.lanes.take([{ accountId: a.id, want: 3, pace }])

    const grants = await store.lanes.take([
      { accountId: b.id, want: 4, pace },
      { accountId: a.id, want: 4, pace },
    ])

    const granted = new Map(grants.map((grant) => [grant.accountId, grant.granted]))
    assert.equal(grants.length, 2)
    assert.deepEqual([granted.get(a.id), granted.get(b.id)], [1, 4])
  })

  rule('takers of several lanes in any order do not wait for each other for ever', async ({ store, lane }) => {
    const lanes = [await lane(), await lane(), await lane()]
    const pace = { perSecond: 0.001, burst: 50 }
    const requests = lanes.map(({ id }) => ({ accountId: id, want: 5, pace }))

    const grants = await Promise.all(
      Array.from({ length: 12 }, (_, i) => store.lanes.take(i % 2 ? requests : requests.toReversed())),
    )

    for (const { id } of lanes) {
      const granted = grants.flat().filter(({ accountId }) => accountId === id)
      assert.equal(
        granted.reduce((total, grant) => total + grant.granted, 0),
        50,
      )
    }
  })

  rule('taking nothing, or from no lane, takes nothing', async ({ store, lane }) => {
    const { id } = await lane()
    const pace = { perSecond: 0.001, burst: 2 }

    assert.deepEqual(await store.lanes.take([]), [])
    assert.equal(only(await store.lanes.take([{ accountId: id, want: 0, pace }])).granted, 0)
    assert.equal(only(await store.lanes.take([{ accountId: id, want: 5, pace }])).granted, 2)
  })

  rule('tokens given back can be taken again, but never fill the bucket beyond its burst', async ({ store, lane }) => {
    const { id } = await lane()
    const pace = { perSecond: 0.001, burst: 5 }
    const take = async (want: number): Promise<number> =>
      only(await store.lanes.take([{ accountId: id, want, pace }])).granted
    await take(4)

    await store.lanes.giveBack(id, 2, pace)
    assert.equal(await take(10), 3)
    await store.lanes.giveBack(id, 100, pace)

    assert.equal(await take(10), 5)
  })
}

function holdRules(rule: Rule): void {
  rule('nothing of a lane on hold is claimed or due, while other lanes go on', async (bench) => {
    const { store, lane, enqueue, worker, claim } = bench
    const [held, free] = [await lane(), await lane()]
    await enqueue(held)
    await enqueue(free)

    await store.lanes.hold(held.id, FAR_MS, '429 from the provider')

    const by = await worker()
    assert.deepEqual(await dueIds(bench), [free.id])
    assert.deepEqual(await claim(by, held), [])
    assert.equal((await claim(by, free)).length, 1)
    const { heldForMs, holdReason, breaker } = await laneView(bench, held)
    assert.ok(heldForMs > FAR_MS - 60_000 && heldForMs <= FAR_MS + 1, `${heldForMs} ms`)
    assert.deepEqual([holdReason, breaker], ['429 from the provider', 'closed'])
  })

  rule('a hold ends by itself', async (bench) => {
    const { store, lane, enqueue, worker, claim, advance } = bench
    const held = await lane()
    await enqueue(held)
    await store.lanes.hold(held.id, 20, '429')
    await advance(30)

    assert.deepEqual(await dueIds(bench), [held.id])
    assert.equal((await laneView(bench, held)).heldForMs, 0)
    assert.equal((await claim(await worker(), held)).length, 1)
  })

  rule('a longer hold in place stays, a shorter one is prolonged', async (bench) => {
    const { store, lane } = bench
    const [long, short] = [await lane(), await lane()]
    await store.lanes.hold(long.id, FAR_MS, 'long')
    await store.lanes.hold(short.id, 10, 'short')

    await store.lanes.hold(long.id, 10, 'short')
    await store.lanes.hold(short.id, FAR_MS, 'long')

    for (const lane of [long, short]) {
      const { heldForMs, holdReason } = await laneView(bench, lane)
      assert.ok(heldForMs > FAR_MS - 60_000, `${heldForMs} ms`)
      assert.equal(holdReason, 'long')
    }
  })
}

function breakerRules(rule: Rule): void {
  rule('a lane begins with its breaker closed and no hold', async (bench) => {
    const lane = await bench.lane({ channel: 'sms' })

    assert.deepEqual(await laneView(bench, lane), {
      accountId: lane.id,
      tenantId: lane.tenantId,
      channel: 'sms',
      status: 'active',
      breaker: 'closed',
      heldForMs: 0,
      holdReason: null,
    })
    assert.equal(await bench.store.lanes.probe(lane.id, FAR_MS), false)
  })

  rule('an open breaker stops the lane and is not probed before its time', async (bench) => {
    const { store, enqueue, worker, claim } = bench
    const lane = await bench.lane()
    await enqueue(lane)

    await store.lanes.openBreaker(lane.id, FAR_MS, '5 failures in a row')

    const view = await laneView(bench, lane)
    assert.equal(view.breaker, 'open')
    assert.ok(view.heldForMs > FAR_MS - 60_000)
    assert.equal(await store.lanes.probe(lane.id, FAR_MS), false)
    assert.deepEqual(await claim(await worker(), lane), [])
    assert.deepEqual(await dueIds(bench), [])
  })

  rule('an open breaker stays open after its hold: the lane is due, and gives only to a probe', async (bench) => {
    const { store, worker, claim } = bench
    const lane = await openedBreaker(bench)
    const by = await worker()

    assert.deepEqual(await store.dispatch.dueLanes(null, 10), [
      { accountId: lane.id, channel: 'email', breaker: 'open' },
    ])
    assert.deepEqual(await claim(by, lane), [])
    const probe = await store.dispatch.claim(by, [{ accountId: lane.id, limit: 1, probe: true }])

    assert.ok(!probe.fenced)
    assert.equal(probe.claims.length, 1)
  })

  rule('exactly one caller wins the probe', async (bench) => {
    const { store, worker, claim } = bench
    const lane = await openedBreaker(bench)

    const answers = await Promise.all(Array.from({ length: 8 }, () => store.lanes.probe(lane.id, FAR_MS)))

    assert.equal(answers.filter(Boolean).length, 1)
    assert.equal((await laneView(bench, lane)).breaker, 'half_open')
    assert.equal(await store.lanes.probe(lane.id, FAR_MS), false)
    assert.deepEqual(await claim(await worker(), lane), [], 'others wait for the probe')
    const probe = await store.dispatch.claim(await worker(), [{ accountId: lane.id, limit: 1, probe: true }])
    assert.ok(!probe.fenced && probe.claims.length === 1)
  })

  rule('a probe that does not report within its lease is given to exactly one other', async (bench) => {
    const { store, worker, claim, advance } = bench
    const lane = await openedBreaker(bench)
    assert.equal(await store.lanes.probe(lane.id, 20), true)
    await advance(30)
    assert.deepEqual(await claim(await worker(), lane), [], 'a lane is not sound because nobody said otherwise')

    const answers = await Promise.all(Array.from({ length: 5 }, () => store.lanes.probe(lane.id, FAR_MS)))

    assert.equal(answers.filter(Boolean).length, 1)
  })

  rule('a probe that fails opens the breaker again', async (bench) => {
    const { store } = bench
    const lane = await openedBreaker(bench)
    assert.equal(await store.lanes.probe(lane.id, FAR_MS), true)

    await store.lanes.openBreaker(lane.id, FAR_MS, 'still down')

    assert.equal((await laneView(bench, lane)).breaker, 'open')
    assert.equal(await store.lanes.probe(lane.id, FAR_MS), false)
  })

  rule('closing the breaker ends it and every hold', async (bench) => {
    const { store, worker, claim } = bench
    const lane = await openedBreaker(bench)
    await store.lanes.hold(lane.id, FAR_MS, '429')

    await store.lanes.closeBreaker(lane.id)

    const { breaker, heldForMs } = await laneView(bench, lane)
    assert.deepEqual([breaker, heldForMs], ['closed', 0])
    assert.deepEqual(await dueIds(bench), [lane.id])
    assert.equal((await claim(await worker(), lane)).length, 1)
  })

  rule('one lane’s breaker is no other’s', async (bench) => {
    const { store, enqueue, worker, claim } = bench
    const [broken, sound] = [await bench.lane(), await bench.lane()]
    await enqueue(sound)

    await store.lanes.openBreaker(broken.id, FAR_MS, 'down')

    assert.equal((await laneView(bench, sound)).breaker, 'closed')
    assert.equal((await claim(await worker(), sound)).length, 1)
  })

  rule('lists a lane with the status of its account', async (bench) => {
    const lane = await bench.lane()

    for (const status of ['paused', 'suspended', 'active'] as const) {
      await bench.store.accounts.setStatus(lane.id, status, null, 'key:ada')
      assert.equal((await laneView(bench, lane)).status, status)
    }
  })

  rule('lists the lanes of one tenant, or of all', async ({ store, lane }) => {
    const [a, b] = [await lane(), await lane()]
    const c = await lane({ tenantId: a.tenantId, channel: 'sms' })
    const ids = async (tenantId: string | null): Promise<string[]> =>
      (await store.lanes.list(tenantId)).map(({ accountId }) => accountId).sort()

    assert.deepEqual(await ids(a.tenantId), [a.id, c.id].sort())
    assert.deepEqual(await ids(b.tenantId), [b.id])
    assert.deepEqual(await ids(null), [a.id, b.id, c.id].sort())
    assert.deepEqual(await ids('unknown'), [])
  })
}

/** A lane with one due row whose breaker's hold has just ended. */
async function openedBreaker(bench: Bench): Promise<Lane> {
  const lane = await bench.lane()
  await bench.enqueue(lane)
  await bench.store.lanes.openBreaker(lane.id, 20, 'down')
  await bench.advance(30)
  return lane
}

async function laneView({ store }: Bench, lane: Lane): Promise<LaneView> {
  return only((await store.lanes.list(lane.tenantId)).filter(({ accountId }) => accountId === lane.id))
}

async function dueIds({ store }: Bench): Promise<string[]> {
  return (await store.dispatch.dueLanes(null, 100)).map(({ accountId }) => accountId)
}
