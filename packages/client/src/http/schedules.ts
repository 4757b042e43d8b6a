import type { Instant } from '../event.ts'
import { type Calls, isoText, type PageOptions, path } from './calls.ts'
import type { CallOptions } from './transport.ts'
import type { Schedule, ScheduleStatus } from './wire.ts'

export interface ScheduleFilter {
  status?: ScheduleStatus | readonly ScheduleStatus[]
  eventType?: string
  entityType?: string
  entityId?: string
  /** Whether their time has come; not together with dueFrom or dueTo. */
  due?: 'past' | 'future'
  dueFrom?: Instant
  dueTo?: Instant
}

interface ActOptions extends CallOptions {
  /** Kept in the audit. */
  reason?: string
}

/** `/api/automation-schedules`. An action from the wrong status is refused with 409. */
export interface Schedules {
  list(filter?: ScheduleFilter, options?: PageOptions & CallOptions): AsyncGenerator<Schedule, void, undefined>
  get(id: string, options?: CallOptions): Promise<Schedule>
  /** From pending or awaiting_approval, else `not_waiting`. */
  cancel(id: string, options?: ActOptions): Promise<Schedule>
  /** From failed, else `not_failed`. */
  replay(id: string, options?: ActOptions): Promise<Schedule>
  /** From awaiting_approval, else `not_awaiting_approval`; so `reject`. */
  approve(id: string, options?: ActOptions): Promise<Schedule>
  reject(id: string, options?: ActOptions): Promise<Schedule>
}

export function schedulesOf(calls: Calls): Schedules {
  const act =
    (action: 'cancel' | 'replay' | 'approve' | 'reject') =>
    (id: string, { reason, ...options }: ActOptions = {}): Promise<Schedule> => {
      const body = reason === undefined ? undefined : { reason }
      return calls.send('POST', path`/api/automation-schedules/${id}/${action}`, body, options)
    }
  return {
    list: ({ dueFrom, dueTo, ...filter } = {}, options = {}) =>
      calls.all('/api/automation-schedules', { ...filter, dueFrom: isoText(dueFrom), dueTo: isoText(dueTo) }, options),
    get: (id, options = {}) => calls.get(path`/api/automation-schedules/${id}`, {}, options),
    cancel: act('cancel'),
    replay: act('replay'),
    approve: act('approve'),
    reject: act('reject'),
  }
}
