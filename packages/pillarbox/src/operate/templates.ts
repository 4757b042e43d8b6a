import type { EventType } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import { changedMeanwhile, type FieldError, found, invalidBody, PillarboxError } from '../model/errors.ts'
import type { Warning } from '../model/notification.ts'
import type { IdSource } from '../model/ports.ts'
import type { NewTemplate, Template } from '../model/template.ts'
import type { Tenant } from '../model/tenant.ts'
import { formatProblem } from '../render/body-format.ts'
import { onlyWords, type Preview, type TemplateWords } from '../render/render.ts'
import { knownPaths, renderOptions } from '../render/render-options.ts'
import type { Store } from '../store/store.ts'
import { answerOf, type Untrusted } from '../untrusted/untrusted.ts'
import type { Operator } from './operator.ts'

/** What a template says and where it applies. */
export type TemplateFields = Omit<NewTemplate, 'id' | 'tenantId'>

interface TemplateDeps {
  store: Pick<Store, 'templates' | 'catalogue'>
  untrusted: Untrusted
}

/** A template with the event type that it is for; null where the catalogue no longer has it. */
export interface SavedTemplate {
  template: Template
  eventType: EventType | null
}

export async function makeTemplate(
  { store, untrusted, ids }: TemplateDeps & { ids: IdSource },
  { tenantId, actor }: Operator,
  fields: TemplateFields,
): Promise<SavedTemplate> {
  await refuseUnusable(untrusted, tenantId, fields)
  const eventType = await eventTypeOf(store, tenantId, fields.eventType)
  const template = await store.templates.insert({ id: ids(), tenantId, ...fields }, actor)
  if (!template) throw placeTaken()
  return { template, eventType }
}

/** Changes what is named. Whoever names a `version` is refused where the template is at another by now. */
export async function changeTemplate(
  { store, untrusted }: TemplateDeps,
  { tenantId, actor }: Operator,
  current: Template,
  { version, ...changes }: Partial<TemplateFields> & { version?: number | undefined },
): Promise<SavedTemplate> {
  await refuseUnusable(untrusted, tenantId, { ...current, ...changes })
  // One whose event type has left the catalogue can still be corrected, or switched off.
  const eventType =
    changes.eventType === undefined
      ? await store.catalogue.eventType(tenantId, current.eventType)
      : await eventTypeOf(store, tenantId, changes.eventType)
  const template = await store.templates.update(tenantId, current.id, changes, actor, version)
  if (template === 'stale') throw changedMeanwhile(version)
  if (template === 'taken') throw placeTaken()
  return { template: found(template), eventType }
}

/** One that notifications were made from is switched off instead, and answered. */
export async function removeTemplate(
  { templates }: Pick<Store, 'templates'>,
  { tenantId, actor }: Operator,
  id: string,
): Promise<Template | null> {
  const answer = found(await templates.remove(tenantId, id, actor))
  return answer === 'removed' ? null : answer
}

function placeTaken(): PillarboxError {
  return new PillarboxError('already_exists', 'There is a template for the same event type, channel, locale and scope.')
}

/** The event type a template is for. Throws `unknown_event_type` where the catalogue has none of that name. */
export async function eventTypeOf(
  { catalogue }: Pick<Store, 'catalogue'>,
  tenantId: string,
  name: string,
): Promise<EventType> {
  const eventType = await catalogue.eventType(tenantId, name)
  if (eventType) return eventType
  throw new PillarboxError('unknown_event_type', `The catalogue has no event type "${name}".`, {
    errors: [{ path: '/eventType', message: 'is not an event type of the catalogue' }],
  })
}

async function refuseUnusable(untrusted: Untrusted, tenantId: string, template: TemplateFields): Promise<void> {
  await refuseUnreadable(untrusted, tenantId, template)
  const message = formatProblem(template.channel, template.format)
  if (message !== null) throw invalidBody([{ path: '/format', message }])
}

/** Throws `invalid_template` with each part that cannot be read. */
export async function refuseUnreadable(untrusted: Untrusted, tenantId: string, template: TemplateWords): Promise<void> {
  const [result] = await untrusted.run('templateProblems', [{ tenantId, template: onlyWords(template) }], tenantId)
  const errors = answerOf(result, (message) => [{ path: '', message }])
  if (errors.length) throw invalidTemplate(errors)
}

