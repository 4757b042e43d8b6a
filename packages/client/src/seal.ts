import {
  createCipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { randomBytes } from './host-process.ts'
import { describe, type Problem, payloadCopy } from './json-text.ts'

/** What stands in a payload for a secret value. Only the server can open it. */
export interface Sealed {
  readonly $sealed: string
}

export interface SealOptions {
  /** The tenant whose events it is for: it then opens in no other tenant's. Default: any tenant of the server. */
  tenantId?: string | undefined
}

/** Thrown by `sealWith` for a text that is no sealing key, and by its answer for a value that cannot be sealed. */
export class SealError extends Error {
  override readonly name = 'SealError'
  readonly code = 'cannot_seal'
}

const VERSION = 'v1'
const NONCE_BYTES = 12
const KEY_BYTES = 32

/**
 * A function that seals values so that only the server with that sealing key can open them: they never stand in clear
 * in the host's database, in its backups or in its logs. The key is public (`pillarbox keys sealing`, or
 * `GET /api/sealing-key`). Each call makes another text, so that equal values do not look equal.
 *
 *     const seal = sealWith(process.env.PILLARBOX_SEALING_KEY)
 *     await publish(tx, { …, payload: { guestName: 'Guest', rsvpToken: seal(token) } })
 */
export function sealWith(
  sealingKey: string,
  { tenantId = '' }: SealOptions = {},
): (value: string | number | boolean | object) => Sealed {
  const { keyId, publicKey, publicBytes } = readSealingKey(sealingKey)
  const associated = Buffer.from(JSON.stringify([VERSION, keyId, tenantId]))

  return (value) => {
    const text = jsonText(value)
    const ephemeral = generateKeyPairSync('x25519')
    const ephemeralBytes = rawBytes(ephemeral.publicKey)
    const shared = diffieHellman({ privateKey: ephemeral.privateKey, publicKey })
    const salt = Buffer.concat([ephemeralBytes, publicBytes])
    const key = new Uint8Array(hkdfSync('sha256', shared, salt, `pillarbox sealed ${VERSION}`, KEY_BYTES))
    const nonce = Buffer.from(randomBytes(NONCE_BYTES))
    const cipher = createCipheriv('aes-256-gcm', key, nonce)
    cipher.setAAD(associated)
    const bytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return { $sealed: [VERSION, keyId, ...[ephemeralBytes, nonce, bytes].map(base64url)].join('.') }
  }
}

/** `sealing-v1.<key id>.<public key>`; the id is the beginning of the key's own hash, so a mistyped key is noticed. */
function readSealingKey(text: unknown): { keyId: string; publicKey: KeyObject; publicBytes: Buffer } {
  const [kind, keyId = '', key = '', ...rest] = typeof text === 'string' ? text.trim().split('.') : []
  if (kind !== `sealing-${VERSION}` || rest.length > 0) {
    const given = typeof text === 'string' ? 'another text' : describe(text)
    throw new SealError(
      `sealWith() needs a sealing key, which begins with "sealing-${VERSION}.", and got ${given}: \`pillarbox keys sealing\` prints it`,
    )
  }
  const publicBytes = Buffer.from(key, 'base64url')
  const hash = createHash('sha256').update(publicBytes).digest('hex')
  if (publicBytes.length !== KEY_BYTES || hash.slice(0, 8) !== keyId) {
    throw new SealError('The sealing key is incomplete or mistyped: copy it anew from `pillarbox keys sealing`')
  }
  const publicKey = createPublicKey({
    key: { kty: 'OKP', crv: 'X25519', x: base64url(publicBytes) },
    format: 'jwk',
  })
  return { keyId, publicKey, publicBytes }
}

/** What JSON would change or drop without a word is refused, as in a payload; the message never shows the value. */
function jsonText(value: unknown): string {
  const problems: Problem[] = []
  const copied = payloadCopy({ value }, '', (path, message) => void problems.push({ path, message }))
  if (copied === null || value === undefined || value === null) {
    const wrong = problems.map(({ path, message }) => `${path.slice('/value'.length) || 'it'} ${message}`)
    throw new SealError(`The value cannot be sealed: ${wrong.join('; ') || `it is ${describe(value)}`}`)
  }
  return copied.text.slice('{"value":'.length, -1)
}

function rawBytes(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
}

function base64url(bytes: Buffer): string {
  return bytes.toString('base64url')
}
