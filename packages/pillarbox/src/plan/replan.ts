import type { NewNotification, NotificationView } from '../model/notification.ts'
import type { Reason, StoredReason } from '../model/reason.ts'
import type { Store } from '../store/store.ts'
import type { Obstacle } from './compose.ts'
import { conversationOf, type DueEvent } from './due-event.ts'
import type { EventBook } from './event-book.ts'
import type { ActRequest } from './notification-store.ts'
import { BEGINNING, PART_RECIPIENTS, type RecipientPart, takePart, unaddressed } from './part.ts'
import type { PeopleBook } from './people.ts'
import { composeRoute, type EventCause, keyFor, NOBODY, type PlanTools, planNotifications } from './plan-event.ts'
import type { Recipient } from './recipients.ts'
import { atEveryAddress, isChain, malformedAddress, routesTo } from './routes.ts'

export interface ReplanDeps extends PlanTools {
  store: Pick<Store, 'notifications' | 'lists'>
  events: EventBook
  people: PeopleBook
}

/** What a notification that was born parked can be sent with now, or what still stands in the way. */
export type ReplanAnswer = { replacement: Replacement } | { problem: Obstacle }
export type Replacement = NonNullable<ActRequest['replacement']>

/** Those that stopped a recipient altogether; any other is of one channel, and the rest may have gone out. */
const OF_ALL_CHANNELS: readonly (StoredReason | null)[] = [
  'no_templates_found',
  'no_active_channels',
  'no_recipient',
  'list_not_found',
  'list_empty',
] satisfies Reason[]

/**
 * Plans a notification anew that was born parked: recipient, channel, account, template and words as they are now, with
 * every channel its event type allows. Where it turns out to be several notifications by now, the others are written
 * here, under the keys planning would give them.
 */
export async function replan(deps: ReplanDeps, notification: NotificationView): Promise<ReplanAnswer> {
  const { tenantId, eventId, isScrubbed, reason, channel, scheduleId, createdAt, expiresAt } = notification
  if (isScrubbed) return problem('content_scrubbed', 'its content held secrets and was removed when it was final')
  if (eventId === null) return problem('invalid_event', 'it has neither words nor an event to make them from')
  const due = await deps.events.open(tenantId, eventId)
  if ('kind' in due) return problem(due.reason, due.error)
  const limits = isChain(due) || OF_ALL_CHANNELS.includes(reason) ? {} : { channels: [channel] }
  const found = await recipientsOf(deps, due, notification)
  if ('reason' in found) return problem(found.reason, found.error)
  const { recipients, stopped } = found

  const cause: EventCause = { due, dueAt: createdAt, scheduleId, limits }
  const others: NewNotification[] = []
  let replacement: Replacement | null = null
  let obstacle: Obstacle = stopped[0] ?? NOBODY
  for (const recipient of recipients) {
    if (replacement) {
      others.push(...planNotifications(deps, cause, { recipients: [recipient], stopped: [] }))
      continue
    }
    const replaced = replace(deps, cause, recipient, notification.id)
    if ('reason' in replaced) obstacle = replaced
    else {
      replacement = replaced.replacement
      others.push(...replaced.others)
    }
  }
  if (!replacement) return problem(obstacle.reason, obstacle.error)
  others.push(...planNotifications(deps, cause, { recipients: [], stopped }))
  if (others.length > 0) await deps.store.notifications.insert(others.map((other) => ({ ...other, expiresAt })))
  return { replacement }
}

function problem(reason: Reason, error: string): ReplanAnswer {
  return { problem: { reason, error } }
}

/** Whom a notification is for: whoever it names, or where it names nobody, whomever the event names now. */
async function recipientsOf(
  { store, events, people }: ReplanDeps,
  due: DueEvent,
  notification: NotificationView,
): Promise<Pick<RecipientPart, 'recipients' | 'stopped'> | Obstacle> {
  const { to, tenantId, reason } = notification
  const recognised = async (recipients: readonly Recipient[]): Promise<Recipient[]> =>
    (await people.recognise([{ tenantId, conversation: conversationOf(due), recipients }])).flat()
  const isForList = reason === 'list_not_found' || reason === 'list_empty'
  const namesSomebody = Object.keys(to).some((field) => field !== 'name')
  if (namesSomebody && !isForList) return { recipients: [await events.recipientOf(due, notification)], stopped: [] }
  const own = due.audience.at(placeOf(due, notification))
  if (own && 'nobodyAt' in own) return unaddressed(own.nobodyAt)
  if (own && 'recipient' in own) return { recipients: await recognised([own.recipient]), stopped: [] }
  const part = await takePart(due, BEGINNING, PART_RECIPIENTS, store.lists)
  const lists = part.stopped.find((stopped) => stopped.reason !== 'no_recipient')
  if (lists) return { reason: lists.reason, error: lists.error }
  if (!part.isLast)
    return {
      reason: 'no_recipient',
      error: `the event has ${part.total} recipients by now, too many to be planned here; publish it again`,
    }
  return { recipients: await recognised(part.recipients), stopped: part.stopped }
}

/** The element of the payload that it was parked for, because that had no address; beyond the last where it was not. */
function placeOf(due: DueEvent, { idempotencyKey, channel }: NotificationView): number {
  const { audience } = due
  for (let place = 0; place < audience.size; place++) {
    const where = audience.where(place)
    if (where === null) continue
    const { recipient, reason } = unaddressed(where)
    if (keyFor({ due }, recipient, channel, reason) === idempotencyKey) return place
  }
  return audience.size
}

/** The first route that has words becomes the notification itself; the others are told beside it, or are its chain. */
function replace(
  tools: PlanTools,
  cause: EventCause,
  named: Recipient,
  id: string,
): { replacement: Replacement; others: NewNotification[] } | Obstacle {
  const { due, limits } = cause
  const recipient = atEveryAddress(due, named)
  const routes = routesTo(due, recipient, limits)
  if ('reason' in routes) return routes
  const [malformed] = routes.malformed
  let obstacle: Obstacle = malformed
    ? malformedAddress(malformed, recipient.address)
    : { reason: 'no_recipient', error: 'there is no address to send to' }
  for (const [i, route] of routes.usable.entries()) {
    const rest = routes.usable.slice(i + 1)
    const fallback = isChain(due) ? rest.map((next) => next.channel) : []
    const composed = composeRoute(tools, cause, recipient, route, { id, fallback })
    const { content, parked } = composed
    if (parked || !content) {
      obstacle = { reason: 'render_failed', error: `${route.channel}: ${parked?.error}` }
      continue
    }
    return {
      replacement: { ...composed, content, accountId: route.account.id, provider: route.account.provider },
      others: isChain(due) ? [] : rest.map((next) => composeRoute(tools, cause, recipient, next)),
    }
  }
  return obstacle
}
