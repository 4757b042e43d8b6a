import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** A source file by its path from the top of the repository, with forward slashes. */
export type SourceFile = { path: string; text: string }

const root = path.resolve(import.meta.dirname, '../..')

/** The files that match, in the order of their paths. */
export function readFiles(patterns: readonly string[]): SourceFile[] {
  return globSync([...patterns], { cwd: root, exclude: (name) => name === 'node_modules' })
    .map((file) => file.split(path.sep).join('/'))
    .toSorted()
    .map((file) => ({ path: file, text: readFileSync(path.join(root, file), 'utf8') }))
}

/** The engine's own files by their path below its `src/`: what is published, without tests and what only tests use. */
export function engineFiles(): SourceFile[] {
  const sources = 'packages/pillarbox/src/'
  return readFiles([`${sources}**/*.ts`])
    .filter((file) => !isTestCode(file))
    .map(({ path: file, text }) => ({ path: file.slice(sources.length), text }))
}

/** A suite shared by several test files, such as a conformance suite, has no .test.ts name of its own. */
export function isTestCode(file: SourceFile): boolean {
  return /\.test\.ts$|\/fixture\.ts$/.test(file.path) || importsOf(file.text).includes('node:test')
}

/** The specifiers of static and dynamic imports and of re-exports. Statements start a line, so comments do not count. */
export function importsOf(text: string): string[] {
  const statements = text.matchAll(/^(?:import|export)\b(?:[^'"`;]*?\bfrom)?\s*['"]([^'"]+)['"]/gm)
  const calls = text.matchAll(/^(?!\s*(?:\/\/|\*|\/\*)).*\bimport\(\s*['"]([^'"]+)['"]/gm)
  return [...statements, ...calls].flatMap((match) => match[1] ?? [])
}

/** The files among `files` that each of them imports. */
export function importGraph(files: readonly SourceFile[]): Map<string, string[]> {
  const known = new Set(files.map((file) => file.path))
  return new Map(
    files.map(({ path: file, text }) => [
      file,
      importsOf(text)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => path.posix.join(path.posix.dirname(file), specifier))
        .filter((target) => known.has(target)),
    ]),
  )
}
