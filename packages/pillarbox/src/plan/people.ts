import type { Contact } from '../model/contact.ts'
import type { Entity } from '../model/event.ts'
import type { Clock, IdSource } from '../model/ports.ts'
import type { Address } from '../model/recipient.ts'
import { createTimedMap } from '../runtime/timed-cache.ts'
import type { ContactRequest, PeopleStore, RecognisedContact } from './people-store.ts'
import type { Recipient } from './recipients.ts'

/** Recipients of one event, and what the exchange with them is about. */
export interface RecipientGroup {
  tenantId: string
  conversation: Entity | null
  recipients: readonly Recipient[]
}

/**
 * Which contacts recipients are. All of a batch are asked about at once, in chunks; whoever was asked about in the last
 * second is not asked about again.
 */
export interface PeopleBook {
  /** The recipients of each group, in the given order, with their contacts and what those know. */
  recognise(groups: readonly RecipientGroup[]): Promise<Recipient[][]>
}

const CHUNK = 1_000
const MAX_AGE_MS = 1_000

export function createPeopleBook(deps: {
  people: Pick<PeopleStore, 'resolve'>
  clock: Clock
  ids: IdSource
}): PeopleBook {
  const { people, clock, ids } = deps
  const known = createTimedMap<RecognisedContact>({ clock, maxAgeMs: MAX_AGE_MS })

  async function ask(missing: ReadonlyMap<string, ContactRequest>): Promise<Map<string, RecognisedContact>> {
    const found = new Map<string, RecognisedContact>()
    const wanted = [...missing]
    for (let from = 0; from < wanted.length; from += CHUNK) {
      const chunk = wanted.slice(from, from + CHUNK)
      const persons = await people.resolve(
        chunk.map(([, request]) => request),
        ids,
      )
      for (const [i, [key]] of chunk.entries()) {
        const person = persons[i]
        if (!person) continue
        found.set(key, person)
        known.set(key, person)
      }
    }
    return found
  }

  return {
    async recognise(groups) {
      const missing = new Map<string, ContactRequest>()
      // Kept for this batch: what is found now may be too old by the time the last one is answered.
      const found = new Map<string, RecognisedContact>()
      const keys = groups.map(({ tenantId, conversation, recipients }) =>
        recipients.map(({ identity }) => {
          if (!identity) return ''
          const request = { tenantId, ...identity, conversation }
          const key = JSON.stringify(request)
          const person = found.get(key) ?? known.peek(key)
          if (person) found.set(key, person)
          else missing.set(key, request)
          return key
        }),
      )
      for (const [key, person] of await ask(missing)) found.set(key, person)
      return groups.map(({ recipients }, g) =>
        recipients.map((recipient, i) => recognisedAs(recipient, found.get(keys[g]?.[i] ?? '') ?? null)),
      )
    },
  }
}

/** A recipient with what their contact knows and they did not say. */
export function recognisedAs(recipient: Recipient, person: RecognisedContact | null): Recipient {
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
