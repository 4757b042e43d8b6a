import type { Channel } from '../model/channel.ts'
import type { NewNotification, NotificationView } from '../model/notification.ts'
import type { Reason, StoredReason } from '../model/reason.ts'
import type { ReplanAnswer } from '../operate/act.ts'
import type { Store } from '../store/store.ts'
import { conversationOf, type DueEvent } from './due-event.ts'
import type { EventBook } from './event-book.ts'
import { BEGINNING, PART_RECIPIENTS, takePart, unaddressed } from './part.ts'
import type { Addressee, PeopleBook } from './people.ts'
import {
  type Assignment,
  type Crowd,
  keyFor,
  type PlanTools,
  planNotifications,
  tell,
  wrongForm,
} from './plan-event.ts'
import type { Recipient } from './recipients.ts'
import { atEveryAddress, isChain, type Obstacle, type Wish, waysTo, wordsFor } from './words.ts'

export interface ReplanDeps extends PlanTools {
  store: Pick<Store, 'notifications' | 'lists'>
  events: EventBook
  people: PeopleBook
}

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
 * here, under the keys planning would give them. Answers what still stands in the way where it cannot be sent yet.
 */
export async function replan(deps: ReplanDeps, notification: NotificationView): Promise<ReplanAnswer> {
  const { tenantId, eventId, isScrubbed, reason, channel, scheduleId, createdAt } = notification
  if (isScrubbed) return problem('content_scrubbed', 'its content held secrets and was removed when it was final')
  if (eventId === null) return problem('invalid_event', 'it has neither words nor an event to make them from')
  const due = await deps.events.open(tenantId, eventId)
  if ('kind' in due) return problem(due.reason, due.error)
  const wish: Wish = isChain(due) || OF_ALL_CHANNELS.includes(reason) ? {} : { channels: [channel] }
  const crowd = await crowdOf(deps, due, notification)
  if ('reason' in crowd) return problem(crowd.reason, crowd.error)
  const { addressees, stopped } = crowd

  const assignment: Assignment = { due, dueAt: createdAt, scheduleId, manual: null, wish, tools: deps }
  const others: NewNotification[] = []
  let replacement: Replacement | null = null
  let obstacle: Obstacle = stopped[0] ?? {
    reason: 'no_recipient',
    error: 'the event names no recipient with an address',
  }
  for (const addressee of addressees) {
    if (replacement) {
      others.push(...planNotifications(assignment, { addressees: [addressee], stopped: [] }))
      continue
    }
    const found = replace(assignment, addressee, notification.id)
    if ('reason' in found) obstacle = found
    else {
      replacement = found.replacement
      others.push(...found.others)
    }
  }
  if (!replacement) return problem(obstacle.reason, obstacle.error)
  others.push(...planNotifications(assignment, { addressees: [], stopped }))
  const { expiresAt } = notification
  if (others.length > 0) await deps.store.notifications.insert(others.map((other) => ({ ...other, expiresAt })))
  return { replacement }
}

type Replacement = Extract<ReplanAnswer, { replacement: unknown }>['replacement']

function problem(reason: Reason, error: string): ReplanAnswer {
  return { problem: { reason, error } }
}

/** Whom it is for: whoever it names, or where it names nobody, whomever the event names now. */
async function crowdOf(
  { store, events, people }: ReplanDeps,
  due: DueEvent,
  notification: NotificationView,
): Promise<Crowd | Obstacle> {
  const { to, tenantId, reason } = notification
  const conversation = conversationOf(due)
  const recognised = async (recipients: readonly Recipient[]): Promise<Addressee[]> =>
    await people.recognise(recipients.map((recipient) => ({ tenantId, recipient, conversation })))
  const isForList = reason === 'list_not_found' || reason === 'list_empty'
  const namesSomebody = Object.keys(to).some((field) => field !== 'name')
  if (namesSomebody && !isForList) return { addressees: [await events.addresseeOf(due, notification)], stopped: [] }
  const own = due.audience.at(placeOf(due, notification))
  if (own && 'nobodyAt' in own) return unaddressed(own.nobodyAt)
  if (own && 'recipient' in own) return { addressees: await recognised([own.recipient]), stopped: [] }
  const part = await takePart(due, BEGINNING, PART_RECIPIENTS, store.lists)
  const lists = part.stopped.find((stopped) => stopped.reason !== 'no_recipient')
  if (lists) return { reason: lists.reason, error: lists.error }
  if (!part.isLast)
    return {
      reason: 'no_recipient',
      error: `the event has ${part.total} recipients by now, too many to be planned here; publish it again`,
    }
  return { addressees: await recognised(part.recipients), stopped: part.stopped }
}

/** The element of the payload that it was parked for, because that had no address; beyond the last where it was not. */
function placeOf(due: DueEvent, { idempotencyKey, channel }: NotificationView): number {
  const { audience } = due
  for (let place = 0; place < audience.size; place++) {
    const where = audience.where(place)
    if (where === null) continue
    const { recipient, reason } = unaddressed(where)
    if (keyFor({ due, manual: null }, recipient, channel, reason) === idempotencyKey) return place
  }
  return audience.size
}

/** The first way that has words becomes the notification itself; the others are told beside it, or are its chain. */
function replace(
  assignment: Assignment,
  given: Addressee,
  notificationId: string,
): { replacement: Replacement; others: NewNotification[] } | Obstacle {
  const { due, wish, tools } = assignment
  const addressee = atEveryAddress(due, given)
  const ways = waysTo(due, addressee, wish)
  if ('reason' in ways) return ways
  const [firstUnusable] = ways.unusable
  let obstacle: Obstacle | null = firstUnusable === undefined ? null : wrongForm(firstUnusable)
  for (const [i, way] of ways.usable.entries()) {
    const words = wordsFor(tools, due, addressee, way, notificationId)
    if ('error' in words) {
      obstacle = { reason: 'render_failed', error: `${way.channel}: ${words.error}` }
      continue
    }
    const { channel, template, account } = way
    const rest = ways.usable.slice(i + 1)
    const fallback: Channel[] = isChain(due) ? rest.map((next) => next.channel) : []
    return {
      replacement: {
        channel,
        accountId: account.id,
        provider: account.provider,
        to: addressee.address,
        content: words.content,
        warnings: words.warnings,
        templateId: template.id,
        templateVersion: template.version,
        locale: template.locale,
        fallback,
        idempotencyKey: keyFor(assignment, addressee, channel, template.id),
      },
      others: isChain(due) ? [] : rest.map((next) => tell(assignment, addressee, next)),
    }
  }
  return obstacle ?? { reason: 'no_recipient', error: 'there is no address to send to' }
}
