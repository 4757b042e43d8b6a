import type { Capability, Provider, ProviderRegistry, SendRequest } from '../channels/channel.ts'
import type { Account } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import type { Content, NewNotification } from '../model/notification.ts'
import { ATTEMPT_OUTCOMES, type Outcome } from '../model/outcome.ts'
import type { Clock, Random } from '../model/ports.ts'
import type { Reason } from '../model/reason.ts'
import { storedRetry } from '../model/retry.ts'
import { isSealedContent, type OpenedContent, type PayloadSeal } from '../security/payload-seal.ts'
import type { CallDeadline, Waiting } from './deadline.ts'
import { decide, nextChannel, type Question, type Verdict } from './decide.ts'
import type { Claim, Completion } from './dispatch-store.ts'
import type { ListTargets } from './list-targets.ts'
import type { SuppressionBook } from './suppressions.ts'
import { whenStoreAnswers } from './when-store-answers.ts'

/**
 * One attempt, from a committed claim to the result that is to be written:
 *
 *   refuse what must not be sent ─▶ open its content, resolve its list, leave out who is suppressed
 *     ─▶ ask about a call in doubt ─▶ call the provider ─▶ decide
 *     ─▶ move to another account, or fall back to another channel
 */
export interface AttemptDeps {
  registry: ProviderRegistry
  clock: Clock
  random: Random
  /** May a provider call begin now (heartbeat)? Asked immediately before the first byte. */
  mayStart(): boolean
  /** How long a throttled call holds its lane. */
  holdMs(laneId: string, outcome: Outcome): number
  /** Tells breaker, hold and pause what happened. */
  saw(account: Account, outcome: Outcome): Promise<void> | undefined
  /** Whether the account's breaker is open, as far as this process has seen. */
  isBreakerOpen(laneId: string): boolean
  /** Another account of the channel that takes over from this one; null where there is none. */
  standIn(account: Account, wanted: 'ready' | 'any'): Promise<Account | null>
  /** The notification that takes over on `channel`, or null when that channel cannot reach the recipient either. */
  fallBack(claim: Claim, chain: readonly Channel[]): Promise<NewNotification | null>
  /** Error texts may hold secrets; `secrets` are those of the account in use and of the content. */
  scrub(text: string, secrets?: Iterable<string>): string
  /** Opens content that holds secrets, for this call only. */
  openContent: PayloadSeal['openContent']
  /** Whom a recipient list stands for now. */
  listTargets(tenantId: string, list: string, channel: Channel): Promise<ListTargets>
  /** Which addresses must not be used, and the place to remember dead ones. */
  suppressions: SuppressionBook
}

/** Hears what is to be written of a claim; null: it goes back unsent, nothing has left this process. */
export type Landed = (claim: Claim, completion: Completion | null) => void

/** Tells `landed` once. */
export function attempt(
  deps: AttemptDeps,
  claim: Claim,
  account: Account | null,
  deadline: CallDeadline,
  landed: Landed,
): void {
  const call = simpleCall(deps, claim, account)
  if (!call) void attemptInSteps(deps, claim, account, deadline, landed)
  else if (deps.mayStart()) make({ deps, call, deadline, landed }, requestOf(call, call.content, deadline.signal))
  else landed(claim, null)
}

/**
 * The call, where nothing has to be asked or waited for before it: nearly always, so that a message which is simply sent
 * costs the fewest promises. Null where a step of `attemptInSteps` has something to say.
 */
function simpleCall(deps: AttemptDeps, claim: Claim, account: Account | null): (Call & { content: Content }) | null {
  const { content, to, tenantId, channel, possibleDuplicate } = claim
  if (account?.status !== 'active' || possibleDuplicate || isExpired(claim)) return null
  if (!content || isSealedContent(content) || to.list !== undefined) return null
  const provider = deps.registry(channel, account.provider)
  return provider && deps.suppressions.hasNone(tenantId, channel) ? { claim, account, provider, content } : null
}

async function attemptInSteps(
  deps: AttemptDeps,
  claim: Claim,
  account: Account | null,
  deadline: CallDeadline,
  landed: Landed,
): Promise<void> {
  const ready = await getReady(deps, claim, account, deadline)
  if (ready && 'request' in ready) make({ deps, call: ready.call, deadline, landed }, ready.request)
  else landed(claim, ready)
}

