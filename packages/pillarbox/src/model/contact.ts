/**
 * Who is who. A contact owns identifiers, and each identifier has one owner. A profile id is one person's alone, and so
 * is a user id; a phone or an email may be shared by a family. Hence:
 *
 * - A request is the contact that owns its profile id, else its user id, else its phone, else its email. An owner that
 *   has another profile id than the request is somebody else, whatever they share; and where the two cannot be told apart
 *   by profile ids, one that was found by phone or email and has another user id is somebody else, too.
 * - Identifiers of one request that meet two contacts make them one, the younger merged into the older, unless both have
 *   a profile id; or where they met by phone or email, unless both have a user id.
 * - What the request knows and the contact does not is added. Nothing is ever overwritten, and an identifier stays with
 *   its owner, so that a shared phone leads to the one who had it first.
 *
 * When in doubt two contacts stay two: that costs a second row, while a wrong merge tells one person another's news.
 */
export const IDENTIFIER_KINDS = ['profile', 'user', 'phone', 'email'] as const
export type IdentifierKind = (typeof IDENTIFIER_KINDS)[number]

export interface Identifier {
  kind: IdentifierKind
  value: string
}

/** What may be known of a person. */
export interface PersonFacts {
  profileId: string | null
  userId: string | null
  name: string | null
  phone: string | null
  email: string | null
  locale: string | null
}

export interface KnownContact extends PersonFacts {
  id: string
  createdAt: number
}

/** What is known before anybody is recognised: every contact that owns one of the requests' identifiers. */
export interface KnownPeople {
  contacts: readonly KnownContact[]
  owners: readonly (Identifier & { contactId: string })[]
}

/** What becomes of the contacts once the requests are recognised. */
export interface Recognition {
  /** The contact of each request, in the given order; null where a request has nothing that identifies anybody. */
  contactIds: (string | null)[]
  created: (PersonFacts & { id: string })[]
  /** Known contacts that learn something, own a further identifier or took another contact in. */
  changed: { before: KnownContact; after: PersonFacts & { id: string } }[]
  /** Known contacts that end, each with the one that now stands for it. */
  merged: { contact: KnownContact; into: string }[]
  /** Identifiers that had no owner before. */
  claimed: (Identifier & { contactId: string })[]
}

const FACT_OF = {
  profile: 'profileId',
  user: 'userId',
  phone: 'phone',
  email: 'email',
} as const satisfies Record<IdentifierKind, keyof PersonFacts>

const FACTS = ['profileId', 'userId', 'name', 'phone', 'email', 'locale'] as const satisfies (keyof PersonFacts)[]

/** Longer ones are ignored: an index could not hold them, and nobody is called that. */
const MAX_IDENTIFIER_LENGTH = 512

/** What identifies somebody, the strongest first. An email is one person's in any case, though sent to as written. */
export function identifiersOf(facts: Partial<PersonFacts>): Identifier[] {
  return IDENTIFIER_KINDS.flatMap((kind) => {
    const fact = facts[FACT_OF[kind]] ?? ''
    const value = kind === 'email' ? fact.toLowerCase() : fact
    return value !== '' && value.length <= MAX_IDENTIFIER_LENGTH ? [{ kind, value }] : []
  })
}

/** Of a request, what can be worked with. */
function usableOf(request: Partial<PersonFacts>, identifiers: readonly Identifier[]): Partial<PersonFacts> {
  const usable: Partial<PersonFacts> = { name: request.name ?? null, locale: request.locale ?? null }
  for (const { kind } of identifiers) usable[FACT_OF[kind]] = request[FACT_OF[kind]] ?? null
  return usable
}

/**
 * Recognises people one after the other, each request with what those before it changed: many at once come to the same
 * as one by one.
 */
export function recognise(
  requests: readonly Partial<PersonFacts>[],
  known: KnownPeople,
  newId: () => string,
): Recognition {
  const book = openBook(known, newId)
  const contactIds = requests.map((request) => {
    const identifiers = identifiersOf(request)
    if (identifiers.length === 0) return null
    const person = usableOf(request, identifiers)
    let contact: Entry | null = null
    for (const { found, kind } of owners(book, person, identifiers))
      if (contact === null) contact = found
      else if (areOne(contact, found, kind)) contact = book.merge(contact, found)
    contact ??= book.create()
    book.learn(contact, person)
    for (const identifier of identifiers) book.claim(contact, identifier)
    return contact.facts.id
  })
  return book.close(contactIds)
}

/** Those the request may be, the one it is most likely first; each with the strongest identifier that led there. */
function owners(
  book: Book,
  request: Partial<PersonFacts>,
  identifiers: readonly Identifier[],
): { found: Entry; kind: IdentifierKind }[] {
  const all = new Map<Entry, IdentifierKind>()
  for (const identifier of identifiers) {
    const found = book.owner(identifier)
    if (found && !all.has(found) && !isSomebodyElse(book, request, found, identifier.kind))
      all.set(found, identifier.kind)
  }
  return [...all].map(([found, kind]) => ({ found, kind }))
}

