import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isChannel } from '../model/channel.ts'
import { escapedKeyPart } from '../model/idempotency.ts'
import { type Address, addressField, maskAddress } from '../model/recipient.ts'
import { soundsSecret } from '../operate/account-checks.ts'
import { type ApiCaller, TO_ADMINISTER } from './auth.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its answers are about no person: a viewer sees them as they are. */
    isConfiguration?: boolean
    /** In its answers addresses are masked for everybody, not only for viewers. */
    masksAddresses?: boolean
    /** For whoever is signed in at the console: there, people are shown one by one, on record. */
    masksAtConsole?: boolean
  }
}

/**
 * Who sees people. Routes answer with what there is, and here it is masked on its way out: for a viewer everything by
 * which somebody could be found or named, wherever it stands, so that no route can forget to. A viewer recognises those it
 * knows, and learns nothing of the others.
 */
export function maskAnswers(app: FastifyInstance): void {
  app.addHook('preSerialization', async (request, _reply, payload) => {
    const { isConfiguration, masksAddresses, masksAtConsole } = request.routeOptions.config
    if (isViewer(request)) return isConfiguration ? payload : withoutPeople(payload)
    const isMasked = masksAddresses || (masksAtConsole && request.caller?.session)
    return isMasked ? masked(payload, '', null) : payload
  })
}

/** What a route says whose people the console shows masked to everybody. */
export const MASKED_AT_CONSOLE = { config: { masksAtConsole: true } }

/** An answer as a viewer may see it. */
export function withoutPeople(answer: unknown): unknown {
  // What is known of one item's people is looked for in that item alone.
  if (isRecord(answer) && Array.isArray(answer['items']))
    return { ...answer, items: answer['items'].map((item: unknown) => masked(item, '', coverFor(item))) }
  return masked(answer, '', coverFor(answer))
}

/** Replaces in text what would tell of a person. */
type Cover = (text: string) => string

const ADDRESS_FIELDS = ['email', 'phone', 'deviceToken', 'url'] as const satisfies (keyof Address)[]
/** Lists of bare addresses. */
const TARGETS = new Set(['bcc', 'resolvedTargets', 'recipient'])
/** The ids by which a host knows people; some know them by their addresses. */
const PERSON_IDS = ['userId', 'profileId'] as const
/** What was written to somebody, or said of them by a vendor or an operator, who may be named in any word. */
const WORDS = new Set(['subject', 'body', 'answer', 'note'])
/** What the host knows of somebody, under names of its own. */
const FACTS = new Set(['payload', 'data', 'providerTemplate'])
/** An account's, which `settingsSeenBy` has seen to. */
const SETTINGS = 'settings'
const HIDDEN = '***'

/** `cover`: null where only addresses are masked, and neither words nor facts. */
function masked(value: unknown, key: string, cover: Cover | null): unknown {
  if (typeof value === 'string') {
    if (TARGETS.has(key)) return maskTarget(value)
    if (cover === null) return value
    return WORDS.has(key) ? HIDDEN : cover(value)
  }
  if (Array.isArray(value)) {
    // Each for itself, or the work would grow with the square of the list.
    const isLong = cover !== null && value.length > LONG_LIST
    return value.map((item) => masked(item, key, isLong && isRecord(item) ? coverFor(item) : cover))
  }
  if (!isRecord(value) || key === SETTINGS) return value
  if (cover !== null && FACTS.has(key)) return hidden(value)
  const shown = Object.entries(value).map(([name, inner]) => [name, masked(inner, name, cover)] as const)
  const people = { ...maskAddress(personIn(value, key)), ...maskedAddress(value) }
  return { ...Object.fromEntries(shown), ...people, ...(cover !== null && Object.fromEntries(personalIds(value))) }
}

/** The ids of people in an object that are addresses themselves, masked. */
function personalIds(value: Record<string, unknown>): [(typeof PERSON_IDS)[number], string][] {
  return PERSON_IDS.flatMap((field) => {
    const id = value[field]
    const shown = typeof id === 'string' ? maskedId(id) : null
    return shown === null ? [] : [[field, shown] as const]
  })
}

