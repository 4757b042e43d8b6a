import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { until } from '../../../../test/support/until.ts'
import type { Clock } from '../model/ports.ts'
import { systemClock } from '../runtime/system.ts'
import type { Store } from '../store/store.ts'
import { CATALOGUE, type Fixture, type FixtureOptions, openFixture } from './fixture.ts'
import { createTurns } from './list-turns.ts'

const LIST = '/api/notifications?limit=200'
const REST = { restFactor: 3, mostRestMs: 250 }
const EVENT = { type: 'booking.confirmed', entity: { type: 'booking', id: '1' } }

async function setup(t: TestContext, options: FixtureOptions = {}) {
  const f = await openFixture({ deps: { clock: systemClock }, ...options })
  t.after(() => f.app.close())
  const { keys } = await f.tenant('acme')
  await f.call(keys.admin, 'PUT', '/api/event-types', CATALOGUE)
  return { f, keys }
}

/** Asks for `count` lists over each of `connections` connections, all at once, and then publishes an event. */
async function flood(t: TestContext, f: Fixture, ask: { key: string; count: number; connections: number }) {
  await f.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = f.app.server.address() as AddressInfo
  const publish = async () => {
    const { status } = await fetch(`http://127.0.0.1:${port}/api/events?tenantId=acme`, {
      method: 'POST',
      headers: { authorization: `Bearer ${f.opsKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(EVENT),
    })
    return status
  }
  // The first takes longer, for everything that is loaded with it.
  await publish()
  const answers: string[] = []
  const request = `GET ${LIST} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ask.key}\r\n\r\n`
  const sockets = Array.from({ length: ask.connections }, () => {
    const socket = connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.setEncoding('latin1').on('data', (text) => answers.push(String(text)))
    return socket
  })
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  for (const socket of sockets) socket.write(request.repeat(ask.count))
  const published = await publish()
  const statuses = (expected: number): Promise<number[]> =>
    until(`${expected} answers have come`, () => {
      const found = [...answers.join('').matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, code]) => Number(code))
      return found.length >= expected && found
    })
  return { published, statuses }
}

/** Calls `read` for each list, before the store does. */
function listing(read: () => unknown): (store: Store) => Store {
  return (store) => ({
    ...store,
    notifications: {
      ...store.notifications,
      list: async (...given) => {
        await read()
        return store.notifications.list(...given)
      },
    },
  })
}

/** As SQLite reads: the thread does nothing else meanwhile. */
function keepBusy(ms: number): void {
  const from = performance.now()
  while (performance.now() - from < ms);
}

describe('an event', () => {
  for (const [how, count, connections] of [
    ['over many connections', 1, 60],
    ['one after the other over one connection', 60, 1],
  ] as const)
    it(`does not wait for the lists that were asked for before, ${how}`, async (t) => {
      let reads = 0
      const wrapStore = listing(() => {
        reads += 1
        keepBusy(10)
      })
      const { f, keys } = await setup(t, { wrapStore })

      const { published, statuses } = await flood(t, f, { key: keys.viewer, count, connections })
      const readBefore = reads

      assert.equal(published, 202)
      assert.ok(readBefore <= 20, `${readBefore} lists were read before`)
      const answered = await statuses(60)
      assert.deepEqual(
        answered.filter((status) => status !== 200 && status !== 503),
        [],
      )
      assert.equal(answered.filter((status) => status === 200).length, reads)
    })

  it('is taken in while one connection has more requests under way than the server answers at a time', async (t) => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const { f, keys } = await setup(t, { wrapStore: listing(() => held), config: { maxInFlight: 100 } })

    const { published, statuses } = await flood(t, f, { key: keys.viewer, count: 200, connections: 1 })

    assert.equal(published, 202)
    release()
    assert.equal((await statuses(200)).length, 200)
  })
})

describe('lists', () => {
  it('beyond those that may wait are turned away at once, and told to come again', async (t) => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const { f, keys } = await setup(t, {
      wrapStore: listing(() => held),
      config: { listTurns: { most: 2, mostPerKey: 1, mostWaitingPerKey: 1, mostWaiting: 10, ...REST } },
    })
    const waiting = [f.call(keys.viewer, 'GET', LIST), f.call(keys.viewer, 'GET', LIST)]
    await systemClock.sleep(20)

    const refused = await f.call(keys.viewer, 'GET', LIST)

    assert.deepEqual([refused.statusCode, refused.json().code], [503, 'overloaded'])
    assert.ok(refused.headers['retry-after'])
    release()
    for (const answer of await Promise.all(waiting)) assert.equal(answer.statusCode, 200)
    assert.equal((await f.call(keys.viewer, 'GET', LIST)).statusCode, 200)
  })

  it('of one key leave room for those of another', async (t) => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    let isFirst = true
    const { f, keys } = await setup(t, {
      wrapStore: listing(() => {
        if (!isFirst) return undefined
        isFirst = false
        return held
      }),
      config: { listTurns: { most: 2, mostPerKey: 1, mostWaitingPerKey: 5, mostWaiting: 10, ...REST } },
    })
    const slow = [f.call(keys.viewer, 'GET', LIST), f.call(keys.viewer, 'GET', LIST)]
    await systemClock.sleep(20)

    const other = await f.call(keys.operator, 'GET', LIST)

    assert.equal(other.statusCode, 200)
    release()
    for (const answer of await Promise.all(slow)) assert.equal(answer.statusCode, 200)
  })

  it('that nobody waits for any more are not read', async (t) => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    let reads = 0
    const { f, keys } = await setup(t, {
      wrapStore: listing(() => {
        reads += 1
        return held
      }),
      config: { listTurns: { most: 1, mostPerKey: 1, mostWaitingPerKey: 50, mostWaiting: 50, ...REST } },
    })
    await f.app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = f.app.server.address() as AddressInfo
    const first = f.call(keys.viewer, 'GET', LIST)
    const gone = new AbortController()
    const waiting = Array.from({ length: 5 }, () =>
      fetch(`http://127.0.0.1:${port}${LIST}`, {
        headers: { authorization: `Bearer ${keys.viewer}` },
        signal: gone.signal,
      }).catch(() => null),
    )
    await systemClock.sleep(50)
    gone.abort()
    await Promise.all(waiting)
    await systemClock.sleep(50)

    release()

    assert.equal((await first).statusCode, 200)
    assert.equal((await f.call(keys.viewer, 'GET', LIST)).statusCode, 200)
    assert.equal(reads, 2)
  })
})

