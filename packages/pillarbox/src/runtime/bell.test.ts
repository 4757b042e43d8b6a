import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { createBell } from './bell.ts'

function setup() {
  const clock = createManualClock()
  const bell = createBell(clock)
  const wait = (ms: number, stop?: AbortSignal) => {
    const waiter = { wokenAt: null as number | null }
    void bell.wait(ms, stop).then(() => {
      waiter.wokenAt = clock.monotonic()
    })
    return waiter
  }
  return { clock, bell, wait }
}

it('wakes whoever waits', async () => {
  const { clock, bell, wait } = setup()
  const waiter = wait(1_000)

  await clock.advance(10)
  assert.equal(waiter.wokenAt, null)
  bell.ring()
  await clock.settle()

  assert.equal(waiter.wokenAt, 10)
  assert.equal(clock.sleeping(), 0)
})

it('remembers a ring that nobody waited for: no wake-up is lost', async () => {
  const { clock, bell, wait } = setup()

  bell.ring()
  const waiter = wait(1_000)
  await clock.settle()

  assert.equal(waiter.wokenAt, 0)
})

it('remembers a ring between two waits, however the first one ended', async () => {
  for (const endsBy of ['ring', 'time'] as const) {
    const { clock, bell, wait } = setup()
    wait(10)
    if (endsBy === 'ring') bell.ring()
    await clock.advance(10)

    bell.ring()
    const second = wait(1_000)
    await clock.settle()

    assert.equal(second.wokenAt, 10)
  }
})

it('remembers many rings as one', async () => {
  const { clock, bell, wait } = setup()

  bell.ring()
  bell.ring()
  const first = wait(1_000)
  await clock.settle()
  const second = wait(1_000)
  await clock.settle()

  assert.equal(first.wokenAt, 0)
  assert.equal(second.wokenAt, null)
})

it('wakes after the given time when nobody rings', async () => {
  const { clock, wait } = setup()
  const waiter = wait(50)

  await clock.advance(49)
  assert.equal(waiter.wokenAt, null)
  await clock.advance(1)

  assert.equal(waiter.wokenAt, 50)
})

it('wakes when it is told to stop, and does not wait at all afterwards', async () => {
  const { clock, wait } = setup()
  const stop = new AbortController()
  const waiter = wait(1_000, stop.signal)

  await clock.advance(5)
  stop.abort()
  await clock.settle()
  const late = wait(1_000, stop.signal)
  await clock.settle()

  assert.deepEqual([waiter.wokenAt, late.wokenAt], [5, 5])
})

it('is not worn out by the waits before: each ring wakes the next one again', async () => {
  const { clock, bell, wait } = setup()
  const stop = new AbortController()
  for (let i = 1; i <= 5; i++) {
    const waiter = wait(1_000, stop.signal)
    await clock.advance(10)
    bell.ring()
    await clock.settle()
    assert.equal(waiter.wokenAt, i * 10)
  }
})

it('never leaves work lying for longer than one wait, and not at all if it was rung for', async () => {
  const steps = fc.array(fc.record({ afterMs: fc.nat({ max: 30 }), rings: fc.boolean() }), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(steps, async (arrivals) => {
      const { clock, bell } = setup()
      const stop = new AbortController()
      const MOST_MS = 20
      const waiting: { since: number; rung: boolean }[] = []
      const loop = async (): Promise<void> => {
        while (!stop.signal.aborted) {
          for (const { since, rung } of waiting.splice(0))
            assert.ok(clock.monotonic() - since <= (rung ? 0 : MOST_MS), `waited since ${since}`)
          await bell.wait(MOST_MS, stop.signal)
        }
      }
      const running = loop()

      for (const { afterMs, rings } of arrivals) {
        await clock.advance(afterMs)
        waiting.push({ since: clock.monotonic(), rung: rings })
        if (rings) bell.ring()
        await clock.settle()
      }
      await clock.advance(MOST_MS)
      assert.deepEqual(waiting, [])
      stop.abort()
      await running
    }),
    { numRuns: 50 },
  )
})
