import { readFile, stat, writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { CatalogueChange } from '../catalogue/diff.ts'
import { describePlaced, readCatalogueText } from '../catalogue/file.ts'
import { readyCatalogues } from '../catalogue/ready.ts'
import { eventTypesSource } from '../catalogue/types.ts'
import type { Catalogue } from '../model/catalogue.ts'
import { closest } from '../model/closest.ts'
import { errorText, SetupError } from '../model/errors.ts'
import type { IdSource } from '../model/ports.ts'
import { CATALOGUE_CHECKS, importCatalogue } from '../operate/catalogue.ts'
import type { Store } from '../store/store.ts'
import { type StoreAccess, withStore } from './with-store.ts'

export interface CatalogueIo {
  cwd: string
  write(text: string): void
  complain(text: string): void
}

/** A file that was found to be right. */
interface GivenFile {
  /** As it was named. */
  file: string
  catalogue: Catalogue
  document: string
}

const MAX_BYTES = 2 * 1024 * 1024

/** Says everything that is wrong with a file, and what is odd about it. Answers the exit code. */
export async function checkFile(file: string, io: CatalogueIo): Promise<number> {
  const given = await readGiven(file, io)
  if (!given) return 1
  io.write(`${file}: ${summary(given.catalogue)}: no problems\n`)
  return 0
}

/** Null where it cannot be used, which has then been said, a line per problem. */
async function readGiven(file: string, { cwd, complain }: CatalogueIo): Promise<GivenFile | null> {
  const path = resolve(cwd, file)
  let bytes: Buffer
  try {
    const { size } = await stat(path)
    if (size > MAX_BYTES) throw new Error(`it has ${size} bytes, and a catalogue at most ${MAX_BYTES}`)
    bytes = await readFile(path)
  } catch (error) {
    const isMissing = (error as { code?: string }).code === 'ENOENT'
    complain(`pillarbox: ${file} cannot be read: ${isMissing ? 'there is no such file' : errorText(error)}\n`)
    return null
  }
  let document: string
  try {
    document = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    complain(`pillarbox: ${file} is not UTF-8: save it in that encoding\n`)
    return null
  }
  const read = readCatalogueText(document, CATALOGUE_CHECKS)
  const name = basename(file)
  const problems = 'problems' in read ? read.problems : []
  for (const problem of problems) complain(`${describePlaced(name, problem)}\n`)
  for (const warning of read.warnings) complain(`${describePlaced(name, warning)} (warning)\n`)
  if ('problems' in read) {
    const more = read.warnings.length === 0 ? '' : ` and ${count(read.warnings.length, 'warning')}`
    complain(`pillarbox: ${count(problems.length, 'problem')}${more} in ${file}\n`)
    return null
  }
  return { file, catalogue: read.catalogue, document }
}

function summary({ eventTypes, templates }: Catalogue): string {
  return `${count(eventTypes.length, 'event type')}, ${count(templates.length, 'template')}`
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

// ── with a store ─────────────────────────────────────────────────────────────────────────────────────────────────

async function refuseUnknownTenant(store: Store, tenantId: string): Promise<void> {
  if (await store.tenants.find(tenantId)) return
  throw new SetupError(`there is no tenant "${tenantId}"`, 'make it with POST /ops/tenants, or correct --tenant')
}

export interface ImportRequest {
  file: string
  tenantId: string
  /** Do not ask. */
  isSure: boolean
  isDryRun: boolean
}

/** Where somebody can be asked; null where nobody is there to answer. */
export type Ask = ((question: string) => Promise<string>) | null

/** Shows what an import will change, asks, and does it. Answers the exit code: 1 also where it was not allowed to. */
export async function importFile(
  { file, tenantId, isSure, isDryRun }: ImportRequest,
  stores: StoreAccess,
  io: CatalogueIo & { ids: IdSource; ask: Ask },
): Promise<number> {
  const given = await readGiven(file, io)
  if (!given) return 1
  const { catalogue, document } = given
  return await withStore(stores, async (store) => {
    await refuseUnknownTenant(store, tenantId)
    const run = (dryRun: boolean) =>
      importCatalogue({ store, ids: io.ids }, tenantId, { catalogue, document, warnings: [] }, { actor: 'cli', dryRun })
    const planned = await run(true)
    const before = planned.version === 0 ? 'has no catalogue yet' : `has version ${planned.version}`
    io.write(`${file}: ${summary(catalogue)}, for the tenant ${tenantId}, which ${before}\n`)
    io.write(describeChanges(planned.changes))
    if (isDryRun) return 0
    if (!isSure && !(await isAllowed(io))) return 1
    const { version } = await run(false)
    io.write(
      version === planned.version ? `nothing to do: it is version ${version}\n` : `imported: version ${version}\n`,
    )
    return 0
  })
}

async function isAllowed({ ask, write, complain }: CatalogueIo & { ask: Ask }): Promise<boolean> {
  if (ask === null) {
    complain('pillarbox: nothing was imported: nobody is here to be asked; add --yes to import it\n')
    return false
  }
  const answer = (await ask('Import it? [y/N] ')).trim().toLowerCase()
  if (answer === 'y' || answer === 'yes') return true
  write('nothing was imported\n')
  return false
}

const SIGNS: [RegExp, string][] = [
  [/_added$/, '+'],
  [/_removed$/, '-'],
  [/_(changed|updated)$/, '~'],
  [/_(kept|left)$/, '='],
]

function describeChanges(changes: readonly CatalogueChange[]): string {
  if (changes.length === 0) return '  = changes nothing\n'
  return changes.map(({ kind, text }) => `  ${SIGNS.find(([form]) => form.test(kind))?.[1] ?? ' '} ${text}\n`).join('')
}

/** TypeScript for `publish()`, from a file or from what a tenant has. */
export async function printTypes(
  from: { file: string } | { tenantId: string; stores: StoreAccess },
  out: string | null,
  io: CatalogueIo,
): Promise<number> {
  let source: string
  if ('file' in from) {
    const given = await readGiven(from.file, io)
    if (!given) return 1
    source = eventTypesSource(given.catalogue.name, given.catalogue.eventTypes)
  } else
    source = await withStore(from.stores, async (store) => {
      await refuseUnknownTenant(store, from.tenantId)
      const [current, eventTypes] = await Promise.all([
        store.catalogue.current(from.tenantId),
        store.catalogue.eventTypes(from.tenantId),
      ])
      if (!current) throw noCatalogue(from.tenantId)
      return eventTypesSource(current.name, eventTypes)
    })
  if (out === null) io.write(source)
  else await writeFile(resolve(io.cwd, out), source)
  return 0
}

/** The document as it was last imported. */
export async function exportDocument(tenantId: string, stores: StoreAccess, { write }: CatalogueIo): Promise<number> {
  await withStore(stores, async (store) => {
    await refuseUnknownTenant(store, tenantId)
    const current = await store.catalogue.current(tenantId)
    if (!current) throw noCatalogue(tenantId)
    write(current.document.endsWith('\n') ? current.document : `${current.document}\n`)
  })
  return 0
}

function noCatalogue(tenantId: string): SetupError {
  return new SetupError(
    `the tenant ${tenantId} has no catalogue yet`,
    `import one: pillarbox catalogue import FILE --tenant ${tenantId}`,
  )
}

// ── ready-made ones ──────────────────────────────────────────────────────────────────────────────────────────────

export function listReady({ write }: CatalogueIo): number {
  for (const name of readyCatalogues.names()) {
    const read = readCatalogueText(readyCatalogues.document(name) ?? '')
    const about = 'catalogue' in read ? `${summary(read.catalogue)}, ${read.catalogue.defaultLocale}` : 'cannot be read'
    write(`${name.padEnd(12)}${about}\n`)
  }
  return 0
}

export function showReady(name: string, { write, complain }: CatalogueIo): number {
  const document = readyCatalogues.document(name)
  if (document === null) {
    const names = readyCatalogues.names()
    const meant = closest(name, names)
    complain(
      `pillarbox: there is no ready-made catalogue "${name}": ${meant ? `did you mean ${meant}?` : `there are ${names.join(', ')}`}\n`,
    )
    return 1
  }
  write(document)
  return 0
}
