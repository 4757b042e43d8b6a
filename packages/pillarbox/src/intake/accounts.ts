import type { Channel } from '../model/channel.ts'
import type { Clock } from '../model/ports.ts'
import type { Address } from '../model/recipient.ts'
import type { AccountStore, StoredAccount } from '../store/store.ts'
import { createTenantCache } from './tenant-cache.ts'

/** Which account a notification goes through. */
export interface AccountDirectory {
  /** The tenant's active account for the channel with the lowest priority, the oldest among equals; or `null`. */
  choose(tenantId: string, channel: Channel, to: Address): Promise<StoredAccount | null>
  forget(tenantId: string): void
}

const MAX_AGE_MS = 1_000

/** Vendors whose tokens only they understand: a device of one is never sent to through the other. */
const PLATFORM_PROVIDERS: readonly string[] = ['fcm', 'wns']

/** What it answers is at most one second old. */
export function createAccountDirectory(accounts: Pick<AccountStore, 'list'>, clock: Clock): AccountDirectory {
  const cache = createTenantCache(clock, MAX_AGE_MS, async (tenantId) =>
    (await accounts.list(tenantId)).filter((account) => account.status === 'active'),
  )
  return {
    async choose(tenantId, channel, to) {
      const active = await cache.get(tenantId)
      return active.find((account) => account.channel === channel && serves(account.provider, channel, to)) ?? null
    },
    forget: cache.forget,
  }
}

function serves(provider: string, channel: Channel, to: Address): boolean {
  return channel !== 'push' || !PLATFORM_PROVIDERS.includes(provider) || provider === to.platform
}
