import type { Key } from '@pillarbox/client'
import { type Look, Mark, SHAPES } from '../parts/mark.tsx'

const UNUSED_MS = 30 * 86_400_000

interface KeyState {
  word: 'in use' | 'new' | 'unused' | 'expired' | 'revoked'
  look: Look
  /** It opens something. */
  isGood: boolean
}

const LOOKS: Record<KeyState['word'], Look> = {
  'in use': { tone: 'good', shape: SHAPES.tick, means: 'It was used within the last 30 days.' },
  new: { tone: 'busy', shape: SHAPES.ring, means: 'Nobody has used it yet.' },
  unused: { tone: 'warn', shape: SHAPES.hand, means: 'Nobody has used it for 30 days: it can probably be revoked.' },
  expired: { tone: 'calm', shape: SHAPES.clock, means: 'Its time is over: it opens nothing.' },
  revoked: { tone: 'calm', shape: SHAPES.dash, means: 'Somebody revoked it: it opens nothing.' },
}

export function stateOf({ revokedAt, expiresAt, lastUsedAt, createdAt }: Key): KeyState {
  const now = Date.now()
  const word =
    revokedAt !== null
      ? 'revoked'
      : expiresAt !== null && Date.parse(expiresAt) <= now
        ? 'expired'
        : now - Date.parse(lastUsedAt ?? createdAt) > UNUSED_MS
          ? 'unused'
          : lastUsedAt === null
            ? 'new'
            : 'in use'
  return { word, look: LOOKS[word], isGood: word !== 'expired' && word !== 'revoked' }
}

export function KeyMark({ of }: { of: Key }) {
  const { look, word } = stateOf(of)
  return <Mark look={look} word={word} />
}
