import type { Page, PageOf } from '../model/page.ts'
import type { ListMember, RecipientList } from '../model/recipient-list.ts'

export interface ListStore {
  /** False when the name is taken. */
  insert(
    list: { id: string; tenantId: string; name: string; members: readonly ListMember[] },
    actor: string,
  ): Promise<boolean>
  /** Replaces the name and, where given, the members. `taken` when another list has the name. */
  update(
    tenantId: string,
    id: string,
    changes: { name?: string; members?: readonly ListMember[] },
    actor: string,
  ): Promise<RecipientList | 'taken' | null>
  /** Adds members that are not on it yet (by email, in either case, and phone). Answers how many were added; null when unknown. */
  addMembers(tenantId: string, id: string, members: readonly ListMember[], actor: string): Promise<number | null>
  remove(tenantId: string, id: string, actor: string): Promise<boolean>
  find(tenantId: string, id: string): Promise<RecipientList | null>
  findByName(tenantId: string, name: string): Promise<RecipientList | null>
  list(tenantId: string, page: Page): Promise<PageOf<RecipientList>>
  /** In a fixed order, from behind `after`; `next` is null at the end. */
  members(
    tenantId: string,
    listId: string,
    after: string | null,
    limit: number,
  ): Promise<{ members: (ListMember & { id: string })[]; next: string | null }>
}
