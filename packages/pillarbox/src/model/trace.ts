import { TRACEPARENT } from '@pillarbox/client/contract'

/** The header `traceparent` where it has its form; null: there is none to carry on, and a wrong one counts as none. */
export function traceparentOf(header: unknown): string | null {
  return typeof header === 'string' && TRACEPARENT.pattern.test(header) ? header : null
}
