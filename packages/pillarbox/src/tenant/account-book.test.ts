import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, sampleAccount, storedAccount } from '../../../../test/support/samples.ts'
import type { Provider } from '../channels/channel.ts'
import type { LaneView } from '../dispatch/lane-store.ts'
import type { StoredAccount } from '../model/account.ts'
import { DEFAULT_BREAKER } from '../model/account.ts'
import { PillarboxError } from '../model/errors.ts'
import { SAFE_RETRY } from '../model/retry.ts'
import type { Tenant } from '../model/tenant.ts'
import { createAccountBook, type OpenSecrets } from './account-book.ts'
import { createTenantSnapshots } from './snapshots.ts'

const MAX_AGE_MS = 1_000

function setup(rows: StoredAccount[] = [storedAccount()], openSecrets: OpenSecrets = () => ({ apiKey: 'opened' })) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const stored = new Map(rows.map((row) => [row.id, row]))
  const read: string[] = []
  const world = { lanes: [] as Partial<LaneView>[], isAway: false }
  const book = createAccountBook({
    accounts: {
      find: async (_tenantId, id) => {
        read.push(id)
        return stored.get(id) ?? null
      },
    },
    snapshots: createTenantSnapshots(
      {
        accounts: {
          list: async (tenantId) => {
            read.push(`all of ${tenantId}`)
            if (world.isAway) throw new PillarboxError('store_unavailable', 'connection reset')
            return structuredClone([...stored.values()])
          },
        },
        tenants: { find: async (id) => ({ id }) as Tenant },
        catalogue: { current: async () => null },
      },
      clock,
      MAX_AGE_MS,
    ),
    lanes: { list: async () => world.lanes as LaneView[] },
    registry: (_channel, name) => (name === 'telegraph' ? null : ({ name } as Provider)),
    openSecrets,
    clock,
    logger,
    maxAgeMs: MAX_AGE_MS,
  })
  return { book, clock, logger, stored, read, world }
}

it('opens secrets and policy, and hands out nothing that is sealed', async () => {
  const { book } = setup([storedAccount({ sealedSecrets: 'sealed!', secretNames: ['apiKey'] })])

  const account = (await book.get(['account-1'])).get('account-1')

  assert.deepEqual(account?.secrets, { apiKey: 'opened' })
  assert.deepEqual(account?.retry, { kind: 'fixed', maxAttempts: 3, delayMs: 1_000 })
  assert.equal(account?.retryWarning, null)
  assert.ok(!JSON.stringify(account).includes('sealed'))
})

it('reads an account once in a while, and feels a change within that time', async () => {
  const { book, clock, stored, read } = setup()
  await book.get(['account-1'])
  stored.set('account-1', storedAccount({ status: 'suspended' }))

  await clock.advance(MAX_AGE_MS - 1)
  assert.equal((await book.get(['account-1'])).get('account-1')?.status, 'active')
  await clock.advance(1)

  assert.equal((await book.get(['account-1'])).get('account-1')?.status, 'suspended')
  assert.deepEqual(read, ['account-1', 'all of acme', 'all of acme'])
})

it('answers what it has read, also where it is told of a change meanwhile', async () => {
  const { book, stored } = setup()
  await book.get(['account-1'])
  stored.set('account-1', storedAccount({ status: 'paused' }))
  book.outdate('account-1')

  const reading = book.get(['account-1'])
  book.outdate('account-1')

  assert.equal((await reading).get('account-1')?.status, 'paused')
})

it('reads an account anew once it is told of a change, and until then has what it had', async () => {
  const { book, stored } = setup()
  await book.get(['account-1'])
  stored.set('account-1', storedAccount({ status: 'paused' }))

  book.outdate('account-1')
  book.outdate('never heard of')

  assert.equal(book.peek('account-1')?.status, 'active')
  assert.equal((await book.get(['account-1'])).get('account-1')?.status, 'paused')
})

it('leaves out accounts that do not exist, also one that was removed meanwhile', async () => {
  const { book, clock, stored } = setup()

  assert.deepEqual([...(await book.get(['account-1', 'gone'])).keys()], ['account-1'])
  stored.clear()
  await clock.advance(MAX_AGE_MS)

  assert.deepEqual([...(await book.get(['account-1'])).keys()], [])
})

it('lets callers that must not wait see what was last read, however old', async () => {
  const { book, clock } = setup()
  assert.equal(book.peek('account-1'), null)

  await book.get(['account-1'])
  await clock.advance(60 * MAX_AGE_MS)

  assert.equal(book.peek('account-1')?.id, 'account-1')
})

it('replaces a stored policy that makes no sense, and says so once', async () => {
  const { book, clock, logger } = setup([storedAccount({ retry: { maxAttempts: -1 } })])

  await book.get(['account-1'])
  await clock.advance(MAX_AGE_MS)
  const account = (await book.get(['account-1'])).get('account-1')

  assert.deepEqual(account?.retry, SAFE_RETRY)
  assert.match(account?.retryWarning ?? '', /maxAttempts/)
  assert.equal(logger.lines.length, 1)
})

it('gives an account without a breaker of its own the usual one', async () => {
  const { book } = setup([storedAccount({ breaker: null as never })])

  assert.deepEqual((await book.get(['account-1'])).get('account-1')?.breaker, DEFAULT_BREAKER)
})

