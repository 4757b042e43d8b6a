import type { Contact, Identifier } from '../../model/contact.ts'
import type { Address } from '../../model/recipient.ts'
import type { ErasedStretch, Person, PersonalItem, PersonalStore } from '../../operate/personal-store.ts'
import { CONTACTS } from './contacts.ts'
import { uuidOrNull } from './fields.ts'
import { shownRow } from './personal-text.ts'
import { type Dialect, givenIds, givenRows, jsonOf, rows, type Script } from './script.ts'
import { digestOf } from './suppressions.ts'

const IDENTIFIER = { kind: 'text', value: 'text' } as const

/** Merged ones count as the contact that stands for them. */
const LINE = `with recursive up as (
    select id, merged_into from pillarbox.contacts where tenant_id = :tenantId and id in (select g.id from :g)
    union select c.id, c.merged_into from up join pillarbox.contacts c on c.id = up.merged_into
  ), line as (
    select id from up union select c.id from line join pillarbox.contacts c on c.merged_into = line.id
  )`

/** Where the person's last notifications went; more would tell nothing new. */
const MOST_ADDRESSES = 1_000

export function* knownPerson(
  tenantId: string,
  given: Parameters<PersonalStore['known']>[1],
): Script<{ contacts: Contact[]; identifiers: Identifier[]; addresses: Address[] }> {
  const ids =
    'contactId' in given ? [uuidOrNull(given.contactId) ?? ''].filter(Boolean) : yield* ownersOf(tenantId, given)
  if (ids.length === 0) return { contacts: [], identifiers: [], addresses: [] }
  const found = yield* rows(
    `${LINE} select ${CONTACTS.columnsOf('c')} from line join pillarbox.contacts c on c.id = line.id order by c.id`,
    { tenantId, g: givenIds(ids) },
  )
  const contacts = found.map(CONTACTS.of)
  const g = givenIds(contacts.map(({ id }) => id))
  const identifiers = yield* rows(
    'select i.kind, i.value from :g join pillarbox.contact_identifiers i on i.contact_id = g.id',
    { g },
  )
  const told = yield* rows(
    `select n.recipient from :g join pillarbox.notifications n on n.tenant_id = :tenantId and n.contact_id = g.id
      order by n.id desc limit ${MOST_ADDRESSES}`,
    { tenantId, g },
  )
  return {
    contacts,
    identifiers: identifiers.map((row) => ({ kind: row['kind'] as Identifier['kind'], value: String(row['value']) })),
    addresses: told.map((row) => jsonOf<Address>(row['recipient'])),
  }
}

function* ownersOf(tenantId: string, { identifiers }: { identifiers: readonly Identifier[] }): Script<string[]> {
  const found = yield* rows(
    `select i.contact_id from :g join pillarbox.contact_identifiers i
      on i.tenant_id = :tenantId and i.kind = g.kind and i.value = g.value`,
    { tenantId, g: givenRows(IDENTIFIER, identifiers) },
  )
  return [...new Set(found.map((row) => String(row['contact_id'])))]
}

/** Rows that are the person's alone. */
interface OwnRows {
  table: string
  where: string
  values: object
}

function values(column: string, texts: readonly string[]): object {
  return givenRows(
    { [column]: 'text' },
    texts.map((text) => ({ [column]: text })),
  )
}

const HAS_ADDRESS = '(phone in (select p.phone from :p) or lower(email) in (select e.email from :e))'

function addressesOf({ tenantId, phones, emails }: Person): object {
  return { tenantId, p: values('phone', phones), e: values('email', emails) }
}

/** In the order in which they may go. */
export function ownRowsOf(step: 'members' | 'inbox' | 'contacts', person: Person): OwnRows[] {
  const { tenantId, userIds, contactIds } = person
  if (step === 'members') {
    const ofTenant = 'list_id in (select id from pillarbox.recipient_lists where tenant_id = :tenantId)'
    const where = `${ofTenant} and ${HAS_ADDRESS}`
    return [{ table: 'recipient_list_members', where, values: addressesOf(person) }]
  }
  if (step === 'inbox') {
    const where = 'tenant_id = :tenantId and user_id in (select u.user_id from :u)'
    const given = { tenantId, u: values('user_id', userIds) }
    return ['inbox_messages', 'inboxes'].map((table) => ({ table, where, values: given }))
  }
  const given = { tenantId, c: givenIds(contactIds) }
  const of = (table: string, column: string): OwnRows => {
    return { table, where: `tenant_id = :tenantId and ${column} in (select c.id from :c)`, values: given }
  }
  return [of('conversations', 'contact_id'), of('contact_identifiers', 'contact_id'), of('contacts', 'id')]
}

