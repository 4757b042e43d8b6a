import type { Verification } from '../channels/channel.ts'
import type { Registry } from '../channels/registry.ts'
import { type Account, type AccountStatus, DEFAULT_BREAKER, defaultPace, type StoredAccount } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import { parseDuration } from '../model/duration.ts'
import { found, invalidBody, isPillarboxError, PillarboxError } from '../model/errors.ts'
import type { Clock, IdSource } from '../model/ports.ts'
import { parseRetry } from '../model/retry.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import { openAccountSecrets, sealAccountSecrets } from '../security/account-secrets.ts'
import { makeToken } from '../security/keys.ts'
import { redact } from '../security/redact.ts'
import type { Seal } from '../security/seal.ts'
import type { Store } from '../store/store.ts'
import { openAccount } from '../tenant/account-book.ts'
import type { AccountChecks } from './account-checks.ts'
import { type GivenPace, paceOf } from './account-pace.ts'
import type { Operator } from './operator.ts'
import { refuseAhead } from './test-clock.ts'

export interface AccountDeps {
  store: Pick<Store, 'accounts' | 'tenants' | 'audit'>
  registry: Registry
  seal: Seal
  checks: AccountChecks
  ids: IdSource
  clock: Clock
  nudge: (topic: WakeTopic) => void
  /** Makes this process read the tenant's accounts anew. */
  forget(tenantId: string): void
}

/** What somebody says of an account. What is undefined is not spoken of. */
export interface AccountFields {
  name?: string
  settings?: Record<string, unknown>
  /** By name; null removes one. */
  secrets?: Record<string, unknown>
  pace?: GivenPace | null
  retry?: unknown
  onUnknown?: 'resend' | 'hold'
  onUndeliverable?: 'fail' | 'park'
  onUnmapped?: 'retry' | 'park'
  breaker?: { failures?: number; resetAfter?: string } | null
  /** An ISO duration; null: what is parked waits for somebody. */
  parkedRetryAfter?: string | null
  priority?: number
}

type NamedAccountFields = AccountFields & { name: string }
type ProviderOf = Pick<StoredAccount, 'channel' | 'provider'>

export async function makeAccount(
  deps: AccountDeps,
  { tenantId, actor }: Operator,
  given: NamedAccountFields & ProviderOf & { status?: 'active' | 'suspended' },
): Promise<StoredAccount> {
  const { store, checks, ids, seal } = deps
  const { channel, provider, status = 'active' } = given
  checks.refuseUnknownProvider(channel, provider)
  if (status === 'active') await refuseAhead(deps, tenantId, given)
  const secrets = withToken(deps, given, mergeSecrets({}, given.secrets))
  const settings = settingsOf(given)
  checks.refuseWrongFields(given, { settings, newSecrets: secrets, secretNames: Object.keys(secrets) })
  const id = ids()
  const isInserted = await store.accounts.insert(
    {
      id,
      tenantId,
      channel,
      provider,
      ...replacement(given, given, checks),
      ...sealAccountSecrets(seal, { tenantId, id }, secrets),
      status,
      statusReason: status === 'suspended' ? `suspended by ${actor}` : null,
    },
    actor,
  )
  if (!isInserted) throw new PillarboxError('already_exists', 'Another account of this channel has that name.')
  deps.forget(tenantId)
  return found(await store.accounts.find(tenantId, id))
}

/** Changes what is named. */
export function changeAccount(
  deps: AccountDeps,
  operator: Operator,
  current: StoredAccount,
  given: AccountFields,
): Promise<StoredAccount> {
  return saveChanges(deps, operator, current, changesOf(given, current, deps.checks), given.secrets)
}

/** Gives everything that is not named its default, except secrets, which stay. Channel and provider cannot change. */
export async function replaceAccount(
  deps: AccountDeps,
  operator: Operator,
  current: StoredAccount,
  given: NamedAccountFields & { channel: Channel; provider: string },
): Promise<StoredAccount> {
  if (current.channel !== given.channel || current.provider !== given.provider)
    throw invalidBody([
      { path: current.channel === given.channel ? '/provider' : '/channel', message: 'cannot be changed' },
    ])
  const changes = replacement(given, current, deps.checks)
  return await saveChanges(deps, operator, current, changes, given.secrets)
}

