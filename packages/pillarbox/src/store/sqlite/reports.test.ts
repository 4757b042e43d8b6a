import assert from 'node:assert/strict'
import childProcess from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { silent } from '../../../../../test/support/samples.ts'
import { isPillarboxError } from '../../model/errors.ts'
import { systemClock } from '../../runtime/system.ts'
import { openSqlite } from './open.ts'
import { openReports } from './reports.ts'

const execFile = promisify(childProcess.execFile)

async function setup(t: TestContext, limitMs: number) {
  const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
  const path = join(folder, 'store.db')
  const store = await openSqlite({ path, clock: systemClock, logger: silent, reportLimitMs: limitMs })
  await store.migrate()
  const reports = openReports({ path, clock: systemClock, limitMs })
  t.after(async () => {
    await reports.close()
    await store.close()
    await rm(folder, { recursive: true })
  })
  return { store, reports, path }
}

/** Takes minutes. */
const ENDLESS = `with recursive c (x) as (select 1 union all select x + 1 from c limit 4000000000) select count(*) as n from c`

describe('a report on SQLite', () => {
  it('is read by another process, which sees what was committed before', async (t) => {
    const { store, reports } = await setup(t, 60_000)
    await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })

    assert.deepEqual(await reports.run('select id from pillarbox.tenants where id = $1', ['acme']), [{ id: 'acme' }])
    assert.deepEqual(await store.notifications.list({ tenantId: 'acme' }, { limit: 10 }), {
      items: [],
      nextCursor: null,
    })
  })

  it('keeps nobody else waiting, neither on the thread nor for the file', async (t) => {
    const { store, reports } = await setup(t, 60_000)
    let isRead = false
    const endless = reports.run(ENDLESS, []).finally(() => {
      isRead = true
    })
    endless.catch(() => {})

    await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
    assert.equal((await store.tenants.find('acme'))?.name, 'Acme')
    assert.deepEqual(await reports.run('select 1 as one', []), [{ one: 1 }])

    assert.equal(isRead, false)
  })

  it('is ended when it takes too long, says so, and the next one is read', async (t) => {
    const { reports } = await setup(t, 3_000)
    await assert.rejects(reports.run(ENDLESS, []), (error) => {
      assert.ok(isPillarboxError(error))
      assert.equal(error.code, 'overloaded')
      assert.match(error.message, /took longer than 3 seconds and was ended/)
      return true
    })
    assert.deepEqual(await reports.run('select 1 as one', []), [{ one: 1 }])
  })

  it('is refused, and its process ended, when the store is closed', async (t) => {
    const { reports } = await setup(t, 60_000)
    const endless = reports.run(ENDLESS, [])
    await Promise.all([reports.close(), assert.rejects(endless, /The store is closed/)])
    await assert.rejects(reports.run('select 1', []), /The store is closed/)
  })

  it('is waited for by a program that has nothing else to do', async (t) => {
    const { path } = await setup(t, 60_000)
    const program = `
      import { openReports } from ${JSON.stringify(new URL('./reports.ts', import.meta.url))}
      import { systemClock } from ${JSON.stringify(new URL('../../runtime/system.ts', import.meta.url))}
      const reports = openReports({ path: ${JSON.stringify(path)}, clock: systemClock, limitMs: 60_000 })
      await reports.run('select 1', [])
      await reports.close()
      console.log('closed')`
    const { stdout } = await execFile(process.execPath, ['--input-type=module', '--eval', program])
    assert.equal(stdout, 'closed\n')
  })

  it('tells what SQLite refused', async (t) => {
    const { reports } = await setup(t, 60_000)
    await assert.rejects(reports.run('select 1 from nowhere', []), /no such table: nowhere/)
  })
})
