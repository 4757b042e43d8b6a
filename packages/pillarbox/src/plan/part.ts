import type { Progress } from '../model/schedule.ts'
import type { Store } from '../store/store.ts'
import type { Obstacle } from './compose.ts'
import type { DueEvent } from './due-event.ts'
import { type AudienceEntry, noRecipient, type Recipient, recipientOfMember } from './recipients.ts'
import { channelsFor, isChain } from './routes.ts'

/** How many recipients are planned in one transaction at most, and how many notifications. */
export const PART_RECIPIENTS = 1_000
export const BATCH_NOTIFICATIONS = 2_000

/** Where the planning of an event's recipients stands. */
export interface Position {
  /** Of the audience. */
  place: number
  /** The last member of the recipient list at that place that was planned; null: none yet. */
  after: string | null
  /** How many people were found so far. */
  found: number
}

export const BEGINNING: Position = { place: 0, after: null, found: 0 }

/** The next recipients of an event. */
export interface Part {
  recipients: Recipient[]
  stopped: StoppedRecipient[]
  /** How many places and list members these are, and where to go on; null at the end. */
  taken: number
  next: Position
  isLast: boolean
  /** All of them, as far as is known. */
  total: number
}

/** A recipient list that is missing or empty, or an element of the payload without an address. */
export interface StoppedRecipient extends Obstacle {
  recipient: Recipient
}

/** How many of an event's recipients make one part: so many that a part is no more notifications than a batch. */
export function partLimit(due: DueEvent): number {
  return Math.max(1, Math.min(PART_RECIPIENTS, Math.floor(BATCH_NOTIFICATIONS / channelCount(due))))
}

/** How many notifications one recipient is at most. */
export function channelCount(due: DueEvent): number {
  return isChain(due) ? 1 : Math.max(1, channelsFor(due).length)
}

/** The part from `from` on. */
export async function takePart(due: DueEvent, from: Position, limit: number, lists: Store['lists']): Promise<Part> {
  return due.audience.hasExpandedList ? takeWithLists(due, from, limit, lists) : takePlaces(due, from, limit)
}

/** Without reading any list: an expanded one counts as one place. */
export function takePlaces({ audience }: DueEvent, from: Position, limit: number): Part {
  const end = Math.min(audience.size, from.place + limit)
  const recipients: Recipient[] = []
  const stopped: StoppedRecipient[] = []
  for (let place = from.place; place < end; place++) {
    const entry = audience.at(place)
    if (entry) put(entry, { recipients, stopped })
  }
  return {
    recipients,
    stopped,
    taken: end - from.place,
    next: { place: end, after: null, found: from.found + recipients.length + stopped.length },
    isLast: end === audience.size,
    total: audience.size,
  }
}

async function takeWithLists(due: DueEvent, from: Position, limit: number, lists: Store['lists']): Promise<Part> {
  const { audience, event, context } = due
  const recipients: Recipient[] = []
  const stopped: StoppedRecipient[] = []
  const position = { ...from }
  let taken = 0
  let total = 0
  for (let place = 0; place < audience.size; place++) {
    const entry = audience.at(place)
    if (!entry || !('list' in entry) || !entry.isExpanded) {
      total += 1
      if (place !== position.place || taken >= limit) continue
      if (entry) put(entry, { recipients, stopped })
      taken += 1
      position.place += 1
      continue
    }
    const list = await lists.findByName(event.tenantId, entry.list)
    total += list?.memberCount ?? 0
    if (place !== position.place || taken >= limit) continue
    if (!list) {
      const recipient = listRecipient(entry.list)
      stopped.push({ recipient, reason: 'list_not_found', error: `there is no recipient list "${entry.list}"` })
      position.place += 1
      continue
    }
    const page = await lists.members(event.tenantId, list.id, position.after, limit - taken)
    for (const member of page.members) {
      const recipient = recipientOfMember(member, context.region)
      if (recipient) recipients.push(recipient)
    }
    if (page.members.length === 0 && position.after === null)
      stopped.push({
        recipient: listRecipient(entry.list),
        reason: 'list_empty',
        error: `the recipient list "${entry.list}" has no members`,
      })
    taken += page.members.length
    position.after = page.next
    if (page.next === null) position.place += 1
  }
  position.found += recipients.length + stopped.length
  return { recipients, stopped, taken, next: position, isLast: position.place >= audience.size, total }
}

function put(entry: AudienceEntry, { recipients, stopped }: Pick<Part, 'recipients' | 'stopped'>): void {
  if ('nobodyAt' in entry) stopped.push(unaddressed(entry.nobodyAt))
  else recipients.push('list' in entry ? listRecipient(entry.list) : entry.recipient)
}

/** Somebody was meant, and nobody will be told: that must be seen. */
export function unaddressed(where: string): StoppedRecipient {
  const recipient = { ...noRecipient, key: `element:${where}` }
  return { recipient, reason: 'no_recipient', error: `${where} has no address` }
}

/** One message to all of a list: who that is, is found out when it is sent. */
function listRecipient(list: string): Recipient {
  return { ...noRecipient, address: { list }, key: `list:${list}` }
}

/** Where a schedule that is planned in parts goes on. One that cannot be read begins anew: its keys are taken. */
export function positionOf(progress: Progress | null): Position {
  if (!progress) return BEGINNING
  const [place, after, found] = readCursor(progress.cursor)
  const isPlace = typeof place === 'number' && Number.isSafeInteger(place) && place >= 0
  if (!isPlace || typeof found !== 'number' || (after !== null && typeof after !== 'string')) return BEGINNING
  return { place, after, found }
}

function readCursor(cursor: string): unknown[] {
  try {
    const read: unknown = JSON.parse(cursor)
    return Array.isArray(read) ? read : []
  } catch {
    return []
  }
}

export function progressOf(before: Progress | null, part: Part): Progress {
  const { place, after, found } = part.next
  const planned = (before?.planned ?? 0) + part.taken
  return { cursor: JSON.stringify([place, after, found]), planned, total: Math.max(planned, part.total) }
}
