import {
  type NewNotification,
  type NotificationStatus,
  type NotificationView,
  wordsOfFirst,
} from '../model/notification.ts'
import type { Store } from '../store/store.ts'
import { type Obstacle, problem } from './compose.ts'
import { conversationOf, type DueEvent } from './due-event.ts'
import type { EventBook } from './event-book.ts'
import type { ActRequest } from './notification-store.ts'
import { BEGINNING, PART_RECIPIENTS, takePart } from './part.ts'
import type { PeopleBook } from './people.ts'
import { composeRoute, type EventCause, type PlanTools, planNotifications } from './plan-event.ts'
import type { StandingNotification } from './plan-store.ts'
import { noRecipient, type Recipient } from './recipients.ts'
import { atEveryAddress, eachChannel, isChain, type Route, routesTo } from './routes.ts'
import type { SkipReport } from './skip-report.ts'

export interface ReplanDeps extends PlanTools {
  store: Pick<Store, 'notifications' | 'lists' | 'plan'>
  events: EventBook
  people: PeopleBook
  skips: SkipReport
}

/** What a notification that was born stopped can be sent with now, or what still stands in the way. */
export type ReplanAnswer = { replacement: Replacement } | { problem: Obstacle }
export type Replacement = NonNullable<ActRequest['replacement']>

/**
 * Plans a notification anew that was born skipped or parked, on its channel: recipient, account, template and words as
 * they are now. One that stands for a recipient list becomes that of the first member; the others' are written here,
 * under the keys planning would give them.
 */
export async function replan(deps: ReplanDeps, notification: NotificationView): Promise<ReplanAnswer> {
  const { tenantId, eventId, isScrubbed, reason, scheduleId, createdAt } = notification
  if (isScrubbed) return problem('content_scrubbed', 'its content held secrets and was removed when it was final')
  if (eventId === null) return problem('invalid_event', 'it has neither words nor an event to make them from')
  const first = await originalOf(deps, notification)
  if (first) return problem('duplicate', `${wordsOfFirst(first)}; resend it by hand`)
  const due = await deps.events.open(tenantId, eventId)
  if ('kind' in due) return problem(due.reason, due.error)
  const taker = await takerOf(deps, due, notification)
  if (taker)
    return problem(
      'duplicate',
      `the chain has gone on: notification ${taker.id} on ${taker.channel} is ${taker.status}; resend by hand to tell them on ${notification.channel}, too`,
    )
  const cause: EventCause = { due, dueAt: createdAt, scheduleId }
  if (reason === 'list_not_found' || reason === 'list_empty') return replanList(deps, cause, notification)
  const recipient = atEveryAddress(due, await recipientOf(deps, due, notification))
  const [route] = eachChannel(due, recipient, { channels: [notification.channel] })
  if (!route) return problem('no_recipient', 'the event has no such channel')
  if ('obstacle' in route) return { problem: route.obstacle }
  return replacedBy(deps, cause, recipient, { ...route, fallback: notification.fallback }, notification.id)
}

/** The notification that it repeats; null where there is none, or none any more. */
async function originalOf(
  { store }: ReplanDeps,
  { tenantId, duplicateOf }: NotificationView,
): Promise<NotificationView | null> {
  return duplicateOf === null ? null : store.notifications.find(tenantId, duplicateOf)
}

/** What a chain that passed this one over is telling, or has told, the same recipient with; null where nothing is. */
async function takerOf(
  { store }: ReplanDeps,
  due: DueEvent,
  { id, tenantId, place }: NotificationView,
): Promise<StandingNotification | null> {
  if (!isChain(due) || place === null) return null
  const { id: eventId, entity } = due.event
  const [standing = []] = await store.plan.standing([{ tenantId, eventId, entity, places: [place] }])
  const isGivenUp = new Set<NotificationStatus>(['skipped', 'parked', 'failed', 'discarded', 'cancelled'])
  return standing.find((one) => one.id !== id && !isGivenUp.has(one.status)) ?? null
}

/** Whom a notification is for: whoever it names, or where it names nobody, who is at its place of the event now. */
async function recipientOf(
  { store, events, people }: ReplanDeps,
  due: DueEvent,
  notification: NotificationView,
): Promise<Recipient> {
  const { to, place } = notification
  if (Object.keys(to).some((field) => field !== 'name')) return events.recipientOf(due, notification)
  const [recipient] = await recognised(people, due, place === null ? [] : await namedAt(store.lists, due, place))
  return recipient ?? { ...noRecipient, place }
}

/** Who is at a place of the event: the one that is named there, or of an expanded list, whose place is `0/7`, a member. */
async function namedAt(lists: Store['lists'], due: DueEvent, place: string): Promise<Recipient[]> {
  const [at, memberId] = place.split('/').map(Number)
  if (at === undefined) return []
  const from = { ...BEGINNING, place: at, after: memberId === undefined ? null : String(memberId - 1) }
  const { recipients } = await takePart(due, from, 1, lists)
  return recipients.filter((recipient) => recipient.place === place)
}

async function recognised(people: PeopleBook, due: DueEvent, recipients: readonly Recipient[]): Promise<Recipient[]> {
  const { tenantId } = due
  return (await people.recognise([{ tenantId, conversation: conversationOf(due), recipients }])).flat()
}

async function replacedBy(
  tools: PlanTools,
  cause: EventCause,
  recipient: Recipient,
  route: Route,
  id: string,
): Promise<ReplanAnswer> {
  const composed = await composeRoute(tools, cause, recipient, route, id)
  const { content, stopped } = composed
  if (stopped || !content) return problem('render_failed', `${route.channel}: ${stopped?.error}`)
  const { id: accountId, provider } = route.account
  return { replacement: { ...composed, content, accountId, provider } }
}

/** Everybody on the list by now; whoever can be told first takes the place of the list. */
async function replanList(deps: ReplanDeps, cause: EventCause, { id }: NotificationView): Promise<ReplanAnswer> {
  const { due } = cause
  const part = await takePart(due, BEGINNING, PART_RECIPIENTS, deps.store.lists)
  const [missing] = part.stopped
  if (missing) return { problem: missing }
  if (!part.isLast)
    return problem(
      'no_recipient',
      `the event has ${part.total} recipients by now, too many to be planned here; publish it again`,
    )
  const others: NewNotification[] = []
  let answer: ReplanAnswer = problem('no_recipient', 'nobody on it has an address')
  for (const named of await recognised(deps.people, due, part.recipients)) {
    const recipient = atEveryAddress(due, named)
    const all = routesTo(due, recipient)
    const first = 'replacement' in answer ? undefined : all.find((route) => 'template' in route)
    if (first) answer = await replacedBy(deps, cause, recipient, first, id)
    const replaced = 'replacement' in answer ? first?.channel : undefined
    const channels = all.map(({ channel }) => channel).filter((channel) => channel !== replaced)
    others.push(
      ...(await planNotifications(deps, { ...cause, limits: { channels } }, { recipients: [recipient], stopped: [] })),
    )
  }
  if ('replacement' in answer && others.length > 0) {
    const written = await deps.store.notifications.insert(others.map((other) => ({ ...other, expiresAt: null })))
    deps.skips.note(others.filter((_, i) => written[i]?.duplicate === false))
  }
  return answer
}
