import type { Channel } from './event-rules.ts'

/** What an event or a conversation is about, in the host's own terms. */
export interface EntityRef {
  type: string
  id: string
}

/** Who an event is for, where the event itself says so. */
export interface Recipient {
  profileId?: string | null | undefined
  userId?: string | null | undefined
  name?: string | null | undefined
  phone?: string | null | undefined
  email?: string | null | undefined
  locale?: string | null | undefined
}

/** A point in time: a `Date`, or ISO 8601 text with a zone such as `2026-03-15T09:00:00Z`. */
export type Instant = Date | string

/**
 * Event type names and the payload each carries, e.g. `interface MyEvents { 'booking.confirmed': { bookingId: number } }`.
 * Given as the type argument of `publish`, it makes the compiler refuse an unknown type and a wrong payload.
 */
export type EventTypes<Types = unknown> = { [Name in keyof Types]: object }

/** Without a type argument any event type goes, with any object as its payload. */
export type AnyEventTypes = Record<string, object>

/** What every event says, whatever its type. */
interface EventFields {
  /** Unique per tenant; a repeated id writes nothing. Default: a new UUIDv7. */
  id?: string | null | undefined
  entity: EntityRef
  /** When it happened. Default: when it is written. */
  occurredAt?: Instant | null | undefined
  /** Not before this time. Default: the catalogue's timing decides. */
  dueAt?: Instant | null | undefined
  /** By which everything that comes of it is found, and which the log has. Absent: its id. */
  correlationId?: string | null | undefined
  /** Under which subject subscribers find it. Default: the type up to its first dot, and `.events`: `booking.events`. */
  topic?: string | null | undefined
  /**
   * The trace it belongs to, by W3C Trace Context, as your tracing library writes it; it goes along with the calls of
   * providers that speak HTTP. Over HTTP, absent: the header of the request.
   */
  traceparent?: string | null | undefined
  /** The version of the payload's form, for those who read it later. Default: 1. */
  schemaVersion?: number | null | undefined
  /** Overrides the recipient's, the tenant's and the catalogue's, e.g. `de-DE`. */
  locale?: string | null | undefined
  /** Overrides the recipients that the catalogue finds in the payload. */
  recipients?: readonly Recipient[] | null | undefined
  /** Overrides the channels that the catalogue names. */
  channels?: readonly Channel[] | null | undefined
  /** Overrides the conversation that the catalogue would choose. */
  conversation?: EntityRef | null | undefined
}

type TypedPayload<Types extends EventTypes<Types>> = {
  [Name in keyof Types & string]: { type: Name; payload: Types[Name] }
}[keyof Types & string]

/** An event as the HTTP intake takes it: its tenant is the API key's. */
export type EventBody<Types extends EventTypes<Types> = AnyEventTypes> = EventFields & TypedPayload<Types>

/** An event as `publish` writes it into the host's database, where several tenants may live: it names its own. */
export type NewEvent<Types extends EventTypes<Types> = AnyEventTypes> = EventBody<Types> & { tenantId: string }
