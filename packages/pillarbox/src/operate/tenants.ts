import type { ReadyCatalogues } from '../catalogue/ready.ts'
import { OPS_TENANT } from '../model/alert.ts'
import type { TenantDefaults } from '../model/catalogue.ts'
import { found, invalidBody, PillarboxError } from '../model/errors.ts'
import type { IdSource } from '../model/ports.ts'
import type { Tenant } from '../model/tenant.ts'
import type { Store } from '../store/store.ts'
import type { TenantSnapshots } from '../tenant/snapshots.ts'
import type { Untrusted } from '../untrusted/untrusted.ts'
import { issueKey } from './api-keys.ts'
import { type GivenCatalogue, readCatalogue, readCatalogueDocument } from './catalogue.ts'

/**
 * Makes a tenant with its first admin key and, where given, its catalogue, whole or by the name of a ready-made one.
 * Everything is checked before anything is written; should the process die in between, the tenant exists and an ops key
 * can issue what is missing. What it does not say itself it has from the catalogue: locale, time zone, region, currency and
 * date format; but a tenant whose locale is of another country has only the locale it names.
 */
export async function provisionTenant(
  deps: {
    store: Pick<Store, 'tenants' | 'keys' | 'catalogue'>
    ids: IdSource
    readyMade: ReadyCatalogues
    untrusted: Untrusted
  },
  { id, name, catalogue: given, timeZone, defaultLocale, settings }: NewTenant,
  actor: string,
): Promise<{ tenant: Tenant; adminKey: string }> {
  const { store, ids } = deps
  const catalogue = given === undefined ? null : await resolve(deps, id, given)
  const home = catalogue?.catalogue ?? { defaultLocale: 'en', tenantDefaults: {} }
  const isAtHome = areOfOneCountry(defaultLocale ?? home.defaultLocale, home.defaultLocale)
  const defaults: TenantDefaults = isAtHome ? home.tenantDefaults : {}
  const { timeZone: homeZone, ...homeSettings } = defaults
  const tenant = {
    id,
    name,
    defaultLocale: defaultLocale ?? home.defaultLocale,
    timeZone: timeZone ?? homeZone ?? 'UTC',
    settings: withSettings(homeSettings, settings),
  }
  assertTimeZone(tenant.timeZone)
  if (!(await store.tenants.insert(tenant, actor)))
    throw new PillarboxError('already_exists', `There is a tenant "${tenant.id}".`)
  const admin = await issueKey({ store, ids }, { tenantId: tenant.id, name: 'admin', role: 'admin' }, actor)
  if (catalogue)
    await store.catalogue.replace(tenant.id, catalogue.catalogue, { document: catalogue.document, actor, newId: ids })
  const stored = await store.tenants.find(tenant.id)
  if (!stored) throw new PillarboxError('internal', `tenant ${tenant.id} is gone right after it was made`)
  return { tenant: stored, adminKey: admin.key }
}

/** Throws `invalid_body` for a slug that nobody may choose. */
export function refuseReserved(id: string): void {
  if (id === OPS_TENANT)
    throw invalidBody([
      {
        path: '/id',
        message:
          'is reserved: alerts are sent from the tenant ops, which is made by itself once PILLARBOX_ALERT_TO is set',
      },
    ])
}

type NewTenant = Pick<Tenant, 'id' | 'name'> & {
  defaultLocale?: string | undefined
  timeZone?: string | undefined
  /** Null: without one, also where the catalogue has one. */
  settings: Record<string, unknown>
  catalogue: unknown
}

/** Locales without a country are of any. */
function areOfOneCountry(...locales: string[]): boolean {
  const countries = locales.flatMap((locale) => new Intl.Locale(locale).region ?? [])
  return new Set(countries).size <= 1
}

/** Changes what is named of a tenant; of its settings null removes one, and the rest stays. */
export async function changeTenant(
  { store, snapshots }: { store: Pick<Store, 'tenants'>; snapshots: Pick<TenantSnapshots, 'outdate'> },
  id: string,
  { name, defaultLocale, timeZone, ...given }: TenantChanges,
  actor: string,
): Promise<Tenant> {
  const { settings } = found(await store.tenants.find(id))
  const changes = {
    ...(name !== undefined && { name }),
    ...(defaultLocale !== undefined && { defaultLocale }),
    ...(timeZone !== undefined && { timeZone }),
    ...(Object.keys(given).length > 0 && { settings: withSettings(settings, given) }),
  }
  const changed = found(await store.tenants.update(id, changes, actor))
  snapshots.outdate(id)
  return changed
}

type TenantChanges = Partial<Pick<Tenant, 'name' | 'defaultLocale' | 'timeZone'>> & Record<string, unknown>

/** Settings with what is given changed, and what is given as null removed. */
function withSettings(current: Record<string, unknown>, given: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...current, ...given }
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null && value !== undefined))
}

async function resolve(
  deps: { untrusted: Untrusted; readyMade: ReadyCatalogues },
  tenantId: string,
  given: unknown,
): Promise<GivenCatalogue> {
  const { readyMade } = deps
  if (typeof given !== 'string') return await readCatalogue(deps, tenantId, given, '/catalogue')
  const document = readyMade.document(given)
  if (document !== null) return await readCatalogueDocument(deps, tenantId, document, '/catalogue')
  const message = `must be a catalogue, or the name of a ready-made one: ${readyMade.names().join(', ')}`
  throw new PillarboxError('invalid_catalogue', `/catalogue ${message}.`, { errors: [{ path: '/catalogue', message }] })
}

/** Throws `invalid_body` unless the runtime knows the zone. */
function assertTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    throw invalidBody([{ path: '/timeZone', message: 'must be an IANA time zone, such as Asia/Kolkata' }])
  }
}
