import type { Page, PageOf } from '../../model/page.ts'
import type { Tenant } from '../../model/tenant.ts'
import type { TenantStore } from '../../tenant/tenant-store.ts'
import { decodeCursor, pageOf } from './cursor.ts'
import { parameters } from './parameters.ts'
import { type Dialect, instantOf, jsonOf, type Row, row, rows, type Script, type ScriptRunner } from './script.ts'

export function sharedTenants({ dialect, read, write }: ScriptRunner): TenantStore {
  return {
    insert: (tenant) => write(() => insertTenant(dialect, tenant)),
    find: (id) => read(() => findTenant(id)),
    list: (page) => read(() => listTenants(page)),
    update: (id, changes) => write(() => updateTenant(id, changes)),
  }
}

const COLUMNS = 'id, name, default_locale, time_zone, settings, created_at'

function tenantOf(found: Row): Tenant {
  return {
    id: String(found['id']),
    name: String(found['name']),
    defaultLocale: String(found['default_locale']),
    timeZone: String(found['time_zone']),
    settings: jsonOf<Record<string, unknown>>(found['settings']),
    createdAt: instantOf(found['created_at']),
  }
}

function* insertTenant(dialect: Dialect, tenant: Omit<Tenant, 'createdAt'>): Script<boolean> {
  const written = yield* row(
    `insert into pillarbox.tenants (id, name, default_locale, time_zone, settings, created_at)
      values ($1, $2, $3, $4, $5, ${dialect.now}) on conflict do nothing returning id`,
    [tenant.id, tenant.name, tenant.defaultLocale, tenant.timeZone, JSON.stringify(tenant.settings)],
  )
  return written !== null
}

function* findTenant(id: string): Script<Tenant | null> {
  const found = yield* row(`select ${COLUMNS} from pillarbox.tenants where id = $1`, [id])
  return found && tenantOf(found)
}

/** By id: a tenant's id is its name for people, and there are few enough of them. */
function* listTenants(page: Page): Script<PageOf<Tenant>> {
  const after = page.cursor === undefined ? '' : (decodeCursor(page.cursor, 1)[0] ?? '')
  const found = yield* rows(`select ${COLUMNS} from pillarbox.tenants where id > $1 order by id limit $2`, [
    after,
    page.limit + 1,
  ])
  return pageOf(found.map(tenantOf), page.limit, (tenant) => [tenant.id])
}

function* updateTenant(id: string, changes: Partial<Omit<Tenant, 'id' | 'createdAt'>>): Script<Tenant | null> {
  const { add, values } = parameters()
  const set: string[] = []
  if (changes.name !== undefined) set.push(`name = ${add(changes.name)}`)
  if (changes.defaultLocale !== undefined) set.push(`default_locale = ${add(changes.defaultLocale)}`)
  if (changes.timeZone !== undefined) set.push(`time_zone = ${add(changes.timeZone)}`)
  if (changes.settings !== undefined) set.push(`settings = ${add(JSON.stringify(changes.settings))}`)
  if (set.length === 0) return yield* findTenant(id)
  const found = yield* row(
    `update pillarbox.tenants set ${set.join(', ')} where id = ${add(id)} returning ${COLUMNS}`,
    values,
  )
  return found && tenantOf(found)
}
