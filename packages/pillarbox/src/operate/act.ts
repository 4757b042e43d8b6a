import { invalidBody, notFound, PillarboxError } from '../model/errors.ts'
import { ACTIONS, type Action, type NotificationStatus, type NotificationView } from '../model/notification.ts'
import type { ItemRef } from '../model/operation.ts'
import { isSkipReason } from '../model/reason.ts'
import { type Address, addressField, addressOf } from '../model/recipient.ts'
import { asSentTo } from '../model/sent-address.ts'
import type { Suppression } from '../model/suppression.ts'
import { regionOf } from '../model/tenant.ts'
import { noAccount, type Obstacle } from '../plan/compose.ts'
import type { ActRequest } from '../plan/notification-store.ts'
import type { ReplanAnswer } from '../plan/replan.ts'
import type { Rewrite } from '../plan/rewrite.ts'
import type { SkipReport } from '../plan/skip-report.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { Store } from '../store/store.ts'
import type { TenantSnapshots } from '../tenant/snapshots.ts'

/** Plans a notification anew that was born skipped, or parked without content. */
export type Replan = (notification: NotificationView) => Promise<ReplanAnswer>

export interface ActDeps {
  store: Pick<Store, 'notifications' | 'suppressions'>
  snapshots: Pick<TenantSnapshots, 'get' | 'choose'>
  replan: Replan
  rewrite: Rewrite
  skips: SkipReport
  nudge: (topic: WakeTopic) => void
}

export interface NotificationAct extends RetryOptions {
  /** Null: of whichever tenant it is. */
  tenantId: string | null
  id: string
  action: Action
  actor: string
  /** Why, in the actor's own words; kept in the audit. */
  note?: string
  /** The item of an operation that it is part of. */
  item?: ItemRef
  /** Nobody asked for it: it goes out only before its expiry. */
  keepsExpiry?: boolean
}

/** What a retry may ask for; it goes out as it was planned where nothing is. */
export interface RetryOptions {
  /** In the words its event would be told in now. */
  rerender?: boolean
  /** To this address, as another notification; the first one is discarded and linked. */
  to?: Address
  /** Though the address is suppressed. */
  override?: 'suppression'
}

/**
 * Moves a notification by hand. Two callers at once: one moves it, the other is told that it is no longer where it was. A
 * retry resets the count, the time and the error. Answers the notification, or the one that is sent in its place.
 */
export async function actOnNotification(
  deps: ActDeps,
  { tenantId, rerender, to, override, ...given }: NotificationAct,
): Promise<NotificationView> {
  const { store, nudge } = deps
  const { id, action } = given
  const found = await store.notifications.find(tenantId, id)
  if (!found) throw notFound()
  const request: ActRequest = { ...given, tenantId: found.tenantId }
  if (action === 'retry') {
    if (!(ACTIONS.retry.from as readonly NotificationStatus[]).includes(found.status))
      throw refusal(action, found.status)
    if (to && override)
      throw invalidBody([{ path: '/override', message: 'cannot stand beside to: it is for the address there is' }])
    if (to) return correct(deps, found, { request, to, rerender: rerender ?? false })
    if (override) request.overridesSuppression = mayOverride(found)
    else await refuseBanned(deps, found, request, found.to)
    const answer = await replacementFor(deps, found, rerender ?? false)
    if (answer && 'problem' in answer) await stayingSkipped(deps, found, request, answer.problem)
    if (answer) request.replacement = unlessProblem(answer).replacement
    if (request.replacement && !override) await refuseBanned(deps, found, request, request.replacement.to)
  }
  if (action === 'restore' && found.correctedTo !== null)
    throw new PillarboxError(
      'not_discarded',
      `Notification ${found.correctedTo} was sent in its place, to a corrected address: act on that one.`,
    )
  await move(deps, request)
  if (action === 'retry') nudge('dispatch')
  // An operation looks at none of them, and has very many.
  return (given.item ? null : await store.notifications.find(found.tenantId, id)) ?? found
}

/** One that is skipped for another reason by now says so from now on. Whoever retries it is told in any case. */
async function stayingSkipped(
  { store, skips }: ActDeps,
  found: NotificationView,
  request: ActRequest,
  { reason, error }: Obstacle,
): Promise<void> {
  // As planning would say it of a channel that is not used.
  const now = reason === 'invalid_recipient' ? 'no_address' : reason
  if (found.status !== 'skipped' || !isSkipReason(now)) return
  skips.note([{ ...found, stopped: { status: 'skipped', reason: now, error } }])
  if (now === found.reason && error === found.lastError) return
  // The item of an operation is marked by the move that it asks for, and by nothing else.
  const { tenantId, id, action, actor, note } = request
  const obstacle = { reason: now, error }
  await store.notifications.act({ tenantId, id, action, actor, ...(note !== undefined && { note }), obstacle })
}

