import { AsyncLocalStorage } from 'node:async_hooks'

/** The trace that the provider call under way belongs to. Every request that the call makes carries it, whoever makes it. */
const current = new AsyncLocalStorage<string>()

/** Makes a call as part of the caller's trace; null: of none. */
export function inTrace<T>(traceparent: string | null, call: () => T): T {
  return traceparent === null ? call() : current.run(traceparent, call)
}

/** What a request says of the trace it belongs to. */
export function traceHeaders(): { traceparent?: string } {
  const traceparent = current.getStore()
  return traceparent === undefined ? {} : { traceparent }
}
