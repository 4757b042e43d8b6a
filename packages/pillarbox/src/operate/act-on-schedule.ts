import { found, PillarboxError } from '../model/errors.ts'
import type { ScheduleStatus } from '../model/event.ts'
import type { StoredSchedule } from '../model/schedule.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { Store } from '../store/store.ts'

/** What an operator may ask of a schedule. */
export const SCHEDULE_ACTIONS = ['cancel', 'replay', 'approve', 'reject', 'send-now'] as const
export type ScheduleAction = (typeof SCHEDULE_ACTIONS)[number]

/** Moves a schedule by hand. Of two callers at once one moves it; the other is told where it stands. */
export async function actOnSchedule(
  { store, nudge }: { store: Pick<Store, 'schedules'>; nudge: (topic: WakeTopic) => void },
  request: { tenantId: string; id: string; action: ScheduleAction; actor: string; reason?: string },
): Promise<StoredSchedule> {
  const answer = found(await store.schedules.act(request))
  const schedule = found(await store.schedules.find(request.tenantId, request.id))
  if (!answer.moved) throw refusal(request.action, answer.from)
  // It may be due at once.
  if (MAKE_DUE.has(request.action)) nudge('events')
  return schedule
}

const MAKE_DUE: ReadonlySet<ScheduleAction> = new Set(['approve', 'replay', 'send-now'])

/** What is said of a schedule that does not stand where the act begins. */
export const SCHEDULE_REFUSALS = {
  cancel: 'not_waiting',
  replay: 'not_failed',
  approve: 'not_awaiting_approval',
  reject: 'not_awaiting_approval',
  'send-now': 'not_waiting',
} as const satisfies Record<ScheduleAction, string>

function refusal(action: ScheduleAction, status: ScheduleStatus): PillarboxError {
  const advice = action === 'send-now' && status === 'awaiting_approval' ? ': approve it first' : ''
  return new PillarboxError(SCHEDULE_REFUSALS[action], `The schedule is ${status}${advice}.`)
}
