import type { Contact, NewContact } from '../../model/contact.ts'
import { identifiersOf } from '../../model/contact.ts'
import type { Conversation, ConversationStatus } from '../../model/conversation.ts'
import { PillarboxError } from '../../model/errors.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type { ContactFilter, PeopleStore } from '../../plan/people-store.ts'
import { writeAudit, writeChange } from './audit.ts'
import { pictureOfContact } from './audit-pictures.ts'
import { CONTACTS } from './contacts.ts'
import { isUniqueViolation, storableText, uuidOrNull } from './fields.ts'
import { conditionsOf, findBy, newestFirst, nounOf } from './noun.ts'
import { resolvePeople } from './resolve-people.ts'
import { type Dialect, givenRows, row, rows, type Script, type ScriptRunner } from './script.ts'

const CONVERSATIONS = nounOf<Conversation>('conversations', {
  id: 'uuid',
  tenantId: 'text',
  contactId: 'uuid',
  context: 'entity',
  status: 'text',
  createdAt: 'instant',
  updatedAt: 'instant',
})

/** `planning` runs what planning waits for, so that nothing people do by hand gets in its way. */
export function sharedPeople(
  { dialect, read, report, write }: ScriptRunner,
  { planning }: { planning: ScriptRunner },
): PeopleStore {
  const orTaken = async <T>(change: Promise<T>): Promise<T | 'taken'> => {
    try {
      return await change
    } catch (error) {
      if (error === IDENTIFIER_TAKEN) return 'taken'
      throw error
    }
  }
  return {
    resolve: (requests, newId) => resolvePeople(planning, requests, newId),
    findContact: (tenantId, id) => read(() => findContact(tenantId, id)),
    listContacts: (tenantId, filter, page) => report(() => listContacts(dialect, tenantId, filter, page)),
    insertContact: (contact, actor) => orTaken(write(() => insertContact(dialect, contact, actor))),
    updateContact: (tenantId, id, changes, actor, version) =>
      orTaken(write(() => updateContact(dialect, { tenantId, id, changes, actor, version }))),
    removeContact: (tenantId, id, actor) => write(() => removeContact(dialect, tenantId, id, actor)),
    findConversation: (tenantId, id) => read(() => findBy(CONVERSATIONS, { tenantId, id })),
    listConversations: (tenantId, filter, page) => report(() => listConversations(tenantId, filter, page)),
    setConversationStatus: (tenantId, id, status, actor) =>
      write(() => setStatus(dialect, { tenantId, id, status, actor })).catch((error: unknown) => {
        if (!isUniqueViolation(error)) throw error
        throw new PillarboxError('already_exists', 'Another conversation with this contact about the same is open', {
          cause: error,
        })
      }),
  }
}

/** Thrown, so that all that was written before is undone. */
const IDENTIFIER_TAKEN = new Error('Another contact has this identifier')

/** The contact itself, or the one it was merged into, however often that happened. */
function* findContact(tenantId: string, contactId: string): Script<Contact | null> {
  const id = uuidOrNull(contactId)
  if (id === null) return null
  const found = yield* row(
    `with recursive line as (
        select id, merged_into from pillarbox.contacts where tenant_id = :tenantId and id = :id
        union all
        select n.id, n.merged_into from line join pillarbox.contacts n on n.id = line.merged_into
      )
      select ${CONTACTS.columnsOf('c')} from line join pillarbox.contacts c on c.id = line.id
      where line.merged_into is null`,
    { tenantId, id },
  )
  return found && CONTACTS.of(found)
}

/**
 * One look-up for each thing the text may be. Two may have the same phone, and only one of them is found by it: hence the
 * columns beside the identifiers. Names are compared byte by byte, as their index is.
 */
