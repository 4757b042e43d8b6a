import type { Contact } from '../../model/contact.ts'
import { identifiersOf, type KnownPeople, type PersonFacts, type Recognition, recognise } from '../../model/contact.ts'
import { PillarboxError } from '../../model/errors.ts'
import type { Entity } from '../../model/event.ts'
import type { ContactRequest, RecognisedContact } from '../../plan/people-store.ts'
import { writeAudit } from './audit.ts'
import { CONTACTS } from './contacts.ts'
import { isForeignKeyViolation, storableText, uuidOrNull } from './fields.ts'
import { type Dialect, givenIds, givenRows, type Row, rows, type Script, type ScriptRunner } from './script.ts'

/** A process that loses a race finds at its next try what the winner wrote, so a few tries are plenty. */
const MAX_TRIES = 10

/**
 * Looks first and writes only if there is something to write, which for people who are known there is not. What is
 * written is written only if what was read still holds: a contact that changed meanwhile, or an identifier or a
 * conversation that somebody else made at the same moment, undoes it all, and it begins anew.
 */
export async function resolvePeople(
  runner: ScriptRunner,
  requests: readonly ContactRequest[],
  newId: () => string,
): Promise<RecognisedContact[]> {
  const given = requests.map(cleaned)
  for (let tries = 1; ; tries++) {
    const known = await runner.read(() => findKnown(runner.dialect, given))
    const decision = decide(given, known, newId)
    const wanted = conversationsWanted(given, decision)
    if (!hasChanges(decision)) {
      const found = await runner.read(() => findConversations(runner.dialect, wanted))
      if (found.size === wanted.length) return answers(given, decision, found)
    }
    try {
      return await runner.write(() => apply(runner.dialect, { given, decision, wanted, newId }))
    } catch (error) {
      const isLost = error === LOST_RACE || isForeignKeyViolation(error)
      if (!isLost || tries === MAX_TRIES) throw error
    }
  }
}

/** Thrown, so that all that was written before is undone. */
const LOST_RACE = new PillarboxError('store_unavailable', 'Others keep changing the same contacts: try again')

function cleaned(request: ContactRequest): ContactRequest {
  const clean: ContactRequest = { ...request }
  for (const field of ['profileId', 'userId', 'phone', 'email', 'name', 'locale'] as const)
    if (clean[field] !== undefined) clean[field] = storableText(clean[field])
  return clean
}

/** What the store knows of those who are asked for. */
interface Known {
  /** By tenant; only contacts that own one of the identifiers. */
  people: Map<string, { contacts: Map<string, Contact>; owners: KnownPeople['owners'][number][] }>
  /** Contacts asked for by id, under that id: merged ones as those they were merged into. */
  byId: Map<string, Contact>
}

function* findKnown(dialect: Dialect, requests: readonly ContactRequest[]): Script<Known> {
  const known: Known = { people: new Map(), byId: new Map() }
  const ids = new Set<string>()
  const identifiers = new Map<string, IdentifierRow>()
  for (const request of requests)
    if (request.contactId !== undefined) {
      const id = uuidOrNull(request.contactId)
      if (id !== null) ids.add(id)
    } else
      for (const { kind, value } of identifiersOf(request))
        identifiers.set(`${request.tenantId} ${kind} ${value}`, { tenant_id: request.tenantId, kind, value })
  if (identifiers.size > 0) yield* findOwners(dialect, [...identifiers.values()], known.people)
  if (ids.size > 0) yield* findByIds([...ids], known.byId)
  return known
}

const IDENTIFIER = { tenant_id: 'text', kind: 'text', value: 'text' } as const
type IdentifierRow = Record<keyof typeof IDENTIFIER, string>

function* findOwners(dialect: Dialect, identifiers: readonly IdentifierRow[], people: Known['people']): Script<void> {
  const owned = 'i.tenant_id = g.tenant_id and i.kind = g.kind and i.value = g.value'
  const found = yield* rows(
    `select i.kind, i.value, ${CONTACTS.columnsOf('c')}
      from :g ${dialect.lookedUp('contact_identifiers', 'i', owned)}
      ${dialect.lookedUp('contacts', 'c', 'c.id = i.contact_id')}`,
    { g: givenRows(IDENTIFIER, identifiers) },
  )
  for (const each of found) {
    const [tenantId, contactId] = [String(each['tenant_id']), String(each['id'])]
    let tenant = people.get(tenantId)
    if (!tenant) {
      tenant = { contacts: new Map(), owners: [] }
      people.set(tenantId, tenant)
    }
    if (!tenant.contacts.has(contactId)) tenant.contacts.set(contactId, CONTACTS.of(each))
    const kind = String(each['kind']) as KnownPeople['owners'][number]['kind']
    tenant.owners.push({ kind, value: String(each['value']), contactId })
  }
}

