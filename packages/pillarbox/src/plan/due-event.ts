import type { EventType } from '../model/catalogue.ts'
import type { Entity, StoredEvent } from '../model/event.ts'
import { textOf, valueAt } from '../model/path.ts'
import type { Reason } from '../model/reason.ts'
import type { Tenant } from '../model/tenant.ts'
import { dueAt } from '../model/timing.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { PlanContext } from './context-book.ts'
import { openMessage, type UnrenderedMessage } from './message.ts'
import { type Audience, audienceOf, openly } from './recipients.ts'
import type { ResolveAnswer } from './resolve-hook.ts'

/** An event that can be turned into notifications, with everything they are made from but the recipients' contacts. */
export interface DueEvent extends UnrenderedMessage {
  event: StoredEvent
  tenant: Tenant
  type: EventType
  audience: Audience
}

/** An event that ends before it is told to anybody, and why. */
export interface StoppedEvent {
  kind: 'failed' | 'cancelled'
  reason: Reason
  error: string
}

/** The event, opened: its tenant and type are known and its sealed fields can be read. Or why not. */
export function openEvent(
  sealing: Pick<PayloadSeal, 'openPayload'>,
  event: StoredEvent,
  context: PlanContext,
): DueEvent | StoppedEvent {
  const { tenant, eventType: type } = context
  if (!tenant) return failedEvent('invalid_event', `no tenant "${event.tenantId}"`)
  if (!type) return failedEvent('unknown_event_type', `the catalogue has no event type "${event.type}"`)
  const message = openMessage(sealing, event, context)
  if ('problem' in message) {
    if (message.isScrubbed)
      return failedEvent('content_scrubbed', 'the event held secrets, which were removed when it was final')
    const { path, message: error } = message.problem
    return failedEvent('invalid_event', `${path || 'the payload'} ${error}`)
  }
  const { inClear, payload, secrets } = message
  return {
    ...message,
    event,
    tenant,
    type,
    warnings: inClear.map((key) => ({
      code: 'secret_in_clear',
      key,
      message: `${key} is a secret of ${event.type} and was published in clear; seal it with sealWith() of the client package.`,
    })),
    audience: audienceOf(payload, type.recipients, event.recipients, context.region, secrets),
  }
}

export function failedEvent(reason: Reason, error: string): StoppedEvent {
  return { kind: 'failed', reason, error }
}

/** The event with what the host's hook had to say. Even an empty list of recipients is its last word. */
export function withAnswer(due: DueEvent, answer: Exclude<ResolveAnswer, { cancel: string }>): DueEvent {
  const { recipients, context } = answer
  if (recipients === undefined && context === undefined) return due
  const payload = context === undefined ? due.payload : { ...due.payload, ...context }
  const paths = recipients === undefined ? due.type.recipients : []
  const named = recipients ?? due.event.recipients
  return { ...due, payload, audience: audienceOf(payload, paths, named, due.context.region, due.secrets) }
}

/** What the exchange is about; null where there is none. */
export function conversationOf({ event, type, payload, secrets }: DueEvent): Entity | null {
  if (event.conversation) return event.conversation
  if (type.conversation === null) return null
  if (type.conversation === 'entity') return event.entity
  const id = textOf(openly(valueAt(payload, type.conversation.path), secrets))
  return id === null ? null : { type: type.conversation.type, id }
}

/** When it happened. */
export function eventTime({ occurredAt, createdAt }: StoredEvent): number {
  return occurredAt ?? createdAt
}

/**
 * When an event is due by itself, whatever the time is now and however late it was approved: the same for whoever asks.
 * Where that can no longer be reckoned it is when the event happened.
 */
export function occurrenceOf({ event, type, tenant }: Pick<DueEvent, 'event' | 'type' | 'tenant'>): number {
  if (event.dueAt !== null) return event.dueAt
  // What the date is reckoned from is never sealed. Before all dates nothing is too late.
  const moment = { eventAt: eventTime(event), payload: event.payload, timeZone: tenant.timeZone, now: -Infinity }
  const due = dueAt(type.timing, moment)
  return 'dueAt' in due ? due.dueAt : eventTime(event)
}
