import assert from 'node:assert/strict'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it, type TestContext } from 'node:test'
import { commandLineOnFile } from '../../../../../test/support/command-line.ts'
import { createManualClock } from '../../../../../test/support/manual-clock.ts'
import { createSandboxVendor } from '../../channels/sandbox/vendor.ts'
import { resolveConfig } from '../../config/config.ts'
import { masterKeyPath } from '../../config/master-key.ts'
import { keyIdOf } from '../../security/keyring.ts'
import type { Store } from '../../store/store.ts'
import { describeFindings, examine } from './doctor.ts'
import type { DoctorDeps, Finding } from './finding.ts'

function setup(t: TestContext, env: Record<string, string> = {}, schema = { found: 1, wanted: 1 }) {
  const cwd = mkdtempSync(join(tmpdir(), 'doctor-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  const answer = resolveConfig({ flags: {}, env: { PILLARBOX_PORT: '0', ...env }, file: null, cwd })
  if ('problems' in answer) assert.fail(JSON.stringify(answer.problems))
  const quiet = (): void => {}
  const deps: DoctorDeps = {
    config: answer.config,
    warnings: [],
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    openStore: async () =>
      ({ schema: async () => schema, instance: { read: async () => null }, close: async () => {} }) as unknown as Store,
    nodeVersion: 'v24.21.0',
    now: () => Date.now(),
  }
  const find = async (subject: string, changes: Partial<DoctorDeps> = {}): Promise<string> => {
    const finding = (await examine({ ...deps, ...changes })).find((one) => one.subject === subject)
    return finding ? `${finding.state} ${finding.found}` : 'nothing'
  }
  const { dataDir } = answer.config
  return { deps, find, dataDir, databasePath: join(dataDir, 'pillarbox.db'), cwd }
}

it('finds a fresh machine fit to start, and changes nothing', async (t) => {
  const { deps, cwd } = setup(t)

  const findings = await examine(deps)

  assert.deepEqual(
    findings.map(({ state, subject }) => `${state} ${subject}`),
    ['ok node', 'ok config', 'ok data folder', 'ok master key', 'ok database', 'ok port'],
  )
  assert.deepEqual(readdirSync(cwd), [])
})

it('finds a master key that is not the one the secrets are sealed under', async (t) => {
  const { find, deps, dataDir, databasePath } = setup(t)
  mkdirSync(dataDir)
  new DatabaseSync(databasePath).close()
  const openStore = async () =>
    ({
      schema: async () => ({ found: 2, wanted: 2 }),
      instance: { read: async () => 'aaaaaaaa' },
      close: async () => {},
    }) as unknown as Store

  assert.match(await find('sealed', { openStore }), /^fail under master key aaaaaaaa, and there is none here/)
  const config = { ...deps.config, masterKey: Buffer.alloc(32, 7) }
  assert.match(await find('sealed', { openStore, config }), /^fail .*aaaaaaaa, and the one here is [0-9a-f]{8}$/)
})

it('says where a rotation of the master key stands, and who holds it up', async (t) => {
  const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const [oldId, newId] = [keyIdOf(oldKey), keyIdOf(newKey)]
  const { deps, dataDir, databasePath } = setup(t)
  mkdirSync(dataDir)
  new DatabaseSync(databasePath).close()
  const process = { host: 'host', part: 'worker', sealsUnder: oldId }
  const holders = [
    { ...process, id: '1', pid: 11, keyIds: [oldId], silentForMs: 0 },
    { ...process, id: '2', pid: 12, keyIds: [oldId, newId], silentForMs: 0 },
    { ...process, id: '3', pid: 13, keyIds: [oldId], silentForMs: 60_000 },
  ]
  const found = async (state: string, masterKey: Buffer, formerMasterKeys: Buffer[]): Promise<string[]> => {
    const store = {
      schema: async () => ({ found: 3, wanted: 3 }),
      instance: { read: async () => state },
      sealed: { holders: async () => holders },
      close: async () => {},
    }
    const config = { ...deps.config, masterKey, formerMasterKeys }
    const findings = await examine({ ...deps, config, openStore: async () => store as unknown as Store })
    return findings
      .filter(({ subject }) => subject === 'sealed' || subject === 'process')
      .map((finding) => `${finding.state} ${finding.found}`)
  }

  const lacking = `warn worker on host (process 11) does not have master key ${newId}`
  assert.deepEqual(await found(oldId, newKey, [oldKey]), [
    `warn under master key ${oldId}, and the one here, ${newId}, is to replace it`,
    lacking,
  ])
  assert.deepEqual(await found(`${newId} from ${oldId}`, newKey, [oldKey]), [
    `warn a rotation from master key ${oldId} to ${newId} is under way`,
    lacking,
  ])
  assert.deepEqual(await found(`${newId} from ${oldId}`, newKey, []), [
    `fail some still under master key ${oldId}, which is not here: a rotation to ${newId} is under way`,
  ])
  assert.deepEqual(await found(newId, newKey, [oldKey]), [
    `ok under master key ${newId}; also here: ${oldId}, until "pillarbox keys retire"`,
  ])
  assert.deepEqual(await found(newId, newKey, []), [`ok under master key ${newId}`])
})

it('notices a former key that others can read', async (t) => {
  const { find, dataDir } = setup(t)
  mkdirSync(dataDir)
  const text = Buffer.alloc(32, 1).toString('base64')
  writeFileSync(masterKeyPath(dataDir), text, { mode: 0o600 })
  writeFileSync(join(dataDir, 'former-x.key'), text, { mode: 0o644 })

  assert.match(await find('master key'), /^warn .*former-x\.key can be read by other users$/)
})

it('wants a Node that is new enough', async (t) => {
  const { find } = setup(t)

  assert.equal(await find('node', { nodeVersion: 'v24.15.0' }), 'ok v24.15.0')
  assert.equal(await find('node', { nodeVersion: 'v26.1.0' }), 'ok v26.1.0')
  assert.equal(await find('node', { nodeVersion: 'v24.14.9' }), 'fail v24.14.9')
  assert.equal(await find('node', { nodeVersion: 'v22.20.0' }), 'fail v22.20.0')
})

it('passes on what is doubtful about the settings', async (t) => {
  const { find } = setup(t)

  assert.equal(await find('config', { warnings: ['mind the gap'] }), 'warn mind the gap')
})

it('fails on a data folder that is a file', async (t) => {
  const { find, dataDir } = setup(t)
  writeFileSync(dataDir, '')

  assert.match(await find('data folder'), /^fail .* is not a folder$/)
})

it('fails on a data folder behind a link that leads nowhere, or below a file', async (t) => {
  const { deps, find, cwd } = setup(t)
  const at = (dataDir: string) => ({ config: { ...deps.config, dataDir } })
  symlinkSync(join(cwd, 'unmounted'), join(cwd, 'link'))
  writeFileSync(join(cwd, 'script'), '', { mode: 0o700 })

  for (const dataDir of [join(cwd, 'link'), join(cwd, 'link', 'data'), join(cwd, 'script', 'data')])
    assert.match(await find('data folder', at(dataDir)), /^fail .* does not exist and cannot be made$/)
})

it('fails on a data folder or a database below a file system that takes no folders', {
  skip: process.platform !== 'linux' && 'there is no /proc',
}, async (t) => {
  const { find } = setup(t, { PILLARBOX_DATA_DIR: '/proc/pillarbox/data' })

  assert.equal(await find('data folder'), 'fail /proc/pillarbox/data does not exist and cannot be made')
  assert.equal(await find('database'), 'fail /proc/pillarbox/data/pillarbox.db does not exist and cannot be made')
})

it('finds a data folder that can be written, and leaves nothing in it', async (t) => {
  const { find, dataDir } = setup(t)
  mkdirSync(dataDir)

  assert.match(await find('data folder'), /^ok .* MiB free\)$/)
  assert.deepEqual(readdirSync(dataDir), [])
})

it('fails on a data folder that cannot be written', {
  skip: process.getuid?.() === 0 && 'root may write anywhere',
}, async (t) => {
  const { find, dataDir } = setup(t)
  mkdirSync(dataDir, { mode: 0o500 })

  assert.match(await find('data folder'), /^fail .* cannot be written: EACCES/)
})

it('warns of a disk that is filling, and fails on one that is full', async (t) => {
  const { find, dataDir } = setup(t)
  mkdirSync(dataDir)
  const everything = Number.MAX_SAFE_INTEGER

  assert.match(await find('data folder', { limits: { lowSpaceBytes: everything } }), /^warn .* has only \d+ MiB free$/)
  assert.match(await find('data folder', { limits: { noSpaceBytes: everything } }), /^fail .* has only \d+ MiB free$/)
})

it('warns of a log that SQLite cannot shrink, and of a full disk where the file is', async (t) => {
  const { cwd, deps, find } = setup(t, { DATABASE_URL: 'sqlite:elsewhere/pillarbox.db' })
  mkdirSync(join(cwd, 'elsewhere'))
  const db = new DatabaseSync(join(cwd, 'elsewhere/pillarbox.db'))
  t.after(() => db.close())
  db.exec('pragma journal_mode = wal; create table a (b)')

  assert.equal(await find('log'), 'nothing')
  assert.match(await find('log', { limits: { largeWalBytes: 0 } }), /^warn .*pillarbox\.db-wal has grown to 1 MiB$/)
  assert.match(await find('disk'), /^ok .*elsewhere \(\d+ MiB free\)$/)
  const advised = await examine({ ...deps, limits: { largeWalBytes: 0, noSpaceBytes: Number.MAX_SAFE_INTEGER } })
  assert.match(describeFindings(advised), /-wal has grown.*\n +→ somebody reads in one long transaction/)
  assert.match(describeFindings(advised), /fail {2}disk .*\n +→ make room on its disk/)
})

it('warns of secrets that lie about', async (t) => {
  const { deps, dataDir, databasePath } = setup(t)
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'ops-1.key'), 'pbx_secret', { mode: 0o644 })
  new DatabaseSync(databasePath).close()
  chmodSync(databasePath, 0o640)

  const text = describeFindings((await examine(deps)).filter(({ subject }) => subject === 'secrets'))

  assert.match(text, /warn {2}secrets .*ops-1\.key can be read by other users\n +→ chmod 600/)
  assert.match(text, /warn {2}secrets .*ops-1\.key holds an ops key in clear\n +→ move it/)
  assert.match(text, /warn {2}secrets .*pillarbox\.db can be read by other users/)
  assert.doesNotMatch(text, /pbx_secret/)
})

