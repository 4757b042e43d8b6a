import { constants } from 'node:fs'
import { access, lstat, mkdir, readdir, rm, rmdir, stat, statfs, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { SANDBOX_SCHEMA_VERSION } from '../../channels/sandbox/vendor.ts'
import { readKeyFiles } from '../../config/key-files.ts'
import { isMasterKeyExposed, masterKeyPath, readMasterKey } from '../../config/master-key.ts'
import { sqlitePath } from '../call.ts'
import { type CheckResult, type DoctorDeps, errorWords, fail, limitsOf, ok, warn } from './finding.ts'

export async function checkDataDir(deps: DoctorDeps): Promise<CheckResult> {
  const { dataDir } = deps.config
  const missing = await checkMissing(
    dataDir,
    (existing) => `make it, or let this user write to ${existing}, or choose another with --data-dir`,
  )
  if (missing) return missing
  if (!(await stat(dataDir)).isDirectory()) return fail(`${dataDir} is not a folder`, 'choose another with --data-dir')
  const probe = join(dataDir, `.doctor-${process.pid}`)
  try {
    await writeFile(probe, 'x', { flag: 'wx', flush: true })
  } catch (error) {
    return fail(
      `${dataDir} cannot be written: ${errorWords(error)}`,
      'let this user write to it, or make room on its disk',
    )
  } finally {
    await rm(probe, { force: true })
  }
  return await checkRoom(deps, dataDir, dataDir)
}

/** Whether there is room on the disk of a folder; `name` is what is kept there. */
export async function checkRoom(deps: DoctorDeps, name: string, folder: string): Promise<CheckResult> {
  const { lowSpaceBytes, noSpaceBytes } = limitsOf(deps)
  const { bavail, bsize } = await statfs(folder)
  const bytes = bavail * bsize
  const free = `${Math.floor(bytes / 1024 / 1024)} MiB free`
  if (bytes < noSpaceBytes)
    return fail(`${name} has only ${free}`, 'make room on its disk: soon nothing can be written')
  return bytes < lowSpaceBytes ? warn(`${name} has only ${free}`, 'make room on its disk') : ok(`${name} (${free})`)
}

/** What to say of something that does not exist yet; null where it does. */
export async function checkMissing(path: string, advice: (existing: string) => string): Promise<CheckResult | null> {
  const existing = await nearestExisting(path)
  if (existing === path) return null
  return (await canMake(path, existing))
    ? ok(`${path} will be made on first start`)
    : fail(`${path} does not exist and cannot be made`, advice(existing))
}

/**
 * Whether what is missing of `path` below `existing` can be made. It is tried: permission to write says nothing of a file
 * system that takes no folders, such as /proc, or is read-only.
 */
async function canMake(path: string, existing: string): Promise<boolean> {
  // A link that leads nowhere bears the name all the same.
  if (await succeeds(lstat(join(existing, relative(existing, path).split(sep)[0] ?? '')))) return false
  const probe = join(existing, `.doctor-${process.pid}`)
  return await succeeds(mkdir(probe).then(() => rmdir(probe)))
}

async function nearestExisting(path: string): Promise<string> {
  return path === dirname(path) || (await succeeds(stat(path))) ? path : await nearestExisting(dirname(path))
}

function succeeds(look: Promise<unknown>): Promise<boolean> {
  return look.then(
    () => true,
    () => false,
  )
}

export async function checkMasterKey({ config }: DoctorDeps): Promise<CheckResult | CheckResult[]> {
  const path = masterKeyPath(config.dataDir)
  let isThere: boolean
  try {
    isThere = config.masterKey !== null || (await readMasterKey(path)) !== null
  } catch (error) {
    // What holds no key says so itself, with its path; the system's own errors do not.
    const isOurs = (error as NodeJS.ErrnoException).code === undefined
    const problem = isOurs ? errorWords(error) : `${path} cannot be read: ${errorWords(error)}`
    return fail(problem, 'let this user read it, or restore it from your backup')
  }
  if (!isThere) return ok(`${path} will be made on first start`)
  const others = (await readKeyFiles(config.dataDir)).map((file) => file.path)
  const exposed: CheckResult[] = []
  for (const file of [...(config.masterKey === null ? [path] : []), ...others])
    if (await isMasterKeyExposed(file)) exposed.push(warn(`${file} can be read by other users`, `chmod 600 ${file}`))
  return exposed.length > 0 ? exposed : ok(config.masterKey === null ? path : 'configured')
}

/** Other files that hold secrets, or what people were written: who but their owner may read them. */
export async function checkSecrets({ config }: DoctorDeps): Promise<CheckResult[]> {
  const names = await readdir(config.dataDir).catch((): string[] => [])
  const keys = names.filter((name) => /^ops-.*\.key$/.test(name)).map((name) => join(config.dataDir, name))
  const databases = [sqlitePath(config), join(config.dataDir, 'sandbox.db')].filter((path) => path !== null)
  const files = await asyncFilter([...keys, ...databases], (path) => succeeds(access(path)))
  const exposed = await asyncFilter(files, isMasterKeyExposed)
  const left = keys.map((path) =>
    warn(`${path} holds an ops key in clear`, 'move it to where you keep secrets, and remove the file'),
  )
  const open = exposed.map((path) => warn(`${path} can be read by other users`, `chmod 600 ${path}`))
  return [...open, ...left]
}

async function asyncFilter<T>(items: readonly T[], test: (item: T) => Promise<boolean>): Promise<T[]> {
  const verdicts = await Promise.all(items.map(test))
  return items.filter((_, i) => verdicts[i])
}

/** What the sandbox keeps is no loss, but a start does not do without it. Nothing to say where it is not there yet. */
export async function checkSandbox({ config: { dataDir } }: DoctorDeps): Promise<CheckResult | CheckResult[]> {
  const path = join(dataDir, 'sandbox.db')
  if ((await nearestExisting(path)) !== path) return []
  const file = await lookInto(path)
  const advice = 'move it away: it only holds what the sandbox providers were given'
  if ('found' in file) return fail(file.found, advice)
  if (file.userVersion > SANDBOX_SCHEMA_VERSION) return fail(`${path} was written by a newer version`, advice)
  return ok(`${path}, sound`)
}

const SQLITE_CORRUPT = 11

/** A SQLite file that is there: of which versions it is, or why it cannot be used. */
export async function lookInto(
  path: string,
): Promise<{ version: string; userVersion: number } | { found: string; advice: string }> {
  if ((await stat(path)).isDirectory()) return { found: `${path} is a folder`, advice: 'name a file, not a folder' }
  if (!(await succeeds(access(path, constants.R_OK | constants.W_OK))))
    return { found: `${path} is closed to this user`, advice: 'let this user read and write it' }
  const { DatabaseSync } = await import('node:sqlite')
  const db = new DatabaseSync(path, { readOnly: true, timeout: 2_000 })
  try {
    const version = String(db.prepare('select sqlite_version() as version').get()?.['version'])
    const verdict = String(db.prepare('pragma quick_check(1)').get()?.['quick_check'])
    if (verdict !== 'ok')
      return { found: `${path} is damaged: ${verdict.replaceAll('\n', ' ')}`, advice: 'restore it from your backup' }
    return { version, userVersion: Number(db.prepare('pragma user_version').get()?.['user_version']) }
  } catch (error) {
    // Bad damage keeps the check itself from reading on.
    const isDamaged = ((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_CORRUPT
    const found = `${path} ${isDamaged ? 'is damaged' : 'cannot be read'}: ${errorWords(error)}`
    return { found, advice: 'if it is not merely in use, restore it from your backup' }
  } finally {
    db.close()
  }
}
