import type { Contact, NewContact } from '../model/contact.ts'
import type { Conversation, ConversationStatus } from '../model/conversation.ts'
import type { Entity } from '../model/event.ts'
import type { Page, PageOf } from '../model/page.ts'

export interface ContactFilter {
  /** Exactly a profile id, user id, phone or email, or the beginning of a name. */
  q?: string
  /** Exactly one of those, or a whole name. */
  exactly?: string
}

export interface PeopleStore {
  /**
   * Finds or creates the contact of each request, and its conversation where one is asked for. Profile id first, then
   * user id, phone, email; what the request knows and the contact does not is added. When identifiers of one request
   * meet two contacts, the younger is merged into the older, unless both have a profile id of their own, or a user id and
   * only a phone or an email in common (`model/contact.ts`). A request without any identifier has no contact. Answers in
   * the given order; requests that name the same person get the same contact, also from two processes at once.
   */
  resolve(requests: readonly ContactRequest[], newId: () => string): Promise<RecognisedContact[]>
  findContact(tenantId: string, id: string): Promise<Contact | null>
  /** Newest first. */
  listContacts(tenantId: string, filter: ContactFilter, page: Page): Promise<PageOf<Contact>>
  /** `taken` when another contact has one of the identifiers. */
  insertContact(contact: NewContact, actor: string): Promise<Contact | 'taken'>
  /** `stale`, and nothing changed, when `version` is given and is not the one it has. */
  updateContact(
    tenantId: string,
    id: string,
    changes: Partial<Omit<NewContact, 'id' | 'tenantId'>>,
    actor: string,
    version?: number,
  ): Promise<Contact | 'taken' | 'stale' | null>
  /** The ledger keeps its addresses; the contact and its identifiers go. */
  removeContact(tenantId: string, id: string, actor: string): Promise<boolean>
  findConversation(tenantId: string, id: string): Promise<Conversation | null>
  /** Newest first. */
  listConversations(
    tenantId: string,
    filter: { contactId?: string; status?: ConversationStatus; context?: Entity },
    page: Page,
  ): Promise<PageOf<Conversation>>
  /** Rejects with `already_exists` when it is to be opened again and another one has taken its place. */
  setConversationStatus(
    tenantId: string,
    id: string,
    status: ConversationStatus,
    actor: string,
  ): Promise<Conversation | null>
}

/** Identifiers are normalised already: E.164, folded email. */
export interface ContactRequest {
  tenantId: string
  /** A contact that is known: nothing is looked for or created; a contact that is gone answers null. */
  contactId?: string
  profileId?: string
  userId?: string
  phone?: string
  email?: string
  name?: string
  locale?: string
  /** What the exchange is about; null: no conversation. */
  conversation: Entity | null
}

export interface RecognisedContact {
  contact: Contact | null
  conversationId: string | null
}
