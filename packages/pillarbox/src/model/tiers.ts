import type { Pace } from './account.ts'

/**
 * Paces by name, for WhatsApp. `TIER_1` to `UNLIMITED` are cautious ones for a number's messaging limit: 60, 500, 2,000,
 * 3,000 and 6,000 messages a minute. The others are the throughput that Meta itself lets a number have: one that the
 * WhatsApp Business app uses too, any other, and one that Meta has upgraded.
 */
export const TIERS = {
  TIER_1: { perSecond: 1, burst: 1 },
  TIER_2: { perSecond: 8.3, burst: 9 },
  TIER_3: { perSecond: 33.3, burst: 34 },
  TIER_4: { perSecond: 50, burst: 50 },
  UNLIMITED: { perSecond: 100, burst: 100 },
  COEXISTENCE: { perSecond: 20, burst: 20 },
  STANDARD: { perSecond: 80, burst: 80 },
  HIGH: { perSecond: 1_000, burst: 1_000 },
} as const satisfies Record<string, Pace>

export type Tier = keyof typeof TIERS

export const TIER_NAMES = Object.keys(TIERS) as Tier[]

export function isTier(name: unknown): name is Tier {
  return typeof name === 'string' && Object.hasOwn(TIERS, name)
}
