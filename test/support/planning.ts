import type { StoredEvent } from '../../packages/pillarbox/src/model/event.ts'
import type {
  DueSchedule,
  EventPlan,
  PlanStore,
  SchedulePlan,
  TakenBatch,
  TakeTurns,
  WrittenBatch,
} from '../../packages/pillarbox/src/plan/plan-store.ts'

/** What one batch came to. */
export type PlannedBatch = WrittenBatch & { taken: number }

type Planning = { plan: PlanStore }

/** Takes a batch of events and writes what `plan` makes of each. */
export async function planEvents(
  { plan: store }: Planning,
  limit: number,
  plan: (event: StoredEvent) => EventPlan,
): Promise<PlannedBatch> {
  return writeBatch(await store.takeEvents(limit), plan)
}

/** The same for schedules that are due. */
export async function planSchedules(
  { plan: store }: Planning,
  limit: number,
  plan: (due: DueSchedule) => SchedulePlan,
  turns?: TakeTurns,
): Promise<PlannedBatch> {
  return writeBatch(await store.takeSchedules(limit, turns), plan)
}

async function writeBatch<Row, Plan>(batch: TakenBatch<Row, Plan>, plan: (row: Row) => Plan): Promise<PlannedBatch> {
  try {
    return { taken: batch.rows.length, ...(await batch.write(batch.rows.map(plan))) }
  } catch (error) {
    await batch.release()
    throw error
  }
}

/** A batch whose plans are changed on their way into the store. */
export function changedBatch<Row, Plan>(
  batch: TakenBatch<Row, Plan>,
  change: (plan: Plan, row: Row) => Plan,
): TakenBatch<Row, Plan> {
  return {
    ...batch,
    write: (plans) =>
      batch.write(
        plans.map((plan, i) => {
          const row = batch.rows[i]
          return row === undefined ? plan : change(plan, row)
        }),
      ),
  }
}
