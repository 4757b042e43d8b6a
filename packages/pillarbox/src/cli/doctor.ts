import { constants } from 'node:fs'
import { access, lstat, mkdir, rm, rmdir, stat, statfs, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join, relative, sep } from 'node:path'
import { SANDBOX_SCHEMA_VERSION } from '../channels/sandbox/vendor.ts'
import type { Config } from '../config/config.ts'
import { readKeyFiles, readOtherKeys } from '../config/key-files.ts'
import { isMasterKeyExposed, masterKeyPath, readMasterKey } from '../config/master-key.ts'
import type { Logger } from '../model/ports.ts'
import { ROTATION_TIMING } from '../operate/rotate-keys.ts'
import { systemClock } from '../runtime/system.ts'
import { MASTER_KEY, readKeyState } from '../security/key-state.ts'
import { keyIdOf } from '../security/keyring.ts'
import { createOutbound } from '../security/outbound.ts'
import type { Store } from '../store/store.ts'
import { type CommandCall, describeSchema, sqlitePath } from './call.ts'
import type { EngineModule } from './engine.ts'
import { adviceForNode } from './node-version.ts'

export interface Finding {
  state: 'ok' | 'warn' | 'fail'
  subject: string
  found: string
  /** What to do about it. */
  advice?: string
}

export interface DoctorDeps {
  config: Config
  warnings: readonly string[]
  logger: Logger
  openStore: EngineModule['openStore']
  nodeVersion: string
  now(): number
}

/** `doctor`: says what it found. Answers 1 where something would keep a start from working. */
export async function runDoctor(call: CommandCall): Promise<number> {
  const settled = await call.settle()
  const { openStore } = await call.loadEngine()
  const findings = await examine({ ...settled, openStore, nodeVersion: call.nodeVersion, now: call.clock.now })
  call.stdout.write(describeFindings(findings))
  return findings.some(({ state }) => state === 'fail') ? 1 : 0
}

/** What was found of a subject, which is the check's own unless another is named. */
type CheckResult = Omit<Finding, 'subject'> & { subject?: string }

const ok = (found: string): CheckResult => ({ state: 'ok', found })
const warn = (found: string, advice?: string): CheckResult => ({
  state: 'warn',
  found,
  ...(advice !== undefined && { advice }),
})
const fail = (found: string, advice?: string): CheckResult => ({
  state: 'fail',
  found,
  ...(advice !== undefined && { advice }),
})

/** Every check with its subject, in the order of the answer. A check that throws has failed. */
const CHECKS: readonly [string, (deps: DoctorDeps) => Promise<CheckResult | CheckResult[]>][] = [
  ['node', checkNode],
  ['config', checkWarnings],
  ['data folder', checkDataDir],
  ['master key', checkMasterKey],
  ['database', checkDatabase],
  ['sandbox', checkSandbox],
  ['port', checkPort],
]

/** Looks at everything that a start needs and changes nothing. Never throws: what cannot be looked at is a finding. */
export async function examine(deps: DoctorDeps): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [subject, check] of CHECKS) {
    const verdicts = [await check(deps).catch((error: unknown) => fail(textOf(error)))].flat()
    findings.push(...verdicts.map((verdict) => ({ subject, ...verdict })))
  }
  return findings
}

/** One line each, with what to do below where there is something to do. */
export function describeFindings(findings: readonly Finding[]): string {
  const lines = findings.map(({ state, subject, found, advice }) => {
    const line = `${state.padEnd(5)} ${subject.padEnd(12)} ${found}`
    return advice === undefined ? line : `${line}\n${' '.repeat(19)}→ ${advice}`
  })
  return `${lines.join('\n')}\n`
}

async function checkNode({ nodeVersion }: DoctorDeps): Promise<CheckResult> {
  const advice = adviceForNode(nodeVersion)
  return advice === null ? ok(nodeVersion) : fail(nodeVersion, advice)
}

async function checkWarnings({ warnings }: DoctorDeps): Promise<CheckResult[]> {
  return warnings.length === 0 ? [ok('every setting is valid')] : warnings.map((warning) => warn(warning))
}

const LOW_SPACE_BYTES = 500 * 1024 * 1024

async function checkDataDir({ config: { dataDir } }: DoctorDeps): Promise<CheckResult> {
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
    return fail(`${dataDir} cannot be written: ${textOf(error)}`, 'let this user write to it, or make room on its disk')
  } finally {
    await rm(probe, { force: true })
  }
  const { bavail, bsize } = await statfs(dataDir)
  const free = `${Math.floor((bavail * bsize) / 1024 / 1024)} MiB free`
  if (bavail * bsize < LOW_SPACE_BYTES) return warn(`${dataDir} has only ${free}`, 'make room on its disk')
  return ok(`${dataDir} (${free})`)
}

