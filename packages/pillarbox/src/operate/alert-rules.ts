import { isResting, type LaneView } from '../dispatch/lane-store.ts'
import type { Alert, AlertRule, AlertSubject } from '../model/alert.ts'
import type { AlertReading, AlertStep, FailedOperation } from './alert-store.ts'

/** What alerts are judged by. Nothing here asks anybody anything: numbers, what was, and the time come in, and steps go out. */

export interface AlertFacts {
  /** Null: the numbers are not known yet. */
  tenants: readonly TenantNumbers[] | null
  /** The oldest of all, events that wait to be planned included; null also where nothing waits. */
  oldestPendingMs: number | null
  lanes: readonly Pick<LaneView, 'accountId' | 'tenantId' | 'breaker' | 'status'>[]
  liveWorkers: number
  /** Of the last hour. */
  failedOperations: readonly FailedOperation[]
  /** Those that are heard of regularly. */
  sites: readonly SilentSite[]
}

export interface SilentSite {
  tenantId: string
  site: string
  silentForMs: number
}

export interface TenantNumbers {
  tenantId: string
  stuck: number
  oldestPendingMs: number | null
  /** Of the last minutes: what was parked, and what was sent, parked or failed. */
  parked: number
  outcomes: number
}

export interface AlertLimits {
  /** The rules that are on. */
  rules: ReadonlySet<AlertRule>
  /** As many may be stuck. */
  stuckMost: number
  oldestPendingMs: number
  /** Percent of the outcomes, and at least so many. */
  parkedRate: number
  parkedLeast: number
  siteSilentMs: number
}

const INSTALLATION: AlertSubject = { subject: 'installation', subjectId: '', tenantId: null }

function tenant(tenantId: string): AlertSubject {
  return { subject: 'tenant', subjectId: tenantId, tenantId }
}

/** All that is bad now, worst first. */
export function badReadings(facts: AlertFacts, limits: AlertLimits): AlertReading[] {
  const readings: AlertReading[] = []
  const bad = (rule: AlertRule, subject: AlertSubject, value: number): void => {
    if (limits.rules.has(rule)) readings.push({ rule, ...subject, value })
  }
  const tenants = facts.tenants ?? []
  const isLate = (ms: number | null): ms is number => ms !== null && ms > limits.oldestPendingMs
  for (const { tenantId, stuck, oldestPendingMs, parked, outcomes } of tenants) {
    if (stuck > limits.stuckMost) bad('stuck', tenant(tenantId), stuck)
    if (isLate(oldestPendingMs)) bad('oldest_pending', tenant(tenantId), oldestPendingMs)
    const percent = (100 * parked) / Math.max(1, outcomes)
    if (parked >= limits.parkedLeast && percent > limits.parkedRate) bad('parked_rate', tenant(tenantId), percent)
  }
  // What waits longest is nobody's notification: events wait to be planned.
  if (isLate(facts.oldestPendingMs) && !tenants.some(({ oldestPendingMs }) => isLate(oldestPendingMs)))
    bad('oldest_pending', INSTALLATION, facts.oldestPendingMs)
  for (const lane of facts.lanes) {
    const account: AlertSubject = { subject: 'account', subjectId: lane.accountId, tenantId: lane.tenantId }
    if (isResting(lane)) bad('breaker_open', account, 1)
    if (lane.status === 'paused') bad('account_paused', account, 1)
  }
  if (facts.liveWorkers === 0) bad('no_worker', INSTALLATION, 0)
  for (const { id, tenantId } of facts.failedOperations)
    bad('recovery_failed', { subject: 'operation', subjectId: id, tenantId }, 1)
  for (const { tenantId, site, silentForMs } of facts.sites)
    if (silentForMs > limits.siteSilentMs)
      bad('site_silent', { subject: 'site', subjectId: `${tenantId}/${site}`, tenantId }, silentForMs)
  return readings.sort((a, b) => b.value - a.value)
}