function hasText(dialect: Dialect, text: ':q' | ':exactly'): string {
  const name = dialect.bytewise('lower(c.name)')
  const sought = dialect.bytewise(`lower(cast(${text} as text))`)
  const isName = text === ':q' ? `${name} >= ${sought} and ${name} < ${sought} || :last` : `${name} = ${sought}`
  const own = (condition: string): string =>
    `select c.id from pillarbox.contacts c where c.tenant_id = :tenantId and ${condition}`
  return `(id in (select i.contact_id from pillarbox.contact_identifiers i
      where i.tenant_id = :tenantId and i.kind in ('profile', 'user', 'phone', 'email') and i.value = ${text}
    union all ${own(`c.phone = cast(${text} as text)`)} union all ${own(`c.email = cast(${text} as text)`)}
    union all ${own(`c.name is not null and ${isName}`)}))`
}

/** Behind every text that begins with what stands before it. */
const LAST = '\u{10ffff}'

export function listContacts(
  dialect: Dialect,
  tenantId: string,
  filter: ContactFilter,
  page: Page,
): Script<PageOf<Contact>> {
  const texts = { q: hasText(dialect, ':q'), exactly: hasText(dialect, ':exactly') }
  const where = ['tenant_id = :tenantId', 'merged_into is null', ...conditionsOf(filter, texts)]
  return newestFirst(CONTACTS, where, { ...filter, tenantId, last: LAST }, page)
}

function* insertContact(dialect: Dialect, contact: NewContact, actor: string): Script<Contact> {
  const unknown = { profileId: null, userId: null, name: null, phone: null, email: null, locale: null }
  const { id, tenantId } = contact
  const given = cleaned(contact)
  const written = yield* row(
    `insert into pillarbox.contacts (id, tenant_id, profile_id, user_id, name, phone, email, locale, created_at,
        updated_at)
      values (:id, :tenantId, :profileId, :userId, :name, :phone, :email, :locale, ${dialect.now}, ${dialect.now})
      returning ${CONTACTS.columns}`,
    { ...unknown, ...given, id, tenantId },
  )
  yield* claimIdentifiers(tenantId, id, given)
  const inserted = written ? CONTACTS.of(written) : { ...contact, version: 1, createdAt: 0, updatedAt: 0 }
  yield* auditContact(dialect, { before: null, after: inserted }, 'create', actor)
  return inserted
}

interface ContactUpdate {
  tenantId: string
  id: string
  changes: Parameters<PeopleStore['updateContact']>[2]
  actor: string
  version: number | undefined
}

const IDENTIFYING = { profileId: 'profile', userId: 'user', phone: 'phone', email: 'email' } as const
const FACTS = ['profileId', 'userId', 'name', 'phone', 'email', 'locale'] as const

/** An identifier that is replaced no longer leads to the contact. One that stays is not asked about: it may be shared. */
function* updateContact(
  dialect: Dialect,
  { tenantId, id, changes, actor, version }: ContactUpdate,
): Script<Contact | 'stale' | null> {
  const current = yield* lockContact(dialect, tenantId, id)
  if (!current) return null
  if (version !== undefined && version !== current.version) return 'stale'
  const given = cleaned(changes)
  const fields = FACTS.filter((field) => given[field] !== undefined && given[field] !== current[field])
  if (fields.length === 0) return current
  const facts = Object.fromEntries(fields.map((field) => [field, given[field] ?? null])) as Partial<Contact>
  const changed = yield* row(
    `update pillarbox.contacts set ${CONTACTS.assignments(facts).join(', ')}, version = version + 1,
        updated_at = ${dialect.now} where id = :id returning ${CONTACTS.columns}`,
    { ...facts, id: current.id },
  )
  for (const field of fields) {
    if (field === 'name' || field === 'locale') continue
    yield* rows(
      `delete from pillarbox.contact_identifiers
        where tenant_id = :tenantId and kind = :kind and value = :value and contact_id = :contactId`,
      { tenantId, kind: IDENTIFYING[field], value: current[field], contactId: current.id },
    )
  }
  yield* claimIdentifiers(tenantId, current.id, facts)
  const after = changed && CONTACTS.of(changed)
  if (after) yield* auditContact(dialect, { before: current, after }, 'update', actor)
  return after
}

/** The contact that stands for this id, as it now is and stays until the transaction ends. */
function* lockContact(dialect: Dialect, tenantId: string, id: string): Script<Contact | null> {
  for (;;) {
    const found = yield* findContact(tenantId, id)
    if (!found) return null
    // It may have been merged or removed meanwhile: then it is looked for again.
    const locked = yield* findBy(CONTACTS, { id: found.id }, { and: 'merged_into is null', lockedBy: dialect })
    if (locked) return locked
  }
}

