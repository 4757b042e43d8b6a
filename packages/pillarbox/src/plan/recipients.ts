import { createHash } from 'node:crypto'
import type { RecipientPaths } from '../model/catalogue.ts'
import { emailIdentity, foldEmail } from '../model/email.ts'
import type { EventRecipient } from '../model/event.ts'
import { textOf, valueAt } from '../model/path.ts'
import { toE164 } from '../model/phone.ts'
import type { Address } from '../model/recipient.ts'
import type { ListMember } from '../model/recipient-list.ts'
import type { ContactRequest } from './people-store.ts'

/** Somebody an event or a request names, with every address known: a fallback may need another one. */
export interface Recipient {
  address: Address
  locale: string | null
  /** Tells recipients of one event apart in idempotency keys. */
  key: string
  /** Where the event names them: a place of its audience, for a member of a recipient list with their id (`0/<id>`). */
  place: string | null
  /** By what they can be recognised; null where there is nothing of the kind. */
  identity: Identity | null
  /** The element of the payload's list that they were found in, for templates. */
  element: Record<string, unknown> | null
  /** The stored person they were recognised as (`plan/people.ts`), and the conversation; null where there is none, or yet. */
  contactId: string | null
  conversationId: string | null
}

/** What the key of an element begins with in which nobody can be reached. */
export const ELEMENT = 'element:'

/** A recipient of whom nothing is known. */
export const noRecipient: Recipient = {
  address: {},
  locale: null,
  key: '',
  place: null,
  identity: null,
  element: null,
  contactId: null,
  conversationId: null,
}

export type Identity = Omit<ContactRequest, 'tenantId' | 'conversation'>

/**
 * Somebody, a recipient list (one message to all of it, or with `isExpanded` one to each of its members), or an element
 * of a list in which nobody can be reached.
 */
export type AudienceEntry = { recipient: Recipient } | { list: string; isExpanded: boolean } | { nobodyAt: string }

/**
 * Whom an event is for, in an order that never changes, so that planning can stop anywhere and go on there. Only what
 * is asked for is read: a payload may name a hundred thousand.
 */
export interface Audience {
  /** How many places there are; some may turn out to be empty. */
  readonly size: number
  /** Whether recipients must be told apart: more than one place, or an expanded list. */
  readonly isSeveral: boolean
  readonly hasExpandedList: boolean
  /** Null where the payload has nothing at that place: not everybody whom the catalogue names has to be there. */
  at(place: number): AudienceEntry | null
  /** The element of a list that is at that place, such as `passengers[1]`; null for a place that is no list's. */
  where(place: number): string | null
}

/**
 * The event's own recipients where it names some, else those the catalogue's paths find in the payload. A value that was
 * sealed is nobody's name or address, whatever the catalogue says by now: those are kept in clear. But for device tokens,
 * which are sealed wherever they are kept.
 */
export function audienceOf(
  payload: Record<string, unknown>,
  paths: readonly RecipientPaths[],
  named: readonly EventRecipient[] | null,
  region: string | null,
  secrets: readonly string[] = [],
): Audience {
  const rows: AudienceSource[] = named?.length
    ? [{ count: named.length, read: (i) => entryOf(fieldsOf(named[i]), region), where: (i) => `recipients[${i}]` }]
    : paths.map((entry) => rowOf(payload, entry, region, secrets))
  const size = rows.reduce((sum, { count }) => sum + count, 0)
  const hasExpandedList = named?.length
    ? named.some((one) => fieldsOf(one)('list') && fieldsOf(one)('expand') === true)
    : paths.some(({ list, expand }) => list !== undefined && expand === true)
  const found = <T>(place: number, look: (row: AudienceSource, index: number) => T): T | null => {
    let rest = place
    for (const row of rows) {
      if (rest < row.count) return look(row, rest)
      rest -= row.count
    }
    return null
  }
  const where = (place: number): string | null => found(place, (row, index) => row.where(index))
  return {
    size,
    hasExpandedList,
    isSeveral: size > 1 || hasExpandedList,
    where,
    at(place) {
      const entry = found(place, (row, index) => row.read(index))
      const nobodyAt = entry ? null : where(place)
      return nobodyAt === null ? entry : { nobodyAt }
    },
  }
}

/** A member of a recipient list, as one of an event's recipients. */
export function recipientOfMember(member: ListMember, region: string | null): Recipient | null {
  return recipientFrom((field) => (member as unknown as Record<string, unknown>)[field], null, region)
}

/** Reads one field of somebody, wherever it stands. */
type FieldReader = (field: string) => unknown

/** One entry of the catalogue's recipients, or all that an event names itself. */
interface AudienceSource {
  count: number
  /** Null where nobody can be reached. */
  read(index: number): AudienceEntry | null
  where(index: number): string | null
}

function fieldsOf(recipient: EventRecipient | undefined): FieldReader {
  return (field) => (recipient as Record<string, unknown> | undefined)?.[field]
}

function entryOf(fields: FieldReader, region: string | null): AudienceEntry | null {
  const list = textOf(fields('list'))
  if (list !== null) return { list, isExpanded: fields('expand') === true }
  const recipient = recipientFrom(fields, null, region)
  return recipient && { recipient }
}

