import type { Contact } from '../model/contact.ts'
import type { Entity } from '../model/event.ts'
import type { Clock, IdSource } from '../model/ports.ts'
import type { Address } from '../model/recipient.ts'
import type { PeopleStore, Person, PersonRequest } from './people-store.ts'
import type { Recipient } from './recipients.ts'

/** A recipient whose contact is known, as far as there is one. */
export interface Addressee extends Recipient {
  contactId: string | null
  conversationId: string | null
}

/** Somebody to be recognised: a recipient of a tenant, and what the exchange with them is about. */
export interface Stranger {
  tenantId: string
  recipient: Recipient
  conversation: Entity | null
}

/**
 * Who recipients are. All of a batch are asked about at once, in chunks; whoever was asked about in the last second is
 * not asked about again.
 */
export interface PeopleBook {
  /** Answers in the given order; at once where nobody has to be asked about. */
  recognise(strangers: readonly Stranger[]): Addressee[] | Promise<Addressee[]>
}

const CHUNK = 1_000
const MAX_AGE_MS = 1_000
const MAX_KEPT = 10_000

export function createPeopleBook(deps: {
  people: Pick<PeopleStore, 'resolve'>
  clock: Clock
  ids: IdSource
}): PeopleBook {
  const { people, clock, ids } = deps
  const known = new Map<string, { person: Person; readAt: number }>()

  function peek(key: string): Person | null {
    const entry = known.get(key)
    return entry && clock.monotonic() - entry.readAt < MAX_AGE_MS ? entry.person : null
  }

  async function ask(missing: ReadonlyMap<string, PersonRequest>): Promise<Map<string, Person>> {
    const found = new Map<string, Person>()
    const wanted = [...missing]
    for (let from = 0; from < wanted.length; from += CHUNK) {
      const chunk = wanted.slice(from, from + CHUNK)
      const persons = await people.resolve(
        chunk.map(([, request]) => request),
        ids,
      )
      const readAt = clock.monotonic()
      for (const [i, [key]] of chunk.entries()) {
        const person = persons[i]
        if (!person) continue
        found.set(key, person)
        known.delete(key)
        known.set(key, { person, readAt })
      }
    }
    for (const oldest of known.keys()) {
      if (known.size <= MAX_KEPT) break
      known.delete(oldest)
    }
    return found
  }

  return {
    recognise(strangers) {
      const missing = new Map<string, PersonRequest>()
      // Kept for this batch: what is found now may be too old by the time the last one is answered.
      const persons = new Map<string, Person>()
      const keys = strangers.map((stranger) => {
        const request = requestFor(stranger)
        if (!request) return null
        const key = JSON.stringify(request)
        const person = persons.get(key) ?? peek(key)
        if (person) persons.set(key, person)
        else missing.set(key, request)
        return key
      })
      const answer = (found: ReadonlyMap<string, Person>): Addressee[] =>
        strangers.map(({ recipient }, i) => {
          const key = keys[i] ?? ''
          return introduced(recipient, found.get(key) ?? persons.get(key) ?? null)
        })
      return missing.size === 0 ? answer(persons) : ask(missing).then(answer)
    },
  }
}

/** Null where there is nothing they could be recognised by. */
function requestFor({ tenantId, recipient, conversation }: Stranger): PersonRequest | null {
  return recipient.identity && { tenantId, ...recipient.identity, conversation }
}

/** A recipient with what their contact knows and they did not say. */
export function introduced(recipient: Recipient, person: Person | null): Addressee {
  const contact = person?.contact ?? null
  return {
    ...recipient,
    address: isCertain(recipient) ? filledIn(recipient.address, contact) : recipient.address,
    locale: recipient.locale ?? contact?.locale ?? null,
    contactId: contact?.id ?? null,
    conversationId: person?.conversationId ?? null,
  }
}

/**
 * Only one who is named for certain is reached at addresses that the event does not name: families share a telephone, and
 * what is for one of them is not for the other's mailbox.
 */
function isCertain({ identity }: Recipient): boolean {
  return identity?.profileId !== undefined || identity?.userId !== undefined || identity?.contactId !== undefined
}

const CONTACT_FIELDS = ['name', 'email', 'phone', 'userId'] as const

function filledIn(address: Address, contact: Contact | null): Address {
  if (!contact) return address
  const filled: Address = { ...address }
  for (const field of CONTACT_FIELDS) {
    const value = contact[field]
    if (filled[field] === undefined && value !== null) filled[field] = value
  }
  return filled
}
