import { type Catalogue, parseCatalogue } from '../model/catalogue.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import type { IdSource } from '../model/ports.ts'
import { createRenderer } from '../render/render.ts'
import { hashKey, makeKey } from '../security/keys.ts'
import type { ApiKey, Store, Tenant } from '../store/store.ts'

/** A ready-made catalogue by name, as parsed YAML or JSON; `null` where there is none of that name. */
export type ReadyMadeCatalogue = (name: string) => unknown

/** What an issued key looks like to the one it is issued to: the only time `key` is seen. */
export interface IssuedKey extends Omit<ApiKey, 'createdAt' | 'revokedAt'> {
  key: string
}

/**
 * Makes a tenant with its first admin key and, where given, its catalogue. Everything is checked before anything is
 * written; should the process die in between, the tenant exists and an ops key can issue what is missing.
 */
export async function provisionTenant(
  deps: { store: Pick<Store, 'tenants' | 'keys' | 'catalogue'>; ids: IdSource; readyMade: ReadyMadeCatalogue },
  { catalogue: given, ...tenant }: Omit<Tenant, 'createdAt'> & { catalogue: unknown },
): Promise<{ tenant: Tenant; adminKey: string }> {
  const { store, ids, readyMade } = deps
  const catalogue = given === undefined ? null : readCatalogue(resolve(given, readyMade), '/catalogue')
  assertTimeZone(tenant.timeZone)
  if (!(await store.tenants.insert(tenant)))
    throw new PillarboxError('already_exists', `There is a tenant "${tenant.id}".`)
  const admin = await issueKey({ store, ids }, { tenantId: tenant.id, name: 'admin', role: 'admin' })
  if (catalogue) await store.catalogue.replace(tenant.id, catalogue, ids)
  const stored = await store.tenants.find(tenant.id)
  if (!stored) throw new PillarboxError('internal', `tenant ${tenant.id} is gone right after it was made`)
  return { tenant: stored, adminKey: admin.key }
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

/** Throws `invalid_catalogue` with everything that is wrong; paths begin with `prefix`. */
export function readCatalogue(value: unknown, prefix = ''): Catalogue {
  const read = parseCatalogue(value)
  const problems = 'catalogue' in read ? unreadable(read.catalogue) : read.problems
  if ('catalogue' in read && problems.length === 0) return read.catalogue
  const errors: FieldError[] = problems.map(({ path, message }) => ({ path: `${prefix}${path}`, message }))
  const [first] = errors
  throw new PillarboxError('invalid_catalogue', `${first?.path || 'The catalogue'} ${first?.message}.`, { errors })
}

const renderer = createRenderer()

/** Templates that no event could be rendered with: better said now than by every notification. */
function unreadable({ templates }: Catalogue): FieldError[] {
  return templates.flatMap((template) => {
    const { eventType, channel, locale } = template
    const problem = renderer.problem(template)
    return problem === null
      ? []
      : [{ path: `/eventTypes/${eventType}/templates`, message: `(${channel}, ${locale}): ${problem}` }]
  })
}

function resolve(given: unknown, readyMade: ReadyMadeCatalogue): unknown {
  if (typeof given !== 'string') return given
  const found = readyMade(given)
  if (found !== null && found !== undefined) return found
  const message = 'is not the name of a ready-made catalogue'
  throw new PillarboxError('invalid_catalogue', `"${given.slice(0, 63)}" ${message}.`, {
    errors: [{ path: '/catalogue', message }],
  })
}

/** Throws `invalid_body` unless the runtime knows the zone. */
export function assertTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    const message = 'must be an IANA time zone, such as Asia/Kolkata'
    throw new PillarboxError('invalid_body', `/timeZone ${message}.`, { errors: [{ path: '/timeZone', message }] })
  }
}
