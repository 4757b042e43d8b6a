import { CHANNELS, isChannel } from '../model/channel.ts'
import type { FieldError } from '../model/errors.ts'
import type { StoredEvent } from '../model/event.ts'
import type { StoredSchedule } from '../model/schedule.ts'
import { testClockMs } from '../model/tenant.ts'
import { dueAt } from '../model/timing.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { Obstacle } from './compose.ts'
import type { PlanContext } from './context-book.ts'
import { type DueEvent, eventTime, failedEvent, openEvent, type StoppedEvent } from './due-event.ts'

/** What an event or a schedule comes to before anybody is asked about it. */
export type Judgement =
  | StoppedEvent
  /** Not due yet, or somebody has to approve it first. */
  | { kind: 'wait'; dueAt: number; needsApproval: boolean }
  | DomainEvent
  /** Its type has `delivery: none`. */
  | { kind: 'no_delivery' }
  | ReadyEvent

/** It becomes events of these types. */
interface DomainEvent {
  kind: 'derive'
  types: readonly string[]
}

/** An event that is due, and since when. */
export interface ReadyEvent {
  kind: 'ready'
  due: DueEvent
  dueAt: number
  /** Why nobody is to be told after all. */
  calledOff?: Obstacle
}

/** An event that is seen for the first time, opened; or what keeps it from being told itself. */
export function openNewEvent(
  sealing: Pick<PayloadSeal, 'openPayload'>,
  event: StoredEvent,
  context: PlanContext,
): DueEvent | DomainEvent | StoppedEvent {
  const wrong = malformed(event)
  if (wrong) return failedEvent('invalid_event', wrong)
  if (context.tenant && context.derives) return { kind: 'derive', types: context.derives }
  const opened = openEvent(sealing, event, context)
  if ('kind' in opened) return opened
  const { type } = opened
  if (event.entity.type === type.entity) return opened
  return failedEvent('invalid_event', `it is about a ${event.entity.type}, but ${type.name} is about a ${type.entity}`)
}

/** Whether a new event can be told, and when. `faults`: what is wrong with its payload. */
export function judgeEvent(realNow: number, opened: DueEvent, faults: readonly FieldError[]): Judgement {
  const { event, payload, tenant, type } = opened
  if (faults.length > 0) return failedEvent('invalid_event', inWords(faults))
  if (type.delivery.kind === 'none') return { kind: 'no_delivery' }

  // Judged by the tenant's clock; what comes of it is written in real time.
  const aheadMs = testClockMs(tenant)
  const now = realNow + aheadMs
  const at = happenedAt(event, now, aheadMs)
  const moment = { eventAt: at, payload, timeZone: tenant.timeZone, now }
  const due = event.dueAt === null ? dueAt(type.timing, moment) : { dueAt: event.dueAt }
  if ('problem' in due) return failedEvent('invalid_event', due.problem)
  if ('expired' in due) return { kind: 'cancelled', reason: 'expired', error: due.expired }
  if (type.approval || due.dueAt > now)
    return { kind: 'wait', dueAt: due.dueAt - aheadMs, needsApproval: type.approval }
  return { kind: 'ready', due: opened, dueAt: Math.max(due.dueAt, at) - aheadMs }
}

/** A schedule whose time has come. Whatever it needs is as it is now, not as it was when the event was written. */
export function judgeSchedule(now: number, opened: DueEvent, schedule: StoredSchedule): Judgement {
  const { event } = opened
  if (opened.type.delivery.kind === 'none') return { kind: 'no_delivery' }
  // What was due before it happened, or before it was approved, was not late until then.
  const since = Math.max(schedule.dueAt, happenedAt(event, now), schedule.approvedAt ?? 0)
  return { kind: 'ready', due: opened, dueAt: since }
}

/** Clocks are never quite equal. */
const SKEW_MS = 60_000

/**
 * When it happened. What claims to be a moment from now comes from a clock that is ahead of ours, and is not put off; nor is
 * what was written later than now, which only a clock that was set back makes possible.
 */
function happenedAt(event: StoredEvent, now: number, aheadMs = 0): number {
  const at = eventTime(event) + (event.occurredAt === null ? aheadMs : 0)
  return at > now && (event.occurredAt === null || at <= now + SKEW_MS) ? now : at
}

const MAX_FAULTS = 10

function inWords(faults: readonly FieldError[]): string {
  const said = faults.slice(0, MAX_FAULTS).map(({ path, message }) => `${path || 'it'} ${message}`)
  const more = faults.length > MAX_FAULTS ? `; and ${faults.length - MAX_FAULTS} more` : ''
  return `the payload is not as its schema says: ${said.join('; ')}${more}`
}

/** What a row written past the client may hold in place of what it should; null when it can be planned. */
function malformed({ payload, recipients, channels }: StoredEvent): string | null {
  const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isRecord(payload)) return 'the payload is not an object'
  if (recipients !== null && !(Array.isArray(recipients) && recipients.every(isRecord)))
    return 'recipients is not a list of objects'
  if (channels !== null && !(Array.isArray(channels) && channels.every(isChannel)))
    return `channels is not a list of ${CHANNELS.join(', ')}`
  return null
}
