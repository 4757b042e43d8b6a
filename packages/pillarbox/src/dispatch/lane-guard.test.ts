import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, recordingMeters, sampleAccount, storedAccount } from '../../../../test/support/samples.ts'
import { PillarboxError } from '../model/errors.ts'
import type { Outcome } from '../model/outcome.ts'
import type { Store } from '../store/store.ts'
import { createLaneGuard } from './lane-guard.ts'

const ACCEPTED: Outcome = { kind: 'accepted', providerMessageId: 'm1' }
const TRANSIENT: Outcome = { kind: 'transient', code: '503', error: 'away' }
const UNKNOWN: Outcome = { kind: 'unknown', code: 'timeout', error: 'no answer' }
const DEFERRED: Outcome = { ...TRANSIENT, isDeferred: true }
const THROTTLED: Outcome = { kind: 'throttled', code: '429', error: 'slow down' }
const UNAUTHORIZED: Outcome = { kind: 'unauthorized', code: '401', error: 'who are you' }
const PERMANENT: Outcome = {
  kind: 'permanent',
  code: '400',
  error: 'no such number',
  reason: 'invalid_recipient',
}
const HOUR_MS = 3_600_000

/** A guard over a store that writes down what it is told. */
function setup({ isAway = false, isActive = true } = {}) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const told: unknown[][] = []
  const tell = async (...what: unknown[]): Promise<void> => {
    if (isAway) throw new PillarboxError('store_unavailable', 'connection reset')
    told.push(what)
  }
  const store = {
    lanes: {
      openBreaker: (id: string, ms: number, error: string) => tell('open', id, ms, error),
      closeBreaker: (id: string) => tell('close', id),
      hold: (id: string, ms: number, reason: string) => tell('hold', id, ms, reason),
    },
    accounts: {
      find: async () => {
        await tell('find')
        return storedAccount({ status: isActive ? 'active' : 'paused', statusReason: 'who are you' })
      },
      setStatus: async (id: string, status: string, reason: string, actor: string, from: readonly string[]) => {
        await tell('status', id, status, reason, actor, ...from)
        return isActive
      },
    },
  } as unknown as Pick<Store, 'lanes' | 'accounts'>
  const meters = recordingMeters()
  const guard = createLaneGuard({ store, clock, logger, meters, pausedHoldMs: 30_000 })
  const account = sampleAccount({ breaker: { failures: 3, resetAfterMs: 30_000 } })
  const saw = async (...outcomes: Outcome[]): Promise<void> => {
    for (const outcome of outcomes) await guard.saw(account, outcome)
  }
  return { clock, logger, meters, guard, account, told, saw }
}

const OPENED = ['open', 'account-1', 30_000, 'away']
const CLOSED = ['close', 'account-1']

