import path from 'node:path'

/** A source file by its path from the top of the repository, with forward slashes. */
export type SourceFile = { path: string; text: string }

/**
 * Which stage folders a stage may import besides its own. Stages that are not listed are free; these are the
 * ground the others stand on, so that they can be read, tested and replaced alone.
 */
const GROUND_STAGES: Record<string, readonly string[]> = {
  model: [],
  render: ['model'],
  channels: ['model'],
  store: ['model'],
  catalogue: ['model'],
  people: ['model'],
}

/** Says, a line each, which imports of `files` break a rule of the house. Test code may import what it likes. */
export function importViolations(files: readonly SourceFile[]): string[] {
  const known = new Set(files.map((file) => file.path))
  return files
    .filter((file) => !isTestCode(file))
    .flatMap((file) =>
      importsOf(file.text).flatMap((specifier) => {
        const complaint = complaintAbout(file.path, specifier, known)
        return complaint === undefined ? [] : [`${file.path}: import of '${specifier}' ${complaint}`]
      }),
    )
}

function isTestCode(file: SourceFile): boolean {
  // A suite shared by several test files, such as a conformance suite, has no .test.ts name of its own.
  return file.path.endsWith('.test.ts') || importsOf(file.text).includes('node:test')
}

function complaintAbout(importer: string, specifier: string, known: ReadonlySet<string>): string | undefined {
  const [, packageName, fromSource] = /^packages\/([^/]+)\/src\/(.*)$/.exec(importer) ?? []
  if (packageName === undefined || fromSource === undefined) return undefined

  if (!specifier.startsWith('.')) {
    const isAllowed = packageName !== 'client' || specifier.startsWith('node:')
    return isAllowed ? undefined : 'is not a node: builtin; the client has no dependencies'
  }

  const target = path.posix.join(path.posix.dirname(importer), specifier)
  const sources = `packages/${packageName}/src/`
  if (!target.startsWith(sources)) return `leaves ${sources}, which is all that is published`
  if (target.endsWith('.ts') ? !known.has(target) : !target.endsWith('.json')) {
    return 'names no source file; the type checker takes ./x.js for ./x.ts, Node does not'
  }

  if (isContract(target)) return undefined
  if (isContract(importer)) return isModel(target) ? undefined : 'leaves model/, which is all that a contract needs'
  const stage = folderOf(fromSource)
  const allowed = packageName === 'pillarbox' ? GROUND_STAGES[stage] : undefined
  const targetStage = folderOf(target.slice(sources.length))
  if (allowed === undefined || targetStage === stage || allowed.includes(targetStage)) return undefined
  return `leaves ${stage}/, which may import ${allowed.length === 0 ? 'no other stage' : `only ${allowed.join(', ')}/`}`
}

/**
 * The part of the store that a stage needs, stated by that stage (`plan/plan-store.ts`). It names nouns of `model/` and other
 * contracts, and whoever implements or uses it may import it, `store/` above all.
 */
function isContract(file: string): boolean {
  return /^packages\/pillarbox\/src\/(?!cli\/).*-store\.ts$/.test(file)
}

function isModel(file: string): boolean {
  return file.startsWith('packages/pillarbox/src/model/')
}

/** The first folder of a path inside `src/`; empty for a file at its top. */
function folderOf(fromSource: string): string {
  return fromSource.includes('/') ? fromSource.slice(0, fromSource.indexOf('/')) : ''
}

/** The specifiers of static and dynamic imports and of re-exports. Statements start a line, so comments do not count. */
export function importsOf(text: string): string[] {
  const statements = text.matchAll(/^(?:import|export)\b(?:[^'"`;]*?\bfrom)?\s*['"]([^'"]+)['"]/gm)
  const calls = text.matchAll(/^(?!\s*(?:\/\/|\*|\/\*)).*\bimport\(\s*['"]([^'"]+)['"]/gm)
  return [...statements, ...calls].flatMap((match) => match[1] ?? [])
}
