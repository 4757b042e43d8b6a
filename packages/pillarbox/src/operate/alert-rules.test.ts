import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ALERT_RULES, type Alert, type AlertRule } from '../model/alert.ts'
import {
  type AlertFacts,
  type AlertJudgement,
  type AlertLimits,
  type AlertPolicy,
  badReadings,
  judgeAlerts,
  type TenantNumbers,
  unknownRules,
} from './alert-rules.ts'
import type { AlertReading } from './alert-store.ts'

const MINUTE_MS = 60_000

const LIMITS: AlertLimits = {
  rules: new Set(ALERT_RULES),
  stuckMost: 0,
  oldestPendingMs: 5 * MINUTE_MS,
  parkedRate: 5,
  parkedLeast: 10,
  siteSilentMs: 15 * MINUTE_MS,
}

const WELL: AlertFacts = {
  tenants: [],
  oldestPendingMs: null,
  lanes: [],
  liveWorkers: 1,
  failedOperations: [],
  sites: [],
}

const ACME: TenantNumbers = { tenantId: 'acme', stuck: 0, oldestPendingMs: null, parked: 0, outcomes: 0 }

const lane = { accountId: 'account-1', tenantId: 'acme', breaker: 'closed', status: 'active' } as const

/** `rule subjectId value` of each. */
function bad(facts: Partial<AlertFacts>, limits: Partial<AlertLimits> = {}): string[] {
  const readings = badReadings({ ...WELL, ...facts }, { ...LIMITS, ...limits })
  return readings.map(({ rule, subjectId, value }) => `${rule} ${subjectId} ${value}`).sort()
}

describe('what is bad', () => {
  it('is nothing while all is well', () => {
    const healthy = { ...ACME, oldestPendingMs: 5 * MINUTE_MS, parked: 9, outcomes: 9 }
    assert.deepEqual(bad({ tenants: [healthy], oldestPendingMs: 5 * MINUTE_MS, lanes: [lane] }), [])
  })

  it('is a tenant with stuck notifications, above the number that may be', () => {
    assert.deepEqual(bad({ tenants: [{ ...ACME, stuck: 3 }] }), ['stuck acme 3'])
    assert.deepEqual(bad({ tenants: [{ ...ACME, stuck: 3 }] }, { stuckMost: 3 }), [])
  })

  it('is a tenant whose oldest has been due for too long, or events that nobody plans', () => {
    const late = 5 * MINUTE_MS + 1_000
    const tenants = [{ ...ACME, oldestPendingMs: late }]
    assert.deepEqual(bad({ tenants, oldestPendingMs: late }), ['oldest_pending acme 301000'])
    assert.deepEqual(bad({ oldestPendingMs: late }), ['oldest_pending  301000'])
  })

  it('is a tenant of whose outcomes more than the share, and at least the number, were parked', () => {
    const of = (parked: number, outcomes: number) => bad({ tenants: [{ ...ACME, parked, outcomes }] })
    assert.deepEqual(of(10, 100), ['parked_rate acme 10'])
    assert.deepEqual(of(9, 9), [])
    assert.deepEqual(of(10, 200), [])
    assert.deepEqual(of(11, 200), ['parked_rate acme 5.5'])
  })

  it('is an account that rests or is paused, unless somebody suspended it', () => {
    assert.deepEqual(bad({ lanes: [{ ...lane, breaker: 'half_open' }] }), ['breaker_open account-1 1'])
    assert.deepEqual(bad({ lanes: [{ ...lane, status: 'paused' }] }), ['account_paused account-1 1'])
    assert.deepEqual(bad({ lanes: [{ ...lane, breaker: 'open', status: 'suspended' }] }), [])
  })

  it('is an installation without a worker, and an operation that failed', () => {
    assert.deepEqual(bad({ liveWorkers: 0 }), ['no_worker  0'])
    const failed = [{ id: 'operation-1', tenantId: 'acme', action: 'retry' as const }]
    assert.deepEqual(bad({ failedOperations: failed }), ['recovery_failed operation-1 1'])
  })

  it('is a site that has not been heard of for too long', () => {
    const site = (silentForMs: number) => ({ tenantId: 'acme', site: 'plant-1', silentForMs })
    assert.deepEqual(bad({ sites: [site(15 * MINUTE_MS)] }), [])
    assert.deepEqual(bad({ sites: [site(15 * MINUTE_MS + 1)] }), ['site_silent acme/plant-1 900001'])
  })

  it('is nothing that its rule is off for', () => {
    const rules = new Set<AlertRule>(['no_worker'])
    assert.deepEqual(bad({ tenants: [{ ...ACME, stuck: 3 }], liveWorkers: 0 }, { rules }), ['no_worker  0'])
  })
})

