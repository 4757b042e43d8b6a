import type { Channel } from '../model/channel.ts'
import { isHtmlBody } from './body-format.ts'
import { liquidTextsOf } from './provider-template.ts'
import type { TemplateWords } from './render.ts'

const MAX_CHARACTERS = 5_000
const MAX_PLACEHOLDERS = 50

/** `{{ guest.name }}`: a path of a few names, and nothing that would have to be worked out. */
const PLACEHOLDER = /\{\{\s*[a-z_]\w*(?:\.[a-z_]\w*){0,9}\s*\}\}/iy

/**
 * Whether a template is text with placeholders and nothing else: no tag, no filter, no HTML of which text would have to be made.
 * What rendering it costs is then known: a look-up and a copy for each placeholder.
 */
export function isPlainTemplate({ subject, body, format, providerTemplate }: TemplateWords, channel: Channel): boolean {
  if (isHtmlBody(channel, body, format ?? null)) return false
  const texts = [subject ?? '', body, ...textsOf(providerTemplate)]
  const characters = texts.reduce((sum, text) => sum + text.length, 0)
  if (characters > MAX_CHARACTERS) return false
  return texts.reduce((sum, text) => sum + placeholdersIn(text), 0) <= MAX_PLACEHOLDERS
}

/** A provider template with more in it than there may be is for the renderer to refuse. */
function textsOf(providerTemplate: TemplateWords['providerTemplate']): string[] {
  try {
    return liquidTextsOf(providerTemplate)
  } catch {
    return ['{%']
  }
}

/** How many there are; infinitely many where the text has anything else to be worked out. */
function placeholdersIn(text: string): number {
  if (text.includes('{%')) return Infinity
  let count = 0
  for (let at = text.indexOf('{{'); at >= 0; at = text.indexOf('{{', PLACEHOLDER.lastIndex)) {
    PLACEHOLDER.lastIndex = at
    if (!PLACEHOLDER.test(text)) return Infinity
    count += 1
  }
  return count
}
