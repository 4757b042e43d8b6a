import type { ProviderRegistry } from '../channels/channel.ts'
import type { StoredAccount } from '../model/account.ts'
import { type Account, DEFAULT_BREAKER, SLOWEST_PER_SECOND } from '../model/account.ts'
import { knowsDevicesOf } from '../model/account-choice.ts'
import type { Channel } from '../model/channel.ts'
import type { Clock, Logger } from '../model/ports.ts'
import { storedRetry } from '../model/retry.ts'
import type { AccountStore } from '../tenant/account-store.ts'
import type { LaneStore } from './lane-store.ts'

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

/** One account of a channel, as a stand-in. */
interface Candidate {
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
  const known = new Map<string, { account: Account | null; isLocked: boolean; readAt: number }>()
  const channels = new Map<string, { candidates: Promise<Candidate[]>; readAt: number }>()
  const warned = new Set<string>()

  async function load(id: string): Promise<void> {
    const readAt = clock.monotonic()
    const stored = await accounts.find(null, id)
    const secrets = stored && secretsOf(stored)
    const account = stored && openAccount(stored, secrets)
    known.set(id, { account, isLocked: stored?.status === 'active' && secrets === null, readAt })
    if (account?.retryWarning) tellOnce('warn', id, account.retryWarning)
  }

  function secretsOf(stored: StoredAccount): Record<string, string> | null {
    try {
      return deps.openSecrets(stored)
    } catch (error) {
      tellOnce('error', stored.id, `its secrets cannot be opened, so its notifications wait: ${String(error)}`)
      return null
    }
  }

  function tellOnce(level: 'warn' | 'error', accountId: string, message: string): void {
    if (warned.has(accountId)) return
    warned.add(accountId)
    logger[level]({ accountId }, message)
  }

  /** All accounts of a channel in their order. Many ask at once when one of them fails: they share one reading. */
  function candidatesOf(tenantId: string, channel: Channel): Promise<Candidate[]> {
    const place = `${channel} ${tenantId}`
    const last = channels.get(place)
    if (last && clock.monotonic() - last.readAt < maxAgeMs) return last.candidates
    const candidates = readCandidates(tenantId, channel)
    const entry = { candidates, readAt: clock.monotonic() }
    channels.set(place, entry)
    candidates.catch(() => channels.get(place) === entry && channels.delete(place))
    return candidates
  }

  async function readCandidates(tenantId: string, channel: Channel): Promise<Candidate[]> {
    const [stored, states] = await Promise.all([accounts.list(tenantId, channel), lanes.list(tenantId)])
    const away = states.filter(({ breaker, heldForMs }) => breaker !== 'closed' || heldForMs > 0)
    return stored.map((each) => ({
      account: openAccount(each, secretsOf(each)),
      isReady: away.every(({ laneId }) => laneId !== each.id),
    }))
  }

  const isStale = (id: string): boolean =>
    clock.monotonic() - (known.get(id)?.readAt ?? Number.NEGATIVE_INFINITY) >= maxAgeMs

  return {
    async get(ids) {
      const stale = ids.filter(isStale)
      if (stale.length) await Promise.all(stale.map(load))
      const found = new Map<string, Account>()
      for (const id of ids) {
        const account = known.get(id)?.account
        if (account) found.set(id, account)
      }
      return found
    },
    peek: (id) => known.get(id)?.account ?? null,
    outdate(id) {
      const entry = known.get(id)
      if (entry) entry.readAt = Number.NEGATIVE_INFINITY
    },
    isLocked: (id) => known.get(id)?.isLocked ?? false,
    async standIn({ id, tenantId, channel, provider }, wanted) {
      if (known.get(id)?.isLocked) return null
      const candidates = await candidatesOf(tenantId, channel)
      const place = candidates.findIndex(({ account }) => account.id === id)
      if (place < 0) return null
      const behind = candidates
        .slice(place + 1)
        .filter(({ account }) => account.status === 'active' && knowsDevicesOf(account, provider))
        .filter(({ account }) => registry(channel, account.provider) !== null)
      const best = behind.find(({ isReady }) => isReady) ?? (wanted === 'any' ? behind[0] : undefined)
      return best?.account ?? null
    },
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
