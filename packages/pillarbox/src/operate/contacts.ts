import type { Contact, NewContact } from '../model/contact.ts'
import { changedMeanwhile, type FieldError, found, invalidBody, PillarboxError } from '../model/errors.ts'
import type { Page, PageOf } from '../model/page.ts'
import type { IdSource } from '../model/ports.ts'
import { regionOf } from '../model/tenant.ts'
import type { Store } from '../store/store.ts'
import type { Operator } from './operator.ts'
import { normalised } from './people.ts'

type ContactStores = Pick<Store, 'people' | 'tenants'>
type ContactFields = Omit<NewContact, 'id' | 'tenantId'>
/** What is known of a contact, or is to be changed about it. Null: it is not known. */
export type ContactChanges = { [K in keyof ContactFields]?: ContactFields[K] }

const IDENTIFIERS = ['profileId', 'userId', 'phone', 'email'] as const

/** Makes a contact. Throws `invalid_body` where nobody could be recognised by it, `already_exists` where another is. */
export async function makeContact(
  { store, ids }: { store: ContactStores; ids: IdSource },
  { tenantId, actor }: Operator,
  fields: ContactChanges,
): Promise<Contact> {
  const whole = wholeContact(await readContact(store, tenantId, fields))
  refuseNameless(whole)
  return notTaken(await store.people.insertContact({ id: ids(), tenantId, ...whole }, actor))
}

/** Changes what is named. Whoever names a `version` is refused where the contact is at another by now. */
export async function changeContact(
  store: ContactStores,
  { tenantId, actor }: Operator,
  id: string,
  { version, ...given }: ContactChanges & { version?: number },
): Promise<Contact> {
  const changes = await readContact(store, tenantId, given)
  for (;;) {
    const current = found(await store.people.findContact(tenantId, id))
    refuseNameless({ ...current, ...changes })
    const contact = await store.people.updateContact(tenantId, id, changes, actor, version ?? current.version)
    // Whoever names no version wants the change as it is: what was found is judged again, and nobody left nameless.
    if (contact === 'stale' && version === undefined) continue
    if (contact === 'stale') throw changedMeanwhile(version)
    return found(notTaken(contact))
  }
}

/** A contact as it is, for somebody to whom the console shows it masked. That they looked stays on record. */
export async function revealContact(
  { people, audit }: Pick<Store, 'people' | 'audit'>,
  { tenantId, actor }: Operator,
  id: string,
): Promise<Contact> {
  const contact = found(await people.findContact(tenantId, id))
  await audit.record({ tenantId, actor, action: 'reveal', subject: `contact:${contact.id}` })
  return contact
}

/** Its conversations go with it; what was sent stays on record. */
export async function removeContact(
  { people }: Pick<Store, 'people'>,
  { tenantId, actor }: Operator,
  id: string,
): Promise<void> {
  found(await people.removeContact(tenantId, id, actor))
}

/** Everything that is not given is not known. */
export function wholeContact<T extends ContactChanges>(fields: T): T & ContactFields {
  const { profileId = null, userId = null, name = null, phone = null, email = null, locale = null } = fields
  return { ...fields, profileId, userId, name, phone, email, locale }
}

/**
 * Contacts by what somebody looks for, then by the form in which a telephone number or an email is kept. Whoever may not
 * see names finds them only by `wholeNames`: by their beginnings he could spell them out.
 */
export async function findContacts(
  store: ContactStores,
  tenantId: string,
  { q, ...page }: Page & { q?: string },
  { wholeNames }: { wholeNames: boolean },
): Promise<PageOf<Contact>> {
  const filter = q === undefined ? {} : wholeNames ? { exactly: q } : { q }
  const asGiven = await store.people.listContacts(tenantId, filter, page)
  if (asGiven.items.length > 0 || q === undefined) return asGiven
  const region = regionOf(await store.tenants.find(tenantId))
  const { phone, email } = normalised<ContactChanges>({ phone: q, email: q }, { region, at: '', problems: [] })
  const kept = phone ?? email ?? null
  return kept === null ? asGiven : await store.people.listContacts(tenantId, { exactly: kept }, page)
}

async function readContact(store: ContactStores, tenantId: string, given: ContactChanges): Promise<ContactChanges> {
  const problems: FieldError[] = []
  const region = regionOf(await store.tenants.find(tenantId))
  const fields = normalised(given, { region, at: '', problems })
  if (problems.length) throw invalidBody(problems)
  return fields
}

/** Nobody could ever be recognised by a name alone. */
function refuseNameless(contact: ContactChanges): void {
  if (IDENTIFIERS.some((field) => contact[field] !== null && contact[field] !== undefined)) return
  throw invalidBody([{ path: '', message: `must have at least one of ${IDENTIFIERS.join(', ')}` }])
}

function notTaken<T>(contact: T | 'taken'): T {
  if (contact !== 'taken') return contact
  throw new PillarboxError('already_exists', `Another contact has one of these ${IDENTIFIERS.join(', ')}.`)
}
