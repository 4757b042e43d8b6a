import { readFile, stat, writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { CatalogueChange } from '../catalogue/diff.ts'
import { describePlaced, readCatalogueText } from '../catalogue/file.ts'
import { readyCatalogues } from '../catalogue/ready.ts'
import { eventTypesSource } from '../catalogue/types.ts'
import { CLI } from '../model/audit.ts'
import type { Catalogue } from '../model/catalogue.ts'
import { closest } from '../model/closest.ts'
import { errorText, SetupError } from '../model/errors.ts'
import { importCatalogue } from '../operate/catalogue.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import type { Store } from '../store/store.ts'
import type { StoredCatalogue } from '../tenant/catalogue-store.ts'
import { answerOf, createUntrustedInProcess } from '../untrusted/untrusted.ts'
import { type CommandCall, refuseUnknownTenant, withStore } from './call.ts'

const MAX_BYTES = 2 * 1024 * 1024

/** A command reads its user's own files. */
const untrusted = createUntrustedInProcess()

/** Says everything that is wrong with a file, and what is odd about it. Answers the exit code, as each of these. */
export async function checkFile(call: CommandCall): Promise<number> {
  const given = await readGiven(call)
  if (!given) return 1
  call.stdout.write(`${call.argument}: ${summary(given.catalogue)}: no problems\n`)
  return 0
}

/** The file that the command names; null where it cannot be used, which has then been said, a line per problem. */
async function readGiven({
  cwd,
  argument: file = '',
  stderr,
}: CommandCall): Promise<{ catalogue: Catalogue; document: string } | null> {
  const path = resolve(cwd, file)
  const complain = stderr.write
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
  const [result] = await untrusted.run('readCatalogueText', [{ tenantId: '', text: document }], '')
  const read = answerOf(result, (message) => ({
    problems: [{ path: '', message, line: null, column: null }],
    warnings: [],
  }))
  const name = basename(file)
  const problems = 'problems' in read ? read.problems : []
  for (const problem of problems) complain(`${describePlaced(name, problem)}\n`)
  for (const warning of read.warnings) complain(`${describePlaced(name, warning)} (warning)\n`)
  if ('problems' in read) {
    const more = read.warnings.length === 0 ? '' : ` and ${count(read.warnings.length, 'warning')}`
    complain(`pillarbox: ${count(problems.length, 'problem')}${more} in ${file}\n`)
    return null
  }
  return { catalogue: read.catalogue, document }
}

function summary({ eventTypes, domainEvents, templates }: Catalogue): string {
  const names = Object.keys(domainEvents).length
  const domain = names === 0 ? '' : `, ${count(names, 'domain event')}`
  return `${count(eventTypes.length, 'event type')}${domain}, ${count(templates.length, 'template')}`
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

/** Shows what an import will change, asks, and does it. Exit code 1 also where it was not allowed to. */
export async function importFile(call: CommandCall): Promise<number> {
  const given = await readGiven(call)
  if (!given) return 1
  const { options, clock } = call
  const { write } = call.stdout
  const tenantId = String(options['tenant'])
  const ids = createIdSource(clock, systemRandom())
  return await withStore(call, async (store) => {
    await refuseUnknownTenant(store, tenantId)
    const run = (dryRun: boolean) =>
      importCatalogue({ store, ids, untrusted }, tenantId, { ...given, warnings: [] }, { actor: CLI, dryRun })
    const planned = await run(true)
    const before = planned.version === 0 ? 'has no catalogue yet' : `has version ${planned.version}`
    write(`${call.argument}: ${summary(given.catalogue)}, for the tenant ${tenantId}, which ${before}\n`)
    write(describeChanges(planned.changes))
    if (options['dryRun'] === true) return 0
    if (options['yes'] !== true && !(await isAllowed(call))) return 1
    const { version } = await run(false)
    write(version === planned.version ? `nothing to do: it is version ${version}\n` : `imported: version ${version}\n`)
    return 0
  })
}

async function isAllowed({ stdin, stdout, stderr }: CommandCall): Promise<boolean> {
  if (!stdin.isTerminal) {
    stderr.write('pillarbox: nothing was imported: nobody is here to be asked; add --yes to import it\n')
    return false
  }
  const answer = (await stdin.ask('Import it? [y/N] ')).trim().toLowerCase()
  if (answer === 'y' || answer === 'yes') return true
  stdout.write('nothing was imported\n')
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
export async function printTypes(call: CommandCall): Promise<number> {
  const { argument, options, cwd, stdout } = call
  const { tenant, out } = options
  if ((argument === undefined) === (tenant === undefined)) call.refuse('name either a file or a --tenant')
  let source: string
  if (argument === undefined)
    source = await withStore(call, async (store) => {
      const { name } = await currentCatalogue(store, String(tenant))
      const { catalogue } = store
      const id = String(tenant)
      return eventTypesSource(name, await catalogue.eventTypes(id), await catalogue.domainEvents(id))
    })
  else {
    const given = await readGiven(call)
    if (!given) return 1
    const { name, eventTypes, domainEvents } = given.catalogue
    source = eventTypesSource(name, eventTypes, domainEvents)
  }
  if (out === undefined) stdout.write(source)
  else await writeFile(resolve(cwd, String(out)), source)
  return 0
}

/** Prints the document as it was last imported. */
export async function exportDocument(call: CommandCall): Promise<number> {
  const { document } = await withStore(call, (store) => currentCatalogue(store, String(call.options['tenant'])))
  call.stdout.write(document.endsWith('\n') ? document : `${document}\n`)
  return 0
}

async function currentCatalogue(store: Store, tenantId: string): Promise<StoredCatalogue> {
  await refuseUnknownTenant(store, tenantId)
  const current = await store.catalogue.current(tenantId)
  if (current) return current
  throw new SetupError(
    `the tenant ${tenantId} has no catalogue yet`,
    `import one: pillarbox catalogue import FILE --tenant ${tenantId}`,
  )
}

export async function listReady({ stdout }: CommandCall): Promise<number> {
  for (const name of readyCatalogues.names()) {
    const read = readCatalogueText(readyCatalogues.document(name) ?? '')
    const about = 'catalogue' in read ? `${summary(read.catalogue)}, ${read.catalogue.defaultLocale}` : 'cannot be read'
    stdout.write(`${name.padEnd(12)}${about}\n`)
  }
  return 0
}

export async function showReady({ argument: name = '', stdout, stderr }: CommandCall): Promise<number> {
  const document = readyCatalogues.document(name)
  if (document !== null) {
    stdout.write(document)
    return 0
  }
  const names = readyCatalogues.names()
  const meant = closest(name, names)
  stderr.write(
    `pillarbox: there is no ready-made catalogue "${name}": ${meant ? `did you mean ${meant}?` : `there are ${names.join(', ')}`}\n`,
  )
  return 1
}
