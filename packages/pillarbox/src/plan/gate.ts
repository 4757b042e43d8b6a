/** Lets several batches be under way at once, and one alone where it must be. */
export interface Gate {
  together<T>(work: () => Promise<T>): Promise<T>
  /** Begins when nothing else is under way; what comes meanwhile waits. Not to be called from within `together`. */
  alone<T>(work: () => Promise<T>): Promise<T>
}

export function createGate(): Gate {
  const underWay = new Set<Promise<unknown>>()
  let closed: Promise<void> | null = null
  return {
    async together(work) {
      while (closed) await closed
      const working = work()
      underWay.add(working)
      try {
        return await working
      } finally {
        underWay.delete(working)
      }
    },
    async alone(work) {
      while (closed) await closed
      const { promise, resolve } = Promise.withResolvers<void>()
      closed = promise
      try {
        await Promise.allSettled(underWay)
        return await work()
      } finally {
        closed = null
        resolve()
      }
    },
  }
}
