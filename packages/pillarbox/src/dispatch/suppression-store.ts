import type { Channel } from '../model/channel.ts'
import type { Page, PageOf } from '../model/page.ts'
import type { Suppression } from '../model/suppression.ts'

export interface SuppressionStore {
  /** Adds one, audited as `createdBy`; false when the address is suppressed on that channel already. */
  insert(suppression: Omit<Suppression, 'createdAt'>): Promise<boolean>
  /** Whether the tenant has any on that channel: nearly always no, and then nobody needs to ask further. */
  any(tenantId: string, channel: Channel): Promise<boolean>
  /** Those of `addresses` that are suppressed, in no order; `addressIdentity` tells which is which. */
  among(tenantId: string, channel: Channel, addresses: readonly string[]): Promise<Suppression[]>
  find(tenantId: string, id: string): Promise<Suppression | null>
  /** Newest first. `address`: exactly, whatever the case of an email. */
  list(tenantId: string, filter: SuppressionFilter, page: Page): Promise<PageOf<Suppression>>
  /** Audited. False when unknown. */
  remove(tenantId: string, id: string, actor: string, note?: string | null): Promise<boolean>
}

export interface SuppressionFilter {
  channel?: Channel
  address?: string
  /** What `address` is sealed to, should it be a device token. */
  sealedToken?: string
}
