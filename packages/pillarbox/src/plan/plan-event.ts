import type { Channel } from '../model/channel.ts'
import { manualKey, perEntityKey, perEventKey } from '../model/idempotency.ts'
import type { NewNotification, NotificationPolicy } from '../model/notification.ts'
import type { IdSource } from '../model/ports.ts'
import type { DueEvent } from './due-event.ts'
import type { Addressee } from './people.ts'
import type { Recipient } from './recipients.ts'
import {
  atEveryAddress,
  channelsFor,
  isChain,
  type Obstacle,
  targetOf,
  type Way,
  type Wish,
  type Words,
  type WordsDeps,
  waysTo,
  wordsFor,
} from './words.ts'

export interface PlanTools extends WordsDeps {
  ids: IdSource
}

/** What planning an event's notifications is about, beside the event itself. */
export interface Assignment {
  due: DueEvent
  scheduleId: string | null
  /** When it was to be told, from which its expiry counts. */
  dueAt: number
  /** A resend by hand; null for what the event itself leads to. */
  manual: { requestId: string; actor: string } | null
  wish?: Wish
  tools: PlanTools
}

/** Whom a part of an event is for, and what of it cannot be told to anybody. */
export interface Crowd {
  addressees: readonly Addressee[]
  stopped: readonly Stopped[]
}

/** A recipient list that is missing or empty, or an element of the payload without an address. */
export interface Stopped extends Obstacle {
  recipient: Recipient
}

/**
 * An event that is due, as notifications: people × channels × templates, rendered. Pure but for new ids. What cannot be
 * sent becomes a parked notification that says why, so that nothing vanishes.
 */
export function planNotifications(assignment: Assignment, { addressees, stopped }: Crowd): NewNotification[] {
  const planned = stopped.map(({ recipient, ...obstacle }) => parkedFor(assignment, asAddressee(recipient), obstacle))
  const told = createToldBook()
  for (const addressee of addressees)
    if (told.isNew(addressee)) planned.push(...planAddressee(assignment, addressee, told))
  return planned
}

/** For an event that turned out to be for nobody. */
export function nobodyFound(assignment: Assignment): NewNotification {
  return parkedFor(assignment, null, {
    reason: 'no_recipient',
    error: 'the event names no recipient with an address',
  })
}

function planAddressee(assignment: Assignment, given: Addressee, told: ToldBook): NewNotification[] {
  const { due, wish } = assignment
  const addressee = atEveryAddress(due, given)
  const ways = waysTo(due, addressee, wish)
  if ('reason' in ways) return [parkedFor(assignment, addressee, ways)]
  const { usable, unusable } = ways
  const wrong = (channel: Channel): NewNotification => parkedFor(assignment, addressee, wrongForm(channel), channel)
  if (!isChain(due))
    return [
      ...usable
        .filter(({ channel }) => told.firstTime(addressee, channel))
        .map((way) => tell(assignment, addressee, way)),
      ...unusable.map(wrong),
    ]
  // A chain starts with its first channel that can be used and carries the rest.
  const [start, ...rest] = usable
  if (!start) return unusable.slice(0, 1).map(wrong)
  if (!told.firstTime(addressee, start.channel)) return []
  return [
    tell(
      assignment,
      addressee,
      start,
      rest.map(({ channel }) => channel),
    ),
  ]
}

/** Whom an event has been told to so far, in one part of it. */
interface ToldBook {
  /** False for a recipient that was named before. */
  isNew(addressee: Addressee): boolean
  /**
   * False where the same person has it at the same address: named twice, by phone and by email, each is completed by the
   * other. Two people who share an address are told each.
   */
  firstTime(addressee: Addressee, channel: Channel): boolean
}

function createToldBook(): ToldBook {
  const keys = new Set<string>()
  const targets = new Set<string>()
  return {
    isNew: ({ key }) => isAdded(keys, key),
    firstTime: ({ contactId, address }, channel) =>
      contactId === null || isAdded(targets, `${contactId} ${channel} ${targetOf(channel, address)}`),
  }
}

function isAdded(set: Set<string>, value: string): boolean {
  const size = set.size
  return set.add(value).size > size
}

