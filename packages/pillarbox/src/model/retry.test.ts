import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  DEFAULT_RETRY,
  maxAttempts,
  parseRetry,
  type RetryPolicy,
  retryDelay,
  SAFE_RETRY,
  storedRetry,
} from './retry.ts'

const DAY_MS = 24 * 3_600_000

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

const exponential = fc
  .record({
    maxAttempts: fc.integer({ min: 1, max: 100 }),
    baseMs: fc.integer({ min: 1, max: 600_000 }),
    factor: fc.double({ min: 1, max: 100, noNaN: true }),
    extraMs: fc.integer({ min: 0, max: 30 * DAY_MS }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ extraMs, ...rest }) => ({ kind: 'exponential' as const, capMs: rest.baseMs + extraMs, ...rest }))

const policy: fc.Arbitrary<RetryPolicy> = fc.oneof(
  exponential,
  fc.record({
    kind: fc.constant('fixed' as const),
    maxAttempts: fc.integer({ min: 1, max: 100 }),
    delayMs: fc.integer({ min: 1, max: 30 * DAY_MS }),
  }),
  fc.record({
    kind: fc.constant('list' as const),
    delaysMs: fc.array(fc.integer({ min: 1, max: 30 * DAY_MS }), { minLength: 1, maxLength: 99 }),
  }),
)

describe('the delay before the next attempt', () => {
  it('is 5 s, 10 s, 20 s, 40 s by default, then nothing: five attempts in all', () => {
    const middle = 0.5

    const delays = [1, 2, 3, 4, 5, 6].map((failed) => retryDelay(DEFAULT_RETRY, failed, middle))

    assert.deepEqual(delays, [5_000, 10_000, 20_000, 40_000, null, null])
  })

  it('is at most 300 s before jitter by default, however many attempts there are', () => {
    const patient: RetryPolicy = { ...DEFAULT_RETRY, kind: 'exponential', maxAttempts: 100 } as RetryPolicy

    assert.equal(retryDelay(patient, 7, 0.5), 300_000)
    assert.equal(retryDelay(patient, 99, 0.5), 300_000)
  })

  it('spreads by 30 % either way by default', () => {
    assert.equal(retryDelay(DEFAULT_RETRY, 1, 0), 3_500)
    const highest = retryDelay(DEFAULT_RETRY, 1, 1 - Number.EPSILON)
    assert.equal(highest, 6_500)
  })

  it('lies within the jitter of min(cap, base × factor^(n-1))', () => {
    fc.assert(
      fc.property(exponential, fc.nat(98), random, (policy, n, random) => {
        const failed = n + 1
        fc.pre(failed < policy.maxAttempts)

        const delay = retryDelay(policy, failed, random)

        const bare = Math.min(policy.capMs, policy.baseMs * policy.factor ** n)
        assert.ok(delay !== null && Number.isInteger(delay))
        assert.ok(delay >= Math.floor(bare * (1 - policy.jitter)), `${delay} is below ${bare} - ${policy.jitter}`)
        assert.ok(delay <= Math.ceil(bare * (1 + policy.jitter)), `${delay} is above ${bare} + ${policy.jitter}`)
      }),
    )
  })

  it('never shrinks from one attempt to the next without jitter, and stays at the cap once there', () => {
    fc.assert(
      fc.property(exponential, (spread) => {
        const policy = { ...spread, jitter: 0 }
        let last = 0
        for (let failed = 1; failed < policy.maxAttempts; failed++) {
          const delay = retryDelay(policy, failed, 0)
          assert.ok(delay !== null && delay >= last && delay <= policy.capMs)
          if (last === policy.capMs) assert.equal(delay, policy.capMs)
          last = delay
        }
      }),
    )
  })

  it('is null exactly when the policy allows no further attempt', () => {
    fc.assert(
      fc.property(policy, fc.integer({ min: 1, max: 200 }), random, (policy, failed, random) => {
        assert.equal(retryDelay(policy, failed, random) === null, failed >= maxAttempts(policy))
      }),
    )
  })

  it('is null for an exhausted policy even when the provider names a time', () => {
    fc.assert(
      fc.property(policy, random, fc.nat(), (policy, random, retryAfterMs) => {
        assert.equal(retryDelay(policy, maxAttempts(policy), random, retryAfterMs), null)
      }),
    )
  })

  it('is never shorter than what the provider asks for, as far as that is within a day', () => {
    fc.assert(
      fc.property(policy, random, fc.nat(10 * DAY_MS), (policy, random, retryAfterMs) => {
        fc.pre(maxAttempts(policy) > 1)

        const planned = retryDelay(policy, 1, random)
        const asked = retryDelay(policy, 1, random, retryAfterMs)

        assert.ok(planned !== null)
        assert.equal(asked, Math.max(planned, Math.min(retryAfterMs, DAY_MS)))
      }),
    )
  })

  it('does not believe a provider that asks for weeks, for ever, or for nonsense', () => {
    const policy: RetryPolicy = { kind: 'fixed', maxAttempts: 3, delayMs: 1_000 }

    assert.equal(retryDelay(policy, 1, 0, 14 * DAY_MS), DAY_MS)
    assert.equal(retryDelay(policy, 1, 0, Number.POSITIVE_INFINITY), DAY_MS)
    assert.equal(retryDelay(policy, 1, 0, -5_000), 1_000)
    assert.equal(retryDelay(policy, 1, 0, Number.NaN), 1_000)
  })

  it('keeps a list as it is written: one retry per entry', () => {
    const policy: RetryPolicy = { kind: 'list', delaysMs: [60_000, 120_000, 240_000, 480_000, 960_000] }

    assert.equal(maxAttempts(policy), 6)
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6].map((failed) => retryDelay(policy, failed, 0.9)),
      [60_000, 120_000, 240_000, 480_000, 960_000, null],
    )
  })

  it('keeps a fixed delay as it is written', () => {
    const policy: RetryPolicy = { kind: 'fixed', maxAttempts: 3, delayMs: 60_000 }

    assert.deepEqual(
      [1, 2, 3].map((failed) => retryDelay(policy, failed, 0.1)),
      [60_000, 60_000, null],
    )
  })
})

