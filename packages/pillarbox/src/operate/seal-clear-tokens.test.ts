import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, sampleNotification } from '../../../../test/support/samples.ts'
import { createPayloadSeal } from '../security/payload-seal.ts'
import { createTokenSeal } from '../security/token-seal.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import { type ClearTokenDeps, runClearTokenSealer } from './seal-clear-tokens.ts'

const COUNT = 1_200
const STRETCH = 500

async function setup(t: TestContext) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const store = await openSqlite({ path: ':memory:', clock, logger })
  t.after(() => store.close())
  await store.migrate()
  await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  const rows = Array.from({ length: COUNT }, (_, i) =>
    sampleNotification({
      id: `019bc186-0000-7000-8000-${String(i).padStart(12, '0')}`,
      channel: 'push',
      accountId: null,
      to: { deviceToken: `clear-${i}` },
      idempotencyKey: `key-${i}`,
      stopped: { status: 'parked', reason: 'no_active_channels', error: 'written before' },
    }),
  )
  await store.notifications.insert(rows)
  const tokens = createTokenSeal(Buffer.alloc(32, 1))
  const payloadSeal = createPayloadSeal(Buffer.alloc(32, 2), tokens)
  /** Until there is nothing more to do at once. `look` sees every stretch before it is read. */
  const run = async (look: (table: string, after: string | null) => void, replace = store.clearTokens.replace) => {
    const clearTokens: Store['clearTokens'] = {
      look: async (table, after, limit, hints) => {
        look(table, after)
        return await store.clearTokens.look(table, after, limit, hints)
      },
      replace,
    }
    const deps: ClearTokenDeps = {
      store: { ...store, clearTokens },
      tokens,
      payloadSeal,
      clock,
      random: () => 0.5,
      logger,
      everyMs: 2_000,
    }
    const stop = new AbortController()
    const running = runClearTokenSealer(deps, stop.signal)
    await clock.settle()
    stop.abort()
    await running
  }
  const inClear = async (): Promise<number> => {
    const hints = { sealed: 't1.', types: [] }
    return (await store.clearTokens.look('notifications', null, 10_000, hints)).rows.length
  }
  return { run, inClear, logger, store }
}

describe('sealing device tokens of an earlier version', () => {
  it('goes on where it was stopped, ends, and looks at nothing after that', async (t) => {
    const { run, inClear, logger } = await setup(t)

    const first: string[] = []
    await run((table, after) => {
      first.push(table)
      if (table === 'notifications' && after !== null) throw new Error('the process ends')
    })
    assert.deepEqual(first, ['suppressions', 'notifications', 'notifications'])
    assert.equal(await inClear(), COUNT - STRETCH)

    const second: [string, boolean][] = []
    await run((table, after) => second.push([table, after === null]))
    assert.deepEqual(second, [
      ['notifications', false],
      ['notifications', false],
      ['events', true],
    ])
    assert.equal(await inClear(), 0)
    const told = logger.lines.filter(({ message }) => message === 'device tokens that were kept in clear are sealed')
    assert.deepEqual(
      told.map(({ fields }) => fields['sealed']),
      [COUNT],
    )

    await run(() => assert.fail('looked again'))
  })

  it('comes back to rows that somebody was changing', async (t) => {
    const { run, inClear, store } = await setup(t)
    let isFirst = true

    await run(
      () => {},
      async (table, changes) => {
        const mine = isFirst ? changes.slice(1) : changes
        isFirst = false
        return await store.clearTokens.replace(table, mine)
      },
    )
    assert.equal(await inClear(), 1)

    await run(() => {})
    assert.equal(await inClear(), 0)
  })
})
