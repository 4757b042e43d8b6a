import type { Channel } from '../model/channel.ts'
import type { Entity } from '../model/event.ts'

/** Sends what an entity was last told once more, on one channel, by hand. */
export interface ResendRequest {
  tenantId: string
  entity: Entity
  channel: Channel
  /** Null: the one that planning would choose. */
  templateId: string | null
  actor: string
}

export interface Resent {
  /** New for every request; it is in the notifications' idempotency keys. */
  requestId: string
  /** The new notifications' ids. */
  notifications: string[]
}

/**
 * Makes new notifications and leaves the first ones alone. Throws `not_found` where nothing is known of the entity or
 * the template, and `not_plannable` where nothing can be sent, saying why.
 */
export type Resend = (request: ResendRequest) => Promise<Resent>
