import type { Delivery, EventType, Timing } from '../model/catalogue.ts'
import { formatDuration } from '../model/duration.ts'
import type { EventTypeDefinition } from './schema.ts'

/** An event type as a catalogue file has it, without its templates; fields that say nothing are left out. */
export function definitionOf(type: EventType): EventTypeDefinition {
  const { conversation } = type
  return {
    ...(type.description !== null && { description: type.description }),
    entity: type.entity,
    once: type.once,
    ...(type.payload !== null && { payload: type.payload }),
    recipients: type.recipients,
    delivery: deliveryDefinition(type.delivery),
    timing: timingDefinition(type.timing),
    ...(type.replaces && { replaces: true }),
    ...(type.cancelledBy.length > 0 && { cancelledBy: type.cancelledBy }),
    ...(type.approval && { approval: true }),
    ...(type.secrets.length > 0 && { secrets: type.secrets }),
    ...(type.scopes.length > 0 && { scopes: Object.fromEntries(type.scopes.map(({ type, path }) => [type, path])) }),
    ...(conversation !== null && {
      conversation: conversation === 'entity' ? conversation : { type: conversation.type, id: conversation.path },
    }),
    ...(type.expiresAfterMs !== null && { expiresAfter: formatDuration(type.expiresAfterMs) }),
    ...(type.retry !== null && { retry: type.retry }),
    ...(type.onUndeliverable !== null && { onUndeliverable: type.onUndeliverable }),
  }
}

function deliveryDefinition(delivery: Delivery): NonNullable<EventTypeDefinition['delivery']> {
  switch (delivery.kind) {
    case 'all':
      return { all: true }
    case 'none':
      return { none: true }
    case 'channels':
      return { channels: delivery.channels }
    case 'fallback':
      return { fallback: delivery.channels }
  }
}

function timingDefinition({ offsetMs, field, at, ifPast }: Timing): NonNullable<EventTypeDefinition['timing']> {
  return {
    ...(offsetMs < 0 && { before: formatDuration(-offsetMs) }),
    ...((offsetMs > 0 || (offsetMs === 0 && at === null)) && { after: formatDuration(offsetMs) }),
    ...(field !== null && { field }),
    ...(at !== null && { at }),
    ...(ifPast === 'skip' && { ifPast }),
  }
}