const STUCK: AlertReading = { rule: 'stuck', subject: 'tenant', subjectId: 'acme', tenantId: 'acme', value: 1 }

function policyOf(raiseAfterMs: number, changes: Partial<AlertPolicy> = {}): AlertPolicy {
  const all = Object.fromEntries(ALERT_RULES.map((rule) => [rule, raiseAfterMs])) as AlertPolicy['raiseAfterMs']
  return { raiseAfterMs: all, clearAfterMs: 0, repeatEveryMs: null, mostOfRule: 50, ...changes }
}

/** What the store does with steps, without one. Answers what was told, as `raised <id>`. */
class Board {
  standing: Alert[] = []
  #made = 0

  look(
    readings: readonly AlertReading[],
    now: number,
    policy: AlertPolicy,
    unknown: ReadonlySet<AlertRule> = new Set(),
  ): string[] {
    const newId = (): string => `${++this.#made}`
    const { steps } = judgeAlerts({ readings, unknown, standing: this.standing, now, policy, newId })
    return steps.flatMap((step) => this.#take(step))
  }

  #take(step: AlertJudgement['steps'][number]): string[] {
    if (step.step === 'notice' || (step.step === 'raise' && step.isNew)) {
      const { id, reading, now } = step
      const isOpen = step.step === 'raise'
      const times = { since: now, raisedAt: isOpen ? now : null, goodSince: null, clearedAt: null }
      const nobody = { acknowledgedAt: null, acknowledgedBy: null, note: null, repeats: 0, toldAt: null }
      this.standing.push({ id, ...reading, status: isOpen ? 'open' : 'pending', summary: '', ...times, ...nobody })
      return isOpen ? [`raised ${id}`] : []
    }
    const alert = this.standing.find(({ id }) => id === step.id) ?? assert.fail()
    const remove = (): void => {
      this.standing = this.standing.filter(({ id }) => id !== step.id)
    }
    switch (step.step) {
      case 'raise':
        Object.assign(alert, { status: 'open', raisedAt: step.now, toldAt: step.now })
        return [`raised ${alert.id}`]
      case 'forget':
        remove()
        return []
      case 'recover':
        alert.goodSince = step.now
        return []
      case 'relapse':
        alert.goodSince = null
        return []
      case 'repeat':
        alert.toldAt = step.now
        return [`repeated ${alert.id}`]
      case 'clear':
        assert.equal(alert.status, 'open')
        remove()
        return [`cleared ${alert.id}`]
    }
  }
}

