import type { NewNotification } from '../model/notification.ts'
import type { Site } from '../model/site.ts'

/** Sites, and what they hand off. */
export interface SiteStore {
  /**
   * Writes what a site hands off, with the audit row of its sending for each that is new, and that the site was heard of. A
   * repeated (tenant, key) answers the first one's id and writes nothing, as everywhere. Where an item is new and its number
   * had come before, the buffer was restored or cloned: that is on record, and `isRewound`.
   */
  handOff(contact: SiteContact, items: readonly HandedOff[]): Promise<HandOffResult>
  /** The id of the notification that this site handed off under this id of its own; null: there is none. */
  find(tenantId: string, site: string, notificationId: string): Promise<string | null>
  /** By name; null: those of all tenants. */
  list(tenantId: string | null): Promise<(Site & { silentForMs: number })[]>
  /** Forgets that there is such a site, until it is heard of again. What it handed off stays. Audited. */
  forget(tenantId: string, site: string, actor: string): Promise<boolean>
}

/** What a site says of itself when it is heard of. */
export interface SiteContact extends Pick<Site, 'tenantId' | 'site' | 'incarnation' | 'backlog' | 'clockAheadMs'> {
  /** Numbers that are answered for good without being written: what was refused. */
  refused: readonly number[]
}

export interface HandedOff {
  notification: NewNotification
  /** Its number in the site's buffer; null: it has none. */
  sequence: number | null
  /** When somebody sent it at the site, by the clock of the site. */
  sentAt: number | null
}

export interface HandOffResult {
  written: { id: string; duplicate: boolean }[]
  isRewound: boolean
}