/** What to say of something that does not exist yet; null where it does. */
async function checkMissing(path: string, advice: (existing: string) => string): Promise<CheckResult | null> {
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

async function checkMasterKey({ config }: DoctorDeps): Promise<CheckResult | CheckResult[]> {
  const path = masterKeyPath(config.dataDir)
  let isThere: boolean
  try {
    isThere = config.masterKey !== null || (await readMasterKey(path)) !== null
  } catch (error) {
    // What holds no key says so itself, with its path; the system's own errors do not.
    const isOurs = (error as NodeJS.ErrnoException).code === undefined
    const problem = isOurs ? textOf(error) : `${path} cannot be read: ${textOf(error)}`
    return fail(problem, 'let this user read it, or restore it from your backup')
  }
  if (!isThere) return ok(`${path} will be made on first start`)
  const others = (await readKeyFiles(config.dataDir)).map((file) => file.path)
  const exposed: CheckResult[] = []
  for (const file of [...(config.masterKey === null ? [path] : []), ...others])
    if (await isMasterKeyExposed(file)) exposed.push(warn(`${file} can be read by other users`, `chmod 600 ${file}`))
  return exposed.length > 0 ? exposed : ok(config.masterKey === null ? path : 'configured')
}

function checkDatabase(deps: DoctorDeps): Promise<CheckResult | CheckResult[]> {
  return deps.config.databaseUrl.startsWith('sqlite:') ? checkSqlite(deps) : checkPostgres(deps)
}

const SQLITE_CORRUPT = 11

async function checkSqlite(deps: DoctorDeps): Promise<CheckResult | CheckResult[]> {
  const path = sqlitePath(deps.config)
  if (path === null) return warn('in memory', 'everything is lost at the end of the process')
  const missing = await checkMissing(
    path,
    (existing) => `let this user write to ${existing}, or choose another with --database-url or --data-dir`,
  )
  if (missing) return missing
  const file = await lookInto(path)
  if ('found' in file) return { state: 'fail', ...file }
  return [ok(`SQLite ${file.version}, ${path}, sound`), ...(await checkStoreSchema(deps))]
}

/** What the sandbox keeps is no loss, but a start does not do without it. Nothing to say where it is not there yet. */
async function checkSandbox({ config: { dataDir } }: DoctorDeps): Promise<CheckResult | CheckResult[]> {
  const path = join(dataDir, 'sandbox.db')
  if ((await nearestExisting(path)) !== path) return []
  const file = await lookInto(path)
  const advice = 'move it away: it only holds what the sandbox providers were given'
  if ('found' in file) return fail(file.found, advice)
  if (file.userVersion > SANDBOX_SCHEMA_VERSION) return fail(`${path} was written by a newer version`, advice)
  return ok(`${path}, sound`)
}

/** A SQLite file that is there: of which versions it is, or why it cannot be used. */
async function lookInto(
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
    const found = `${path} ${isDamaged ? 'is damaged' : 'cannot be read'}: ${textOf(error)}`
    return { found, advice: 'if it is not merely in use, restore it from your backup' }
  } finally {
    db.close()
  }
}

const OLDEST_POSTGRES = 15
const SKEW_MS = 2_000

async function checkPostgres(deps: DoctorDeps): Promise<CheckResult | CheckResult[]> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({
    connectionString: deps.config.databaseUrl,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  })
  // A connection that breaks later says so by an event; the query under way rejects as well.
  client.on('error', () => {})
  try {
    await client.connect()
    const askedAt = deps.now()
    const { rows } = await client.query<{ version: string; number: number; now: Date }>(
      `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
         clock_timestamp() as now`,
    )
    const answeredAt = deps.now()
    const [row] = rows
    if (!row) throw new Error('PostgreSQL answered nothing')
    return [
      describeVersion(row.version, row.number),
      describeSkew(row.now.getTime() - (askedAt + answeredAt) / 2, answeredAt - askedAt),
      ...(await checkStoreSchema(deps)),
    ]
  } catch (error) {
    const advice = 'check DATABASE_URL, that the server runs, and that it lets this machine in'
    return fail(`cannot be reached: ${textOf(error)}`, advice)
  } finally {
    await client.end().catch(() => {})
  }
}

function describeVersion(version: string, number: number): CheckResult {
  const found = `PostgreSQL ${version}`
  return number >= OLDEST_POSTGRES * 10_000 ? ok(found) : warn(found, `use PostgreSQL ${OLDEST_POSTGRES} or newer`)
}