function* findByIds(ids: readonly string[], byId: Known['byId']): Script<void> {
  const found = yield* rows(
    `with recursive line as (
        select g.id as asked, n.id, n.merged_into from :g cross join pillarbox.contacts n where n.id = g.id
        union all
        select line.asked, n.id, n.merged_into from line join pillarbox.contacts n on n.id = line.merged_into
      )
      select line.asked, ${CONTACTS.columnsOf('c')} from line join pillarbox.contacts c on c.id = line.id
      where line.merged_into is null`,
    { g: givenIds(ids) },
  )
  for (const each of found) byId.set(String(each['asked']), CONTACTS.of(each))
}

/** Who everybody is, and what becomes of the contacts, tenant by tenant. */
interface Decision {
  /** In the order of the requests. */
  contactIds: (string | null)[]
  /** As they were read, merged ones included. */
  contacts: Map<string, Contact>
  tenants: { tenantId: string; recognition: Recognition }[]
}

function decide(requests: readonly ContactRequest[], known: Known, newId: () => string): Decision {
  const decision: Decision = { contactIds: requests.map(() => null), contacts: new Map(), tenants: [] }
  for (const [tenantId, places] of Map.groupBy(requests.keys(), (i) => requests[i]?.tenantId ?? '')) {
    const { contacts = new Map<string, Contact>(), owners = [] } = known.people.get(tenantId) ?? {}
    for (const contact of contacts.values()) decision.contacts.set(contact.id, contact)
    const unknown = places.filter((i) => requests[i]?.contactId === undefined)
    const people = unknown.map((i): Partial<PersonFacts> => requests[i] ?? {})
    const recognition = recognise(people, { contacts: [...contacts.values()], owners }, newId)
    decision.tenants.push({ tenantId, recognition })
    for (const [n, i] of unknown.entries()) decision.contactIds[i] = recognition.contactIds[n] ?? null
    const standingFor = new Map(recognition.merged.map(({ contact, into }) => [contact.id, into]))
    for (const i of places) {
      const contact = known.byId.get(uuidOrNull(requests[i]?.contactId ?? '') ?? '')
      if (contact?.tenantId !== tenantId) continue
      decision.contacts.set(contact.id, contact)
      decision.contactIds[i] = standingFor.get(contact.id) ?? contact.id
    }
  }
  return decision
}

function hasChanges({ tenants }: Decision): boolean {
  return tenants.some(
    ({ recognition: { created, changed, merged, claimed } }) =>
      created.length + changed.length + merged.length + claimed.length > 0,
  )
}

interface WantedConversation {
  tenantId: string
  contactId: string
  context: Entity
}

/** The conversations that requests want, each once. */
function conversationsWanted(requests: readonly ContactRequest[], { contactIds }: Decision): WantedConversation[] {
  const wanted = new Map<string, WantedConversation>()
  for (const [i, { tenantId, conversation }] of requests.entries()) {
    const contactId = contactIds[i]
    if (conversation && contactId)
      wanted.set(conversationKey(contactId, conversation), { tenantId, contactId, context: conversation })
  }
  return [...wanted.values()]
}

/** An id has no space, so no two conversations give one key. */
function conversationKey(contactId: string, { type, id }: Entity): string {
  return `${contactId} ${JSON.stringify([storableText(type), storableText(id)])}`
}

const WANTED_COLUMNS = { tenant_id: 'text', contact_id: 'uuid', context_type: 'text', context_id: 'text' } as const

function wantedRow({ tenantId, contactId, context }: WantedConversation) {
  return {
    tenant_id: tenantId,
    contact_id: contactId,
    context_type: storableText(context.type),
    context_id: storableText(context.id),
  }
}

const OPEN = `v.tenant_id = g.tenant_id and v.contact_id = g.contact_id and v.context_type = g.context_type
  and v.context_id = g.context_id and v.status <> 'closed'`

/** The ids of the wanted conversations that are there and not closed, by `conversationKey`. */
function* findConversations(dialect: Dialect, wanted: readonly WantedConversation[]): Script<Map<string, string>> {
  if (wanted.length === 0) return new Map()
  const found = yield* rows(
    `select v.id, v.contact_id, v.context_type, v.context_id from :g ${dialect.lookedUp('conversations', 'v', OPEN)}`,
    { g: givenRows(WANTED_COLUMNS, wanted.map(wantedRow)) },
  )
  return byConversationKey(found)
}

function byConversationKey(conversations: readonly Row[]): Map<string, string> {
  return new Map(
    conversations.map((each) => {
      const context = { type: String(each['context_type']), id: String(each['context_id']) }
      return [conversationKey(String(each['contact_id']), context), String(each['id'])]
    }),
  )
}

