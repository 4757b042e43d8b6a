import type { Contact, NewContact } from '../../model/contact.ts'
import { identifiersOf } from '../../model/contact.ts'
import type { Conversation, ConversationStatus } from '../../model/conversation.ts'
import { PillarboxError } from '../../model/errors.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type { PeopleStore } from '../../plan/people-store.ts'
import { writeAudit } from './audit.ts'
import { CONTACT_COLUMNS, CONTACT_RETURNING, contactOf } from './contact-row.ts'
import { decodeCursor, invalidCursor, pageOf } from './cursor.ts'
import { isUniqueViolation, storableText, uuidOrNull } from './fields.ts'
import { parameters } from './parameters.ts'
import { resolvePeople } from './resolve-people.ts'
import { type Dialect, instantOf, type Row, row, rows, type Script, type ScriptRunner } from './script.ts'

/** `planning` runs what planning waits for, so that nothing people do by hand gets in its way. */
export function sharedPeople(
  { dialect, read, write }: ScriptRunner,
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
    listContacts: (tenantId, filter, page) => read(() => listContacts(tenantId, filter, page)),
    insertContact: (contact, actor) => orTaken(write(() => insertContact(dialect, contact, actor))),
    updateContact: (tenantId, id, changes, actor, version) =>
      orTaken(write(() => updateContact(dialect, { tenantId, id, changes, actor, version }))),
    removeContact: (tenantId, id, actor) => write(() => removeContact(dialect, tenantId, id, actor)),
    findConversation: (tenantId, id) => read(() => findConversation(tenantId, id)),
    listConversations: (tenantId, filter, page) => read(() => listConversations(tenantId, filter, page)),
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
function* findContact(tenantId: string, id: string): Script<Contact | null> {
  const contactId = uuidOrNull(id)
  if (contactId === null) return null
  const found = yield* row(
    `with recursive line as (
        select id, merged_into from pillarbox.contacts where tenant_id = $1 and id = $2
        union all
        select n.id, n.merged_into from line join pillarbox.contacts n on n.id = line.merged_into
      )
      select ${CONTACT_COLUMNS} from line join pillarbox.contacts c on c.id = line.id where line.merged_into is null`,
    [tenantId, contactId],
  )
  return found && contactOf(found)
}

function* listContacts(tenantId: string, { q }: { q?: string }, page: Page): Script<PageOf<Contact>> {
  const { add, values } = parameters()
  const tenant = add(tenantId)
  const where = [`c.tenant_id = ${tenant}`, 'c.merged_into is null']
  if (page.cursor !== undefined) where.push(`c.id < ${add(cursorId(page.cursor))}`)
  if (q !== undefined) {
    const text = `cast(${add(q)} as text)`
    // Two may have the same phone, and only one of them is found by it: hence the columns beside the identifiers.
    where.push(`(c.phone = ${text} or c.email = ${text}
      or substr(lower(c.name), 1, length(lower(${text}))) = lower(${text})
      or c.id in (select i.contact_id from pillarbox.contact_identifiers i
        where i.tenant_id = ${tenant} and i.kind in ('profile', 'user', 'phone', 'email') and i.value = ${text}))`)
  }
  const found = yield* rows(
    `select ${CONTACT_COLUMNS} from pillarbox.contacts c where ${where.join(' and ')}
      order by c.id desc limit ${add(page.limit + 1)}`,
    values,
  )
  return pageOf(found.map(contactOf), page.limit, ({ id }) => [id])
}

function* insertContact(dialect: Dialect, contact: NewContact, actor: string): Script<Contact> {
  const given = cleaned(contact)
  const written = yield* row(
    `insert into pillarbox.contacts (id, tenant_id, profile_id, user_id, name, phone, email, locale, created_at,
        updated_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, ${dialect.now}, ${dialect.now}) returning ${CONTACT_RETURNING}`,
    [
      contact.id,
      contact.tenantId,
      given.profileId ?? null,
      given.userId ?? null,
      given.name ?? null,
      given.phone ?? null,
      given.email ?? null,
      given.locale ?? null,
    ],
  )
  yield* claimIdentifiers(dialect, contact.tenantId, contact.id, given)
  yield* auditContact(dialect, contact.tenantId, contact.id, 'create', actor)
  return written ? contactOf(written) : { ...contact, version: 1, createdAt: 0, updatedAt: 0 }
}

interface ContactUpdate {
  tenantId: string
  id: string
  changes: Parameters<PeopleStore['updateContact']>[2]
  actor: string
  version: number | undefined
}

const IDENTIFYING = { profileId: 'profile', userId: 'user', phone: 'phone', email: 'email' } as const
const COLUMN_OF = {
  profileId: 'profile_id',
  userId: 'user_id',
  name: 'name',
  phone: 'phone',
  email: 'email',
  locale: 'locale',
} as const

/** An identifier that is replaced no longer leads to the contact. One that stays is not asked about: it may be shared. */
function* updateContact(
  dialect: Dialect,
  { tenantId, id, changes, actor, version }: ContactUpdate,
): Script<Contact | 'stale' | null> {
  const current = yield* lockContact(tenantId, id)
  if (!current) return null
  if (version !== undefined && version !== current.version) return 'stale'
  const given = cleaned(changes)
  const fields = (Object.keys(COLUMN_OF) as (keyof typeof COLUMN_OF)[]).filter(
    (field) => given[field] !== undefined && given[field] !== current[field],
  )
  if (fields.length === 0) return current
  const { add, values } = parameters()
  const set = fields.map((field) => `${COLUMN_OF[field]} = ${add(given[field] ?? null)}`)
  const changed = yield* row(
    `update pillarbox.contacts set ${set.join(', ')}, version = version + 1, updated_at = ${dialect.now}
      where id = ${add(current.id)} returning ${CONTACT_RETURNING}`,
    values,
  )
  for (const field of fields) {
    if (field === 'name' || field === 'locale') continue
    yield {
      text: `delete from pillarbox.contact_identifiers
        where tenant_id = $1 and kind = $2 and value = $3 and contact_id = $4`,
      values: [tenantId, IDENTIFYING[field], current[field], current.id],
    }
  }
  const identifying = Object.fromEntries(fields.map((field) => [field, given[field]]))
  yield* claimIdentifiers(dialect, tenantId, current.id, identifying)
  yield* auditContact(dialect, tenantId, current.id, 'update', actor)
  return changed && contactOf(changed)
}

/** The contact that stands for this id, as it now is and stays until the transaction ends. */
function* lockContact(tenantId: string, id: string): Script<Contact | null> {
  for (;;) {
    const found = yield* findContact(tenantId, id)
    if (!found) return null
    // Changes nothing, but locks the row. It may have been merged or removed meanwhile: then it is looked for again.
    const locked = yield* row(
      `update pillarbox.contacts set name = name where id = $1 and merged_into is null returning ${CONTACT_RETURNING}`,
      [found.id],
    )
    if (locked) return contactOf(locked)
  }
}

function* claimIdentifiers(
  dialect: Dialect,
  tenantId: string,
  contactId: string,
  facts: Parameters<typeof identifiersOf>[0],
): Script<void> {
  const identifiers = identifiersOf(facts)
  if (identifiers.length === 0) return
  const { add, values } = parameters()
  const given = dialect.table(
    'g',
    { kind: 'text', value: 'text', contact_id: 'uuid' },
    identifiers.map(({ kind, value }) => ({ kind, value, contact_id: contactId })),
    add,
  )
  // Whoever has it already keeps it; the update that changes nothing makes the row, and so its owner, answer.
  const owners = yield* rows(
    `insert into pillarbox.contact_identifiers as i (tenant_id, kind, value, contact_id)
      select ${add(tenantId)}, g.kind, g.value, g.contact_id from ${given} where true
      on conflict (tenant_id, kind, value) do update set contact_id = i.contact_id returning contact_id`,
    values,
  )
  if (owners.some((owner) => owner['contact_id'] !== contactId)) throw IDENTIFIER_TAKEN
}

/** Contact, merged ones and identifiers; its conversations go with them. */
function* removeContact(dialect: Dialect, tenantId: string, id: string, actor: string): Script<boolean> {
  const contact = yield* lockContact(tenantId, id)
  if (!contact) return false
  yield {
    text: `with recursive line as (
        select id from pillarbox.contacts where id = $1
        union all
        select c.id from line join pillarbox.contacts c on c.merged_into = line.id
      )
      delete from pillarbox.contacts where id in (select id from line)`,
    values: [contact.id],
  }
  yield* auditContact(dialect, tenantId, contact.id, 'remove', actor)
  return true
}

function auditContact(dialect: Dialect, tenantId: string, id: string, action: string, actor: string): Script<void> {
  return writeAudit(dialect, { tenantId, actor, action, subject: `contact:${id}` })
}

type Facts = Partial<Omit<NewContact, 'id' | 'tenantId'>>

/** As the engines give it back; what is empty is not known. */
function cleaned(facts: Facts): Facts {
  const clean: Facts = {}
  for (const field of Object.keys(COLUMN_OF) as (keyof typeof COLUMN_OF)[]) {
    const value = facts[field]
    if (value !== undefined) clean[field] = value === null || value === '' ? null : storableText(value)
  }
  return clean
}

const CONVERSATION_COLUMNS = 'id, tenant_id, contact_id, context_type, context_id, status, created_at, updated_at'

function conversationOf(found: Row): Conversation {
  return {
    id: String(found['id']),
    tenantId: String(found['tenant_id']),
    contactId: String(found['contact_id']),
    context: { type: String(found['context_type']), id: String(found['context_id']) },
    status: String(found['status']) as ConversationStatus,
    createdAt: instantOf(found['created_at']),
    updatedAt: instantOf(found['updated_at']),
  }
}

function* findConversation(tenantId: string, id: string): Script<Conversation | null> {
  const conversationId = uuidOrNull(id)
  if (conversationId === null) return null
  const found = yield* row(
    `select ${CONVERSATION_COLUMNS} from pillarbox.conversations where tenant_id = $1 and id = $2`,
    [tenantId, conversationId],
  )
  return found && conversationOf(found)
}

function* listConversations(
  tenantId: string,
  filter: Parameters<PeopleStore['listConversations']>[1],
  page: Page,
): Script<PageOf<Conversation>> {
  const { add, values } = parameters()
  const where = [`tenant_id = ${add(tenantId)}`]
  if (filter.contactId !== undefined) {
    const contact = yield* findContact(tenantId, filter.contactId)
    if (!contact) return { items: [], nextCursor: null }
    where.push(`contact_id = ${add(contact.id)}`)
  }
  if (filter.status !== undefined) where.push(`status = ${add(filter.status)}`)
  if (filter.context !== undefined)
    where.push(`context_type = ${add(filter.context.type)}`, `context_id = ${add(filter.context.id)}`)
  if (page.cursor !== undefined) where.push(`id < ${add(cursorId(page.cursor))}`)
  const found = yield* rows(
    `select ${CONVERSATION_COLUMNS} from pillarbox.conversations where ${where.join(' and ')}
      order by id desc limit ${add(page.limit + 1)}`,
    values,
  )
  return pageOf(found.map(conversationOf), page.limit, ({ id }) => [id])
}

const STATUS_VERBS = { open: 'open', snoozed: 'snooze', closed: 'close' } as const satisfies Record<
  ConversationStatus,
  string
>

function* setStatus(
  dialect: Dialect,
  { tenantId, id, status, actor }: { tenantId: string; id: string; status: ConversationStatus; actor: string },
): Script<Conversation | null> {
  const conversationId = uuidOrNull(id)
  if (conversationId === null) return null
  // Changes nothing, but locks the row, so that the status read here is the one that is moved from.
  const found = yield* row(
    `update pillarbox.conversations set status = status where tenant_id = $1 and id = $2
      returning ${CONVERSATION_COLUMNS}`,
    [tenantId, conversationId],
  )
  if (!found) return null
  const current = conversationOf(found)
  if (current.status === status) return current
  const changed = yield* row(
    `update pillarbox.conversations set status = $2, updated_at = ${dialect.now} where id = $1
      returning ${CONVERSATION_COLUMNS}`,
    [conversationId, status],
  )
  yield* writeAudit(dialect, {
    tenantId,
    actor,
    action: STATUS_VERBS[status],
    subject: `conversation:${conversationId}`,
    from: current.status,
    to: status,
  })
  return changed && conversationOf(changed)
}

function cursorId(cursor: string): string {
  const id = uuidOrNull(decodeCursor(cursor, 1)[0] ?? '')
  if (id === null) throw invalidCursor()
  return id
}
