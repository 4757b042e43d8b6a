import type { Clock } from '../model/ports.ts'
import { type Bell, createBell } from './bell.ts'
import type { WakeStore, WakeTopic } from './wake-store.ts'

/**
 * Wake-ups inside this process, passed on to other processes as rate-limited hints. Nothing depends on them but
 * latency: every loop also polls.
 */
export interface Hub {
  readonly events: Bell
  readonly dispatch: Bell
  readonly receipts: Bell
  readonly inbox: Bell
  /** Something was committed. `lanes`: which accounts have work, where that is known. */
  nudge(topic: WakeTopic, lanes?: readonly string[]): void
  /** The lanes named since the last call. */
  takeLanes(): string[]
  close(): void
}

export function createHub(clock: Clock, wake: WakeStore): Hub {
  const bells = {
    events: createBell(clock),
    dispatch: createBell(clock),
    receipts: createBell(clock),
    inbox: createBell(clock),
  }
  const lanes = new Set<string>()
  const unsubscribe = wake.subscribe((topic, named) => {
    for (const lane of named) lanes.add(lane)
    bells[topic].ring()
  })
  return {
    ...bells,
    nudge(topic, named = []) {
      for (const lane of named) lanes.add(lane)
      bells[topic].ring()
      wake.notify(topic, named)
    },
    takeLanes() {
      const taken = [...lanes]
      lanes.clear()
      return taken
    },
    close: unsubscribe,
  }
}
