import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { isRunning, systemClock, systemRandom } from './system.ts'

describe('the system clock', () => {
  it('shows whole milliseconds of wall time, and a monotonic time that never goes back', () => {
    const before = systemClock.monotonic()

    assert.ok(Number.isInteger(systemClock.now()))
    assert.ok(Math.abs(systemClock.now() - Date.now()) < 1_000)
    assert.ok(systemClock.monotonic() >= before)
  })

  it('ends a sleep after its time and leaves no listener behind', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { signal } = new AbortController()
    const removed = t.mock.method(signal, 'removeEventListener')
    let ended = false

    void systemClock.sleep(60_000, signal).then(() => {
      ended = true
    })
    t.mock.timers.tick(59_999)
    await Promise.resolve()
    assert.equal(ended, false)
    t.mock.timers.tick(1)
    await Promise.resolve()

    assert.equal(ended, true)
    assert.equal(removed.mock.callCount(), 1)
  })

  it('ends a sleep at once when its signal aborts, and frees the timer', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const cleared = t.mock.method(globalThis, 'clearTimeout')
    const stop = new AbortController()

    const sleeping = systemClock.sleep(60_000, stop.signal)
    stop.abort()
    await sleeping
    await systemClock.sleep(60_000, stop.signal)

    assert.equal(cleared.mock.callCount(), 1)
  })
})

describe('system chance', () => {
  it('is in [0, 1), spread over all of it, and does not repeat', () => {
    const random = systemRandom()

    const numbers = Array.from({ length: 5_000 }, () => random())

    assert.ok(numbers.every((number) => number >= 0 && number < 1))
    assert.equal(new Set(numbers).size, numbers.length)
    const tenths = new Set(numbers.map((number) => Math.floor(number * 10)))
    assert.equal(tenths.size, 10)
  })

  it('is each source’s own', () => {
    assert.notEqual(systemRandom()(), systemRandom()())
  })
})

it('a process is running until it has ended', () => {
  const { pid } = spawnSync(process.execPath, ['--version'])

  assert.deepEqual([isRunning(process.pid), isRunning(pid)], [true, false])
})
