import type { EventType } from '../model/catalogue.ts'
import type { Clock } from '../model/ports.ts'
import type { Store, StoredAccount, Template, Tenant } from '../store/store.ts'

/** All that planning one event type of one tenant needs to know. */
export interface PlanContext {
  tenant: Tenant | null
  eventType: EventType | null
  templates: Template[]
  /** Active ones, the one to use first. */
  accounts: StoredAccount[]
}

/**
 * What planning reads of tenants, catalogue, templates and accounts, kept for `maxAgeMs`: a change is felt everywhere
 * within that time. Planning itself is synchronous, inside the store's transaction; it only ever peeks.
 */
export interface ContextBook {
  peek(tenantId: string, eventType: string): PlanContext | null
  load(tenantId: string, eventType: string): Promise<PlanContext>
}

export function createContextBook(
  store: Pick<Store, 'tenants' | 'catalogue' | 'accounts'>,
  clock: Clock,
  maxAgeMs: number,
): ContextBook {
  const known = new Map<string, { context: PlanContext; readAt: number }>()
  const key = (tenantId: string, eventType: string) => `${tenantId}\n${eventType}`
  return {
    peek(tenantId, eventType) {
      const entry = known.get(key(tenantId, eventType))
      return entry && clock.monotonic() - entry.readAt < maxAgeMs ? entry.context : null
    },
    async load(tenantId, eventType) {
      const [tenant, type, templates, accounts] = await Promise.all([
        store.tenants.find(tenantId),
        store.catalogue.eventType(tenantId, eventType),
        store.catalogue.templates(tenantId, eventType),
        store.accounts.list(tenantId),
      ])
      const context: PlanContext = {
        tenant,
        eventType: type,
        templates: templates.filter((template) => template.isActive),
        accounts: accounts.filter((account) => account.status === 'active'),
      }
      // From the answer on: counted from the question, a slow store's would be too old before planning could begin.
      known.set(key(tenantId, eventType), { context, readAt: clock.monotonic() })
      return context
    },
  }
}
