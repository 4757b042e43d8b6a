import type { ApiKey } from '../model/api-key.ts'

export type NewKeyRecord = Omit<ApiKey, 'createdAt' | 'revokedAt' | 'lastUsedAt'>

export interface KeyStore {
  /** False, and nothing written, when the key is known already. Audited, as is its revocation. */
  insert(key: NewKeyRecord, hash: string, actor?: string): Promise<boolean>
  findByHash(hash: string): Promise<ApiKey | null>
  list(tenantId: string | null): Promise<ApiKey[]>
  /**
   * Another key that is like this one, with an id and a hash of its own, while this one expires `at` that time, unless it does
   * so before: both, or neither. Null: there is no such key, or it is over. Audited.
   */
  replace(
    tenantId: string | null,
    id: string,
    next: { id: string; hash: string; at: number },
    actor: string,
  ): Promise<{ former: ApiKey; made: NewKeyRecord } | null>
  /** Notes that it was used just now. */
  noteUse(id: string): Promise<void>
  revoke(tenantId: string | null, id: string, actor?: string): Promise<boolean>
}
