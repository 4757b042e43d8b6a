import assert from 'node:assert/strict'
import path from 'node:path'
import { describe, it } from 'node:test'
import { importsOf, isTestCode, readFiles, type SourceFile } from './source-files.ts'

/** Says, a line each, which imports of `files` could not be published. Test code may import what it likes. */
function importViolations(files: readonly SourceFile[]): string[] {
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

function complaintAbout(importer: string, specifier: string, known: ReadonlySet<string>): string | undefined {
  const [sources, packageName] = /^packages\/([^/]+)\/src\//.exec(importer) ?? []
  if (sources === undefined) return undefined

  if (!specifier.startsWith('.')) {
    const isAllowed = packageName !== 'client' || specifier.startsWith('node:')
    return isAllowed ? undefined : 'is not a node: builtin; the client has no dependencies'
  }

  const target = path.posix.join(path.posix.dirname(importer), specifier)
  if (!target.startsWith(sources)) return `leaves ${sources}, which is all that is published`
  // The console is bundled, with its styles and pictures.
  const others = packageName === 'console' ? /\.(?:css|svg)$/ : /\.json$/
  if (/\.tsx?$/.test(target) ? !known.has(target) : !others.test(target))
    return 'names no source file; the type checker takes ./x.js for ./x.ts, Node does not'
  return undefined
}

describe('imports', () => {
  it('name files that are published, everywhere', () => {
    const violations = importViolations(readFiles(['packages/*/src/**/*.ts', 'packages/*/src/**/*.tsx']))

    assert.deepEqual(violations, [], `\n${violations.join('\n')}`)
  })

  it('are refused where they could not be published', () => {
    const inFile = (from: string, specifier: string): string =>
      importViolations([
        { path: `packages/${from}`, text: `import { x } from '${specifier}'` },
        { path: 'packages/pillarbox/src/plan/plan.ts', text: '' },
      ]).join()

    assert.match(inFile('pillarbox/src/plan/a.ts', './plan.js'), /names no source file/)
    assert.match(inFile('pillarbox/src/plan/a.ts', '../../../../test/x.ts'), /leaves packages\/pillarbox\/src/)
    assert.match(inFile('client/src/a.ts', 'pg'), /no dependencies/)
    assert.equal(inFile('pillarbox/src/render/a.ts', '../plan/plan.ts'), '')
    assert.equal(inFile('client/src/a.ts', 'node:crypto'), '')
  })

  it('are found in every form, and not in comments', () => {
    const text = [
      `import 'a'`,
      `import {\n  b,\n} from 'b'`,
      `export type { C } from "c"`,
      `const d = await import('d')`,
      `// import 'no'`,
      `/** like import('no') */`,
      `export const sentence = 'taken from "no"'`,
    ]

    assert.deepEqual(importsOf(text.join('\n')).toSorted(), ['a', 'b', 'c', 'd'])
  })
})