it('looks at the master key: configured, sound, exposed or broken', async (t) => {
  const { find, dataDir } = setup(t)
  const path = masterKeyPath(dataDir)
  mkdirSync(dataDir)
  const configured = setup(t, { PILLARBOX_MASTER_KEY: Buffer.alloc(32, 1).toString('base64') })

  assert.equal(await configured.find('master key'), 'ok configured')
  writeFileSync(path, Buffer.alloc(32, 1).toString('base64'), { mode: 0o600 })
  assert.equal(await find('master key'), `ok ${path}`)
  chmodSync(path, 0o644)
  assert.equal(await find('master key'), `warn ${path} can be read by other users`)
  writeFileSync(path, 'not a key')
  assert.match(await find('master key'), /^fail .*does not hold a master key/)
  rmSync(path)
  mkdirSync(path)
  assert.match(await find('master key'), /^fail .*master\.key cannot be read: EISDIR/)
})

it('finds an SQLite file sound and its schema up to date', async (t) => {
  const { find, dataDir, databasePath } = setup(t)
  mkdirSync(dataDir)
  const db = new DatabaseSync(databasePath)
  db.exec('create table a (b)')
  db.close()

  assert.match(await find('database'), /^ok SQLite 3\.\d+\.\d+, .*, sound$/)
  assert.equal(await find('schema'), 'ok up to date: schema version 1')
})

