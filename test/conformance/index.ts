import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { alertRules } from './alerts.ts'
import { auditRules } from './audit.ts'
import { callbackRules } from './callbacks.ts'
import { cancelRules } from './cancel.ts'
import { clearTokenRules } from './clear-tokens.ts'
import { configurationRules } from './configuration.ts'
import { crashRules } from './crashes.ts'
import { dispatchRules } from './dispatch.ts'
import { domainEventRules } from './domain-events.ts'
import { eventRules } from './events.ts'
import { assertConserved, createBench, type OpenStore, type Rule } from './fixtures.ts'
import { inboxRules } from './inbox.ts'
import { laneRules } from './lanes.ts'
import { listRules } from './lists.ts'
import { modelRules } from './model.ts'
import { notificationRules } from './notifications.ts'
import { operationRules } from './operations.ts'
import { peopleRules } from './people.ts'
import { planRules } from './plan.ts'
import { receiptRules } from './receipts.ts'
import { retentionRules } from './retention.ts'
import { rollupRules } from './rollups.ts'
import { rowRules } from './rows.ts'
import { scanRules } from './scans.ts'
import { scheduleRules } from './schedules.ts'
import { scrubRules } from './scrub.ts'
import { sealedRules } from './sealed.ts'
import { sessionRules } from './sessions.ts'
import { siteRules } from './sites.ts'
import { skippedRules } from './skipped.ts'
import { storeRules } from './store.ts'
import { suppressionRules } from './suppressions.ts'
import { templateRules } from './templates.ts'
import { turnRules } from './turns.ts'
import { workerRules } from './workers.ts'

export type { OpenStore } from './fixtures.ts'

/**
 * What every engine behind the store contract promises, one test per rule, each with an empty store from `open`.
 * After every rule the books must balance: see `assertConserved`.
 *
 * `gaps` names rules an engine does not keep, each with the reason; a gap that names no rule fails.
 * `modelRuns` is how many random histories are compared with the reference model.
 */
export function storeConformance(
  engine: string,
  open: () => Promise<OpenStore>,
  gaps: Record<string, string> = {},
  { modelRuns = engine.startsWith('postgres') ? 15 : 100 }: { modelRuns?: number } = {},
): void {
  const names = new Set<string>()
  const rule: Rule = (name, body) => {
    assert.ok(!names.has(name), `two rules are called "${name}"`)
    names.add(name)
    it(name, { skip: gaps[name] ?? false }, async () => {
      const opened = await open()
      let hasFailed = true
      try {
        const bench = await createBench(opened)
        await body(bench)
        await assertConserved(bench)
        hasFailed = false
      } finally {
        await opened.close(hasFailed)
      }
    })
  }

  const topics: Record<string, (rule: Rule) => void> = {
    store: storeRules,
    events: eventRules,
    'domain events': domainEventRules,
    plan: planRules,
    turns: turnRules,
    skipped: skippedRules,
    crashes: crashRules,
    cancel: cancelRules,
    notifications: notificationRules,
    operations: operationRules,
    scrub: scrubRules,
    dispatch: dispatchRules,
    callbacks: callbackRules,
    receipts: receiptRules,
    suppressions: suppressionRules,
    inbox: inboxRules,
    lanes: laneRules,
    workers: workerRules,
    configuration: configurationRules,
    audit: auditRules,
    templates: templateRules,
    people: peopleRules,
    lists: listRules,
    schedules: scheduleRules,
    sealed: sealedRules,
    sessions: sessionRules,
    sites: siteRules,
    'clear tokens': clearTokenRules,
    rollups: rollupRules,
    retention: retentionRules,
    scans: scanRules,
    alerts: alertRules,
    rows: rowRules,
  }
  describe(`${engine} store`, () => {
    for (const [topic, rules] of Object.entries(topics)) describe(topic, () => rules(rule))
    describe('model', () => modelRules(open, modelRuns))
    it('has no gap that names no rule', () => {
      assert.deepEqual(
        Object.keys(gaps).filter((name) => !names.has(name)),
        [],
      )
    })
  })
}
