import type { Query } from '../app/api.ts'

/** What the list is narrowed by, as its address says it. */
export interface Filter {
  status?: string | undefined
  channel?: string | undefined
  eventType?: string | undefined
  eventId?: string | undefined
  accountId?: string | undefined
  fingerprint?: string | undefined
  stuck?: string | undefined
  stale?: string | undefined
  q?: string | undefined
  last?: string | undefined
  group?: string | undefined
}

const LASTS: Record<string, number> = { '1h': 3_600_000, '24h': 86_400_000, '7d': 7 * 86_400_000 }
export const LAST_NAMES = Object.keys(LASTS)

/** Times are cut to the minute, so that one question stays one for a while. */
export function queryOf(filter: Filter): Query {
  const { status, last, stuck, stale, ...exact } = narrowing(filter)
  const ms = LASTS[last ?? '']
  return {
    ...exact,
    ...(status && { status: status.split(',') }),
    ...(stuck === 'true' && { stuck: true }),
    ...(stale === 'true' && { stale: true }),
    ...(ms !== undefined && { from: new Date(Math.floor((Date.now() - ms) / 60_000) * 60_000).toISOString() }),
  }
}

export function isNarrowed(filter: Filter): boolean {
  return Object.values(narrowing(filter)).some((value) => value !== undefined)
}

/** How the list is shown does not narrow it. */
function narrowing(filter: Filter): Omit<Filter, 'group'> {
  const { group: _, ...others } = filter
  return others
}
