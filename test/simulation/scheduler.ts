import type { Clock, Random } from '../../packages/pillarbox/src/model/ports.ts'

/** A small, fast, seedable generator (mulberry32): the only source of chance in a simulation. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

interface Entry {
  at: number
  /** Breaks ties between entries of the same instant: chance decides who goes first. */
  tie: number
  wake: () => void
}

/**
 * Virtual time. Everything that waits in a simulated world waits here; `run` wakes one sleeper after the other, in the
 * order of time and, within an instant, of chance, and lets each go as far as it can before the next.
 */
export class Scheduler {
  now = 0
  steps = 0
  readonly #random: Random
  #heap: Entry[] = []

  constructor(random: Random) {
    this.#random = random
  }

  at(time: number, wake: () => void): Entry {
    const entry = { at: Math.max(time, this.now), tie: this.#random(), wake }
    push(this.#heap, entry)
    return entry
  }

  after(ms: number): Promise<void> {
    return new Promise((resolve) => this.at(this.now + ms, resolve))
  }

  /** Until `done` says so, or `limitMs` of virtual time or `maxSteps` have passed. Answers whether it was done. */
  async run(done: () => boolean, limitMs: number, maxSteps = 200_000): Promise<boolean> {
    const end = this.now + limitMs
    const lastStep = this.steps + maxSteps
    while (!done()) {
      const next = this.#heap[0]
      if (!next || next.at > end || this.steps >= lastStep) return done()
      pop(this.#heap)
      this.now = next.at
      this.steps++
      next.wake()
      await settled()
    }
    return true
  }
}

/** Every promise job that can run has run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

/** The clock of one simulated process. Its sleepers go through `gate`, which may delay or swallow them. */
export function processClock(scheduler: Scheduler, gate: Gate, skewMs: () => number): Clock {
  return {
    now: () => EPOCH + Math.round(scheduler.now) + skewMs(),
    monotonic: () => scheduler.now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        let over = false
        const wake = () => {
          if (over) return
          over = true
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        signal?.addEventListener('abort', wake, { once: true })
        gate(scheduler.now + Math.max(0, ms), wake)
      }),
  }
}

/** Calls `wake` at `time`, later, or never: a process may be stopped for a while, or dead. */
export type Gate = (time: number, wake: () => void) => void

/** Simulated time starts here: 2026-01-01T00:00:00Z. */
export const EPOCH = 1_767_225_600_000

/** A binary heap. Indices are always in range here; `at` says so to the type checker. */
function at(heap: readonly Entry[], i: number): Entry {
  return heap[i] as Entry
}

function push(heap: Entry[], entry: Entry): void {
  heap.push(entry)
  let child = heap.length - 1
  while (child > 0) {
    const parent = (child - 1) >> 1
    if (!before(at(heap, child), at(heap, parent))) return
    swap(heap, child, parent)
    child = parent
  }
}

function pop(heap: Entry[]): void {
  const last = heap.pop()
  if (heap.length === 0 || !last) return
  heap[0] = last
  let parent = 0
  for (;;) {
    let least = parent
    for (const child of [2 * parent + 1, 2 * parent + 2])
      if (child < heap.length && before(at(heap, child), at(heap, least))) least = child
    if (least === parent) return
    swap(heap, least, parent)
    parent = least
  }
}

function before(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.tie < b.tie)
}

function swap(heap: Entry[], i: number, j: number): void {
  const kept = at(heap, i)
  heap[i] = at(heap, j)
  heap[j] = kept
}
