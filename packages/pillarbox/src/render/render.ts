import type { BodyFormat, ProviderTemplate } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import { plainTextOf } from '../model/plain-text.ts'
import type { DateFields } from '../model/schema-paths.ts'
import { isHtmlBody } from './body-format.ts'
import { createCompiler, type Kind } from './compile.ts'
import { explain } from './explain.ts'
import { coverSecrets, fieldsOf, SECRET_COVER } from './fields.ts'
import type { MissingKeys, RenderState } from './filling.ts'
import { createWork } from './limits.ts'
import { createPayload } from './payload.ts'
import { type Placeholder, placeholdersIn, type UnknownPlaceholder, unknownAmong } from './placeholders.ts'
import { liquidTextsOf, renderProviderTemplate } from './provider-template.ts'
import { type Segments, segmentsOf } from './segments.ts'

export type { UnknownPlaceholder } from './placeholders.ts'
export type { Segments } from './segments.ts'

/** Turns a template's words and an event's payload into the words that are sent. Never throws. */
export interface Renderer {
  /** What is wrong with a template's text, for whoever saves it; null when it can be rendered. */
  problem(template: TemplateWords): string | null
  /** A template that cannot be rendered is an answer. What could only be filled in partly is rendered, with warnings. */
  render(
    template: TemplateWords,
    channel: Channel,
    context: Record<string, unknown>,
    options: RenderOptions,
  ): Rendered | { error: string }
  /** The same words as `render`, by the same code, with secrets covered and what an editor wants to know beside them. */
  preview(
    template: TemplateWords,
    channel: Channel,
    context: Record<string, unknown>,
    options: PreviewOptions,
  ): Preview | { error: string }
  /** The keys a template takes from the payload, in the order it first names them; [] when it cannot be read. */
  placeholdersOf(template: TemplateWords): string[]
  /** Those that no known path answers to, each with the known path that was probably meant. */
  unknownPlaceholders(template: TemplateWords, knownPaths: readonly string[] | null): UnknownPlaceholder[]
}

export interface TemplateWords {
  subject: string | null
  body: string
  /** Absent or null: HTML where it looks like it. */
  format?: BodyFormat | null
  providerTemplate?: ProviderTemplate | null
}

/** A template without what else is known of it. */
export function onlyWords({ subject, body, format = null, providerTemplate = null }: TemplateWords): TemplateWords {
  return { subject, body, format, providerTemplate }
}

export interface RenderOptions {
  /** BCP 47, of the template that is rendered: names of months, order of dates, decimal signs. */
  locale: string
  /** IANA, the tenant's. */
  timeZone: string
  /** The tenant's: `short`, `medium`, `long`, `full`, or a pattern such as `dd-MMM-yyyy`. */
  dateFormat: string
  /** ISO 4217, of amounts that name none. */
  currency?: string
  /** What a key that the payload has not becomes: nothing, or `{{key}}` as it stands. */
  missing: 'empty' | 'keep'
  /** `dateFieldsOf(eventType.payload)`; null without a schema: then whatever has the form of a full date-time is one. */
  dateFields: DateFields | null
  /** Dot paths of the event type: `render` says whether one was used, `preview` shows none. */
  secrets?: readonly string[]
  /** What is known beside the payload (`suppliedFields`), and found where the payload has nothing. */
  supplied?: Readonly<Record<string, unknown>>
  /** Epoch milliseconds that `now` stands for in `{{ "now" | date: "%Y" }}`. */
  now?: number
}

export interface Rendered {
  subject: string | null
  body: string
  providerTemplate: ProviderTemplate | null
  /** The body is HTML, and what was filled in is escaped. Any other body must be sent as plain text, whatever it holds. */
  isHtml: boolean
  /** Of HTML: what a reader without it is shown. */
  text?: string
  /** A secret field stands in these words. */
  hasSecrets: boolean
  warnings: RenderWarning[]
  /** Of an SMS. */
  segments?: Segments
}

/** Fits the store's `Warning`. */
export interface RenderWarning {
  code: 'missing_placeholder' | 'parameter_changed' | 'subject_shortened'
  key?: string
  message: string
}

export interface PreviewOptions extends RenderOptions {
  /** `pathsOf(eventType.payload)`, against which placeholders are checked; null: any key may exist. */
  knownPaths: readonly string[] | null
}

export interface Preview extends Omit<Rendered, 'hasSecrets'> {
  /** Keys the context did not have. */
  missing: string[]
  unknown: UnknownPlaceholder[]
}

