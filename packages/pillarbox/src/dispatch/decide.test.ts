import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Capability } from '../channels/channel.ts'
import type { Outcome } from '../model/outcome.ts'
import { REASONS, type Reason } from '../model/reason.ts'
import { maxAttempts, type RetryPolicy } from '../model/retry.ts'
import { type CallQuestion, type CallVerdict, decide, nextChannel } from './decide.ts'

const OUTCOMES = {
  accepted: { kind: 'accepted', providerMessageId: 'm1' },
  transient: { kind: 'transient', code: '503', error: 'away' },
  deferred: { kind: 'transient', code: '130472', error: 'not today', retryAfterMs: 7_200_000, isDeferred: true },
  throttled: { kind: 'throttled', code: '429', error: 'slow down' },
  'throttled-one': { kind: 'throttled', code: '131056', error: 'not him again', scope: 'recipient' },
  unauthorized: { kind: 'unauthorized', code: '401', error: 'who are you' },
  permanent: { kind: 'permanent', code: '400', error: 'no such number', reason: 'invalid_recipient' },
  rejected: { kind: 'permanent', code: '132001', error: 'no such template', reason: 'template_rejected' },
  unknown: { kind: 'unknown', code: 'timeout', error: 'no answer' },
} as const satisfies Record<string, Outcome>

const UNMAPPED: Outcome = { kind: 'transient', code: '139999', error: 'never heard of it', isUnmapped: true }

const CAPABILITIES: readonly Capability[] = ['key', 'lookup', 'none']
const ON_UNKNOWN = ['resend', 'hold'] as const
const ATTEMPTS = { left: 0, exhausted: 2 } as const
const THREE_TRIES: RetryPolicy = { kind: 'fixed', maxAttempts: 3, delayMs: 1_000 }

/**
 * Every outcome × what the vendor can do × policy × attempts × breaker × flag. `*`: whichever; `same`: as it was before.
 */
const TABLE = `
  outcome         capability  onUnknown  attempts   breaker  flagged | to         reason              spent  flagged  fallback  standIn
  accepted        key         *          *          *        *       | sent       -                   1      no       -         none
  accepted        lookup      *          *          *        *       | sent       -                   1      same     -         none
  accepted        none        *          *          *        *       | sent       -                   1      same     -         none
  transient       *           *          left       closed   *       | retrying   -                   1      same     no        none
  transient       *           *          left       open     no      | retrying   -                   1      no       no        ready
  transient       *           *          left       open     yes     | retrying   -                   1      yes      no        none
  transient       *           *          exhausted  *        no      | parked     attempts_exhausted  1      no       yes       any
  transient       *           *          exhausted  *        yes     | parked     attempts_exhausted  1      yes      no        none
  deferred        *           *          left       *        no      | retrying   -                   1      no       yes       ready
  deferred        *           *          left       *        yes     | retrying   -                   1      yes      no        none
  deferred        *           *          exhausted  *        no      | parked     attempts_exhausted  1      no       yes       any
  deferred        *           *          exhausted  *        yes     | parked     attempts_exhausted  1      yes      no        none
  throttled       *           *          *          *        *       | retrying   -                   0      same     no        none
  throttled-one   *           *          *          *        *       | retrying   -                   0      same     no        none
  unauthorized    *           *          *          *        no      | retrying   -                   0      no       yes       any
  unauthorized    *           *          *          *        yes     | retrying   -                   0      yes      no        none
  permanent       *           *          *          *        no      | parked     invalid_recipient   1      no       yes       none
  permanent       *           *          *          *        yes     | parked     invalid_recipient   1      yes      no        none
  rejected        *           *          *          *        no      | parked     template_rejected   1      no       yes       none
  rejected        *           *          *          *        yes     | parked     template_rejected   1      yes      no        none
  unknown         key         *          left       *        *       | retrying   -                   1      yes      no        none
  unknown         key         *          exhausted  *        *       | parked     attempts_exhausted  1      yes      no        none
  unknown         lookup      *          left       *        *       | retrying   -                   1      yes      no        none
  unknown         lookup      *          exhausted  *        *       | parked     attempts_exhausted  1      yes      no        none
  unknown         none        resend     left       *        *       | retrying   -                   1      yes      no        none
  unknown         none        resend     exhausted  *        *       | parked     attempts_exhausted  1      yes      no        none
  unknown         none        hold       *          *        *       | uncertain  outcome_unknown     1      same     -         none
`

const USUAL: Omit<CallQuestion, 'outcome'> = {
  retry: THREE_TRIES,
  onUnknown: 'resend',
  onUndeliverable: 'park',
  onUnmapped: 'retry',
  capability: 'none',
  spent: 0,
  possibleDuplicate: false,
  freeCalls: 0,
  isBreakerOpen: false,
  random: 0.5,
  holdMs: 7_000,
}