describe('the breaker', () => {
  it('opens after as many failures in a row as the account allows', async () => {
    const { saw, told, meters } = setup()

    await saw(TRANSIENT, UNKNOWN)
    assert.deepEqual([told, meters.counts], [[], {}])
    await saw(TRANSIENT)

    assert.deepEqual(told, [OPENED])
    assert.deepEqual(meters.counts, { 'breaker_openings sms': 1 })
  })

  it('starts counting again after a sensible answer, accepted or refused', async () => {
    const { saw, told } = setup()

    await saw(TRANSIENT, TRANSIENT, ACCEPTED, TRANSIENT, TRANSIENT, PERMANENT, TRANSIENT, TRANSIENT)

    assert.deepEqual(told, [])
  })

  it('does not count being throttled as a failure, nor as an answer', async () => {
    const { saw, told } = setup()

    await saw(TRANSIENT, TRANSIENT, THROTTLED, TRANSIENT)

    assert.deepEqual(
      told.map(([what]) => what),
      ['hold', 'open'],
    )
  })

  it('does not count a deferral as a failure: who defers is up, and ends a probe', async () => {
    const { guard, saw, told } = setup()

    await saw(TRANSIENT, TRANSIENT, DEFERRED, TRANSIENT, TRANSIENT)
    assert.deepEqual(told, [])
    guard.probing('account-1')
    await saw(DEFERRED)

    assert.deepEqual(told, [CLOSED])
  })

  it('is known to be open from the failure that opens it, and while its probe is under way', async () => {
    const { guard, saw } = setup()
    assert.equal(guard.isOpen('account-1'), false)

    await saw(TRANSIENT, TRANSIENT)
    assert.equal(guard.isOpen('account-1'), false)
    await saw(TRANSIENT)
    assert.equal(guard.isOpen('account-1'), true)
    await saw(ACCEPTED)
    assert.equal(guard.isOpen('account-1'), false)
    guard.probing('account-1')

    assert.equal(guard.isOpen('account-1'), true)
  })

  it('counts each account for itself', async () => {
    const { guard, told } = setup()

    for (const id of ['a', 'b', 'c', 'd']) await guard.saw(sampleAccount({ id }), TRANSIENT)

    assert.deepEqual(told, [])
  })

  it('closes when the probe is accepted, or refused for a reason of its own', async () => {
    for (const answer of [ACCEPTED, PERMANENT]) {
      const { guard, saw, told } = setup()

      guard.probing('account-1')
      await saw(answer)

      assert.deepEqual(told, [CLOSED])
    }
  })

  it('opens again at once when the probe fails', async () => {
    const { guard, saw, told } = setup()

    guard.probing('account-1')
    await saw(TRANSIENT)

    assert.deepEqual(told, [OPENED])
  })

  it('needs the full count again after it has closed', async () => {
    const { saw, told } = setup()

    await saw(TRANSIENT, TRANSIENT, TRANSIENT, ACCEPTED, TRANSIENT, TRANSIENT)
    assert.deepEqual(told, [OPENED, CLOSED])
    await saw(TRANSIENT)

    assert.deepEqual(told, [OPENED, CLOSED, OPENED])
  })

  it('costs nothing while all is well', async () => {
    const { saw, told } = setup()

    await saw(ACCEPTED, ACCEPTED, PERMANENT, ACCEPTED)

    assert.deepEqual(told, [])
  })
})

