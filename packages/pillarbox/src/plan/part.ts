import type { Progress } from '../model/schedule.ts'
import type { Store } from '../store/store.ts'
import type { Obstacle } from './compose.ts'
import type { DueEvent } from './due-event.ts'
import { isReached, NOBODY_YET, type Reached } from './reached.ts'
import { type AudienceEntry, ELEMENT, noRecipient, type Recipient, recipientOfMember } from './recipients.ts'
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
  reached: Reached
}

export const BEGINNING: Position = { place: 0, after: null, found: 0, reached: NOBODY_YET }

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

/** A recipient list that is missing or empty. */
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
    const at = (recipient: Recipient): Recipient => ({ ...recipient, place: String(place) })
    if (entry && 'list' in entry && entry.isExpanded) {
      const page = await pageOf(lists, event.tenantId, entry.list, after, limit - taken)
      for (const member of page.members)
        recipients.push({
          ...(recipientOfMember(member, context.region) ?? nobody(`member ${member.id}`)),
          place: `${place}/${member.id}`,
        })
      if (page.obstacle) stopped.push({ recipient: at(listRecipient(entry.list)), ...page.obstacle })
      taken += page.members.length
      after = page.next
      if (page.next === null) place += 1
      continue
    }
    if (entry) recipients.push(at(recipientAt(entry)))
    taken += 1
    place += 1
  }
  const found = from.found + recipients.length + stopped.length
  const isLast = place >= audience.size
  const next = { place, after, found, reached: from.reached }
  return { recipients, stopped, taken, next, isLast, total: await totalOf(due, lists) }
}

/** The next members of a list; what is wrong where there is no such list, or nobody on it. */
async function pageOf(
  lists: Store['lists'],
  tenantId: string,
  name: string,
  after: string | null,
  limit: number,
): Promise<Awaited<ReturnType<Store['lists']['members']>> & { obstacle: Obstacle | null }> {
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

/** Whoever is named at a place of the audience; a recipient list as a whole. */
export function recipientAt(entry: AudienceEntry): Recipient {
  if ('nobodyAt' in entry) return nobody(entry.nobodyAt)
  return 'list' in entry ? listRecipient(entry.list) : entry.recipient
}

/** Somebody was meant who cannot be reached: that must be seen. */
function nobody(where: string): Recipient {
  return { ...noRecipient, key: `${ELEMENT}${where}` }
}

/** One message to all of a list: who that is, is found out when it is sent. */
function listRecipient(list: string): Recipient {
  return { ...noRecipient, address: { list }, key: `list:${list}` }
}

/** Where a schedule that is planned in parts goes on. One that cannot be read begins anew: its keys are taken. */
export function positionOf(progress: Progress | null): Position {
  if (!progress) return BEGINNING
  // One that was written before it said how far planning had come is taken to have told somebody.
  const [place, after, found, reached = 'told'] = readCursor(progress.cursor)
  const isPlace = typeof place === 'number' && Number.isSafeInteger(place) && place >= 0
  if (!isPlace || typeof found !== 'number' || (after !== null && typeof after !== 'string')) return BEGINNING
  return { place, after, found, reached: isReached(reached) ? reached : 'told' }
}

function readCursor(cursor: string): unknown[] {
  try {
    const read: unknown = JSON.parse(cursor)
    return Array.isArray(read) ? read : []
  } catch {
    return []
  }
}

/** `reached`: with this part and all before it. */
export function progressOf(before: Progress | null, part: RecipientPart, reached: Reached): Progress {
  const { place, after, found } = part.next
  const planned = (before?.planned ?? 0) + part.taken
  return { cursor: JSON.stringify([place, after, found, reached]), planned, total: Math.max(planned, part.total) }
}