interface Application {
  given: readonly ContactRequest[]
  decision: Decision
  wanted: readonly WantedConversation[]
  newId: () => string
}

/** A handful of statements for all of it, each only where there is something to do. */
function* apply(dialect: Dialect, { given, decision, wanted, newId }: Application): Script<RecognisedContact[]> {
  const contacts = new Map(decision.contacts)
  // First, because it locks the contacts that change: a process that merges or removes one waits, and then sees what was
  // added.
  for (const contact of yield* changeContacts(dialect, decision)) contacts.set(contact.id, contact)
  for (const contact of yield* insertContacts(dialect, decision)) contacts.set(contact.id, contact)
  yield* moveToSurvivors(dialect, decision)
  yield* insertIdentifiers(decision)
  const conversations = yield* findConversations(dialect, wanted)
  const missing = wanted.filter(({ contactId, context }) => !conversations.has(conversationKey(contactId, context)))
  for (const [key, id] of yield* insertConversations(dialect, missing, newId)) conversations.set(key, id)
  return answers(given, { ...decision, contacts }, conversations)
}

/**
 * A roundabout way to say that it is null: in so many words, a PostgreSQL whose statistics are old takes the index of all
 * unmerged contacts for the shorter way, and reads every one of them.
 */
const IS_UNMERGED = 'coalesce(c.merged_into, c.id) = c.id'

/** Named apart from the contact's own columns: SQLite's `returning` knows no alias. */
const FACTS = {
  new_profile: 'text',
  new_user: 'text',
  new_name: 'text',
  new_phone: 'text',
  new_email: 'text',
  new_locale: 'text',
} as const
const CHANGE = { contact_id: 'uuid', old_profile: 'text', old_user: 'text', survivor_id: 'uuid', ...FACTS } as const

/** Nothing is overwritten, also not what somebody else added meanwhile; who they are must still be as it was read. */
function* changeContacts(dialect: Dialect, { tenants }: Decision): Script<Contact[]> {
  const changes = tenants.flatMap(({ recognition: { changed, merged } }) => [
    ...changed.map(({ before, after }) => ({ before, after, into: null })),
    ...merged.map(({ contact, into }) => ({ before: contact, after: contact, into })),
  ])
  if (changes.length === 0) return []
  const given = changes.map(({ before, after, into }) => ({
    contact_id: before.id,
    old_profile: before.profileId,
    old_user: before.userId,
    ...factsRow(after),
    survivor_id: into,
  }))
  const found = yield* rows(
    `update pillarbox.contacts as c set profile_id = coalesce(c.profile_id, g.new_profile),
        user_id = coalesce(c.user_id, g.new_user), name = coalesce(c.name, g.new_name),
        phone = coalesce(c.phone, g.new_phone), email = coalesce(c.email, g.new_email),
        locale = coalesce(c.locale, g.new_locale), merged_into = g.survivor_id,
        version = c.version + 1, updated_at = ${dialect.now}
      from :g
      where c.id = g.contact_id and ${IS_UNMERGED} and c.profile_id is not distinct from g.old_profile
        and c.user_id is not distinct from g.old_user
      returning ${CONTACTS.columns}`,
    { g: givenRows(CHANGE, given.toSorted(byKeys('contact_id'))) },
  )
  if (found.length !== changes.length) throw LOST_RACE
  return found.map(CONTACTS.of)
}

function factsRow({ profileId, userId, name, phone, email, locale }: PersonFacts) {
  return {
    new_profile: profileId,
    new_user: userId,
    new_name: name,
    new_phone: phone,
    new_email: email,
    new_locale: locale,
  }
}

function* insertContacts(dialect: Dialect, { tenants }: Decision): Script<Contact[]> {
  const created = tenants.flatMap(({ tenantId, recognition }) =>
    recognition.created.map((contact) => ({ id: contact.id, tenant_id: tenantId, ...factsRow(contact) })),
  )
  if (created.length === 0) return []
  const found = yield* rows(
    `insert into pillarbox.contacts (id, tenant_id, profile_id, user_id, name, phone, email, locale, created_at,
        updated_at)
      select g.id, g.tenant_id, g.new_profile, g.new_user, g.new_name, g.new_phone, g.new_email, g.new_locale,
        ${dialect.now}, ${dialect.now} from :g where true returning ${CONTACTS.columns}`,
    { g: givenRows({ id: 'uuid', tenant_id: 'text', ...FACTS }, created.toSorted(byKeys('id'))) },
  )
  return found.map(CONTACTS.of)
}

