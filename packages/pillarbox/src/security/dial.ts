import { connect, type Socket } from 'node:net'
import type { Dial } from '../channels/outbound.ts'
import type { Clock } from '../model/ports.ts'
import { codeOf, createResolver, Failed, type ResolverDeps } from './resolver.ts'

/** The way out for protocols that are not HTTP, with the same check of addresses. */
export function createDial(deps: ResolverDeps & { clock: Clock }): Dial {
  const resolver = createResolver(deps)
  return async ({ host, port, timeoutMs, signal }) => {
    const ended = new AbortController()
    let socket: Socket | null = null
    try {
      resolver.checkLiteral(host)
      const opening = connect({ host, port, lookup: resolver.lookup, keepAlive: true })
      socket = opening
      const stands = new Promise<Socket>((resolve, reject) => {
        opening.once('connect', () => resolve(opening)).once('error', reject)
      })
      stands.catch(() => {})
      const late = deps.clock.sleep(timeoutMs, AbortSignal.any([ended.signal, signal])).then(() => null)
      const first = await Promise.race([stands, late])
      if (first) return first
      if (signal.aborted) throw new Failed('aborted', 'given up by the caller')
      throw new Failed('timeout', `no connection to ${host}:${port} within ${timeoutMs} ms`)
    } catch (error) {
      socket?.destroy()
      const [code, words] =
        error instanceof Failed
          ? [error.code, error.message]
          : (['connect_failed', `no connection to ${host}:${port} (${codeOf(error) ?? String(error)})`] as const)
      return { kind: 'failure', code, error: words, hasLeft: false }
    } finally {
      ended.abort()
    }
  }
}
