/**
 * What other systems call our statuses, channels and platforms: their word, and ours. Whoever moves here may keep asking in
 * their words; answers are always in ours. `docs/reference/states.md` has the same table, and a test keeps the two equal.
 * A word that is one of ours where it stands keeps its meaning there: an event's `pending` is `pending`.
 */
export const OTHER_WORDS = {
  Pending: 'queued',
  Processing: 'sending',
  DeadLettered: 'parked',
  'dead-lettered': 'parked',
  'Dead-Letter': 'parked',
  RESOLVED: 'closed',
  InApp: 'in_app',
  'in-app': 'in_app',
} as const satisfies Record<string, string>

const OURS = new Map<string, string>(Object.entries(OTHER_WORDS).map(([word, ours]) => [word.toLowerCase(), ours]))

/** The one of `ours` that a word means, in whatever case it is written; the word itself where it means none. */
export function readWord(word: string, ours: readonly unknown[]): string {
  const asked = word.toLowerCase()
  const isMeant = (one: unknown, meant: string | undefined): one is string =>
    typeof one === 'string' && one.toLowerCase() === meant
  const own = ours.find((one) => isMeant(one, asked)) ?? ours.find((one) => isMeant(one, OURS.get(asked)))
  return typeof own === 'string' ? own : word
}
