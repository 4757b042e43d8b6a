import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import {
  noSuppressions,
  recordingLogger,
  recordingMeters,
  sampleAccount,
  sampleClaim,
} from '../../../../test/support/samples.ts'
import type { Provider } from '../channels/channel.ts'
import { CHANNELS } from '../model/channel.ts'
import { PillarboxError } from '../model/errors.ts'
import type { Store } from '../store/store.ts'
import type { AccountBook } from '../tenant/account-book.ts'
import { createCustody } from './custody.ts'
import type { Claim, Completion } from './dispatch-store.ts'
import type { Heartbeat } from './heartbeat.ts'
import { type RescuerDeps, rescue, runRescuer } from './rescuer.ts'

const TTL_MS = 30_000
const EVERY_MS = 1_000

/** A store with rows of dead workers; every take-over and every look for orphans gives the rows new tokens. */
function setup() {
  const clock = createManualClock()
  const logger = recordingLogger()
  const world = {
    mayStart: true,
    /** What the next take-overs answer. */
    abandoned: [] as Claim[][],
    /** Taken over by this worker, by the store's account. */
    inDoubt: new Map<string, Claim>(),
    token: 100,
    accountsAway: false,
    takeOverAway: false,
  }
  const takeOvers: { workerId: string; ttlMs: number; limit: number; at: number }[] = []
  const completed: Completion[] = []
  const receive = (claims: readonly Claim[]): Claim[] =>
    claims.map((claim) => {
      const taken = { ...claim, token: ++world.token }
      world.inDoubt.set(taken.notificationId, taken)
      return taken
    })
  const store = {
    workers: {
      takeOver: async (workerId: string, ttlMs: number, limit: number) => {
        takeOvers.push({ workerId, ttlMs, limit, at: clock.monotonic() })
        if (world.takeOverAway) throw new PillarboxError('store_unavailable', 'connection reset')
        return receive(world.abandoned.shift() ?? [])
      },
    },
    dispatch: {
      orphans: async (_workerId: string, held: readonly number[]) =>
        receive([...world.inDoubt.values()].filter(({ token }) => !held.includes(token))),
    },
  } as unknown as Store
  const provider: Provider = {
    name: 'vendor',
    channels: CHANNELS,
    capability: () => 'none',
    send: () => assert.fail('a rescuer makes no calls'),
  }
  const account = sampleAccount()
  const accounts: AccountBook = {
    get: async () => {
      if (world.accountsAway) throw new PillarboxError('store_unavailable', 'connection reset')
      return new Map([[account.id, account]])
    },
    peek: (id) => (id === account.id ? account : null),
    outdate: () => {},
    isLocked: () => false,
    standIn: async () => null,
  }
  const heartbeat = { id: () => 'worker-1', mayStart: () => world.mayStart } as Heartbeat
  const custody = createCustody({ store, heartbeat, clock, logger })
  const meters = recordingMeters()
  const deps: RescuerDeps = {
    store,
    accounts,
    attempt: {
      registry: () => provider,
      clock,
      random: () => 0.5,
      logger,
      holdMs: () => 0,
      saw: async () => assert.fail('a dead worker says nothing about a provider'),
      isBreakerOpen: () => false,
      standIn: () => assert.fail('a call in doubt stays where it is'),
      fallBack: async () => null,
      scrub: (text) => text,
      suppressions: noSuppressions,
    },
    completer: {
      write: async (completion) => {
        completed.push(completion)
        world.inDoubt.delete(completion.notificationId)
      },
      backlog: () => 0,
      drain: async () => {},
    },
    custody,
    heartbeat,
    clock,
    random: () => 0.5,
    logger,
    meters,
    ttlMs: TTL_MS,
    everyMs: EVERY_MS,
  }
  return { clock, logger, meters, world, deps, custody, takeOvers, completed, stop: new AbortController() }
}

const lost = (n: number, changes: Partial<Claim> = {}): Claim =>
  sampleClaim({ notificationId: `notification-${n}`, ...changes })

