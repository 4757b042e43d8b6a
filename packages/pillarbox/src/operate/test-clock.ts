import type { StoredAccount } from '../model/account.ts'
import { formatDuration } from '../model/duration.ts'
import { found, invalidBody, PillarboxError } from '../model/errors.ts'
import { testClockMs } from '../model/tenant.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { Store } from '../store/store.ts'
import type { TenantSnapshots } from '../tenant/snapshots.ts'
import type { TestClockMoved } from './due-store.ts'
import type { Operator } from './operator.ts'

/**
 * The clock of a tenant that only tries things out. A reminder for tomorrow goes out today where its clock is a day ahead:
 * what waits is moved, what is published later is judged by that clock, and templates take it for now. Whoever can reach
 * real people has no such clock.
 */
export interface TestClockDeps {
  store: Pick<Store, 'accounts' | 'due'>
  snapshots: Pick<TenantSnapshots, 'outdate'>
  nudge: (topic: WakeTopic) => void
}

/** Moving more at once would keep everybody else waiting; whoever tries things out has a few. */
export const MOST_WAITING = 10_000
export const LONGEST_AHEAD_MS = 3_660 * 86_400_000

/** Moves the clock on, or back to the real time where `advanceMs` is null. */
export async function moveTestClock(
  { store, snapshots, nudge }: TestClockDeps,
  { tenantId, actor, advanceMs }: Operator & { advanceMs: number | null },
): Promise<TestClockMoved> {
  const real = (await store.accounts.list(tenantId)).find(canReachSomebody)
  // Back is never refused: it only ever puts off.
  if (real && advanceMs !== null)
    throw new PillarboxError(
      'in_use',
      `The account "${real.name}" (${real.channel}, ${real.provider}) reaches real people. The test clock is for tenants whose accounts are all sandbox ones: suspend this account, or use another tenant.`,
    )
  const moved = found(
    await store.due.moveTestClock({ tenantId, advanceMs, actor, most: MOST_WAITING, longestMs: LONGEST_AHEAD_MS }),
  )
  if ('waiting' in moved)
    throw new PillarboxError(
      'in_use',
      `${moved.waiting} schedules and notifications wait, more than the ${MOST_WAITING} that the test clock moves: cancel some, or use another tenant.`,
    )
  if ('tooFar' in moved)
    throw invalidBody([{ path: '/advance', message: 'would put the clock more than ten years ahead: reset it first' }])
  snapshots.outdate(tenantId)
  nudge('events')
  nudge('dispatch')
  return moved
}

function canReachSomebody({ provider, status }: StoredAccount): boolean {
  return provider !== 'sandbox' && status !== 'suspended'
}

/** An account that reaches real people is not let loose on what a test clock has made due. */
export async function refuseAhead(
  { store }: { store: Pick<Store, 'tenants'> },
  tenantId: string,
  account: Pick<StoredAccount, 'provider'>,
): Promise<void> {
  if (account.provider === 'sandbox') return
  const aheadMs = testClockMs(await store.tenants.find(tenantId))
  if (aheadMs > 0)
    throw new PillarboxError(
      'in_use',
      `The tenant’s test clock is ${formatDuration(aheadMs)} ahead, and real people would be told too early. Reset it first: POST /api/sandbox/clock {"reset": true}.`,
    )
}
