import type { EventType, Timing } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import type { ListedEvent, StoredEvent } from '../model/event.ts'
import type { ListedNotification } from '../model/notification.ts'
import { REASONS, type Reason } from '../model/reason.ts'
import { addressOf, maskAddress } from '../model/recipient.ts'
import type { StoredSchedule } from '../model/schedule.ts'
import type { Tenant } from '../model/tenant.ts'
import { localOf } from '../model/timing.ts'
import { occurrenceOf } from '../plan/due-event.ts'
import type { EventAct } from '../plan/event-store.ts'
import { actsOn, actsOnNotification, failedAt } from './explain-acts.ts'

/** One decision about an event, in words for somebody who was asked why a message came, or did not. */
export interface ExplanationLine {
  at: number
  /** What was decided: where something stopped, its reason. */
  code: string
  text: string
  notificationId?: string
  channel?: Channel
  /** Masked, for everybody. */
  recipient?: string
}

/** All rows that tell what became of an event. */
export interface EventRows {
  event: StoredEvent
  tenant: Tenant
  /** As the catalogue has it now; null where it no longer does. */
  type: EventType | null
  schedules: readonly StoredSchedule[]
  notifications: readonly ListedNotification[]
  /** What was done about them, oldest first. */
  acts: readonly EventAct[]
  /** Of a domain event: the events that it became. */
  derived: readonly ListedEvent[]
  /** How many there are in all; `notifications` may hold only the newest. */
  notificationCount: number
  now: number
}

/** What was decided about an event, in the order in which it was. */
export function explain(rows: EventRows): ExplanationLine[] {
  const { event, schedules, notifications, notificationCount } = rows
  const lines = [
    ...eventLines(rows),
    ...actsOn(rows.acts, { subject: `event:${event.id}`, status: event.status }),
    ...oldestFirst(schedules).flatMap((schedule) => [
      ...actsOn(rows.acts, { subject: `schedule:${schedule.id}`, status: schedule.status }),
      ...scheduleLines(rows, schedule),
    ]),
    ...oldestFirst(notifications).flatMap((notification) => notificationLines(rows, notification)),
  ]
  const others = notificationCount - notifications.length
  if (others > 0) {
    const text = `${count(others, 'further notification')}, older ones, ${others === 1 ? 'is' : 'are'} not told of here.`
    lines.push({ at: event.publishedAt ?? event.createdAt, code: 'more', text })
  }
  // The sort is stable: what has the same time stays in the order of the stages.
  return lines.sort((a, b) => a.at - b.at)
}

function oldestFirst<T extends { id: string }>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

function eventLines(rows: EventRows): ExplanationLine[] {
  const { event, tenant } = rows
  const { entity, createdAt: at, attemptCount, lastError } = event
  const published = {
    at,
    code: 'published',
    text: `${event.type} about ${entity.type} ${entity.id} was ${origin(event)}.`,
  }
  const itself = entity.id === event.id ? [aboutItself(event)] : []
  if (event.status === 'published') return [published, ...itself, ...derivedLines(rows)]
  if (event.status === 'failed') {
    const text = `It cannot be turned into notifications: ${sentence(lastError)} Replay the event once that is mended.`
    return [published, ...itself, { at: failedAt(rows.acts, `event:${event.id}`) ?? at, code: 'event_failed', text }]
  }
  const text =
    attemptCount === 0
      ? 'It is not planned yet: it waits for a worker.'
      : `Planning it failed ${times(attemptCount)}, and is tried again at ${timeIn(tenant, event.nextAttemptAt)}: ${sentence(lastError)}`
  return [published, ...itself, { at, code: attemptCount === 0 ? 'waits_for_worker' : 'planning_failed', text }]
}

/** As of a NotificationRequest that names nothing it is about. */
function aboutItself({ entity, createdAt: at }: StoredEvent): ExplanationLine {
  const text = `Its ${entity.type} has the id of the event itself: no other event is about the same one.`
  return { at, code: 'entity_is_event', text }
}

function origin({ derivedFrom, publishedBy }: ListedEvent): string {
  if (derivedFrom !== null) return `made of the domain event ${derivedFrom}`
  return publishedBy === null ? 'published in a transaction of the application' : `published by ${publishedBy}`
}

/** A domain event is the only one that is planned and has no schedule. */
function derivedLines({ event, schedules, derived }: EventRows): ExplanationLine[] {
  if (schedules.length > 0) return []
  const at = event.publishedAt ?? event.createdAt
  if (derived.length === 0) {
    const text = `${event.type} tells nobody: the catalogue makes nothing of it.`
    return [{ at, code: 'tells_nobody', text }]
  }
  return derived
    .toSorted((a, b) => (a.type < b.type ? -1 : 1))
    .map(({ id, type }) => ({
      at,
      code: 'derived',
      text: `It became the event ${type} (${id}), which says itself what came of it.`,
    }))
}

