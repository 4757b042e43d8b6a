import type { Catalogue, DomainEvents, EventType } from '../model/catalogue.ts'
import type { Template } from '../model/template.ts'

export interface CatalogueStore {
  /**
   * Replaces the tenant's catalogue. Templates it brings: new ones are added, those nobody edited are brought up to
   * date, edited ones are kept and named in `kept`. Templates it does not name stay. `document` is kept as the version.
   */
  replace(
    tenantId: string,
    catalogue: Catalogue,
    source: { document: string; actor: string; newId: () => string },
  ): Promise<{ version: number; kept: Template[] }>
  /** What the current version says beside its event types; null before the first import. */
  current(tenantId: string): Promise<StoredCatalogue | null>
  /** Newest first, at most 100. */
  versions(tenantId: string): Promise<Omit<StoredCatalogue, 'document'>[]>
  version(tenantId: string, version: number): Promise<StoredCatalogue | null>
  eventType(tenantId: string, name: string): Promise<EventType | null>
  eventTypes(tenantId: string): Promise<EventType[]>
  /** Types that name this one in `cancelledBy`. */
  cancelledBy(tenantId: string, eventType: string): Promise<string[]>
  /** Of the current version. */
  domainEvents(tenantId: string): Promise<DomainEvents>
  /** Of the current version; null: it was imported before this was kept, and its document has them. */
  sources(tenantId: string): Promise<Catalogue['sources'] | null>
  entities(tenantId: string): Promise<Record<string, string>>
  /**
   * What a tenant's events can be about, in no order: a type may be among the catalogue's entities, or only be named by an
   * event type. Null: the events of any tenant.
   */
  entityTypes(tenantId: string | null): Promise<string[]>
}

export interface StoredCatalogue {
  version: number
  name: string
  defaultLocale: string
  /** As it was given: YAML or JSON. */
  document: string
  importedBy: string
  importedAt: number
}
