import { checkSchema } from '../catalogue/check-payload.ts'
import { type CatalogueChange, type CatalogueNow, changesAnything, diffCatalogue } from '../catalogue/diff.ts'
import { type PlacedError, readCatalogueText } from '../catalogue/file.ts'
import { type CatalogueChecks, parseCatalogue } from '../catalogue/parse.ts'
import type { Findings } from '../catalogue/report.ts'
import type { Catalogue } from '../model/catalogue.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import { everyRow } from '../model/page.ts'
import type { IdSource } from '../model/ports.ts'
import type { Template } from '../model/template.ts'
import { formatProblem } from '../render/body-format.ts'
import { createRenderer } from '../render/render.ts'
import { knownPaths } from '../render/render-options.ts'
import type { Store } from '../store/store.ts'

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

const renderer = createRenderer()

/** All that can be known to be wrong before an event arrives: better said now than by every notification. */
export const CATALOGUE_CHECKS: CatalogueChecks = {
  schema: checkSchema,
  template(template, type) {
    const nothing = { subject: null, body: '', providerTemplate: null }
    const problems = (['subject', 'body', 'providerTemplate'] as const).flatMap((field) => {
      const problem = renderer.problem({ ...nothing, [field]: template[field] })
      return problem === null ? [] : [{ path: `/${field}`, message: `cannot be rendered: ${problem}` }]
    })
    const formatFault = formatProblem(template.channel, template.format)
    if (formatFault !== null) problems.push({ path: '/format', message: formatFault })
    // What cannot be read has no placeholders; the rest of the template may.
    const isRead = (field: keyof typeof nothing): boolean => !problems.some(({ path }) => path === `/${field}`)
    const readable = {
      ...template,
      subject: isRead('subject') ? template.subject : null,
      body: isRead('body') ? template.body : '',
      providerTemplate: isRead('providerTemplate') ? template.providerTemplate : null,
    }
    const unknown = renderer.unknownPlaceholders(readable, knownPaths(type))
    const warnings = unknown.map(({ key, suggestion }) => ({
      path: '',
      message: `uses {{${key}}}, which the payload’s schema does not have${suggestion === null ? '' : `; did you mean {{${suggestion}}}?`}`,
    }))
    return { problems, warnings }
  },
}

/** From parsed JSON. Throws `invalid_catalogue` with everything that is wrong; paths begin with `prefix`. */
export function readCatalogue(value: unknown, prefix = ''): GivenCatalogue {
  const read = parseCatalogue(value, CATALOGUE_CHECKS)
  if (!('catalogue' in read)) throw invalid(read, prefix)
  return { ...read, document: `${JSON.stringify(value, null, 2)}\n` }
}

/** From the text of a YAML or JSON file. Messages say line and column. */
export function readCatalogueDocument(document: string, prefix = ''): GivenCatalogue {
  const read = readCatalogueText(document, CATALOGUE_CHECKS)
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
  { store, ids }: { store: Pick<Store, 'catalogue' | 'templates'>; ids: IdSource },
  tenantId: string,
  given: GivenCatalogue,
  { actor, dryRun }: { actor: string; dryRun: boolean },
): Promise<CatalogueImport> {
  const { catalogue, document, warnings } = given
  const stored = await store.catalogue.current(tenantId)
  const now = stored && (await catalogueNow(store, tenantId, stored))
  const changes = diffCatalogue(now, catalogue, await templatesOf(store, tenantId))
  const isSame = stored !== null && stored.document === document && !changesAnything(changes)
  if (dryRun || isSame) return { version: stored?.version ?? 0, changes, warnings }
  const { version } = await store.catalogue.replace(tenantId, catalogue, { document, actor, newId: ids })
  return { version, changes, warnings }
}

async function catalogueNow(
  store: Pick<Store, 'catalogue'>,
  tenantId: string,
  { name, defaultLocale, document }: { name: string; defaultLocale: string; document: string },
): Promise<CatalogueNow> {
  const [eventTypes, entities] = await Promise.all([
    store.catalogue.eventTypes(tenantId),
    store.catalogue.entities(tenantId),
  ])
  const read = readCatalogueText(document, {})
  return {
    name,
    defaultLocale,
    entities,
    eventTypes,
    sources: 'catalogue' in read ? read.catalogue.sources : { hasura: {} },
  }
}

/** All of a tenant's. An import is rare, and has at most a few thousand. */
export async function templatesOf({ templates }: Pick<Store, 'templates'>, tenantId: string): Promise<Template[]> {
  const all: Template[] = []
  for await (const template of everyRow((page) => templates.list(tenantId, {}, page))) all.push(template)
  return all
}
