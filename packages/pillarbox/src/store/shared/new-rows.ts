import type { DerivedEvent, NewEvent } from '../../model/event.ts'
import type { NewNotification } from '../../model/notification.ts'
import { addressOf } from '../../model/recipient.ts'
import { jsonText } from './fields.ts'

/**
 * What is written of a new event and of a new notification, column by column, for both engines. Instants are
 * milliseconds; a column of the database that is not named here has its default.
 */
export interface NewColumn<T> {
  type: 'text' | 'uuid' | 'json' | 'int' | 'instant'
  of(noun: T): string | number | null
}

export type NewColumns<T> = Readonly<Record<string, NewColumn<T>>>

export const NEW_EVENT: NewColumns<NewEvent> = {
  tenant_id: { type: 'text', of: (event) => event.tenantId },
  id: { type: 'text', of: (event) => event.id },
  type: { type: 'text', of: (event) => event.type },
  entity_type: { type: 'text', of: (event) => event.entity.type },
  entity_id: { type: 'text', of: (event) => event.entity.id },
  payload: { type: 'json', of: (event) => JSON.stringify(event.payload) },
  occurred_at: { type: 'instant', of: (event) => event.occurredAt },
  due_at: { type: 'instant', of: (event) => event.dueAt },
  correlation_id: { type: 'text', of: (event) => event.correlationId },
  traceparent: { type: 'text', of: (event) => event.traceparent ?? null },
  topic: { type: 'text', of: (event) => event.topic },
  locale: { type: 'text', of: (event) => event.locale },
  recipients: { type: 'json', of: (event) => jsonText(event.recipients) },
  channels: { type: 'json', of: (event) => jsonText(event.channels) },
  conversation: { type: 'json', of: (event) => jsonText(event.conversation) },
  schema_version: { type: 'int', of: (event) => event.schemaVersion },
  published_by: { type: 'text', of: (event) => event.publishedBy },
}

/** An event that planning makes of a domain event; the rest of its columns are those of the domain event. */
export const DERIVED_EVENT: NewColumns<DerivedEvent> = {
  ...NEW_EVENT,
  derived_from: { type: 'text', of: (event) => event.derivedFrom },
}

export const NEW_NOTIFICATION: NewColumns<NewNotification> = {
  id: { type: 'uuid', of: (n) => n.id },
  tenant_id: { type: 'text', of: (n) => n.tenantId },
  idempotency_key: { type: 'text', of: (n) => n.idempotencyKey },
  channel: { type: 'text', of: (n) => n.channel },
  account_id: { type: 'uuid', of: (n) => n.accountId },
  provider: { type: 'text', of: (n) => n.provider },
  recipient: { type: 'json', of: (n) => JSON.stringify(n.to) },
  address: { type: 'text', of: (n) => addressOf(n.channel, n.to) },
  content: { type: 'json', of: (n) => jsonText(n.content) },
  event_id: { type: 'text', of: (n) => n.eventId },
  event_type: { type: 'text', of: (n) => n.eventType },
  schedule_id: { type: 'uuid', of: (n) => n.scheduleId },
  place: { type: 'text', of: (n) => n.place },
  entity_type: { type: 'text', of: (n) => n.entity?.type ?? null },
  entity_id: { type: 'text', of: (n) => n.entity?.id ?? null },
  template_id: { type: 'text', of: (n) => n.templateId },
  template_version: { type: 'int', of: (n) => n.templateVersion },
  locale: { type: 'text', of: (n) => n.locale },
  correlation_id: { type: 'text', of: (n) => n.correlationId },
  traceparent: { type: 'text', of: (n) => n.traceparent ?? null },
  execution_id: { type: 'text', of: (n) => n.executionId },
  parent_execution_id: { type: 'text', of: (n) => n.parentExecutionId },
  site: { type: 'text', of: (n) => n.site },
  triggered_by: { type: 'text', of: (n) => n.triggeredBy },
  fallback: { type: 'json', of: (n) => (n.fallback.length > 0 ? JSON.stringify(n.fallback) : null) },
  corrected_from: { type: 'uuid', of: (n) => n.correctedFrom },
  fallback_of: { type: 'uuid', of: (n) => n.fallbackOf },
  duplicate_of: { type: 'uuid', of: (n) => n.duplicateOf },
  warnings: { type: 'json', of: (n) => (n.warnings.length > 0 ? JSON.stringify(n.warnings) : null) },
  contact_id: { type: 'uuid', of: (n) => n.contactId },
  conversation_id: { type: 'uuid', of: (n) => n.conversationId },
  policy: { type: 'json', of: (n) => jsonText(n.policy) },
  due_at: { type: 'instant', of: (n) => n.dueAt },
  wanted_at: { type: 'instant', of: (n) => n.wantedAt ?? null },
  expires_at: { type: 'instant', of: (n) => n.expiresAt },
}