describe('reading a retry policy', () => {
  const GOOD: [string, unknown, RetryPolicy][] = [
    ['an empty object as the default', {}, DEFAULT_RETRY],
    [
      'every field of the exponential form',
      { maxAttempts: 3, base: 'PT1S', factor: 3, cap: 'PT1M', jitter: 0 },
      { kind: 'exponential', maxAttempts: 3, baseMs: 1_000, factor: 3, capMs: 60_000, jitter: 0 },
    ],
    ['a fixed delay', { maxAttempts: 7, fixed: 'PT1M' }, { kind: 'fixed', maxAttempts: 7, delayMs: 60_000 }],
    [
      'a fixed delay without a count as five attempts',
      { fixed: 'PT2S' },
      { kind: 'fixed', maxAttempts: 5, delayMs: 2_000 },
    ],
    ['a list', { delays: ['PT1M', 'PT2M'] }, { kind: 'list', delaysMs: [60_000, 120_000] }],
    [
      'a base above the default cap, with the cap moved up to it',
      { base: 'PT10M' },
      { kind: 'exponential', maxAttempts: 5, baseMs: 600_000, factor: 2, capMs: 600_000, jitter: 0.3 },
    ],
  ]
  for (const [what, json, expected] of GOOD)
    it(`takes ${what}`, () => {
      assert.deepEqual(parseRetry(json), { policy: expected })
    })

  const BAD: [string, unknown, string[]][] = [
    ['null', null, ['']],
    ['a list of delays without its name', ['PT1M'], ['']],
    ['text', 'PT5S', ['']],
    ['a number', 5, ['']],
    ['an unknown field', { retries: 5 }, ['retries']],
    ['no attempt at all', { maxAttempts: 0 }, ['maxAttempts']],
    ['a negative count', { maxAttempts: -1 }, ['maxAttempts']],
    ['half an attempt', { maxAttempts: 2.5 }, ['maxAttempts']],
    ['endless attempts', { maxAttempts: 101 }, ['maxAttempts']],
    ['a count as text', { maxAttempts: '5' }, ['maxAttempts']],
    ['a count that is null', { maxAttempts: null }, ['maxAttempts']],
    ['a base in milliseconds', { base: 5_000 }, ['base']],
    ['a base of nothing', { base: 'PT0S' }, ['base']],
    ['a base that is no duration', { base: '5 seconds' }, ['base']],
    ['a base beyond a month', { base: 'P31D' }, ['base']],
    ['a shrinking factor', { factor: 0.5 }, ['factor']],
    ['an absurd factor', { factor: 1_000 }, ['factor']],
    ['a factor that is not a number', { factor: Number.NaN }, ['factor']],
    ['a cap below the base', { base: 'PT10S', cap: 'PT5S' }, ['cap']],
    ['a negative jitter', { jitter: -0.1 }, ['jitter']],
    ['a jitter in percent', { jitter: 30 }, ['jitter']],
    ['a fixed delay of nothing', { fixed: 'PT0S' }, ['fixed']],
    ['a fixed delay that is null', { fixed: null }, ['fixed']],
    ['a fixed delay with a factor', { fixed: 'PT1M', factor: 2 }, ['factor']],
    ['no delays', { delays: [] }, ['delays']],
    ['delays that are no list', { delays: 'PT1M' }, ['delays']],
    ['a hundred delays', { delays: Array.from({ length: 100 }, () => 'PT1M') }, ['delays']],
    ['a bad delay among good ones', { delays: ['PT1M', 'soon', 'PT2M', 7] }, ['delays/1', 'delays/3']],
    ['delays with a count', { delays: ['PT1M'], maxAttempts: 5 }, ['maxAttempts']],
    ['several mistakes at once', { maxAttempts: 0, base: 'x', jitter: 2 }, ['base', 'maxAttempts', 'jitter']],
  ]
  for (const [what, json, paths] of BAD)
    it(`refuses ${what}, naming where`, () => {
      const read = parseRetry(json)

      assert.ok('problems' in read, 'was taken')
      assert.deepEqual(new Set(read.problems.map((problem) => problem.path)), new Set(paths))
      for (const problem of read.problems) assert.notEqual(problem.message, '')
    })

  it('never throws, and what it takes has sane bounds', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), nearlyRetry), (json) => {
        const read = parseRetry(json)
        if ('problems' in read) assert.ok(read.problems.length > 0)
        else assertTerminates(read.policy)
      }),
    )
  })
})

