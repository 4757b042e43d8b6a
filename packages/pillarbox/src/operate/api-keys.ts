import type { ApiKey } from '../model/api-key.ts'
import { type FieldError, found, invalidBody, PillarboxError } from '../model/errors.ts'
import type { Clock, IdSource } from '../model/ports.ts'
import { hashKey, makeKey } from '../security/keys.ts'
import type { Store } from '../store/store.ts'
import type { NewKeyRecord } from './key-store.ts'

/** What a key is issued with. */
export type NewApiKey = Pick<ApiKey, 'tenantId' | 'name' | 'role'> &
  Partial<Pick<ApiKey, 'site' | 'ratePerSecond' | 'expiresAt'>>

/** What an issued key looks like to the one it is issued to: the only time `key` is seen. */
export interface IssuedKey extends NewKeyRecord {
  key: string
}

/** Makes a key and stores its hash. Tenant null: an ops key. */
export async function issueKey(
  { store, ids }: { store: Pick<Store, 'keys'>; ids: IdSource },
  wanted: NewApiKey,
  actor: string,
): Promise<IssuedKey> {
  const record = { id: ids(), site: null, ratePerSecond: null, expiresAt: null, ...wanted }
  const key = makeKey()
  await store.keys.insert(record, hashKey(key), actor)
  return { ...record, key }
}

/** Throws `invalid_body` for a key that would have a site without being a publisher, or expire at once. */
export function refuseUselessKey({ role, site = null, expiresAt = null }: NewApiKey, now: number): void {
  const errors: FieldError[] = []
  if (site !== null && role !== 'publisher') errors.push({ path: '/site', message: 'may only be given to a publisher' })
  if (expiresAt !== null && expiresAt <= now) errors.push({ path: '/expiresAt', message: 'must be in the future' })
  if (errors.length > 0) throw invalidBody(errors)
}

/**
 * Issues another key that is like this one, and lets this one expire when `overlapMs` are over: callers change over one by one,
 * and none of them is refused meanwhile. They share their name, so what either sent is one publisher's.
 */
export async function rotateKey(
  deps: { store: Pick<Store, 'keys'>; ids: IdSource; clock: Clock },
  { tenantId, keyId, overlapMs }: { tenantId: string | null; keyId: string; overlapMs: number },
  actor: string,
): Promise<IssuedKey> {
  const { store, ids, clock } = deps
  const key = makeKey()
  const next = { id: ids(), hash: hashKey(key), at: clock.now() + overlapMs }
  const { made } = found(await store.keys.replace(tenantId, keyId, next, actor))
  return { ...made, key }
}

/** Revokes a key of a tenant, or with null an ops key. Throws `last_key` where no other ops key would be valid. */
export async function revokeKey(
  { store, clock }: { store: Pick<Store, 'keys'>; clock: Clock },
  tenantId: string | null,
  keyId: string,
  actor: string,
): Promise<void> {
  if (tenantId === null) refuseLastKey(await store.keys.list(null), keyId, clock.now())
  found(await store.keys.revoke(tenantId, keyId, actor))
}

function refuseLastKey(keys: readonly ApiKey[], keyId: string, now: number): void {
  found(keys.find(({ id, revokedAt }) => id === keyId && revokedAt === null))
  const isValid = ({ revokedAt, expiresAt }: ApiKey) => revokedAt === null && (expiresAt === null || expiresAt > now)
  if (!keys.some((key) => key.id !== keyId && isValid(key)))
    throw new PillarboxError('last_key', 'No other ops key is valid: issue one first.')
}
