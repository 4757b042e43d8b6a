import { type AccountDraft, accountProblems, accountWarnings, dialledHosts } from '../channels/account-check.ts'
import type { Channel } from '../model/channel.ts'
import type { StoredAccount } from '../store/store.ts'
import type { Context } from './context.ts'
import { invalidBody } from './schemas.ts'

/** Whether an account can be used as somebody wants to save it, and what to tell whoever does. */
export interface AccountChecks {
  /** Throws when the channel has no such provider. */
  refuseUnknownProvider(channel: Channel, provider: string): void
  /** Throws with everything that is wrong with settings and secrets. */
  refuseWrongFields(account: Pick<StoredAccount, 'channel' | 'provider'>, draft: AccountDraft): void
  /** Whether `tier` is a setting of the provider. */
  isTiered(account: Pick<StoredAccount, 'channel' | 'provider'>): boolean
  /** What is doubtful about an account as it stands. */
  warnings(account: StoredAccount): AccountWarning[]
  /** What only the network can tell: asked when an account is saved, and never kept. */
  warningsOfSave(account: StoredAccount): Promise<AccountWarning[]>
}

interface AccountWarning {
  code: string
  key: string
  message: string
}

export function createAccountChecks({ registry, reach }: Pick<Context, 'registry' | 'reach'>): AccountChecks {
  const providerOf = ({ channel, provider }: Pick<StoredAccount, 'channel' | 'provider'>) => registry(channel, provider)

  return {
    refuseUnknownProvider(channel, provider) {
      if (registry(channel, provider)) return
      const known = registry.names(channel)
      const message = known.length
        ? `must be one of ${known.join(', ')} for ${channel}`
        : `does not exist for ${channel}`
      throw invalidBody([{ path: '/provider', message }])
    },
    refuseWrongFields(account, draft) {
      const provider = providerOf(account)
      const problems = provider ? accountProblems(provider, draft) : []
      if (problems.length > 0) throw invalidBody(problems)
    },
    isTiered(account) {
      const { fields } = providerOf(account) ?? {}
      return fields !== undefined && Object.hasOwn(fields.settings, 'tier')
    },
    warnings(account) {
      const provider = providerOf(account)
      return provider ? accountWarnings(provider, account) : []
    },
    async warningsOfSave(account) {
      const { fields } = providerOf(account) ?? {}
      if (!fields || !reach) return []
      const hosts = [...dialledHosts(fields, account.settings)]
      const refusals = await Promise.all(hosts.map(([, host]) => reach(host)))
      return hosts.flatMap(([key], i) => {
        const refusal = refusals[i] ?? null
        return refusal === null ? [] : [{ code: 'private_endpoint', key, message: `No call will be made: ${refusal}.` }]
      })
    },
  }
}