describe('an alert', () => {
  it('is raised once it was bad for its time, and cleared once it was good for a time', () => {
    const board = new Board()
    const policy = policyOf(10, { clearAfterMs: 5 })
    const look = (now: number, isBad: boolean): string[] => board.look(isBad ? [STUCK] : [], now, policy)

    assert.deepEqual([look(0, true), look(9, true), look(10, true), look(11, true)], [[], [], ['raised 1'], []])
    assert.deepEqual([look(12, false), look(14, true), look(15, false)], [[], [], []])
    assert.deepEqual([look(19, false), look(20, false), look(21, false)], [[], ['cleared 1'], []])
  })

  it('that needs no time is raised at the first look', () => {
    assert.deepEqual(new Board().look([STUCK], 0, policyOf(0)), ['raised 1'])
  })

  it('is told again after a time, until somebody acknowledges it', () => {
    const board = new Board()
    const policy = policyOf(10, { repeatEveryMs: 100 })
    const look = (now: number): string[] => board.look([STUCK], now, policy)
    look(0)
    assert.deepEqual([look(10), look(109), look(110), look(200)], [['raised 1'], [], ['repeated 1'], []])
    for (const alert of board.standing) alert.acknowledgedAt = 201

    assert.deepEqual(look(500), [])
  })

  it('stays as it is while its number is not known', () => {
    const board = new Board()
    const policy = policyOf(10)
    const unknown = unknownRules({ ...WELL, tenants: null })
    board.look([STUCK], 0, policy)
    board.look([STUCK], 10, policy)

    assert.deepEqual(board.look([], 1_000, policy, unknown), [])
    assert.equal(board.standing[0]?.goodSince, null)
    assert.ok(!unknown.has('no_worker'))
  })

  it('is not raised beyond the number of its rule, and what is left out is counted', () => {
    const readings = ['a', 'b', 'c'].map((id) => ({ ...STUCK, subjectId: id, tenantId: id }))
    const policy = policyOf(0, { mostOfRule: 2 })
    const given = { readings, unknown: new Set<AlertRule>(), standing: [], now: 0, policy, newId: () => 'x' }

    const { steps, leftOut } = judgeAlerts(given)

    assert.equal(steps.length, 2)
    assert.deepEqual([...leftOut], [['stuck', 1]])
  })

  it('counts anew where the clock was set back', () => {
    const board = new Board()
    const policy = policyOf(10, { clearAfterMs: 10 })
    const look = (now: number, isBad: boolean): string[] => board.look(isBad ? [STUCK] : [], now, policy)
    look(1_000_000, true)

    assert.deepEqual([look(0, true), look(1, true), look(10, true), look(11, true)], [[], [], [], ['raised 2']])
    look(1_000_000, false)
    assert.deepEqual([look(100, false), look(109, false), look(110, false)], [[], [], ['cleared 2']])
  })

  it('is raised and cleared in turn, and each only after its time at every look, whatever happens', () => {
    const looks = fc.array(fc.record({ after: fc.integer({ min: 1, max: 40 }), isBad: fc.boolean() }), {
      maxLength: 60,
    })
    const times = fc.integer({ min: 0, max: 60 })
    fc.assert(
      fc.property(looks, times, times, (given, raiseAfterMs, clearAfterMs) => {
        const board = new Board()
        const policy = policyOf(raiseAfterMs, { clearAfterMs })
        let [now, isRaised, badSince, goodSince] = [0, false, Number.NaN, Number.NaN]
        for (const { after, isBad } of given) {
          now += after
          if (isBad) goodSince = Number.NaN
          else badSince = Number.NaN
          if (isBad && Number.isNaN(badSince)) badSince = now
          if (!isBad && Number.isNaN(goodSince)) goodSince = now
          const told = board.look(isBad ? [STUCK] : [], now, policy)
          assert.ok(told.length <= 1)
          if (told[0]?.startsWith('raised')) {
            assert.ok(!isRaised && now - badSince >= raiseAfterMs)
            isRaised = true
          } else if (told[0]?.startsWith('cleared')) {
            assert.ok(isRaised && now - goodSince >= clearAfterMs)
            isRaised = false
          } else if (isBad && !isRaised) assert.ok(now - badSince < raiseAfterMs, 'it is not raised late')
          assert.equal(
            board.standing.some(({ status }) => status === 'open'),
            isRaised,
          )
          assert.ok(board.standing.length <= 1)
        }
      }),
    )
  })

  it('is told no more often than its times allow, however it goes up and down', () => {
    const looks = fc.array(fc.boolean(), { minLength: 1, maxLength: 300 })
    fc.assert(
      fc.property(looks, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }), (given, raise, clear) => {
        const board = new Board()
        const policy = policyOf(raise, { clearAfterMs: clear })
        const told = given.flatMap((isBad, now) => board.look(isBad ? [STUCK] : [], now, policy))
        const raised = told.filter((news) => news.startsWith('raised')).length
        assert.ok(raised <= Math.ceil(given.length / (raise + clear)))
      }),
    )
  })
})
