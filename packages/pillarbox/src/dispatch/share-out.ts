import type { Account, Pace } from '../model/account.ts'
import type { Clock } from '../model/ports.ts'
import type { Store } from '../store/store.ts'
import type { AccountBook } from '../tenant/account-book.ts'
import type { CallTimes } from './deadline.ts'
import type { DueLane, LaneClaim } from './dispatch-store.ts'
import type { LaneBook } from './lane-book.ts'
import type { LaneGuard } from './lane-guard.ts'

export interface ShareOutDeps {
  store: Pick<Store, 'lanes'>
  accounts: AccountBook
  guard: LaneGuard
  clock: Clock
  settings: CallTimes & { claimRows: number }
}

/** What one lane gives in this round. */
export interface LaneShare extends LaneClaim {
  /**
   * As it was when the share was made: rows that are claimed only to move or stop have no token for a call, whatever becomes
   * of their account meanwhile. Null: the account was removed; its rows are claimed all the same, and parked.
   */
  account: Account | null
  /** The bucket that a token was taken from for each call; null where there is none. */
  pace: Pace | null
}

/** How much to claim from each lane: fair shares of the free slots, cut down by pause, breaker and pace. */
export async function shareOut(deps: ShareOutDeps, book: LaneBook): Promise<LaneShare[]> {
  const ready = book.ready(deps.clock.monotonic())
  const accounts = await readAccounts(
    deps,
    ready.map(({ accountId }) => accountId),
  )
  // Another process may have the key to its secrets: what waits there is left to that one.
  const movable = ready.filter(({ accountId }) => !deps.accounts.isLocked(accountId))
  const slots = book.share(movable)
  const shares: LaneShare[] = []
  for (const lane of movable) {
    const limit = slots.get(lane.accountId) ?? 0
    if (limit === 0) continue
    const share = await shareOf(deps, book, lane, accounts.get(lane.accountId) ?? null, limit)
    if (share) shares.push(share)
  }
  return takeTokens(deps, book, shares)
}

/** Accounts that are not active are read afresh, so that no row stops or moves that may be sent again since a moment ago. */
async function readAccounts({ accounts }: ShareOutDeps, ids: readonly string[]): Promise<ReadonlyMap<string, Account>> {
  const known = await accounts.get(ids)
  const halted = ids.filter((id) => (known.get(id)?.status ?? 'active') !== 'active' && !accounts.isLocked(id))
  if (halted.length === 0) return known
  for (const id of halted) accounts.outdate(id)
  return accounts.get(ids)
}

/** Null: the lane's breaker is open, and another process probes it or nobody may yet. */
async function shareOf(
  { store, accounts, guard, settings }: ShareOutDeps,
  book: LaneBook,
  { accountId, breaker }: DueLane,
  account: Account | null,
  limit: number,
): Promise<LaneShare | null> {
  if (account && account.status !== 'active') {
    // No call is made: its rows move or stop, and neither hold nor breaker nor pace is in their way. The claim reaches past
    // the rows that cannot move, and as far again, for there may be more of them.
    const stuck = book.stuckRows(accountId)
    const reach = limit + stuck + Math.min(stuck, settings.claimRows)
    // A paused account's rows wait until its credentials are mended, unless another account or channel takes them over.
    const chained = account.status === 'paused' && (await accounts.standIn(account, 'any')) === null
    return { accountId, limit: reach, probe: true, chained, account, pace: null }
  }
  const pace = account?.pace ?? null
  if (breaker === 'closed') return { accountId, limit, probe: false, account, pace }
  book.isDrained(accountId)
  if (!(await store.lanes.probe(accountId, settings.callTimeoutMs + settings.callGraceMs))) return null
  guard.probing(accountId)
  return { accountId, limit: 1, probe: true, account, pace }
}

/** Takes a token for each row of a paced lane. The lane waits where its bucket has fewer. */
async function takeTokens({ store, clock }: ShareOutDeps, book: LaneBook, shares: LaneShare[]): Promise<LaneShare[]> {
  const requests = shares.flatMap(({ accountId, limit, pace }) => (pace ? [{ accountId, want: limit, pace }] : []))
  if (requests.length === 0) return shares
  const grants = new Map((await store.lanes.take(requests)).map((grant) => [grant.accountId, grant]))
  return shares.flatMap((share) => {
    const grant = grants.get(share.accountId)
    if (!grant) return [share]
    if (grant.granted < share.limit) book.paceUntil(share.accountId, clock.monotonic() + grant.waitMs)
    return grant.granted > 0 ? [{ ...share, limit: grant.granted }] : []
  })
}
