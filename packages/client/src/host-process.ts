/**
 * What this package takes from the process it runs in. It runs in the host application, not in the engine, so it may;
 * everything that uses one of these accepts another in its place, and nothing outside this file touches the platform's.
 */

/** Wall time in ms since 1970. */
// biome-ignore lint/plugin: the host's clock is the default; publish() takes another
export const wallClock = (): number => Date.now()

/** Milliseconds that only go forward. */
// biome-ignore lint/style/noRestrictedGlobals: the host's clock is the default; nudge and client take another
export const monotonicClock = (): number => performance.now()

/** Cryptographically random bytes. */
export const randomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count))

/** Uniform in [0, 1). */
// biome-ignore lint/plugin: spreads retries; the client takes another
export const random = (): number => Math.random()

/** Calls `task` after `ms`, without keeping the process alive for it. */
export function callLater(ms: number, task: () => void): void {
  // biome-ignore lint/style/noRestrictedGlobals: the host's timer is the default; nudge takes another
  setTimeout(task, ms).unref()
}

/** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    // biome-ignore lint/style/noRestrictedGlobals: the host's timer is the default; the client takes another
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}

/** A signal that aborts with a `TimeoutError` after `ms`. */
// biome-ignore lint/plugin: a deadline for a call over the network
export const timeoutSignal = (ms: number): AbortSignal => AbortSignal.timeout(ms)

/** Resolves after `ms` or as soon as the signal aborts, without keeping the process alive for it. */
export function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    // biome-ignore lint/style/noRestrictedGlobals: the host's timer is the default; the site's outbox takes another
    const timer = setTimeout(end, ms)
    timer.unref()
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}

/** A module of the platform, loaded when it is needed: this package also runs where there is no such module. */
export function builtinModule<Name extends keyof BuiltinModules>(name: Name): BuiltinModules[Name] {
  const found = process.getBuiltinModule?.(name) as BuiltinModules[Name] | undefined
  if (!found) throw new Error(`this needs Node 22.13 or newer, which has ${name}`)
  return found
}

interface BuiltinModules {
  'node:fs': typeof import('node:fs')
  'node:sqlite': typeof import('node:sqlite')
}
