import { EVENT_TYPE, MAX_ID_LENGTH, MAX_RECIPIENTS, RECIPIENT_LENGTHS } from '@pillarbox/client/contract'
import { type Static, Type } from 'typebox'
import { PillarboxError } from '../model/errors.ts'
import type { Warning } from '../model/notification.ts'
import { ChannelName, EntityRef, FormOf, JsonObject, Line } from './body-fields.ts'

/**
 * A request for notifications as pipelines send it that have worked out already whom to tell: an event in other words, with
 * its recipients and what fills its templates.
 */
export const NotificationRequest = Type.Object(
  {
    event_id: Line(1, MAX_ID_LENGTH, 'Unique per tenant; repeating it changes nothing.'),
    tenant_id: Line(1, 63, 'The key’s own tenant.'),
    trigger_event: FormOf(EVENT_TYPE, 'An event type of the catalogue.'),
    recipients: Type.Array(
      Type.Object(
        {
          passenger_profile_id: Type.Optional(Line(1, RECIPIENT_LENGTHS.profileId)),
          name: Line(0, RECIPIENT_LENGTHS.name),
          phone: Type.Optional(Line(1, RECIPIENT_LENGTHS.phone)),
          email: Type.Optional(Line(1, RECIPIENT_LENGTHS.email)),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: MAX_RECIPIENTS },
    ),
    context: JsonObject,
    conversation_context: Type.Optional(EntityRef),
    channels: Type.Optional(Type.Array(ChannelName, { minItems: 1 })),
  },
  { additionalProperties: false, title: 'NotificationRequest' },
)
export type NotificationRequest = Static<typeof NotificationRequest>

/**
 * The event that a request is. It is about the entity that its conversation is about or its context names
 * (`booking_id`, `bookingId`) where that is of the event type's kind, and otherwise about nothing but itself, of which it
 * warns.
 */
export function eventOfRequest(
  request: NotificationRequest,
  entityType: string | null,
): { event: Record<string, unknown>; warnings: Warning[] } {
  const { event_id, trigger_event, recipients, context, conversation_context: conversation, channels } = request
  const type = entityType ?? conversation?.type ?? 'event'
  const snake = `${type.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_id`
  const named = conversation?.type === type ? conversation.id : (context[snake] ?? context[`${type}Id`])
  const isId = (typeof named === 'string' && named !== '') || typeof named === 'number'
  const event = {
    id: event_id,
    type: trigger_event,
    entity: { type, id: isId ? String(named) : event_id },
    payload: context,
    recipients: recipients.map(({ passenger_profile_id: profileId, ...recipient }) => ({
      ...recipient,
      ...(profileId !== undefined && { profileId }),
    })),
    ...(conversation && { conversation }),
    ...(channels && { channels }),
  }
  return { event, warnings: isId ? [] : [noEntity(type, snake)] }
}

function noEntity(type: string, field: string): Warning {
  return {
    code: 'entity_is_event',
    key: `/context/${field}`,
    message: `The request names no ${type}: its own event_id stands for one, so that what is told once per ${type} is told once per request, and no other event about the ${type} finds or cancels it. Name it as ${field} in context, or in conversation_context.`,
  }
}

/** What the event's fields are called in the request. */
const NAMES: Readonly<Record<string, string>> = {
  '/id': '/event_id',
  '/type': '/trigger_event',
  '/payload': '/context',
  '/conversation': '/conversation_context',
}

/** What is wrong with the event, by the names that the request has for its fields. */
export function inRequestsNames(problem: PillarboxError): PillarboxError {
  const errors = problem.details.errors?.map(({ path, message }) => {
    const [, field = '', rest = ''] = /^(\/[^/]+)(.*)$/s.exec(path) ?? []
    return { path: `${NAMES[field] ?? field}${rest.replace(/\/profileId$/, '/passenger_profile_id')}`, message }
  })
  if (!errors) return problem
  const [first] = errors
  const detail = problem.code === 'invalid_body' ? `${first?.path} ${first?.message}.` : problem.message
  return new PillarboxError(problem.code, detail, { ...problem.details, errors })
}
