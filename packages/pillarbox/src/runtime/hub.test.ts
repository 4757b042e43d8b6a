import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { createHub } from './hub.ts'
import type { WakeListener, WakeTopic } from './wake-store.ts'

function setup() {
  const clock = createManualClock()
  const notified: WakeTopic[] = []
  const listeners = new Set<WakeListener>()
  const hub = createHub(clock, {
    notify: (topic) => void notified.push(topic),
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  })
  const woken: string[] = []
  for (const topic of ['events', 'dispatch', 'receipts', 'inbox'] as const)
    void hub[topic].wait(1_000).then(() => woken.push(topic))
  const hint: WakeListener = (topic, lanes) => {
    for (const listener of listeners) listener(topic, lanes)
  }
  return { clock, hub, notified, listeners, woken, hint }
}

it('wakes the loop a nudge is for, and tells other processes', async () => {
  const { clock, hub, notified, woken } = setup()

  hub.nudge('events')
  await clock.settle()
  assert.deepEqual([woken, notified], [['events'], ['events']])
  hub.nudge('dispatch', ['lane-1'])
  await clock.settle()

  assert.deepEqual(woken, ['events', 'dispatch'])
  assert.deepEqual(notified, ['events', 'dispatch'])
  hub.nudge('receipts')
  await clock.settle()
  assert.equal(woken.at(-1), 'receipts')
})

it('wakes the loop another process has a hint for, and does not pass the hint on', async () => {
  const { clock, notified, woken, hint } = setup()

  hint('dispatch', [])
  await clock.settle()

  assert.deepEqual(woken, ['dispatch'])
  assert.deepEqual(notified, [])
})

it('names the lanes that another process has named', () => {
  const { hub, hint } = setup()

  hint('dispatch', ['lane-1', 'lane-2'])
  hub.nudge('dispatch', ['lane-2'])

  assert.deepEqual(hub.takeLanes(), ['lane-1', 'lane-2'])
})

it('names each lane once, to the first who asks', () => {
  const { hub } = setup()

  hub.nudge('dispatch', ['lane-1', 'lane-2'])
  hub.nudge('dispatch', ['lane-2', 'lane-3'])
  hub.nudge('dispatch')

  assert.deepEqual(hub.takeLanes(), ['lane-1', 'lane-2', 'lane-3'])
  assert.deepEqual(hub.takeLanes(), [])
})

it('hears nothing more of other processes once it is closed', async () => {
  const { clock, hub, listeners, woken, hint } = setup()

  hub.close()
  hint('events', [])
  await clock.settle()

  assert.equal(listeners.size, 0)
  assert.deepEqual(woken, [])
})