describe('the table of decisions', () => {
  const rows = TABLE.trim()
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/[\s|]+/))
  for (const outcome of Object.keys(OUTCOMES) as (keyof typeof OUTCOMES)[])
    for (const capability of CAPABILITIES)
      for (const onUnknown of ON_UNKNOWN)
        for (const attempts of Object.keys(ATTEMPTS) as (keyof typeof ATTEMPTS)[])
          for (const breaker of ['closed', 'open'] as const)
            for (const flagged of ['no', 'yes'] as const) {
              const given = [outcome, capability, onUnknown, attempts, breaker, flagged]
              it(given.join(', '), () => {
                const matching = rows.filter((row) => given.every((cell, i) => row[i] === '*' || row[i] === cell))
                assert.equal(matching.length, 1, 'each case has one row')
                const [to, reason, spent, flag, fallback, standIn] = (matching[0] ?? []).slice(6)

                const verdict = decide({
                  ...USUAL,
                  outcome: OUTCOMES[outcome],
                  onUnknown,
                  capability,
                  spent: ATTEMPTS[attempts],
                  isBreakerOpen: breaker === 'open',
                  possibleDuplicate: flagged === 'yes',
                })

                assert.deepEqual(cells(verdict, ATTEMPTS[attempts]), {
                  to,
                  reason,
                  spent,
                  flag: flag === 'same' ? flagged : flag,
                  fallback,
                  standIn,
                })
              })
            }
})

function cells(verdict: CallVerdict, spentBefore: number): Record<string, string> {
  return {
    to: verdict.to,
    reason: 'reason' in verdict ? verdict.reason : '-',
    spent: String(verdict.spent - spentBefore),
    flag: verdict.possibleDuplicate ? 'yes' : 'no',
    fallback: 'mayFallBack' in verdict ? (verdict.mayFallBack ? 'yes' : 'no') : '-',
    standIn: verdict.standIn,
  }
}

describe('the delay before the next attempt', () => {
  const ask = (outcome: Outcome, changes: Partial<CallQuestion> = {}): number => {
    const verdict = decide({ ...USUAL, outcome, ...changes })
    assert.equal(verdict.to, 'retrying')
    return 'delayMs' in verdict ? verdict.delayMs : Number.NaN
  }

  it('is the policy’s after a transient or unknown outcome', () => {
    assert.equal(ask(OUTCOMES.transient), 1_000)
    assert.equal(ask(OUTCOMES.unknown), 1_000)
  })

  it('is at least what the provider asked for', () => {
    assert.equal(ask({ ...OUTCOMES.transient, retryAfterMs: 9_000 }), 9_000)
    assert.equal(ask({ ...OUTCOMES.transient, retryAfterMs: 10 }), 1_000)
  })

  it('is as long as the lane is held after a throttled call, and none after refused credentials', () => {
    assert.equal(ask(OUTCOMES.throttled), 7_000)
    assert.equal(ask(OUTCOMES.unauthorized), 0)
  })

  it('is the hours that a deferral asks for', () => {
    assert.equal(ask(OUTCOMES.deferred), 7_200_000)
  })

  it('is what the provider asks for where only the recipient is called too often', () => {
    assert.equal(ask({ ...OUTCOMES['throttled-one'], retryAfterMs: 90_000 }), 90_000)
    assert.equal(ask({ ...OUTCOMES['throttled-one'], retryAfterMs: Number.POSITIVE_INFINITY }), 24 * 3_600_000)
  })

  it('is 5 s for such a recipient, doubling up to 10 min with every call in vain, where the provider does not say', () => {
    const wait = (freeCalls: number, retryAfterMs?: number): number =>
      ask({ ...OUTCOMES['throttled-one'], ...(retryAfterMs !== undefined && { retryAfterMs }) }, { freeCalls })

    assert.deepEqual(
      [0, 1, 2, 6, 7, 5_000].map((calls) => wait(calls)),
      [5_000, 10_000, 20_000, 320_000, 600_000, 600_000],
    )
    assert.deepEqual(
      [0, -5, Number.NaN].map((nonsense) => wait(0, nonsense)),
      [5_000, 5_000, 5_000],
    )
  })

  it('follows a list of delays and the random number of a jitter', () => {
    const list: RetryPolicy = { kind: 'list', delaysMs: [10, 20, 30] }
    const jittered: RetryPolicy = {
      kind: 'exponential',
      maxAttempts: 5,
      baseMs: 100,
      factor: 2,
      capMs: 1_000,
      jitter: 0.5,
    }

    assert.deepEqual(
      [0, 1, 2].map((spent) => ask(OUTCOMES.transient, { spent, retry: list })),
      [10, 20, 30],
    )
    assert.equal(ask(OUTCOMES.transient, { random: 0, retry: jittered }), 50)
  })
})