/** Everything that comes before the call; a result where there is none to make, null where the claim goes back. */
async function getReady(
  deps: AttemptDeps,
  claim: Claim,
  account: Account | null,
  deadline: CallDeadline,
): Promise<{ call: Call; request: SendRequest } | Completion | null> {
  const refusal = refuse(deps, claim, account)
  if (refusal) return (await movedUnsent(deps, claim, account, refusal)) ?? refused(deps, claim, account, refusal)
  const provider = deps.registry(claim.channel, account?.provider ?? '')
  if (!account || !provider) throw new Error('unreachable: refused above')
  if (account.status === 'paused') return movedUnsent(deps, claim, account, pauseOf(account))

  const opened = open(deps, claim)
  if ('error' in opened) return refused(deps, claim, account, { to: 'parked', ...opened })
  const listed = await recipients(deps, claim)
  // The store failed, not the provider: breaker and hold stay as they are.
  if ('outcome' in listed)
    return settle(quiet(deps), { claim, account, provider }, listed.outcome, deps.clock.monotonic())
  if ('error' in listed)
    return refused(deps, claim, account, { to: stoppedAs(listed.reason, claim, account), ...listed })
  if (!deps.mayStart()) return null

  const call: Call = { claim, account, provider, secrets: opened.secrets, targets: listed.targets }
  const request = requestOf(call, opened.content, deadline.signal)
  const startedAt = deps.clock.monotonic()
  const found = claim.possibleDuplicate ? await lookUp(provider, request, deadline) : null
  if (!found) return { call, request }
  const completion = await settle(deps, call, found, startedAt)
  // Found by asking after a single call: there is only the one message.
  return found.kind === 'accepted' && claim.attempt === 2 ? { ...completion, possibleDuplicate: false } : completion
}

/** A provider call under way. */
interface Flight extends Waiting {
  deps: AttemptDeps
  call: Call
  deadline: CallDeadline
  landed: Landed
  startedAt: number
}

/** Calls the provider. Callbacks, because this is done for every message: promises would be a fifth of its garbage. */
function make(given: Omit<Flight, 'startedAt' | 'giveUp'>, request: SendRequest): void {
  const { deps, call, deadline, landed } = given
  const flight: Flight = { deps, call, deadline, landed, startedAt: deps.clock.monotonic(), giveUp: land }
  const calling = send(call.provider, request)
  deadline.watch(flight)
  calling.then(
    (answer) => answered(flight, checked(answer)),
    (error: unknown) => answered(flight, threw(error)),
  )
}

function answered(flight: Flight, outcome: Outcome): void {
  if (flight.deadline.forget(flight)) land(flight, outcome)
}

function land({ deps, call, startedAt, landed }: Flight, outcome: Outcome): void {
  const settled = settle(deps, call, outcome, startedAt)
  if (settled instanceof Promise) void settled.then((completion) => landed(call.claim, completion))
  else landed(call.claim, settled)
}

/** A claim whose worker died: whether the call was made is unknown. */
export async function settleLost(deps: AttemptDeps, claim: Claim, account: Account | null): Promise<Completion> {
  const provider = account && deps.registry(claim.channel, account.provider)
  const code = 'worker_lost'
  const outcome: Outcome = {
    kind: 'unknown',
    code,
    error: 'the worker that made this call died before it could report',
  }
  // A worker's death says nothing about the provider: breaker and hold stay as they are.
  if (account && provider) return settle(quiet(deps), { claim, account, provider }, outcome, deps.clock.monotonic())
  const error = 'the account or its provider is gone'
  const stopped = await refused(deps, claim, account, { reason: 'provider_missing', error, to: 'parked' })
  // The call may have been made all the same: whoever retries it by hand must know.
  return { ...stopped, outcome: 'unknown', code, possibleDuplicate: true }
}

interface Refusal {
  to: 'parked' | 'failed' | 'cancelled'
  reason: Reason
  error: string
}

type Halt = Pick<Refusal, 'reason' | 'error'>

function pauseOf({ name, statusReason }: Account): Halt {
  return {
    reason: 'auth_failed',
    error: `account ${name} is paused: ${statusReason ?? 'its credentials were refused'}`,
  }
}

/**
 * Rows of an account that is suspended or paused go to the one that stands in, without a call. Null where there is none,
 * where something else is the matter, or where a call in doubt may have arrived.
 */
