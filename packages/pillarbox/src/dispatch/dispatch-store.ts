import type { Channel } from '../model/channel.ts'
import type { Entity } from '../model/event.ts'
import type { Content, EndedChain, NotificationPolicy, SealedContent, Takeover } from '../model/notification.ts'
import type { OutcomeKind, RefusedMember } from '../model/outcome.ts'
import type { Reason, StoredReason } from '../model/reason.ts'
import type { Address } from '../model/recipient.ts'
import type { RollupGroup } from '../model/rollup.ts'
import type { BreakerState } from './lane-store.ts'

export interface DispatchStore {
  /**
   * Accounts with due, unclaimed work that are not on hold, the longest-waiting first. A suspended one's hold counts for
   * nothing: its rows make no calls.
   */
  dueLanes(channels: readonly Channel[] | null, limit: number): Promise<DueLane[]>
  /**
   * Claims up to `limit` due rows of each lane, oldest first: `sending`, attempt + 1, a token never used before, this
   * worker. Two workers never get the same row. A lane on hold or with an open breaker gives nothing, unless `probe`.
   * `fenced` when this worker has been declared dead: it then claims nothing and must register anew.
   */
  claim(workerId: string, lanes: readonly LaneClaim[]): Promise<ClaimAnswer>
  /**
   * Writes results: dispatch row, attempt, settled row, fallback notification and audit in one transaction. A result
   * whose token is no longer the row's changes nothing, is kept as a late attempt, and is named in `fenced`. Repeating
   * a result whose commit succeeded but whose answer was lost changes nothing and is not fenced (its attempt has the
   * same token).
   */
  complete(workerId: string, completions: readonly Completion[]): Promise<{ fenced: string[]; lanes: string[] }>
  /** Gives unsent claims back as they were before the claim. Compares the token. */
  release(workerId: string, claims: readonly { notificationId: string; token: number }[]): Promise<void>
  /**
   * Rows this worker holds by the store's account and not by its own (`held`: the tokens it knows), because the answer
   * to a claim, a release or a take-over was lost. Claimed ones never left this process and go back as they were;
   * taken-over ones (`in_doubt`) are answered under a new token, to be settled as unknown. May scan: called rarely.
   */
  orphans(workerId: string, held: readonly number[]): Promise<Claim[]>
  /**
   * Cancels what waits past its expiry, `expired`, whatever it waits for, at most `limit` rows; answers how many it found.
   * What is claimed is left to its worker.
   */
  expire(limit: number): Promise<number>
  /** Stops everything that waits on a lane (an account was suspended): parked with `reason`, at most `limit` rows. */
  stopLane(accountId: string, reason: Reason, error: string, actor: string, limit: number): Promise<number>
}

export interface DueLane {
  accountId: string
  channel: Channel
  breaker: BreakerState
}

/**
 * How much of a lane to claim. `probe`: though it is on hold or its breaker open. `chained`: only rows that another channel
 * may take over, which have a chain and cannot have arrived.
 */
export interface LaneClaim {
  accountId: string
  limit: number
  probe?: boolean
  chained?: boolean
}

export interface ClaimRequest {
  workerId: string
  lanes: readonly LaneClaim[]
}

export type ClaimAnswer = { fenced: false; claims: Claim[] } | { fenced: true }

/** One claimed row with all that one provider call needs. */
export interface Claim {
  notificationId: string
  accountId: string
  token: number
  /** Number of this provider call, from 1. */
  attempt: number
  /** Attempts that counted against the retry policy so far. */
  spent: number
  possibleDuplicate: boolean
  tenantId: string
  channel: Channel
  to: Address
  content: Content | SealedContent
  policy: NotificationPolicy | null
  eventType: string | null
  entity: Entity | null
  site: string | null
  locale: string | null
  correlationId: string | null
  fallback: Channel[]
  expiresAt: number | null
  /** Since when it is due, and since when it is wanted, which retries do not change. */
  visibleAt: number
  wantedAt: number
  /** Somebody has it sent though its address is suppressed. */
  overridesSuppression: boolean
  traceparent?: string | null
  /** The store's time when it was claimed. */
  claimedAt: number
}

/** Where a result is counted, from when on the time is measured, and whether it was in doubt. */
export type CountedClaim = RollupGroup & Pick<Claim, 'visibleAt' | 'wantedAt' | 'claimedAt' | 'possibleDuplicate'>

export interface Completion {
  notificationId: string
  tenantId: string
  /** For the log. */
  correlationId: string | null
  accountId: string
  /** What numbers are told by; the claim has it. */
  counted: CountedClaim
  token: number
  attempt: number
  provider: string
  /** Null: no provider call was made (expired, suspended); the transition is audited instead. */
  outcome: OutcomeKind | null
  code: string | null
  error: string | null
  providerMessageId: string | null
  /** Whom a list stood for in this call; null where there was none. */
  resolvedTargets: string[] | null
  /** What the provider said, bounded and without secrets; null where it said nothing. */
  answer: string | null
  /** Members of a list that the provider would not take while it took the others; null: none. */
  refused: RefusedMember[] | null
  /** How long ago the call began, and how long it took. */
  ageMs: number
  durationMs: number
  to: 'sent' | 'retrying' | 'parked' | 'uncertain' | 'failed' | 'cancelled'
  reason: StoredReason | null
  /** For `retrying`: visible again after this. */
  delayMs: number
  /** For `retrying`: from now on the lane of another account of the channel, with its provider; null: it stays. */
  moveTo: { accountId: string; provider: string } | null
  /** The new count of attempts that counted. */
  spent: number
  possibleDuplicate: boolean
  /** For `failed` by fallback: the notification that takes over. */
  next: Takeover | null
  /** For `parked` or `failed` where nobody takes over: what says so of each channel of its chain, which ends with it. */
  skipped?: EndedChain['skipped']
}