it('fails on an SQLite file that is damaged, or is none', async (t) => {
  const { find, dataDir, databasePath } = setup(t)
  mkdirSync(dataDir)
  const db = new DatabaseSync(databasePath)
  db.exec(`create table a (b); begin;
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 5000) insert into a select 'row ' || i from n;
    commit`)
  db.close()
  // Where the rows of a page in the middle begin is overwritten: opening the file does not show that.
  const file = openSync(databasePath, 'r+')
  writeSync(file, Buffer.alloc(12, 0xff), 0, 12, 4096 * 4 + 8)
  closeSync(file)

  assert.match(await find('database'), /^fail .* is damaged: /)
  writeFileSync(databasePath, 'this is no database, whatever its name says'.repeat(100))
  assert.match(await find('database'), /^fail .* cannot be read: file is not a database/)
})

it('fails on an SQLite file that is a folder, and says what to do', async (t) => {
  const { deps, dataDir, databasePath } = setup(t)
  mkdirSync(dataDir)
  mkdirSync(databasePath)

  const finding = (await examine(deps)).find(({ subject }) => subject === 'database')

  assert.deepEqual([finding?.state, finding?.found], ['fail', `${databasePath} is a folder`])
  assert.equal(finding?.advice, 'name a file, not a folder')
})