/** Half the round trip is what the measurement itself may be wrong by. */
function describeSkew(skewMs: number, roundTripMs: number): CheckResult {
  const off = Math.max(0, Math.abs(skewMs) - roundTripMs / 2)
  const found = `${Math.round(off)} ms from the database’s`
  return { subject: 'clock', ...(off <= SKEW_MS ? ok(found) : warn(found, 'set both clocks by NTP')) }
}

async function checkStoreSchema({ config, logger, openStore }: DoctorDeps): Promise<CheckResult[]> {
  const store = await openStore(config, logger)
  try {
    const { found, wanted } = await store.schema()
    const state = found === wanted ? 'ok' : found < wanted ? 'warn' : 'fail'
    const schema: CheckResult = { state, subject: 'schema', found: describeSchema(found, wanted) }
    if (found !== wanted) return [schema]
    return [schema, ...(await checkSealedUnder(config, store)).map((verdict) => ({ subject: 'sealed', ...verdict }))]
  } finally {
    await store.close()
  }
}

/** Whether the keys here are those that the secrets in the database are sealed under, and where a rotation stands. */
async function checkSealedUnder(config: Config, store: Pick<Store, 'instance' | 'sealed'>): Promise<CheckResult[]> {
  const known = await store.instance.read(MASTER_KEY)
  if (known === null) return []
  const { current, former } = readKeyState(known)
  const key = config.masterKey ?? (await readMasterKey(masterKeyPath(config.dataDir)))
  const restore = 'set PILLARBOX_MASTER_KEY to that key, or restore master.key from your backup'
  if (key === null) return [fail(`under master key ${current}, and there is none here`, restore)]
  const masterId = keyIdOf(key)
  const others = (await readOtherKeys(config)).map(keyIdOf).filter((id) => id !== masterId)
  const ids = [masterId, ...others]
  if (!ids.includes(current))
    return [fail(`under master key ${current}, and the one here is ${ids.join(', ')}`, restore)]
  const missing = former.filter((id) => !ids.includes(id))
  if (missing.length > 0)
    return [
      fail(
        `some still under master key ${missing.join(', ')}, which is not here: a rotation to ${current} is under way`,
        'keep it in PILLARBOX_FORMER_MASTER_KEYS, or its file in the data folder, until the rotation is done',
      ),
    ]
  if (former.length > 0) {
    const found = `a rotation from master key ${former.join(', ')} to ${current} is under way`
    return [warn(found, 'run "pillarbox keys rotate" to finish it'), ...(await checkHolders(store, current))]
  }
  if (current !== masterId) {
    const found = `under master key ${current}, and the one here, ${masterId}, is to replace it`
    const advice = 'run "pillarbox keys rotate" once every process has both keys'
    return [warn(found, advice), ...(await checkHolders(store, masterId))]
  }
  const kept = others.length > 0 ? `; also here: ${others.join(', ')}, until "pillarbox keys retire"` : ''
  return [ok(`under master key ${current}${kept}`)]
}

/** Running processes that would hold a rotation up. */
async function checkHolders(store: Pick<Store, 'sealed'>, keyId: string): Promise<CheckResult[]> {
  const running = (await store.sealed.holders()).filter(({ silentForMs }) => silentForMs <= ROTATION_TIMING.silentMs)
  return running
    .filter(({ keyIds }) => !keyIds.includes(keyId))
    .map(({ part, host, pid }) => {
      const found = `${part} on ${host} (process ${pid}) does not have master key ${keyId}`
      return { subject: 'process', ...warn(found, 'start it again with both keys') }
    })
}

async function checkPort({ config: { host, port } }: DoctorDeps): Promise<CheckResult> {
  if (port === 0) return ok('the system will choose one')
  const refusal = await tryListening(host, port)
  if (refusal === null) return ok(`${host}:${port} is free`)
  if (refusal === 'EADDRINUSE' && (await isPillarbox(host, port)))
    return ok(`${host}:${port} is used by a running Pillarbox`)
  return fail(`${host}:${port} cannot be used: ${refusal}`, 'choose another with --port')
}

function tryListening(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })
}

async function isPillarbox(host: string, port: number): Promise<boolean> {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  // Our own address is seldom a public one.
  const outbound = createOutbound({ clock: systemClock, allowPrivate: true, limits: { totalMs: 1_000 } })
  const answer = await outbound.request({ method: 'GET', url: `http://${name}:${port}/health/live` })
  outbound.close()
  return answer.kind === 'answer' && answer.status === 200
}

function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(textOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
