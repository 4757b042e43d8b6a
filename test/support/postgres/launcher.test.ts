import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import pg from 'pg'
import { freshDatabase } from './database.ts'
import { startPostgres } from './launcher.ts'

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql)
    return rows
  } finally {
    await client.end()
  }
}

describe('freshDatabase', () => {
  it('hands out databases that do not see each other', async () => {
    await using one = await freshDatabase()
    await using other = await freshDatabase()

    await query(one.url, 'create table seen (id int)')

    assert.deepEqual(await query(other.url, `select to_regclass('seen') as seen`), [{ seen: null }])
  })

  it('copies a template', async () => {
    await using template = await freshDatabase()
    await query(template.url, 'create table kept as select 7 as id')

    await using copy = await freshDatabase({ template: new URL(template.url).pathname.slice(1) })

    assert.deepEqual(await query(copy.url, 'select id from kept'), [{ id: 7 }])
  })

  it('drops a database that still has a session', async () => {
    const database = await freshDatabase()
    const client = new pg.Client({ connectionString: database.url })
    const ended = new Promise<Error>((resolve) => client.on('error', resolve))
    await client.connect()

    await database.drop()

    assert.match(String(await ended), /terminating connection|Connection terminated/)
    await assert.rejects(query(database.url, 'select 1'), { code: '3D000' })
  })
})

describe('startPostgres', () => {
  it('keeps committed rows through every way of going down, on the same port', async () => {
    await using server = await startPostgres({ durable: true })
    await query(server.url, 'create table survived (id int)')
    const goDown = [() => server.stop(), () => server.stop('immediate'), () => server.kill()]

    for (const [round, end] of goDown.entries()) {
      await query(server.url, `insert into survived values (${round})`)
      await end()
      await assert.rejects(query(server.url, 'select 1'), { code: 'ECONNREFUSED' })
      await server.start()
    }

    assert.deepEqual(await query(server.url, 'select id from survived order by id'), [{ id: 0 }, { id: 1 }, { id: 2 }])
  })

  it('takes settings, keeps fsync on only when durable, and leaves no files', async () => {
    const server = await startPostgres({ settings: { max_connections: 17 } })
    const settings = await query(server.url, `select current_setting('max_connections') m, current_setting('fsync') f`)
    await server.dispose()

    assert.deepEqual(settings, [{ m: '17', f: 'off' }])
    assert.equal(existsSync(server.dataDir), false)
  })

  it('says in the words of the server why it did not start', async () => {
    await assert.rejects(startPostgres({ settings: { no_such_setting: 1 } }), /no_such_setting/)
  })
})
