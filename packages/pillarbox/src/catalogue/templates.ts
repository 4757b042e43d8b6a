import type { EventType, TemplateSeed } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import { channelOf } from './delivery.ts'
import { type Findings, fieldsOf, got, itemsOf, type Json, LOCALE, type Report, textOf, WORD } from './fields.ts'

export const MAX_TEMPLATES = 5_000
const MAX_TEXT = 100_000

/** What is wrong with, and odd about, a template's words; paths are within the template. */
export type TemplateCheck = (template: TemplateSeed, type: EventType) => Findings

export interface PlacedSeed {
  seed: TemplateSeed
  path: string
}

export function templatesOf(
  report: Report,
  value: unknown,
  typePath: string,
  type: EventType,
  { defaultLocale, check }: { defaultLocale: string; check: TemplateCheck | undefined },
): PlacedSeed[] {
  const places = new Map<string, number>()
  return itemsOf(report, value, `${typePath}/templates`, { max: MAX_TEMPLATES }).flatMap((entry, i) => {
    const path = `${typePath}/templates/${i}`
    const before = report.problems.length
    const json = fieldsOf(report, entry, path, {
      known: ['channel', 'locale', 'scope', 'subject', 'body', 'providerTemplate'],
      needed: ['channel', 'body'],
      what: 'an object with channel and body',
    })
    if (!json) return []
    const seed: TemplateSeed = {
      eventType: type.name,
      channel:
        (json['channel'] === undefined ? null : channelOf(report, json['channel'], `${path}/channel`)) ?? 'email',
      locale: textOf(report, json['locale'], `${path}/locale`, LOCALE) ?? defaultLocale,
      scope: scopeOf(report, json['scope'], `${path}/scope`),
      subject: textOf(report, json['subject'], `${path}/subject`, { max: 998 }),
      body: textOf(report, json['body'], `${path}/body`, { max: MAX_TEXT }) ?? '',
      providerTemplate: providerTemplateOf(report, json['providerTemplate'], `${path}/providerTemplate`),
    }
    if (report.problems.length > before) return []
    const place = JSON.stringify([seed.channel, seed.locale.toLowerCase(), seed.scope?.type, seed.scope?.id])
    const first = places.get(place)
    if (first === undefined) places.set(place, i)
    else
      report.wrong(
        path,
        `is a second template for ${placeOf(seed)}; the first is templates/${first}. Keep one, or give it another locale or scope`,
      )
    report.pass(check?.(seed, type), path)
    return [{ seed, path }]
  })
}

/** A template's place in words: "email, de-DE", and its scope where it has one. */
export function placeOf({ channel, locale, scope }: Pick<TemplateSeed, 'channel' | 'locale' | 'scope'>): string {
  return `${channel}, ${locale}${scope ? `, ${scope.type} ${scope.id}` : ''}`
}

function scopeOf(report: Report, value: unknown, path: string): TemplateSeed['scope'] {
  if (value === undefined || value === null) return null
  const json = fieldsOf(report, value, path, {
    known: ['type', 'id'],
    needed: ['type', 'id'],
    what: 'an object such as { type: listing, id: "10" }',
  })
  if (!json) return null
  const type = textOf(report, json['type'], `${path}/type`, WORD)
  const number = json['id']
  const id = Number.isSafeInteger(number) ? String(number) : textOf(report, number, `${path}/id`, { max: 200 })
  return type === null || id === null ? null : { type, id }
}

function providerTemplateOf(report: Report, value: unknown, path: string): Json | null {
  if (value === undefined || value === null) return null
  const json = typeof value === 'object' && !Array.isArray(value) ? (value as Json) : null
  if (!json) report.wrong(path, `must be an object, such as { name: booking_confirmed, language: en } ${got(value)}`)
  else if (JSON.stringify(json).length > MAX_TEXT)
    report.wrong(path, `must have at most ${MAX_TEXT} characters, written as JSON`)
  return json
}

const HAS_NO_SUBJECT: readonly Channel[] = ['sms', 'whatsapp']
const HAS_PROVIDER_TEMPLATES: readonly Channel[] = ['sms', 'whatsapp']

export function adviseOnTemplates(report: Report, type: EventType, placed: readonly PlacedSeed[], path: string): void {
  const { delivery } = type
  if (delivery.kind !== 'none' && placed.length === 0)
    report.odd(path, 'has no templates: until it has some, what it should send is parked (no_templates_found)')
  const isUsed = (channel: Channel): boolean =>
    delivery.kind === 'all' || (delivery.kind !== 'none' && delivery.channels.includes(channel))
  for (const { seed, path: at } of placed) {
    const { channel, subject, body, scope, providerTemplate } = seed
    if (!isUsed(channel)) report.odd(`${at}/channel`, `is never used: delivery does not name ${channel}`)
    if (body.trim() === '' && !providerTemplate)
      report.odd(`${at}/body`, 'is empty: recipients would get an empty message')
    if (channel === 'email' && (subject ?? '').trim() === '') report.odd(at, 'is an email without a subject')
    if (subject !== null && HAS_NO_SUBJECT.includes(channel))
      report.odd(`${at}/subject`, `is never sent: ${channel} has no subject`)
    if (providerTemplate && !HAS_PROVIDER_TEMPLATES.includes(channel))
      report.odd(`${at}/providerTemplate`, `is never used: ${channel} has no provider templates`)
    if (scope && !type.scopes.some((known) => known.type === scope.type))
      report.odd(
        `${at}/scope`,
        `never applies: add scopes: { ${scope.type}: <path of its id in the payload> } to the event type`,
      )
  }
  if (placed.length === 0 || !('channels' in delivery)) return
  for (const [i, channel] of delivery.channels.entries())
    if (!placed.some(({ seed }) => seed.channel === channel))
      report.odd(`${path}/delivery/${delivery.kind}/${i}`, `is skipped: there is no template for ${channel}`)
}
