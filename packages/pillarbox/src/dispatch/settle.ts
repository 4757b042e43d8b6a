import { onUnmappedOf } from '../channels/account-check.ts'
import type { ProviderRegistry } from '../channels/channel.ts'
import type { Account } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import { errorText } from '../model/errors.ts'
import type { EndedChain, Takeover } from '../model/notification.ts'
import { type Exchange, LONGEST_ANSWER, type Outcome } from '../model/outcome.ts'
import type { Clock, Logger, Random } from '../model/ports.ts'
import type { Reason } from '../model/reason.ts'
import { storedRetry } from '../model/retry.ts'
import { type CallQuestion, type CallVerdict, decide, nextChannel, WORKER_LOST } from './decide.ts'
import type { Claim, Completion } from './dispatch-store.ts'
import { capabilityOf, type ProviderCall } from './provider-call.ts'
import type { SuppressionBook } from './suppressions.ts'
import { whenStoreAnswers } from './when-store-answers.ts'

export interface SettleDeps {
  registry: ProviderRegistry
  clock: Clock
  random: Random
  logger: Logger
  /** How long a throttled call holds its lane. */
  holdMs(accountId: string, outcome: Outcome): number
  /** Tells breaker, hold and pause what happened. */
  saw(account: Account, outcome: Outcome): Promise<void> | undefined
  /** Whether the account's breaker is open, as far as this process has seen. */
  isBreakerOpen(accountId: string): boolean
  /** Another account of the channel that takes over from this one; null where there is none. */
  standIn(account: Account, wanted: 'ready' | 'any'): Promise<Account | null>
  /** The notification that takes over on the first channel of `chain` that can reach the recipient, or why none can. */
  fallBack(claim: Claim, chain: readonly Channel[]): Promise<Takeover | EndedChain | null>
  /** Error texts may hold secrets; `secrets` are those of the account in use and of the content. */
  scrub(text: string, secrets?: Iterable<string>): string
  /** Where dead addresses are remembered. */
  suppressions: Pick<SuppressionBook, 'remember'>
}

/** How a provider call ended. `startedAt` is when it began, on the monotonic clock. */
interface EndedCall extends ProviderCall {
  outcome: Outcome
  startedAt: number
  durationMs: number
  /** How long its lane is held because of it. */
  holdMs: number
  /** What the attempt keeps of what the vendor said; null: nothing. */
  kept: Exchange | null
}

/**
 * What is to be written of a call: tell breaker and hold ─▶ decide ─▶ hand on, to another account or another channel.
 *
 * A promise only where something has to be waited for, which is rarely the case: the drain on SQLite (row e2 of
 * bench/README.md) feels every promise per message. With one for each step it took 31 µs of processor time instead of 24.
 */
export function settle(
  deps: SettleDeps,
  call: ProviderCall,
  answer: Outcome,
  startedAt: number,
): Completion | Promise<Completion> {
  const outcome = scrubbed(deps, call, answer)
  const durationMs = Math.round(deps.clock.monotonic() - startedAt)
  // Before the guard hears of the outcome: from then on its next hold is a longer one.
  const holdMs = deps.holdMs(call.claim.accountId, outcome)
  const { claim, account, provider, targets = null } = call
  const kept = keptOf(deps, call)
  const ended: EndedCall = { claim, account, provider, targets, kept, outcome, startedAt, durationMs, holdMs }
  if (call.capability) ended.capability = call.capability
  const telling = deps.saw(account, outcome)
  return telling ? telling.then(() => decideAndHandOn(deps, ended)) : decideAndHandOn(deps, ended)
}

function decideAndHandOn(deps: SettleDeps, ended: EndedCall): Completion | Promise<Completion> {
  const verdict = verdictOn(deps, ended)
  const { outcome, claim } = ended
  const isDead = outcome.kind === 'permanent' && outcome.isDead
  const isOver = verdict.standIn === 'none' && !isDead && nextChannel(verdict, claim.fallback) === null
  return isOver ? completionOf(deps, ended, verdict) : handOn(deps, ended, verdict)
}

