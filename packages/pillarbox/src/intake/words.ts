import type { EventType } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import { bestByLocale } from '../model/locale.ts'
import type { Content, NewNotification, SealedContent, Warning } from '../model/notification.ts'
import { textOf, valueAt } from '../model/path.ts'
import type { Clock } from '../model/ports.ts'
import type { Address } from '../model/recipient.ts'
import type { Template } from '../model/template.ts'
import type { Tenant } from '../model/tenant.ts'
import { looksLikeHtml, type Renderer } from '../render/render.ts'
import { renderOptions } from '../render/render-options.ts'
import { isSealedContent, type PayloadSeal } from '../security/payload-seal.ts'
import { redact } from '../security/redact.ts'
import type { Store } from '../store/store.ts'

/** A notification's words: its own, those of a template, or those that planning would choose for an event type. */
export interface WordsBody {
  channel: Channel
  subject?: string | null
  body?: string | null
  data?: Record<string, unknown> | null
  templateId?: string | null
  eventType?: string | null
  context?: Record<string, unknown> | null
  locale?: string | null
}

export interface WordsDeps {
  store: Pick<Store, 'templates' | 'catalogue' | 'tenants'>
  renderer: Renderer
  payloadSeal: PayloadSeal
  clock: Clock
}

/** Where the words come from, known before it is known on which channel they go. */
export interface WordsSource {
  /** The channels there are words for; null: the same words do for every channel. */
  channels: ReadonlySet<Channel> | null
  /** Throws a `PillarboxError` that says why where the words cannot be made. */
  on(channel: Channel, notificationId: string, recipient: WordsRecipient): Said
}

/** Whom the words are for: known to templates as `recipient`, as in planning. */
export interface WordsRecipient {
  to: Address
  locale: string | null
}

/** What a notification says, and what follows from it. */
export type Said = Pick<NewNotification, 'eventType' | 'templateId' | 'templateVersion' | 'locale' | 'policy'> & {
  content: Content | SealedContent
  warnings: Warning[]
}

/** Fields that are missing or do not go together. */
export function wordsProblems(body: WordsBody): FieldError[] {
  const given = (['body', 'templateId', 'eventType'] as const).filter((field) => isGiven(body[field]))
  if (given.length === 0) return [{ path: '/body', message: 'is required, or templateId or eventType in its place' }]
  const [source, ...others] = given
  const problems = others.map((field) => ({ path: `/${field}`, message: `cannot stand beside ${source}` }))
  if (source !== 'body' && isGiven(body.subject))
    problems.push({ path: '/subject', message: `is the template’s: it cannot stand beside ${source}` })
  if (source === 'body')
    for (const field of ['context', 'locale'] as const)
      if (isGiven(body[field])) problems.push({ path: `/${field}`, message: 'needs templateId or eventType' })
  return problems
}

/** Finds words for the notifications of one call: what several of them need is read once. */
export function createWordsFinder(deps: WordsDeps, tenantId: string) {
  const { store } = deps
  const known = new Map<string, Promise<unknown>>()
  function once<T>(key: string, read: () => Promise<T>): Promise<T> {
    const found = known.get(key) ?? read()
    known.set(key, found)
    return found as Promise<T>
  }
  const tenant = (): Promise<Tenant | null> => once('tenant', () => store.tenants.find(tenantId))
  const eventType = (name: string): Promise<EventType | null> =>
    once(`type ${name}`, () => store.catalogue.eventType(tenantId, name))
  const defaultLocale = (): Promise<string | null> =>
    once('locale', async () => (await store.catalogue.current(tenantId))?.defaultLocale ?? null)

  async function ofTemplate(body: WordsBody, id: string): Promise<WordsSource> {
    const template = await once(`template ${id}`, () => store.templates.find(tenantId, id))
    if (!template) throw wrong('/templateId', 'is not a template of this tenant')
    if (!template.isActive) throw wrong('/templateId', 'is not active')
    if (template.channel !== body.channel) throw wrong('/templateId', `is a template for ${template.channel}`)
    const [of, type] = await Promise.all([tenant(), eventType(template.eventType)])
    const render = renderer({ ...deps, tenantId, tenant: of, type }, body)
    return { channels: null, on: (_channel, notificationId, { to }) => render(template, notificationId, to) }
  }

  async function ofEventType(body: WordsBody, name: string): Promise<WordsSource> {
    const [of, type, catalogueLocale] = await Promise.all([tenant(), eventType(name), defaultLocale()])
    if (!type)
      throw new PillarboxError('unknown_event_type', `The catalogue has no event type "${name}".`, {
        errors: [{ path: '/eventType', message: 'is not an event type of the catalogue' }],
      })
    const all = await once(`templates ${name}`, () => store.templates.ofEventType(tenantId, name))
    const active = all.filter(({ isActive }) => isActive)
    if (active.length === 0) throw wrong('/eventType', 'has no active template')
    const render = renderer({ ...deps, tenantId, tenant: of, type }, body)
    return {
      channels: new Set(active.map(({ channel }) => channel)),
      on(channel, notificationId, { to, locale }) {
        const candidates = inScope(
          active.filter((template) => template.channel === channel),
          type,
          body.context ?? {},
        )
        const wanted = [body.locale, locale, of?.defaultLocale, catalogueLocale]
        const template = bestByLocale(candidates, wanted)
        if (!template) throw wrong('/eventType', `has no active template for ${channel}`)
        return render(template, notificationId, to)
      },
    }
  }

  return {
    /** Throws a `PillarboxError` where the source is unknown. A body with its own words is answered at once. */
    sourceOf(body: WordsBody): WordsSource | Promise<WordsSource> {
      if (isGiven(body.templateId)) return ofTemplate(body, body.templateId)
      if (isGiven(body.eventType)) return ofEventType(body, body.eventType)
      return { channels: null, on: (channel) => ownWords(body, channel) }
    },
  }
}

