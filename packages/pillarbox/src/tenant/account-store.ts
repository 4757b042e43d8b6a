import type { AccountStatus, StoredAccount } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'

export interface AccountStore {
  /** False when the id, or the name on that channel, is taken. Audited, as every change below. */
  insert(account: Omit<StoredAccount, 'createdAt' | 'updatedAt'>, actor?: string): Promise<boolean>
  find(tenantId: string | null, id: string): Promise<StoredAccount | null>
  /** By priority, then age. */
  list(tenantId: string, channel?: Channel): Promise<StoredAccount[]>
  /** Every tenant's accounts of these providers, for callbacks whose path names no tenant. By age. */
  listOfProviders(providers: readonly string[]): Promise<StoredAccount[]>
  /** `from`: only while its secrets are still these, sealed; null otherwise, as when it is unknown. */
  update(
    tenantId: string,
    id: string,
    changes: Partial<Omit<StoredAccount, 'id' | 'tenantId' | 'createdAt' | 'updatedAt'>>,
    options?: { from?: Pick<StoredAccount, 'sealedSecrets'>; actor?: string },
  ): Promise<StoredAccount | null>
  /** `from`: only when it has one of these statuses now. False when nothing changed. */
  setStatus(
    id: string,
    status: AccountStatus,
    reason: string | null,
    actor: string,
    from?: readonly AccountStatus[],
  ): Promise<boolean>
  /** False when it is unknown; refuses (`already_exists`) while notifications still wait on it. */
  remove(tenantId: string, id: string, actor?: string): Promise<boolean>
}
