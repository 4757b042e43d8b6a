import { TENANT_ID } from '@pillarbox/client/contract'
import { topicOf } from '../channels/aws.ts'
import type { Account, StoredAccount } from '../model/account.ts'
import type { Clock, Logger } from '../model/ports.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import { createSecretOpener, type OpenSecrets, openAccount } from '../tenant/account-book.ts'
import type { AccountStore } from '../tenant/account-store.ts'
import type { TenantSnapshot, TenantSnapshots } from '../tenant/snapshots.ts'
import type { ReceiptSource } from './receipt-source.ts'

/** The accounts that a callback may be about, from memory: anybody can call a webhook as often as he likes. */
export interface ReceivingAccounts {
  /** Of that tenant, or of everybody where the source is shared; at most `maxAgeMs` old. */
  get(source: ReceiptSource, tenantId: string | null): Promise<Receivers>
  /** The same of a tenant as it was last read, however old, without a look at the store; null where nothing is known. */
  peek(source: ReceiptSource, tenantId: string | null): Receivers | null
  /** After an account was changed here, so that the next callback of a shared source already meets it. */
  forget(): void
}

export interface Receivers {
  /** Whether the path named a tenant that exists. */
  isTenantKnown: boolean
  /** Whatever their status: what was sent before an account was suspended is still reported. */
  accounts: readonly Account[]
}

const NOBODY: Receivers = { isTenantKnown: false, accounts: [] }

export function createReceivingAccounts(deps: {
  accounts: Pick<AccountStore, 'listOfProviders'>
  snapshots: Pick<TenantSnapshots, 'get' | 'last'>
  sources: ReadonlyMap<string, ReceiptSource>
  openSecrets: OpenSecrets
  clock: Clock
  logger: Logger
  maxAgeMs: number
}): ReceivingAccounts {
  const { snapshots, clock, logger, maxAgeMs } = deps
  const secretsOf = createSecretOpener(deps.openSecrets, logger, 'no callback is believed')
  const opened = new WeakMap<StoredAccount, Account>()
  /** Everybody's accounts of the sources that name no tenant, by the providers. */
  const shared = createTimedCache({
    clock,
    maxAgeMs,
    read: (providers) => deps.accounts.listOfProviders(JSON.parse(providers) as string[]),
  })

  function open(stored: StoredAccount, secretsFor: (stored: StoredAccount) => Record<string, string> | null): Account {
    const account = opened.get(stored) ?? openAccount(stored, secretsFor(stored))
    opened.set(stored, account)
    return account
  }

  function ofTenant({ providers }: ReceiptSource, { tenant, accounts }: TenantSnapshot): Receivers {
    const receiving = accounts.filter(({ provider }) => providers.includes(provider))
    return { isTenantKnown: tenant !== null, accounts: receiving.map((stored) => open(stored, secretsOf)) }
  }

  /** What every tenant shares is proven by a token at most, and by none where an account names its topic. */
  function ofEverybody(stored: readonly StoredAccount[]): Receivers {
    return { isTenantKnown: true, accounts: stored.map((account) => open(account, tokenOf)) }
  }

  function tokenOf(account: StoredAccount): Record<string, string> {
    if (topicOf(account) !== null || !account.secretNames.includes('webhookToken')) return {}
    const { webhookToken = '' } = secretsOf(account) ?? {}
    return { webhookToken }
  }

  return {
    async get(source, tenantId) {
      if (source.isShared) return ofEverybody(await shared.get(JSON.stringify(source.providers)))
      return isTenantName(tenantId) ? ofTenant(source, await snapshots.get(tenantId)) : NOBODY
    },
    peek(source, tenantId) {
      if (source.isShared) return null
      if (!isTenantName(tenantId)) return NOBODY
      const last = snapshots.last(tenantId)
      return last ? ofTenant(source, last) : null
    },
    forget() {
      for (const source of deps.sources.values()) shared.outdate(JSON.stringify(source.providers))
    },
  }
}

function isTenantName(tenantId: string | null): tenantId is string {
  return tenantId !== null && TENANT_ID.pattern.test(tenantId)
}
