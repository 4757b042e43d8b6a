import { CHANNELS, type Channel, isChannel } from './channel.ts'
import { parseDuration } from './duration.ts'
import type { FieldError } from './errors.ts'

/** Where one recipient's fields stand in the payload: dot paths. */
export interface RecipientPaths {
  phone?: string
  email?: string
  name?: string
  locale?: string
  profileId?: string
  userId?: string
  deviceToken?: string
  url?: string
}

export type Delivery =
  | { kind: 'all' }
  | { kind: 'channels'; channels: Channel[] }
  | { kind: 'fallback'; channels: Channel[] }

/** What an event of this type means: who receives it, when, and on which channels. */
export interface EventType {
  name: string
  entity: string
  once: 'per-entity' | 'per-event'
  recipients: RecipientPaths[]
  delivery: Delivery
  /** How long after the event its notifications are due. */
  afterMs: number
}

export interface TemplateSeed {
  eventType: string
  channel: Channel
  locale: string
  subject: string | null
  body: string
}

export interface Catalogue {
  name: string
  defaultLocale: string
  /** Singular → plural, e.g. booking → bookings. */
  entities: Record<string, string>
  eventTypes: EventType[]
  templates: TemplateSeed[]
}

export const EVENT_TYPE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/
const LOCALE = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/
const PATH = /^[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*$/
const RECIPIENT_FIELDS = ['phone', 'email', 'name', 'locale', 'profileId', 'userId', 'deviceToken', 'url'] as const

/** Reads a catalogue from parsed YAML or JSON. Answers every problem with its path; never throws on bad input. */
export function parseCatalogue(value: unknown): { catalogue: Catalogue } | { problems: FieldError[] } {
  const problems: FieldError[] = []
  const wrong = (path: string, message: string): undefined => void problems.push({ path, message })

  const root = record(value)
  if (!root) return { problems: [{ path: '', message: 'must be an object with eventTypes' }] }
  onlyKeys(root, ['name', 'defaultLocale', 'entities', 'eventTypes'], '', wrong)
  const name = string(root['name'] ?? 'catalogue', '/name', /^[\w-]{1,63}$/, wrong, 'catalogue')
  const defaultLocale = string(root['defaultLocale'], '/defaultLocale', LOCALE, wrong, 'en')
  const entities: Record<string, string> = {}
  const plurals = record(root['entities'] ?? {})
  if (!plurals) wrong('/entities', 'must be an object of singular: plural')
  for (const [singular, plural] of Object.entries(plurals ?? {}))
    entities[singular] = string(plural, `/entities/${singular}`, /^[a-z][a-z0-9-]{0,62}$/, wrong, singular)

  const eventTypes: EventType[] = []
  const templates: TemplateSeed[] = []
  const types = record(root['eventTypes'])
  if (!types || Object.keys(types).length === 0) wrong('/eventTypes', 'must be an object with at least one event type')
  for (const [type, entry] of Object.entries(types ?? {})) {
    const path = `/eventTypes/${type}`
    const json = record(entry)
    if (!EVENT_TYPE_NAME.test(type)) wrong(path, 'must be named with letters, digits, ".", "_" and "-" only')
    if (!json) {
      wrong(path, 'must be an object')
      continue
    }
    onlyKeys(json, ['entity', 'once', 'recipients', 'delivery', 'timing', 'templates'], path, wrong)
    const once = json['once'] ?? 'per-entity'
    if (once !== 'per-entity' && once !== 'per-event') wrong(`${path}/once`, 'must be "per-entity" or "per-event"')
    eventTypes.push({
      name: type,
      entity: string(json['entity'], `${path}/entity`, /^[A-Za-z][\w-]{0,62}$/, wrong, 'entity'),
      once: once === 'per-event' ? 'per-event' : 'per-entity',
      recipients: recipientPaths(json['recipients'], `${path}/recipients`, wrong),
      delivery: delivery(json['delivery'], `${path}/delivery`, wrong),
      afterMs: timing(json['timing'], `${path}/timing`, wrong),
    })
    for (const [i, seed] of list(json['templates'], `${path}/templates`, wrong).entries()) {
      const at = `${path}/templates/${i}`
      const template = record(seed)
      if (!template) {
        wrong(at, 'must be an object')
        continue
      }
      onlyKeys(template, ['channel', 'locale', 'subject', 'body'], at, wrong)
      const { channel, subject, body } = template
      if (!isChannel(channel)) wrong(`${at}/channel`, `must be one of ${CHANNELS.join(', ')}`)
      if (typeof body !== 'string') wrong(`${at}/body`, 'must be text')
      if (subject !== undefined && typeof subject !== 'string') wrong(`${at}/subject`, 'must be text')
      templates.push({
        eventType: type,
        channel: isChannel(channel) ? channel : 'email',
        locale: string(template['locale'] ?? defaultLocale, `${at}/locale`, LOCALE, wrong, defaultLocale),
        subject: typeof subject === 'string' ? subject : null,
        body: typeof body === 'string' ? body : '',
      })
    }
  }
  return problems.length ? { problems } : { catalogue: { name, defaultLocale, entities, eventTypes, templates } }
}

type Wrong = (path: string, message: string) => undefined

function recipientPaths(value: unknown, path: string, wrong: Wrong): RecipientPaths[] {
  return list(value, path, wrong).map((entry, i) => {
    const json = record(entry)
    if (!json) {
      wrong(`${path}/${i}`, 'must be an object of dot paths into the payload')
      return {}
    }
    onlyKeys(json, RECIPIENT_FIELDS, `${path}/${i}`, wrong)
    const paths: RecipientPaths = {}
    for (const field of RECIPIENT_FIELDS)
      if (json[field] !== undefined) paths[field] = string(json[field], `${path}/${i}/${field}`, PATH, wrong, '')
    return paths
  })
}

function delivery(value: unknown, path: string, wrong: Wrong): Delivery {
  if (value === undefined) return { kind: 'all' }
  const json = record(value)
  const keys = Object.keys(json ?? {})
  if (json && keys.length === 1) {
    if (json['all'] === true) return { kind: 'all' }
    for (const kind of ['channels', 'fallback'] as const) {
      const channels = json[kind]
      if (Array.isArray(channels) && channels.length > 0 && channels.every(isChannel)) return { kind, channels }
    }
  }
  wrong(path, 'must be { all: true }, { channels: [...] } or { fallback: [...] } with known channels')
  return { kind: 'all' }
}

function timing(value: unknown, path: string, wrong: Wrong): number {
  if (value === undefined) return 0
  const json = record(value)
  const after = json?.['after']
  const ms = typeof after === 'string' ? parseDuration(after) : null
  if (!json || Object.keys(json).length !== 1 || ms === null)
    wrong(path, 'must be { after: <duration such as "PT24H"> }')
  return ms ?? 0
}

function record(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

function list(value: unknown, path: string, wrong: Wrong): unknown[] {
  if (value === undefined) return []
  if (Array.isArray(value)) return value
  wrong(path, 'must be a list')
  return []
}

function string(value: unknown, path: string, form: RegExp, wrong: Wrong, fallback: string): string {
  if (value === undefined) return fallback
  if (typeof value === 'string' && form.test(value)) return value
  wrong(path, `must match ${form.source}`)
  return fallback
}

function onlyKeys(json: Record<string, unknown>, known: readonly string[], path: string, wrong: Wrong): void {
  for (const key of Object.keys(json))
    if (!known.includes(key)) wrong(`${path}/${key}`, `is not one of ${known.join(', ')}`)
}