describe('a rescue', () => {
  it('takes over what workers held that are silent for longer than the TTL', async () => {
    const { deps, takeOvers } = setup()

    assert.equal(await rescue(deps), 0)

    assert.deepEqual(takeOvers, [{ workerId: 'worker-1', ttlMs: TTL_MS, limit: 500, at: 0 }])
  })

  it('settles each row as a call in doubt, under the token of the take-over', async () => {
    const { deps, world, completed, logger } = setup()
    world.abandoned = [[lost(1, { attempt: 2, spent: 1 }), lost(2)]]

    assert.equal(await rescue(deps), 2)

    assert.deepEqual(
      completed.map(({ token, attempt, outcome, code, to, possibleDuplicate }) => [
        token,
        attempt,
        outcome,
        code,
        to,
        possibleDuplicate,
      ]),
      [
        [101, 2, 'unknown', 'worker_lost', 'retrying', true],
        [102, 1, 'unknown', 'worker_lost', 'retrying', true],
      ],
    )
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1)
  })

  it('parks, flagged, what belongs to an account that is gone', async () => {
    const { deps, world, completed } = setup()
    world.abandoned = [[lost(1, { accountId: 'account-gone' })]]

    await rescue(deps)

    assert.deepEqual([completed[0]?.to, completed[0]?.possibleDuplicate], ['parked', true])
  })

  it('is not made by a worker that may be dead itself', async () => {
    const { deps, world, takeOvers } = setup()
    world.mayStart = false

    assert.equal(await rescue(deps), 0)
    assert.equal(takeOvers.length, 0)
  })

  it('holds no token once everything is settled', async () => {
    const { deps, world, custody } = setup()
    world.abandoned = [[lost(1)]]
    await rescue(deps)
    world.inDoubt.set('stray', lost(9, { notificationId: 'stray', token: 101 }))

    custody.answerLost()

    assert.equal((await custody.recover()).length, 1)
  })
})

describe('the rescuer', () => {
  it('looks again and again, a little irregularly, until it is told to stop', async () => {
    const { deps, clock, takeOvers, stop } = setup()
    let ended = false
    void runRescuer(deps, stop.signal).then(() => {
      ended = true
    })

    await clock.advance(3 * EVERY_MS)
    assert.deepEqual(
      takeOvers.map(({ at }) => at),
      [0, 1_000, 2_000, 3_000],
    )
    stop.abort()
    await clock.settle()

    assert.equal(ended, true)
  })

  it('looks again at once as long as there is more than it takes in one go', async () => {
    const { deps, world, clock, takeOvers, stop, completed } = setup()
    world.abandoned = [Array.from({ length: 500 }, (_, n) => lost(n)), [lost(501)]]

    void runRescuer(deps, stop.signal)
    await clock.settle()

    assert.equal(takeOvers.length, 2)
    assert.equal(completed.length, 501)
    stop.abort()
  })

  it('goes on when the store is away for a while', async () => {
    const { deps, world, clock, stop, completed, logger } = setup()
    world.takeOverAway = true
    world.abandoned = [[lost(1)]]

    void runRescuer(deps, stop.signal)
    await clock.advance(EVERY_MS)
    assert.equal(logger.lines[0]?.message, 'looking for dead workers failed; trying again')
    world.takeOverAway = false
    await clock.advance(EVERY_MS)

    assert.equal(completed.length, 1)
    stop.abort()
  })

  it('settles rows whose take-over was committed but never answered', async () => {
    const { deps, world, clock, stop, completed, custody } = setup()
    world.inDoubt.set('notification-1', lost(1, { token: 55 }))
    custody.answerLost()

    void runRescuer(deps, stop.signal)
    await clock.settle()

    assert.deepEqual(
      completed.map(({ notificationId, code }) => [notificationId, code]),
      [['notification-1', 'worker_lost']],
    )
    stop.abort()
  })

  it('does not lose what it has taken over when the accounts cannot be read just then (P1)', async () => {
    const { deps, world, clock, stop, completed } = setup()
    world.abandoned = [[lost(1), lost(2)]]
    world.accountsAway = true

    void runRescuer(deps, stop.signal)
    await clock.advance(10 * EVERY_MS)
    assert.equal(completed.length, 0)
    world.accountsAway = false
    await clock.advance(5 * EVERY_MS)

    assert.deepEqual(
      completed.map(({ notificationId }) => notificationId),
      ['notification-1', 'notification-2'],
    )
    stop.abort()
  })
})