function scheduleLines(rows: EventRows, schedule: StoredSchedule): ExplanationLine[] {
  const { tenant, now } = rows
  const { createdAt: at, dueAt, status, attemptCount, progress } = schedule
  const lines: ExplanationLine[] = []
  const ready = Math.max(at, dueAt, schedule.approvedAt ?? 0)
  const isLater = dueAt > at
  if (isLater)
    lines.push({ at, code: 'scheduled', text: `Planned for ${timeIn(tenant, dueAt)}${whyThen(rows, schedule)}.` })
  if (schedule.approvedAt !== null)
    lines.push({ at: schedule.approvedAt, code: 'approved', text: `Approved by ${schedule.approvedBy}.` })
  const error = sentence(schedule.lastError)
  switch (status) {
    case 'awaiting_approval':
      lines.push({ at, code: 'awaits_approval', text: 'Waits for approval: somebody has to approve or reject it.' })
      break
    case 'completed':
      lines.push({ at: schedule.completedAt ?? dueAt, ...completion(rows, schedule) })
      break
    case 'failed': {
      const text = `It made nothing that can be sent: ${error} Replay the schedule once that is mended.`
      lines.push({ at: failedAt(rows.acts, `schedule:${schedule.id}`) ?? ready, code: 'schedule_failed', text })
      break
    }
    case 'cancelled':
      lines.push({ at, code: 'schedule_cancelled', text: `Cancelled: ${error}` })
      break
    case 'pending':
      if (progress) {
        const text = `${progress.planned} of ${count(progress.total, 'recipient')} are planned so far.`
        lines.push({ at: ready, code: 'planned_in_part', text })
      } else if (attemptCount > 0) {
        const text = `Planning it failed ${times(attemptCount)}, and is tried again: ${error}`
        lines.push({ at: ready, code: 'planning_failed', text })
      } else if (dueAt <= now)
        lines.push({ at: ready, code: 'waits_for_worker', text: 'Its time has come: it waits for a worker.' })
  }
  return lines
}

/** What a completed schedule came to. */
function completion(rows: EventRows, { id }: StoredSchedule): Pick<ExplanationLine, 'code' | 'text'> {
  const { event, type, notifications, notificationCount } = rows
  const rowsMade = notifications.filter(({ scheduleId }) => scheduleId === id)
  const skipped = rowsMade.filter(({ status }) => status === 'skipped').length
  const made = rowsMade.length - skipped
  if (rowsMade.length > 0) {
    const isAll = notificationCount === notifications.length
    const into = made === 0 ? 'no notification' : `${isAll ? '' : 'at least '}${count(made, 'notification')}`
    const others =
      skipped === 0 ? '' : `; ${skipped}${made === 0 ? '' : ' more'} ${skipped === 1 ? 'was' : 'were'} skipped`
    return { code: 'planned', text: `It was turned into ${into}${others}.` }
  }
  if (type?.delivery.kind === 'none')
    return { code: 'tells_nobody', text: `${event.type} tells nobody: it only cancels what other events began.` }
  const { entity } = event
  const told = `whom it is for was told of ${entity.type} ${entity.id} by an earlier event, or is reached on no channel`
  return { code: 'nothing_made', text: `No notification was made of it: ${told}.` }
}

/** From what a due time was reckoned; nothing where the catalogue has changed since. */
function whyThen({ event, tenant, type }: EventRows, schedule: StoredSchedule): string {
  if (event.dueAt !== null) return ', as the event asked'
  if (type === null || occurrenceOf({ event, type, tenant }) !== schedule.dueAt) return ''
  return timingWords(type.timing)
}

