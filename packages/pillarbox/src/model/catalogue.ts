import { EVENT_TYPE } from '@pillarbox/client/contract'
import type { Channel } from './channel.ts'

/**
 * Where one recipient's fields stand in the payload: dot paths. A path may go through a list (`passengers[].phone`): one
 * recipient per element, the fields of each element paired. All such paths of one entry go through the same list.
 */
export interface RecipientPaths {
  phone?: string
  email?: string
  name?: string
  locale?: string
  profileId?: string
  userId?: string
  deviceToken?: string
  platform?: string
  url?: string
  /** A recipient list, by name: one message to all of it, or with `expand` one notification per member. */
  list?: string
  expand?: boolean
}

export type Delivery =
  | { kind: 'all' }
  | { kind: 'channels'; channels: Channel[] }
  | { kind: 'fallback'; channels: Channel[] }
  /** Says nothing to anybody: an event that only cancels others. */
  | { kind: 'none' }

/**
 * When an event's notifications are due. `offsetMs` from its base, which is the event's own time or the date in the
 * payload field `field`; negative: before it. Then, where `at` is given, at that local time ("09:00") of the tenant's
 * zone: of the day that was reached where the base is a date, else the first such time from then on.
 */
export interface Timing {
  offsetMs: number
  field: string | null
  at: string | null
  /** What becomes of it when that time is already past: sent at once, or cancelled (`expired`). */
  ifPast: 'send' | 'skip'
}

/**
 * For what one notification is made, per recipient and channel: the entity, the event, or the entity at one due time, so
 * that an appointment which moves is told of anew, and one that is published twice is not.
 */
export const ONCE_PER = ['per-entity', 'per-event', 'per-occurrence'] as const

/** What an event of this type means: who receives it, when, and on which channels. */
export interface EventType {
  name: string
  description: string | null
  entity: string
  once: (typeof ONCE_PER)[number]
  /** JSON Schema of the payload; null: any object. */
  payload: Record<string, unknown> | null
  recipients: RecipientPaths[]
  delivery: Delivery
  timing: Timing
  /** A new event for the same entity replaces the schedule of an earlier one that is not due yet. */
  replaces: boolean
  /** Event types that cancel what is still scheduled or queued for the entity. */
  cancelledBy: string[]
  /** Waits until an operator approves it. */
  approval: boolean
  /** Payload fields (dot paths) that are sealed at rest and scrubbed once final. */
  secrets: string[]
  /** What a template's scope is compared with, the narrowest first, e.g. { type: 'listing', path: 'listingId' }. */
  scopes: { type: string; path: string }[]
  /** What the exchange is about; `entity`: the event's own entity. Null: no conversation. */
  conversation: 'entity' | { type: string; path: string } | null
  /** Cancelled (`expired`) if not sent this long after it was due; null: never. */
  expiresAfterMs: number | null
  /** In place of the account's; as given. */
  retry: unknown
  onUndeliverable: 'fail' | 'park' | null
}

/** WhatsApp: name, language, components. SMS: DLT ids, a flow id. Text in it is Liquid and rendered like the body. */
export type ProviderTemplate = Record<string, unknown>

/** Whether a body is plain text, or HTML into which everything is filled escaped. */
export const BODY_FORMATS = ['text', 'html'] as const
export type BodyFormat = (typeof BODY_FORMATS)[number]

export interface TemplateSeed {
  eventType: string
  channel: Channel
  locale: string
  scope: { type: string; id: string } | null
  subject: string | null
  body: string
  format: BodyFormat | null
  providerTemplate: ProviderTemplate | null
}

/** Each domain event with the event types that it becomes; none: it is taken, and says nothing. */
export type DomainEvents = Record<string, string[]>

/** How a Hasura trigger's rows become events: dot paths into `event.data`. */
export interface HasuraSource {
  eventType: string
  entityId: string
  payload: Record<string, string>
}

/** What a tenant that is made with a catalogue has, unless it says otherwise. */
export interface TenantDefaults {
  timeZone?: string
  region?: string
  currency?: string
  dateFormat?: string
}

export interface Catalogue {
  name: string
  defaultLocale: string
  tenantDefaults: TenantDefaults
  /** Singular → plural, e.g. booking → bookings. */
  entities: Record<string, string>
  eventTypes: EventType[]
  templates: TemplateSeed[]
  /** Names under which hosts publish what several event types, or none, are about. */
  domainEvents: DomainEvents
  sources: { hasura: Record<string, HasuraSource> }
}

export const EVENT_TYPE_NAME = EVENT_TYPE.pattern
