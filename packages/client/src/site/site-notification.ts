import type { EntityRef, Instant } from '../event.ts'
import { CHANNELS, type Channel } from '../event-rules.ts'
import { jsonCopy, type Problem } from '../json-text.ts'

/** Whom a notification of a site goes to: what the channel needs. */
export interface SiteRecipient {
  name?: string | null
  email?: string | null
  phone?: string | null
  deviceToken?: string | null
  platform?: 'fcm' | 'wns' | null
  userId?: string | null
  url?: string | null
  contactId?: string | null
  /** A recipient list by name. */
  list?: string | null
}

/** One notification as somebody sends it at a site. */
export interface SiteNotification {
  /** A UUID. Default: a new one. Repeating it sends nothing twice. */
  notificationId?: string
  /** Whom it goes to; or `list`. */
  to?: SiteRecipient
  /** The name of a recipient list, which is looked up when it is delivered. */
  list?: string
  /** Default: email. */
  channel?: Channel
  subject?: string | null
  body?: string | null
  format?: 'text' | 'html' | null
  data?: Record<string, unknown> | null
  /** In place of subject and body: a template, or an event type whose template is chosen. */
  templateId?: string | null
  eventType?: string | null
  context?: Record<string, unknown> | null
  locale?: string | null
  entity?: EntityRef | null
  /** Not before this time. */
  dueAt?: Instant | null
  /** Not after this time: then it is reported as expired, and not sent. */
  expiresAt?: Instant | null
  fallback?: readonly Channel[] | null
  correlationId?: string | null
  executionId?: string | null
  parentExecutionId?: string | null
  /** Handed off before whatever waits that is not urgent. */
  urgent?: boolean
}

/** What is wrong with a notification, field by field. Nothing was kept of it. */
export class InvalidSiteNotificationError extends Error {
  override readonly name = 'InvalidSiteNotificationError'
  readonly errors: readonly Problem[]

  constructor(errors: readonly Problem[]) {
    const [first] = errors
    super(`${first?.path || 'the notification'} ${first?.message ?? 'is wrong'}`)
    this.errors = errors
  }
}

/** What the buffer keeps of a notification. */
export interface CheckedNotification {
  notificationId: string
  isUrgent: boolean
  expiresAt: number | null
  /** What is handed off of it, but for its id and number, as JSON. */
  text: string
}

const FIELDS = new Set<keyof SiteNotification>([
  'notificationId',
  'to',
  'list',
  'channel',
  'subject',
  'body',
  'format',
  'data',
  'templateId',
  'eventType',
  'context',
  'locale',
  'entity',
  'dueAt',
  'expiresAt',
  'fallback',
  'correlationId',
  'executionId',
  'parentExecutionId',
  'urgent',
])

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** What a server takes in one request leaves room for more than one of these. */
const MAX_BYTES = 1_048_576

/**
 * Looks at what can be judged without the server, which knows templates, lists and contacts: whoever sends hears at once of
 * what would be refused for certain. Throws `InvalidSiteNotificationError`.
 */
export function checkNotification(given: unknown, newId: () => string): CheckedNotification {
  const errors: Problem[] = []
  const report = (path: string, message: string): void => void errors.push({ path, message })
  const copy = jsonCopy(given, '', report) as Record<string, unknown> | null
  if (errors.length > 0) throw new InvalidSiteNotificationError(errors)
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy))
    throw new InvalidSiteNotificationError([{ path: '', message: 'must be an object' }])
  for (const name of Object.keys(copy))
    if (!FIELDS.has(name as keyof SiteNotification)) report(`/${name.slice(0, 100)}`, 'is not a known field')
  const { notificationId, urgent, ...item } = copy
  const ownId = typeof notificationId === 'string' ? notificationId.toLowerCase() : ''
  const id = isGiven(notificationId) ? ownId : newId()
  if (!UUID.test(id)) report('/notificationId', 'must be a UUID')
  if (urgent !== undefined && urgent !== null && typeof urgent !== 'boolean') report('/urgent', 'must be true or false')
  const { to, list, channel, body, templateId, eventType } = item
  if (isGiven(to) === isGiven(list)) report('/to', 'or list must be given, and not both')
  if (isGiven(to) && (typeof to !== 'object' || Array.isArray(to))) report('/to', 'must be an object')
  if (isGiven(list) && (typeof list !== 'string' || list === ''))
    report('/list', 'must be the name of a recipient list')
  if (isGiven(channel) && !CHANNELS.some((known) => known === String(channel).toLowerCase()))
    report('/channel', `must be one of ${CHANNELS.join(', ')}`)
  if (!isGiven(body) && !isGiven(templateId) && !isGiven(eventType))
    report('/body', 'must be given, or a templateId or eventType')
  for (const name of ['subject', 'body'])
    if (isGiven(item[name]) && typeof item[name] !== 'string') report(`/${name}`, 'must be text')
  const [dueAt, expiresAt] = [instantOf('dueAt'), instantOf('expiresAt')]
  const text = JSON.stringify({ ...item, ...(dueAt !== null && { dueAt }), ...(expiresAt !== null && { expiresAt }) })
  if (Buffer.byteLength(text) > MAX_BYTES) report('', `must not be larger than ${MAX_BYTES} bytes as JSON`)
  if (errors.length > 0) throw new InvalidSiteNotificationError(errors)
  return {
    notificationId: id,
    isUrgent: urgent === true,
    expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
    text,
  }

  /** In the one form that a server takes. */
  function instantOf(name: string): string | null {
    const value = item[name]
    if (!isGiven(value)) return null
    const ms = typeof value === 'string' || typeof value === 'number' ? new Date(value).getTime() : Number.NaN
    if (Number.isNaN(ms)) report(`/${name}`, 'must be a time, such as 2026-03-15T09:30:00Z')
    return Number.isNaN(ms) ? null : new Date(ms).toISOString()
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
