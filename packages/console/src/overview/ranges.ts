/** How far back the overview looks, and in how many steps. */
export const RANGES = [
  { name: '1h', words: 'last hour', ms: 3_600_000, step: 'PT1M', stepMs: 60_000 },
  { name: '24h', words: 'last 24 hours', ms: 86_400_000, step: 'PT30M', stepMs: 1_800_000 },
  { name: '7d', words: 'last 7 days', ms: 7 * 86_400_000, step: 'PT3H', stepMs: 10_800_000 },
] as const

export type Range = (typeof RANGES)[number]

export function rangeOf(name: string | undefined): Range {
  return RANGES.find((range) => range.name === name) ?? RANGES[0]
}

/** Up to the end of the step that is under way. */
export function boundsOf({ ms, stepMs }: Range): { from: string; to: string } {
  const to = Math.ceil(Date.now() / stepMs) * stepMs
  return { from: new Date(to - ms).toISOString(), to: new Date(to).toISOString() }
}
