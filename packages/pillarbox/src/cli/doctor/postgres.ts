import type pg from 'pg'
import { SetupError } from '../../model/errors.ts'
import { createPoolingProbe } from '../../store/postgres/pooling.ts'
import { type CheckResult, type DoctorDeps, errorWords, fail, limitsOf, ok, warn } from './finding.ts'
import { checkStore } from './store.ts'
import { checkVacuum } from './vacuum.ts'

const OLDEST_POSTGRES = 15
const SKEW_MS = 2_000

export async function checkPostgres(deps: DoctorDeps): Promise<CheckResult | CheckResult[]> {
  const { default: postgres } = await import('pg')
  const newClient = (): pg.Client => {
    const client = new postgres.Client({
      connectionString: deps.config.databaseUrl,
      connectionTimeoutMillis: 5_000,
      query_timeout: 5_000,
    })
    // A connection that breaks later says so by an event; the query under way rejects as well.
    client.on('error', () => {})
    return client
  }
  const client = newClient()
  try {
    await client.connect()
    const askedAt = deps.now()
    const { rows } = await client.query<ServerFacts>(
      `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
         clock_timestamp() as now, pg_is_in_recovery() as "isStandby", current_setting('fsync') as fsync,
         current_setting('synchronous_commit') as "synchronousCommit"`,
    )
    const answeredAt = deps.now()
    const [row] = rows
    if (!row) throw new Error('PostgreSQL answered nothing')
    return [
      describeVersion(row),
      describeSkew(row.now.getTime() - (askedAt + answeredAt) / 2, answeredAt - askedAt),
      ...describeDurability(row),
      ...(await checkPooler(client, newClient, deps)),
      ...(await looked('vacuum', checkVacuum(client, limitsOf(deps)))),
      ...(await checkStore(deps)),
    ]
  } catch (error) {
    const advice = 'check DATABASE_URL, that the server runs, and that it lets this machine in'
    return fail(`cannot be reached: ${errorWords(error)}`, advice)
  } finally {
    await client.end().catch(() => {})
  }
}

interface ServerFacts {
  version: string
  number: number
  now: Date
  isStandby: boolean
  fsync: string
  synchronousCommit: string
}

/** What one user may not look at keeps nobody from looking at the rest. */
async function looked(subject: string, check: Promise<CheckResult[]>): Promise<CheckResult[]> {
  const results = await check.catch((error: unknown) => [
    warn(
      `cannot be looked at: ${errorWords(error)}`,
      'grant pg_monitor to the role of DATABASE_URL, or ask its administrator',
    ),
  ])
  return results.map((result) => ({ subject, ...result }))
}

function describeVersion({ version, number }: ServerFacts): CheckResult {
  const found = `PostgreSQL ${version}`
  return number >= OLDEST_POSTGRES * 10_000 ? ok(found) : warn(found, `use PostgreSQL ${OLDEST_POSTGRES} or newer`)
}

/** Half the round trip is what the measurement itself may be wrong by. */
function describeSkew(skewMs: number, roundTripMs: number): CheckResult {
  const off = Math.max(0, Math.abs(skewMs) - roundTripMs / 2)
  const found = `${Math.round(off)} ms from the database’s`
  return { subject: 'clock', ...(off <= SKEW_MS ? ok(found) : warn(found, 'set both clocks by NTP')) }
}

/** Settings with which what was acknowledged may be lost. */
function describeDurability({ isStandby, fsync, synchronousCommit }: ServerFacts): CheckResult[] {
  const results: CheckResult[] = []
  if (isStandby) results.push(fail('is a standby, which takes nothing', 'let DATABASE_URL lead to the primary'))
  if (fsync === 'off')
    results.push(warn('fsync is off: a crash of its machine loses or breaks everything', 'set fsync = on'))
  if (synchronousCommit === 'off')
    results.push(warn('synchronous_commit is off: a crash loses what was acknowledged', 'set synchronous_commit = on'))
  return results.map((result) => ({ subject: 'durability', ...result }))
}

async function checkPooler(
  client: pg.Client,
  newClient: () => pg.Client,
  { logger }: DoctorDeps,
): Promise<CheckResult[]> {
  try {
    const isOurs = await createPoolingProbe({ newClient, logger })(client)
    if (isOurs) return []
    const found =
      'stands in front of the database, in transaction mode: no prepared statements, no hints between processes'
    const advice =
      'it works, slower; name the server itself in DATABASE_URL, or set the role’s timeouts as docs/guides/postgres.md says'
    return [{ subject: 'pooler', ...warn(found, advice) }]
  } catch (error) {
    return [{ subject: 'pooler', ...fail(errorWords(error), error instanceof SetupError ? error.advice : undefined) }]
  }
}
