import { readyCatalogues } from '../catalogue/ready.ts'
import { OPS_TENANT } from '../model/alert.ts'
import { SYSTEM } from '../model/audit.ts'
import { isPillarboxError } from '../model/errors.ts'
import type { IdSource, Logger } from '../model/ports.ts'
import type { Store } from '../store/store.ts'
import type { Untrusted } from '../untrusted/untrusted.ts'
import { importCatalogue, readCatalogueDocument } from './catalogue.ts'
import { provisionTenant } from './tenants.ts'

interface OpsTenantDeps {
  store: Pick<Store, 'tenants' | 'keys' | 'catalogue' | 'templates'>
  ids: IdSource
  untrusted: Untrusted
  logger: Logger
}

/**
 * The tenant that alerts are sent from, with its catalogue. Made once; of several processes that start together, each finds
 * what another has already made, or makes what one that died did not come to. A catalogue that somebody gave it is left as it
 * is.
 */
export async function ensureOpsTenant(deps: OpsTenantDeps): Promise<void> {
  const { store, logger } = deps
  if (!(await store.tenants.find(OPS_TENANT))) await make(deps)
  if (!(await store.catalogue.current(OPS_TENANT))) await importOps(deps)
  if (!(await store.catalogue.eventType(OPS_TENANT, 'alert.raised')))
    logger.warn(
      { tenantId: OPS_TENANT },
      'alerts cannot be sent: the catalogue of the tenant "ops" has no alert.raised. Import the ready-made catalogue ops into it',
    )
}

async function importOps(deps: OpsTenantDeps): Promise<void> {
  const given = await readCatalogueDocument(deps, OPS_TENANT, readyCatalogues.document('ops') ?? '')
  await importCatalogue(deps, OPS_TENANT, given, { actor: SYSTEM, dryRun: false })
}

async function make(deps: OpsTenantDeps): Promise<void> {
  const tenant = { id: OPS_TENANT, name: 'Operations', settings: {}, catalogue: 'ops' }
  try {
    await provisionTenant({ ...deps, readyMade: readyCatalogues }, tenant, SYSTEM)
    deps.logger.info({ tenantId: OPS_TENANT }, 'made the tenant that alerts are sent from: give it accounts')
  } catch (error) {
    if (!isPillarboxError(error, 'already_exists')) throw error
  }
}
