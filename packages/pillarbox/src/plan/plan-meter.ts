import type { Meters } from '../model/ports.ts'
import type { EventPlan, RowRef, SchedulePlan } from './plan-store.ts'

/** Counts what became of a batch that was written. Rows for which there was no time have their turn later, and count then. */
export function meterPlans(
  meters: Meters,
  kind: RowRef['kind'],
  plans: readonly (EventPlan | SchedulePlan)[],
  tookMs: number,
): void {
  meters.observe('planning_batch_duration', { kind }, [tookMs / 1_000])
  for (const [result, some] of Map.groupBy(plans, (plan) => plan.kind))
    if (result !== 'later') meters.count('rows_planned', { kind, result }, some.length)
  for (const plan of plans) if (plan.kind === 'failed') meters.count('planning_failures', { reason: plan.reason })
  const toSend = plans
    .flatMap((plan) => ('notifications' in plan ? (plan.notifications ?? []) : []))
    .filter(({ stopped }) => !stopped)
  for (const [channel, { length }] of Map.groupBy(toSend, (each) => each.channel))
    meters.count('notifications_planned', { channel }, length)
}
