import {
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { type Keyring, keyringOf } from './keyring.ts'

/** What stands in a payload for a secret value. */
export interface Sealed {
  readonly $sealed: string
}

export function isSealed(value: unknown): value is Sealed {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return typeof (value as Record<string, unknown>)['$sealed'] === 'string' && Object.keys(value).length === 1
}

export type Opened = { value: unknown } | { error: string }

/**
 * Opens what hosts sealed with the public sealing key (`sealWith` of the client package): they can seal and not open.
 *
 *   v1.<key id>.<ephemeral public key>.<nonce>.<ciphertext and tag>      base64url
 *
 * X25519 between the ephemeral key and ours, HKDF-SHA256 over it with both public keys as the salt, AES-256-GCM. The
 * value travels as JSON. A value that was sealed for one tenant opens only in that tenant's events.
 */
export interface SealedValueOpener {
  /** `sealing-v1.<key id>.<public key>`: what a host is given. Not a secret. */
  readonly sealingKey: string
  /** The master key that a value was sealed for, where it is here; null for any other, and for what is no such value. */
  masterKeyOf(sealed: string): string | null
  open(sealed: string, tenantId: string): Opened
}

const VERSION = 'v1'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32
/** The DER of an X25519 private key up to its 32 bytes (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b656e04220420', 'hex')

/** Each master key of the ring has a key pair derived from it: hosts are given the current one's, and all of them open. */
export function createSealedValueOpener(keys: Keyring | Buffer): SealedValueOpener {
  const ring = keyringOf(keys)
  /** By master key. */
  const derived = new Map<string, KeyPair>()

  function pairFor(masterKeyId: string): KeyPair {
    const known = derived.get(masterKeyId)
    if (known) return known
    const masterKey = ring.find(masterKeyId)
    if (!masterKey) throw new Error(`there is no master key ${masterKeyId} here`)
    const pair = pairOf(masterKey)
    derived.set(masterKeyId, pair)
    return pair
  }
  const ownerOf = (sealingKeyId: string): string | null =>
    ring.ids().find((id) => pairFor(id).id === sealingKeyId) ?? null

  return {
    get sealingKey() {
      const { id, publicBytes } = pairFor(ring.currentId)
      return `sealing-${VERSION}.${id}.${publicBytes.toString('base64url')}`
    },
    masterKeyOf(sealed) {
      const parts = read(sealed)
      return parts && ownerOf(parts.keyId)
    },
    open(sealed, tenantId) {
      const parts = read(sealed)
      if (!parts) return { error: 'is not a sealed value: use sealWith() of the client package to make one' }
      const owner = ownerOf(parts.keyId)
      if (owner === null)
        return {
          error: `was sealed with the sealing key ${parts.keyId}, which does not belong to this server’s master key (its sealing key is ${pairFor(ring.currentId).id})`,
        }
      const pair = pairFor(owner)
      const key = sharedKey(pair, parts.ephemeral)
      // Sealed for this tenant, or for none in particular.
      const text = key && (decipher(key, parts, tenantId) ?? decipher(key, parts, ''))
      return text === null ? { error: 'was changed, or was sealed for another tenant' } : parse(text)
    },
  }
}

interface KeyPair {
  id: string
  privateKey: KeyObject
  publicBytes: Buffer
}

function pairOf(masterKey: Buffer): KeyPair {
  const seed = Buffer.from(hkdfSync('sha256', masterKey, '', 'pillarbox sealing key v1', KEY_BYTES))
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' })
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  const publicBytes = Buffer.from(x, 'base64url')
  return { id: createHash('sha256').update(publicBytes).digest('hex').slice(0, 8), privateKey, publicBytes }
}

interface SealedValueParts {
  keyId: string
  ephemeral: Buffer
  nonce: Buffer
  ciphertext: Buffer
  tag: Buffer
}

function read(sealed: string): SealedValueParts | null {
  const [version, keyId = '', ephemeralText = '', nonceText = '', cipherText = '', ...rest] = sealed.split('.')
  const ephemeral = Buffer.from(ephemeralText, 'base64url')
  const nonce = Buffer.from(nonceText, 'base64url')
  const bytes = Buffer.from(cipherText, 'base64url')
  const isSound =
    version === VERSION &&
    rest.length === 0 &&
    ephemeral.length === KEY_BYTES &&
    nonce.length === NONCE_BYTES &&
    bytes.length >= TAG_BYTES
  if (!isSound) return null
  return { keyId, ephemeral, nonce, ciphertext: bytes.subarray(0, -TAG_BYTES), tag: bytes.subarray(-TAG_BYTES) }
}

/** Null for a point that gives no secret. */
function sharedKey(pair: KeyPair, ephemeral: Buffer): Buffer | null {
  try {
    const publicKey = createPublicKey({
      key: { kty: 'OKP', crv: 'X25519', x: ephemeral.toString('base64url') },
      format: 'jwk',
    })
    const shared = diffieHellman({ privateKey: pair.privateKey, publicKey })
    const salt = Buffer.concat([ephemeral, pair.publicBytes])
    return Buffer.from(hkdfSync('sha256', shared, salt, `pillarbox sealed ${VERSION}`, KEY_BYTES))
  } catch {
    return null
  }
}

function decipher(key: Buffer, { keyId, nonce, ciphertext, tag }: SealedValueParts, tenantId: string): string | null {
  const open = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  open.setAAD(Buffer.from(JSON.stringify([VERSION, keyId, tenantId])))
  open.setAuthTag(tag)
  try {
    return Buffer.concat([open.update(ciphertext), open.final()]).toString('utf8')
  } catch {
    return null
  }
}

function parse(text: string): Opened {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return { error: 'holds something that is not JSON' }
  }
}
