/** The known name that was probably meant: one that differs by a slip of the finger only. */
export function closest(given: string, known: readonly string[]): string | null {
  const most = given.length <= 3 ? 1 : Math.min(3, Math.floor(given.length / 2))
  let best: { name: string; distance: number } | null = null
  for (const name of known) {
    if (Math.abs(name.length - given.length) > most) continue
    const distance = editDistance(given.toLowerCase(), name.toLowerCase())
    if (distance <= most && (best === null || distance < best.distance)) best = { name, distance }
  }
  return best?.name ?? null
}

/** Letters to insert, remove or replace to make one of the other (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 0; i < a.length; i += 1) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j += 1)
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1)))
    row = next
  }
  return row[b.length] ?? 0
}