function rowOf(
  payload: Record<string, unknown>,
  paths: RecipientPaths,
  region: string | null,
  secrets: readonly string[],
): AudienceSource {
  const { list, expand } = paths
  // A field of the payload that names the list, or the list's own name.
  if (list !== undefined)
    return {
      count: 1,
      read: () => ({ list: textOf(openly(valueAt(payload, list), secrets)) ?? list, isExpanded: expand === true }),
      where: () => null,
    }
  const parsed = Object.entries(paths).flatMap(([field, path]) =>
    typeof path === 'string' ? [[field, stepsOf(path)] as const] : [],
  )
  const deepest = parsed.reduce<string[]>(
    (lists, [, steps]) => (steps.lists.length > lists.length ? steps.lists : lists),
    [],
  )
  const byField = new Map(parsed)
  const trails = trailsOf(payload, deepest)
  return {
    count: trails.count,
    where: trails.where,
    read(index) {
      const trail = trails.at(index)
      const read: FieldReader = (field) => {
        const steps = byField.get(field)
        // A path through another list cannot be paired with this one's elements.
        if (!steps || steps.lists.some((list, depth) => list !== deepest[depth])) return undefined
        const from = trail[steps.lists.length]
        const value = steps.rest === '' ? from : valueAt(from, steps.rest)
        return field === 'deviceToken' ? value : openly(value, secrets)
      }
      const element = trail.length > 1 ? recordOf(trail.at(-1)) : null
      const recipient = recipientFrom(read, element, region)
      return recipient && { recipient }
    },
  }
}

/** A value that may stand in clear; undefined where it is one of the secrets. */
export function openly(value: unknown, secrets: readonly string[]): unknown {
  const text = secrets.length === 0 ? null : textOf(value)
  return text !== null && secrets.includes(text) ? undefined : value
}

interface PathSteps {
  /** The lists a path goes through, each from the one before. */
  lists: string[]
  /** From the innermost element to the value; empty where the element itself is it. */
  rest: string
}

/** `groups[].members[].phone` → lists groups, members; rest phone. */
function stepsOf(path: string): PathSteps {
  const parts = path.split('[]')
  const rest = parts.pop() ?? ''
  return { lists: parts.map((part) => part.replace(/^\./, '')), rest: rest.replace(/^\./, '') }
}

/** The ways through the lists: each is the payload, then an element of each list. Just the payload where there are none. */
interface ElementTrails {
  count: number
  at(index: number): unknown[]
  /** As one would write the way in a program: `groups[0].members[2]`. */
  where(index: number): string | null
}

function trailsOf(payload: Record<string, unknown>, lists: readonly string[]): ElementTrails {
  const [list, ...inner] = lists
  if (list === undefined) return { count: 1, at: () => [payload], where: () => null }
  const elements = elementsAt(payload, list)
  // Commonly there is one list, which may be long: its elements are not copied.
  if (inner.length === 0)
    return {
      count: elements.length,
      at: (index) => [payload, elements[index]],
      where: (index) => `${list}[${index}]`,
    }
  let trails = elements.map((element, i) => ({ way: [payload, element], where: `${list}[${i}]` }))
  for (const next of inner)
    trails = trails.flatMap(({ way, where }) =>
      elementsAt(way.at(-1), next).map((element, i) => ({ way: [...way, element], where: `${where}.${next}[${i}]` })),
    )
  return {
    count: trails.length,
    at: (index) => trails[index]?.way ?? [payload],
    where: (index) => trails[index]?.where ?? null,
  }
}

function elementsAt(from: unknown, list: string): unknown[] {
  const elements = valueAt(from, list)
  return Array.isArray(elements) ? elements : []
}

/** Recipients' keys stand in idempotency keys, which are stored, shown and given to vendors: a device token must not. */
export function deviceKey(token: string): string {
  return `device-${createHash('sha256').update(token).digest('base64url')}`
}

const ADDRESS_FIELDS = ['name', 'email', 'phone', 'deviceToken', 'userId', 'url'] as const

/** Null where there is neither an address nor anything that leads to one. */
function recipientFrom(
  read: FieldReader,
  element: Record<string, unknown> | null,
  region: string | null,
): Recipient | null {
  const address: Address = {}
  for (const field of ADDRESS_FIELDS) {
    const value = textOf(read(field))
    if (value !== null) address[field] = value
  }
  const [phone, email] = [toPhone(address, region), toEmail(address)]
  const platform = textOf(read('platform'))?.toLowerCase()
  if (platform === 'fcm' || platform === 'wns') address.platform = platform
  const [contactId, profileId, locale] = [textOf(read('contactId')), textOf(read('profileId')), textOf(read('locale'))]
  const { name, userId, deviceToken, url } = address
  const identifies = contactId ?? profileId ?? userId ?? email ?? phone
  const mailbox = email === null ? address.email : emailIdentity(email)
  const key =
    profileId ??
    userId ??
    mailbox ??
    address.phone ??
    (deviceToken && deviceKey(deviceToken)) ??
    url ??
    (contactId && `contact:${contactId}`)
  if (!key) return null
  return {
    ...noRecipient,
    address,
    locale,
    key,
    element,
    identity: identifies
      ? {
          ...(contactId && { contactId }),
          ...(profileId && { profileId }),
          ...(userId && { userId }),
          ...(phone && { phone }),
          ...(email && { email }),
          ...(name && { name }),
          ...(locale && { locale }),
        }
      : null,
  }
}

/** The number in the form it is sent to, if it has one. What has none stays as it is, so that somebody sees it. */
function toPhone(address: Address, region: string | null): string | null {
  const e164 = address.phone === undefined ? null : toE164(address.phone, region)
  if (e164 !== null) address.phone = e164
  return e164
}

function toEmail(address: Address): string | null {
  const folded = address.email === undefined ? null : foldEmail(address.email)
  if (folded !== null) address.email = folded
  return folded
}

function recordOf(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}
