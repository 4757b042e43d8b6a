import { PillarboxError } from '../model/errors.ts'
import type { Seal } from './seal.ts'

/** What a token made here starts with, so that a leaked one is recognised by scanners and by people. */
const PREFIX = 'pbu_'

/** Whoever shows it may use one user's inbox until it expires. */
export interface UserToken {
  tenantId: string
  userId: string
  expiresAt: number
}

export interface UserTokens {
  issue(token: UserToken): string
  /** Whether text claims to be one of ours, good or not. */
  isOne(text: string): boolean
  /** Null unless it was issued here for that user. Whether it has expired is for the caller to judge. */
  open(text: string, userId: string): UserToken | null
}

/**
 * Tokens for users' own browsers: `pbu_<tenant>.<sealed>`, where the expiry is sealed for that tenant and user. Nothing is
 * kept of them: the seal alone makes them good, so they cannot be taken back and are short-lived. They outlive a change of
 * the master key as long as the former key is still given.
 */
export function createUserTokens(seal: Pick<Seal, 'seal' | 'open'>): UserTokens {
  return {
    issue: ({ expiresAt, ...owner }) => `${PREFIX}${owner.tenantId}.${seal.seal(String(expiresAt), placeOf(owner))}`,
    isOne: (text) => text.startsWith(PREFIX),
    open(text, userId) {
      const match = /^pbu_([a-z0-9-]{1,63})\.([\w.-]{1,400})$/.exec(text)
      if (!match) return null
      const [, tenantId = '', sealed = ''] = match
      const expiresAt = opened(sealed, { tenantId, userId })
      return expiresAt === null ? null : { tenantId, userId, expiresAt: Number(expiresAt) }
    },
  }

  function opened(sealed: string, owner: Owner): string | null {
    try {
      return seal.open(sealed, placeOf(owner))
    } catch (error) {
      // Forged, of another user, or sealed under a key that is gone: all the same to whoever shows it.
      if (error instanceof PillarboxError) return null
      throw error
    }
  }
}

type Owner = Omit<UserToken, 'expiresAt'>

function placeOf({ tenantId, userId }: Owner) {
  return { tenantId, table: 'user_tokens', rowId: userId }
}
