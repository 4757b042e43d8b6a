import type { Channel } from '../model/channel.ts'
import { type DerivedEvent, derivedId, type StoredEvent } from '../model/event.ts'
import { manualKey, perEntityKey, perEventKey, perOccurrenceKey, skippedKey } from '../model/idempotency.ts'
import type { NewNotification } from '../model/notification.ts'
import type { IdSource } from '../model/ports.ts'
import { isSkipReason } from '../model/reason.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import {
  type Cause,
  type ComposeTools,
  type Composition,
  compose,
  composeAll,
  type Obstacle,
  policyOf,
} from './compose.ts'
import { type DueEvent, eventTime, occurrenceOf } from './due-event.ts'
import { progressOf, type RecipientPart } from './part.ts'
import type { Cancels, EventPlan, SchedulePlan, StandingNotification } from './plan-store.ts'
import type { PreparedRow } from './prepare.ts'
import { type Reached, reachedBy, together, whyUntold } from './reached.ts'
import type { Recipient } from './recipients.ts'
import {
  atEveryAddress,
  type BlockedChannel,
  channelsFor,
  type Route,
  type RouteLimits,
  routesTo,
  targetOf,
} from './routes.ts'

export interface PlanTools extends ComposeTools {
  ids: IdSource
}

/** A plan but for its words: the notifications to be composed, and what the plan is once they are. */
export interface PlanDraft<Plan> {
  compositions: readonly Composition[]
  finish(notifications: NewNotification[]): Plan
}

function withoutWords<Plan>(plan: Plan): PlanDraft<Plan> {
  return { compositions: [], finish: () => plan }
}

/** A new event's plan. All it needs was prepared, but for the words. */
export function draftEvent(
  tools: { ids: IdSource; sealing: Pick<PayloadSeal, 'sealedFor'> },
  { event, context, judgement }: PreparedRow,
): PlanDraft<EventPlan> {
  if (judgement.kind === 'later' || judgement.kind === 'ready') return withoutWords({ kind: 'later' })
  if (judgement.kind === 'failed')
    return withoutWords({ kind: 'failed', reason: judgement.reason, error: judgement.error })
  if (judgement.kind === 'derive') {
    const events = judgement.types.map((type) => derivedEvent(tools.sealing, event, type))
    return withoutWords({ kind: 'derive', events })
  }
  const scheduleId = tools.ids()
  const replaces = context.eventType?.replaces ?? false
  const cancels: Cancels | null =
    replaces || context.cancels.length > 0 ? { eventTypes: context.cancels, replaces } : null
  switch (judgement.kind) {
    case 'wait': {
      const { dueAt, needsApproval } = judgement
      return withoutWords({ kind: 'schedule', scheduleId, dueAt, needsApproval, cancels })
    }
    case 'cancelled':
      return withoutWords({ ...cancelled(judgement), scheduleId, cancels })
    case 'no_delivery':
      return withoutWords({ kind: 'notifications', scheduleId, notifications: [], cancels })
    case 'tell': {
      const { due, calledOff } = judgement
      return {
        compositions: partOf(tools, scheduleId, judgement),
        finish(notifications) {
          if (calledOff) return { ...cancelled(calledOff), notifications, scheduleId, cancels }
          const untold = whyUntold(due, reachedWith(judgement, notifications))
          return { kind: 'notifications', scheduleId, notifications, untold, cancels }
        },
      }
    }
  }
}

/** One of the events that a domain event becomes: all it says, of a type of its own, at the same time. */
function derivedEvent(sealing: Pick<PayloadSeal, 'sealedFor'>, event: StoredEvent, type: string): DerivedEvent {
  const id = derivedId(event.id, type)
  const { tenantId, entity, dueAt, correlationId, topic, locale, recipients, channels, conversation } = event
  const { schemaVersion, publishedBy } = event
  return {
    id,
    tenantId,
    type,
    entity,
    payload: sealing.sealedFor(id, event),
    occurredAt: eventTime(event),
    dueAt,
    correlationId,
    traceparent: event.traceparent ?? null,
    topic,
    locale,
    recipients,
    channels,
    conversation,
    schemaVersion,
    publishedBy,
    derivedFrom: event.id,
  }
}