/** Remembers a dead address, and finds the account or the channel that takes over; nobody may. */
async function handOn(deps: SettleDeps, ended: EndedCall, verdict: CallVerdict): Promise<Completion> {
  const { outcome, claim, account } = ended
  // Before the result is on record: whoever reads the result finds the address suppressed.
  if (outcome.kind === 'permanent' && outcome.isDead) await deps.suppressions.remember(claim, outcome.error)
  const { standIn: wanted } = verdict
  const standIn = wanted === 'none' ? null : await orNobody(deps, claim, () => deps.standIn(account, wanted))
  if (standIn) return { ...completionOf(deps, ended, verdict), ...movedTo(standIn), reason: null }
  const answer = nextChannel(verdict, claim.fallback) && (await fallBack(deps, claim))
  return { ...completionOf(deps, ended, verdict), ...(answer && continuedBy(answer)) }
}

function completionOf({ clock }: SettleDeps, ended: EndedCall, verdict: CallVerdict): Completion {
  const { claim, account, targets, kept, outcome, startedAt, durationMs } = ended
  const completion = withoutCall(claim, account, {
    to: verdict.to,
    reason: 'reason' in verdict ? verdict.reason : null,
    error: outcome.kind === 'accepted' ? null : outcome.error,
  })
  completion.outcome = outcome.kind
  if (outcome.kind === 'accepted') completion.providerMessageId = outcome.providerMessageId
  else completion.code = outcome.code
  if (kept) Object.assign(completion, kept)
  if (targets) completion.resolvedTargets = [...targets]
  if (verdict.to === 'retrying') completion.delayMs = verdict.delayMs
  completion.ageMs = clock.monotonic() - startedAt
  completion.durationMs = durationMs
  completion.spent = verdict.spent
  completion.possibleDuplicate = verdict.possibleDuplicate
  return completion
}

/** A claim whose worker died: whether the call was made is unknown. */
export async function settleLost(deps: SettleDeps, claim: Claim, account: Account | null): Promise<Completion> {
  const provider = account && deps.registry(claim.channel, account.provider)
  const code = WORKER_LOST
  const error = 'the worker that made this call died before it could report'
  if (account && provider) {
    const call = { claim, account, provider }
    return settle(notTheProvidersDoing(deps), call, { kind: 'unknown', code, error }, deps.clock.monotonic())
  }
  const reason = 'provider_missing'
  const stopped = withoutCall(claim, account, { to: 'parked', reason, error: 'the account or its provider is gone' })
  // The call may have been made all the same: whoever retries it by hand must know.
  return { ...stopped, outcome: 'unknown', code, possibleDuplicate: true }
}

/** Why no provider call is made. `released`: the claim goes back as it was, and its row waits. */
export interface Refusal {
  to: 'parked' | 'failed' | 'cancelled' | 'released'
  reason: Reason
  error: string
}

/**
 * What is to be written where no provider call is made; null: the claim goes back as it was. A row of an account that is
 * suspended or paused moves to the account that stands in. Whatever else keeps it from being sent, it falls back to the
 * next channel of its chain, unless it is to be sent no more. Neither is done where an earlier call may have arrived.
 */
export async function settleUnsent(
  deps: SettleDeps,
  claim: Claim,
  account: Account | null,
  refusal: Refusal,
): Promise<Completion | null> {
  const { to, reason, error } = refusal
  const isOfAccount = reason === 'channel_suspended' || reason === 'auth_failed'
  const isSafe = !claim.possibleDuplicate
  if (account && isOfAccount && isSafe) {
    const standIn = await orNobody(deps, claim, () => deps.standIn(account, 'any'))
    if (standIn) return { ...withoutCall(claim, account, { ...refusal, to: 'retrying' }), ...movedTo(standIn) }
  }
  const answer = to !== 'cancelled' && isSafe ? await fallBack(deps, claim) : null
  if (to === 'released' && (!answer || 'skipped' in answer)) return null
  const stopped = withoutCall(claim, account, { to: to === 'released' ? 'failed' : to, reason, error })
  return { ...stopped, ...(answer && continuedBy(answer)) }
}

/** The result of a claim that no call was made for. */
function withoutCall(
  claim: Claim,
  account: Account | null,
  { to, reason, error }: Pick<Completion, 'to' | 'reason' | 'error'>,
): Completion {
  return {
    notificationId: claim.notificationId,
    tenantId: claim.tenantId,
    correlationId: claim.correlationId,
    accountId: claim.accountId,
    counted: claim,
    token: claim.token,
    attempt: claim.attempt,
    provider: account?.provider ?? 'none',
    outcome: null,
    code: null,
    error,
    providerMessageId: null,
    resolvedTargets: null,
    answer: null,
    refused: null,
    ageMs: 0,
    durationMs: 0,
    to,
    reason,
    delayMs: 0,
    moveTo: null,
    spent: claim.spent,
    possibleDuplicate: claim.possibleDuplicate,
    next: null,
  }
}