it('looks at the sandbox inbox, which a start needs too', async (t) => {
  const { find, dataDir } = setup(t)
  const path = join(dataDir, 'sandbox.db')
  mkdirSync(dataDir)

  assert.equal(await find('sandbox'), 'nothing')
  createSandboxVendor({ path, clock: createManualClock() }).close()
  assert.equal(await find('sandbox'), `ok ${path}, sound`)
  const db = new DatabaseSync(path)
  db.exec('pragma user_version = 99')
  db.close()
  assert.match(await find('sandbox'), /^fail .*sandbox\.db was written by a newer version/)
  writeFileSync(path, 'this is no database, whatever its name says'.repeat(100))
  assert.match(await find('sandbox'), /^fail .*sandbox\.db cannot be read: file is not a database/)
})

it('warns of a schema that is behind, and fails on one that is ahead', async (t) => {
  for (const [found, expected] of [
    [0, /^warn behind: schema version 0, wanted 1/],
    [2, /^fail ahead: schema version 2/],
  ] as const) {
    const { find, dataDir, databasePath } = setup(t, {}, { found, wanted: 1 })
    mkdirSync(dataDir)
    new DatabaseSync(databasePath).close()

    assert.match(await find('schema'), expected)
  }
})

it('fails on a PostgreSQL that cannot be reached, without its password', async (t) => {
  const closed = createSocketServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  const { deps } = setup(t, { DATABASE_URL: `postgres://app:hunter2@127.0.0.1:${port}/app` })

  const findings = await examine(deps)

  const text = describeFindings(findings)
  assert.match(text, /fail {2}database {5}cannot be reached: connect ECONNREFUSED/)
  assert.match(text, /→ check DATABASE_URL/)
  assert.doesNotMatch(text, /hunter2/)
})

it('fails on a port that somebody else uses', async (t) => {
  const other = createSocketServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo
  const { find } = setup(t, { PILLARBOX_PORT: String(port) })

  assert.equal(await find('port'), `fail 127.0.0.1:${port} cannot be used: EADDRINUSE`)
})

it('knows a Pillarbox that already runs on the port', async (t) => {
  const running = createServer((request, response) =>
    response.writeHead(request.url === '/health/live' ? 200 : 404).end(),
  )
  await new Promise<void>((resolve) => running.listen(0, '127.0.0.1', resolve))
  t.after(() => running.close())
  const { port } = running.address() as AddressInfo
  const { find } = setup(t, { PILLARBOX_PORT: String(port) })

  assert.equal(await find('port'), `ok 127.0.0.1:${port} is used by a running Pillarbox`)
})

it('writes a line for each finding, and below it what to do', () => {
  const text = describeFindings([
    { state: 'ok', subject: 'node', found: 'v24.21.0' },
    { state: 'fail', subject: 'port', found: 'taken', advice: 'choose another' },
  ])

  assert.equal(text, 'ok    node         v24.21.0\nfail  port         taken\n                   → choose another\n')
})

it('answers JSON lines, and 1 where something is doubtful if it is to be strict', async (t) => {
  const { cli, output } = commandLineOnFile(t)

  assert.equal(await cli('doctor', '--json', '--port', '0'), 0, output.stderr)
  const findings = output.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Finding)
  assert.ok(findings.some(({ subject, state }) => subject === 'node' && state === 'ok'))
  assert.equal(await cli('doctor', '--strict', '--port', '0', '--database-url', 'sqlite::memory:'), 1)
  assert.match(output.stdout, /^warn {2}database {5}in memory\n +→ everything is lost/m)
})

it('names a lease that is too short, and how long it must be', async (t) => {
  const { cli, output } = commandLineOnFile(t)

  assert.equal(await cli('doctor', '--worker-ttl', 'PT5S', '--provider-timeout', 'PT10S'), 1)
  assert.match(output.stderr, /--worker-ttl: expected at least four thirds of the provider timeout plus the flush time/)
})
