/**
 * The one of `candidates` that speaks best to somebody who prefers `wanted`, in that order. Each locale is tried as it
 * is, then ever more generally (zh-Hant-TW → zh-Hant → zh), then any other form of its language, the nearest first
 * (de-AT → de-DE). When none fits, the first by locale; null only where there are no candidates.
 */
export function bestByLocale<T extends { locale: string }>(
  candidates: readonly T[],
  wanted: readonly (string | null | undefined)[],
): T | null {
  if (candidates.length <= 1) return candidates[0] ?? null
  const sorted = candidates.toSorted((a, b) => compare(fold(a.locale), fold(b.locale)))
  for (const locale of wanted) {
    if (!locale) continue
    const match = bestForOne(sorted, fold(locale))
    if (match) return match
  }
  return sorted[0] ?? null
}

function bestForOne<T extends { locale: string }>(sorted: readonly T[], locale: string): T | null {
  const subtags = locale.split('-')
  for (let length = subtags.length; length > 0; length--) {
    const general = subtags.slice(0, length).join('-')
    const exact = sorted.find((candidate) => fold(candidate.locale) === general)
    if (exact) return exact
  }
  for (let length = subtags.length; length > 0; length--) {
    const general = `${subtags.slice(0, length).join('-')}-`
    const near = sorted.find((candidate) => fold(candidate.locale).startsWith(general))
    if (near) return near
  }
  return null
}

/** `de_AT` and `DE-at` are the same locale. */
function fold(locale: string): string {
  return locale.trim().replaceAll('_', '-').toLowerCase()
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