async function movedUnsent(
  deps: AttemptDeps,
  claim: Claim,
  account: Account | null,
  { reason, error }: Halt,
): Promise<Completion | null> {
  const isHalted = reason === 'channel_suspended' || reason === 'auth_failed'
  if (!account || !isHalted || claim.possibleDuplicate) return null
  const standIn = await orNobody(deps, () => deps.standIn(account, 'any'))
  return (
    standIn && {
      ...identity(claim, account),
      outcome: null,
      code: null,
      error,
      providerMessageId: null,
      resolvedTargets: null,
      ageMs: 0,
      durationMs: 0,
      to: 'retrying',
      reason,
      delayMs: 0,
      moveTo: laneOf(standIn),
      spent: 0,
      possibleDuplicate: false,
      next: null,
    }
  )
}

function laneOf({ id, provider }: Account): Completion['moveTo'] {
  return { accountId: id, provider }
}

function isExpired({ expiresAt, claimedAt }: Claim): boolean {
  return expiresAt !== null && expiresAt <= claimedAt
}

function refuse(deps: AttemptDeps, claim: Claim, account: Account | null): Refusal | null {
  if (isExpired(claim)) return { to: 'cancelled', reason: 'expired', error: 'not sent before its expiry' }
  if (!account) return { to: 'parked', reason: 'no_active_channels', error: 'the account no longer exists' }
  if (account.status === 'suspended')
    return { to: 'parked', reason: 'channel_suspended', error: `account ${account.name} is suspended` }
  if (!deps.registry(claim.channel, account.provider))
    return { to: 'parked', reason: 'provider_missing', error: `no provider "${account.provider}" for ${claim.channel}` }
  return null
}

/** The words to send. Sealed under a key this process has not got, they wait, parked, for one that has. */
function open(deps: AttemptDeps, claim: Claim): Exclude<OpenedContent, { error: string }> | Omit<Refusal, 'to'> {
  const { content, tenantId, notificationId } = claim
  if (!content) return { reason: 'content_scrubbed', error: 'its content held secrets and was removed' }
  if (!isSealedContent(content)) return { content, secrets: [] }
  const opened = deps.openContent(content, { tenantId, notificationId })
  return 'error' in opened ? { reason: 'content_unreadable', error: opened.error } : opened
}

/** Everybody it may go to. Null targets: the notification is not addressed to a list. */
async function recipients(
  deps: AttemptDeps,
  claim: Claim,
): Promise<{ targets: string[] | null } | Omit<Refusal, 'to'> | { outcome: Outcome }> {
  const { to, tenantId, channel } = claim
  let unread = 'recipient list'
  try {
    const listed = to.list === undefined ? { targets: null } : await deps.listTargets(tenantId, to.list, channel)
    if ('error' in listed) return listed
    unread = 'suppression list'
    return await deps.suppressions.sift(claim, listed.targets)
  } catch (error) {
    const text = `the ${unread} could not be read: ${String(error)}`
    return { outcome: { kind: 'transient', code: 'list_unavailable', error: text } }
  }
}

/** A suppressed address is no good either, and nobody needs to look where the policy is to leave it at that. */
function stoppedAs(reason: Reason, claim: Claim, account: Account): 'parked' | 'failed' {
  return reason === 'suppressed' && policyOf(claim, account).onUndeliverable === 'fail' ? 'failed' : 'parked'
}

/**
 * Stopped without a provider call. What a suspended account or a suppressed address keeps from being sent moves on to the
 * next channel of its chain.
 */
async function refused(
  deps: AttemptDeps,
  claim: Claim,
  account: Account | null,
  refusal: Refusal,
): Promise<Completion> {
  const isOfChannel = refusal.reason === 'channel_suspended' || refusal.reason === 'suppressed'
  const mayFallBack = isOfChannel && !claim.possibleDuplicate
  const next = mayFallBack ? await fallBack(deps, claim) : null
  return {
    ...identity(claim, account),
    outcome: null,
    code: null,
    error: refusal.error,
    providerMessageId: null,
    resolvedTargets: null,
    ageMs: 0,
    durationMs: 0,
    to: next ? 'failed' : refusal.to,
    reason: next ? `fallback_triggered:${next.channel}` : refusal.reason,
    delayMs: 0,
    moveTo: null,
    spent: claim.spent,
    possibleDuplicate: claim.possibleDuplicate,
    next,
  }
}

