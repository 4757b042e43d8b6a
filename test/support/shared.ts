import { after } from 'node:test'

/** What `setup` functions need of a test, or of a whole suite: to be told when it is over. */
export interface Scope {
  after(close: () => Promise<unknown>): void
}

/**
 * For tests of one suite that leave behind what they found, such as those of what is refused: `open` is called by the
 * first that asks, and closed after the last. Call it in the suite's body.
 */
export function shared<T>(open: (scope: Scope) => Promise<T>): () => Promise<T> {
  const closings: (() => Promise<unknown>)[] = []
  let opened: Promise<T> | null = null
  after(async () => {
    for (const close of closings) await close()
  })
  return () => {
    opened ??= open({ after: (close) => void closings.push(close) })
    return opened
  }
}
