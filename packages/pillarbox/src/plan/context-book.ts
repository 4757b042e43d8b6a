import type { StoredAccount } from '../model/account.ts'
import type { EventType } from '../model/catalogue.ts'
import type { Clock } from '../model/ports.ts'
import type { Template } from '../model/template.ts'
import { regionOf, type Tenant } from '../model/tenant.ts'
import type { RenderOptions } from '../render/render.ts'
import { renderOptions } from '../render/render-options.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import type { Store } from '../store/store.ts'

/** All that planning one event type of one tenant needs to know. */
export interface PlanContext {
  tenant: Tenant | null
  eventType: EventType | null
  /** Active ones. */
  templates: Template[]
  /** Active ones, the one to use first. */
  accounts: StoredAccount[]
  /** Event types that an event of this one cancels for its entity. */
  cancels: string[]
  /** The last resort of the locale chain; null before the first import. */
  catalogueLocale: string | null
  /** Of telephone numbers without a country code. */
  region: string | null
  /** How words are rendered here, whatever their locale; null without a tenant. */
  rendering: Omit<RenderOptions, 'locale'> | null
}

export type ContextStore = Pick<Store, 'tenants' | 'catalogue' | 'templates' | 'accounts'>

/**
 * What planning reads of tenants, catalogue, templates and accounts, kept for `maxAgeMs`: a change is felt everywhere
 * within that time.
 */
export interface ContextBook {
  get(tenantId: string, eventType: string): Promise<PlanContext>
}

export function createContextBook(store: ContextStore, clock: Clock, maxAgeMs: number): ContextBook {
  const contexts = createTimedCache({
    clock,
    maxAgeMs,
    async read(key) {
      const [tenantId, eventType] = JSON.parse(key) as [string, string]
      return readPlanContext(store, tenantId, eventType)
    },
  })
  return { get: (tenantId, eventType) => contexts.get(JSON.stringify([tenantId, eventType])) }
}

/** What planning one event type of a tenant needs, as it is now. */
export async function readPlanContext(store: ContextStore, tenantId: string, name: string): Promise<PlanContext> {
  const [tenant, eventType, templates, accounts, cancels, catalogue] = await Promise.all([
    store.tenants.find(tenantId),
    store.catalogue.eventType(tenantId, name),
    store.templates.ofEventType(tenantId, name),
    store.accounts.list(tenantId),
    store.catalogue.cancelledBy(tenantId, name),
    store.catalogue.current(tenantId),
  ])
  return {
    tenant,
    eventType,
    templates: templates.filter((template) => template.isActive),
    accounts,
    cancels,
    catalogueLocale: catalogue?.defaultLocale ?? null,
    region: regionOf(tenant),
    // Made once for all events: it looks through the payload's whole schema.
    rendering: tenant && renderOptions(tenant, eventType, tenant.defaultLocale),
  }
}