function invalidTemplate(errors: FieldError[]): PillarboxError {
  const [first] = errors
  return new PillarboxError('invalid_template', `${first?.path || 'The template'}: ${first?.message}`, { errors })
}

/** What was saved, and probably was not meant, for each template. */
export async function templateWarnings(
  untrusted: Untrusted,
  tenantId: string,
  saved: readonly { template: CheckedTemplate; eventType: EventType | null }[],
): Promise<Warning[][]> {
  const asked = saved.map(({ template, eventType }) => {
    return { tenantId, template: onlyWords(template), knownPaths: eventType && knownPaths(eventType) }
  })
  const results = await untrusted.run('unknownPlaceholders', asked, tenantId)
  return saved.map(({ template, eventType }, i) =>
    warningsOf(
      template,
      eventType,
      answerOf(results[i], () => []),
    ),
  )
}

type CheckedTemplate = Pick<TemplateFields, 'eventType' | 'channel' | 'scope' | keyof TemplateWords>

function warningsOf(template: CheckedTemplate, eventType: EventType | null, unknown: Preview['unknown']): Warning[] {
  if (!eventType) {
    const message = `The catalogue has no event type ${template.eventType}: nothing is made from this template.`
    return [{ code: 'unknown_event_type', key: template.eventType, message }]
  }
  const warnings = unknownWarnings(unknown)
  const { channel, scope } = template
  const { delivery } = eventType
  if (delivery.kind === 'none' || (delivery.kind !== 'all' && !delivery.channels.includes(channel))) {
    const message = `${eventType.name} is not delivered on ${channel} unless an event asks for it.`
    warnings.push({ code: 'unused_channel', key: channel, message })
  }
  if (scope && !eventType.scopes.some(({ type }) => type === scope.type)) {
    const message = `${eventType.name} has no scope ${scope.type}: nothing is made from this template.`
    warnings.push({ code: 'unknown_scope', key: scope.type, message })
  }
  if (lacksSubject(template))
    warnings.push({
      code: 'missing_subject',
      message: 'This email has no subject: give it one, or it looks like spam.',
    })
  return warnings
}

/** An email without a subject is sent all the same. */
function lacksSubject({ channel, subject }: { channel: Channel; subject: string | null }): boolean {
  return channel === 'email' && (subject ?? '').trim() === ''
}

export interface TemplatePreview extends Omit<Preview, 'unknown' | 'warnings'> {
  /** Keys that the event type's payload does not have. */
  unknown: string[]
  warnings: Warning[]
}

/** The words as they would be sent, by the code that sends them. Throws `invalid_template` where they could not be. */
export async function previewTemplate(
  untrusted: Untrusted,
  {
    words,
    channel,
    context,
    locale,
    tenant,
    eventType,
    now,
  }: {
    words: TemplateWords
    channel: Channel
    context: Record<string, unknown>
    locale: string
    tenant: Tenant
    eventType: EventType | null
    now: number
  },
): Promise<TemplatePreview> {
  await refuseUnreadable(untrusted, tenant.id, words)
  const options = {
    ...renderOptions(tenant, eventType, locale),
    now,
    knownPaths: eventType && knownPaths(eventType),
  }
  const asked = { tenantId: tenant.id, template: onlyWords(words), channel, context, options }
  const [result] = await untrusted.run('preview', [asked], tenant.id)
  const rendered = answerOf(result, (error) => ({ error }))
  if ('error' in rendered) throw invalidTemplate([{ path: '', message: rendered.error }])
  return {
    ...rendered,
    unknown: rendered.unknown.map(({ key }) => key),
    warnings: [...unknownWarnings(rendered.unknown), ...rendered.warnings],
  }
}

function unknownWarnings(unknown: Preview['unknown']): Warning[] {
  return unknown.map(({ key, suggestion }) => ({
    code: 'unknown_placeholder',
    key,
    message: `The payload has no ${key}${suggestion === null ? '.' : `; did you mean ${suggestion}?`}`,
  }))
}
