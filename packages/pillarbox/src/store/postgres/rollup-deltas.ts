import type { Completion } from '../../dispatch/dispatch-store.ts'
import { LATENCY_BOUNDS } from '../../model/latency.ts'
import { isDeliveredWhenSent, type RollupGroup, secondOf } from '../../model/rollup.ts'
import { DELTA_COLUMNS } from '../shared/rollup-deltas.ts'
import { plainArray, textArray } from './arrays.ts'

/**
 * The deltas of the hot statements, written by them: only they know which rows they have changed and what time it is.
 * What a move adds to is the same as everywhere (`shared/rollup-deltas.ts`).
 */

export const INSERT_DELTAS = `insert into pillarbox.rollup_deltas (${DELTA_COLUMNS.join(', ')})`

/** The statement's time in milliseconds, reckoned once. */
export const NOW_MS = '(select floor(extract(epoch from now()) * 1000)::bigint)'

/** The second of an instant. */
export function secondIn(instant: string): string {
  return `floor(extract(epoch from ${instant}))::bigint`
}

/** The bucket of a number of milliseconds, as `latencyBucket` has it. */
export function bucketIn(ms: string): string {
  return `width_bucket(least(greatest(${ms}, 0), 2147483647)::int, '{${LATENCY_BOUNDS.join(',')}}'::int[])`
}

/** What `countedClaims` gives, from the parameter of that number on, as a table `c`. Its rows are numbered from 1. */
export function countedTable(first: number): string {
  const types = ['text', 'text', 'uuid', 'text', 'text', 'bigint', 'boolean']
  const arrays = types.map((type, i) => `$${first + i}::${type}[]`).join(', ')
  const columns = 'tenant_id, channel, account_id, site, event_type, due_second, is_delivered'
  return `unnest(${arrays}) with ordinality as c (${columns}, number)`
}

export interface CountedClaims {
  /** For each result, the number of what it is counted as. */
  numbers: number[]
  /** The same from now on, where another account takes over. */
  nextNumbers: number[]
  /** The parameters of `countedTable`. */
  arrays: string[]
}

/** What results are counted as, each different thing once: a batch has few. */
export function countedClaims(completions: readonly Completion[]): CountedClaims {
  const numbers = new Map<string, number>()
  const all: (RollupGroup & { dueSecond: number; isDelivered: boolean })[] = []
  const numberOf = ({ counted, provider }: Completion, accountId: string | null): number => {
    const { tenantId, channel, site, eventType, visibleAt } = counted
    const dueSecond = secondOf(visibleAt)
    const isDelivered = isDeliveredWhenSent(provider)
    const key = `${tenantId} ${channel} ${accountId} ${dueSecond} ${isDelivered} ${site}\0${eventType}`
    const known = numbers.get(key)
    if (known !== undefined) return known
    all.push({ tenantId, channel, accountId, site, eventType, dueSecond, isDelivered })
    numbers.set(key, all.length)
    return all.length
  }
  const now = completions.map((each) => numberOf(each, each.accountId))
  const next = completions.map((each, i) => (each.moveTo ? numberOf(each, each.moveTo.accountId) : (now[i] as number)))
  return {
    numbers: now,
    nextNumbers: next,
    arrays: [
      textArray(all.map((each) => each.tenantId)),
      textArray(all.map((each) => each.channel)),
      plainArray(all.map((each) => each.accountId)),
      textArray(all.map((each) => each.site)),
      textArray(all.map((each) => each.eventType)),
      plainArray(all.map((each) => each.dueSecond)),
      plainArray(all.map((each) => each.isDelivered)),
    ],
  }
}
