import type { SandboxVendor } from '../channels/sandbox/vendor.ts'
import { addressIdentity } from '../model/address.ts'
import type { Channel } from '../model/channel.ts'
import type { Contact, Identifier } from '../model/contact.ts'
import { foldEmail } from '../model/email.ts'
import { found, invalidBody } from '../model/errors.ts'
import { createEraser, needlesOf } from '../model/personal-data.ts'
import { toE164 } from '../model/phone.ts'
import type { Clock } from '../model/ports.ts'
import type { Address } from '../model/recipient.ts'
import { regionOf } from '../model/tenant.ts'
import { hashedAddress, type TokenSeal } from '../security/token-seal.ts'
import type { Store } from '../store/store.ts'
import type { Operator } from './operator.ts'
import { PERSONAL_STEPS, type Person, type PersonalItem } from './personal-store.ts'

export interface PersonalDeps {
  store: Pick<Store, 'personal' | 'tenants' | 'audit'>
  tokens: TokenSeal
  /** What the sandbox's vendor took, where this process keeps it. */
  sandbox?: Pick<SandboxVendor, 'walk' | 'replace' | 'compact'>
  clock: Clock
}

/** Who is meant: a contact, or whoever has an address: a telephone number, an email, a device token or a user id. */
export type Subject = { contactId: string } | { address: string }

/** Rows looked at in one transaction. */
const ROWS = 500

/** The sandbox comes after the store; a cursor names the step and where in it to go on. */
const STEPS = [...PERSONAL_STEPS.slice(0, -2), 'sandbox', ...PERSONAL_STEPS.slice(-2)] as const

interface Walk {
  step: number
  after: string | null
  /** How many of their notifications were left, on the way here, because they were being sent. */
  sending: number
}

function readCursor(cursor: string | undefined): Walk {
  if (cursor === undefined) return { step: 0, after: null, sending: 0 }
  const [, step, sending, after] = /^(\d{1,2})\.(\d{1,9})\.(.*)$/.exec(cursor) ?? []
  if (step === undefined || Number(step) >= STEPS.length)
    throw invalidBody([{ path: '/cursor', message: 'must be the cursor of an earlier answer' }])
  return {
    step: Number(step),
    after: after ? Buffer.from(after, 'base64url').toString() : null,
    sending: Number(sending),
  }
}

function writeCursor({ step, after, sending }: Walk): string {
  return `${step}.${sending}.${after === null ? '' : Buffer.from(after).toString('base64url')}`
}

/** Nothing was looked at yet, and nothing changed: now is the time to say who begins. */
function isAtStart({ step, after }: Walk): boolean {
  return step === 0 && after === null
}

/** What was found by the time `stop` aborted, and where to go on; no cursor: that is all. */
export async function exportPerson(
  deps: PersonalDeps,
  { tenantId, actor }: Operator,
  subject: Subject,
  { cursor, mostItems, stop }: { cursor?: string | undefined; mostItems: number; stop: AbortSignal },
): Promise<{ items: PersonalItem[]; nextCursor: string | null }> {
  const person = await personOf(deps, tenantId, subject)
  const items: PersonalItem[] = []
  for (let walk: Walk | null = readCursor(cursor); walk !== null; ) {
    if (items.length >= mostItems || stop.aborted) return { items, nextCursor: writeCursor(walk) }
    if (isAtStart(walk))
      await deps.store.audit.record({ tenantId, actor, action: 'export', subject: subjectOf(person) })
    const step: (typeof STEPS)[number] = STEPS[walk.step] ?? 'contacts'
    const stretch = { person, after: walk.after, limit: ROWS }
    const { items: some, next } =
      step === 'sandbox' ? findInSandbox(deps, stretch) : await deps.store.personal.find(step, stretch)
    items.push(...some)
    walk = following(walk, next)
  }
  return { items, nextCursor: null }
}

/** Whom the audit names: never an address. */
function subjectOf({ contactIds: [first] }: Person): string {
  return first === undefined ? 'person' : `contact:${first}`
}

function following({ step, sending }: Walk, next: string | null): Walk | null {
  if (next !== null) return { step, after: next, sending }
  return step + 1 < STEPS.length ? { step: step + 1, after: null, sending } : null
}

export interface ErasureReport {
  /** By table: how many rows were changed or removed. */
  erased: Record<string, number>
  remains: { what: string; why: string; count?: number }[]
  nextCursor: string | null
}

/** A file up to this size is written anew at once; with a larger one everybody would wait too long. */
const MOST_COMPACTED_BYTES = 256 * 1_024 * 1_024

