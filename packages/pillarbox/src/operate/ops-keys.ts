import { SYSTEM } from '../model/audit.ts'
import type { IdSource } from '../model/ports.ts'
import { hashKey } from '../security/keys.ts'
import type { Store } from '../store/store.ts'
import { type IssuedKey, issueKey } from './api-keys.ts'

interface OpsKeyDeps {
  store: Pick<Store, 'keys'>
  ids: IdSource
}

/** Lets the ops key in that the settings name. */
export async function putOpsKey({ store, ids }: OpsKeyDeps, key: string): Promise<void> {
  const all = { tenantId: null, site: null, ratePerSecond: null, expiresAt: null }
  await store.keys.insert({ id: ids(), name: 'configured', role: 'ops', ...all }, hashKey(key))
}

/** Makes an ops key where the store has none; null: it has one. */
export async function ensureOpsKey({ store, ids }: OpsKeyDeps): Promise<IssuedKey | null> {
  const existing = await store.keys.list(null)
  if (existing.some((key) => key.role === 'ops' && key.revokedAt === null)) return null
  return await issueKey({ store, ids }, { tenantId: null, name: 'first', role: 'ops' }, SYSTEM)
}
