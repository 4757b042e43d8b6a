import type { ApiKey } from '../model/api-key.ts'

export type NewKeyRecord = Omit<ApiKey, 'createdAt' | 'revokedAt' | 'lastUsedAt'>

export interface KeyStore {
  /** False, and nothing written, when the key is known already. Audited, as is its revocation. */
  insert(key: NewKeyRecord, hash: string, actor?: string): Promise<boolean>
  findByHash(hash: string): Promise<ApiKey | null>
  list(tenantId: string | null): Promise<ApiKey[]>
  /** It expires at this time, unless it does so before. Null: there is no such key, or it is over. Audited. */
  expire(tenantId: string | null, id: string, at: number, actor: string): Promise<ApiKey | null>
  /** Notes that it was used just now. */
  noteUse(id: string): Promise<void>
  revoke(tenantId: string | null, id: string, actor?: string): Promise<boolean>
}