describe('whatever is asked', () => {
  const policy: fc.Arbitrary<RetryPolicy> = fc.oneof(
    fc.record({ kind: fc.constant('fixed' as const), maxAttempts: fc.integer({ min: 1, max: 20 }), delayMs: fc.nat() }),
    fc.record({ kind: fc.constant('list' as const), delaysMs: fc.array(fc.nat(), { minLength: 1, maxLength: 19 }) }),
    fc.record({
      kind: fc.constant('exponential' as const),
      maxAttempts: fc.integer({ min: 1, max: 20 }),
      baseMs: fc.integer({ min: 1, max: 10_000 }),
      factor: fc.double({ min: 1, max: 10, noNaN: true }),
      capMs: fc.integer({ min: 10_000, max: 1_000_000 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  )
  const reasons = Object.keys(REASONS) as Reason[]
  const outcome: fc.Arbitrary<Outcome> = fc.oneof(
    ...Object.values(OUTCOMES).map((one) => fc.constant<Outcome>(one)),
    fc.constantFrom(...reasons).map((reason): Outcome => ({ ...OUTCOMES.permanent, reason })),
    fc.nat().map((retryAfterMs): Outcome => ({ ...OUTCOMES.transient, retryAfterMs })),
    fc.constant<Outcome>(UNMAPPED),
  )
  const question: fc.Arbitrary<CallQuestion> = fc.record({
    outcome,
    retry: policy,
    onUnknown: fc.constantFrom(...ON_UNKNOWN),
    onUndeliverable: fc.constantFrom('fail', 'park'),
    onUnmapped: fc.constantFrom('retry', 'park'),
    capability: fc.constantFrom(...CAPABILITIES),
    spent: fc.nat({ max: 25 }),
    possibleDuplicate: fc.boolean(),
    freeCalls: fc.nat(),
    isBreakerOpen: fc.boolean(),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    holdMs: fc.nat(),
  })
  const always = (name: string, holds: (question: CallQuestion, verdict: CallVerdict) => boolean): void => {
    it(name, () => fc.assert(fc.property(question, (asked) => holds(asked, decide(asked)))))
  }

  always(
    'nothing is sent that was not accepted, and what was accepted is sent',
    (asked, verdict) => (asked.outcome.kind === 'accepted') === (verdict.to === 'sent'),
  )
  always(
    'a call known to be refused never raises the flag (P4)',
    (asked, verdict) => asked.outcome.kind === 'unknown' || !verdict.possibleDuplicate || asked.possibleDuplicate,
  )
  always(
    'a flag once raised is lowered only when a vendor that honours our key accepts (P4)',
    (asked, verdict) =>
      !asked.possibleDuplicate ||
      verdict.possibleDuplicate ||
      (asked.outcome.kind === 'accepted' && asked.capability === 'key'),
  )
  always('a blind resend always raises the flag (P4)', (asked, verdict) => {
    const blind = asked.outcome.kind === 'unknown' && asked.capability === 'none' && asked.onUnknown === 'resend'
    return !blind || verdict.possibleDuplicate
  })
  always('holding back instead of resending never calls again', (asked, verdict) => {
    const held = asked.outcome.kind === 'unknown' && asked.capability === 'none' && asked.onUnknown === 'hold'
    return !held || verdict.to === 'uncertain'
  })
  always('throttled and unauthorized spend nothing, everything else one attempt', (asked, verdict) => {
    const isFree = asked.outcome.kind === 'throttled' || asked.outcome.kind === 'unauthorized'
    return verdict.spent === asked.spent + (isFree ? 0 : 1)
  })
  always(
    'fallback never follows a possible duplicate or an unknown outcome',
    (asked, verdict) =>
      nextChannel(verdict, ['email']) === null || (!verdict.possibleDuplicate && asked.outcome.kind !== 'unknown'),
  )
  always('a chain never stops short: what was refused for good and cannot have arrived goes on', (asked, verdict) => {
    const isRefused = ['permanent', 'unauthorized'].includes(asked.outcome.kind) || verdict.to === 'parked'
    return !isRefused || verdict.possibleDuplicate || nextChannel(verdict, ['email']) === 'email'
  })
  always(
    'another account never follows a possible duplicate, nor a call that is not known to have been refused',
    (asked, verdict) =>
      verdict.standIn === 'none' ||
      (!verdict.possibleDuplicate && ['transient', 'unauthorized'].includes(asked.outcome.kind)),
  )
  always(
    'a notification that goes on by itself only moves to an account that can send now, unless this one is paused',
    (asked, verdict) => verdict.to !== 'retrying' || verdict.standIn !== 'any' || asked.outcome.kind === 'unauthorized',
  )
  always(
    'a delay is a number of milliseconds',
    (_asked, verdict) => verdict.to !== 'retrying' || (Number.isFinite(verdict.delayMs) && verdict.delayMs >= 0),
  )
  always('the same question has the same answer', (asked, verdict) => {
    assert.deepEqual(decide(structuredClone(asked)), verdict)
    return true
  })

  it('every policy ends: after its last attempt a failing notification is parked', () => {
    const failing = fc.constantFrom<Outcome>(OUTCOMES.transient, OUTCOMES.unknown)
    fc.assert(
      fc.property(question, fc.infiniteStream(failing), (asked, outcomes) => {
        const spent: CallVerdict['to'][] = []
        let verdict: CallVerdict = {
          to: 'retrying',
          delayMs: 0,
          mayFallBack: false,
          standIn: 'none',
          spent: 0,
          possibleDuplicate: false,
        }
        for (const next of outcomes) {
          verdict = decide({ ...asked, ...verdict, outcome: next })
          spent.push(verdict.to)
          if (verdict.to !== 'retrying') break
        }
        const isHeld = verdict.to === 'uncertain'
        assert.ok(isHeld || (verdict.to === 'parked' && verdict.reason === 'attempts_exhausted'))
        assert.ok(isHeld || spent.length === maxAttempts(asked.retry))
      }),
    )
  })
})

describe('an address that is no good', () => {
  const ask = (outcome: Outcome, onUndeliverable: 'fail' | 'park', possibleDuplicate = false): CallVerdict =>
    decide({ ...USUAL, outcome, onUndeliverable, possibleDuplicate })

  it('closes its notification where the policy is to leave it at that, and may still fall back', () => {
    const verdict = ask(OUTCOMES.permanent, 'fail')

    assert.deepEqual([verdict.to, cells(verdict, 0)['reason']], ['failed', 'invalid_recipient'])
    assert.equal(nextChannel(verdict, ['email']), 'email')
    assert.equal(nextChannel(ask(OUTCOMES.permanent, 'fail', true), ['email']), null)
  })

  it('is the only thing that policy is about', () => {
    assert.equal(ask(OUTCOMES.rejected, 'fail').to, 'parked')
    assert.equal(ask(OUTCOMES.permanent, 'park').to, 'parked')
  })
})

describe('a refusal that nobody has mapped', () => {
  it('is tried again as often as any other, where the account says so', () => {
    for (const spent of Object.values(ATTEMPTS))
      assert.deepEqual(
        decide({ ...USUAL, outcome: UNMAPPED, spent }),
        decide({ ...USUAL, outcome: OUTCOMES.transient, spent }),
      )
  })

  it('is given up like any refusal for good, where the account says so', () => {
    for (const possibleDuplicate of [false, true]) {
      const question = { ...USUAL, onUnmapped: 'park' as const, possibleDuplicate }
      const refusal = { ...OUTCOMES.permanent, reason: 'permanent_refusal' as const }

      assert.deepEqual(decide({ ...question, outcome: UNMAPPED }), decide({ ...question, outcome: refusal }))
      assert.equal(decide({ ...question, outcome: OUTCOMES.transient }).to, 'retrying', 'a mapped one is not')
    }
  })
})

describe('the channel that takes over', () => {
  const parked = (mayFallBack: boolean): CallVerdict => ({
    to: 'parked',
    reason: 'invalid_recipient',
    mayFallBack,
    standIn: 'none',
    spent: 1,
    possibleDuplicate: false,
  })

  it('is the next one of the chain', () => {
    assert.equal(nextChannel(parked(true), ['email', 'push']), 'email')
  })

  it('need not wait for hours of deferral', () => {
    assert.equal(nextChannel(decide({ ...USUAL, outcome: OUTCOMES.deferred }), ['email']), 'email')
    assert.equal(nextChannel(decide({ ...USUAL, outcome: OUTCOMES.transient }), ['email']), null)
  })

  it('is none when the chain has ended, the verdict forbids it, or the notification was sent', () => {
    assert.equal(nextChannel(parked(true), []), null)
    assert.equal(nextChannel(parked(false), ['email']), null)
    assert.equal(nextChannel({ to: 'sent', standIn: 'none', spent: 1, possibleDuplicate: false }, ['email']), null)
  })
})
