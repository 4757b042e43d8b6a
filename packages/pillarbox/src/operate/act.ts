import { PillarboxError } from '../model/errors.ts'
import type { Action, NotificationView } from '../model/notification.ts'
import { noAccount } from '../plan/compose.ts'
import type { ActRequest } from '../plan/notification-store.ts'
import type { ReplanAnswer } from '../plan/replan.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { Store } from '../store/store.ts'
import type { TenantSnapshots } from '../tenant/snapshots.ts'

/** Plans a notification anew that was born parked without content. */
export type Replan = (notification: NotificationView) => Promise<ReplanAnswer>

export interface ActDeps {
  store: Pick<Store, 'notifications'>
  snapshots: Pick<TenantSnapshots, 'choose'>
  replan: Replan
  nudge: (topic: WakeTopic) => void
}

export interface NotificationAct {
  /** Null: of whichever tenant it is. */
  tenantId: string | null
  id: string
  action: Action
  actor: string
  /** Why, in the actor's own words; kept in the audit. */
  note?: string
}

/**
 * Moves a notification by hand. Two callers at once: one moves it, the other
 * is told that it is no longer where it was. A retry resets the count, the time and the error.
 */
export async function actOnNotification(
  { store, snapshots, replan, nudge }: ActDeps,
  { tenantId, ...given }: NotificationAct,
): Promise<NotificationView> {
  const found = await store.notifications.find(tenantId, given.id)
  if (!found) throw missing()
  const { id, action } = given
  const request: ActRequest = { ...given, tenantId: found.tenantId }
  if (action === 'retry' && (found.accountId === null || found.content === null)) {
    if (found.status !== 'parked') throw refusal(action, found.status)
    const answer = found.content === null ? await replan(found) : await findAccount(found, snapshots)
    if ('problem' in answer)
      throw new PillarboxError('not_plannable', `${answer.problem.reason}: ${answer.problem.error}`)
    request.replacement = answer.replacement
  }

  const moved = await store.notifications.act(request)
  if (!moved) throw missing()
  if (moved.twin !== undefined)
    throw new PillarboxError(
      'duplicate_notification',
      `The same was told by notification ${moved.twin} meanwhile; discard this one.`,
      { notificationId: moved.twin },
    )
  if (!moved.moved) throw refusal(action, moved.from)
  if (action === 'retry') nudge('dispatch')
  return (await store.notifications.find(found.tenantId, id)) ?? found
}

/** For one that has its words and only lacked an account. */
async function findAccount(notification: NotificationView, snapshots: ActDeps['snapshots']): Promise<ReplanAnswer> {
  const { tenantId, channel, to, content, templateId, templateVersion, locale, fallback, warnings } = notification
  const { idempotencyKey } = notification
  const account = await snapshots.choose(tenantId, channel, to)
  if (!account || !content) return { problem: noAccount(channel) }
  const words = { content, templateId, templateVersion, locale, warnings }
  const way = { accountId: account.id, provider: account.provider, channel, to, fallback, idempotencyKey }
  return { replacement: { ...way, ...words } }
}

function refusal(action: Action, status: string): PillarboxError {
  return new PillarboxError(REFUSALS[action], `The notification is ${status}.`)
}

const REFUSALS = {
  retry: 'not_parked',
  discard: 'not_parked',
  cancel: 'not_waiting',
  park: 'not_waiting',
  restore: 'not_discarded',
} as const satisfies Record<Action, string>

function missing(): PillarboxError {
  return new PillarboxError('not_found', 'There is nothing with this id.')
}