/**
 * Erases what is known of a person. Ledger rows stay as rows, without what they said of them. Who does so and why is on
 * record before the first of them is changed.
 */
export async function erasePerson(
  deps: PersonalDeps,
  { tenantId, actor }: Operator,
  subject: Subject,
  options: { note: string; cursor?: string | undefined; stop: AbortSignal; mostCompactedBytes?: number },
): Promise<ErasureReport> {
  const { note, cursor, stop } = options
  const person = await personOf(deps, tenantId, subject)
  const erased: Record<string, number> = {}
  let sending = 0
  for (let walk: Walk | null = readCursor(cursor); walk !== null; ) {
    sending = walk.sending
    if (stop.aborted) return { erased, remains: [], nextCursor: writeCursor(walk) }
    const step: (typeof STEPS)[number] = STEPS[walk.step] ?? 'contacts'
    // A contact is what leads to what is still being sent: as long as there is any, it stays.
    if (step === 'contacts' && sending > 0) break
    if (isAtStart(walk))
      await deps.store.audit.record({ tenantId, actor, action: 'erase', subject: subjectOf(person), note })
    const stretch = { person, after: walk.after, limit: ROWS, actor }
    const done = step === 'sandbox' ? eraseInSandbox(deps, stretch) : await deps.store.personal.erase(step, stretch)
    for (const [table, count] of Object.entries(done.erased))
      if (count > 0) erased[table] = (erased[table] ?? 0) + count
    sending += done.remains['being_sent'] ?? 0
    walk = following({ ...walk, sending }, done.next)
  }
  // Everybody waits while the file is written anew: not where nothing of it has changed, as far as an earlier answer says.
  const isUnchanged = cursor === undefined && Object.keys(erased).length === 0
  if (isUnchanged) return { erased, remains: remainsOf(sending, 'done'), nextCursor: null }
  deps.sandbox?.compact()
  const compacted = await deps.store.personal.compact(options.mostCompactedBytes ?? MOST_COMPACTED_BYTES)
  return { erased, remains: remainsOf(sending, compacted), nextCursor: null }
}

function remainsOf(sending: number, compacted: 'done' | 'too_large' | 'by_itself'): ErasureReport['remains'] {
  const remains: ErasureReport['remains'] = [
    {
      what: 'ledger rows',
      why: 'that something was sent, when and what became of it is kept; nobody can tell to whom',
    },
    { what: 'suppressions', why: 'a keyed hash of a suppressed address is kept, so that it is not written to again' },
    { what: 'audit', why: 'who did what, when and to what is kept and chained by hash; the words about it are gone' },
    { what: 'backups, replicas and logs', why: 'they are outside of the database: they go by their own retention' },
  ]
  if (sending > 0)
    remains.push({
      what: 'notifications',
      why: 'they are being sent at this moment: erase again in a minute',
      count: sending,
    })
  if (compacted === 'too_large')
    remains.push({
      what: 'free space of the SQLite file',
      why: 'writing so large a file anew would hold everybody up: run "pillarbox personal-data erase" at a quiet time',
    })
  if (compacted === 'by_itself')
    remains.push({ what: 'dead rows of PostgreSQL', why: 'the server removes them when it next vacuums the tables' })
  return remains
}

