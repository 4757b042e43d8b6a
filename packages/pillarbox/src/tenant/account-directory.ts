import type { StoredAccount } from '../model/account.ts'
import { chooseAccount } from '../model/account-choice.ts'
import type { Channel } from '../model/channel.ts'
import type { Clock } from '../model/ports.ts'
import type { Address } from '../model/recipient.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import type { AccountStore } from '../tenant/account-store.ts'

/** Which account a notification goes through. */
export interface AccountDirectory {
  /** The tenant's account for the channel (`model/account-choice.ts`), by priority, then age; or `null`. */
  choose(tenantId: string, channel: Channel, to: Address): Promise<StoredAccount | null>
  forget(tenantId: string): void
}

const MAX_AGE_MS = 1_000

/** What it answers is at most one second old. */
export function createAccountDirectory(accounts: Pick<AccountStore, 'list'>, clock: Clock): AccountDirectory {
  const cache = createTimedCache({ clock, maxAgeMs: MAX_AGE_MS, read: (tenantId) => accounts.list(tenantId) })
  return {
    choose: async (tenantId, channel, to) => chooseAccount(await cache.get(tenantId), channel, to),
    forget: cache.outdate,
  }
}
