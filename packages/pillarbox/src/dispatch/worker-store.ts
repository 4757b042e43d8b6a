import type { Channel } from '../model/channel.ts'
import type { Claim } from './dispatch-store.ts'

export interface WorkerStore {
  register(worker: {
    id: string
    host: string
    pid: number
    version: string
    channels: readonly Channel[] | null
  }): Promise<void>
  /**
   * Says that this worker lives, and how many calls it has under way (for people; nothing depends on it).
   * False: it was declared dead and its claims were taken over.
   */
  beat(id: string, inFlight?: number): Promise<boolean>
  /** Leaves for good. Whatever it still held becomes rescuable at once. */
  remove(id: string): Promise<void>
  /**
   * Takes over what workers silent for longer than `ttlMs` (or gone) held: each row gets a new token and this worker.
   * The rows are marked `in_doubt` until completed. Whether those calls were made is unknown; the caller settles each with outcome `unknown` and the old attempt's number.
   */
  takeOver(workerId: string, ttlMs: number, limit: number): Promise<Claim[]>
  list(): Promise<WorkerView[]>
}

export interface WorkerView {
  id: string
  host: string
  pid: number
  version: string
  channels: Channel[] | null
  startedAt: number
  /** When it was last heard of, and how long ago that is. */
  beatAt: number
  silentForMs: number
  /** As of its last beat. */
  inFlight: number
}
