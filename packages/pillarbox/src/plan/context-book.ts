import type { EventType } from '../model/catalogue.ts'
import type { Template } from '../model/template.ts'
import { regionOf } from '../model/tenant.ts'
import type { RenderOptions } from '../render/render.ts'
import { renderOptions } from '../render/render-options.ts'
import type { Store } from '../store/store.ts'
import { readSnapshot, type TenantSnapshot, type TenantSnapshots } from '../tenant/snapshots.ts'

/** All that planning one event type of one tenant needs to know. */
export interface PlanContext extends TenantSnapshot {
  eventType: EventType | null
  /** The event types that it becomes, where it is a domain event; null where it is none. */
  derives: readonly string[] | null
  /** Active ones. */
  templates: Template[]
  /** Event types that an event of this one cancels for its entity. */
  cancels: string[]
  /** Of telephone numbers without a country code. */
  region: string | null
  /** How words are rendered here, whatever their locale; null without a tenant. */
  rendering: Omit<RenderOptions, 'locale'> | null
}

export type ContextStore = Pick<Store, 'tenants' | 'catalogue' | 'templates' | 'accounts'>

/** What planning reads of event types and templates, kept for as long as the tenant's snapshot is. */
export interface ContextBook {
  get(tenantId: string, eventType: string): Promise<PlanContext>
}

export function createContextBook(
  store: Pick<ContextStore, 'catalogue' | 'templates'>,
  snapshots: Pick<TenantSnapshots, 'get'>,
): ContextBook {
  const contexts = new WeakMap<TenantSnapshot, Map<string, Promise<PlanContext>>>()
  return {
    async get(tenantId, name) {
      const snapshot = await snapshots.get(tenantId)
      const byType = contexts.get(snapshot) ?? new Map<string, Promise<PlanContext>>()
      contexts.set(snapshot, byType)
      const kept = byType.get(name)
      if (kept) return kept
      const context = contextOf(store, snapshot, tenantId, name)
      byType.set(name, context)
      // A read that fails is not kept.
      context.catch(() => byType.delete(name))
      return context
    },
  }
}

/** What planning one event type of a tenant needs, as it is now. */
export async function readPlanContext(store: ContextStore, tenantId: string, name: string): Promise<PlanContext> {
  return contextOf(store, await readSnapshot(store, tenantId), tenantId, name)
}

async function contextOf(
  store: Pick<ContextStore, 'catalogue' | 'templates'>,
  snapshot: TenantSnapshot,
  tenantId: string,
  name: string,
): Promise<PlanContext> {
  const { tenant } = snapshot
  const [eventType, templates, cancels] = await Promise.all([
    store.catalogue.eventType(tenantId, name),
    store.templates.ofEventType(tenantId, name),
    store.catalogue.cancelledBy(tenantId, name),
  ])
  // Nearly always it is an event type; which domain events there are is only asked for what is none.
  const domainEvents = eventType ? {} : await store.catalogue.domainEvents(tenantId)
  return {
    ...snapshot,
    eventType,
    derives: Object.hasOwn(domainEvents, name) ? (domainEvents[name] ?? null) : null,
    templates: templates.filter((template) => template.isActive),
    cancels,
    region: regionOf(tenant),
    // Made once for all events: it looks through the payload's whole schema.
    rendering: tenant && renderOptions(tenant, eventType, tenant.defaultLocale),
  }
}
