import type { EventStatus, NewEvent, StoredEvent } from '../model/event.ts'
import type { Page, PageOf } from '../model/page.ts'

export interface EventStore {
  /** Writes events that are not there yet; answers in the given order. Repeats inside one call count as repeats too. */
  insert(events: readonly NewEvent[]): Promise<{ id: string; duplicate: boolean }[]>
  find(tenantId: string, id: string): Promise<StoredEvent | null>
  list(filter: EventFilter, page: Page): Promise<PageOf<StoredEvent>>
  /** failed → pending with a fresh count; `false` when it is not failed. Audited. */
  replay(tenantId: string, id: string, actor: string): Promise<boolean>
}

export interface EventFilter {
  tenantId?: string
  status?: EventStatus
  from?: number
  to?: number
}
