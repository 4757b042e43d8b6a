import { type Alert, OPS_TENANT } from '../model/alert.ts'
import { errorText, isPassing, isPillarboxError } from '../model/errors.ts'
import type { Meters } from '../model/ports.ts'
import { type ChoreDeps, runChore } from '../runtime/chore.ts'
import type { Store } from '../store/store.ts'
import {
  type AlertFacts,
  type AlertLimits,
  type AlertPolicy,
  badReadings,
  judgeAlerts,
  unknownRules,
} from './alert-rules.ts'
import type { AlertMessage, AlertReading, AlertStep, AlertWay, ToldAlert } from './alert-store.ts'
import { summaryOf } from './alert-words.ts'
import { readKpis } from './kpis.ts'
import { inTurn, type TurnDeps } from './scan-turn.ts'

/**
 * Looks at the numbers, raises and clears alerts, and has them told. Whatever process does so, one at a time does it for all;
 * what stands and what is still to be told is in the store, so a restart neither forgets nor repeats anything.
 */
export interface AlertingDeps extends ChoreDeps, TurnDeps {
  store: Pick<
    Store,
    'alerts' | 'scans' | 'rollups' | 'notifications' | 'lanes' | 'workers' | 'accounts' | 'operations' | 'sites' | 'now'
  >
  meters: Meters
  settings: AlertSettings
  /** How somebody is told; none: alerts are only shown. Rejects where it could not be. */
  ways: Partial<Record<AlertWay, (message: AlertMessage, signal: AbortSignal) => Promise<void>>>
  scrub(text: string): string
}

export interface AlertSettings {
  limits: AlertLimits
  policy: AlertPolicy
  stuckAfterMs: number
  parkedWindowMs: number
  workerTtlMs: number
}

/** An operation that failed is spoken of for so long; then its alert is cleared. */
const FAILED_WITHIN_MS = 3_600_000
const MOST_OPERATIONS = 50
/** What was cleared is shown for so long. */
const KEPT_MS = 90 * 24 * 3_600_000
const MOST_PRUNED = 100
/** Told in one round, in each way. */
const MOST_MESSAGES = 20
/** What could not be told for so long is given up: by then nobody wants to hear it. */
const GIVEN_UP_MS = 24 * 3_600_000
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [5_000, 600_000]

export function runAlerts(deps: AlertingDeps, stop: AbortSignal): Promise<void> {
  const work = async (): Promise<boolean> => {
    // Looked for once in `everyMs` by each process; half of it is enough for one that comes a little early.
    await inTurn(deps, 'alerts', deps.everyMs / 2, async (keep) => {
      await look(deps)
      await deps.store.alerts.prune(KEPT_MS, MOST_PRUNED)
      for (const way of Object.keys(deps.ways) as AlertWay[]) {
        if (!(await tell(deps, way, keep, stop))) return false
      }
      return true
    })
    return false
  }
  return runChore(deps, { work, trouble: 'alerts could not be looked for' }, stop)
}

/** One look: what is bad, what follows from it, and what was raised or cleared by that. */
async function look(deps: AlertingDeps): Promise<void> {
  const { store, settings, ids, logger } = deps
  const facts = await readFacts(deps)
  const { steps, leftOut } = judgeAlerts({
    readings: badReadings(facts, settings.limits),
    unknown: unknownRules(facts),
    standing: await store.alerts.standing(),
    now: await store.now(),
    policy: settings.policy,
    newId: ids,
  })
  for (const [rule, count] of leftOut)
    logger.warn({ rule, count }, 'more is wrong than alerts are raised of: too many of this rule stand')
  if (steps.length === 0) return
  const worded: AlertStep[] = []
  for (const step of steps)
    worded.push(step.step === 'raise' ? { ...step, summary: await summarize(deps, step.reading) } : step)
  const ways = Object.keys(deps.ways) as AlertWay[]
  for (const told of await store.alerts.apply(worded, { ways, notByEvent: OPS_TENANT })) report(deps, told)
}

