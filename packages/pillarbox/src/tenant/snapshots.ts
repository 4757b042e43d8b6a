import type { StoredAccount } from '../model/account.ts'
import { chooseAccount } from '../model/account-choice.ts'
import type { Channel } from '../model/channel.ts'
import type { Clock } from '../model/ports.ts'
import type { Address } from '../model/recipient.ts'
import type { Tenant } from '../model/tenant.ts'
import { createTimedCache, createTimedMap } from '../runtime/timed-cache.ts'
import type { AccountStore } from './account-store.ts'
import type { CatalogueStore } from './catalogue-store.ts'
import type { TenantStore } from './tenant-store.ts'

/** How a tenant is set up, read together. Never changed: what belongs to one may be remembered beside it. */
export interface TenantSnapshot {
  /** Null where there is no such tenant. */
  readonly tenant: Tenant | null
  /** Of every channel and status, by priority, then age. */
  readonly accounts: readonly StoredAccount[]
  /** The last resort of the locale chain; null before the first import. */
  readonly catalogueLocale: string | null
}

/** The tenants of one process: planning, dispatch, intake and receipts go by the same snapshot of each. */
export interface TenantSnapshots {
  /** At most `maxAgeMs` old: a change made elsewhere is felt within that time. */
  get(tenantId: string): Promise<TenantSnapshot>
  /** What was last read, however old; for calls that must not wait. */
  last(tenantId: string): TenantSnapshot | undefined
  /** After a change made here: the next `get` reads anew. */
  outdate(tenantId: string): void
  /** The account for a channel (`model/account-choice.ts`), by priority, then age; or null. */
  choose(tenantId: string, channel: Channel, to: Address): Promise<StoredAccount | null>
}

export interface SnapshotStore {
  tenants: Pick<TenantStore, 'find'>
  accounts: Pick<AccountStore, 'list'>
  catalogue: Pick<CatalogueStore, 'current'>
}

/** Tenants that do not exist are kept apart, so that whoever makes names up pushes no real tenant out. */
const MOST_STRANGERS = 1_000

export function createTenantSnapshots(store: SnapshotStore, clock: Clock, maxAgeMs: number): TenantSnapshots {
  const strangers = createTimedMap<TenantSnapshot>({ clock, maxAgeMs, maxEntries: MOST_STRANGERS })
  const known = createTimedCache<TenantSnapshot>({
    clock,
    maxAgeMs,
    isKept: ({ tenant }) => tenant !== null,
    async read(tenantId) {
      const snapshot = await readSnapshot(store, tenantId)
      if (snapshot.tenant === null) strangers.set(tenantId, snapshot)
      return snapshot
    },
  })
  const get = async (tenantId: string): Promise<TenantSnapshot> => strangers.peek(tenantId) ?? known.get(tenantId)
  return {
    get,
    last: (tenantId) => known.last(tenantId) ?? strangers.last(tenantId),
    outdate(tenantId) {
      strangers.outdate(tenantId)
      known.outdate(tenantId)
    },
    choose: async (tenantId, channel, to) => chooseAccount((await get(tenantId)).accounts, channel, to),
  }
}

/** A tenant as it is set up now. */
export async function readSnapshot(store: SnapshotStore, tenantId: string): Promise<TenantSnapshot> {
  const [tenant, accounts, catalogue] = await Promise.all([
    store.tenants.find(tenantId),
    store.accounts.list(tenantId),
    store.catalogue.current(tenantId),
  ])
  return { tenant, accounts, catalogueLocale: catalogue?.defaultLocale ?? null }
}
