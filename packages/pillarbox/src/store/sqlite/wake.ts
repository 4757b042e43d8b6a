import type { Clock } from '../../model/ports.ts'
import type { WakeListener, WakeStore, WakeTopic } from '../../runtime/wake-store.ts'
import type { Connection } from './connection.ts'

export interface WakeOptions {
  connection: Connection
  clock: Clock
  /** Whether to look for what other processes commit. */
  watch: boolean
}

const LOOK_EVERY_MS = 25
const TOPICS: readonly WakeTopic[] = ['events', 'dispatch', 'receipts', 'inbox']

/**
 * Hints from other processes, and from the host's own connections to the file: whatever they commit changes the
 * file's `data_version` as this connection sees it, while its own commits do not. So nothing needs to be told, and
 * `notify` has nothing to do. Looks only while somebody listens.
 */
export function openWake({ connection, clock, watch }: WakeOptions): WakeStore & { close(): void } {
  const listeners = new Set<WakeListener>()
  const closing = new AbortController()
  const version = connection.db.prepare('pragma data_version')
  const dataVersion = (): unknown => version.get()?.['data_version']
  let isWatching = false

  const watchFile = async (): Promise<void> => {
    isWatching = true
    let seen = dataVersion()
    while (listeners.size > 0) {
      await clock.sleep(LOOK_EVERY_MS, closing.signal)
      if (closing.signal.aborted) break
      const found = look(dataVersion)
      if (found === undefined || found === seen) continue
      seen = found
      for (const listener of listeners) for (const topic of TOPICS) listener(topic, [])
    }
    isWatching = false
  }

  return {
    notify: () => {},
    subscribe: (listener) => {
      listeners.add(listener)
      if (watch && !isWatching && !closing.signal.aborted) void watchFile()
      return () => void listeners.delete(listener)
    },
    close: () => closing.abort(),
  }
}

/** A file that is locked for a moment is looked at again the next time. */
function look(dataVersion: () => unknown): unknown {
  try {
    return dataVersion()
  } catch {
    return undefined
  }
}
