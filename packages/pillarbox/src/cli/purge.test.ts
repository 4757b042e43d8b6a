import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { sampleNotification, silent } from '../../../../test/support/samples.ts'
import { createSandboxVendor } from '../channels/sandbox/vendor.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import { run } from './run.ts'

const DAY_MS = 24 * 3_600_000

/** A command line over a store with three skipped notifications of a hundred days ago, and a sandbox with a message. */
async function setup(t: TestContext, { isTerminal = false } = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'purge-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  const dataDir = join(cwd, '.pillarbox')
  mkdirSync(dataDir)
  const clock = createManualClock()
  const ids = createIdSource(clock, systemRandom())
  const open = (): Promise<Store> => openSqlite({ path: join(dataDir, 'pillarbox.db'), clock, logger: silent })
  const store = await open()
  await store.migrate()
  await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  const stopped = { status: 'skipped', reason: 'no_address', error: 'no address' } as const
  const skipped = (id: string) =>
    sampleNotification({ id, idempotencyKey: id, accountId: null, provider: null, content: null, stopped })
  await store.notifications.insert([ids(), ids(), ids()].map(skipped))
  const vendor = createSandboxVendor({ path: join(dataDir, 'sandbox.db'), clock })
  await vendor.accept(
    {
      tenantId: 'acme',
      accountId: 'a',
      channel: 'sms',
      key: 'k',
      notificationId: 'n',
      attempt: 1,
      to: { phone: '+15550100' },
      subject: null,
      body: 'Hello',
      data: {},
      correlationId: null,
      providerTemplate: null,
    },
    { honoursKeys: true, perSecond: null },
  )
  vendor.close()
  await clock.advance(100 * DAY_MS)
  const output = { stdout: '', stderr: '' }
  const events = new EventEmitter()
  const purge = (...args: string[]): Promise<number> =>
    run(['purge', ...args], {
      version: '1.2.3',
      env: {},
      cwd,
      nodeVersion: process.version,
      stdout: {
        write: (text) => {
          output.stdout += text
        },
        isTerminal,
        hasColours: false,
      },
      stderr: {
        write: (text) => {
          output.stderr += text
        },
      },
      stdin: { isTerminal: false, ask: () => assert.fail('asked'), read: () => assert.fail('read') },
      clock,
      events,
      exitNow: () => assert.fail('left at once'),
      loadEngine: async () => ({ openStore: open, createPillarbox: () => assert.fail('started') }),
    })
  const left = async (): Promise<number> => (await store.notifications.list({}, { limit: 10 })).items.length
  t.after(() => store.close())
  return { purge, output, left, events }
}

describe('pillarbox purge', () => {
  it('keeps what is within the retention', async (t) => {
    const { purge, output, left } = await setup(t)

    assert.equal(await purge(), 0)

    assert.equal(await left(), 3)
    assert.match(output.stdout, /P365D.*\nnothing was removed\n$/)
  })

  it('counts, and then removes, in plain lines', async (t) => {
    const { purge, output, left } = await setup(t)

    assert.equal(await purge('--older-than', 'P90D', '--dry-run'), 0)
    assert.match(
      output.stdout,
      /notifications {3}3 would be removed\n {2}audit {11}1 would be removed\n {2}sandboxMessages {1}1 would be removed\n/,
    )
    assert.equal(await left(), 3)
    assert.equal(await purge('--older-than', 'P90D', '--tenant', 'acme'), 0)

    assert.match(
      output.stdout,
      /older than P90D, of tenant acme\n {2}notifications {3}3 removed\n {2}audit {11}1 removed\n {2}sandboxMessages {1}1 removed\n$/,
    )
    assert.doesNotMatch(output.stdout, /\r/)
    assert.equal(await left(), 0)
  })

  it('draws how far it is in a terminal', async (t) => {
    const { purge, output, left } = await setup(t, { isTerminal: true })

    assert.equal(await purge('--older-than', 'P90D'), 0)

    assert.match(output.stdout, /\r░{30} 0 % {2}0 of 5 rows/)
    assert.match(output.stdout, /\r█{30} 100 % {2}5 of 5 rows\n {2}notifications/)
    assert.equal(await left(), 0)
  })

  it('says what is wrong with what it was given', async (t) => {
    const { purge, output, left } = await setup(t)

    assert.equal(await purge('--older-than', 'a year'), 2)
    assert.match(output.stderr, /ISO 8601 duration of an hour or more, such as P365D, not "a year"/)
    assert.equal(await purge('--tenant', 'nobody'), 1)
    assert.match(output.stderr, /there is no tenant "nobody"/)
    assert.equal(await left(), 3)
  })

  it('stops between two batches when it is told to, and says so', async (t) => {
    const { purge, output, events } = await setup(t)

    events.once('newListener', (name: string) => queueMicrotask(() => events.emit(name)))

    assert.equal(await purge('--older-than', 'P90D'), 1)
    assert.match(output.stderr, /stopped before everything was looked at/)
    assert.deepEqual([events.listenerCount('SIGINT'), events.listenerCount('SIGTERM')], [0, 0])
  })
})