describe('a throttled lane', () => {
  /** Holds given one after the other, each after the last one was over. */
  async function holds({ saw, told, clock }: ReturnType<typeof setup>, count: number, outcome = THROTTLED) {
    told.length = 0
    for (let i = 0; i < count; i++) {
      await saw(outcome)
      await clock.advance(HOUR_MS)
    }
    return told.map(([, , ms]) => ms)
  }

  it('is held for a second, doubling up to a minute while it keeps being throttled', async () => {
    const bench = setup()

    assert.deepEqual(await holds(bench, 8), [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  })

  it('is held for a second again after an answer', async () => {
    const bench = setup()
    await holds(bench, 4)

    await bench.saw(ACCEPTED)

    assert.deepEqual(await holds(bench, 2), [1_000, 2_000])
  })

  it('is held once for all the calls that are throttled together', async () => {
    const { saw, told, guard } = setup()

    await saw(THROTTLED, THROTTLED, THROTTLED, THROTTLED)

    assert.deepEqual([...new Set(told.map(([, , ms]) => ms))], [1_000])
    assert.equal(guard.holdMs('account-1', THROTTLED), 1_000)
  })

  it('is held for as long as the provider asks', async () => {
    const { saw, told, guard } = setup()
    const patient: Outcome = { ...THROTTLED, retryAfterMs: 90_000 }

    assert.equal(guard.holdMs('account-1', patient), 90_000)
    await saw(patient)

    assert.deepEqual(told, [['hold', 'account-1', 90_000, 'throttled: 429']])
  })

  it('is held for a sensible time when the provider asks for none, for nonsense or for ever', async () => {
    const { guard } = setup()
    const asked = (retryAfterMs: number): number => guard.holdMs('account-1', { ...THROTTLED, retryAfterMs })

    assert.equal(asked(0), 1_000)
    assert.equal(asked(-5), 1_000)
    assert.equal(asked(Number.NaN), 1_000)
    assert.equal(asked(Number.POSITIVE_INFINITY), 24 * HOUR_MS)
  })

  it('makes its rows wait as long as it is held itself', async () => {
    const { saw, told, guard, clock } = setup()
    await saw(THROTTLED)
    await clock.advance(1_000)

    const rowWaits = guard.holdMs('account-1', THROTTLED)
    await saw(THROTTLED)

    assert.equal(rowWaits, told.at(-1)?.[2])
    assert.equal(rowWaits, 2_000)
  })

  it('is not held, and its breaker not touched, where only one recipient is called too often', async () => {
    const { saw, told, guard } = setup()
    const one: Outcome = { ...THROTTLED, scope: 'recipient', retryAfterMs: 90_000 }

    await saw(TRANSIENT, TRANSIENT, one)
    assert.equal(guard.holdMs('account-1', one), 0)
    assert.deepEqual(told, [])
    await saw(TRANSIENT)

    assert.deepEqual(told, [OPENED])
  })

  it('is not held by any other outcome', () => {
    const { guard } = setup()

    for (const outcome of [ACCEPTED, TRANSIENT, UNKNOWN, UNAUTHORIZED, PERMANENT])
      assert.equal(guard.holdMs('account-1', outcome), 0)
  })
})

describe('refused credentials', () => {
  it('hold the lane and pause the account, if it is active', async () => {
    const { saw, told, logger, meters } = setup()

    await saw(UNAUTHORIZED)

    assert.deepEqual(meters.counts, { 'account_pauses sms': 1 })

    assert.deepEqual(told, [
      ['hold', 'account-1', 30_000, 'paused: 401'],
      ['status', 'account-1', 'paused', 'who are you', 'system', 'active'],
    ])
    assert.deepEqual(
      logger.lines.map(({ level }) => level),
      ['error'],
    )
  })

  it('end a probe: who refuses them is up', async () => {
    const { guard, saw, told } = setup()

    guard.probing('account-1')
    await saw(UNAUTHORIZED)

    assert.deepEqual(
      told.map(([what]) => what),
      ['close', 'hold', 'status'],
    )
  })

  it('keep the lane held for as long as nobody mends them', async () => {
    const { guard, account, told } = setup({ isActive: false })

    await guard.stillPaused(account)

    assert.deepEqual(told, [['find'], ['hold', 'account-1', 30_000, 'paused: who are you']])
  })

  it('that were mended meanwhile hold the lane no longer, whatever this process last read', async () => {
    const { guard, told } = setup({ isActive: true })

    await guard.stillPaused(sampleAccount({ status: 'paused' }))

    assert.deepEqual(told, [['find']])
  })

  it('are told once: an account that is paused already is not reported again', async () => {
    const { saw, logger, meters } = setup({ isActive: false })

    await saw(UNAUTHORIZED)

    assert.deepEqual([logger.lines, meters.counts], [[], {}])
  })
})

describe('trouble with the store', () => {
  it('is logged and never thrown: the guard only slows things down', async () => {
    for (const outcomes of [[TRANSIENT, TRANSIENT, TRANSIENT], [THROTTLED], [UNAUTHORIZED]]) {
      const { saw, logger } = setup({ isAway: true })

      await saw(...outcomes)

      assert.deepEqual(
        logger.lines.map(({ message }) => message),
        ['lane state not written'],
      )
    }
  })

  it('does not keep a paused account from being looked at later', async () => {
    const { guard, account, logger } = setup({ isAway: true })

    await guard.stillPaused(account)

    assert.equal(logger.lines.length, 1)
  })
})