async function saveChanges(
  deps: AccountDeps,
  operator: Operator,
  current: StoredAccount,
  changes: Parameters<Store['accounts']['update']>[2],
  secrets: Record<string, unknown> | undefined,
): Promise<StoredAccount> {
  const { store, checks, seal } = deps
  const { tenantId, id } = current
  const { actor } = operator
  const merged = secrets && withToken(deps, current, mergeSecrets(openAccountSecrets(seal, current), secrets))
  // What was saved under older rules must not keep anybody from changing something else.
  if (changes.settings !== undefined || merged)
    checks.refuseWrongFields(current, {
      settings: changes.settings ?? current.settings,
      newSecrets: mergeSecrets({}, secrets),
      secretNames: merged ? Object.keys(merged) : current.secretNames,
    })
  const updated = merged
    ? await store.accounts.update(
        tenantId,
        id,
        { ...changes, ...sealAccountSecrets(seal, current, merged) },
        { from: current, actor },
      )
    : await store.accounts.update(tenantId, id, changes, { actor })
  if (!updated) {
    // Gone, or somebody else has changed its secrets meanwhile: what they did is not to be undone.
    const now = found(await store.accounts.find(tenantId, id))
    found(merged && now.sealedSecrets !== current.sealedSecrets)
    return await saveChanges(deps, operator, now, changes, secrets)
  }
  // Paused means that the vendor refused what the account had; what it has now deserves a try.
  if ((secrets !== undefined || changes.settings !== undefined) && updated.status === 'paused')
    await store.accounts.setStatus(id, 'active', null, actor, ['paused'])
  return await settled(deps, updated)
}

/** Lets an account send, or stops it from sending. */
export async function setAccountStatus(
  deps: AccountDeps,
  { tenantId, actor }: Operator,
  id: string,
  status: Exclude<AccountStatus, 'paused'>,
): Promise<StoredAccount> {
  const account = found(await deps.store.accounts.find(tenantId, id))
  if (status === 'active') await refuseAhead(deps, tenantId, account)
  await deps.store.accounts.setStatus(id, status, status === 'active' ? null : `suspended by ${actor}`, actor)
  return await settled(deps, account)
}

/** Removes an account. Throws `in_use` while notifications still wait on it. */
export async function removeAccount(deps: AccountDeps, { tenantId, actor }: Operator, id: string): Promise<void> {
  const isRemoved = await deps.store.accounts.remove(tenantId, id, actor).catch((error: unknown) => {
    if (!isPillarboxError(error, 'already_exists')) throw error
    throw new PillarboxError('in_use', 'Notifications still wait on this account.', { cause: error })
  })
  found(isRemoved)
  deps.forget(tenantId)
}

/** How long the vendor may take to answer. */
const ASK_MS = 20_000

/**
 * Asks the vendor whether the account's credentials are good; `detail` is what the vendor said. With good ones, an account
 * that was paused because the vendor refused them sends again.
 */
export async function verifyAccount(
  deps: AccountDeps,
  { tenantId, actor }: Operator,
  id: string,
): Promise<VendorsWord> {
  const { store, registry } = deps
  const stored = found(await store.accounts.find(tenantId, id))
  const provider = registry(stored.channel, stored.provider)
  if (!provider) return { isGood: false, detail: `This version has no provider ${stored.provider}.` }
  if (!provider.verify) return { isGood: true, detail: 'There is nothing to verify.' }
  const { verify } = provider
  const verified = await askVendor(deps, stored, (account, signal) => verify(account, signal))
  if (verified.isGood && stored.status === 'paused') {
    await store.accounts.setStatus(id, 'active', null, actor, ['paused'])
    await settled(deps, stored)
  }
  return verified
}

/** Has the vendor send its receipts to `webhookUrl`; `detail` is what was done, or why it could not be. */
export async function connectAccount(
  deps: AccountDeps,
  { tenantId, actor }: Operator,
  id: string,
  webhookUrl: (account: StoredAccount) => string | null,
): Promise<VendorsWord> {
  const stored = found(await deps.store.accounts.find(tenantId, id))
  const url = webhookUrl(stored)
  if (url === null)
    return { isGood: false, detail: `${stored.provider} sends no receipts: there is nothing to connect.` }
  const { connect } = deps.registry(stored.channel, stored.provider) ?? {}
  if (!connect)
    return { isGood: false, detail: `${stored.provider} cannot be told from here: give its vendor webhookUrl by hand.` }
  const answer = await askVendor(deps, stored, (account, signal) => connect(account, url, signal))
  // The vendor has been changed, or may have been; nothing here has.
  const reason = answer.isGood ? null : 'refused_by_vendor'
  await deps.store.audit.record({ tenantId, actor, action: 'connect', subject: `account:${stored.id}`, reason })
  return answer
}

interface VendorsWord {
  isGood: boolean
  detail: string
}

async function askVendor(
  { seal, clock }: AccountDeps,
  stored: StoredAccount,
  ask: (account: Account, signal: AbortSignal) => Promise<Verification>,
): Promise<VendorsWord> {
  const account = openAccount(stored, openAccountSecrets(seal, stored))
  const [over, ended] = [new AbortController(), new AbortController()]
  void clock.sleep(ASK_MS, ended.signal).then(() => over.abort())
  const answer = await ask(account, over.signal).finally(() => ended.abort())
  const detail = answer.isGood ? answer.detail : answer.error
  return { isGood: answer.isGood, detail: redact(detail, Object.values(account.secrets)) }
}

/** The account as it is kept now, after this process and the dispatcher were told of the change. */
async function settled({ store, forget, nudge }: AccountDeps, { tenantId, id }: StoredAccount): Promise<StoredAccount> {
  forget(tenantId)
  nudge('dispatch')
  return found(await store.accounts.find(tenantId, id))
}

