import type { ProviderRegistry } from '../channels/channel.ts'
import type { LaneStore } from '../dispatch/lane-store.ts'
import type { StoredAccount } from '../model/account.ts'
import { type Account, DEFAULT_BREAKER, SLOWEST_PER_SECOND } from '../model/account.ts'
import { knowsDevicesOf } from '../model/account-choice.ts'
import type { Clock, Logger } from '../model/ports.ts'
import { storedRetry } from '../model/retry.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import type { AccountStore } from './account-store.ts'
import type { TenantSnapshots } from './snapshots.ts'

/** Opens sealed secrets. Throws when the master key is not the one they were sealed with. */
export type OpenSecrets = (account: StoredAccount) => Record<string, string>

/** Accounts as dispatch needs them, as old as the snapshots of their tenants. */
export interface AccountBook {
  /** The accounts that exist among `ids`. One whose secrets cannot be opened counts as paused, and harms no other. */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, Account>>
  /** What was last read of an account, however old; for calls that must not wait. */
  peek(id: string): Account | null
  /** Something has changed: it is read anew when it is next asked for. */
  outdate(id: string): void
  /** Whether it counts as paused only because this process cannot open its secrets; another one may. */
  isLocked(id: string): boolean
  /**
   * Who takes over from an account: the next of its channel by priority, then age, that is active, has a provider here and
   * knows the same devices, and never one before it, so that taking over comes to an end. `ready`: only one whose lane is
   * neither held nor broken; `any`: such a one first. Null where there is none, and for an account that is merely locked.
   */
  standIn(account: Account, wanted: 'ready' | 'any'): Promise<Account | null>
}

/** An account with its secrets opened, as far as this process can. */
interface OpenedAccount {
  account: Account
  isLocked: boolean
}

export function createAccountBook(deps: {
  accounts: Pick<AccountStore, 'find'>
  lanes: Pick<LaneStore, 'list'>
  snapshots: Pick<TenantSnapshots, 'get' | 'last' | 'outdate'>
  registry: ProviderRegistry
  openSecrets: OpenSecrets
  clock: Clock
  logger: Logger
  maxAgeMs: number
}): AccountBook {
  const { accounts, snapshots, registry, clock, logger, maxAgeMs } = deps
  const secretsOf = createSecretOpener(deps.openSecrets, logger, 'its notifications wait')
  const warned = new Set<string>()
  /** Whose each account is: as many as there are accounts. Rows name only the account. */
  const tenants = new Map<string, string>()
  const opened = new WeakMap<StoredAccount, OpenedAccount>()
  const lanes = createTimedCache({ clock, maxAgeMs, read: (tenantId) => deps.lanes.list(tenantId) })

  function open(stored: StoredAccount): OpenedAccount {
    const known = opened.get(stored)
    if (known) return known
    const secrets = secretsOf(stored)
    const account = openAccount(stored, secrets)
    if (account.retryWarning && !warned.has(account.id)) {
      warned.add(account.id)
      logger.warn({ accountId: account.id }, account.retryWarning)
    }
    const fresh = { account, isLocked: stored.status === 'active' && secrets === null }
    opened.set(stored, fresh)
    return fresh
  }

  async function read(id: string): Promise<Account | null> {
    const tenantId = tenants.get(id) ?? (await accounts.find(null, id))?.tenantId
    if (tenantId === undefined) return null
    tenants.set(id, tenantId)
    const stored = (await snapshots.get(tenantId)).accounts.find((each) => each.id === id)
    return stored ? open(stored).account : null
  }

  function last(id: string): OpenedAccount | null {
    const stored = snapshots.last(tenants.get(id) ?? '')?.accounts.find((each) => each.id === id)
    return stored ? open(stored) : null
  }

  return {
    async get(ids) {
      const found = new Map<string, Account>()
      for (const account of await Promise.all(ids.map(read))) if (account) found.set(account.id, account)
      return found
    },
    peek: (id) => last(id)?.account ?? null,
    outdate: (id) => snapshots.outdate(tenants.get(id) ?? ''),
    isLocked: (id) => last(id)?.isLocked ?? false,
    async standIn({ id, tenantId, channel, provider }, wanted) {
      if (last(id)?.isLocked) return null
      const [snapshot, states] = await Promise.all([snapshots.get(tenantId), lanes.get(tenantId)])
      const inOrder = snapshot.accounts.filter((each) => each.channel === channel)
      const place = inOrder.findIndex((each) => each.id === id)
      if (place < 0) return null
      const behind = inOrder
        .slice(place + 1)
        .map((each) => open(each).account)
        .filter((each) => each.status === 'active' && knowsDevicesOf(each, provider))
        .filter((each) => registry(channel, each.provider) !== null)
      const away = states.filter(({ breaker, heldForMs }) => breaker !== 'closed' || heldForMs > 0)
      const isReady = (each: Account): boolean => away.every(({ accountId }) => accountId !== each.id)
      return behind.find(isReady) ?? (wanted === 'any' ? behind[0] : undefined) ?? null
    },
  }
}

/** Opens secrets, or answers null: the log says once of each account that it cannot be opened, and what follows. */
export function createSecretOpener(
  openSecrets: OpenSecrets,
  logger: Logger,
  consequence: string,
): (stored: StoredAccount) => Record<string, string> | null {
  const told = new Set<string>()
  return (stored) => {
    try {
      return openSecrets(stored)
    } catch (error) {
      const fields = { accountId: stored.id, error: String(error) }
      if (!told.has(stored.id)) logger.error(fields, `the secrets of an account cannot be opened: ${consequence}`)
      told.add(stored.id)
      return null
    }
  }
}

/** An account as providers are given it. Without its secrets it cannot send: it is then paused. */
export function openAccount(stored: StoredAccount, secrets: Record<string, string> | null): Account {
  const { policy, warning } = storedRetry(stored.retry)
  const { sealedSecrets: _sealed, secretNames: _names, ...rest } = stored
  return {
    ...rest,
    pace: rest.pace && { ...rest.pace, perSecond: Math.max(SLOWEST_PER_SECOND, rest.pace.perSecond) },
    breaker: rest.breaker ?? DEFAULT_BREAKER,
    secrets: secrets ?? {},
    status: secrets === null && stored.status === 'active' ? 'paused' : stored.status,
    retry: policy,
    retryWarning: warning ?? null,
  }
}
