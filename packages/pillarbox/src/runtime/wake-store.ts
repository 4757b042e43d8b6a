export type WakeTopic = 'events' | 'dispatch' | 'receipts' | 'inbox'

export type WakeListener = (topic: WakeTopic, lanes: readonly string[]) => void

/** A hint across processes, never a guarantee: polling alone is correct. */
export interface WakeStore {
  /**
   * Tells other processes, rate-limited, never inside anybody's transaction. Does not wait, never rejects. `lanes`: which
   * accounts have work, where that is known.
   */
  notify(topic: WakeTopic, lanes?: readonly string[]): void
  /** Calls back on hints from other processes, with the lanes that they name, if any; the answer unsubscribes. */
  subscribe(listener: WakeListener): () => void
}
