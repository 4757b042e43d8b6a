import { type Account, DEFAULT_BREAKER, SLOWEST_PER_SECOND } from '../model/account.ts'
import type { Clock, Logger } from '../model/ports.ts'
import { storedRetry } from '../model/retry.ts'
import type { AccountStore, StoredAccount } from '../store/store.ts'

/** Opens sealed secrets. Throws when the master key is not the one they were sealed with. */
export type OpenSecrets = (account: StoredAccount) => Record<string, string>

/** Accounts as dispatch needs them, at most `maxAgeMs` old: a change is felt everywhere within that time. */
export interface AccountBook {
  /** The accounts that exist among `ids`. One whose secrets cannot be opened counts as paused, and harms no other. */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, Account>>
  /** What was last read of an account, however old; for calls that must not wait. */
  peek(id: string): Account | null
}

export function createAccountBook(deps: {
  accounts: Pick<AccountStore, 'find'>
  openSecrets: OpenSecrets
  clock: Clock
  logger: Logger
  maxAgeMs: number
}): AccountBook {
  const { accounts, clock, logger, maxAgeMs } = deps
  const known = new Map<string, { account: Account | null; readAt: number }>()
  const warned = new Set<string>()

  async function load(id: string): Promise<void> {
    const readAt = clock.monotonic()
    const stored = await accounts.find(null, id)
    const account = stored && openAccount(stored, secretsOf(stored))
    known.set(id, { account, readAt })
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

  return {
    async get(ids) {
      const stale = ids.filter(
        (id) => clock.monotonic() - (known.get(id)?.readAt ?? Number.NEGATIVE_INFINITY) >= maxAgeMs,
      )
      if (stale.length) await Promise.all(stale.map(load))
      const found = new Map<string, Account>()
      for (const id of ids) {
        const account = known.get(id)?.account
        if (account) found.set(id, account)
      }
      return found
    },
    peek: (id) => known.get(id)?.account ?? null,
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
