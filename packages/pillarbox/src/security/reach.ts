import type { Clock } from '../model/ports.ts'
import { createResolver, Failed, type ResolverDeps } from './resolver.ts'

/** Why a host would not be dialled; null where it would, or where nobody can tell yet. Dials nothing itself. */
export type Reach = (host: string) => Promise<string | null>

/** Whoever asks waits for an answer of his own. */
const PATIENCE_MS = 2_000

/** For a warning when an account is saved: whether its address will be refused is decided when it is dialled. */
export function createReach(deps: ResolverDeps & { clock: Clock }): Reach {
  const resolver = createResolver(deps)
  return async (host) => {
    const answered = new AbortController()
    try {
      resolver.checkLiteral(host)
      const asked = new Promise<string | null>((resolve) => {
        resolver.lookup(host, { all: true }, (error) => resolve(refusalIn(error)))
      })
      return await Promise.race([asked, deps.clock.sleep(PATIENCE_MS, answered.signal).then(() => null)])
    } catch (error) {
      return refusalIn(error)
    } finally {
      answered.abort()
    }
  }
}

function refusalIn(error: unknown): string | null {
  return error instanceof Failed && error.code === 'address_refused' ? error.message : null
}
