import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../../../../../test/support/postgres/launcher.ts'
import { until } from '../../../../../test/support/until.ts'
import { DOCTOR_LIMITS } from './finding.ts'
import { checkVacuum } from './vacuum.ts'

describe('what blocks vacuum', () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres({ settings: { max_prepared_transactions: 2 } })
  })
  after(() => server?.dispose())

  async function connected(): Promise<pg.Client & AsyncDisposable> {
    const client = new pg.Client({ connectionString: server.url, application_name: 'a report' })
    await client.connect()
    return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
  }

  async function found(limits: Partial<typeof DOCTOR_LIMITS> = { longTransactionMs: 0 }): Promise<string[]> {
    await using client = await connected()
    const results = await checkVacuum(client, { ...DOCTOR_LIMITS, ...limits })
    return results.map(({ state, found: what, advice }) => `${state} ${what} → ${advice}`)
  }

  it('is nothing on a server that is well', async () => {
    assert.deepEqual(await found({}), ['ok nothing blocks it → undefined'])
  })

  it('is a transaction that is open for too long, with its process and how to end it', async () => {
    await using client = await connected()
    await client.query('begin')
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const pid = rows[0]?.pid

    const [line = ''] = await until('it is idle', async () => {
      const lines = await found()
      return lines[0]?.includes('idle in transaction') ? lines : null
    })

    assert.match(
      line,
      new RegExp(`^fail blocked by a transaction of postgres \\(a report\\), process ${pid}, open for \\d+ s`),
    )
    assert.match(line, new RegExp(`→ .*pg_terminate_backend\\(${pid}\\)`))
    assert.deepEqual(await found({}), ['ok nothing blocks it → undefined'])
  })

  it('is a prepared transaction that nobody ends', async () => {
    await using client = await connected()
    await client.query(`begin; create table t (a int); prepare transaction 'it''s lost'`)

    const [line = ''] = await found()
    assert.match(
      line,
      /^fail blocked by the prepared transaction "it's lost" of postgres, for \d+ s → .*rollback prepared 'it''s lost'/,
    )
    await client.query(`rollback prepared 'it''s lost'`)
    assert.deepEqual(await found(), ['ok nothing blocks it → undefined'])
  })

  it('is a replication slot without a consumer', async () => {
    await using client = await connected()
    await client.query(`select pg_create_physical_replication_slot('old_standby', true)`)

    const [line = ''] = await found()
    assert.match(
      line,
      /^warn the replication slot "old_standby" is not in use: .*keeps \d+ MiB of WAL.* → .*pg_drop_replication_slot\('old_standby'\)/,
    )
    await client.query(`select pg_drop_replication_slot('old_standby')`)
  })

  it('is told as far as the role may look, which is said', async () => {
    await using client = await connected()
    await client.query('create role app login')
    const app = new pg.Client({ connectionString: server.url.replace('postgres@', 'app@') })
    await app.connect()
    const [result] = await checkVacuum(app, DOCTOR_LIMITS)
    await app.end()

    assert.equal(result?.found, 'nothing that this role may see blocks it')
    assert.match(result?.advice ?? '', /grant pg_monitor/)
  })

  it('is autovacuum where somebody switched it off', async () => {
    await using client = await connected()
    await client.query('alter system set autovacuum = off')
    await client.query('select pg_reload_conf()')

    const lines = await until('the server knows', async () => {
      const seen = await found()
      return seen.some((line) => line.includes('autovacuum')) ? seen : null
    })

    assert.deepEqual(lines, ['warn autovacuum is off: tables only grow → set autovacuum = on'])
  })
})
