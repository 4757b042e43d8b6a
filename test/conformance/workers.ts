import assert from 'node:assert/strict'
import type { Claim } from '../../packages/pillarbox/src/dispatch/dispatch-store.ts'
import { assertBetween, at, type Bench, completion, FAR_MS, type Lane, only, type Rule } from './fixtures.ts'

/** Workers are seen, missed and rescued; what a dead one held is taken over under a new token. */
export function workerRules(rule: Rule): void {
  rule('a registered worker is seen with all that it said', async ({ store, newId }) => {
    const before = await store.now()
    const given = { id: newId(), host: 'a.example', pid: 42, version: '1.2.3', channels: ['sms', 'email'] as const }
    await store.workers.register(given)
    await store.workers.register({ ...given, id: newId(), channels: null })

    const workers = await store.workers.list()

    const { startedAt, beatAt, silentForMs, ...worker } = only(workers.filter(({ id }) => id === given.id))
    assert.deepEqual(worker, { ...given, channels: ['sms', 'email'], inFlight: 0 })
    for (const at of [startedAt, beatAt]) assertBetween(at, before, await store.now())
    assert.ok(silentForMs >= 0)
    assert.equal(workers.length, 2)
    assert.equal(only(workers.filter(({ id }) => id !== given.id)).channels, null)
  })

  rule('a beat ends a worker’s silence', async (bench) => {
    const { store, worker, advance } = bench
    const id = await worker()
    await advance(40)
    assert.ok((await seen(bench, id)).silentForMs >= 39)
    const before = await store.now()

    assert.equal(await store.workers.beat(id), true)

    const { silentForMs } = await seen(bench, id)
    assert.ok(silentForMs <= (await store.now()) - before + 1, `${silentForMs} ms`)
  })

  rule('a beat of a worker that never was, or has left, says so', async ({ store, worker, newId }) => {
    const id = await worker()
    await store.workers.remove(id)

    assert.equal(await store.workers.beat(newId()), false)
    assert.equal(await store.workers.beat(id), false)
    assert.deepEqual(await store.workers.list(), [])
  })

  rule('shows how many calls a worker said it had under way', async (bench) => {
    const { store, worker } = bench
    const by = await worker()
    assert.equal((await seen(bench, by)).inFlight, 0)

    await store.workers.beat(by, 3)

    assert.equal((await seen(bench, by)).inFlight, 3)
  })

  rule('takes over nothing from a worker that is alive', async (bench) => {
    const { store, worker } = bench
    const { by, claims } = await holding(bench, 2)
    const rescuer = await worker()

    assert.deepEqual(await store.workers.takeOver(rescuer, FAR_MS, 10), [])

    assert.equal(await store.workers.beat(by), true)
    const { fenced } = await store.dispatch.complete(
      by,
      claims.map((claim) => completion(claim, 'sent')),
    )
    assert.deepEqual(fenced, [])
  })

  rule('never takes over a worker’s own claims', async (bench) => {
    const { store, advance, view } = bench
    const { by, claims } = await holding(bench, 2)
    await advance(20)

    assert.deepEqual(await store.workers.takeOver(by, 1, 10), [])

    const { fenced } = await store.dispatch.complete(
      by,
      claims.map((claim) => completion(claim, 'sent')),
    )
    assert.deepEqual(fenced, [])
    for (const { notificationId } of claims) assert.equal((await view(notificationId)).status, 'sent')
  })

  rule('takes over what a silent worker held, each row under a new token and the same attempt', async (bench) => {
    const { store, worker, advance, view } = bench
    const { claims } = await holding(bench, 3)
    await advance(30)
    const rescuer = await worker()

    const taken = await store.workers.takeOver(rescuer, 20, 10)

    const old = new Map(claims.map((claim) => [claim.notificationId, claim]))
    assert.deepEqual(taken.map(({ notificationId }) => notificationId).sort(), [...old.keys()].sort())
    for (const claim of taken) {
      const before = old.get(claim.notificationId)
      const { token: oldToken, claimedAt: _, ...rest } = before ?? assert.fail()
      const { token, claimedAt: __, ...now } = claim
      assert.notEqual(token, oldToken)
      assert.deepEqual(now, rest)
      assert.equal((await view(claim.notificationId)).status, 'sending')
    }
    assert.deepEqual(await store.workers.takeOver(await worker(), FAR_MS, 10), [], 'nothing is left to take over')
  })

  rule('a worker declared dead is told so: it cannot beat, claim or report', async (bench) => {
    const { store, enqueue, view } = bench
    const { by, claims, lane, taken } = await rescued(bench)
    await enqueue(lane)

    assert.equal(await store.workers.beat(by), false)
    assert.deepEqual(await store.dispatch.claim(by, [{ accountId: lane.id, limit: 1 }]), { fenced: true })
    const { fenced } = await store.dispatch.complete(
      by,
      claims.map((claim) => completion(claim, 'sent')),
    )

    assert.deepEqual(fenced.toSorted(), claims.map(({ notificationId }) => notificationId).toSorted())
    for (const { notificationId } of taken) {
      assert.equal((await view(notificationId)).status, 'sending')
      assert.ok((await store.notifications.attempts(notificationId)).every(({ late }) => late))
    }
  })

  rule('a dead worker’s release does not free what was taken over', async (bench) => {
    const { store, view } = bench
    const { by, claims, rescuer, taken } = await rescued(bench)

    await store.dispatch.release(by, claims)

    for (const { notificationId } of claims) assert.equal((await view(notificationId)).status, 'sending')
    const { fenced } = await store.dispatch.complete(
      rescuer,
      taken.map((claim) => completion(claim, 'sent')),
    )
    assert.deepEqual(fenced, [])
  })

  rule('what was taken over cannot be given back: its call may have been made', async (bench) => {
    const { store, view } = bench
    const { rescuer, taken } = await rescued(bench)

    await store.dispatch.release(rescuer, taken)

    for (const { notificationId } of taken) assert.equal((await view(notificationId)).status, 'sending')
    const { fenced } = await store.dispatch.complete(
      rescuer,
      taken.map((claim) => completion(claim, 'uncertain')),
    )
    assert.deepEqual(fenced, [])
  })

  rule('a dead worker registers anew and works on', async (bench) => {
    const { store, enqueue, claim, newId } = bench
    const { lane } = await rescued(bench)
    await enqueue(lane)
    const id = newId()

    await store.workers.register({ id, host: 'host', pid: 1, version: '0.0.0', channels: null })

    assert.equal(await store.workers.beat(id), true)
    assert.equal((await claim(id, lane)).length, 1)
  })

  rule('what was taken over is settled as unknown under the old attempt’s number', async (bench) => {
    const { store, view } = bench
    const { by, claims, rescuer, taken } = await rescued(bench)
    const claim = at(taken, 0)
    const late = claims.find(({ notificationId }) => notificationId === claim.notificationId) ?? assert.fail()

    const unknown = { outcome: 'unknown', code: 'worker_lost', possibleDuplicate: true } as const
    await store.dispatch.complete(rescuer, [completion(claim, 'retrying', unknown)])
    await store.dispatch.complete(by, [completion(late, 'sent', { providerMessageId: 'after-all' })])

    const attempts = await store.notifications.attempts(claim.notificationId)
    assert.deepEqual(
      attempts
        .map(({ number, outcome, late, workerId }) => [number, outcome, late, workerId])
        .sort((a, b) => Number(a[2]) - Number(b[2])),
      [
        [1, 'unknown', false, rescuer],
        [1, 'accepted', true, by],
      ],
    )
    const { status, possibleDuplicate } = await view(claim.notificationId)
    assert.deepEqual([status, possibleDuplicate], ['retrying', true])
  })

  rule('a rescuer that dies is rescued in turn', async (bench) => {
    const { store, worker, advance } = bench
    const { rescuer, taken } = await rescued(bench)
    await advance(30)
    const second = await worker()

    const again = await store.workers.takeOver(second, 20, 10)

    assert.deepEqual(ids(again), ids(taken))
    for (const { token } of again) assert.ok(taken.every((claim) => claim.token !== token))
    const stale = await store.dispatch.complete(
      rescuer,
      taken.map((claim) => completion(claim, 'sent')),
    )
    assert.deepEqual(stale.fenced.toSorted(), ids(taken))
    const good = await store.dispatch.complete(
      second,
      again.map((claim) => completion(claim, 'sent')),
    )
    assert.deepEqual(good.fenced, [])
  })

  rule('takes over at most the limit, and the rest with the next call', async (bench) => {
    const { store, worker, advance } = bench
    const { claims } = await holding(bench, 5)
    await advance(30)
    const rescuer = await worker()

    const rounds: Claim[][] = []
    for (let i = 0; i < 4; i++) rounds.push(await store.workers.takeOver(rescuer, 20, 2))

    assert.deepEqual(
      rounds.map(({ length }) => length),
      [2, 2, 1, 0],
    )
    assert.deepEqual(ids(rounds.flat()), ids(claims))
  })

  rule('what a worker that left still held can be taken over at once', async (bench) => {
    const { store, worker, view } = bench
    const { by, claims } = await holding(bench, 2)
    const rescuer = await worker()

    await store.workers.remove(by)

    for (const { notificationId } of claims) assert.equal((await view(notificationId)).status, 'sending')
    assert.deepEqual(ids(await store.workers.takeOver(rescuer, FAR_MS, 10)), ids(claims))
  })

  rule('takes over only from the worker that is gone, not from its neighbours', async (bench) => {
    const { store, worker } = bench
    const [gone, alive] = [await holding(bench, 2), await holding(bench, 2)]
    const rescuer = await worker()
    await store.workers.remove(gone.by)

    const taken = await store.workers.takeOver(rescuer, FAR_MS, 10)

    assert.deepEqual(ids(taken), ids(gone.claims))
    assert.equal(await store.workers.beat(alive.by), true)
    const { fenced } = await store.dispatch.complete(
      alive.by,
      alive.claims.map((claim) => completion(claim, 'sent')),
    )
    assert.deepEqual(fenced, [])
  })

  rule('rescuers at work at the same time take over each row once', async (bench) => {
    const { store, worker } = bench
    const { by, claims } = await holding(bench, 20)
    await store.workers.remove(by)
    const rescuers = [await worker(), await worker(), await worker(), await worker()]
    const rescue = async (rescuer: string): Promise<Claim[]> => {
      const taken: Claim[] = []
      for (;;) {
        const more = await store.workers.takeOver(rescuer, FAR_MS, 3)
        if (more.length === 0) return taken
        taken.push(...more)
      }
    }

    const taken = (await Promise.all(rescuers.map(rescue))).flat()

    assert.deepEqual(ids(taken), ids(claims))
    for (const { token } of claims) assert.ok(taken.every((claim) => claim.token !== token))
  })

  rule('a result and a rescue at the same moment: one of them holds the row', async (bench) => {
    const { store, worker, view } = bench
    const { by, claims } = await holding(bench, 8)
    const rescuer = await worker()
    await store.workers.remove(by)

    const [{ fenced }, taken] = await Promise.all([
      store.dispatch.complete(
        by,
        claims.map((claim) => completion(claim, 'sent')),
      ),
      store.workers.takeOver(rescuer, FAR_MS, 100),
    ])

    assert.deepEqual(fenced.toSorted(), ids(taken))
    for (const { notificationId } of claims)
      assert.equal((await view(notificationId)).status, fenced.includes(notificationId) ? 'sending' : 'sent')
  })

  rule('removing a worker that never was does nothing', async ({ store, newId }) => {
    await store.workers.remove(newId())

    assert.deepEqual(await store.workers.list(), [])
  })
}

/** A worker that holds `count` claims on a lane of its own. */
async function holding(bench: Bench, count: number): Promise<{ by: string; claims: Claim[]; lane: Lane }> {
  const lane = await bench.lane()
  await bench.enqueue(lane, count)
  const by = await bench.worker()
  const claims = await bench.claim(by, lane, count)
  assert.equal(claims.length, count)
  return { by, claims, lane }
}

/** The same, after it has been silent for too long and another has taken its claims over. */
async function rescued(
  bench: Bench,
): Promise<{ by: string; claims: Claim[]; lane: Lane; rescuer: string; taken: Claim[] }> {
  const held = await holding(bench, 2)
  await bench.advance(30)
  const rescuer = await bench.worker()
  const taken = await bench.store.workers.takeOver(rescuer, 20, 10)
  assert.deepEqual(ids(taken), ids(held.claims))
  return { ...held, rescuer, taken }
}

async function seen({ store }: Bench, id: string) {
  return only((await store.workers.list()).filter((worker) => worker.id === id))
}

function ids(claims: readonly Claim[]): string[] {
  return claims.map(({ notificationId }) => notificationId).toSorted()
}
