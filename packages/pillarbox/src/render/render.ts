import { Liquid, type Template as Parsed } from 'liquidjs'
import type { Channel } from '../model/channel.ts'

/** Turns a template's words and an event's payload into the words that are sent. */
export interface Renderer {
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

/** Liquid without file access, inherited properties or unknown filters. HTML mail bodies are escaped by default. */
export function createRenderer(): Renderer {
  const common = { ownPropertyOnly: true, strictFilters: true, relativeReference: false, ...LIMITS }
  const plain = new Liquid(common)
  const html = new Liquid({ ...common, outputEscape: 'escape' })
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

function isHtml(body: string): boolean {
  return /<[a-z][^>]*>/i.test(body)
}