function timingWords({ offsetMs, field, at }: Timing): string {
  const base = field ?? 'it happened'
  const offset =
    offsetMs === 0
      ? field === null
        ? ''
        : `on ${field}`
      : `${span(offsetMs)} ${offsetMs < 0 ? 'before' : 'after'} ${base}`
  const words = [offset, at === null ? '' : `at ${at}`].filter((part) => part !== '')
  return words.length === 0 ? '' : `, ${words.join(', ')}`
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** `24 h`, `1 d 12 h`; days only from two on, because a reminder is spoken of in hours. */
function span(ms: number): string {
  let rest = Math.abs(ms)
  const parts: string[] = []
  for (const [unit, size] of UNITS) {
    if (unit === 'd' && rest < 2 * size) continue
    const whole = Math.floor(rest / size)
    rest -= whole * size
    if (whole > 0) parts.push(`${whole} ${unit}`)
  }
  return parts.join(' ')
}

function notificationLines(rows: EventRows, notification: ListedNotification): ExplanationLine[] {
  const { channel, to, createdAt, triggeredBy } = notification
  const masked = maskAddress(to)
  const recipient = addressOf(channel, masked) ?? masked.list ?? masked.name ?? null
  const line = (at: number, code: string, text: string): ExplanationLine => ({
    at,
    code,
    text: `${channel}: ${text}`,
    notificationId: notification.id,
    channel,
    ...(recipient !== null && { recipient }),
  })
  const lines: ExplanationLine[] = []
  if (notification.fallbackOf !== null) {
    const before = rows.notifications.find(({ id }) => id === notification.fallbackOf)
    lines.push(line(createdAt, 'fallback', `takes over from ${before?.channel ?? 'another channel'}.`))
  } else if (notification.correctedFrom !== null)
    lines.push(line(createdAt, 'corrected', `sent to a corrected address by ${triggeredBy}.`))
  else if (triggeredBy !== 'system') lines.push(line(createdAt, 'resent', `sent again by ${triggeredBy}.`))
  for (const { code, message } of notification.warnings) lines.push(line(createdAt, code, sentence(message)))
  const who = recipient ?? 'the recipient'
  const acts = actsOnNotification(rows.acts, notification, who)
  const said = [...acts, ...standing(rows, notification, who, acts.at(-1)?.at ?? 0)]
  return [...lines, ...said.map(({ at, code, text }) => line(at, code, text))]
}

/** How far a notification has come: what is on record with a time of its own, and where it stands now. */
function standing(
  { tenant, now }: EventRows,
  notification: ListedNotification,
  who: string,
  actedAt: number,
): { at: number; code: string; text: string }[] {
  const { status, createdAt, dueAt, nextAttemptAt, attemptCount, provider, sentAt, deliveredAt, readAt } = notification
  const twice = notification.possibleDuplicate ? ' It may have arrived twice.' : ''
  const said: { at: number; code: string; text: string }[] = []
  if (sentAt !== null)
    said.push({
      at: sentAt,
      code: 'sent',
      text: `sent to ${who}${provider === null ? '' : ` through ${provider}`}.${twice}`,
    })
  // Where a provider sends no receipts, its acceptance is all that is known.
  if (deliveredAt !== null && deliveredAt !== sentAt)
    said.push({ at: deliveredAt, code: 'delivered', text: `delivered to ${who}.` })
  if (readAt !== null) said.push({ at: readAt, code: 'read', text: `read by ${who}.` })
  const last = Math.max(createdAt, actedAt, sentAt ?? 0, deliveredAt ?? 0, readAt ?? 0)
  switch (status) {
    case 'sent':
    case 'delivered':
    case 'read':
      return said
    case 'queued': {
      const isLater = dueAt !== null && dueAt > now
      const text = isLater
        ? `waits until ${timeIn(tenant, dueAt)} to be sent to ${who}.`
        : `waits to be sent to ${who}.`
      return [...said, { at: last, code: status, text }]
    }
    case 'sending':
      return [...said, { at: last, code: status, text: `is being sent to ${who}.` }]
    case 'retrying': {
      const next = nextAttemptAt === null ? '' : `; it is tried again at ${timeIn(tenant, nextAttemptAt)}`
      const text = `not sent to ${who} yet, after ${count(attemptCount, 'attempt')}${next}: ${sentence(notification.lastError)}`
      return [...said, { at: last, code: status, text }]
    }
    default:
      return [...said, { at: last, code: reasonOf(notification) ?? status, text: stopped(notification, who) }]
  }
}

/** What is said of a notification that stopped, by its status; every other was simply not sent. */
const STOPPED_WORDS: Readonly<Record<string, string>> = {
  parked: 'set aside for an operator, not sent to',
  uncertain: 'set aside for an operator, perhaps sent to',
  discarded: 'given up by an operator, not sent to',
  cancelled: 'cancelled, not sent to',
  skipped: 'skipped, not sent to',
}

function stopped(notification: ListedNotification, who: string): string {
  const reason = reasonOf(notification)
  const words = notification.sentAt === null ? (STOPPED_WORDS[notification.status] ?? 'not sent to') : 'not received by'
  if (notification.duplicateOf !== null)
    return `${words} ${who}. The same was told, or is being told, by the notification ${notification.duplicateOf}.`
  const error = notification.lastError === null ? '' : ` (${notification.lastError})`
  return `${words} ${who}.${reason === null ? '' : ` ${REASONS[reason]}`}${error}`
}

/** Without the channel that took over. */
function reasonOf({ reason }: ListedNotification): Reason | null {
  return reason === null ? null : (reason.split(':', 1)[0] as Reason)
}

/** As clocks of the tenant show it: `2026-03-14 09:00 Asia/Kolkata`. */
function timeIn({ timeZone }: Tenant, ms: number): string {
  return `${new Date(localOf(ms, timeZone)).toISOString().slice(0, 16).replace('T', ' ')} ${timeZone}`
}

function sentence(text: string | null): string {
  const words = text ?? 'nobody said why'
  return /[.!?]$/.test(words) ? words : `${words}.`
}

function times(number: number): string {
  return number === 1 ? 'once' : `${number} times`
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}
