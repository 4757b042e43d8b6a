import type { ListMember } from '../model/recipient-list.ts'
import type { Progress } from '../model/schedule.ts'
import type { Store } from '../store/store.ts'
import type { Obstacle } from './compose.ts'
import type { DueEvent } from './due-event.ts'
import { noRecipient, type Recipient, recipientOfMember } from './recipients.ts'
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
export interface RecipientPart {
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
export async function takePart(
  due: DueEvent,
  from: Position,
  limit: number,
  lists: Store['lists'],
): Promise<RecipientPart> {
  const { audience, event, context } = due
  const recipients: Recipient[] = []
  const stopped: StoppedRecipient[] = []
  let { place, after } = from
  let taken = 0
  while (place < audience.size && taken < limit) {
    const entry = audience.at(place)
    if (entry && 'list' in entry && entry.isExpanded) {
      const page = await pageOf(lists, event.tenantId, entry.list, after, limit - taken)
      recipients.push(...page.members.flatMap((member) => recipientOfMember(member, context.region) ?? []))
      if (page.obstacle) stopped.push({ recipient: listRecipient(entry.list), ...page.obstacle })
      taken += page.members.length
      after = page.next
      if (page.next === null) place += 1
      continue
    }
    if (entry && 'nobodyAt' in entry) stopped.push(unaddressed(entry.nobodyAt))
    else if (entry) recipients.push('list' in entry ? listRecipient(entry.list) : entry.recipient)
    taken += 1
    place += 1
  }
  const found = from.found + recipients.length + stopped.length
  const isLast = place >= audience.size
  return { recipients, stopped, taken, next: { place, after, found }, isLast, total: await totalOf(due, lists) }
}

/** The next members of a list; what is wrong where there is no such list, or nobody on it. */
async function pageOf(
  lists: Store['lists'],
  tenantId: string,
  name: string,
  after: string | null,
  limit: number,
): Promise<{ members: ListMember[]; next: string | null; obstacle: Obstacle | null }> {
  const list = await lists.findByName(tenantId, name)
  if (!list) {
    const obstacle: Obstacle = { reason: 'list_not_found', error: `there is no recipient list "${name}"` }
    return { members: [], next: null, obstacle }
  }
  const page = await lists.members(tenantId, list.id, after, limit)
  const isEmpty = page.members.length === 0 && after === null
  const obstacle: Obstacle = { reason: 'list_empty', error: `the recipient list "${name}" has no members` }
  return { ...page, obstacle: isEmpty ? obstacle : null }
}

/** All recipients of an event, with as many as its expanded lists have now. */
async function totalOf({ audience, event }: DueEvent, lists: Store['lists']): Promise<number> {
  let total = audience.size
  if (!audience.hasExpandedList) return total
  for (let place = 0; place < audience.size; place++) {
    const entry = audience.at(place)
    if (!entry || !('list' in entry) || !entry.isExpanded) continue
    total += ((await lists.findByName(event.tenantId, entry.list))?.memberCount ?? 0) - 1
  }
  return total
}

/** Somebody was meant, and nobody will be told: that must be seen. */
export function unaddressed(where: string): StoppedRecipient {
  const recipient = { ...noRecipient, key: `element:${where}` }
  return { recipient, reason: 'no_recipient', error: `${where} has no address` }
}

/** One message to all of a list: who that is, is found out when it is sent. */
export function listRecipient(list: string): Recipient {
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

export function progressOf(before: Progress | null, part: RecipientPart): Progress {
  const { place, after, found } = part.next
  const planned = (before?.planned ?? 0) + part.taken
  return { cursor: JSON.stringify([place, after, found]), planned, total: Math.max(planned, part.total) }
}