function isSomebodyElse(book: Book, request: Partial<PersonFacts>, { facts }: Entry, kind: IdentifierKind): boolean {
  if (request.profileId && facts.profileId) return request.profileId !== facts.profileId
  if (kind === 'profile' || kind === 'user' || !request.userId || !facts.userId) return false
  // A contact may have several user ids under one profile: asked is whether this is one of them.
  return book.owner({ kind: 'user', value: request.userId })?.facts.id !== facts.id
}

function areOne({ facts: a }: Entry, { facts: b }: Entry, kind: IdentifierKind): boolean {
  if (a.profileId !== null && b.profileId !== null) return false
  return kind === 'user' || a.userId === null || b.userId === null
}

/** A contact while people are being recognised. */
interface Entry {
  facts: PersonFacts & { id: string }
  /** As it was; null for one that is new. */
  before: KnownContact | null
  /** Its place by age: the smaller, the older. */
  age: number
  isChanged: boolean
  mergedInto: Entry | null
}

interface Book {
  owner(identifier: Identifier): Entry | undefined
  create(): Entry
  /** Answers the older, which now stands for both. */
  merge(a: Entry, b: Entry): Entry
  learn(contact: Entry, facts: Partial<PersonFacts>): void
  /** Where the identifier has no owner yet. */
  claim(contact: Entry, identifier: Identifier): void
  close(contactIds: (string | null)[]): Recognition
}

function openBook({ contacts, owners: ownership }: KnownPeople, newId: () => string): Book {
  const entries = new Map<string, Entry>()
  const byIdentifier = new Map<string, Entry>()
  const claimed: (Identifier & { entry: Entry })[] = []

  const byAge = contacts.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  for (const [age, before] of byAge.entries()) {
    const { id, profileId, userId, name, phone, email, locale } = before
    const facts = { id, profileId, userId, name, phone, email, locale }
    entries.set(id, { facts, before, age, isChanged: false, mergedInto: null })
  }
  for (const { contactId, ...identifier } of ownership) {
    const entry = entries.get(contactId)
    if (entry) byIdentifier.set(keyOf(identifier), entry)
  }

  const learn: Book['learn'] = (contact, facts) => {
    for (const fact of FACTS) {
      const value = facts[fact] || null
      if (contact.facts[fact] !== null || value === null) continue
      contact.facts[fact] = value
      contact.isChanged = true
    }
  }

  return {
    owner(identifier) {
      const entry = byIdentifier.get(keyOf(identifier))
      return entry && standingFor(entry)
    },
    create() {
      const id = newId()
      const facts = { id, profileId: null, userId: null, name: null, phone: null, email: null, locale: null }
      const entry: Entry = { facts, before: null, age: entries.size, isChanged: true, mergedInto: null }
      entries.set(id, entry)
      return entry
    },
    merge(a, b) {
      const [older, younger] = a.age < b.age ? [a, b] : [b, a]
      younger.mergedInto = older
      older.isChanged = true
      learn(older, younger.facts)
      return older
    },
    learn,
    claim(contact, identifier) {
      const key = keyOf(identifier)
      if (byIdentifier.has(key)) return
      byIdentifier.set(key, contact)
      claimed.push({ ...identifier, entry: contact })
      contact.isChanged = true
    },
    close(contactIds) {
      const all = [...entries.values()]
      const idOf = (entry: Entry): string => standingFor(entry).facts.id
      return {
        contactIds: contactIds.map((id) => {
          const entry = id === null ? undefined : entries.get(id)
          return entry ? idOf(entry) : null
        }),
        created: all.flatMap(({ before, mergedInto, facts }) => (before || mergedInto ? [] : [facts])),
        changed: all.flatMap(({ before, mergedInto, isChanged, facts }) =>
          before && !mergedInto && isChanged ? [{ before, after: facts }] : [],
        ),
        merged: all.flatMap(({ before, mergedInto }) =>
          before && mergedInto ? [{ contact: before, into: idOf(mergedInto) }] : [],
        ),
        claimed: claimed.map(({ entry, ...identifier }) => ({ ...identifier, contactId: idOf(entry) })),
      }
    },
  }
}

function standingFor(entry: Entry): Entry {
  let standing = entry
  while (standing.mergedInto) standing = standing.mergedInto
  return standing
}

/** A kind has no space, so no two identifiers give one key. */
function keyOf({ kind, value }: Identifier): string {
  return `${kind} ${value}`
}

export interface Contact {
  id: string
  tenantId: string
  profileId: string | null
  userId: string | null
  name: string | null
  phone: string | null
  email: string | null
  locale: string | null
  /** One more with every change, also of what planning learns. */
  version: number
  createdAt: number
  updatedAt: number
}

export type NewContact = Omit<Contact, 'version' | 'createdAt' | 'updatedAt'>