/** The plan of a schedule whose time has come. */
export function draftSchedule(tools: { ids: IdSource }, { schedule, judgement }: PreparedRow): PlanDraft<SchedulePlan> {
  switch (judgement.kind) {
    case 'later':
    case 'ready':
    case 'wait':
    case 'derive':
      return withoutWords({ kind: 'later' })
    case 'failed':
      return withoutWords({ kind: 'failed', reason: judgement.reason, error: judgement.error })
    case 'cancelled':
      return withoutWords(cancelled(judgement))
    case 'no_delivery':
      return withoutWords({ kind: 'notifications', notifications: [] })
    case 'tell': {
      const { due, part, calledOff } = judgement
      const progress = schedule?.progress ?? null
      // The last part, too, is written as a part, so that the progress ends where it should; then it is completed.
      const isWhole = progress === null ? part.isLast : part.isLast && part.taken === 0
      return {
        compositions: partOf(tools, schedule?.id ?? null, judgement),
        finish(notifications) {
          const reached = reachedWith(judgement, notifications)
          if (!isWhole) return { kind: 'part', notifications, progress: progressOf(progress, part, reached) }
          if (calledOff) return { ...cancelled(calledOff), notifications }
          return { kind: 'notifications', notifications, untold: whyUntold(due, reached) }
        },
      }
    }
  }
}

function cancelled({ reason, error }: Obstacle): Extract<SchedulePlan, { kind: 'cancelled' }> {
  return { kind: 'cancelled', reason, error }
}

/** What an event's notifications have in common, beside the event itself. */
export interface EventCause {
  due: DueEvent
  scheduleId: string | null
  /** When it was to be told, from which its expiry counts. */
  dueAt: number
  /** A resend by hand; absent for what the event itself leads to. */
  manual?: { requestId: string; actor: string }
  limits?: RouteLimits
  /** The notifications that stand already, where it was planned before. */
  standing?: readonly StandingNotification[]
  /** Why nobody is to be told, on any channel. */
  calledOff?: Obstacle | null
}

type ToldRow = Extract<PreparedRow['judgement'], { kind: 'tell' }>

/** What a part of an event's recipients is told. */
function partOf(
  tools: { ids: IdSource },
  scheduleId: string | null,
  { due, dueAt, part, standing, bans, calledOff }: ToldRow,
): Composition[] {
  return compositionsOf(tools, { due, dueAt, scheduleId, standing, calledOff, limits: { bans } }, part)
}

/** How far this part and those before it came. */
function reachedWith({ part, standing }: ToldRow, notifications: readonly NewNotification[]): Reached {
  // Where all that there was to tell was given up by hand, nothing is left undone.
  if (notifications.length === 0 && standing.some(({ status }) => status === 'discarded')) return 'told'
  return together(part.next.reached, reachedBy(notifications, part.recipients.length + part.stopped.length))
}

/**
 * An event that is due, as notifications: one for each recipient and channel, but for the channels that a chain still
 * holds. What cannot be sent is skipped, or parked where somebody has to look, and says why: so that nothing vanishes.
 */
export async function planNotifications(
  tools: PlanTools,
  cause: EventCause,
  part: Pick<RecipientPart, 'recipients' | 'stopped'>,
): Promise<NewNotification[]> {
  return composeAll(tools, compositionsOf(tools, cause, part))
}

function compositionsOf(
  tools: { ids: IdSource },
  cause: EventCause,
  { recipients, stopped }: Pick<RecipientPart, 'recipients' | 'stopped'>,
): Composition[] {
  const first = createFirstTold()
  return [
    ...stopped.map(({ recipient, ...obstacle }) => blocked(tools, cause, recipient, { channel: 'email', obstacle })),
    ...recipients.flatMap((named) => {
      const recipient = atEveryAddress(cause.due, named)
      return routesOf(cause, recipient).map((route) => {
        if ('obstacle' in route) return blocked(tools, cause, recipient, route)
        const composition = onRoute(tools, cause, recipient, route)
        const twin = first(recipient, composition)
        return twin === null ? composition : repeated(tools, cause, recipient, route, twin)
      })
    }),
  ]
}

function routesOf(cause: EventCause, recipient: Recipient): (Route | BlockedChannel)[] {
  const { due, limits, calledOff, standing = [] } = cause
  const { channels = channelsFor(due) } = limits ?? {}
  // A channel that an operator gave up for somebody is not asked for any more: a chain goes on without it.
  const asked = channels.filter((channel) => !standing.some((one) => isGivenUp(one, recipient, channel)))
  if (calledOff) return asked.map((channel) => ({ channel, obstacle: calledOff }))
  return routesTo(due, recipient, { ...limits, channels: asked })
}

function isGivenUp({ place, channel, status }: StandingNotification, recipient: Recipient, asked: Channel): boolean {
  return status === 'discarded' && place === recipient.place && channel === asked
}

