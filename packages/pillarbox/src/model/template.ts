import type { BodyFormat, ProviderTemplate } from './catalogue.ts'
import type { Channel } from './channel.ts'
import type { Entity } from './event.ts'

/** The words, per event type × channel × locale × scope. */
export interface Template {
  id: string
  tenantId: string
  eventType: string
  channel: Channel
  locale: string
  /** Only for entities of this scope, e.g. listing 10; null: for all. */
  scope: Entity | null
  subject: string | null
  body: string
  /** Null: HTML where it looks like it. */
  format: BodyFormat | null
  /** Liquid in its component parameters, rendered like the body. */
  providerTemplate: ProviderTemplate | null
  version: number
  isActive: boolean
  /** Changed by hand since the catalogue gave it: an import keeps it. */
  isEdited: boolean
  createdAt: number
  updatedAt: number
  updatedBy: string
}

export interface TemplateVersion {
  version: number
  subject: string | null
  body: string
  format: BodyFormat | null
  providerTemplate: ProviderTemplate | null
  isActive: boolean
  changedAt: number
  changedBy: string
}

export type NewTemplate = Pick<
  Template,
  | 'id'
  | 'tenantId'
  | 'eventType'
  | 'channel'
  | 'locale'
  | 'scope'
  | 'subject'
  | 'body'
  | 'format'
  | 'providerTemplate'
  | 'isActive'
>