/** What the vendor says of an earlier call whose outcome is unknown; null when it cannot tell or never saw it. */
async function lookUp(provider: Provider, request: SendRequest, deadline: CallDeadline): Promise<Outcome | null> {
  if (!provider.lookup || capabilityOf(provider, request.account) !== 'lookup') return null
  // Asking changed nothing, so failing to ask is an ordinary reason to try again later.
  const failed: Outcome = {
    kind: 'transient',
    code: 'lookup_failed',
    error: 'the provider could not be asked about an earlier call',
  }
  try {
    const answer = await orGivenUp(deadline, provider.lookup(request), failed)
    // Never seen, but the answer came too late to make the call.
    if (answer === null) return deadline.signal.aborted ? failed : null
    return checked(answer)
  } catch {
    return failed
  }
}

/** The answer, or `instead` where the deadline passes without one. */
function orGivenUp<T>(deadline: CallDeadline, call: Promise<T>, instead: Outcome): Promise<T | Outcome> {
  return new Promise((resolve) => {
    const waiting: Waiting = { giveUp: () => resolve(instead) }
    deadline.watch(waiting)
    const end = (): void => {
      deadline.forget(waiting)
      // As it answered, or failed.
      resolve(call)
    }
    call.then(end, end)
  })
}

/** A provider that throws at once is no different from one that throws later. */
function send(provider: Provider, request: SendRequest): Promise<Outcome> {
  try {
    return Promise.resolve(provider.send(request))
  } catch (error) {
    return Promise.resolve(threw(error))
  }
}

/** A provider that throws has a bug; what it did before is unknown. */
function threw(error: unknown): Outcome {
  return { kind: 'unknown', code: 'provider_threw', error: String(error) }
}

/** An answer that is no outcome says nothing about the call. */
function checked(outcome: Outcome): Outcome {
  if (!ATTEMPT_OUTCOMES.includes(outcome?.kind))
    return { kind: 'unknown', code: 'malformed_reply', error: 'the provider answered something that is no outcome' }
  if (outcome.kind === 'accepted' && !outcome.providerMessageId)
    return { kind: 'unknown', code: 'malformed_reply', error: 'the provider accepted without naming the message' }
  return outcome
}

/** A provider that cannot say what it is capable of is trusted with nothing. */
function capabilityOf(provider: Provider, account: Account): Capability {
  try {
    return provider.capability(account)
  } catch {
    return 'none'
  }
}

/** Who takes over on another channel. A notification that cannot be planned at all takes over from nobody. */
function fallBack(deps: AttemptDeps, claim: Claim): Promise<NewNotification | null> {
  return orNobody(deps, () => deps.fallBack(claim, claim.fallback))
}

/** Who takes over; nobody where that cannot be found out. */
function orNobody<T>({ clock }: AttemptDeps, ask: () => Promise<T | null>): Promise<T | null> {
  return whenStoreAnswers(clock, ask).catch(() => null)
}

/** What one provider call is made of. */
interface Call {
  claim: Claim
  account: Account
  provider: Provider
  /** Secret values in the content, to be kept out of what the provider says about it. */
  secrets?: readonly string[]
  /** Whom the list stands for; null or absent where there is none. */
  targets?: readonly string[] | null
}

/** How a call went: its outcome, when it began on the monotonic clock, and how long it took. */
interface Course {
  outcome: Outcome
  startedAt: number
  durationMs: number
}

/** What is to be written of a call. A promise only where something has to be waited for, which it rarely has. */
function settle(deps: AttemptDeps, call: Call, answer: Outcome, startedAt: number): Completion | Promise<Completion> {
  const outcome = scrubbed(deps, call, answer)
  const course = { outcome, startedAt, durationMs: Math.round(deps.clock.monotonic() - startedAt) }
  // Before the guard hears of it, whose next hold is a longer one.
  const holdMs = deps.holdMs(call.claim.laneId, outcome)
  const writing = deps.saw(call.account, outcome)
  if (outcome.kind === 'accepted' && !writing)
    return resultOf(deps, call, course, verdictOn(deps, call, outcome, holdMs))
  return settleInTime(deps, call, course, holdMs, writing)
}