/** Liquid without file access, inherited properties, unknown filters, clock or chance. `maxUnits`: what one rendering may cost. */
export function createRenderer({ maxUnits }: { maxUnits?: number } = {}): Renderer {
  const { compile, render } = createCompiler()

  function fill(
    { subject, body, format, providerTemplate }: TemplateWords,
    channel: Channel,
    context: Record<string, unknown>,
    options: RenderOptions,
    sealedAs: string | null,
  ): Rendered {
    const warnings: RenderWarning[] = []
    const missing = createMissingKeys(options.missing, (key, message) =>
      warnings.push({ code: 'missing_placeholder', ...(key !== null && { key }), message }),
    )
    const work = createWork(maxUnits)
    const payload = createPayload(context, {
      supplied: options.supplied ?? {},
      fields: fieldsOf(options.dateFields, options.secrets),
      guessesDates: options.dateFields === null,
      dates: options,
      work,
      sealedAs,
    })
    const rendering: RenderState = { payload, settings: options, work, written: 0, missing }
    const text = (template: string, kind: Kind): string => storable(render(compile(template, kind), rendering))

    const isHtml = isHtmlBody(channel, body, format ?? null)
    const line = subject === null ? null : singleLine(text(subject, 'plain'))
    const words = text(body, isHtml ? 'html' : 'plain')
    const plain = isHtml ? plainTextOf(words, channel) : null
    if (plain && 'problem' in plain) throw new Error(`limit exceeded: ${plain.problem}`)
    const provided =
      providerTemplate &&
      renderProviderTemplate(
        providerTemplate,
        channel,
        (template) => text(template, 'plain'),
        (key, message) => warnings.push({ code: 'parameter_changed', key, message: `${key}: ${message}` }),
      )
    if (line?.isShortened)
      warnings.push({ code: 'subject_shortened', message: `the subject was longer than ${MAX_SUBJECT_BYTES} bytes` })
    if (isNothing(channel, line?.text ?? '', words, Boolean(provided)))
      throw new Error('the template renders to nothing')
    missing.close()
    return {
      subject: line?.text ?? null,
      body: words,
      providerTemplate: provided ?? null,
      isHtml,
      ...(plain && { text: plain.text }),
      hasSecrets: payload.hasSecrets,
      warnings,
      ...(channel === 'sms' && { segments: segmentsOf(words) }),
    }
  }

  /** Text by text, because a variable of the subject is none in the body. */
  function placeholders(template: TemplateWords): Placeholder[] {
    try {
      const all = textsOf(template).flatMap((text) => placeholdersIn(compile(text, 'plain').templates))
      return [...new Map(all.map((placeholder) => [placeholder.key, placeholder])).values()]
    } catch {
      return []
    }
  }

  const unknownPlaceholders = (template: TemplateWords, knownPaths: readonly string[] | null): UnknownPlaceholder[] =>
    unknownAmong(placeholders(template), knownPaths)

  return {
    problem(template) {
      try {
        for (const text of textsOf(template)) compile(text, 'plain')
        return null
      } catch (error) {
        return explain(error)
      }
    },
    render(template, channel, context, options) {
      try {
        return fill(template, channel, context, options, null)
      } catch (error) {
        return { error: explain(error) }
      }
    },
    preview(template, channel, context, options) {
      try {
        const covered = coverSecrets(context, options.secrets ?? [])
        const { hasSecrets: _, ...rendered } = fill(template, channel, covered, options, SECRET_COVER)
        const missing = rendered.warnings.flatMap(({ code, key }) =>
          code === 'missing_placeholder' && key !== undefined ? [key] : [],
        )
        return { ...rendered, missing, unknown: unknownPlaceholders(template, options.knownPaths) }
      } catch (error) {
        return { error: explain(error) }
      }
    },
    placeholdersOf: (template) => [...new Set(placeholders(template).map(({ path }) => path))],
    unknownPlaceholders,
  }
}

const MAX_KEYS = 20
const MAX_KEY_CHARACTERS = 100

/** Tells each key once, the first 20 of them, and at the end how many more there were. */
function createMissingKeys(
  mode: 'empty' | 'keep',
  warn: (key: string | null, message: string) => void,
): MissingKeys & { close(): void } {
  const seen = new Set<string>()
  return {
    note(key, why) {
      if (seen.has(key)) return
      seen.add(key)
      if (seen.size > MAX_KEYS) return
      const name = key.length > MAX_KEY_CHARACTERS ? `${key.slice(0, MAX_KEY_CHARACTERS)}…` : key
      const became = mode === 'empty' ? 'it was left empty' : 'it was left as it stands'
      const cause = why === 'absent' ? 'is not in the payload' : 'has several fields and not one of them is named'
      warn(name, `${name} ${cause}: ${became}`)
    },
    close() {
      if (seen.size > MAX_KEYS) warn(null, `${seen.size - MAX_KEYS} further placeholders are not in the payload`)
    },
  }
}

function textsOf({ subject, body, providerTemplate }: TemplateWords): string[] {
  return [...(subject === null ? [] : [subject]), body, ...liquidTextsOf(providerTemplate)]
}

/** Without what no database takes: the null character, and half a character that a filter cut through. */
function storable(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed()
}

const MAX_SUBJECT_BYTES = 998

/** A header of a mail is one line, and so is the title of a push message. */
function singleLine(subject: string): { text: string; isShortened: boolean } {
  const line = subject.replace(/[\r\n\v\f\u0085\u2028\u2029]+/g, ' ').trim()
  if (line.length * 3 <= MAX_SUBJECT_BYTES || Buffer.byteLength(line) <= MAX_SUBJECT_BYTES)
    return { text: line, isShortened: false }
  const cut = Buffer.from(line).subarray(0, MAX_SUBJECT_BYTES).toString()
  // A character that was cut through reads as U+FFFD, which takes as many bytes as are missing, or more.
  return { text: line.startsWith(cut) ? cut : cut.replace(/\ufffd+$/, ''), isShortened: true }
}

/** A webhook may be empty; a provider's own template has its words elsewhere; a push message may be a title alone. */
function isNothing(channel: Channel, subject: string, body: string, hasProviderTemplate: boolean): boolean {
  if (channel === 'webhook' || hasProviderTemplate || body.trim() !== '') return false
  return !((channel === 'push' || channel === 'in_app') && subject !== '')
}
