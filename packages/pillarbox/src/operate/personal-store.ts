import type { Channel } from '../model/channel.ts'
import type { Contact, Identifier } from '../model/contact.ts'
import type { Traces } from '../model/personal-data.ts'
import type { Address } from '../model/recipient.ts'

/** A person, as far as rows can be told to be theirs. */
export interface Person extends Traces {
  tenantId: string
  contactIds: readonly string[]
  /** What notifications have as `to`: emails in lower case, device tokens sealed. */
  phones: readonly string[]
  emails: readonly string[]
  tokens: readonly string[]
  userIds: readonly string[]
  names: readonly string[]
  /** What may be suppressed, as suppressions have it, and the keyed hash that takes the address's place. */
  suppressible: readonly { channel: Channel; address: string; hashed: string }[]
}

/**
 * The steps of a search for one person, each through one part of the store, in this order: notifications lead to addresses
 * that the person had before, and contacts to the notifications, so these go last.
 */
export const PERSONAL_STEPS = [
  'events',
  'schedules',
  'audit',
  'callbacks',
  'conversations',
  'cancellations',
  'operations',
  'alerts',
  'members',
  'inbox',
  'suppressions',
  'notifications',
  'contacts',
] as const

export type PersonalStep = (typeof PERSONAL_STEPS)[number]

export interface PersonalStretch {
  person: Person
  after: string | null
  limit: number
}

/** A row that is the person's, or what of a row of somebody else's names them. */
export interface PersonalItem {
  table: string
  row: Record<string, unknown>
}

export interface ErasedStretch {
  /** By table: how many rows were changed or removed. */
  erased: Record<string, number>
  /** What could not be erased now, by the reason. */
  remains: Record<string, number>
  next: string | null
}

/** Everything that is kept about one person, to be shown to them or taken away. */
export interface PersonalStore {
  /**
   * Who a contact is, or who is recognised by identifiers: the contacts, those that were merged into them included, what
   * they are recognised by, and where their notifications went.
   */
  known(
    tenantId: string,
    given: { contactId: string } | { identifiers: readonly Identifier[] },
  ): Promise<{ contacts: Contact[]; identifiers: Identifier[]; addresses: Address[] }>
  find(step: PersonalStep, stretch: PersonalStretch): Promise<{ items: PersonalItem[]; next: string | null }>
  /** Ledger rows stay as rows. Putting the erasure itself on record is the caller's. */
  erase(step: PersonalStep, stretch: PersonalStretch & { actor: string }): Promise<ErasedStretch>
  /**
   * Leaves nothing of what was erased in the store's own free space: SQLite's file is written anew, and everybody waits
   * meanwhile, so not where it is larger than `mostBytes`. PostgreSQL does so by itself, as it vacuums.
   */
  compact(mostBytes: number): Promise<'done' | 'too_large' | 'by_itself'>
}
