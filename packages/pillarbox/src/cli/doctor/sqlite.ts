import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sqlitePath } from '../call.ts'
import { checkMissing, checkRoom, lookInto } from './files.ts'
import { type CheckResult, type DoctorDeps, limitsOf, ok, warn } from './finding.ts'
import { checkStore } from './store.ts'

export async function checkSqlite(deps: DoctorDeps): Promise<CheckResult | CheckResult[]> {
  const path = sqlitePath(deps.config)
  if (path === null) return warn('in memory', 'everything is lost at the end of the process')
  const missing = await checkMissing(
    path,
    (existing) => `let this user write to ${existing}, or choose another with --database-url or --data-dir`,
  )
  if (missing) return missing
  const file = await lookInto(path)
  if ('found' in file) return { state: 'fail', ...file }
  return [
    ok(`SQLite ${file.version}, ${path}, sound`),
    ...(await checkFolder(deps, path)),
    ...(await checkLog(deps, path)),
    ...(await checkStore(deps)),
  ]
}

/** Room where the file is, unless the data folder has told of it. */
async function checkFolder(deps: DoctorDeps, path: string): Promise<CheckResult[]> {
  const folder = dirname(path)
  return folder === deps.config.dataDir ? [] : [{ ...(await checkRoom(deps, folder, folder)), subject: 'disk' }]
}

async function checkLog(deps: DoctorDeps, path: string): Promise<CheckResult[]> {
  const size = await stat(`${path}-wal`).then(
    (found) => found.size,
    () => 0,
  )
  if (size <= limitsOf(deps).largeWalBytes) return []
  const found = `${path}-wal has grown to ${Math.ceil(size / 1024 / 1024)} MiB`
  const advice =
    'somebody reads in one long transaction, which keeps it from shrinking: end it, or start the server again'
  return [{ subject: 'log', ...warn(found, advice) }]
}
