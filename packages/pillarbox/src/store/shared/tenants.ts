import type { Tenant } from '../../model/tenant.ts'
import type { TenantStore } from '../../tenant/tenant-store.ts'
import { decodeCursor, pageOf } from './cursor.ts'
import { findBy, nounOf } from './noun.ts'
import { row, rows, type ScriptRunner } from './script.ts'

const TENANTS = nounOf<Tenant>('tenants', {
  id: 'text',
  name: 'text',
  defaultLocale: 'text',
  timeZone: 'text',
  settings: 'json',
  createdAt: 'instant',
})

export function sharedTenants({ dialect, read, write, change }: ScriptRunner): TenantStore {
  return {
    insert: async (tenant) => {
      const written = await change(
        `insert into pillarbox.tenants (id, name, default_locale, time_zone, settings, created_at)
          values (:id, :name, :defaultLocale, :timeZone, :settings, ${dialect.now}) on conflict do nothing returning id`,
        tenant,
      )
      return written.length === 1
    },
    find: (id) => read(() => findBy(TENANTS, { id })),
    // By id: a tenant's id is its name for people, and there are few enough of them.
    list: (page) =>
      read(function* () {
        const after = page.cursor === undefined ? '' : (decodeCursor(page.cursor, 1)[0] ?? '')
        const found = yield* rows(
          `select ${TENANTS.columns} from pillarbox.tenants where id > :after order by id limit :limit`,
          { after, limit: page.limit + 1 },
        )
        return pageOf(found.map(TENANTS.of), page.limit, (tenant) => [tenant.id])
      }),
    update: (id, changes) =>
      write(function* () {
        const set = TENANTS.assignments(changes)
        if (set.length === 0) return yield* findBy(TENANTS, { id })
        const found = yield* row(
          `update pillarbox.tenants set ${set.join(', ')} where id = :id returning ${TENANTS.columns}`,
          { ...changes, id },
        )
        return found && TENANTS.of(found)
      }),
  }
}
