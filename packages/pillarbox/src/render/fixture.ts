import assert from 'node:assert/strict'
import type { Channel } from '../model/channel.ts'
import type { DateFields } from '../model/schema-paths.ts'
import { createRenderer, type Rendered, type Renderer, type RenderOptions, type TemplateWords } from './render.ts'

export interface Given extends Partial<RenderOptions> {
  subject?: string
  channel?: Channel
  context?: Record<string, unknown>
  format?: NonNullable<TemplateWords['format']>
  providerTemplate?: NonNullable<TemplateWords['providerTemplate']>
  renderer?: Renderer
}

export const OPTIONS: RenderOptions = {
  locale: 'en',
  timeZone: 'UTC',
  dateFormat: 'dd-MMM-yyyy',
  missing: 'empty',
  dateFields: new Map(),
}

/** Fields that may be dates without a time of day. */
export function datesAt(...paths: string[]): DateFields {
  return new Map(paths.map((path) => [path, 'date']))
}

/** Renders a body for a test. The parser is the costly part of a renderer, so that they share one. */
export function tryRender(body: string, given: Given = {}): Rendered | { error: string } {
  const { subject, channel = 'sms', context = {}, format, providerTemplate, renderer = shared, ...options } = given
  const template = {
    subject: subject ?? null,
    body,
    format: format ?? null,
    providerTemplate: providerTemplate ?? null,
  }
  return renderer.render(template, channel, context, { ...OPTIONS, ...options })
}

const shared = createRenderer()

export function render(body: string, given: Given = {}): Rendered {
  const rendered = tryRender(body, given)
  return 'error' in rendered ? assert.fail(rendered.error) : rendered
}

/** A webhook's body may be empty, and nothing is done to it. */
export function bodyOf(body: string, given: Given = {}): string {
  return render(body, { channel: 'webhook', ...given }).body
}

export function errorOf(body: string, given: Given = {}): string {
  const rendered = tryRender(body, given)
  return 'error' in rendered ? rendered.error : assert.fail(`it was rendered: ${rendered.body.slice(0, 100)}`)
}

/** The keys that were missing. */
export function missingOf(body: string, given: Given = {}): (string | undefined)[] {
  return render(body, { channel: 'webhook', ...given }).warnings.map(({ key }) => key)
}
