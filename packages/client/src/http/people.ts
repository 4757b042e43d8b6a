import { type Calls, type PageOptions, path } from './calls.ts'
import type { CallOptions } from './transport.ts'
import type { Contact, ListMember, NewContact, RecipientList } from './wire.ts'

/**
 * `/api/contacts`. An identifier that another contact has is refused with 409 `already_exists`. With the `version` that was
 * read, a change is refused with 409 `changed_meanwhile` where the contact has another by now; without, the last one wins.
 */
export interface Contacts {
  /** `q`: exactly a profile id, user id, phone or email, or the beginning of a name. */
  list(filter?: { q?: string }, options?: PageOptions & CallOptions): AsyncGenerator<Contact, void, undefined>
  get(id: string, options?: CallOptions): Promise<Contact>
  create(contact: NewContact, options?: CallOptions): Promise<Contact>
  /** What is not given is no longer known. */
  replace(id: string, contact: NewContact & { version?: number }, options?: CallOptions): Promise<Contact>
  /** Null removes a field. */
  update(id: string, changes: NewContact & { version?: number }, options?: CallOptions): Promise<Contact>
  remove(id: string, options?: CallOptions): Promise<void>
}

export function contactsOf(calls: Calls): Contacts {
  return {
    list: (filter = {}, options = {}) => calls.all('/api/contacts', { ...filter }, options),
    get: (id, options = {}) => calls.get(path`/api/contacts/${id}`, {}, options),
    create: (contact, options = {}) => calls.send('POST', '/api/contacts', contact, options),
    replace: (id, contact, options = {}) => calls.send('PUT', path`/api/contacts/${id}`, contact, options),
    update: (id, changes, options = {}) => calls.send('PATCH', path`/api/contacts/${id}`, changes, options),
    remove: async (id, options = {}) => {
      await calls.send('DELETE', path`/api/contacts/${id}`, undefined, options)
    },
  }
}

/** `/api/recipient-lists`. A list is named by its id or by its name. */
export interface RecipientLists {
  list(options?: PageOptions & CallOptions): AsyncGenerator<RecipientList, void, undefined>
  /** With all its members where they are 200 at most, else null: then go through `members`. */
  get(list: string, options?: CallOptions): Promise<RecipientList & { members: Required<ListMember>[] | null }>
  /** With up to 10,000 members; `duplicates` says how many were given twice. */
  create(
    list: { name: string; members: readonly ListMember[] },
    options?: CallOptions,
  ): Promise<RecipientList & { duplicates: number }>
  replace(
    list: string,
    content: { name: string; members: readonly ListMember[] },
    options?: CallOptions,
  ): Promise<RecipientList & { duplicates: number }>
  rename(list: string, name: string, options?: CallOptions): Promise<RecipientList>
  remove(list: string, options?: CallOptions): Promise<void>
  members(list: string, options?: PageOptions & CallOptions): AsyncGenerator<Required<ListMember>, void, undefined>
  /** Adds up to 10,000 that are not on it yet; safe to repeat. */
  add(
    list: string,
    members: readonly ListMember[],
    options?: CallOptions,
  ): Promise<{ added: number; duplicates: number; memberCount: number }>
}

export function listsOf(calls: Calls): RecipientLists {
  return {
    list: (options = {}) => calls.all('/api/recipient-lists', {}, options),
    get: (list, options = {}) => calls.get(path`/api/recipient-lists/${list}`, {}, options),
    create: (list, options = {}) => calls.send('POST', '/api/recipient-lists', list, options),
    replace: (list, content, options = {}) => calls.send('PUT', path`/api/recipient-lists/${list}`, content, options),
    rename: (list, name, options = {}) => calls.send('PATCH', path`/api/recipient-lists/${list}`, { name }, options),
    remove: async (list, options = {}) => {
      await calls.send('DELETE', path`/api/recipient-lists/${list}`, undefined, options)
    },
    members: (list, options = {}) => calls.all(path`/api/recipient-lists/${list}/members`, {}, options),
    add: (list, members, options = {}) =>
      calls.send('POST', path`/api/recipient-lists/${list}/members`, { members }, { ...options, isRepeatable: true }),
  }
}
