import { type AccountDraft, accountProblems, accountWarnings, dialledHosts } from '../channels/account-check.ts'
import { topicOf } from '../channels/aws.ts'
import type { Field } from '../channels/channel.ts'
import type { Registry } from '../channels/registry.ts'
import type { StoredAccount } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import { type FieldError, invalidBody } from '../model/errors.ts'
import type { Warning } from '../model/notification.ts'
import type { Reach } from '../security/reach.ts'

/** Whether an account can be used as somebody wants to save it, and what to tell whoever does. */
export interface AccountChecks {
  /** Throws when the channel has no such provider. */
  refuseUnknownProvider(channel: Channel, provider: string): void
  /** Throws with everything that is wrong with settings and secrets. */
  refuseWrongFields(account: Pick<StoredAccount, 'channel' | 'provider'>, draft: AccountDraft): void
  /** Whether `tier` is a setting of the provider. */
  isTiered(account: Pick<StoredAccount, 'channel' | 'provider'>): boolean
  /** Whether the address of its receipts has to carry its token: the vendor signs nothing that would name the account. */
  needsToken(account: StoredAccount): boolean
  /** What is doubtful about an account as it stands. */
  warnings(account: StoredAccount): Warning[]
  /** What only the network can tell: asked when an account is saved, and never kept. */
  warningsOfSave(account: StoredAccount): Promise<Warning[]>
}

/** Names that say that what they name is secret. */
const SECRET_NAME =
  /(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?|signature|(?:api|auth|access|account|private|secret|signing|shared|master|encryption)[-_]?key)$/i

/** Whether a setting's name says that it should be none. */
export function soundsSecret(name: string): boolean {
  return SECRET_NAME.test(name)
}

/** Settings are kept and shown as they are, so what nobody has declared to be one and sounds like a secret is refused. */
function readableSecrets(
  pointer: string,
  settings: Record<string, unknown>,
  known: Readonly<Record<string, Field>> = {},
): FieldError[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    const field = Object.hasOwn(known, name) ? known[name] : undefined
    const path = `${pointer}/${name}`
    if (field && !field.parts) return []
    if (!field && soundsSecret(name) && value !== null)
      return [{ path, message: 'sounds like a secret: give it under secrets, where nobody can read it' }]
    const isObject = typeof value === 'object' && value !== null
    return isObject ? readableSecrets(path, value as Record<string, unknown>, field?.parts) : []
  })
}

const SHORTEST_TOKEN = 16

/** Whoever guesses it can report what he likes. One that is made here is longer. */
function guessableToken({ webhookToken }: AccountDraft['newSecrets']): FieldError[] {
  if (webhookToken === undefined || webhookToken.length >= SHORTEST_TOKEN) return []
  const message = `must be at least ${SHORTEST_TOKEN} characters that nobody can guess; leave it out to have one made`
  return [{ path: '/secrets/webhookToken', message }]
}

/** Of an account that was saved before its provider had one. */
const MISSING_TOKEN: Warning = {
  code: 'missing_secret',
  key: 'webhookToken',
  message:
    'No receipt of this account is believed: it names no topicArn and has no token. Save {"secrets": {"webhookToken": null}} to have one made.',
}

export function createAccountChecks({ registry, reach }: { registry: Registry; reach?: Reach }): AccountChecks {
  const providerOf = ({ channel, provider }: Pick<StoredAccount, 'channel' | 'provider'>) => registry(channel, provider)

  function needsToken(account: StoredAccount): boolean {
    const { secrets = {} } = providerOf(account)?.fields ?? {}
    return (
      Object.hasOwn(secrets, 'webhookToken') &&
      !account.secretNames.includes('webhookSecret') &&
      topicOf(account) === null
    )
  }

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
      const named = new Set(problems.map(({ path }) => path))
      const more = [
        ...readableSecrets('/settings', draft.settings, provider?.fields?.settings),
        ...guessableToken(draft.newSecrets),
      ]
      problems.push(...more.filter(({ path }) => !named.has(path)))
      if (problems.length > 0) throw invalidBody(problems)
    },
    isTiered(account) {
      const { fields } = providerOf(account) ?? {}
      return fields !== undefined && Object.hasOwn(fields.settings, 'tier')
    },
    needsToken,
    warnings(account) {
      const provider = providerOf(account)
      const isMissing = needsToken(account) && !account.secretNames.includes('webhookToken')
      return [...(provider ? accountWarnings(provider, account) : []), ...(isMissing ? [MISSING_TOKEN] : [])]
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
