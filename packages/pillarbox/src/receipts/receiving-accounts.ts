import { TENANT_ID } from '@pillarbox/client/contract'
import { topicOf } from '../channels/aws.ts'
import type { Account, StoredAccount } from '../model/account.ts'
import type { Clock, Logger } from '../model/ports.ts'
import { createSecretOpener, type OpenSecrets, openAccount } from '../tenant/account-book.ts'
import type { AccountStore } from '../tenant/account-store.ts'
import type { TenantStore } from '../tenant/tenant-store.ts'
import type { ReceiptSource } from './receipt-source.ts'

/** The accounts that a callback may be about, from memory: anybody can call a webhook as often as he likes. */
export interface ReceivingAccounts {
  /** Of that tenant, or of everybody where the source is shared; at most `maxAgeMs` old. */
  get(source: ReceiptSource, tenantId: string | null): Promise<Receivers>
  /** What was last read, however old, without a look at the store; null where nothing is known. */
  peek(source: ReceiptSource, tenantId: string | null): Receivers | null
  /** After a change made here, so that the next callback already meets it. */
  forget(tenantId: string): void
}

export interface Receivers {
  /** Whether the path named a tenant that exists. */
  isTenantKnown: boolean
  /** Whatever their status: what was sent before an account was suspended is still reported. */
  accounts: readonly Account[]
}

interface ReceiversEntry {
  found: Promise<Receivers>
  /** Once it was read. */
  read: Receivers | null
  readAt: number
}

const MOST_ENTRIES = 10_000
const MOST_STRANGERS = 1_000
const NOBODY: Receivers = { isTenantKnown: false, accounts: [] }

export function createReceivingAccounts(deps: {
  store: { accounts: Pick<AccountStore, 'list' | 'listOfProviders'>; tenants: Pick<TenantStore, 'find'> }
  sources: ReadonlyMap<string, ReceiptSource>
  openSecrets: OpenSecrets
  clock: Clock
  logger: Logger
  maxAgeMs: number
}): ReceivingAccounts {
  const { store, clock, logger, maxAgeMs } = deps
  const providersOfTenants = new Set(
    [...deps.sources.values()].flatMap(({ isShared, providers }) => (isShared ? [] : providers)),
  )
  const known = new Map<string, ReceiversEntry>()
  /** Tenants that are not there. Apart, so that whoever makes names up pushes no real one out. */
  const strangers = new Map<string, ReceiversEntry>()
  const secretsOf = createSecretOpener(deps.openSecrets, logger, 'no callback is believed')

  function entryOf(key: string): ReceiversEntry | undefined {
    return known.get(key) ?? strangers.get(key)
  }

  /** Callbacks that come together share one read; a failed read is not remembered. */
  function load(key: string, read: () => Promise<Receivers>): Promise<Receivers> {
    const found = read()
    const entry: ReceiversEntry = { found, read: known.get(key)?.read ?? null, readAt: clock.monotonic() }
    strangers.delete(key)
    put(known, key, entry, MOST_ENTRIES)
    found.then(
      (receivers) => {
        entry.read = receivers
        if (receivers.isTenantKnown || known.get(key) !== entry) return
        known.delete(key)
        put(strangers, key, entry, MOST_STRANGERS)
      },
      () => void (known.get(key) === entry && known.delete(key)),
    )
    return found
  }

  async function ofTenant(tenantId: string): Promise<Receivers> {
    const stored = await store.accounts.list(tenantId)
    const isTenantKnown = stored.length > 0 || (await store.tenants.find(tenantId)) !== null
    const receiving = stored.filter(({ provider }) => providersOfTenants.has(provider))
    return { isTenantKnown, accounts: receiving.map((account) => openAccount(account, secretsOf(account))) }
  }

  /** What every tenant shares is proven by a token at most, and by none where an account names its topic. */
  async function ofEverybody(providers: readonly string[]): Promise<Receivers> {
    const stored = await store.accounts.listOfProviders(providers)
    return { isTenantKnown: true, accounts: stored.map((account) => openAccount(account, tokenOf(account))) }
  }

  function tokenOf(account: StoredAccount): Record<string, string> {
    if (topicOf(account) !== null || !account.secretNames.includes('webhookToken')) return {}
    const { webhookToken = '' } = secretsOf(account) ?? {}
    return { webhookToken }
  }

  return {
    async get(source, tenantId) {
      const key = keyOf(source, tenantId)
      if (key === null) return NOBODY
      const entry = entryOf(key)
      const isFresh = entry !== undefined && clock.monotonic() - entry.readAt < maxAgeMs
      const found = isFresh
        ? entry.found
        : load(key, () => (source.isShared ? ofEverybody(source.providers) : ofTenant(tenantId ?? '')))
      return ofSource(source, await found)
    },
    peek(source, tenantId) {
      const key = keyOf(source, tenantId)
      const read = key === null ? NOBODY : entryOf(key)?.read
      return read ? ofSource(source, read) : null
    },
    forget(tenantId) {
      known.delete(`tenant ${tenantId}`)
      strangers.delete(`tenant ${tenantId}`)
      for (const key of known.keys()) if (key.startsWith('source ')) known.delete(key)
    },
  }
}

/** Null for what cannot be the name of a tenant. */
function keyOf(source: ReceiptSource, tenantId: string | null): string | null {
  if (source.isShared) return `source ${source.name}`
  return tenantId !== null && TENANT_ID.pattern.test(tenantId) ? `tenant ${tenantId}` : null
}

function ofSource({ providers }: ReceiptSource, { isTenantKnown, accounts }: Receivers): Receivers {
  return { isTenantKnown, accounts: accounts.filter(({ provider }) => providers.includes(provider)) }
}

/** As the youngest; the oldest make room. */
function put(entries: Map<string, ReceiversEntry>, key: string, entry: ReceiversEntry, most: number): void {
  entries.delete(key)
  entries.set(key, entry)
  for (const oldest of entries.keys()) {
    if (entries.size <= most) break
    entries.delete(oldest)
  }
}