async function readFacts({ store, settings }: AlertingDeps): Promise<AlertFacts> {
  const { stuckAfterMs, parkedWindowMs, workerTtlMs } = settings
  const config = { stuckAfterMs, kpiWindowMs: parkedWindowMs }
  const [kpis, lanes, workers, failedOperations, sites] = await Promise.all([
    readKpis({ store, config }, { tenantId: null, by: 'tenantId' }),
    store.lanes.list(null),
    store.workers.list(),
    store.alerts.failedOperations(FAILED_WITHIN_MS, MOST_OPERATIONS),
    store.sites.list(null),
  ])
  const { total, groups } = kpis
  const inMs = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1_000)
  const tenants = (groups ?? []).flatMap((group) => {
    const { value: tenantId, parkedLastInterval, sentLastInterval, failedLastInterval } = group
    const parked = parkedLastInterval ?? 0
    return tenantId === null
      ? []
      : {
          tenantId,
          stuck: group.stuckCount ?? 0,
          oldestPendingMs: inMs(group.oldestPendingAgeSeconds),
          parked,
          outcomes: parked + (sentLastInterval ?? 0) + (failedLastInterval ?? 0),
        }
  })
  return {
    tenants: total.queueDepth === null ? null : tenants,
    oldestPendingMs: inMs(total.oldestPendingAgeSeconds),
    lanes,
    liveWorkers: workers.filter(({ silentForMs }) => silentForMs <= workerTtlMs).length,
    failedOperations,
    // What hands off without a buffer says nothing while it has nothing to say.
    sites: sites.filter(({ incarnation }) => incarnation !== null),
  }
}

async function summarize({ store }: AlertingDeps, reading: AlertReading): Promise<string> {
  const { subject, subjectId, tenantId } = reading
  return summaryOf(reading, subject === 'account' ? await store.accounts.find(tenantId, subjectId) : null)
}

const WORDS = { raised: 'an alert was raised', repeated: 'an alert is still open', cleared: 'an alert was cleared' }

function report({ logger, meters }: AlertingDeps, { alert, news }: ToldAlert): void {
  meters.count('alerts', { rule: alert.rule, news })
  const { id: alertId, rule, tenantId, subject, subjectId, value, summary } = alert
  const fields = { alertId, rule, tenantId, subject, subjectId, value, summary }
  logger[news === 'cleared' ? 'info' : 'warn'](fields, WORDS[news])
}

/**
 * Tells what is to be told in one way, in order. The first that cannot be told now ends it, and is tried again later; one that
 * can never be told holds nothing up. False: it was stopped, or the turn is another's.
 */
async function tell(
  deps: AlertingDeps,
  way: AlertWay,
  keep: () => Promise<boolean>,
  stop: AbortSignal,
): Promise<boolean> {
  const { store, logger } = deps
  const now = await store.now()
  for (const message of await store.alerts.messages(way, MOST_MESSAGES)) {
    if (stop.aborted || !(await keep())) return false
    const fields = { alertId: message.alert.id, rule: message.alert.rule, way, news: message.news }
    if (now - message.since > GIVEN_UP_MS) {
      logger.error(fields, 'an alert could not be told for a day, and is given up')
      await store.alerts.told(message.sequence)
      continue
    }
    try {
      await deps.ways[way]?.(message, stop)
    } catch (error) {
      if (stop.aborted) return false
      if (isPillarboxError(error) && !isPassing(error)) {
        logger.error({ ...fields, error: deps.scrub(errorText(error)) }, 'an alert is refused, and is given up')
        await store.alerts.told(message.sequence)
        continue
      }
      const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(message.tries, 10))
      logger.warn({ ...fields, error: deps.scrub(errorText(error)) }, 'an alert could not be told; trying again')
      await store.alerts.notTold(message.sequence, waitMs)
      return true
    }
    await store.alerts.told(message.sequence)
  }
  return true
}

/** What is told, as whoever receives it reads it. The same id each time. */
export function alertKey({ alert, news, number }: Pick<AlertMessage, 'alert' | 'news' | 'number'>): string {
  return `alert-${alert.id}-${news}${news === 'repeated' ? `-${number}` : ''}`
}

export function alertFacts({ id, rule, subject, subjectId, tenantId, summary, value, ...alert }: Alert) {
  const at = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())
  return {
    alertId: id,
    rule,
    subject,
    subjectId: subjectId === '' ? null : subjectId,
    tenantId,
    summary,
    value,
    raisedAt: at(alert.raisedAt),
    clearedAt: at(alert.clearedAt),
  }
}
