import type { Channel } from '../model/channel.ts'
import { type DerivedEvent, derivedId, type StoredEvent } from '../model/event.ts'
import { manualKey, perEntityKey, perEventKey, perOccurrenceKey } from '../model/idempotency.ts'
import type { NewNotification } from '../model/notification.ts'
import type { IdSource } from '../model/ports.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import { type Cause, type ComposeTools, compose, type Obstacle, policyOf, type WordsSource } from './compose.ts'
import { type DueEvent, eventTime, occurrenceOf } from './due-event.ts'
import { progressOf, type RecipientPart } from './part.ts'
import type { Cancels, EventPlan, SchedulePlan } from './plan-store.ts'
import type { PreparedRow } from './prepare.ts'
import type { Recipient } from './recipients.ts'
import {
  atEveryAddress,
  channelsFor,
  isChain,
  malformedAddress,
  type Route,
  type RouteLimits,
  routesTo,
  targetOf,
} from './routes.ts'

export interface PlanTools extends ComposeTools {
  ids: IdSource
}

/** A new event's plan. Asks nobody anything: all it needs was prepared. */
export function planEvent(
  tools: PlanTools & { sealing: Pick<PayloadSeal, 'sealedFor'> },
  { event, context, judgement }: PreparedRow,
): EventPlan {
  if (judgement.kind === 'later' || judgement.kind === 'ready') return { kind: 'later' }
  if (judgement.kind === 'failed') return { kind: 'failed', reason: judgement.reason, error: judgement.error }
  if (judgement.kind === 'derive')
    return { kind: 'derive', events: judgement.types.map((type) => derivedEvent(tools.sealing, event, type)) }
  const scheduleId = tools.ids()
  const replaces = context.eventType?.replaces ?? false
  const cancels: Cancels | null =
    replaces || context.cancels.length > 0 ? { eventTypes: context.cancels, replaces } : null
  switch (judgement.kind) {
    case 'wait':
      return { kind: 'schedule', scheduleId, dueAt: judgement.dueAt, needsApproval: judgement.needsApproval, cancels }
    case 'cancelled':
      return { kind: 'cancelled', scheduleId, reason: judgement.reason, error: judgement.error, cancels }
    case 'no_delivery':
      return { kind: 'notifications', scheduleId, notifications: [], cancels }
    case 'tell': {
      const { due, dueAt, part } = judgement
      return {
        kind: 'notifications',
        scheduleId,
        notifications: tellPart(tools, { due, dueAt, scheduleId }, part),
        cancels,
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
export function planSchedule(tools: PlanTools, { schedule, judgement }: PreparedRow): SchedulePlan {
  switch (judgement.kind) {
    case 'later':
    case 'ready':
    case 'wait':
    case 'derive':
      return { kind: 'later' }
    case 'failed':
    case 'cancelled':
      return { kind: judgement.kind, reason: judgement.reason, error: judgement.error }
    case 'no_delivery':
      return { kind: 'notifications', notifications: [] }
    case 'tell': {
      const { due, dueAt, part } = judgement
      const notifications = tellPart(tools, { due, dueAt, scheduleId: schedule?.id ?? null }, part)
      const progress = schedule?.progress ?? null
      // The last part, too, is written as a part, so that the progress ends where it should; then it is completed.
      const isWhole = progress === null ? part.isLast : part.isLast && part.taken === 0
      return isWhole
        ? { kind: 'notifications', notifications }
        : { kind: 'part', notifications, progress: progressOf(progress, part) }
    }
  }
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
}

/** The notifications of a part of an event's recipients; one that says so where the event turned out to be for nobody. */
export function tellPart(tools: PlanTools, cause: EventCause, part: RecipientPart): NewNotification[] {
  if (part.isLast && part.next.found === 0) return [composeStopped(tools, cause, null, NOBODY)]
  return planNotifications(tools, cause, part)
}

export const NOBODY: Obstacle = { reason: 'no_recipient', error: 'the event names no recipient with an address' }

/**
 * An event that is due, as notifications: recipients × channels × templates. What cannot be sent becomes a parked
 * notification that says why, so that nothing vanishes.
 */
export function planNotifications(
  tools: PlanTools,
  cause: EventCause,
  { recipients, stopped }: Pick<RecipientPart, 'recipients' | 'stopped'>,
): NewNotification[] {
  const planned = stopped.map(({ recipient, ...obstacle }) => composeStopped(tools, cause, recipient, obstacle))
  const keys = new Set<string>()
  const targets = new Set<string>()
  // The same person, named by phone and by email, each completed by the other, is told once at each address. Two people
  // who share an address are told each.
  const isRepeated = ({ contactId, address }: Recipient, channel: Channel): boolean =>
    contactId !== null && !isAdded(targets, `${contactId} ${channel} ${targetOf(channel, address)}`)
  for (const recipient of recipients)
    if (isAdded(keys, recipient.key)) planned.push(...planRecipient(tools, cause, recipient, isRepeated))
  return planned
}

function planRecipient(
  tools: PlanTools,
  cause: EventCause,
  named: Recipient,
  isRepeated: (recipient: Recipient, channel: Channel) => boolean,
): NewNotification[] {
  const { due, limits } = cause
  const recipient = atEveryAddress(due, named)
  const routes = routesTo(due, recipient, limits)
  if ('reason' in routes) return [composeStopped(tools, cause, recipient, routes)]
  const malformed = routes.malformed.map((channel) =>
    composeStopped(tools, cause, recipient, malformedAddress(channel, recipient.address), channel),
  )
  if (!isChain(due)) {
    const fresh = routes.usable.filter(({ channel }) => !isRepeated(recipient, channel))
    return [...fresh.map((route) => composeRoute(tools, cause, recipient, route)), ...malformed]
  }
  // A chain starts with its first channel that can be used and carries the rest.
  const [start, ...rest] = routes.usable
  if (!start) return malformed.slice(0, 1)
  if (isRepeated(recipient, start.channel)) return []
  return [composeRoute(tools, cause, recipient, start, { fallback: rest.map(({ channel }) => channel) })]
}

function isAdded(set: Set<string>, value: string): boolean {
  const size = set.size
  return set.add(value).size > size
}

/** One notification on one route; born parked where its template cannot be rendered. */
export function composeRoute(
  tools: PlanTools,
  cause: EventCause,
  recipient: Recipient,
  { channel, template, account }: Route,
  { id = tools.ids(), fallback = [] }: { id?: string; fallback?: readonly Channel[] } = {},
): NewNotification {
  const key = keyFor(cause, recipient, channel, template.id)
  const words: WordsSource = { kind: 'template', template, message: cause.due }
  return compose(tools, { id, key, recipient, words, channel, account, cause: causeOf(cause), fallback })
}

function composeStopped(
  tools: PlanTools,
  cause: EventCause,
  recipient: Recipient | null,
  obstacle: Obstacle,
  on?: Channel,
): NewNotification {
  const channel = on ?? (recipient?.address.list === undefined ? channelsFor(cause.due)[0] : undefined) ?? 'email'
  return compose(tools, {
    id: tools.ids(),
    key: keyFor(cause, recipient, channel, obstacle.reason),
    recipient,
    words: { kind: 'obstacle', obstacle },
    channel,
    account: null,
    cause: causeOf(cause),
    warnings: cause.due.warnings,
  })
}

function causeOf({ due: { event, type }, scheduleId, dueAt, manual }: EventCause): Cause {
  return {
    tenantId: event.tenantId,
    eventId: event.id,
    eventType: event.type,
    scheduleId,
    entity: event.entity,
    correlationId: event.correlationId,
    triggeredBy: manual?.actor ?? 'system',
    policy: policyOf(type),
    // Somebody who sends it again by hand wants it sent.
    expiresAt: manual || type.expiresAfterMs === null ? null : dueAt + type.expiresAfterMs,
  }
}

/** One row per key (P2): the entity, the event or the entity at its due time, the channel, the template and, where there are several, who. */
export function keyFor(
  { due: { event, type, tenant, audience }, manual }: Pick<EventCause, 'due' | 'manual'>,
  recipient: Pick<Recipient, 'key'> | null,
  channel: Channel,
  templateId: string,
): string {
  const parts = {
    channel,
    templateId,
    eventType: event.type,
    ...(audience.isSeveral && recipient ? { recipient: recipient.key } : {}),
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
