import { Liquid, type Template as Parsed } from 'liquidjs'
import type { Channel } from '../model/channel.ts'

/** Turns a template's words and an event's payload into the words that are sent. */
export interface Renderer {
  /** What is wrong with a template's text; null when it can be read. */
  problem(template: Words): string | null
  /** Never throws: a template that cannot be rendered is an answer. */
  render(template: Words, channel: Channel, context: Record<string, unknown>): Rendered | { error: string }
}

export interface Words {
  subject: string | null
  body: string
}

export interface Rendered {
  subject: string | null
  body: string
}

const LIMITS = { parseLimit: 100_000, renderLimit: 200, memoryLimit: 10_000_000 } as const
const CACHED_TEMPLATES = 2_000

/** Filters that evaluate an expression per item without looking at the time: seconds for a large list. */
const UNBOUNDED = ['where_exp', 'reject_exp', 'group_by_exp', 'find_exp', 'find_index_exp', 'has_exp']

/** Liquid without file access, inherited properties or unknown filters. HTML mail bodies are escaped by default. */
export function createRenderer(): Renderer {
  // An empty set of partials instead of the file system: otherwise include, render and layout read what they name.
  const common = { templates: {}, ownPropertyOnly: true, strictFilters: true, relativeReference: false, ...LIMITS }
  const plain = new Liquid(common)
  const html = new Liquid({ ...common, outputEscape: 'escape' })
  for (const engine of [plain, html]) for (const filter of UNBOUNDED) Reflect.deleteProperty(engine.filters, filter)
  const parsed = { plain: new Map<string, Parsed[]>(), html: new Map<string, Parsed[]>() }

  function render(text: string, kind: 'plain' | 'html', context: Record<string, unknown>): string {
    const engine = kind === 'html' ? html : plain
    const cache = parsed[kind]
    let template = cache.get(text)
    if (!template) {
      template = engine.parse(text)
      if (cache.size >= CACHED_TEMPLATES) cache.delete(cache.keys().next().value ?? '')
      cache.set(text, template)
    }
    return String(engine.renderSync(template, context))
  }

  return {
    problem({ subject, body }) {
      try {
        for (const text of [subject ?? '', body]) plain.parse(text)
        return null
      } catch (error) {
        return error instanceof Error ? error.message : String(error)
      }
    },
    render({ subject, body }, channel, context) {
      try {
        return {
          subject: subject === null ? null : render(subject, 'plain', context),
          body: render(body, channel === 'email' && isHtml(body) ? 'html' : 'plain', context),
        }
      } catch (error) {
        return { error: error instanceof Error ? error.message : String(error) }
      }
    },
  }
}

/** Has a tag that ends. Two searches, because one pattern for both takes quadratic time on tags that do not end. */
function isHtml(body: string): boolean {
  const start = body.search(/<[a-z]/i)
  return start >= 0 && body.lastIndexOf('>') > start
}
