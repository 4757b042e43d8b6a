import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { sampleNotification, silent } from '../../../../test/support/samples.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import { run } from './run.ts'

const MASTER_KEY = Buffer.alloc(32, 5).toString('base64')

/** A command line over a store with one skipped notification to Ada. */
async function setup(t: TestContext, env: Record<string, string> = { PILLARBOX_MASTER_KEY: MASTER_KEY }) {
  const cwd = mkdtempSync(join(tmpdir(), 'personal-data-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  mkdirSync(join(cwd, '.pillarbox'))
  const clock = createManualClock()
  const ids = createIdSource(clock, systemRandom())
  const open = (): Promise<Store> => openSqlite({ path: join(cwd, '.pillarbox/pillarbox.db'), clock, logger: silent })
  const store = await open()
  t.after(() => store.close())
  await store.migrate()
  await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  const stopped = { status: 'skipped', reason: 'no_address', error: 'no address' } as const
  const id = ids()
  const to = { name: 'Ada', email: 'ada@example.test' }
  await store.notifications.insert([
    sampleNotification({ id, to, channel: 'email', accountId: null, provider: null, content: null, stopped }),
  ])
  const output = { stdout: '', stderr: '' }
  const writer = (stream: keyof typeof output) => (text: string) => {
    output[stream] += text
  }
  const cli = (...args: string[]): Promise<number> =>
    run(['personal-data', ...args], {
      version: '1.2.3',
      env,
      cwd,
      nodeVersion: process.version,
      stdout: { write: writer('stdout'), isTerminal: false, hasColours: false },
      stderr: { write: writer('stderr') },
      stdin: { isTerminal: false, ask: () => assert.fail('asked'), read: () => assert.fail('read') },
      clock,
      events: new EventEmitter(),
      exitNow: () => assert.fail('left at once'),
      loadEngine: async () => ({ openStore: open, createPillarbox: () => assert.fail('started') }),
    })
  return { cli, output, store, id }
}

const ADA = ['--tenant', 'acme', '--address', 'ADA@example.test']

describe('pillarbox personal-data', () => {
  it('prints what is kept, a line each, and then erases it', async (t) => {
    const { cli, output, store, id } = await setup(t)

    assert.equal(await cli('export', ...ADA), 0)
    const items = output.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { table: string })
    assert.deepEqual(items.map(({ table }) => table).sort(), ['notifications', 'settled'])
    assert.equal(await cli('erase', ...ADA, '--note', 'asked'), 0)

    assert.match(output.stdout, /notifications +1 erased\n[\s\S]*remains: backups/)
    assert.deepEqual((await store.notifications.find('acme', id))?.to, {})
  })

  it('says what is missing', async (t) => {
    const { cli, output } = await setup(t, {})

    assert.equal(await cli('export', '--tenant', 'acme'), 2)
    assert.match(output.stderr, /by --contact or by --address/)
    assert.equal(await cli('erase', ...ADA), 2)
    assert.match(output.stderr, /--note/)
    assert.equal(await cli('export', ...ADA), 1)
    assert.match(output.stderr, /there is no master key/)
  })
})