/** Once the guard has written what it saw, and whoever takes over is found. */
async function settleInTime(
  deps: AttemptDeps,
  call: Call,
  course: Course,
  holdMs: number,
  writing: Promise<void> | undefined,
): Promise<Completion> {
  const { claim, account } = call
  const { outcome } = course
  await writing
  const verdict = verdictOn(deps, call, outcome, holdMs)
  // Before the result is on record: whoever looks at that finds the address suppressed.
  if (outcome.kind === 'permanent' && outcome.isDead) await deps.suppressions.remember(claim, outcome.error)
  const { standIn: wanted } = verdict
  const standIn = wanted === 'none' ? null : await orNobody(deps, () => deps.standIn(account, wanted))
  const next = !standIn && nextChannel(verdict, claim.fallback) ? await fallBack(deps, claim) : null
  return {
    ...resultOf(deps, call, course, verdict),
    ...(next && { to: 'failed', reason: `fallback_triggered:${next.channel}`, next }),
    // Due at once, and with all its attempts: the other account has not failed yet.
    ...(standIn && { to: 'retrying', reason: null, delayMs: 0, moveTo: laneOf(standIn), spent: 0 }),
  }
}

function verdictOn(deps: AttemptDeps, { claim, account, provider }: Call, outcome: Outcome, holdMs: number): Verdict {
  const { retry, onUnknown, onUndeliverable } = policyOf(claim, account)
  return decide({
    outcome,
    retry,
    onUnknown,
    onUndeliverable,
    capability: capabilityOf(provider, account),
    spent: claim.spent,
    possibleDuplicate: claim.possibleDuplicate,
    freeCalls: claim.attempt - 1 - claim.spent,
    isBreakerOpen: deps.isBreakerOpen(claim.laneId),
    random: deps.random(),
    holdMs,
  })
}

/** As long as nobody takes over. */
function resultOf(
  { clock }: AttemptDeps,
  { claim, account, targets }: Call,
  { outcome, startedAt, durationMs }: Course,
  verdict: Verdict,
): Completion {
  const isAccepted = outcome.kind === 'accepted'
  return {
    notificationId: claim.notificationId,
    laneId: claim.laneId,
    token: claim.token,
    attempt: claim.attempt,
    provider: account.provider,
    outcome: outcome.kind,
    code: isAccepted ? null : outcome.code,
    error: isAccepted ? null : outcome.error,
    providerMessageId: isAccepted ? outcome.providerMessageId : null,
    resolvedTargets: targets ? [...targets] : null,
    ageMs: clock.monotonic() - startedAt,
    durationMs,
    to: verdict.to,
    reason: reasonOf(verdict),
    delayMs: verdict.to === 'retrying' ? verdict.delayMs : 0,
    moveTo: null,
    spent: verdict.spent,
    possibleDuplicate: verdict.possibleDuplicate,
    next: null,
  }
}

/** Before anybody stores, logs or shows it. */
function scrubbed(deps: AttemptDeps, { account, secrets = [] }: Call, outcome: Outcome): Outcome {
  if (outcome.kind === 'accepted') return outcome
  const scrub = (text: unknown): string => deps.scrub(String(text), [...Object.values(account.secrets), ...secrets])
  return { ...outcome, code: scrub(outcome.code), error: scrub(outcome.error) }
}

/** The event type's word, and where it has none the account's. What makes no sense is clamped like an account's. */
function policyOf(claim: Claim, account: Account): Pick<Question, 'retry' | 'onUnknown' | 'onUndeliverable'> {
  const retry = claim.policy?.retry ?? null
  const onUndeliverable = claim.policy?.onUndeliverable ?? account.settings['onUndeliverable']
  return {
    retry: retry === null ? account.retry : storedRetry(retry).policy,
    onUnknown: account.onUnknown,
    onUndeliverable: onUndeliverable === 'fail' ? 'fail' : 'park',
  }
}

function reasonOf(verdict: Verdict): Reason | null {
  return 'reason' in verdict ? verdict.reason : null
}

/** Tells nobody what happened, and leaves the notification with its account: that one has done nothing wrong. */
function quiet(deps: AttemptDeps): AttemptDeps {
  return { ...deps, saw: () => undefined, isBreakerOpen: () => false, standIn: async () => null }
}

function identity(claim: Claim, account: Account | null) {
  return {
    notificationId: claim.notificationId,
    laneId: claim.laneId,
    token: claim.token,
    attempt: claim.attempt,
    provider: account?.provider ?? 'none',
  }
}

function requestOf({ claim, account, targets }: Call, content: Content, signal: AbortSignal): SendRequest {
  return {
    account,
    channel: claim.channel,
    key: claim.notificationId,
    notificationId: claim.notificationId,
    attempt: claim.attempt,
    to: targets ? { ...claim.to, bcc: targets } : claim.to,
    content,
    locale: claim.locale,
    correlationId: claim.correlationId,
    signal,
  }
}
