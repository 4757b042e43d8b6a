import type { Outbound } from './channels/outbound.ts'
import type { Config } from './config/config.ts'
import { createEventIntake } from './intake/events.ts'
import { OPS_TENANT } from './model/alert.ts'
import { SYSTEM } from './model/audit.ts'
import type { Clock, IdSource, Logger, Meters, Random, Tracing } from './model/ports.ts'
import { type PublishAlert, tellByEvent, tellByWebhook } from './operate/alert-ways.ts'
import { type AlertingDeps, type AlertSettings, runAlerts } from './operate/alerting.ts'
import type { PayloadSeal } from './security/payload-seal.ts'
import { redact } from './security/redact.ts'
import type { Store } from './store/store.ts'
import type { Untrusted } from './untrusted/untrusted.ts'

/** What alerts need of the parts of a process. */
export interface AlertingParts {
  config: Config
  store: Store
  clock: Clock
  random: Random
  ids: IdSource
  logger: Logger
  meters: Meters
  tracing: Tracing
  payloadSeal: PayloadSeal
  untrusted: Untrusted
  ownOutbound: Outbound
}

/** Raises alerts until `stop` aborts, and has them told as the settings say. */
export async function runAlerting(parts: AlertingParts, nudge: () => void, stop: AbortSignal): Promise<void> {
  const { config, store, clock, random, ids, logger, meters } = parts
  if (config.alertRules.length === 0) return
  await runAlerts(
    {
      store,
      clock,
      random,
      ids,
      logger,
      meters,
      everyMs: config.alertEveryMs,
      settings: alertSettings(config),
      ways: waysOf(parts, nudge),
      scrub: redact,
    },
    stop,
  )
}

function waysOf(parts: AlertingParts, nudge: () => void): AlertingDeps['ways'] {
  const { config, clock, ownOutbound: outbound } = parts
  const { alertTo, alertWebhook: url, alertWebhookSecret: secret } = config
  return {
    ...(alertTo.length > 0 && { event: tellByEvent(alertTo, publisher(parts, nudge)) }),
    ...(url !== null && { webhook: tellByWebhook({ outbound, clock, url, secret: secret ?? '' }) }),
  }
}

/** Into the outbox of the ops tenant, like anybody's events. */
function publisher(parts: AlertingParts, nudge: () => void): PublishAlert {
  const intake = createEventIntake({ ...parts, nudge })
  return async (bodies) => {
    for (const answer of await intake.publish({ tenantId: OPS_TENANT, actor: SYSTEM }, bodies))
      if ('problem' in answer) throw answer.problem
  }
}

/** So many alerts of one rule stand at a time. */
const MOST_OF_RULE = 50

function alertSettings(config: Config): AlertSettings {
  return {
    limits: {
      rules: new Set(config.alertRules),
      stuckMost: config.alertStuckMost,
      oldestPendingMs: config.alertOldestMs,
      parkedRate: config.alertParkedRate,
      parkedLeast: config.alertParkedLeast,
      siteSilentMs: config.alertSiteSilentMs,
    },
    policy: {
      // What is measured as a time, or has happened for good, needs no further time.
      raiseAfterMs: {
        stuck: config.alertStuckForMs,
        oldest_pending: 0,
        parked_rate: 0,
        breaker_open: config.alertBreakerForMs,
        account_paused: 0,
        no_worker: config.alertNoWorkerMs,
        recovery_failed: 0,
        site_silent: 0,
      },
      clearAfterMs: config.alertClearAfterMs,
      repeatEveryMs: config.alertRepeatEveryMs,
      mostOfRule: MOST_OF_RULE,
    },
    stuckAfterMs: config.stuckAfterMs,
    parkedWindowMs: config.alertParkedOverMs,
    workerTtlMs: config.workerTtlMs,
  }
}