/** Null where the id does not look like an address. Where it names a person, digits without a plus are a telephone number. */
function maskedId(id: string): string | null {
  if (EMAIL_WHOLE.test(id)) return maskAddress({ email: id }).email ?? HIDDEN
  return DIGITS_OF_PHONE.test(id) ? (maskAddress({ phone: id }).phone ?? HIDDEN) : null
}

/** What of an object is a person: what somebody is sent to, is called, or is recognised by. */
function personIn(value: Record<string, unknown>, key: string): Address {
  if (key !== 'to' && key !== 'recipients' && !('email' in value) && !('phone' in value)) return {}
  const fields = (['name', ...ADDRESS_FIELDS] as const).map((field) => [field, value[field]] as const)
  return Object.fromEntries(fields.filter(([, found]) => typeof found === 'string'))
}

/** A lone address, with the channel that says what kind it is. */
function loneAddress({ channel, address }: Record<string, unknown>): Address {
  return typeof address === 'string' && isChannel(channel) ? { [addressField(channel)]: address } : {}
}

function maskedAddress(value: Record<string, unknown>): { address?: string } {
  const [address] = Object.values<string | undefined>({ ...maskAddress(loneAddress(value)) })
  return address === undefined ? {} : { address }
}

/**
 * Most targets are members of a list, by email or telephone. One that a vendor did not name has nothing to hide, and one
 * that was masked where it was written down nothing more.
 */
function maskTarget(target: string): string {
  if (target === 'unknown' || (target.includes(HIDDEN) && !target.includes('@'))) return target
  return (target.includes('@') ? maskAddress({ email: target }).email : maskAddress({ phone: target }).phone) ?? HIDDEN
}

/** A fact can be called anything and be anything: what is no date, small number or truth is hidden. */
function hidden(value: unknown): unknown {
  if (typeof value === 'string') {
    if (EMAIL_WHOLE.test(value)) return maskAddress({ email: value }).email
    if (DATE.test(value) || SMALL_NUMBER.test(value) || value === '') return value
    return PHONE_WHOLE.test(value) ? maskAddress({ phone: value }).phone : maskAddress({ name: value }).name
  }
  if (typeof value === 'number') return Math.abs(value) < 1e6 ? value : HIDDEN
  if (Array.isArray(value)) return value.map(hidden)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [nameOfFact(name), hidden(inner)]))
}

/** What a program would call a fact; anything else may be somebody's name. */
const FACT_NAME = /^[A-Za-z_][\w.-]{0,62}$/
function nameOfFact(name: string): string {
  return FACT_NAME.test(name) || coverForms(name) !== name ? coverForms(name) : HIDDEN
}

const EMAIL_WHOLE = /^[^\s@]+@[^\s@]+$/
const DIGITS_OF_PHONE = /^\d{9,15}$/
const PHONE_WHOLE = /^\+?[\d ()-]{7,20}$/
const DATE = /^\d{4}-\d\d-\d\d(?:[T ][\d:.]{5,12}(?:Z|[+-]\d\d:?\d\d)?)?$/
const SMALL_NUMBER = /^-?\d{1,6}(?:[.,]\d{1,6})?$/

/**
 * Covers the people that an answer names, as they stand, as keys of ours write them and as vendors do, and whatever has
 * the form of an address.
 */
function coverFor(answer: unknown): Cover {
  const covers = new Map<string, string>()
  const names = new Set<string>()
  for (const person of peopleIn(answer, '')) {
    if (covers.size >= MOST_COVERED) break
    if ('shown' in person) {
      for (const form of formsOf(person.id)) covers.set(form, person.shown)
      continue
    }
    const shown = maskAddress(person)
    for (const field of ADDRESS_FIELDS) {
      const address = person[field]
      if (!address) continue
      // Vendors leave the plus of a telephone number out.
      for (const form of formsOf(address)) covers.set(form, shown[field] ?? HIDDEN)
      if (field === 'phone') covers.set(address.replace(/^\+/, ''), shown.phone ?? HIDDEN)
    }
    if (person.name && person.name.length >= SHORTEST_NAME) {
      covers.set(person.name.toLowerCase(), shown.name ?? HIDDEN)
      names.add(person.name.toLowerCase())
    }
  }
  if (covers.size === 0) return coverForms
  const forms = [...covers.keys()].filter((form) => form !== '').toSorted((a, b) => b.length - a.length)
  const written = forms.map((form) =>
    names.has(form) ? `(?<![\\p{L}\\p{N}])${escaped(form)}(?![\\p{L}\\p{N}])` : escaped(form),
  )
  const people = new RegExp(written.join('|'), 'giu')
  return (text) => coverForms(text.replace(people, (found) => covers.get(found.toLowerCase()) ?? HIDDEN))
}

