import type { TurnOptions, TurnStart } from './scan-store.ts'

/** What a purge removes, each under the name that reports use. */
export const PURGED_NOUNS = [
  'notifications',
  'attempts',
  'receipts',
  'inboxMessages',
  'events',
  'schedules',
  'conversations',
  'cancellations',
  'operations',
  'audit',
  'callbacks',
] as const

export type PurgedNoun = (typeof PURGED_NOUNS)[number]

export type PurgedCounts = Partial<Record<PurgedNoun, number>>

export function sumOfCounts(a: PurgedCounts, b: PurgedCounts): PurgedCounts {
  const nouns = PURGED_NOUNS.filter((noun) => a[noun] !== undefined || b[noun] !== undefined)
  return Object.fromEntries(nouns.map((noun) => [noun, (a[noun] ?? 0) + (b[noun] ?? 0)]))
}

/** The steps of a purge that go through one tenant's rows, in the order in which they leave nothing behind. */
export const TENANT_STEPS = ['notifications', 'events', 'conversations', 'cancellations', 'operations'] as const
/** The steps that go through the rows of all tenants at once, because no index knows their tenant. */
export const COMMON_STEPS = ['audit', 'callbacks'] as const

/** Old rows that nobody needs any more, removed a stretch at a time. */
export interface RetentionStore {
  /**
   * Takes the turn of the one purger that works at a time. `everyMs`: only if no purge has ended since so long; null: in any
   * case. A purger that says nothing for `leaseMs` has lost its turn.
   */
  begin(purger: string, options: TurnOptions): Promise<TurnStart>
  /** Says that the purger still works. False: its turn was lost. */
  keep(purger: string, leaseMs: number): Promise<boolean>
  /** `isDone`: everything was looked at, and the next purge is due only after its time. */
  end(purger: string, isDone: boolean): Promise<void>
  /** The tenant whose id follows, also one that only events name; null: that was the last. */
  nextTenant(after: string): Promise<string | null>
  /** Looks at the next `limit` rows behind `after`, and removes those that are over and older than `before`. */
  purge(
    step: (typeof TENANT_STEPS)[number],
    stretch: PurgeStretch & { tenantId: string; before: number },
  ): Promise<Purged>
  /** The same over all tenants. `before`: the instant for each; null for a row that is nobody's. */
  purgeCommon(
    step: (typeof COMMON_STEPS)[number],
    stretch: PurgeStretch & { before(tenantId: string | null): number; latest: number },
  ): Promise<Purged>
}

export interface PurgeStretch {
  after: string | null
  limit: number
  /** Counts, and removes nothing. */
  isDryRun: boolean
}

export interface Purged {
  counts: PurgedCounts
  /** How many rows were looked at. */
  looked: number
  /** Where the next stretch begins; null: that was the last. */
  next: string | null
}
