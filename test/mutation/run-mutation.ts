import { type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { globalSetup, globalTeardown } from '../global-setup.ts'
import type { SourceFile } from '../house/source-files.ts'
import { seededRandom } from '../simulation/scheduler.ts'
import { filesOfRoom, importersIn, sampleLines, sourceFiles, testsFor } from './select.ts'

const HELP = `npm run mutate -- [options] [file …]

Changes the engine's source in one small way after the other (Stryker) and runs the tests that concern the changed file.
A change that no test notices survives: it is listed, and the tests have a gap there.

  file …            a source file, or lines of it: packages/pillarbox/src/dispatch/decide.ts:20-60
  --room NAME       the files of a folder of packages/pillarbox/src; may be given several times
  --sample N        of each room, only N lines of code, chosen by chance (changes within one line only)
  --seed N          which lines (default 1); the same seed chooses the same lines of the same source
  --tests N         how many test files concern one file at most, the nearest by import first (default 3)
  --concurrency N   how many changes are tried at the same time (default: one less than there are cores)
  --help

dispatch, plan, model, security and store in samples:
  npm run mutate -- --room dispatch --room plan --room model --room security --room store --sample 100`

const root = path.resolve(import.meta.dirname, '../..')

/** Where Stryker changes copies of the repository: below its root, for there the tests find node_modules. */
const COPIES = '.stryker-tmp'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Something to change and to give a score to: a room, or the files that were named. */
type Target = { name: string; files: readonly string[]; places: readonly string[] }

type Limits = { tests: number; concurrency: number }

/** A change that was tried. Lines and columns are counted from 1. */
type Mutant = { file: string; source: string; status: string; location: Location; replacement: string }
type Location = { start: Position; end: Position }
type Position = { line: number; column: number }

/** The part of Stryker's report that is read here. */
type Report = {
  files: Record<string, { source: string; mutants: { status: string; location: Location; replacement?: string }[] }>
}

/** What the user can mend: told in a line, without a stack. */
class UsageError extends Error {}

try {
  await main()
} catch (error) {
  const isUsage = error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS')
  if (!isUsage) throw error
  console.error(`${(error as Error).message}\n\n${HELP}`)
  process.exitCode = 1
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      room: { type: 'string', multiple: true, default: [] },
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      tests: { type: 'string', default: '3' },
      concurrency: { type: 'string', default: String(Math.max(1, availableParallelism() - 1)) },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  const sources = sourceFiles()
  const sample = values.sample === undefined ? undefined : number('--sample', values.sample)
  const seed = number('--seed', values.seed)
  const targets = values.room.map((room) => roomTarget(room, sources, sample, seed))
  if (positionals.length > 0) targets.push(fileTarget(positionals, sources))
  if (targets.length === 0) throw new UsageError('nothing to change: name a file, or a room with --room')
  const limits: Limits = {
    tests: number('--tests', values.tests),
    concurrency: number('--concurrency', values.concurrency),
  }

  // Stryker's processes and the tests they start inherit the addresses of the PostgreSQL server from the environment.
  await globalSetup()
  try {
    const scores: string[] = []
    for (const target of targets) scores.push(await score(target, sources, limits))
    console.log(`\n${scores.join('\n')}`)
  } finally {
    await globalTeardown()
  }
}

function roomTarget(room: string, sources: readonly SourceFile[], sample: number | undefined, seed: number): Target {
  const files = filesOfRoom(room, sources)
  if (files.length === 0)
    throw new UsageError(`--room: packages/pillarbox/src has no folder "${room}" with source files`)
  if (sample === undefined) {
    const all = files.map((file) => file.path)
    return { name: room, files: all, places: all }
  }
  const lines = sampleLines(files, sample, seededRandom(seed))
  return {
    name: `${room} (${lines.length} lines, seed ${seed})`,
    files: [...new Set(lines.map(({ file }) => file))],
    places: lines.map(({ file, line }) => `${file}:${line}-${line}`),
  }
}

function fileTarget(named: readonly string[], sources: readonly SourceFile[]): Target {
  const files = named.map((name) => {
    const file = name.replace(/:\d+-\d+$/, '')
    if (sources.some((source) => source.path === file)) return file
    throw new UsageError(`"${name}" is no source file; files are named as packages/pillarbox/src/dispatch/decide.ts`)
  })
  return { name: named.join(' '), files: [...new Set(files)], places: named }
}

/**
 * Two rounds: the nearest test of each file notices most changes and takes a second, so the others, which may take long,
 * are asked only about what survived it.
 */
async function score(target: Target, sources: readonly SourceFile[], limits: Limits): Promise<string> {
  const importers = importersIn(sources)
  const testsOf = (files: readonly string[], most: number): string[] => [
    ...new Set(files.flatMap((file) => testsFor(file, importers, most))),
  ]
  const nearest = testsOf(target.files, 1)
  console.log(`\n── ${target.name}: ${target.files.length} source files, ${nearest.length} nearest test files`)
  const mutants = await mutate(target.places, nearest, limits)
  const unnoticed = mutants.filter(isSurvivor)
  const further = testsOf([...new Set(unnoticed.map(({ file }) => file))], limits.tests)
  if (further.every((test) => nearest.includes(test))) return report(target, mutants)

  console.log(`── ${target.name}: ${unnoticed.length} survivors, ${further.length} test files`)
  const again = new Map(
    (await mutate(unnoticed.map(placeOf), further, limits)).map((mutant) => [keyOf(mutant), mutant]),
  )
  return report(
    target,
    mutants.map((mutant) => (isSurvivor(mutant) ? (again.get(keyOf(mutant)) ?? mutant) : mutant)),
  )
}

function report({ name }: Target, mutants: readonly Mutant[]): string {
  for (const mutant of mutants.filter(isSurvivor)) console.log(survivorLine(mutant))
  return scoreLine(name, mutants)
}

/** Tries every change within `places` against those of `testFiles` that run the changed code. */
async function mutate(places: readonly string[], testFiles: readonly string[], limits: Limits): Promise<Mutant[]> {
  const { files } = await runStryker({
    mutate: places,
    testRunner: 'tap',
    plugins: [fileURLToPath(import.meta.resolve('@stryker-mutator/tap-runner'))],
    tap: {
      testFiles,
      // Stryker reads TAP, which Node prints only if asked.
      nodeArgs: ['--conditions=source', '--test-reporter=tap', '--import', '{{hookFile}}', '{{testFile}}'],
      forceBail: true,
    },
    coverageAnalysis: 'perTest',
    concurrency: limits.concurrency,
    // A busy machine must not pass for a change that never ends.
    timeoutMS: 20_000,
    timeoutFactor: 3,
    dryRunTimeoutMinutes: 20,
    // Stryker rewrites tsconfig.json with an interface of the compiler that TypeScript 7 does not have; it skips a
    // file that is not there, and the tests need none.
    tsconfigFile: 'no-tsconfig.json',
    disableTypeChecks: false,
    ignorePatterns: ['bench', 'dist', 'data', COPIES],
    logLevel: 'warn',
  })
  return Object.entries(files).flatMap(([file, { source, mutants }]) =>
    mutants.map(({ status, location, replacement = '' }) => ({ file, source, status, location, replacement })),
  )
}

/**
 * Runs Stryker in a process of its own, without the export condition `source` that this one has: a package that
 * Stryker needs names files under that condition which it does not publish.
 */
async function runStryker(options: Record<string, unknown>): Promise<Report> {
  const folder = mkdtempSync(path.join(tmpdir(), 'pillarbox-mutation-'))
  const copy = path.join(COPIES, path.basename(folder))
  try {
    const config = path.join(folder, 'stryker.json')
    const report = path.join(folder, 'report.json')
    const reporters = [process.stdout.isTTY ? 'progress' : 'progress-append-only', 'json']
    writeFileSync(
      config,
      JSON.stringify({ ...options, reporters, jsonReporter: { fileName: report }, tempDirName: copy }),
    )
    const command = fileURLToPath(new URL('bin/stryker.js', import.meta.resolve('@stryker-mutator/core/package.json')))
    const stdio: StdioOptions = ['ignore', 'inherit', 'inherit']
    const child = spawn(process.execPath, [command, 'run', config], { cwd: root, detached: true, stdio })
    // Stryker's processes and its tests are a group of their own. When the user interrupts the run they end first, also
    // a test that a change has sent in circles, and then PostgreSQL is stopped as after any other run.
    const stop = (): unknown => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL')
    for (const name of SIGNALS) process.on(name, stop)
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
    for (const name of SIGNALS) process.off(name, stop)
    if (code !== 0) throw new Error(`Stryker ended early, with ${signal ?? `exit code ${code}`}`)
    return JSON.parse(readFileSync(report, 'utf8')) as Report
  } finally {
    rmSync(folder, { recursive: true })
    rmSync(path.join(root, copy), { recursive: true, force: true })
  }
}

function isSurvivor({ status }: Mutant): boolean {
  return status === 'Survived' || status === 'NoCoverage'
}

/** Where a mutant is, as Stryker takes it: columns are counted from 0 there, and the last one belongs to it. */
function placeOf({ file, location: { start, end } }: Mutant): string {
  return `${file}:${start.line}:${start.column - 1}-${end.line}:${end.column - 1}`
}

function keyOf(mutant: Mutant): string {
  return `${placeOf(mutant)} ${mutant.replacement}`
}

/** What no test noticed: where it is, what stood there and what stood there instead. */
function survivorLine({ file, source, location, replacement, status }: Mutant): string {
  const change = `${oneLine(textAt(source, location))}  →  ${oneLine(replacement)}`
  const note = status === 'NoCoverage' ? ' (no test runs it)' : ''
  return `survived  ${file}:${location.start.line}:${location.start.column}  ${change}${note}`
}

function textAt(source: string, { start, end }: Location): string {
  const lines = source.split('\n').slice(start.line - 1, end.line)
  const last = lines.length - 1
  return lines
    .map((line, index) => line.slice(index === 0 ? start.column - 1 : 0, index === last ? end.column - 1 : undefined))
    .join('\n')
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 100 ? `${line.slice(0, 97)}…` : line
}

function scoreLine(name: string, mutants: readonly Mutant[]): string {
  const count = (...statuses: string[]): number => mutants.filter(({ status }) => statuses.includes(status)).length
  const noticed = count('Killed', 'Timeout')
  const survived = count('Survived', 'NoCoverage')
  const share = noticed + survived === 0 ? '–' : `${((100 * noticed) / (noticed + survived)).toFixed(1)} %`
  return `${name}: ${share}; ${noticed} noticed (${count('Timeout')} by time), ${survived} survived, ${count('RuntimeError', 'CompileError')} did not load`
}

function number(option: string, text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new UsageError(`${option}: expected a whole number of at least 1, got "${text}"`)
  return value
}
