import type { EventType } from '../model/catalogue.ts'
import type { Entity, EventRecipient, StoredEvent } from '../model/event.ts'
import type { Warning } from '../model/notification.ts'
import { textOf, valueAt } from '../model/path.ts'
import type { Tenant } from '../model/tenant.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { PlanContext } from './context-book.ts'
import { type Audience, audienceOf, openly } from './recipients.ts'
import type { ResolveAnswer } from './resolve-hook.ts'

/** An event that can be turned into notifications, with everything they are made from but the people themselves. */
export interface DueEvent {
  event: StoredEvent
  tenant: Tenant
  type: EventType
  context: PlanContext
  /** Sealed fields opened; what the host's hook added laid over it. */
  payload: Record<string, unknown>
  /** The secret values, to be kept out of whatever is said about them. */
  secrets: readonly string[]
  /** What is rendered from it is sealed. */
  isSecret: boolean
  /** True of each of its notifications. */
  warnings: readonly Warning[]
  audience: Audience
}

/** Opens an event whose tenant and type are known. Answers what is wrong, in words, where a sealed field cannot be. */
export function openEvent(
  sealing: Pick<PayloadSeal, 'openPayload'>,
  event: StoredEvent,
  { context, tenant, type }: { context: PlanContext; tenant: Tenant; type: EventType },
): DueEvent | { problem: string } {
  const opened = sealing.openPayload(event, type.secrets)
  if ('problem' in opened) return { problem: `${opened.problem.path || 'the payload'} ${opened.problem.message}` }
  const { payload, secrets, inClear } = opened
  return {
    event,
    tenant,
    type,
    context,
    payload,
    secrets,
    isSecret: type.secrets.length > 0 || payload !== event.payload,
    warnings: inClear.map((key) => ({
      code: 'secret_in_clear',
      key,
      message: `${key} is a secret of ${event.type} and was published in clear; seal it with sealWith() of the client package.`,
    })),
    audience: audienceOf(payload, type.recipients, event.recipients, context.region, secrets),
  }
}

/** The event with what the host's hook had to say. Even an empty list of recipients is its last word. */
export function withAnswer(due: DueEvent, answer: Exclude<ResolveAnswer, { cancel: string }>): DueEvent {
  const { recipients, context } = answer
  if (recipients === undefined && context === undefined) return due
  const { type, event } = due
  const payload = context === undefined ? due.payload : { ...due.payload, ...context }
  const [paths, named]: [EventType['recipients'], EventRecipient[] | null] =
    recipients === undefined ? [type.recipients, event.recipients] : [[], recipients]
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
