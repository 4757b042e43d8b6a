import type { NewNotification } from '../model/notification.ts'
import type { Store } from '../store/store.ts'
import type { SchedulePlan, StandingNotification } from './plan-store.ts'

/**
 * What is left to write of a schedule that was planned before. Of each place and channel there is one notification, and
 * it stands: one that was skipped and can be sent by now is put into the queue, every other stays as it is. That happens
 * before the plan is written, so that a crash in between leaves nothing undone: the queued ones then stand, too.
 */
export async function reviveStanding(
  notifications: Pick<Store['notifications'], 'act'>,
  plan: Extract<SchedulePlan, { notifications?: NewNotification[] }>,
  { standing, isChain }: { standing: readonly StandingNotification[]; isChain: boolean },
): Promise<typeof plan> {
  const standingAt = Map.groupBy(standing, ({ place }) => place)
  const fresh: NewNotification[] = []
  for (const notification of plan.notifications ?? []) {
    const beside = standingAt.get(notification.place ?? '') ?? []
    const own = beside.find(({ channel }) => channel === notification.channel)
    // A chain that was begun by hand is under way: nothing is begun beside it.
    if (isChain && beside.some(isTelling)) continue
    if (!own) fresh.push(notification)
    else if (own.status === 'skipped') await revive(notifications, own, notification, beside)
  }
  return { ...plan, notifications: fresh }
}

/** Nobody is told by what was skipped, and by what an operator gave up. */
export function isTelling({ status }: Pick<StandingNotification, 'status'>): boolean {
  return status !== 'skipped' && status !== 'discarded'
}

async function revive(
  notifications: Pick<Store['notifications'], 'act'>,
  { id }: StandingNotification,
  { stopped, content, accountId, provider, fallback, ...planned }: NewNotification,
  beside: readonly StandingNotification[],
): Promise<void> {
  if (stopped || !content || accountId === null || provider === null) return
  const { tenantId } = planned
  // Channels that have notifications of their own are held by no chain.
  const held = fallback.filter((channel) => !beside.some((standing) => standing.channel === channel))
  const replacement = { ...planned, content, accountId, provider, fallback: held }
  await notifications.act({ tenantId, id, action: 'retry', actor: 'system', replacement })
}
