import type { BodyFormat, EventType } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import type { Content } from '../model/notification.ts'
import type { WordsSource } from '../plan/compose.ts'
import { type ContextStore, readPlanContext } from '../plan/context-book.ts'
import { requestMessage, templateFor, type UnrenderedMessage } from '../plan/message.ts'
import { formatProblem, isHtmlBody, looksLikeHtml } from '../render/body-format.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'

/** A request's words: its own, those of a template, or those that planning would choose for an event type. */
export interface WordsBody {
  channel: Channel
  subject?: string | null
  body?: string | null
  /** Of `body`; absent or null: HTML where it is a mail and looks like it. */
  format?: BodyFormat | null
  data?: Record<string, unknown> | null
  templateId?: string | null
  eventType?: string | null
  context?: Record<string, unknown> | null
  locale?: string | null
}

export interface WordsDeps {
  store: ContextStore
  sealing: Pick<PayloadSeal, 'openPayload'>
}

/** Where a request's words come from, known before it is known on which channel they go. */
export interface RequestWords {
  /** The channels there are words for; null: the same words do for every channel. */
  channels: ReadonlySet<Channel> | null
  eventType: EventType['name'] | null
  /** Null where the words are the caller's own, or the catalogue no longer has the template's event type. */
  type: EventType | null
  /** Throws a `PillarboxError` where there is no template for the channel. */
  on(channel: Channel, recipientLocale: string | null): WordsSource
}

/** Fields that are missing or do not go together. */
export function wordsProblems(body: WordsBody): FieldError[] {
  const given = (['body', 'templateId', 'eventType'] as const).filter((field) => isGiven(body[field]))
  if (given.length === 0) return [{ path: '/body', message: 'is required, or templateId or eventType in its place' }]
  const [source, ...others] = given
  const problems = others.map((field) => ({ path: `/${field}`, message: `cannot stand beside ${source}` }))
  if (source !== 'body')
    for (const field of ['subject', 'format'] as const)
      if (isGiven(body[field]))
        problems.push({ path: `/${field}`, message: `is the template’s: it cannot stand beside ${source}` })
  const formatFault = formatProblem(body.channel, body.format ?? null)
  if (formatFault !== null) problems.push({ path: '/format', message: formatFault })
  if (source === 'body')
    for (const field of ['context', 'locale'] as const)
      if (isGiven(body[field])) problems.push({ path: `/${field}`, message: 'needs templateId or eventType' })
  return problems
}

/** Finds words for the notifications of one call: what several of them need is read once. */
export function createWordsFinder({ store, sealing }: WordsDeps, tenantId: string) {
  const known = new Map<string, Promise<unknown>>()
  function once<T>(key: string, read: () => Promise<T>): Promise<T> {
    const found = known.get(key) ?? read()
    known.set(key, found)
    return found as Promise<T>
  }

  async function messageOf(body: WordsBody, eventType: string): Promise<UnrenderedMessage> {
    const context = await once(`type ${eventType}`, () => readPlanContext(store, tenantId, eventType))
    return requestMessage(sealing, { tenantId, context: body.context ?? {}, locale: body.locale ?? null }, context)
  }

  async function ofTemplate(body: WordsBody, id: string): Promise<RequestWords> {
    const template = await once(`template ${id}`, () => store.templates.find(tenantId, id))
    if (!template) throw wrong('/templateId', 'is not a template of this tenant')
    if (!template.isActive) throw wrong('/templateId', 'is not active')
    if (template.channel !== body.channel) throw wrong('/templateId', `is a template for ${template.channel}`)
    const message = await messageOf(body, template.eventType)
    const words: WordsSource = { kind: 'template', template, message, data: body.data ?? {} }
    return { channels: null, eventType: template.eventType, type: message.context.eventType, on: () => words }
  }

  async function ofEventType(body: WordsBody, name: string): Promise<RequestWords> {
    const message = await messageOf(body, name)
    const { eventType: type, templates } = message.context
    if (!type)
      throw new PillarboxError('unknown_event_type', `The catalogue has no event type "${name}".`, {
        errors: [{ path: '/eventType', message: 'is not an event type of the catalogue' }],
      })
    if (templates.length === 0) throw wrong('/eventType', 'has no active template')
    return {
      channels: new Set(templates.map(({ channel }) => channel)),
      eventType: name,
      type,
      on(channel, recipientLocale) {
        const template = templateFor(message, channel, recipientLocale)
        if (!template) throw wrong('/eventType', `has no active template for ${channel}`)
        return { kind: 'template', template, message, data: body.data ?? {} }
      },
    }
  }

  return {
    /** Throws a `PillarboxError` where the template or the event type is unknown. */
    async wordsOf(body: WordsBody): Promise<RequestWords> {
      if (isGiven(body.templateId)) return ofTemplate(body, body.templateId)
      if (isGiven(body.eventType)) return ofEventType(body, body.eventType)
      return { channels: null, eventType: null, type: null, on: (channel) => ownWords(body, channel) }
    },
  }
}

/** The caller's own words are the whole message: there is nothing in them that somebody else has put there. */
function ownWords({ subject, body, format, data }: WordsBody, channel: Channel): WordsSource {
  const content: Content = { subject: subject ?? null, body: body ?? '', data: data ?? {} }
  // Only of a mail it is guessed: a page that shows an inbox would run what a caller passes on from its users.
  if (format ? isHtmlBody(channel, content.body, format) : channel === 'email' && looksLikeHtml(content.body))
    content.isHtml = true
  return { kind: 'content', content, from: null }
}

function wrong(path: string, message: string): PillarboxError {
  return new PillarboxError('invalid_body', `${path} ${message}.`, { errors: [{ path, message }] })
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}
