import type { Channel } from '../model/channel.ts'
import type { Page, PageOf } from '../model/page.ts'
import type { NewTemplate, Template, TemplateVersion } from '../model/template.ts'

export interface TemplateStore {
  /** Null when there is one for the same event type, channel, locale and scope. Audited, as every change below. */
  insert(template: NewTemplate, actor: string): Promise<Template | null>
  find(tenantId: string, id: string): Promise<Template | null>
  /** By event type, channel, locale and scope. */
  list(tenantId: string, filter: TemplateFilter, page: Page): Promise<PageOf<Template>>
  /** All of one event type, for planning. */
  ofEventType(tenantId: string, eventType: string): Promise<Template[]>
  /**
   * A new version, marked as edited. Null when unknown; `taken` when another has the same place; `stale`, and nothing
   * changed, when `version` is given and is not the one it has.
   */
  update(
    tenantId: string,
    id: string,
    changes: Partial<Omit<NewTemplate, 'id' | 'tenantId'>>,
    actor: string,
    version?: number,
  ): Promise<Template | 'taken' | 'stale' | null>
  /** Removes one that no notification was made from; another is deactivated. Null when unknown. */
  remove(tenantId: string, id: string, actor: string): Promise<'removed' | Template | null>
  /** Newest first. */
  versions(tenantId: string, id: string): Promise<TemplateVersion[]>
  /** Remembers that notifications were made from these, so that `remove` deactivates them. Repeating changes nothing. */
  markUsed(ids: readonly string[]): Promise<void>
}

export interface TemplateFilter {
  eventType?: string
  channel?: Channel
  locale?: string
  isActive?: boolean
}
