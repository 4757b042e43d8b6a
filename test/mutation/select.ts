import path from 'node:path'
import type { Random } from '../../packages/pillarbox/src/model/ports.ts'
import { importGraph, readFiles, type SourceFile } from '../house/source-files.ts'

const ENGINE = 'packages/pillarbox/src/'

/** Where the promises of a whole folder are tested, however far from a file of that folder; the first match counts. */
const TESTS_OF_FOLDERS: readonly (readonly [folder: string, test: string])[] = [
  [`${ENGINE}store/postgres/`, `${ENGINE}store/postgres/conformance.test.ts`],
  [`${ENGINE}store/`, `${ENGINE}store/sqlite/conformance.test.ts`],
]

/** The packages' files and the conformance suite, tests among them. */
export function sourceFiles(): SourceFile[] {
  return readFiles(['packages/*/src/**/*.ts', 'test/conformance/**/*.ts'])
}

/** The source files of a stage's folder, such as `dispatch`, without their tests. */
export function filesOfRoom(room: string, files: readonly SourceFile[]): SourceFile[] {
  return files.filter((file) => file.path.startsWith(`${ENGINE}${room}/`) && !isTest(file.path))
}

/** Which files of a tree import a file when they run, by that file. */
export type Importers = ReadonlyMap<string, readonly string[]>

/** Reads the imports of `files`. Imports of types alone do not count: they run nothing. */
export function importersIn(files: readonly SourceFile[]): Importers {
  const importers = new Map(files.map((file): [string, string[]] => [file.path, []]))
  const running = files.map(({ path: file, text }) => ({ path: file, text: text.replace(TYPES_ALONE, '') }))
  for (const [importer, imported] of importGraph(running)) {
    for (const file of new Set(imported)) importers.get(file)?.push(importer)
  }
  return importers
}

const TYPES_ALONE = /^(?:import|export) type\b[^'"`;]*?['"][^'"]+['"]/gm

/**
 * The tests that concern `file`, nearest first and at most `most` of them: the test beside it, those that import it
 * and those that import a file that imports it. Where there are none, the search goes on step by step until it meets
 * some. At each distance the tests of the file's own folder come first.
 */
export function testsFor(file: string, importers: Importers, most: number): string[] {
  const beside = file.replace(/\.ts$/, '.test.ts')
  const ofFolder = TESTS_OF_FOLDERS.find(([folder]) => file.startsWith(folder))?.[1]
  const tests = [ofFolder, beside].filter((test) => test !== undefined && importers.has(test))
  const seen = new Set([file])
  let ring: readonly string[] = [file]
  for (let step = 0; ring.length > 0 && (step <= 1 || tests.length === 0); step++) {
    ring = ring.flatMap((imported) => importers.get(imported) ?? []).filter((importer) => isNew(seen, importer))
    tests.push(
      ...ring.filter(isTest).toSorted((a, b) => strangeness(a, file) - strangeness(b, file) || (a < b ? -1 : 1)),
    )
  }
  return [...new Set(tests)].filter((test) => test !== undefined).slice(0, most)
}

/** A place that Stryker may change: a line of a file, counted from 1. */
export type Line = { file: string; line: number }

/** `count` lines of code of `files`, chosen by chance: the same lines for the same files and the same seed. */
export function sampleLines(files: readonly SourceFile[], count: number, random: Random): Line[] {
  const lines = files.toSorted((a, b) => (a.path < b.path ? -1 : 1)).flatMap(linesOfCode)
  const drawn = lines.map((line) => ({ line, lot: random() })).toSorted((a, b) => a.lot - b.lot)
  return drawn.slice(0, count).map(({ line }) => line)
}

/** Lines that say something to the machine: neither empty nor a comment, an import or a bracket alone. */
function linesOfCode({ path: file, text }: SourceFile): Line[] {
  return text
    .split('\n')
    .map((line, index) => ({ file, line: index + 1, text: line.trim() }))
    .filter(({ text }) => /\w/.test(text) && !/^(?:\/\/|\/?\*|import\b|(?:export )?(?:type|interface)\b)/.test(text))
    .map(({ file, line }) => ({ file, line }))
}

function strangeness(test: string, file: string): number {
  return path.posix.dirname(test) === path.posix.dirname(file) ? 0 : 1
}

function isTest(file: string): boolean {
  return file.endsWith('.test.ts')
}

function isNew(seen: Set<string>, file: string): boolean {
  return seen.size < seen.add(file).size
}