describe('turns', () => {
  const isBusy = () => false
  const clock: Clock = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() }
  const settle = () => new Promise((resolve) => setImmediate(resolve))

  it('are never more than allowed, in the order of each key, and nobody is forgotten', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c'), endsFirst: fc.nat(3) }), { maxLength: 40 }),
        async (asked) => {
          const limits = { most: 3, mostPerKey: 2, mostWaitingPerKey: 4, mostWaiting: 8, ...REST }
          const turns = createTurns({ clock, isBusy }, limits)
          const open: { key: string; end: () => void }[] = []
          const given: Record<string, number[]> = {}
          let accepted = 0
          const end = async (count: number): Promise<void> => {
            for (const turn of open.splice(0, count)) turn.end()
            await settle()
          }
          for (const [i, { key, endsFirst }] of asked.entries()) {
            turns.take(key).then(
              (release) => {
                open.push({ key, end: release })
                given[key] = [...(given[key] ?? []), i]
              },
              () => {
                accepted -= 1
              },
            )
            accepted += 1
            await settle()
            assert.ok(open.length <= limits.most)
            for (const one of ['a', 'b', 'c'])
              assert.ok(open.filter((turn) => turn.key === one).length <= limits.mostPerKey)
            await end(endsFirst)
          }
          while (open.length > 0) await end(1)

          const all = Object.values(given)
          assert.equal(all.flat().length, accepted)
          for (const order of all)
            assert.deepEqual(
              order,
              order.toSorted((x, y) => x - y),
            )
        },
      ),
      { numRuns: 100 },
    )
  })

  describe('while something is taken in', () => {
    const limits = { most: 4, mostPerKey: 4, mostWaitingPerKey: 9, mostWaiting: 9, restFactor: 3, mostRestMs: 250 }

    /** Turns of one key, what ends them, and time that the test moves. */
    function resting() {
      const manual = createManualClock()
      const state = { isBusy: true }
      const turns = createTurns({ clock: manual, isBusy: () => state.isBusy }, limits)
      const begun: (() => void)[] = []
      const ask = (): void => void turns.take('a').then((end) => begun.push(end))
      return { manual, state, begun, ask }
    }

    it('the next begins after a rest that is so many times as long as the turn before', async () => {
      const { manual, begun, ask } = resting()
      ask()
      ask()
      await manual.advance(10)
      assert.equal(begun.length, 1)

      begun[0]?.()
      await manual.advance(29)
      assert.equal(begun.length, 1)
      await manual.advance(1)
      assert.equal(begun.length, 2)
    })

    it('one that takes very long keeps the others for no longer than the longest rest', async () => {
      const { manual, begun, ask } = resting()
      ask()
      ask()
      await manual.advance(249)
      assert.equal(begun.length, 1)
      await manual.advance(1)
      assert.equal(begun.length, 2)
    })

    it('the rest ends with what it was for', async () => {
      const { manual, state, begun, ask } = resting()
      ask()
      ask()
      await manual.advance(10)
      state.isBusy = false
      await manual.advance(5)
      assert.equal(begun.length, 2)
    })
  })

  it('go round between keys', async () => {
    const turns = createTurns(
      { clock, isBusy },
      { most: 1, mostPerKey: 1, mostWaitingPerKey: 9, mostWaiting: 9, ...REST },
    )
    const order: string[] = []
    const take = (key: string) =>
      turns.take(key).then((release) => {
        order.push(key)
        release()
      })

    await Promise.all(['a', 'a', 'a', 'a', 'b', 'b'].map(take))

    assert.deepEqual(order, ['a', 'a', 'b', 'a', 'b', 'a'])
  })
})
