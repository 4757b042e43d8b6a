/**
 * Processor time that several pieces of a stranger's work may take together, and whose they were. What is asked for when it
 * is used up is not done, so that whoever has more to do for others can go on.
 */
export interface Allowance {
  leftMs(): number
  charge(tenantId: string, ms: number): void
}

export interface MeteredAllowance extends Allowance {
  /** The tenant that took the most, where it took a good part of all there was and nothing is left. */
  toBlame(): string | null
}

export function createAllowance(ms: number): MeteredAllowance {
  const taken = new Map<string, number>()
  let leftMs = ms
  return {
    leftMs: () => leftMs,
    charge(tenantId, ms) {
      leftMs -= ms
      taken.set(tenantId, (taken.get(tenantId) ?? 0) + ms)
    },
    toBlame() {
      if (leftMs > 0) return null
      const [most] = [...taken].toSorted(([, a], [, b]) => b - a)
      return most && most[1] >= ms / 4 ? most[0] : null
    },
  }
}
