import type { ApiKey } from '../model/api-key.ts'

export interface KeyStore {
  /** False, and nothing written, when the key is known already. Audited, as is its revocation. */
  insert(key: Omit<ApiKey, 'createdAt' | 'revokedAt'>, hash: string, actor?: string): Promise<boolean>
  findByHash(hash: string): Promise<ApiKey | null>
  list(tenantId: string | null): Promise<ApiKey[]>
  revoke(tenantId: string | null, id: string, actor?: string): Promise<boolean>
}
