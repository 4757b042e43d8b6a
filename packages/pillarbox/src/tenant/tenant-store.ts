import type { Page, PageOf } from '../model/page.ts'
import type { Tenant } from '../model/tenant.ts'

export interface TenantStore {
  /** False when the id is taken. Audited, as every change. */
  insert(tenant: Omit<Tenant, 'createdAt'>, actor?: string): Promise<boolean>
  find(id: string): Promise<Tenant | null>
  list(page: Page): Promise<PageOf<Tenant>>
  update(id: string, changes: Partial<Omit<Tenant, 'id' | 'createdAt'>>, actor?: string): Promise<Tenant | null>
}
