import type pg from 'pg'
import { type CheckResult, type DOCTOR_LIMITS, fail, ok, warn } from './finding.ts'

/**
 * What keeps vacuum from removing rows that are gone. An outbox changes each of its rows several times, so that its tables and
 * indexes grow, and everything becomes slow, for as long as somebody might still want to see how they were.
 */
export async function checkVacuum(
  client: pg.Client,
  { longTransactionMs }: typeof DOCTOR_LIMITS,
): Promise<CheckResult[]> {
  const results = [
    ...(await longTransactions(client, longTransactionMs)),
    ...(await preparedTransactions(client, longTransactionMs)),
    ...(await replicationSlots(client)),
    ...(await standbys(client)),
    ...(await settingsOfVacuum(client)),
  ]
  if (results.length > 0) return results
  if (await seesOthers(client)) return [ok('nothing blocks it')]
  const advice = 'grant pg_monitor to the role of DATABASE_URL to look at the transactions of others'
  return [{ ...ok('nothing that this role may see blocks it'), advice }]
}

/** Of others' sessions most roles see no more than that they are there. */
async function seesOthers(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ sees: boolean }>(`select pg_has_role('pg_read_all_stats', 'usage') as sees`)
  return rows[0]?.sees === true
}

const MOST_NAMED = 5

async function longTransactions(client: pg.Client, olderThanMs: number): Promise<CheckResult[]> {
  const { rows } = await client.query<{ pid: number; who: string; app: string; state: string; seconds: number }>(
    `select pid, usename as who, coalesce(application_name, '') as app, state,
       extract(epoch from clock_timestamp() - xact_start)::int as seconds
     from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
       and xact_start < clock_timestamp() - $1 * interval '1 millisecond'
     order by xact_start limit ${MOST_NAMED}`,
    [olderThanMs],
  )
  return rows.map(({ pid, who, app, state, seconds }) =>
    fail(
      `blocked by a transaction of ${who}${app === '' ? '' : ` (${app})`}, process ${pid}, open for ${seconds} s, ${state}`,
      `end it there, or with "select pg_terminate_backend(${pid})"; idle_in_transaction_session_timeout keeps it from coming back`,
    ),
  )
}

async function preparedTransactions(client: pg.Client, olderThanMs: number): Promise<CheckResult[]> {
  const { rows } = await client.query<{ gid: string; owner: string; seconds: number }>(
    `select gid, owner, extract(epoch from clock_timestamp() - prepared)::int as seconds
     from pg_prepared_xacts
     where database = current_database() and prepared < clock_timestamp() - $1 * interval '1 millisecond'
     order by prepared limit ${MOST_NAMED}`,
    [olderThanMs],
  )
  return rows.map(({ gid, owner, seconds }) =>
    fail(
      `blocked by the prepared transaction ${JSON.stringify(gid)} of ${owner}, for ${seconds} s`,
      `its coordinator forgot it: "rollback prepared '${gid.replaceAll("'", "''")}'", or commit it, in this database`,
    ),
  )
}

/** So many transactions ago is long, whatever the time is. */
const OLD_AGE = 1_000_000

async function replicationSlots(client: pg.Client): Promise<CheckResult[]> {
  const { rows } = await client.query<{ name: string; isActive: boolean; age: number; bytes: string | null }>(
    `select slot_name as name, active as "isActive", greatest(coalesce(age(xmin), 0), coalesce(age(catalog_xmin), 0)) as age,
       case when pg_is_in_recovery() then null else pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint end as bytes
     from pg_replication_slots
     where not active or greatest(coalesce(age(xmin), 0), coalesce(age(catalog_xmin), 0)) > ${OLD_AGE}
     order by 3 desc limit ${MOST_NAMED}`,
  )
  return rows.map(({ name, isActive, age, bytes }) => {
    const kept = bytes === null ? '' : `, and keeps ${Math.ceil(Number(bytes) / 1024 / 1024)} MiB of WAL on the disk`
    const held = age > 0 ? `holds back vacuum by ${age} transactions` : 'would hold back vacuum and the removal of WAL'
    const found = `the replication slot ${JSON.stringify(name)} is ${isActive ? 'behind' : 'not in use'}: it ${held}${kept}`
    const advice = `start its consumer again, or "select pg_drop_replication_slot('${name.replaceAll("'", "''")}')"`
    return age > OLD_AGE ? fail(found, advice) : warn(found, advice)
  })
}

async function standbys(client: pg.Client): Promise<CheckResult[]> {
  const { rows } = await client.query<{ name: string; age: number }>(
    `select coalesce(application_name, '') as name, age(backend_xmin) as age from pg_stat_replication
     where backend_xmin is not null and age(backend_xmin) > ${OLD_AGE} limit ${MOST_NAMED}`,
  )
  return rows.map(({ name, age }) =>
    fail(
      `held back by ${age} transactions by the standby ${JSON.stringify(name)}, on which a query runs`,
      'end that query, or set hot_standby_feedback = off there',
    ),
  )
}

/** At about two thousand million PostgreSQL takes nothing any more. */
const NEAR_WRAPAROUND = 1_000_000_000

async function settingsOfVacuum(client: pg.Client): Promise<CheckResult[]> {
  const { rows } = await client.query<{ autovacuum: string; age: number }>(
    `select current_setting('autovacuum') as autovacuum, age(datfrozenxid) as age from pg_database
     where datname = current_database()`,
  )
  return rows.flatMap(({ autovacuum, age }) => [
    ...(autovacuum === 'off' ? [warn('autovacuum is off: tables only grow', 'set autovacuum = on')] : []),
    ...(age > NEAR_WRAPAROUND
      ? [
          fail(
            `${age} transactions since the last freeze`,
            'run "vacuum freeze" soon: past 2,000,000,000 nothing is written',
          ),
        ]
      : []),
  ])
}
