import { SYSTEM } from '../../model/audit.ts'
import type { Tenant } from '../../model/tenant.ts'
import type { TenantStore } from '../../tenant/tenant-store.ts'
import { writeAudit } from './audit.ts'
import { changeOf, pictureOfTenant } from './audit-pictures.ts'
import { decodeCursor, pageOf } from './cursor.ts'
import { findBy, nounOf } from './noun.ts'
import { type Dialect, row, rows, type Script, type ScriptRunner } from './script.ts'

const TENANTS = nounOf<Tenant>('tenants', {
  id: 'text',
  name: 'text',
  defaultLocale: 'text',
  timeZone: 'text',
  settings: 'json',
  createdAt: 'instant',
})

export function sharedTenants({ dialect, read, write }: ScriptRunner): TenantStore {
  return {
    insert: (tenant, actor = SYSTEM) =>
      write(function* () {
        const written = yield* row(
          `insert into pillarbox.tenants (id, name, default_locale, time_zone, settings, created_at)
            values (:id, :name, :defaultLocale, :timeZone, :settings, ${dialect.now}) on conflict do nothing returning id`,
          tenant,
        )
        if (written) yield* auditTenant(dialect, tenant.id, actor, null, tenant)
        return written !== null
      }),
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
    update: (id, changes, actor = SYSTEM) =>
      write(function* () {
        const set = TENANTS.assignments(changes)
        const current = yield* findBy(TENANTS, { id }, { lockedBy: dialect })
        if (set.length === 0 || !current) return current
        const found = yield* row(
          `update pillarbox.tenants set ${set.join(', ')} where id = :id returning ${TENANTS.columns}`,
          { ...changes, id },
        )
        if (found) yield* auditTenant(dialect, id, actor, current, TENANTS.of(found))
        return found && TENANTS.of(found)
      }),
  }
}

type TenantFacts = Omit<Tenant, 'createdAt'>

/** Saving a tenant as it is changes nothing. */
function* auditTenant(
  dialect: Dialect,
  tenantId: string,
  actor: string,
  before: TenantFacts | null,
  after: TenantFacts,
): Script<void> {
  const change = changeOf(before && pictureOfTenant(before), pictureOfTenant(after))
  if (before && Object.keys(change.after ?? {}).length === 0) return
  yield* writeAudit(dialect, {
    tenantId,
    actor,
    action: before ? 'update' : 'create',
    subject: `tenant:${tenantId}`,
    ...change,
  })
}