async function move({ store }: ActDeps, request: ActRequest): Promise<void> {
  const moved = await store.notifications.act(request)
  if (!moved) throw notFound()
  if (moved.twin !== undefined)
    throw new PillarboxError(
      'duplicate_notification',
      `The same was told by notification ${moved.twin} meanwhile; this one is not needed.`,
      { notificationId: moved.twin },
    )
  if (moved.isPassedOver)
    throw new PillarboxError('changed_meanwhile', 'It has moved since it was chosen, or the operation does not run.')
  if (!moved.moved) throw refusal(request.action, moved.from)
}

/** What a retry sends in place of what the notification has; null: it goes out as it is. */
async function replacementFor(
  { snapshots, replan, rewrite }: ActDeps,
  found: NotificationView,
  rerender: boolean,
): Promise<ReplanAnswer | null> {
  if (found.content === null) return replan(found)
  if (rerender) return rewrite.rerender(found)
  return found.accountId === null ? findAccount(found, snapshots) : null
}

/** Discards it, and sends another one to the corrected address in its place. */
async function correct(
  deps: ActDeps,
  found: NotificationView,
  { request, to, rerender }: { request: ActRequest; to: Address; rerender: boolean },
): Promise<NotificationView> {
  const { store, snapshots, rewrite, nudge } = deps
  const { tenantId } = found
  if (found.status === 'skipped' && found.duplicateOf !== null)
    throw invalidBody([
      {
        path: '/to',
        message: `is not for a duplicate: notification ${found.duplicateOf} tells the same; retry that one with to, or discard this one`,
      },
    ])
  if (found.to.list !== undefined)
    throw invalidBody([{ path: '/to', message: 'cannot replace a recipient list: correct its members, then retry' }])
  const own = addressField(found.channel)
  if (to[own] === undefined)
    throw invalidBody([{ path: `/to/${own}`, message: `is required: it is where ${found.channel} is sent to` }])
  const region = regionOf((await snapshots.get(tenantId)).tenant)
  const correction = { to: asSentTo(to, region), rerender, actor: request.actor }
  const corrected = unlessProblem(await rewrite.correct(found, correction))
  const ban = await banOn(deps, corrected)
  if (ban) throw suppressedRefusal(ban, 'To send all the same, use another address')
  await move(deps, { ...request, action: 'discard', correction: corrected })
  nudge('dispatch')
  const view = await store.notifications.find(tenantId, corrected.id)
  if (!view) throw notFound()
  return view
}

/** The members of a list that are suppressed are left out: nobody asked for them one by one. */
function mayOverride({ to }: NotificationView): true {
  if (to.list === undefined) return true
  throw invalidBody([{ path: '/override', message: 'is for one address: lift the suppressions of the list’s members' }])
}

/** The address is banned for a reason: whoever sends to it all the same has to say so. */
async function refuseBanned(deps: ActDeps, found: NotificationView, request: ActRequest, to: Address): Promise<void> {
  const ban = await banOn(deps, { ...found, to })
  if (!ban) return
  await stayingSkipped(deps, found, request, { reason: 'suppressed', error: bannedWords(ban) })
  throw suppressedRefusal(ban, 'To send all the same, retry with override: "suppression"')
}

type SentTo = Pick<NotificationView, 'tenantId' | 'channel' | 'to'>

async function banOn({ store }: ActDeps, { tenantId, channel, to }: SentTo): Promise<Suppression | null> {
  const address = addressOf(channel, to)
  const [ban = null] = address === null ? [] : await store.suppressions.among(tenantId, channel, [address])
  return ban
}

function bannedWords({ cause, createdAt }: Suppression): string {
  return `the address is suppressed (${cause}, since ${new Date(createdAt).toISOString()})`
}

function suppressedRefusal(ban: Suppression, advice: string): PillarboxError {
  return new PillarboxError(
    'address_suppressed',
    `T${bannedWords(ban).slice(1)}; what is sent there may harm your standing with the provider. ${advice}, or lift it: DELETE /api/suppressions/${ban.id}.`,
  )
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

/** What planning answered. Throws `not_plannable` where that is what stands in the way. */
export function unlessProblem<T extends object>(answer: T): Exclude<T, { problem: unknown }> {
  if (!('problem' in answer)) return answer as Exclude<T, { problem: unknown }>
  const { reason, error } = answer.problem as { reason: string; error: string }
  throw new PillarboxError('not_plannable', `${reason}: ${error}`)
}

function refusal(action: Action, status: string): PillarboxError {
  return new PillarboxError(ACT_REFUSALS[action], `The notification is ${status}.`)
}

/** What is said of a notification that does not stand where the act begins. */
export const ACT_REFUSALS = {
  retry: 'not_parked',
  discard: 'not_parked',
  cancel: 'not_waiting',
  park: 'not_waiting',
  restore: 'not_discarded',
} as const satisfies Record<Action, string>
