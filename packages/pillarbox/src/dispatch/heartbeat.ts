import type { Clock, IdSource, Logger } from '../model/ports.ts'
import type { Store } from '../store/store.ts'

/**
 * A worker's life in the `workers` table: one row per boot, a beat every quarter of the TTL.
 *
 * The lease is counted from the *start* of the last beat that was confirmed, on the monotonic clock, so it ends here
 * before it ends in the store. A worker without enough lease left for one whole provider call starts no call.
 */
export interface Heartbeat {
  /** This worker's id; a new one after it was declared dead. */
  id(): string
  /** May a provider call that lasts up to its deadline begin now? */
  mayStart(): boolean
  /** The store said that this worker is dead: start no more calls under the old id, and register anew. */
  fenced(): Promise<void>
  /** Beats until `stop` aborts. */
  run(stop: AbortSignal): Promise<void>
  register(): Promise<void>
  remove(): Promise<void>
}

export interface HeartbeatDeps {
  store: Pick<Store, 'workers'>
  clock: Clock
  ids: IdSource
  logger: Logger
  self: Omit<Parameters<Store['workers']['register']>[0], 'id'>
  /** Silent for longer than this, a worker is taken for dead. */
  ttlMs: number
  /** The longest a provider call and the flush of its result may take. */
  callMs: number
  /** Calls under way, for those who watch. */
  inFlight(): number
}

export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const { store, clock, ids, logger, self, ttlMs, callMs } = deps
  let id = ids()
  let confirmedAt = Number.NEGATIVE_INFINITY
  let registering: Promise<void> | null = null

  async function register(): Promise<void> {
    const startedAt = clock.monotonic()
    const fresh = ids()
    await store.workers.register({ ...self, id: fresh })
    id = fresh
    confirmedAt = startedAt
  }

  async function beat(): Promise<void> {
    const startedAt = clock.monotonic()
    const beaten = id
    const isAlive = await store.workers.beat(beaten, deps.inFlight())
    // An answer about an id that was given up meanwhile says nothing about the present one.
    if (beaten !== id) return
    if (isAlive) confirmedAt = startedAt
    else await fenced()
  }

  /** A claim and a beat may hear of the death at the same time: both wait for the one new registration. */
  function fenced(): Promise<void> {
    registering ??= registerAnew().finally(() => {
      registering = null
    })
    return registering
  }

  async function registerAnew(): Promise<void> {
    confirmedAt = Number.NEGATIVE_INFINITY
    logger.warn({ workerId: id }, 'this worker was declared dead and its claims were taken over; registering anew')
    await register()
  }

  return {
    id: () => id,
    mayStart: () => clock.monotonic() - confirmedAt < ttlMs - callMs,
    fenced,
    register,
    async remove() {
      confirmedAt = Number.NEGATIVE_INFINITY
      await store.workers.remove(id)
    },
    async run(stop) {
      while (!stop.aborted) {
        await clock.sleep(ttlMs / 4, stop)
        if (stop.aborted) return
        await beat().catch((error: unknown) => logger.warn({ error: String(error) }, 'heartbeat failed'))
      }
    },
  }
}