/** Everything by which the person is known. Throws `not_found` for a contact that is not there. */
async function personOf({ store, tokens }: PersonalDeps, tenantId: string, subject: Subject): Promise<Person> {
  const region = regionOf(await store.tenants.find(tenantId))
  const given = 'address' in subject ? givenAddress(subject.address, region) : null
  const known = await store.personal.known(
    tenantId,
    'contactId' in subject ? subject : { identifiers: identifiersOf(given ?? {}) },
  )
  if ('contactId' in subject) found(known.contacts.length > 0)
  const addresses: Address[] = [...known.addresses, ...(given ? [given] : [])]
  const texts = (kind: Identifier['kind'], field: 'phone' | 'email' | 'userId'): string[] =>
    unique([
      ...known.identifiers.flatMap((each) => (each.kind === kind ? [each.value] : [])),
      ...known.contacts.flatMap((contact) => contact[field] ?? []),
      ...addresses.flatMap((address) => address[field] ?? []),
    ])
  const phones = texts('phone', 'phone')
  const emails = unique(texts('email', 'email').map((email) => email.toLowerCase()))
  const userIds = texts('user', 'userId')
  const clearTokens = unique(addresses.flatMap(({ deviceToken }) => deviceToken ?? [])).flatMap(
    (token) => tokens.open(tenantId, token) ?? [],
  )
  const sealed = clearTokens.map((token) => tokens.seal(tenantId, token))
  const names = unique([...known.contacts, ...addresses].flatMap(({ name }: Contact | Address) => name || []))
  const mark = (text: string): string => `erased-${tokens.hash(tenantId, text).slice(0, 16)}`
  const ids = [...userIds, ...known.contacts.flatMap(({ id, profileId }) => [id, profileId ?? '']), ...names]
  return {
    tenantId,
    contactIds: known.contacts.map(({ id }) => id),
    phones,
    emails,
    tokens: sealed,
    userIds,
    names,
    region,
    needles: [...phones, ...emails, ...clearTokens, ...sealed].flatMap((text) => needlesOf(text, mark(text))),
    values: new Map(ids.filter((id) => id !== '').map((id) => [id.trim().toLowerCase(), mark(id)])),
    suppressible: [
      ...phones.flatMap((phone) => [banned('sms', phone), banned('whatsapp', phone)]),
      ...emails.map((email) => banned('email', email)),
      ...clearTokens.map((token) => ({ ...banned('push', token), address: tokens.seal(tenantId, token) })),
      ...userIds.map((userId) => banned('in_app', userId)),
    ],
  }

  function banned(channel: Channel, address: string): Person['suppressible'][number] {
    return { channel, address, hashed: hashedAddress(tokens, tenantId, addressIdentity(channel, address)) }
  }
}

/** Vendors' tokens are longer, and no word that somebody may have written by chance is as long. */
const SHORTEST_TOKEN = 32

/**
 * A text that is neither a telephone number nor an email is a user id, which names somebody only where it stands alone in what is
 * theirs. Only a long one may also be a device token, which is looked for everywhere.
 */
function givenAddress(text: string, region: string | null): Address {
  const [phone, email] = [toE164(text, region), foldEmail(text)]
  if (phone !== null) return { phone }
  if (email !== null) return { email }
  return text.length < SHORTEST_TOKEN ? { userId: text } : { deviceToken: text, userId: text }
}

function identifiersOf({ phone, email, userId }: Address): Identifier[] {
  return [
    ...(phone === undefined ? [] : [{ kind: 'phone' as const, value: phone }]),
    ...(email === undefined ? [] : [{ kind: 'email' as const, value: email.toLowerCase() }]),
    ...(userId === undefined ? [] : [{ kind: 'user' as const, value: userId }]),
  ]
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}

interface SandboxStretch {
  person: Person
  after: string | null
  limit: number
}

type WalkedMessage = ReturnType<SandboxVendor['walk']>[number]

function walkSandbox(
  { sandbox }: PersonalDeps,
  { person, after, limit }: SandboxStretch,
): { found: WalkedMessage[]; next: string | null } {
  const found = sandbox?.walk(person.tenantId, Number(after ?? 0), limit) ?? []
  const last = found.length === limit ? found.at(-1) : undefined
  return { found, next: last ? String(last.row) : null }
}

function isTheirs({ to }: WalkedMessage['message'], person: Person): boolean {
  return (
    person.phones.includes(to.phone ?? '') ||
    person.emails.includes(to.email?.toLowerCase() ?? '') ||
    person.tokens.includes(to.deviceToken ?? '') ||
    person.userIds.includes(to.userId ?? '')
  )
}

function findInSandbox(deps: PersonalDeps, stretch: SandboxStretch): { items: PersonalItem[]; next: string | null } {
  const { found: messages, next } = walkSandbox(deps, stretch)
  const own = messages.filter(({ message }) => isTheirs(message, stretch.person))
  return { items: own.map(({ message }) => ({ table: 'sandbox', row: { ...message } })), next }
}

/** The person's own are cleared; of one to several, only what names the person goes. */
function eraseInSandbox(
  deps: PersonalDeps,
  stretch: SandboxStretch,
): { erased: Record<string, number>; remains: Record<string, number>; next: string | null } {
  const { needles, region } = stretch.person
  const eraser = createEraser({ needles, region, values: new Map() })
  const { found: messages, next } = walkSandbox(deps, stretch)
  let count = 0
  for (const { row, message } of messages) {
    const { to, subject, body, data, correlationId, key } = message
    const words = { to, subject, body, data, correlationId, key }
    const erased = eraser.json(words) as typeof words
    const isOwn = isTheirs(message, stretch.person)
    if (!isOwn && JSON.stringify(erased) === JSON.stringify(words)) continue
    deps.sandbox?.replace(row, isOwn ? null : erased)
    count += 1
  }
  return { erased: { sandbox: count }, remains: {}, next }
}