/** Vendors that sign nothing get an address that nobody can guess. A token that is taken away is replaced by another. */
function withToken(
  { registry }: AccountDeps,
  { channel, provider }: ProviderOf,
  secrets: Record<string, string>,
): Record<string, string> {
  const { fields } = registry(channel, provider) ?? {}
  const isMissing = fields && Object.hasOwn(fields.secrets, 'webhookToken') && !secrets['webhookToken']
  return isMissing ? { ...secrets, webhookToken: makeToken() } : secrets
}

function mergeSecrets(current: Record<string, string>, given: Record<string, unknown> = {}): Record<string, string> {
  const merged = { ...current }
  for (const [name, value] of Object.entries(given)) {
    if (value === null) delete merged[name]
    else merged[name] = typeof value === 'string' ? value : JSON.stringify(value)
  }
  return merged
}

/** Everything that is not given takes its default. */
function replacement(given: NamedAccountFields, of: ProviderOf, checks: AccountChecks) {
  const {
    name,
    pace,
    retry = null,
    onUnknown = 'resend',
    breaker = null,
    parkedRetryAfter = null,
    priority = 0,
  } = given
  const settings = settingsOf(given)
  return {
    name,
    settings,
    pace: paceOf({ given: pace, settings, isTiered: checks.isTiered(of), byDefault: defaultPace(of) }),
    retry: retryOf(retry),
    onUnknown,
    breaker: breakerOf(breaker),
    parkedRetryAfterMs: parkedRetryOf(parkedRetryAfter),
    priority,
  }
}

function changesOf(given: AccountFields, current: StoredAccount, checks: AccountChecks) {
  const { name, pace, retry, onUnknown, breaker, parkedRetryAfter, priority } = given
  const hasSettings = given.settings !== undefined || POLICIES.some((policy) => given[policy] !== undefined)
  const settings = hasSettings ? settingsOf(given, current.settings) : undefined
  return {
    ...(name !== undefined && { name }),
    ...(settings !== undefined && { settings }),
    ...((pace !== undefined || settings !== undefined) && {
      pace: paceOf({
        given: pace,
        settings: settings ?? current.settings,
        isTiered: checks.isTiered(current),
        byDefault: defaultPace(current),
        current: current.pace,
      }),
    }),
    ...(retry !== undefined && { retry: retryOf(retry) }),
    ...(onUnknown !== undefined && { onUnknown }),
    ...(breaker !== undefined && { breaker: breakerOf(breaker) }),
    ...(parkedRetryAfter !== undefined && { parkedRetryAfterMs: parkedRetryOf(parkedRetryAfter) }),
    ...(priority !== undefined && { priority }),
  }
}

/** What an account does about some refusals: fields of their own to whoever saves one, kept among the settings. */
const POLICIES = ['onUndeliverable', 'onUnmapped'] as const

/**
 * The settings to keep, with the policies among them wherever they were given. They are the account's own, so other
 * settings that replace the current ones leave them as they are.
 */
function settingsOf(
  { settings, ...fields }: AccountFields,
  current: Record<string, unknown> = {},
): Record<string, unknown> {
  const kept = { ...(settings ?? current) }
  for (const policy of POLICIES) {
    const given = fields[policy]
    if (given !== undefined && settings?.[policy] !== undefined && settings[policy] !== given)
      throw invalidBody([{ path: `/${policy}`, message: `is not what settings.${policy} says` }])
    const value = given ?? kept[policy] ?? current[policy]
    if (value !== undefined) kept[policy] = value
  }
  return kept
}

/** Kept as it was given; one that makes no sense is refused. */
function retryOf(retry: unknown): unknown {
  if (retry === null) return null
  const read = parseRetry(retry)
  if ('policy' in read) return retry
  const errors = read.problems.map(({ path, message }) => ({ path: path ? `/retry/${path}` : '/retry', message }))
  throw new PillarboxError('invalid_retry', `${errors[0]?.path} ${errors[0]?.message}.`, { errors })
}

function breakerOf(breaker: NonNullable<AccountFields['breaker']> | null): StoredAccount['breaker'] {
  const { failures = DEFAULT_BREAKER.failures, resetAfter } = breaker ?? {}
  const resetAfterMs = resetAfter === undefined ? DEFAULT_BREAKER.resetAfterMs : parseDuration(resetAfter)
  if (resetAfterMs === null || resetAfterMs < 1_000 || resetAfterMs > 86_400_000)
    throw invalidBody([{ path: '/breaker/resetAfter', message: 'must be a duration between PT1S and P1D' }])
  return { failures, resetAfterMs }
}

function parkedRetryOf(after: string | null): number | null {
  if (after === null) return null
  const ms = parseDuration(after)
  if (ms === null || ms < 60_000 || ms > 7 * 86_400_000)
    throw invalidBody([{ path: '/parkedRetryAfter', message: 'must be a duration between PT1M and P7D' }])
  return ms
}