function* claimIdentifiers(
  tenantId: string,
  contactId: string,
  facts: Parameters<typeof identifiersOf>[0],
): Script<void> {
  const identifiers = identifiersOf(facts)
  if (identifiers.length === 0) return
  // A contact that has the identifier already keeps it; the update that changes nothing makes the row answer its owner.
  const owners = yield* rows(
    `insert into pillarbox.contact_identifiers as i (tenant_id, kind, value, contact_id)
      select :tenantId, g.kind, g.value, :contactId from :g where true
      on conflict (tenant_id, kind, value) do update set contact_id = i.contact_id returning contact_id`,
    { tenantId, contactId, g: givenRows({ kind: 'text', value: 'text' }, identifiers) },
  )
  if (owners.some((owner) => owner['contact_id'] !== contactId)) throw IDENTIFIER_TAKEN
}

/** Contact, merged ones and identifiers; its conversations go with them. */
function* removeContact(dialect: Dialect, tenantId: string, id: string, actor: string): Script<boolean> {
  const contact = yield* lockContact(dialect, tenantId, id)
  if (!contact) return false
  yield* rows(
    `with recursive line as (
        select id from pillarbox.contacts where id = :id
        union all
        select c.id from line join pillarbox.contacts c on c.merged_into = line.id
      )
      delete from pillarbox.contacts where id in (select id from line)`,
    contact,
  )
  yield* auditContact(dialect, { before: contact, after: null }, 'remove', actor)
  return true
}

function auditContact(
  dialect: Dialect,
  change: { before: Contact | null; after: Contact | null },
  action: string,
  actor: string,
): Script<void> {
  return writeChange(dialect, 'contact', { ...change, pictureOf: pictureOfContact }, { action, actor })
}

type Facts = Partial<Omit<NewContact, 'id' | 'tenantId'>>

/** As the engines give it back; what is empty is not known. */
function cleaned(facts: Facts): Facts {
  const clean: Facts = {}
  for (const field of FACTS) {
    const value = facts[field]
    if (value !== undefined) clean[field] = value === null || value === '' ? null : storableText(value)
  }
  return clean
}

function* listConversations(
  tenantId: string,
  filter: Parameters<PeopleStore['listConversations']>[1],
  page: Page,
): Script<PageOf<Conversation>> {
  const contact = filter.contactId === undefined ? null : yield* findContact(tenantId, filter.contactId)
  if (filter.contactId !== undefined && !contact) return { items: [], nextCursor: null }
  const where = conditionsOf(filter, {
    contactId: 'contact_id = :contactId',
    status: 'status = :status',
    context: 'context_type = :contextType and context_id = :contextId',
  })
  const { type: contextType, id: contextId } = filter.context ?? {}
  const values = { ...filter, tenantId, contactId: contact?.id, contextType, contextId }
  return yield* newestFirst(CONVERSATIONS, ['tenant_id = :tenantId', ...where], values, page)
}

const STATUS_VERBS = { open: 'open', snoozed: 'snooze', closed: 'close' } as const satisfies Record<
  ConversationStatus,
  string
>

function* setStatus(
  dialect: Dialect,
  { tenantId, id, status, actor }: { tenantId: string; id: string; status: ConversationStatus; actor: string },
): Script<Conversation | null> {
  const current = yield* findBy(CONVERSATIONS, { tenantId, id }, { lockedBy: dialect })
  if (!current || current.status === status) return current
  const changed = yield* row(
    `update pillarbox.conversations set status = :status, updated_at = ${dialect.now} where id = :id
      returning ${CONVERSATIONS.columns}`,
    { id: current.id, status },
  )
  yield* writeAudit(dialect, {
    tenantId,
    actor,
    action: STATUS_VERBS[status],
    subject: `conversation:${current.id}`,
    from: current.status,
    to: status,
  })
  return changed && CONVERSATIONS.of(changed)
}
