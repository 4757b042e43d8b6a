import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createManualClock, START } from './manual-clock.ts'

it('wakes sleepers in the order of time, and lets each go on before the next', async () => {
  const clock = createManualClock()
  const story: string[] = []
  const sleeper = async (name: string, ms: number): Promise<void> => {
    await clock.sleep(ms)
    story.push(`${name} at ${clock.monotonic()}`)
    await Promise.resolve()
    story.push(`${name} goes on`)
    if (name === 'first') await sleeper('again', 5)
  }
  void sleeper('second', 20)
  void sleeper('first', 10)
  void sleeper('never', 31)

  await clock.advance(30)

  assert.deepEqual(story, [
    'first at 10',
    'first goes on',
    'again at 15',
    'again goes on',
    'second at 20',
    'second goes on',
  ])
  assert.equal(clock.monotonic(), 30)
  assert.equal(clock.now(), START + 30)
  assert.equal(clock.sleeping(), 1)
})

it('ends a sleep at once when its signal aborts', async () => {
  const clock = createManualClock()
  const stop = new AbortController()
  let ended = 0
  void clock.sleep(1_000, stop.signal).then(() => ended++)
  void clock.sleep(1_000, AbortSignal.abort()).then(() => ended++)

  await clock.settle()
  assert.equal(ended, 1)
  stop.abort()
  await clock.settle()

  assert.equal(ended, 2)
  assert.equal(clock.sleeping(), 0)
})

it('sets the wall clock without moving the monotonic one', async () => {
  const clock = createManualClock()

  await clock.advance(100)
  clock.setWall(START - 5_000)
  await clock.advance(10)

  assert.equal(clock.now(), START - 4_990)
  assert.equal(clock.monotonic(), 110)
})
