import { createHash } from 'node:crypto'
import { defaultTopic } from '@pillarbox/client/contract'
import type { Channel } from './channel.ts'

/**
 * A fact, written in the caller's transaction: the outbox row.
 *
 *   pending ──planned──▶ published          pending ──unusable, or out of attempts──▶ failed ──replay──▶ pending
 *
 * The planner moves it; an operator replays it.
 */
export const EVENT_STATUSES = ['pending', 'published', 'failed'] as const
export type EventStatus = (typeof EVENT_STATUSES)[number]

export const NEXT_EVENT_STATUSES = {
  pending: ['published', 'failed'],
  published: [],
  failed: ['pending'],
} as const satisfies Record<EventStatus, readonly EventStatus[]>

/**
 * When an event is to be turned into notifications.
 *
 *   awaiting_approval ──approve──▶ pending ──planned──▶ completed
 *   awaiting_approval ──reject──▶ cancelled                 pending ──cancel──▶ cancelled
 *   pending ──unusable, out of attempts, or nobody could be told──▶ failed ──replay──▶ pending
 *   failed ──one of its notifications is retried by hand──▶ completed
 */
export const SCHEDULE_STATUSES = ['awaiting_approval', 'pending', 'completed', 'failed', 'cancelled'] as const
export type ScheduleStatus = (typeof SCHEDULE_STATUSES)[number]

export const NEXT_SCHEDULE_STATUSES = {
  awaiting_approval: ['pending', 'cancelled'],
  pending: ['completed', 'failed', 'cancelled'],
  completed: [],
  failed: ['pending', 'completed'],
  cancelled: [],
} as const satisfies Record<ScheduleStatus, readonly ScheduleStatus[]>

export interface Entity {
  type: string
  id: string
}

/** Who an event is for, where the event itself, or the host's hook, says so. */
export interface EventRecipient {
  /** A contact that is known; nothing else has to be said. */
  contactId?: string
  profileId?: string
  userId?: string
  name?: string
  phone?: string
  email?: string
  locale?: string
  deviceToken?: string
  platform?: string
  url?: string
  /** A recipient list, by name: one message to all of it, or with `expand` one notification per member. */
  list?: string
  expand?: boolean
}

/** An event as an intake hands it to the store. */
export interface NewEvent {
  /** The caller's id, or one of ours; unique per tenant. Repeating it changes nothing. */
  id: string
  tenantId: string
  type: string
  entity: Entity
  payload: Record<string, unknown>
  /** When it happened, in ms since 1970; `null`: when it was written. */
  occurredAt: number | null
  /** Not before this time, in ms since 1970; `null`: the catalogue's timing decides. */
  dueAt: number | null
  /** By which everything that came of it is found; null: its id. */
  correlationId: string | null
  /** Null: the one that `topicOf` makes of its type. */
  topic: string | null
  locale: string | null
  recipients: EventRecipient[] | null
  channels: Channel[] | null
  conversation: Entity | null
  schemaVersion: number
  /** The API key it came with, as audit rows name it; null for one that a host wrote into its own database. */
  publishedBy: string | null
  /** The trace of the request that it came with, by W3C Trace Context. */
  traceparent?: string | null
}

/** Under which subject it goes to those who subscribe to what happens. */
export function topicOf({ topic, type }: Pick<NewEvent, 'topic' | 'type'>): string {
  return topic ?? defaultTopic(type)
}

/** One of the events that a domain event becomes. */
export interface DerivedEvent extends NewEvent {
  /** The id of the domain event. */
  derivedFrom: string
}

/** Always the same for the same domain event and type: whoever plans it again makes no second one. */
export function derivedId(domainEventId: string, type: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([domainEventId, type]))
    .digest('hex')
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`
}

/** An event without what it carries, as lists have it. */
export type ListedEvent = Omit<StoredEvent, 'payload' | 'recipients' | 'channels' | 'conversation'>

export interface StoredEvent extends NewEvent {
  correlationId: string
  /** The id of the domain event that it was made of; null for one that somebody published. */
  derivedFrom: string | null
  status: EventStatus
  attemptCount: number
  nextAttemptAt: number
  lastError: string | null
  createdAt: number
  publishedAt: number | null
}