/** Due at once, and with all its attempts: the other account has not failed yet. */
function movedTo({ id, provider }: Account): Pick<Completion, 'to' | 'delayMs' | 'moveTo' | 'spent'> {
  return { to: 'retrying', delayMs: 0, moveTo: { accountId: id, provider }, spent: 0 }
}

function continuedBy(answer: Takeover | EndedChain): Partial<Completion> {
  if ('skipped' in answer) return answer
  return { to: 'failed', reason: `fallback_triggered:${answer.channel}`, next: answer }
}

function verdictOn(
  deps: SettleDeps,
  { outcome, claim, account, provider, capability, holdMs }: EndedCall,
): CallVerdict {
  const { retry, onUnknown, onUndeliverable } = policyOf(claim, account)
  return decide({
    outcome,
    retry,
    onUnknown,
    onUndeliverable,
    onUnmapped: onUnmappedOf(provider, account.settings),
    capability: capability ?? capabilityOf(provider, account),
    spent: claim.spent,
    possibleDuplicate: claim.possibleDuplicate,
    freeCalls: claim.attempt - 1 - claim.spent,
    isBreakerOpen: deps.isBreakerOpen(claim.accountId),
    random: deps.random(),
    holdMs,
  })
}

/** What the event type says, else what the account says. What makes no sense is clamped like an account's. */
export function policyOf(
  { policy }: Claim,
  account: Account,
): Pick<CallQuestion, 'retry' | 'onUnknown' | 'onUndeliverable'> {
  const retry = policy?.retry ?? null
  const onUndeliverable = policy?.onUndeliverable ?? account.settings['onUndeliverable']
  return {
    retry: retry === null ? account.retry : storedRetry(retry).policy,
    onUnknown: account.onUnknown,
    onUndeliverable: onUndeliverable === 'fail' ? 'fail' : 'park',
  }
}

/** Before anybody stores, logs or shows what a provider said. */
function scrubbed(deps: SettleDeps, call: ProviderCall, outcome: Outcome): Outcome {
  if (outcome.kind === 'accepted') return outcome
  const scrub = scrubOf(deps, call)
  return { ...outcome, code: scrub(outcome.code), error: scrub(outcome.error) }
}

/** What the vendor said, without secrets and no longer than it may be. */
function keptOf(deps: SettleDeps, call: ProviderCall): Exchange | null {
  const { answer = null, refused = null } = call.exchange ?? {}
  if (answer === null && refused === null) return null
  const scrub = scrubOf(deps, call)
  const bounded = (text: string, most: number): string => scrub(text).replaceAll('\u0000', '').slice(0, most)
  return {
    answer: answer && bounded(answer, LONGEST_ANSWER),
    refused: refused?.map(({ recipient, error }) => ({ recipient, error: bounded(error, 200) })) ?? null,
  }
}

function scrubOf(deps: SettleDeps, { account, secrets = [] }: ProviderCall): (text: string) => string {
  return (text) => deps.scrub(text, [...Object.values(account.secrets), ...secrets])
}

/** For what was not the provider's doing: breaker and hold hear nothing, and the notification stays with its account. */
export function notTheProvidersDoing<T extends SettleDeps>(deps: T): T {
  return { ...deps, saw: () => undefined, isBreakerOpen: () => false, standIn: async () => null }
}

async function fallBack(deps: SettleDeps, claim: Claim): Promise<Takeover | EndedChain | null> {
  return claim.fallback.length === 0 ? null : await orNobody(deps, claim, () => deps.fallBack(claim, claim.fallback))
}

/** Who takes over; nobody where that cannot be found out, or where whoever it is cannot be planned. */
async function orNobody<T>(deps: SettleDeps, claim: Claim, ask: () => Promise<T | null>): Promise<T | null> {
  try {
    return await whenStoreAnswers(deps.clock, ask)
  } catch (error) {
    const { notificationId, correlationId } = claim
    const fields = { notificationId, correlationId, error: errorText(error) }
    deps.logger.error(fields, 'the account or channel that takes over could not be found; nobody does')
    return null
  }
}
