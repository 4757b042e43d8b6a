import type { MissingKeys } from './filling.ts'

const MAX_KEYS = 20
const MAX_KEY_CHARACTERS = 100

/** Tells each key once, the first 20 of them, and at the end how many more there were. */
export function createMissingKeys(
  mode: 'empty' | 'keep',
  warn: (key: string | null, message: string) => void,
): MissingKeys & { close(): void } {
  const seen = new Set<string>()
  return {
    note(key, why) {
      if (seen.has(key)) return
      seen.add(key)
      if (seen.size > MAX_KEYS) return
      const name = key.length > MAX_KEY_CHARACTERS ? `${key.slice(0, MAX_KEY_CHARACTERS)}…` : key
      const became = mode === 'empty' ? 'it was left empty' : 'it was left as it stands'
      const cause = why === 'absent' ? 'is not in the payload' : 'has several fields and not one of them is named'
      warn(name, `${name} ${cause}: ${became}`)
    },
    close() {
      if (seen.size > MAX_KEYS) warn(null, `${seen.size - MAX_KEYS} further placeholders are not in the payload`)
    },
  }
}
