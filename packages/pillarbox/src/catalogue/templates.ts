import type { EventType, TemplateSeed } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import type { CatalogueReport, Findings } from './report.ts'
import { type EventTypeRemains, MAX_TEXT } from './schema.ts'

/** What is wrong with, and odd about, a template's words; paths are within the template. */
export type TemplateCheck = (template: TemplateSeed, type: EventType, path: string) => Findings

interface TemplatesOfType {
  /** Of the event type. */
  path: string
  type: EventType
  defaultLocale: string
  check: TemplateCheck | undefined
}

type TemplateRemains = NonNullable<EventTypeRemains['templates']>[number]

/** An event type's templates; reports what is wrong with each, and where they do not go with the type or each other. */
export function checkTemplates(
  report: CatalogueReport,
  documents: readonly TemplateRemains[],
  { path: typePath, type, defaultLocale, check }: TemplatesOfType,
): TemplateSeed[] {
  const seeds: TemplateSeed[] = []
  const firstAt = new Map<string, number>()
  for (const [i, json] of documents.entries()) {
    const path = `${typePath}/templates/${i}`
    if (JSON.stringify(json?.providerTemplate ?? null).length > MAX_TEXT)
      report.wrong(`${path}/providerTemplate`, `must have at most ${MAX_TEXT} characters, written as JSON`)
    if (!json?.channel || json.body === undefined || report.isFaulty(path)) continue
    const seed: TemplateSeed = {
      eventType: type.name,
      channel: json.channel,
      locale: json.locale ?? defaultLocale,
      scope: json.scope ? { type: String(json.scope.type), id: String(json.scope.id) } : null,
      subject: json.subject ?? null,
      body: json.body,
      format: json.format ?? null,
      providerTemplate: json.providerTemplate ?? null,
    }
    const place = JSON.stringify([seed.channel, seed.locale.toLowerCase(), seed.scope?.type, seed.scope?.id])
    const first = firstAt.get(place)
    if (first === undefined) firstAt.set(place, i)
    else
      report.wrong(
        path,
        `is a second template for ${placeOf(seed)}; the first is templates/${first}. Keep one, or give it another locale or scope`,
      )
    report.pass(check?.(seed, type, path), path)
    adviseOnTemplate(report, seed, type, path)
    seeds.push(seed)
  }
  const isFaulty = report.isFaulty(`${typePath}/templates`) || report.isFaulty(`${typePath}/delivery`)
  if (!isFaulty) adviseOnChannels(report, seeds, type, typePath)
  return seeds
}

/** A template's place in words: "email, de-DE", and its scope where it has one. */
export function placeOf({ channel, locale, scope }: Pick<TemplateSeed, 'channel' | 'locale' | 'scope'>): string {
  return `${channel}, ${locale}${scope ? `, ${scope.type} ${scope.id}` : ''}`
}

const HAS_NO_SUBJECT: readonly Channel[] = ['sms', 'whatsapp']
const HAS_PROVIDER_TEMPLATES: readonly Channel[] = ['sms', 'whatsapp']

function adviseOnTemplate(
  report: CatalogueReport,
  template: TemplateSeed,
  { delivery, scopes }: EventType,
  path: string,
): void {
  const { channel, subject, body, scope, providerTemplate } = template
  const isUsed = delivery.kind === 'all' || ('channels' in delivery && delivery.channels.includes(channel))
  if (!isUsed) report.odd(`${path}/channel`, `is never used: delivery does not name ${channel}`)
  if (body.trim() === '' && !providerTemplate)
    report.odd(`${path}/body`, 'is empty: recipients would get an empty message')
  if (channel === 'email' && (subject ?? '').trim() === '')
    report.odd(path, 'is an email without a subject (missing_subject); give it one')
  if (subject !== null && HAS_NO_SUBJECT.includes(channel))
    report.odd(`${path}/subject`, `is never sent: ${channel} has no subject`)
  if (providerTemplate && !HAS_PROVIDER_TEMPLATES.includes(channel))
    report.odd(`${path}/providerTemplate`, `is never used: ${channel} has no provider templates`)
  if (scope && !scopes.some(({ type }) => type === scope.type))
    report.odd(
      `${path}/scope`,
      `never applies: add scopes: { ${scope.type}: <path of its id in the payload> } to the event type`,
    )
}

function adviseOnChannels(
  report: CatalogueReport,
  seeds: readonly TemplateSeed[],
  { delivery }: EventType,
  path: string,
): void {
  if (delivery.kind === 'none') return
  if (seeds.length === 0)
    report.odd(path, 'has no templates: until it has some, what it should send is parked (no_templates_found)')
  else if ('channels' in delivery)
    for (const [i, channel] of delivery.channels.entries())
      if (!seeds.some((seed) => seed.channel === channel))
        report.odd(`${path}/delivery/${delivery.kind}/${i}`, `is skipped: there is no template for ${channel}`)
}