/** One notification on one channel; born parked where its template cannot be rendered. */
export function tell(
  assignment: Assignment,
  addressee: Addressee,
  way: Way,
  fallback: Channel[] = [],
): NewNotification {
  const id = assignment.tools.ids()
  const words = wordsFor(assignment.tools, assignment.due, addressee, way, id)
  return notificationOf(assignment, { id, addressee, way, words, fallback })
}

/** A notification from words that were found for it. */
function notificationOf(
  assignment: Assignment,
  told: { id: string; addressee: Addressee; way: Way; words: Words | { error: string }; fallback: Channel[] },
): NewNotification {
  const { id, addressee, way, words, fallback } = told
  const { channel, template, account } = way
  const isFailed = 'error' in words
  return {
    ...shared(assignment, addressee, channel, template.id),
    id,
    accountId: account.id,
    provider: account.provider,
    content: isFailed ? null : words.content,
    templateId: template.id,
    templateVersion: template.version,
    locale: template.locale,
    fallback,
    warnings: isFailed ? [...assignment.due.warnings] : words.warnings,
    parked: isFailed ? { reason: 'render_failed', error: words.error } : null,
  }
}

/** Born stopped. `locale` is then the one the recipient prefers: planning anew finds it there. */
function parkedFor(
  assignment: Assignment,
  addressee: Addressee | null,
  { reason, error }: Obstacle,
  on?: Channel,
): NewNotification {
  const channel = on ?? (addressee?.address.list === undefined ? channelsFor(assignment.due)[0] : undefined) ?? 'email'
  return {
    ...shared(assignment, addressee, channel, reason),
    id: assignment.tools.ids(),
    accountId: null,
    provider: null,
    content: null,
    templateId: null,
    templateVersion: null,
    locale: addressee?.locale ?? null,
    fallback: [],
    warnings: [...assignment.due.warnings],
    parked: { reason, error },
  }
}

export function wrongForm(channel: Channel): Obstacle {
  return { reason: 'invalid_recipient', error: `the recipient's address for ${channel} has not the form it needs` }
}

function asAddressee(recipient: Recipient): Addressee {
  return { ...recipient, contactId: null, conversationId: null }
}

function shared(assignment: Assignment, addressee: Addressee | null, channel: Channel, templateId: string) {
  const { due, scheduleId, dueAt, manual } = assignment
  const { event, type } = due
  return {
    tenantId: event.tenantId,
    idempotencyKey: keyFor(assignment, addressee, channel, templateId),
    channel,
    to: addressee?.address ?? {},
    contactId: addressee?.contactId ?? null,
    conversationId: addressee?.conversationId ?? null,
    policy: policyOf(type),
    eventId: event.id,
    eventType: event.type,
    scheduleId,
    entity: event.entity,
    correlationId: event.correlationId,
    executionId: null,
    parentExecutionId: null,
    site: null,
    triggeredBy: manual?.actor ?? 'system',
    fallbackOf: null,
    dueAt: null,
    // Somebody who sends it again by hand wants it sent.
    expiresAt: manual || type.expiresAfterMs === null ? null : dueAt + type.expiresAfterMs,
  }
}

/** One row per key (P2): the entity or the event, the channel, the template and, where there are several, who. */
export function keyFor(
  { due, manual }: Pick<Assignment, 'due' | 'manual'>,
  addressee: Pick<Recipient, 'key'> | null,
  channel: Channel,
  templateId: string,
): string {
  const { event, type, audience } = due
  const parts = {
    channel,
    templateId,
    eventType: event.type,
    ...(audience.isSeveral && addressee ? { recipient: addressee.key } : {}),
  }
  if (manual) return manualKey({ ...parts, entityId: event.entity.id, requestId: manual.requestId })
  return type.once === 'per-entity'
    ? perEntityKey({ ...parts, entityId: event.entity.id })
    : perEventKey({ ...parts, eventId: event.id })
}

function policyOf({ retry, onUndeliverable }: DueEvent['type']): NotificationPolicy | null {
  if ((retry === null || retry === undefined) && onUndeliverable === null) return null
  return {
    ...(retry !== null && retry !== undefined && { retry }),
    ...(onUndeliverable !== null && { onUndeliverable }),
  }
}
