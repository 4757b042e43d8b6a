import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { PillarboxError } from '../model/errors.ts'
import type { Store } from '../store/store.ts'
import type { Keyring } from './keyring.ts'
import { createSeal, type SealedPlace, sealedUnder } from './seal.ts'

/**
 * Device tokens at rest. A token is always sealed to the same text within a tenant, so that it is found again by comparing
 * texts: in the ledger, among suppressions, in the sandbox. The form is `t1.<base64url of hash and ciphertext>`; the hash is
 * an HMAC of the token, and also where the cipher begins (a synthetic initialisation vector, as RFC 5297 has it).
 */
export interface TokenSeal {
  seal(tenantId: string, token: string): string
  /** A text that is not sealed is answered as it is. Null: it was changed, or sealed for another tenant. */
  open(tenantId: string, text: string): string | null
  /** A keyed hash that stands for an address which was erased: the same for the same one, and nobody can tell which. */
  hash(tenantId: string, address: string): string
}

/** What a suppression has in the place of an address that was erased. `identity`: as `addressIdentity` tells it. */
export function hashedAddress(tokens: Pick<TokenSeal, 'hash'>, tenantId: string, identity: string): string {
  return `erased:${tokens.hash(tenantId, identity)}`
}

/** What stands in an event's payload for a device token. */
export interface SealedToken {
  readonly $token: string
}

export function isSealedToken(value: unknown): value is SealedToken {
  if (typeof value !== 'object' || value === null) return false
  return '$token' in value && typeof value.$token === 'string' && Object.keys(value).length === 1
}

/** How every sealed token begins. */
export const SEALED_TOKEN_PREFIX = 't1.'
const HASH_BYTES = 16
const KEY_BYTES = 32
const CIPHER = 'aes-256-ctr'

interface TenantKeys {
  hashing: Buffer
  sealing: Buffer
  erasing: Buffer
}

/** Seals nothing before it has its key, which a start reads from the database (`loadTokenKey`). */
export function createTokenSeal(key: Buffer | null = null): TokenSeal & { use(key: Buffer): void } {
  let tokenKey = key
  const derived = new Map<string, TenantKeys>()

  function keysOf(tenantId: string): TenantKeys {
    if (!tokenKey) throw new PillarboxError('internal', 'A device token was met before the key for them was read.')
    let keys = derived.get(tenantId)
    if (!keys) {
      const both = Buffer.from(hkdfSync('sha256', tokenKey, '', `pillarbox tokens ${tenantId}`, 2 * KEY_BYTES))
      const erasing = Buffer.from(hkdfSync('sha256', tokenKey, '', `pillarbox erased ${tenantId}`, KEY_BYTES))
      keys = { hashing: both.subarray(0, KEY_BYTES), sealing: both.subarray(KEY_BYTES), erasing }
      if (derived.size >= 10_000) derived.clear()
      derived.set(tenantId, keys)
    }
    return keys
  }
  const hashOf = (key: Buffer, token: string): Buffer =>
    createHmac('sha256', key).update(token).digest().subarray(0, HASH_BYTES)

  return {
    use(given) {
      tokenKey = given
      derived.clear()
    },
    seal(tenantId, token) {
      const { hashing, sealing } = keysOf(tenantId)
      const hash = hashOf(hashing, token)
      const sealed = createCipheriv(CIPHER, sealing, hash).update(token, 'utf8')
      return `${SEALED_TOKEN_PREFIX}${Buffer.concat([hash, sealed]).toString('base64url')}`
    },
    open(tenantId, text) {
      if (!text.startsWith(SEALED_TOKEN_PREFIX)) return text
      const { hashing, sealing } = keysOf(tenantId)
      const bytes = Buffer.from(text.slice(SEALED_TOKEN_PREFIX.length), 'base64url')
      if (bytes.length < HASH_BYTES) return null
      const hash = bytes.subarray(0, HASH_BYTES)
      const token = createDecipheriv(CIPHER, sealing, hash).update(bytes.subarray(HASH_BYTES)).toString('utf8')
      return timingSafeEqual(hash, hashOf(hashing, token)) ? token : null
    },
    hash: (tenantId, address) => createHmac('sha256', keysOf(tenantId).erasing).update(address).digest('hex'),
  }
}

/** The name under which the store keeps the key, sealed under the master key. */
const TOKEN_KEY = 'token_key'
const PLACE: SealedPlace = { tenantId: '', table: 'instance', rowId: TOKEN_KEY }

/** The installation's key for device tokens; the first process makes it. */
export async function loadTokenKey(
  { instance }: Pick<Store, 'instance'>,
  ring: Keyring,
  randomBytes: (count: number) => Buffer,
): Promise<Buffer> {
  const seal = createSeal(ring)
  const fresh = (): string => seal.seal(randomBytes(KEY_BYTES).toString('base64'), PLACE)
  const sealed = (await instance.read(TOKEN_KEY)) ?? (await instance.settle(TOKEN_KEY, fresh()))
  return Buffer.from(seal.open(sealed, PLACE), 'base64')
}

/** A rotation of the master key changes what the key is sealed under, and not the key: no token has to be sealed anew. */
export async function resealTokenKey({ instance }: Pick<Store, 'instance'>, ring: Keyring): Promise<void> {
  const sealed = await instance.read(TOKEN_KEY)
  if (sealed === null || sealed.startsWith(sealedUnder(ring.currentId))) return
  const seal = createSeal(ring)
  await instance.change(TOKEN_KEY, sealed, seal.seal(seal.open(sealed, PLACE), PLACE))
}
