import { type CatalogueChange, type CatalogueNow, changesAnything, diffCatalogue } from '../catalogue/diff.ts'
import type { PlacedError } from '../catalogue/file.ts'
import type { Findings } from '../catalogue/report.ts'
import type { Catalogue } from '../model/catalogue.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import { everyRow } from '../model/page.ts'
import type { IdSource } from '../model/ports.ts'
import type { Template } from '../model/template.ts'
import type { Store } from '../store/store.ts'
import { answerOf, type Untrusted } from '../untrusted/untrusted.ts'

interface CatalogueDeps {
  untrusted: Untrusted
}

/** A catalogue that can be imported: everything about it was found to be right. */
export interface GivenCatalogue {
  catalogue: Catalogue
  /** As it was given; kept with its version. */
  document: string
  /** Legal, and probably not meant. */
  warnings: FieldError[]
}

export interface CatalogueImport {
  /** The one in force: after a dry run still the one before, 0 where there was none. */
  version: number
  changes: CatalogueChange[]
  warnings: FieldError[]
}

/** From parsed JSON. Throws `invalid_catalogue` with everything that is wrong; paths begin with `prefix`. */
export async function readCatalogue(
  { untrusted }: CatalogueDeps,
  tenantId: string,
  value: unknown,
  prefix = '',
): Promise<GivenCatalogue> {
  const [result] = await untrusted.run('parseCatalogue', [{ tenantId, value }], tenantId)
  const read = answerOf(result, (message) => ({ problems: [{ path: '', message }], warnings: [] }))
  if (!('catalogue' in read)) throw invalid(read, prefix)
  return { ...read, document: `${JSON.stringify(value, null, 2)}\n` }
}

/** From the text of a YAML or JSON file. Messages say line and column. */
export async function readCatalogueDocument(
  { untrusted }: CatalogueDeps,
  tenantId: string,
  document: string,
  prefix = '',
): Promise<GivenCatalogue> {
  const [result] = await untrusted.run('readCatalogueText', [{ tenantId, text: document }], tenantId)
  const read = answerOf(result, (message) => ({
    problems: [{ path: '', message, line: null, column: null }],
    warnings: [],
  }))
  if (!('catalogue' in read)) {
    throw invalid({ problems: read.problems.map(withPlace), warnings: read.warnings.map(withPlace) }, prefix)
  }
  return { catalogue: read.catalogue, document, warnings: read.warnings.map(withPlace) }
}

function withPlace({ path, message, line, column }: PlacedError): FieldError {
  return { path, message: line === null ? message : `${message} [line ${line}, column ${column}]` }
}

function invalid({ problems, warnings }: Findings, prefix: string): PillarboxError {
  const within = ({ path, message }: FieldError): FieldError => ({ path: `${prefix}${path}`, message })
  const errors = problems.map(within)
  const [first] = errors
  return new PillarboxError('invalid_catalogue', `${first?.path || 'The catalogue'} ${first?.message}.`, {
    errors,
    warnings: warnings.map(within),
  })
}

/**
 * Replaces a tenant's catalogue and says what that changes; with `dryRun` only says it. Repeating an import that
 * changes nothing makes no new version.
 */
export async function importCatalogue(
  { store, ids, untrusted }: CatalogueDeps & { store: Pick<Store, 'catalogue' | 'templates'>; ids: IdSource },
  tenantId: string,
  given: GivenCatalogue,
  { actor, dryRun }: { actor: string; dryRun: boolean },
): Promise<CatalogueImport> {
  const { catalogue, document, warnings } = given
  const stored = await store.catalogue.current(tenantId)
  const now = stored && (await catalogueNow({ store, untrusted }, tenantId, stored))
  const changes = diffCatalogue(now, catalogue, await templatesOf(store, tenantId))
  const isSame = stored !== null && stored.document === document && !changesAnything(changes)
  if (dryRun || isSame) return { version: stored?.version ?? 0, changes, warnings }
  const { version } = await store.catalogue.replace(tenantId, catalogue, { document, actor, newId: ids })
  return { version, changes, warnings }
}

async function catalogueNow(
  { store, untrusted }: CatalogueDeps & { store: Pick<Store, 'catalogue'> },
  tenantId: string,
  { name, defaultLocale, document }: { name: string; defaultLocale: string; document: string },
): Promise<CatalogueNow> {
  const [eventTypes, entities, domainEvents, [result]] = await Promise.all([
    store.catalogue.eventTypes(tenantId),
    store.catalogue.entities(tenantId),
    store.catalogue.domainEvents(tenantId),
    untrusted.run('readCatalogueText', [{ tenantId, text: document }], tenantId),
  ])
  const read = answerOf(result, () => ({ problems: [], warnings: [] }))
  const { sources, tenantDefaults } =
    'catalogue' in read ? read.catalogue : { sources: { hasura: {} }, tenantDefaults: {} }
  return { name, defaultLocale, tenantDefaults, entities, eventTypes, domainEvents, sources }
}

/** All of a tenant's. An import is rare, and has at most a few thousand. */
export async function templatesOf({ templates }: Pick<Store, 'templates'>, tenantId: string): Promise<Template[]> {
  const all: Template[] = []
  for await (const template of everyRow((page) => templates.list(tenantId, {}, page))) all.push(template)
  return all
}