/** Rules about which nothing can be said while numbers are not known: what stands of them stays. */
export function unknownRules({ tenants }: AlertFacts): ReadonlySet<AlertRule> {
  return new Set(tenants === null ? (['stuck', 'oldest_pending', 'parked_rate'] as const) : [])
}

export interface AlertPolicy {
  /** How long something has to be bad before it is raised. */
  raiseAfterMs: Readonly<Record<AlertRule, number>>
  /** How long it has to be good before it is cleared. */
  clearAfterMs: number
  /** After which time what is open, and not acknowledged, is told again; null: never. */
  repeatEveryMs: number | null
  /** Of one rule at most so many stand at a time, so that one great trouble does not become a flood. */
  mostOfRule: number
}

export interface AlertJudgement {
  steps: (Exclude<AlertStep, { step: 'raise' }> | Omit<Extract<AlertStep, { step: 'raise' }>, 'summary'>)[]
  /** How many more are bad than may stand, by rule. */
  leftOut: ReadonlyMap<AlertRule, number>
}

/**
 * What follows from what is bad now. Something is raised once it was bad at every look for its time, and cleared once it was
 * good at every look for a time: what goes up and down within those is told once. A clock that was set back makes the
 * time count anew.
 */
export function judgeAlerts({
  readings,
  unknown,
  standing,
  now,
  policy,
  newId,
}: {
  readings: readonly AlertReading[]
  unknown: ReadonlySet<AlertRule>
  standing: readonly Alert[]
  now: number
  policy: AlertPolicy
  newId: () => string
}): AlertJudgement {
  const steps: AlertJudgement['steps'] = []
  const bad = new Map(readings.map((reading) => [nameOf(reading), reading]))
  for (const alert of standing) {
    const reading = bad.get(nameOf(alert))
    bad.delete(nameOf(alert))
    if (!unknown.has(alert.rule)) steps.push(...(reading ? whileBad(alert, reading) : whileGood(alert)))
  }
  const leftOut = new Map<AlertRule, number>()
  const counts = new Map<AlertRule, number>()
  for (const { rule } of standing) counts.set(rule, (counts.get(rule) ?? 0) + 1)
  for (const reading of bad.values()) {
    const { rule } = reading
    const count = counts.get(rule) ?? 0
    if (unknown.has(rule)) continue
    if (count >= policy.mostOfRule) {
      leftOut.set(rule, (leftOut.get(rule) ?? 0) + 1)
      continue
    }
    counts.set(rule, count + 1)
    if (policy.raiseAfterMs[rule] === 0) steps.push({ step: 'raise', id: newId(), isNew: true, reading, now })
    else steps.push({ step: 'notice', id: newId(), reading, now })
  }
  return { steps, leftOut }

  function whileBad(
    { id, status, rule, since, goodSince, ...alert }: Alert,
    reading: AlertReading,
  ): AlertJudgement['steps'] {
    if (status === 'pending') {
      if (since > now) return [{ step: 'forget', id }]
      return now - since >= policy.raiseAfterMs[rule] ? [{ step: 'raise', id, isNew: false, reading, now }] : []
    }
    if (goodSince !== null) return [{ step: 'relapse', id }]
    const { repeatEveryMs } = policy
    const isRepeated = repeatEveryMs !== null && alert.acknowledgedAt === null
    return isRepeated && now - (alert.toldAt ?? since) >= repeatEveryMs ? [{ step: 'repeat', id, now }] : []
  }

  function whileGood({ id, status, goodSince }: Alert): AlertJudgement['steps'] {
    if (status === 'pending') return [{ step: 'forget', id }]
    if (goodSince === null || goodSince > now) return [{ step: 'recover', id, now }]
    return now - goodSince >= policy.clearAfterMs ? [{ step: 'clear', id, now }] : []
  }
}

function nameOf({ rule, subject, subjectId }: Pick<AlertReading, 'rule' | 'subject' | 'subjectId'>): string {
  return `${rule} ${subject} ${subjectId}`
}
