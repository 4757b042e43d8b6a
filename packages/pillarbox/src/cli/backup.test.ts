import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { commandLineOnFile } from '../../../../test/support/command-line.ts'

/** A command line over a file of several steps' size, and where its copy goes. */
async function setup(t: TestContext) {
  const line = commandLineOnFile(t)
  const store = await line.open()
  await store.migrate()
  await store.close()
  line.byHand(`
    create table filler (n integer, text text);
    with recursive some (n) as (select 1 union all select n + 1 from some where n < 20000)
      insert into filler select n, printf('%.500c', 'x') from some;`)
  const to = join(line.cwd, 'copy.db')
  return { ...line, to }
}

function rowsIn(path: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return database.prepare('select count(*) as n, sum(n < 0) as late from filler').get()
  } finally {
    database.close()
  }
}

describe('pillarbox backup', () => {
  it('copies the file as it is, for its owner alone, and says what is not in it', async (t) => {
    const { cli, output, to } = await setup(t)

    assert.equal(await cli('backup', 'copy.db'), 0)

    assert.match(output.stdout, /^done: .*copy\.db, \d+\.\d MiB, read through and whole\nthe master key is not in it: /)
    assert.equal(statSync(to).mode & 0o777, 0o600)
    assert.deepEqual({ ...(rowsIn(to) as object) }, { n: 20_000, late: 0 })
  })

  it('is what was there when it began, though others write all the time, and ends', async (t) => {
    const { cli, to, path } = await setup(t)
    const busy = new DatabaseSync(path)
    t.after(() => busy.close())
    let isOver = false
    const write = (): void => {
      if (isOver) return
      busy.exec(`insert into filler values (-1, 'late')`)
      setImmediate(write)
    }
    write()

    const code = await cli('backup', 'copy.db')
    isOver = true

    assert.equal(code, 0)
    const { n, late } = rowsIn(to) as { n: number; late: number }
    const now = rowsIn(path) as { late: number }
    assert.ok(now.late > late, 'something was written while it was copied')
    assert.equal(n, 20_000 + late)
  })

  it('writes over nothing', async (t) => {
    const { cli, output, to } = await setup(t)
    writeFileSync(to, 'precious')

    assert.equal(await cli('backup', 'copy.db'), 1)
    assert.match(output.stderr, /copy\.db is there already\n.*name a file that does not exist/)
    rmSync(to)
    writeFileSync(`${to}.partial`, 'of somebody else')
    assert.equal(await cli('backup', 'copy.db'), 1)
    assert.match(output.stderr, /copy\.db\.partial is there\n.*another backup is under way, or was killed/)
    assert.equal(existsSync(to), false)
  })

  it('leaves nothing behind where it is stopped, or something is in its way', async (t) => {
    const { cli, output, to, events, path } = await setup(t)
    // As soon as it listens.
    events.once('newListener', (signal) => queueMicrotask(() => events.emit(String(signal))))

    assert.equal(await cli('backup', 'copy.db'), 1)
    assert.match(output.stderr, /stopped before the end, and nothing of it is left/)
    assert.deepEqual(readdirSync(dirname(to)), ['.pillarbox'])
    writeFileSync(path, 'no database at all, but long enough to be taken for one'.repeat(100))
    assert.equal(await cli('backup', 'copy.db'), 1)
    assert.match(output.stderr, /could not be written: .*not a database/)
    assert.deepEqual(readdirSync(dirname(to)), ['.pillarbox'])
  })

  it('says what to use where there is no file', async (t) => {
    const { cli, output, path } = await setup(t)

    assert.equal(await cli('backup', 'copy.db', '--database-url', 'postgres://app@db/app'), 1)
    assert.match(output.stderr, /PostgreSQL, which brings its own tools\n.*pg_dump --format=custom --schema=pillarbox/)
    rmSync(path)
    assert.equal(await cli('backup', 'copy.db'), 1)
    assert.match(output.stderr, /there is no database yet/)
  })
})