describe('a stored retry policy', () => {
  it('is the default where none was stored', () => {
    assert.deepEqual(storedRetry(null), { policy: DEFAULT_RETRY })
    assert.deepEqual(storedRetry(undefined), { policy: DEFAULT_RETRY })
  })

  it('is taken as it is when it makes sense, without a warning', () => {
    assert.deepEqual(storedRetry({ fixed: 'PT1M', maxAttempts: 2 }), {
      policy: { kind: 'fixed', maxAttempts: 2, delayMs: 60_000 },
    })
  })

  it('is replaced by a safe one when it makes no sense, with a warning that says what is wrong', () => {
    const { policy, warning } = storedRetry({ maxAttempts: 0 })

    assert.deepEqual(policy, SAFE_RETRY)
    assert.match(warning ?? '', /maxAttempts must be/)
  })

  it('never throws and always gives a policy that ends, whatever is stored', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), nearlyRetry), (json) => {
        const { policy, warning } = storedRetry(json)

        assertTerminates(policy)
        assert.equal(warning === undefined, json === null || 'policy' in parseRetry(json))
      }),
    )
  })
})

/** The right names with plausible and absurd values. */
const nearlyRetry = fc.record(
  {
    maxAttempts: fc.oneof(fc.integer(), fc.double(), fc.jsonValue()),
    base: fc.oneof(fc.constantFrom('PT5S', 'PT0S', 'P400D', '', 'P', 'PT'), fc.jsonValue()),
    factor: fc.oneof(fc.double(), fc.jsonValue()),
    cap: fc.oneof(fc.constantFrom('PT5M', 'PT1S', 'P29D'), fc.jsonValue()),
    jitter: fc.oneof(fc.double(), fc.jsonValue()),
    fixed: fc.oneof(fc.constantFrom('PT1M', 'PT0S'), fc.jsonValue()),
    delays: fc.oneof(fc.array(fc.constantFrom('PT1M', 'PT0S', 'soon')), fc.jsonValue()),
  },
  { requiredKeys: [] },
)

function assertTerminates(policy: RetryPolicy): void {
  const attempts = maxAttempts(policy)
  assert.ok(Number.isInteger(attempts) && attempts >= 1 && attempts <= 100, `${attempts} attempts`)
  assert.equal(retryDelay(policy, attempts, 0.5), null)
  for (let failed = 1; failed < attempts; failed++) {
    const delay = retryDelay(policy, failed, 0.999)
    assert.ok(delay !== null && Number.isFinite(delay) && delay >= 0 && delay <= 60 * DAY_MS, `waits ${delay} ms`)
  }
}