/** As it stands, as keys of ours write it, and as paths do. */
function formsOf(address: string): string[] {
  const forms = [address, escapedKeyPart(address), encodeURIComponent(address.toWellFormed())]
  return forms.map((form) => form.toLowerCase())
}

/** Of an event with very many recipients; those that are not looked for in words are masked all the same. */
const MOST_COVERED = 200
/** In the elements of a longer list only the people that they name themselves are looked for. */
const LONG_LIST = 20
/** A shorter one would be found in the middle of sentences. */
const SHORTEST_NAME = 3

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

function* peopleIn(value: unknown, key: string): Generator<Address | { id: string; shown: string }> {
  if (Array.isArray(value)) for (const item of value) yield* peopleIn(item, key)
  else if (typeof value === 'string' && TARGETS.has(key))
    yield value.includes('@') ? { email: value } : { phone: value }
  else if (isRecord(value) && !FACTS.has(key)) {
    yield personIn(value, key)
    for (const [field, shown] of personalIds(value)) yield { id: String(value[field]), shown }
    yield loneAddress(value)
    for (const [name, inner] of Object.entries(value)) yield* peopleIn(inner, name)
  }
}

/** Of any script. A path writes the @ as `%40`. */
const EMAIL =
  /[\p{L}\p{N}\p{M}_.!#$%&'*+/=?^`{|}~-]{1,64}(?:@|%40)[\p{L}\p{N}\p{M}-]{1,63}(?:\.[\p{L}\p{N}\p{M}-]{1,63})+/giu
/** With the signs that people put between the digits. */
const PHONE = /(?<!\w)\+[1-9](?:[ ().-]{0,2}\d){6,14}(?!\d)/g
/** Meta's message ids are base64, and begin with the recipient's telephone number; their end tells them apart. */
const META_ID = /\bwamid\.[A-Za-z0-9+/=_-]*?([A-Za-z0-9+/=_-]{0,10})(?![A-Za-z0-9+/=_-])/g
/** In a sentence; elsewhere it is more likely an id, a time or a link of ours. */
const BARE_PHONE = /(?<![\w.-])\d{9,15}(?![\w-])/g
const LINK = /https?:\/\/[^\s"'<>]+/gi

function coverForms(text: string): string {
  const covered = text
    .replace(EMAIL, (email) => maskAddress({ email: email.replace(/%40/, '@') }).email ?? HIDDEN)
    .replace(PHONE, (phone) => maskAddress({ phone }).phone ?? HIDDEN)
    .replace(META_ID, `wamid.${HIDDEN}$1`)
  if (!covered.includes(' ')) return covered
  return covered
    .replace(LINK, (url) => maskAddress({ url }).url ?? HIDDEN)
    .replace(BARE_PHONE, (phone) => maskAddress({ phone }).phone ?? HIDDEN)
}

/**
 * An account's settings as somebody may see them who cannot change them: of URLs only the host, because many carry their
 * secret in the path, and nothing of what should have been a secret and was saved before that was refused.
 */
export function settingsSeenBy({ key }: ApiCaller, settings: Record<string, unknown>): Record<string, unknown> {
  if (TO_ADMINISTER.some((role) => role === key.role)) return settings
  return withoutPaths(settings) as Record<string, unknown>
}

function withoutPaths(value: unknown): unknown {
  if (typeof value === 'string') return /^https?:/i.test(value) ? maskAddress({ url: value }).url : value
  if (Array.isArray(value)) return value.map(withoutPaths)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, soundsSecret(name) ? HIDDEN : withoutPaths(inner)]),
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)
}

/** Whether whoever asks may see nobody's name or address. */
export function isViewer({ caller }: FastifyRequest): boolean {
  return caller?.key.role === 'viewer'
}
