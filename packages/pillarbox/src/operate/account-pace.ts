import type { Pace } from '../model/account.ts'
import { invalidBody } from '../model/errors.ts'
import { isTier, TIERS, type Tier } from '../model/tiers.ts'

/** A pace as somebody gives it: `perSecond` (and `burst`), or a tier of WhatsApp. */
export interface GivenPace {
  perSecond?: number
  burst?: number
  tier?: Tier
}

/** A tier is kept beside the pace it stands for, so that it is shown as it was given. */
export type StoredPace = (Pace & { tier?: Tier }) | null

/**
 * The pace to keep. `given` is undefined where nothing is said about it; then the tier in the settings is the pace, where
 * the provider knows one, unless somebody set another by hand. Null: as fast as the vendor lets it.
 */
export function paceOf(wanted: {
  given: GivenPace | null | undefined
  settings: Record<string, unknown>
  /** Whether `tier` is a setting of the provider. */
  isTiered: boolean
  /** What it is where nobody has said anything. */
  byDefault: StoredPace
  /** Undefined: the account is new, or replaced as a whole. */
  current?: StoredPace
}): StoredPace {
  const { given, settings, isTiered, byDefault, current = byDefault } = wanted
  const tier = isTiered && isTier(settings['tier']) ? settings['tier'] : null
  if (given) {
    if (tier !== null && given.tier !== undefined && given.tier !== tier)
      throw invalidBody([
        { path: '/pace/tier', message: `is ${given.tier}, and settings.tier is ${tier}: they must be the same` },
      ])
    return readPace(given)
  }
  const isByHand = current !== null && current.tier === undefined && !isSamePace(current, byDefault)
  if (given === undefined && (tier === null || isByHand)) return current
  return tier === null ? null : { ...TIERS[tier], tier }
}

function isSamePace(one: Pace, other: Pace | null): boolean {
  return one.perSecond === other?.perSecond && one.burst === other.burst
}

/** As it was given. */
export function shownPace(pace: StoredPace): GivenPace | null {
  return pace?.tier === undefined ? pace : { tier: pace.tier }
}

function readPace({ tier, perSecond, burst }: GivenPace): StoredPace {
  if (tier !== undefined) {
    if (perSecond !== undefined || burst !== undefined)
      throw invalidBody([{ path: '/pace', message: 'takes either a tier or perSecond and burst' }])
    return { ...TIERS[tier], tier }
  }
  if (perSecond === undefined) throw invalidBody([{ path: '/pace/perSecond', message: 'is required' }])
  return { perSecond, burst: burst ?? Math.max(1, Math.ceil(perSecond)) }
}
