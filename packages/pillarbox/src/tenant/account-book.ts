import type { ProviderRegistry } from '../channels/channel.ts'
import type { LaneStore } from '../dispatch/lane-store.ts'
import type { StoredAccount } from '../model/account.ts'
import { type Account, DEFAULT_BREAKER, SLOWEST_PER_SECOND } from '../model/account.ts'
import { knowsDevicesOf } from '../model/account-choice.ts'
import type { Channel } from '../model/channel.ts'
import type { Clock, Logger } from '../model/ports.ts'
import { storedRetry } from '../model/retry.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import type { AccountStore } from '../tenant/account-store.ts'

/** Opens sealed secrets. Throws when the master key is not the one they were sealed with. */
export type OpenSecrets = (account: StoredAccount) => Record<string, string>

/** Accounts as dispatch needs them, at most `maxAgeMs` old: a change is felt everywhere within that time. */
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

/** An account of a channel that may stand in for another. */
interface StandInCandidate {
  account: Account
  isReady: boolean
}

export function createAccountBook(deps: {
  accounts: Pick<AccountStore, 'find' | 'list'>
  lanes: Pick<LaneStore, 'list'>
  registry: ProviderRegistry
  openSecrets: OpenSecrets
  clock: Clock
  logger: Logger
  maxAgeMs: number
}): AccountBook {
  const { accounts, lanes, registry, clock, logger, maxAgeMs } = deps
  const secretsOf = createSecretOpener(deps.openSecrets, logger, 'its notifications wait')
  const warned = new Set<string>()

  const known = createTimedCache({
    clock,
    maxAgeMs,
    async read(id) {
      const stored = await accounts.find(null, id)
      const secrets = stored && secretsOf(stored)
      const account = stored && openAccount(stored, secrets)
      if (account?.retryWarning && !warned.has(id)) {
        warned.add(id)
        logger.warn({ accountId: id }, account.retryWarning)
      }
      return { account, isLocked: stored?.status === 'active' && secrets === null }
    },
  })

  /** All accounts of a channel in their order. Many ask at once when one of them fails: they share one reading. */
  const candidates = createTimedCache({
    clock,
    maxAgeMs,
    async read(place): Promise<StandInCandidate[]> {
      const [tenantId, channel] = JSON.parse(place) as [string, Channel]
      const [stored, states] = await Promise.all([accounts.list(tenantId, channel), lanes.list(tenantId)])
      const away = states.filter(({ breaker, heldForMs }) => breaker !== 'closed' || heldForMs > 0)
      return stored.map((each) => ({
        account: openAccount(each, secretsOf(each)),
        isReady: away.every(({ accountId }) => accountId !== each.id),
      }))
    },
  })

  return {
    async get(ids) {
      // What was read is used, not what is kept: meanwhile it may have been outdated, or had to go.
      const answers = await Promise.all(ids.map((id) => known.get(id)))
      const found = new Map<string, Account>()
      for (const { account } of answers) if (account) found.set(account.id, account)
      return found
    },
    peek: (id) => known.last(id)?.account ?? null,
    outdate: (id) => known.outdate(id),
    isLocked: (id) => known.last(id)?.isLocked ?? false,
    async standIn({ id, tenantId, channel, provider }, wanted) {
      if (known.last(id)?.isLocked) return null
      const all = await candidates.get(JSON.stringify([tenantId, channel]))
      const place = all.findIndex(({ account }) => account.id === id)
      if (place < 0) return null
      const behind = all
        .slice(place + 1)
        .filter(({ account }) => account.status === 'active' && knowsDevicesOf(account, provider))
        .filter(({ account }) => registry(channel, account.provider) !== null)
      const best = behind.find(({ isReady }) => isReady) ?? (wanted === 'any' ? behind[0] : undefined)
      return best?.account ?? null
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