it('keeps an account whose secrets cannot be opened from stopping the others (P7, P8)', async () => {
  const open: OpenSecrets = ({ id }) => {
    if (id === 'account-2') throw new Error('sealed with another key')
    return {}
  }
  const { book, clock, logger } = setup([storedAccount(), storedAccount({ id: 'account-2' })], open)

  const found = await book.get(['account-1', 'account-2'])
  await clock.advance(MAX_AGE_MS)
  await book.get(['account-1', 'account-2'])

  assert.deepEqual([found.get('account-1')?.status, found.get('account-2')?.status], ['active', 'paused'])
  assert.deepEqual(
    logger.lines.map(({ level, fields }) => [level, fields['accountId']]),
    [['error', 'account-2']],
  )
})

it('still counts an account as suspended when its secrets cannot be opened: its rows stop', async () => {
  const { book } = setup([storedAccount({ status: 'suspended' })], () => {
    throw new Error('sealed with another key')
  })

  assert.equal((await book.get(['account-1'])).get('account-1')?.status, 'suspended')
})

it('uses an account again once its secrets can be opened', async () => {
  let canOpen = false
  const { book, clock } = setup([storedAccount()], () => {
    if (!canOpen) throw new Error('sealed with another key')
    return {}
  })
  await book.get(['account-1'])

  canOpen = true
  await clock.advance(MAX_AGE_MS)

  assert.equal((await book.get(['account-1'])).get('account-1')?.status, 'active')
})

describe('who stands in', () => {
  const first = sampleAccount({ id: 'first' })
  const named = (...ids: string[]) => ids.map((id) => storedAccount({ id }))
  const standIn = async (bench: ReturnType<typeof setup>, from = first, wanted: 'ready' | 'any' = 'any') =>
    (await bench.book.standIn(from, wanted))?.id ?? null

  it('is the next account of the channel, in the order of the list, and never one before', async () => {
    const bench = setup(named('first', 'second', 'third'))

    assert.equal(await standIn(bench), 'second')
    assert.equal(await standIn(bench, sampleAccount({ id: 'second' })), 'third')
    assert.equal(await standIn(bench, sampleAccount({ id: 'third' })), null)
    assert.deepEqual(bench.read, ['all of acme'])
  })

  it('is not one that is suspended or paused, whose secrets cannot be opened, or whose provider is missing', async () => {
    const locked = storedAccount({ id: 'locked' })
    const rows = [
      storedAccount({ id: 'first' }),
      storedAccount({ id: 'suspended', status: 'suspended' }),
      storedAccount({ id: 'paused', status: 'paused' }),
      storedAccount({ id: 'old', provider: 'telegraph' }),
      locked,
    ]
    const open: OpenSecrets = ({ id }) => {
      if (id === 'locked') throw new Error('sealed with another key')
      return {}
    }

    assert.equal(await standIn(setup(rows, open)), null)
    assert.equal(await standIn(setup([...rows, storedAccount({ id: 'good' })], open)), 'good')
  })

  it('is one that can send now before one that is held or broken, and where it must, only such a one', async () => {
    const bench = setup(named('first', 'held', 'broken', 'well'))
    bench.world.lanes = [
      { accountId: 'held', breaker: 'closed', heldForMs: 5_000 },
      { accountId: 'broken', breaker: 'half_open', heldForMs: 0 },
      { accountId: 'well', breaker: 'closed', heldForMs: 0 },
    ]

    assert.equal(await standIn(bench, first, 'ready'), 'well')
    assert.equal(await standIn(bench, first, 'any'), 'well')
    bench.stored.delete('well')
    await bench.clock.advance(MAX_AGE_MS)

    assert.equal(await standIn(bench, first, 'ready'), null)
    assert.equal(await standIn(bench, first, 'any'), 'held')
  })

  it('is one whose vendor knows the same devices', async () => {
    const rows = ['fcm', 'wns', 'fcm'].map((provider, i) => storedAccount({ id: `a${i}`, channel: 'push', provider }))
    const { book } = setup(rows)

    assert.equal((await book.standIn(sampleAccount({ id: 'a0', channel: 'push', provider: 'fcm' }), 'any'))?.id, 'a2')
    assert.equal(await book.standIn(sampleAccount({ id: 'a1', channel: 'push', provider: 'wns' }), 'any'), null)
  })

  it('is nobody for an account that is gone, or that only this process cannot open', async () => {
    const bench = setup(named('mine', 'other'), ({ id }) => {
      if (id === 'mine') throw new Error('sealed with another key')
      return {}
    })
    const mine = (await bench.book.get(['mine'])).get('mine')
    assert.ok(mine)

    assert.equal(bench.book.isLocked('mine'), true)
    assert.equal(await standIn(bench, mine), null)
    assert.equal(await standIn(bench, sampleAccount({ id: 'gone' })), null)
  })

  it('takes over from a suspended account whether or not its secrets can be opened', async () => {
    const rows = [storedAccount({ id: 'first', status: 'suspended' }), storedAccount({ id: 'second' })]
    const bench = setup(rows, ({ id }) => {
      if (id === 'first') throw new Error('sealed with another key')
      return {}
    })
    await bench.book.get(['first'])

    assert.equal(bench.book.isLocked('first'), false)
    assert.equal(await standIn(bench), 'second')
  })

  it('is read once for all who ask together, and again after a while', async () => {
    const bench = setup(named('first', 'second'))

    await Promise.all(Array.from({ length: 20 }, () => standIn(bench)))
    assert.equal(bench.read.length, 1)
    bench.stored.set('second', storedAccount({ id: 'second', status: 'suspended' }))
    await bench.clock.advance(MAX_AGE_MS)

    assert.equal(await standIn(bench), null)
    assert.equal(bench.read.length, 2)
  })

  it('is asked for anew after the store was away', async () => {
    const bench = setup(named('first', 'second'))
    bench.world.isAway = true
    await assert.rejects(standIn(bench), { code: 'store_unavailable' })

    bench.world.isAway = false

    assert.equal(await standIn(bench), 'second')
  })
})
