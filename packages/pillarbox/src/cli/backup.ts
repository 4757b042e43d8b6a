import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { writePrivateFile } from '../config/private-file.ts'
import { errorText, SetupError } from '../model/errors.ts'
import { type CommandCall, missingFile, sqlitePath, stopOnSignal } from './call.ts'
import { progressBar, progressLines, type ShownProgress } from './progress.ts'

const MIB = 1_048_576

/** `backup`: a copy of the SQLite file, whole or not at all. Exit code 1 where it was stopped before the end. */
export async function backUp(call: CommandCall): Promise<number> {
  const { config } = await call.settle()
  const from = await sourceOf(config)
  const to = resolve(call.cwd, call.argument ?? '')
  // Only what is whole has the name that was asked for.
  const partial = `${to}.partial`
  refuseTaken(to)
  claim(partial)
  const stopping = stopOnSignal(call)
  try {
    const { backUpSqlite } = await import('../store/sqlite/backup.ts')
    const show = shownIn(call)
    const bytes = await backUpSqlite({ from, to: partial, stop: stopping.signal, onProgress: show.at })
    show.end()
    refuseTaken(to)
    renameSync(partial, to)
    flushFolder(dirname(to))
    call.stdout.write(`done: ${to}, ${inMib(bytes)} MiB, read through and whole\n${aboutKeys(config)}`)
    return 0
  } catch (error) {
    for (const left of [partial, `${partial}-journal`, `${partial}-wal`, `${partial}-shm`])
      rmSync(left, { force: true })
    if (!stopping.signal.aborted) throw asSetupError(error, to)
    call.stderr.write('pillarbox: it was stopped before the end, and nothing of it is left; run it again\n')
    return 1
  } finally {
    stopping.forget()
  }
}

async function sourceOf(config: Config): Promise<string> {
  const path = sqlitePath(config)
  if (path === null)
    throw new SetupError(
      config.databaseUrl.startsWith('sqlite:')
        ? 'a database in memory cannot be copied'
        : 'the database is PostgreSQL, which brings its own tools',
      'pg_dump --format=custom --schema=pillarbox, or pg_basebackup for the whole server; docs/runbook/restore.md says how',
    )
  if ((await missingFile(config)) !== null)
    throw new SetupError('there is no database yet', `there is no ${path}: name the server’s folder with --data-dir`)
  return path
}

function refuseTaken(to: string): void {
  if (existsSync(to)) throw new SetupError(`${to} is there already`, 'name a file that does not exist')
}

function claim(partial: string): void {
  try {
    writePrivateFile(partial, '')
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST'
      ? new SetupError(`${partial} is there`, 'another backup is under way, or was killed: then remove this file')
      : asSetupError(error, partial)
  }
}

function asSetupError(error: unknown, to: string): SetupError {
  if (error instanceof SetupError) return error
  const advice = 'look at the room on that disk, and at who may write there; "pillarbox doctor" looks at the database'
  return new SetupError(`${to} could not be written: ${errorText(error)}`, advice, error)
}

/** A new name is only there after a power cut once its folder is on the disk. */
function flushFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

function shownIn({ stdout, clock }: CommandCall): { at(done: number, total: number): void; end(): void } {
  let show: ShownProgress | null = null
  return {
    at(done, total) {
      show ??= stdout.isTerminal
        ? progressBar(stdout, total, 'pages')
        : progressLines(stdout.write, clock, `of ${total} pages`)
      show.at(done)
    },
    end: () => show?.end(),
  }
}

function inMib(bytes: number): string {
  return (bytes / MIB).toFixed(1)
}

function aboutKeys({ masterKey, dataDir }: Config): string {
  const where = masterKey === null ? `the .key files of ${dataDir}` : 'PILLARBOX_MASTER_KEY'
  return `the master key is not in it: keep ${where} as well, in another place\n`
}