/** The caller's own words are the whole message: there is nothing in them that somebody else has put there. */
function ownWords({ subject, body, data }: WordsBody, channel: Channel): Said {
  const nothing = { eventType: null, templateId: null, templateVersion: null, locale: null, policy: null }
  const words = { subject: subject ?? null, body: body ?? '', data: data ?? {} }
  const isHtml = channel === 'email' && looksLikeHtml(words.body)
  return { ...nothing, content: { ...words, ...(isHtml && { isHtml }) }, warnings: [] }
}

interface Rendering extends WordsDeps {
  tenantId: string
  tenant: Tenant | null
  /** Null: the catalogue no longer has the template's event type. */
  type: EventType | null
}

type RenderTemplate = (template: Template, notificationId: string, to: Address) => Said

/**
 * Renders each template once, however many notifications say it, unless it speaks of the recipient or of secrets:
 * sealed words belong to one notification each.
 */
function renderer(deps: Rendering, body: WordsBody): RenderTemplate {
  const rendered = new Map<string, Said>()
  return (template, notificationId, to) => {
    const known = rendered.get(template.id)
    if (known) return known
    const said = render(deps, body, template, notificationId, to)
    const { subject, body: text, providerTemplate } = template
    const isForAll = !/recipient/i.test(JSON.stringify([subject, text, providerTemplate]))
    if (isForAll && !isSealedContent(said.content)) rendered.set(template.id, said)
    return said
  }
}

/** The same code as planning's; secrets of the context are treated like an event's. */
export function render(
  deps: Rendering,
  body: WordsBody,
  template: Template,
  notificationId: string,
  to: Address,
): Said {
  const { tenantId, tenant, type, payloadSeal } = deps
  if (!tenant) throw new PillarboxError('not_found', 'There is no such tenant.')
  const payload = body.context ?? {}
  const opened = payloadSeal.openPayload({ tenantId, id: notificationId, payload }, type?.secrets ?? [])
  if ('problem' in opened) throw wrong(`/context${opened.problem.path}`, opened.problem.message)
  const options = { ...renderOptions(tenant, type, template.locale), now: deps.clock.now() }
  const rendered = deps.renderer.render(template, template.channel, withRecipient(opened.payload, to), options)
  if ('error' in rendered) {
    const message = redact(rendered.error, opened.secrets)
    throw new PillarboxError('invalid_template', `The template cannot be rendered: ${message}`, {
      errors: [{ path: isGiven(body.templateId) ? '/templateId' : '/eventType', message }],
    })
  }
  // As in planning: whatever is made from secrets is sealed, whether one stands in it or not.
  const isSecret = (type?.secrets.length ?? 0) > 0 || opened.payload !== payload
  const content: Content = {
    subject: rendered.subject,
    body: rendered.body,
    data: body.data ?? {},
    ...(rendered.isHtml && { isHtml: true }),
    ...(rendered.providerTemplate && { providerTemplate: rendered.providerTemplate }),
  }
  return {
    content: isSecret ? payloadSeal.sealContent(content, opened.secrets, { tenantId, notificationId }) : content,
    eventType: template.eventType,
    templateId: template.id,
    templateVersion: template.version,
    locale: template.locale,
    policy: policyOf(type),
    warnings: rendered.warnings,
  }
}

function withRecipient(context: Record<string, unknown>, { name, email, phone }: Address): Record<string, unknown> {
  if (Object.hasOwn(context, 'recipient')) return context
  return { ...context, recipient: { ...(name && { name }), ...(email && { email }), ...(phone && { phone }) } }
}

/** Templates of the narrowest scope that the context is in; those without a scope where there is none. */
function inScope(templates: readonly Template[], type: EventType, context: Record<string, unknown>): Template[] {
  for (const { type: scope, path } of type.scopes) {
    const id = textOf(valueAt(context, path))
    const within = templates.filter((template) => template.scope?.type === scope && template.scope.id === id)
    if (within.length) return within
  }
  return templates.filter((template) => template.scope === null)
}

function policyOf(type: EventType | null): NewNotification['policy'] {
  const retry = type?.retry ?? null
  const onUndeliverable = type?.onUndeliverable ?? null
  if (retry === null && onUndeliverable === null) return null
  return { ...(retry !== null && { retry }), ...(onUndeliverable !== null && { onUndeliverable }) }
}

function wrong(path: string, message: string): PillarboxError {
  return new PillarboxError('invalid_body', `${path} ${message}.`, { errors: [{ path, message }] })
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}
