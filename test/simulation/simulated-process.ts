import { PillarboxError } from '../../packages/pillarbox/src/model/errors.ts'
import type { Random } from '../../packages/pillarbox/src/model/ports.ts'
import type { TakenBatch } from '../../packages/pillarbox/src/plan/plan-store.ts'
import type { WakeStore } from '../../packages/pillarbox/src/runtime/wake-store.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import type { Gate, Scheduler } from './scheduler.ts'

/** What can happen to one simulated process, as chances per store call. */
export interface ProcessFaults {
  /** Dies before the statement, or after its commit and before the answer. */
  crash: number
  /** Stopped for longer than its lease, then goes on. */
  stall: number
  /** The request is lost: nothing was executed. */
  lostRequest: number
  /** The commit happened, its answer is lost. */
  lostReply: number
}

/**
 * One operating-system process: what it waits for reaches it only while it lives and runs. A dead one's promises
 * never settle again, which is what memory lost in a crash looks like from outside.
 */
export class SimProcess {
  readonly name: string
  dead = false
  calm = false
  readonly #scheduler: Scheduler
  #stoppedUntil = 0

  constructor(name: string, scheduler: Scheduler) {
    this.name = name
    this.#scheduler = scheduler
  }

  readonly gate: Gate = (time, wake) => {
    const tryWake = (): void => {
      if (this.dead) return
      if (this.#scheduler.now < this.#stoppedUntil) this.#scheduler.at(this.#stoppedUntil, tryWake)
      else wake()
    }
    this.#scheduler.at(time, tryWake)
  }

  after(ms: number): Promise<void> {
    return new Promise((resolve) => this.gate(this.#scheduler.now + ms, resolve))
  }

  stopFor(ms: number): void {
    this.#stoppedUntil = Math.max(this.#stoppedUntil, this.#scheduler.now + ms)
  }
}

export interface FaultyDeps {
  process: SimProcess
  random: Random
  faults: ProcessFaults
  stallMs: number
  /** Called right after a statement was executed and before anybody hears of it. */
  committed(operation: string, args: readonly unknown[], answer: unknown): void
  /** The story of a run. */
  tell(line: string): void
}

/**
 * The store as one process reaches it: over a wire that delays and loses, from a process that may die. No hint reaches it
 * from other processes, so what is shown is that polling alone is correct.
 */
export function overTheWire(store: Store, deps: FaultyDeps): Store {
  const part = <T extends object>(name: string, target: T): T => {
    const methods = new Map<PropertyKey, unknown>()
    return new Proxy(target, {
      get(object, key) {
        if (methods.has(key)) return methods.get(key)
        const method = Reflect.get(object, key) as unknown
        const operation = `${name}.${String(key)}`
        const remote =
          typeof method === 'function'
            ? async (...args: unknown[]) => {
                const answer = await call(deps, operation, args, () => method.apply(object, args) as Promise<unknown>)
                // A batch that was taken is a part of the store itself: writing it goes over the wire, too.
                return isBatch(answer) ? { ...answer, write: part(operation, answer).write } : answer
              }
            : method
        methods.set(key, remote)
        return remote
      },
    })
  }
  const parts = new Map<PropertyKey, unknown>([
    ['wake', { notify() {}, subscribe: () => () => {} } satisfies WakeStore],
  ])
  return new Proxy(store, {
    get(object, key) {
      if (parts.has(key)) return parts.get(key)
      const value = Reflect.get(object, key) as unknown
      const reached = typeof value === 'object' && value !== null ? part(String(key), value) : value
      parts.set(key, reached)
      return reached
    },
  })
}

function isBatch(answer: unknown): answer is TakenBatch<unknown, unknown> {
  return typeof answer === 'object' && answer !== null && 'rows' in answer && 'write' in answer
}

async function call(
  deps: FaultyDeps,
  operation: string,
  args: readonly unknown[],
  execute: () => Promise<unknown>,
): Promise<unknown> {
  const { process, random, faults, tell } = deps
  const strikes = (chance: number): boolean => random() < chance && !process.calm
  await wire(process, random)
  if (strikes(faults.lostRequest)) {
    tell(`${process.name}: ${operation} was lost on its way`)
    throw new PillarboxError('store_unavailable', 'connection reset')
  }
  if (strikes(faults.crash / 2)) return die(deps, `before ${operation}`)
  const answer = await execute()
  deps.committed(operation, args, answer)
  if (strikes(faults.crash / 2)) return die(deps, `after ${operation}, before its answer`)
  if (strikes(faults.lostReply)) {
    tell(`${process.name}: ${operation} was committed, its answer lost`)
    await wire(process, random)
    throw new PillarboxError('store_unavailable', 'connection reset')
  }
  if (strikes(faults.stall)) {
    tell(`${process.name}: stopped for ${deps.stallMs} ms after ${operation}`)
    process.stopFor(deps.stallMs)
  }
  await wire(process, random)
  return answer
}

/** Some messages are as good as instant, which lets others overtake them. */
async function wire(process: SimProcess, random: Random): Promise<void> {
  if (random() < 0.5) await process.after(random() * 8)
}

function die({ process, tell }: FaultyDeps, when: string): Promise<never> {
  tell(`${process.name}: dies ${when}`)
  process.dead = true
  return new Promise(() => {})
}