/** What merged contacts leave behind: identifiers and conversations. Of two open ones about the same, one is closed. */
function* moveToSurvivors(dialect: Dialect, { tenants }: Decision): Script<void> {
  const merges = tenants.flatMap(({ tenantId, recognition }) =>
    recognition.merged.map(({ contact, into }) => ({ tenantId, contact_id: contact.id, survivor_id: into })),
  )
  if (merges.length === 0) return
  const columns = { contact_id: 'uuid', survivor_id: 'uuid' } as const
  const survivors = new Map(merges.map((merge) => [merge.survivor_id, { ...merge, contact_id: merge.survivor_id }]))
  const moved = { g: givenRows(columns, merges) }
  yield* rows(
    `update pillarbox.contact_identifiers as i set contact_id = g.survivor_id from :g where i.contact_id = g.contact_id`,
    moved,
  )
  // The survivor's own stays open, else the oldest.
  yield* rows(
    `update pillarbox.conversations set status = 'closed', updated_at = ${dialect.now} where id in (
        select ranked.id from (
          select v.id, row_number() over (
            partition by g.survivor_id, v.context_type, v.context_id
            order by case when v.contact_id = g.survivor_id then 0 else 1 end, v.created_at, v.id) as place
          from :g cross join pillarbox.conversations v
          where v.contact_id = g.contact_id and v.status <> 'closed') ranked
        where ranked.place > 1)`,
    { g: givenRows(columns, [...merges, ...survivors.values()]) },
  )
  yield* rows(
    `update pillarbox.conversations as v set contact_id = g.survivor_id from :g where v.contact_id = g.contact_id`,
    moved,
  )
  yield* writeAudit(
    dialect,
    ...merges.map(({ tenantId, contact_id: contact, survivor_id: survivor }) => ({
      tenantId,
      actor: 'system',
      action: 'merge',
      subject: `contact:${contact}`,
      reason: `into contact:${survivor}`,
    })),
  )
}

/** In the order of their keys: two processes with the same people then wait for each other instead of deadlocking. */
function* insertIdentifiers({ tenants }: Decision): Script<void> {
  const claimed = tenants.flatMap(({ tenantId, recognition }) =>
    recognition.claimed.map(({ kind, value, contactId }) => {
      return { tenant_id: tenantId, kind, value, contact_id: contactId }
    }),
  )
  if (claimed.length === 0) return
  const written = yield* rows(
    `insert into pillarbox.contact_identifiers (tenant_id, kind, value, contact_id)
      select g.tenant_id, g.kind, g.value, g.contact_id from :g where true
      on conflict (tenant_id, kind, value) do nothing returning 1 as written`,
    { g: givenRows({ ...IDENTIFIER, contact_id: 'uuid' }, claimed.toSorted(byKeys('tenant_id', 'kind', 'value'))) },
  )
  if (written.length !== claimed.length) throw LOST_RACE
}

/** A contact that was merged or removed meanwhile gets none: its survivor has one, or will. */
function* insertConversations(
  dialect: Dialect,
  missing: readonly WantedConversation[],
  newId: () => string,
): Script<Map<string, string>> {
  if (missing.length === 0) return new Map()
  const fresh = missing.map((wanted) => ({ id: newId(), ...wantedRow(wanted) }))
  const found = yield* rows(
    `insert into pillarbox.conversations (id, tenant_id, contact_id, context_type, context_id, status, created_at,
        updated_at)
      select g.id, g.tenant_id, g.contact_id, g.context_type, g.context_id, 'open', ${dialect.now}, ${dialect.now}
      from :g ${dialect.lookedUp('contacts', 'c', `c.id = g.contact_id and ${IS_UNMERGED}`, dialect.share('c'))}
      where true
      on conflict (tenant_id, contact_id, context_type, context_id) where status <> 'closed' do nothing
      returning id, contact_id, context_type, context_id`,
    { g: givenRows({ id: 'uuid', ...WANTED_COLUMNS }, fresh.toSorted(byKeys('contact_id', 'id'))) },
  )
  if (found.length !== missing.length) throw LOST_RACE
  return byConversationKey(found)
}

function answers(
  requests: readonly ContactRequest[],
  { contactIds, contacts }: Decision,
  conversations: ReadonlyMap<string, string>,
): RecognisedContact[] {
  return requests.map(({ conversation }, i) => {
    const contact = contacts.get(contactIds[i] ?? '') ?? null
    const conversationId =
      (contact && conversation && conversations.get(conversationKey(contact.id, conversation))) ?? null
    return { contact, conversationId }
  })
}

function byKeys<Key extends string>(...keys: Key[]) {
  return (a: Record<Key, string>, b: Record<Key, string>): number => {
    const key = keys.find((each) => a[each] !== b[each])
    return key === undefined ? 0 : a[key] < b[key] ? -1 : 1
  }
}
