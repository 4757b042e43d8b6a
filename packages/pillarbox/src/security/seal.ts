import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { PillarboxError } from '../model/errors.ts'
import { type Keyring, keyringOf } from './keyring.ts'

/** Where a sealed value stands. It opens nowhere else: a ciphertext moved to another row or tenant is refused. */
export interface SealedPlace {
  tenantId: string
  table: string
  rowId: string
}

/** Seals and opens text with AES-256-GCM under a key that is not in the database. */
export interface Seal {
  /** Names the master key that is sealed under at present. */
  readonly keyId: string
  seal(plain: string, place: SealedPlace): string
  /** Throws when the text was changed, moved, or sealed under a master key that this process was not given. */
  open(sealed: string, place: SealedPlace): string
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
const VERSION = 's1'

/**
 * A seal under the ring's current key; what was sealed under any other of its keys opens, too. Each tenant's key is
 * derived from the master key, so that nonces are counted per tenant and no tenant's text opens under another's key. The
 * form is `s1.<key id>.<base64url of nonce, ciphertext, tag>`.
 */
export function createSeal(keys: Keyring | Buffer): Seal {
  const ring = keyringOf(keys)
  const derived = new Map<string, Buffer>()

  function tenantKey(id: string, tenantId: string): Buffer {
    const master = ring.find(id)
    if (!master)
      throw new PillarboxError(
        'internal',
        `A secret is sealed under master key ${id}, which this process does not have.`,
      )
    const cacheKey = `${id}/${tenantId}`
    let key = derived.get(cacheKey)
    if (!key) {
      key = Buffer.from(hkdfSync('sha256', master, '', `pillarbox ${VERSION} ${tenantId}`, 32))
      if (derived.size >= 10_000) derived.clear()
      derived.set(cacheKey, key)
    }
    return key
  }

  return {
    get keyId() {
      return ring.currentId
    },

    seal(plain, place) {
      const keyId = ring.currentId
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', tenantKey(keyId, place.tenantId), nonce)
      cipher.setAAD(associatedData(keyId, place))
      const sealed = Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${sealedUnder(keyId)}${sealed.toString('base64url')}`
    },

    open(sealed, place) {
      const [version, id = '', text = '', ...rest] = sealed.split('.')
      const bytes = Buffer.from(text, 'base64url')
      if (version !== VERSION || rest.length > 0 || bytes.length < NONCE_BYTES + TAG_BYTES)
        throw new PillarboxError('internal', 'A sealed value does not have the form of one.')
      const decipher = createDecipheriv('aes-256-gcm', tenantKey(id, place.tenantId), bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(associatedData(id, place))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      try {
        return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
      } catch (cause) {
        throw new PillarboxError('internal', 'A sealed value was changed, or does not belong where it stands.', {
          cause,
        })
      }
    },
  }
}

/** How every text begins that is sealed under this key. */
export function sealedUnder(keyId: string): string {
  return `${VERSION}.${keyId}.`
}

/** JSON, because plain joining would let one part reach into its neighbour's place. */
function associatedData(keyId: string, place: SealedPlace): Buffer {
  return Buffer.from(JSON.stringify([VERSION, keyId, place.tenantId, place.table, place.rowId]))
}
