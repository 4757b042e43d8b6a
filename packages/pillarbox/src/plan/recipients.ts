import type { RecipientPaths } from '../model/catalogue.ts'
import type { EventRecipient } from '../model/event.ts'
import type { Address } from '../model/recipient.ts'

/** One person an event is for, with every address known: a fallback may need another one. */
export interface Recipient {
  address: Address
  locale: string | null
  /** Tells recipients of one event apart in idempotency keys. */
  key: string
}

/** The event's own recipients where it names some, else those the catalogue's paths find in the payload. */
export function recipientsOf(
  payload: Record<string, unknown>,
  paths: readonly RecipientPaths[],
  named: readonly EventRecipient[] | null,
): Recipient[] {
  const found = named?.length ? named.map(fromEvent) : paths.map((path) => fromPayload(payload, path))
  return found.filter((recipient) => recipient.key !== '')
}

function fromEvent(recipient: EventRecipient): Recipient {
  return recipientFrom((field) => (recipient as Record<string, unknown>)[field])
}

function fromPayload(payload: Record<string, unknown>, paths: RecipientPaths): Recipient {
  return recipientFrom((field) => {
    const path = (paths as Record<string, string | undefined>)[field]
    return path === undefined ? undefined : at(payload, path)
  })
}

const ADDRESS_FIELDS = ['name', 'email', 'phone', 'deviceToken', 'userId', 'url'] as const

function recipientFrom(read: (field: string) => unknown): Recipient {
  const text = (field: string): string | null => {
    const value = read(field)
    return typeof value === 'string' && value.trim() !== ''
      ? value.trim()
      : typeof value === 'number'
        ? String(value)
        : null
  }
  const address: Address = {}
  for (const field of ADDRESS_FIELDS) {
    const value = text(field)
    if (value !== null) address[field] = value
  }
  const { email, phone, deviceToken, userId, url } = address
  return {
    address,
    locale: text('locale'),
    key: text('profileId') ?? userId ?? email ?? phone ?? deviceToken ?? url ?? '',
  }
}

/** A dot path's value; own properties only. */
function at(payload: Record<string, unknown>, path: string): unknown {
  let value: unknown = payload
  for (const step of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}