/**
 * Which notification told somebody first on a channel; null for the first itself. The same person, named twice or once
 * by phone and once by email and completed by their contact, is told once at each address. Two people who share an
 * address are told each.
 */
function createFirstTold(): (recipient: Recipient, composition: Composition) => string | null {
  const told = new Map<string, string>()
  return ({ key, contactId, address }, { id, channel }) => {
    const names = [`key ${channel} ${key}`]
    if (contactId !== null) names.push(`contact ${channel} ${contactId} ${targetOf(channel, address)}`)
    const twin = names.flatMap((name) => told.get(name) ?? [])[0] ?? null
    if (twin === null) for (const name of names) told.set(name, id)
    return twin
  }
}

function onRoute(tools: { ids: IdSource }, cause: EventCause, recipient: Recipient, route: Route): Composition {
  const { channel, template, account, fallback } = route
  // Words are sealed for the notification that they are of.
  const own = cause.standing?.find((one) => one.place === recipient.place && one.channel === channel)
  return {
    id: own?.id ?? tools.ids(),
    key: keyFor(cause, recipient, channel, template.id),
    recipient: placed(cause, recipient),
    words: { kind: 'template', template, message: cause.due },
    channel,
    account,
    cause: causeOf(cause),
    fallback,
    // What was called off for a time and is on again for the same is told, unless somebody has heard of it.
    followsCancelled: cause.due.type.once === 'per-occurrence' && !cause.manual,
  }
}

/** Born parked where its template cannot be rendered. */
export async function composeRoute(
  tools: PlanTools,
  cause: EventCause,
  recipient: Recipient,
  route: Route,
  id: string,
): Promise<NewNotification> {
  return compose(tools, { ...onRoute(tools, cause, recipient, route), id })
}

function repeated(
  tools: { ids: IdSource },
  cause: EventCause,
  recipient: Recipient,
  { channel, fallback }: Route,
  twin: string,
): Composition {
  const obstacle: Obstacle = { reason: 'duplicate', error: `Notification ${twin} tells the same already` }
  return { ...blocked(tools, cause, recipient, { channel, obstacle }), fallback, duplicateOf: twin }
}

function blocked(
  tools: { ids: IdSource },
  cause: EventCause,
  recipient: Recipient,
  { channel, obstacle }: BlockedChannel,
): Composition {
  const { event, warnings } = cause.due
  const { place } = recipient
  return {
    id: tools.ids(),
    key:
      isSkipReason(obstacle.reason) && place !== null
        ? skippedKey({ eventId: event.id, place, channel })
        : keyFor(cause, recipient, channel, obstacle.reason),
    recipient: placed(cause, recipient),
    words: { kind: 'obstacle', obstacle },
    channel,
    account: null,
    cause: causeOf(cause),
    warnings,
  }
}

/** What is sent again by hand takes no place of what the event was planned as. */
function placed({ manual }: EventCause, recipient: Recipient): Recipient {
  return manual ? { ...recipient, place: null } : recipient
}

function causeOf({ due: { event, type }, scheduleId, dueAt, manual }: EventCause): Cause {
  return {
    tenantId: event.tenantId,
    eventId: event.id,
    eventType: event.type,
    scheduleId,
    entity: event.entity,
    correlationId: event.correlationId,
    traceparent: event.traceparent ?? null,
    triggeredBy: manual?.actor ?? 'system',
    policy: policyOf(type),
    wantedAt: manual ? null : Math.max(dueAt, event.createdAt),
    // Somebody who sends it again by hand wants it sent.
    expiresAt: manual || type.expiresAfterMs === null ? null : dueAt + type.expiresAfterMs,
  }
}

/** One row per key (P2): the entity, the event or the entity at its due time, the channel, the template and, where there are several, who. */
function keyFor(
  { due: { event, type, tenant, audience }, manual }: Pick<EventCause, 'due' | 'manual'>,
  recipient: Pick<Recipient, 'key'>,
  channel: Channel,
  templateId: string,
): string {
  const parts = {
    channel,
    templateId,
    eventType: event.type,
    ...(audience.isSeveral ? { recipient: recipient.key } : {}),
  }
  if (manual) return manualKey({ ...parts, entityId: event.entity.id, requestId: manual.requestId })
  const { id: entityId } = event.entity
  switch (type.once) {
    case 'per-entity':
      return perEntityKey({ ...parts, entityId })
    case 'per-event':
      return perEventKey({ ...parts, eventId: event.id })
    case 'per-occurrence':
      return perOccurrenceKey({ ...parts, entityId, at: occurrenceOf({ event, type, tenant }) })
  }
}
