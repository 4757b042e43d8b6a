export type WakeTopic = 'events' | 'dispatch' | 'receipts' | 'inbox'

/** A hint across processes, never a guarantee: polling alone is correct. */
export interface WakeStore {
  /** Tells other processes, rate-limited, never inside anybody's transaction. Does not wait, never rejects. */
  notify(topic: WakeTopic): void
  /** Calls back on hints from other processes; the answer unsubscribes. */
  subscribe(listener: (topic: WakeTopic) => void): () => void
}
