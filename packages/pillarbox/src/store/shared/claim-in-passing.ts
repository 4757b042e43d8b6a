import type { ClaimRequest, EventPlan, Planning, SchedulePlan } from '../store.ts'
import { cancelsOf } from './endings.ts'

/** What the planner wants claimed of its plans. It is not asked where one puts an end to something: that may wait for others. */
export function claimFor<Row, Plan extends EventPlan | SchedulePlan>(
  planning: Planning<Row, Plan>,
  plans: readonly Plan[],
): ClaimRequest | null {
  const planned = plans.flatMap((plan) => ('notifications' in plan ? plan.notifications : []))
  if (planned.length === 0 || plans.some((plan) => cancelsOf(plan) !== null)) return null
  return planning.claim?.(planned) ?? null
}
