import type { ReadyCatalogues } from '../catalogue/ready.ts'
import type { ApiKey } from '../model/api-key.ts'
import { PillarboxError } from '../model/errors.ts'
import type { IdSource } from '../model/ports.ts'
import type { Tenant } from '../model/tenant.ts'
import { hashKey, makeKey } from '../security/keys.ts'
import type { Store } from '../store/store.ts'
import { type GivenCatalogue, readCatalogue, readCatalogueDocument } from './catalogue.ts'

/** What an issued key looks like to the one it is issued to: the only time `key` is seen. */
export interface IssuedKey extends Omit<ApiKey, 'createdAt' | 'revokedAt'> {
  key: string
}

/**
 * Makes a tenant with its first admin key and, where given, its catalogue, whole or by the name of a ready-made one.
 * Everything is checked before anything is written; should the process die in between, the tenant exists and an ops key
 * can issue what is missing. Without a locale of its own it has the catalogue's, and then also the region and currency
 * that a ready-made one is written for, unless it names others.
 */
export async function provisionTenant(
  deps: { store: Pick<Store, 'tenants' | 'keys' | 'catalogue'>; ids: IdSource; readyMade: ReadyCatalogues },
  { catalogue: given, defaultLocale, ...rest }: NewTenant,
  actor: string,
): Promise<{ tenant: Tenant; adminKey: string }> {
  const { store, ids, readyMade } = deps
  const found = given === undefined ? null : resolve(given, readyMade)
  const catalogueLocale = found?.catalogue.defaultLocale ?? 'en'
  const isAtHome = typeof given === 'string' && (defaultLocale ?? catalogueLocale) === catalogueLocale
  const settings = { ...(isAtHome ? readyMade.tenantSettings(given) : {}), ...rest.settings }
  const tenant = { ...rest, defaultLocale: defaultLocale ?? catalogueLocale, settings }
  assertTimeZone(tenant.timeZone)
  if (!(await store.tenants.insert(tenant)))
    throw new PillarboxError('already_exists', `There is a tenant "${tenant.id}".`)
  const admin = await issueKey({ store, ids }, { tenantId: tenant.id, name: 'admin', role: 'admin' })
  if (found) await store.catalogue.replace(tenant.id, found.catalogue, { document: found.document, actor, newId: ids })
  const stored = await store.tenants.find(tenant.id)
  if (!stored) throw new PillarboxError('internal', `tenant ${tenant.id} is gone right after it was made`)
  return { tenant: stored, adminKey: admin.key }
}

type NewTenant = Omit<Tenant, 'createdAt' | 'defaultLocale'> & {
  defaultLocale: string | undefined
  catalogue: unknown
}

/** Makes a key and stores its hash. */
export async function issueKey(
  { store, ids }: { store: Pick<Store, 'keys'>; ids: IdSource },
  wanted: Pick<ApiKey, 'tenantId' | 'name' | 'role'> & Partial<Pick<ApiKey, 'site' | 'ratePerSecond' | 'expiresAt'>>,
): Promise<IssuedKey> {
  const record = { id: ids(), site: null, ratePerSecond: null, expiresAt: null, ...wanted }
  const key = makeKey()
  await store.keys.insert(record, hashKey(key))
  return { ...record, key }
}

function resolve(given: unknown, readyMade: ReadyCatalogues): GivenCatalogue {
  if (typeof given !== 'string') return readCatalogue(given, '/catalogue')
  const document = readyMade.document(given)
  if (document !== null) return readCatalogueDocument(document, '/catalogue')
  const message = `must be a catalogue, or the name of a ready-made one: ${readyMade.names().join(', ')}`
  throw new PillarboxError('invalid_catalogue', `/catalogue ${message}.`, { errors: [{ path: '/catalogue', message }] })
}

/** Throws `invalid_body` unless the runtime knows the zone. */
function assertTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    const message = 'must be an IANA time zone, such as Asia/Kolkata'
    throw new PillarboxError('invalid_body', `/timeZone ${message}.`, { errors: [{ path: '/timeZone', message }] })
  }
}
