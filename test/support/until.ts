/**
 * How long a test waits for what never comes. It only ends a wait that is in vain: on a machine that does twenty other
 * things a process takes half a minute to start. How fast something is, is asserted where it matters, never by this.
 */
export const PATIENCE_MS = 120_000

const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 100

/** Asks, less and less often, until the answer is neither null nor false. Rejects with `what` was waited for in vain. */
export async function until<T>(
  what: string,
  ask: () => T | null | false | Promise<T | null | false>,
  patienceMs: number = PATIENCE_MS,
): Promise<T> {
  const giveUpAt = performance.now() + patienceMs
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 1.5)) {
    const answer = await ask()
    if (answer !== null && answer !== false) return answer
    if (performance.now() > giveUpAt) throw new Error(`waited ${patienceMs} ms in vain: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