export function* findOwn(own: readonly OwnRows[]): Script<PersonalItem[]> {
  const items: PersonalItem[] = []
  for (const { table, where, values: given } of own)
    for (const row of yield* rows(`select * from pillarbox.${table} where ${where}`, given))
      items.push({ table, row: shownRow(table, row) })
  return items
}

export function* eraseOwn(own: readonly OwnRows[]): Script<Record<string, number>> {
  const erased: Record<string, number> = {}
  for (const { table, where, values: given } of own) {
    const gone = yield* rows(`delete from pillarbox.${table} where ${where} returning 1 as gone`, given)
    if (gone.length > 0) erased[table] = gone.length
  }
  return erased
}

/** The lists are counted anew. */
export function* countListMembers({ tenantId }: Person): Script<void> {
  yield* rows(
    `update pillarbox.recipient_lists as l set member_count =
        (select count(*) from pillarbox.recipient_list_members m where m.list_id = l.id)
      where tenant_id = :tenantId`,
    { tenantId },
  )
}

function bans({ tenantId, suppressible }: Person, form: 'address' | 'hashed'): object {
  const given = suppressible.map((each) => ({ channel: each.channel, digest: digestOf(each.channel, each[form]) }))
  return { tenantId, g: givenRows({ channel: 'text', digest: 'text' }, given) }
}

const BANNED = `from :g join pillarbox.suppressions t on t.tenant_id = :tenantId and t.channel = g.channel and t.digest = g.digest`

export function* findSuppressions(person: Person): Script<PersonalItem[]> {
  const items: PersonalItem[] = []
  for (const form of ['address', 'hashed'] as const)
    for (const row of yield* rows(`select t.* ${BANNED}`, bans(person, form)))
      items.push({ table: 'suppressions', row: shownRow('suppressions', row) })
  return items
}

/** The ban stays, under a keyed hash of the address: nobody can tell whose it is, and nobody is written to again. */
export function* hashSuppressions(person: Person): Script<number> {
  const hashed = new Map(
    person.suppressible.map(({ channel, address, hashed: text }) => [`${channel} ${digestOf(channel, address)}`, text]),
  )
  const found = yield* rows(`select t.id, t.channel, t.digest ${BANNED}`, bans(person, 'address'))
  for (const row of found) {
    const text = hashed.get(`${String(row['channel'])} ${String(row['digest'])}`) ?? ''
    const digest = digestOf(row['channel'] as Person['suppressible'][number]['channel'], text)
    const standing = yield* rows(
      'select id from pillarbox.suppressions where tenant_id = :tenantId and channel = :channel and digest = :digest',
      { tenantId: person.tenantId, channel: row['channel'], digest },
    )
    yield* rows(
      standing.length > 0
        ? 'delete from pillarbox.suppressions where id = :id'
        : 'update pillarbox.suppressions set address = :text, digest = :digest, error = null where id = :id',
      { id: row['id'], text, digest },
    )
  }
  return found.length
}

/** A telephone number or mailbox that another contact has, too, is no longer known of that one. */
export function* forgetShared(dialect: Dialect, person: Person): Script<number> {
  const changed = yield* rows(
    `update pillarbox.contacts set phone = case when phone in (select p.phone from :p) then null else phone end,
        email = case when lower(email) in (select e.email from :e) then null else email end, version = version + 1,
        updated_at = ${dialect.now}
      where tenant_id = :tenantId and ${HAS_ADDRESS} returning id`,
    addressesOf(person),
  )
  return changed.length
}

export function erasedAnswer(erased: Record<string, number>): ErasedStretch {
  return { erased, remains: {}, next: null }
}
