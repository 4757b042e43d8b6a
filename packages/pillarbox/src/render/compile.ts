import type { Template } from 'liquidjs'
import { createEngine } from './engine.ts'
import type { Rendering } from './filling.ts'

/** How what is filled in is treated. */
export type Kind = 'plain' | 'html'

export interface Compiled {
  kind: Kind
  templates: Template[]
}

export interface Compiler {
  /** Reads a text once, however often it is asked for. Throws where it is no template, each time the same. */
  compile(text: string, kind: Kind): Compiled
  render(compiled: Compiled, rendering: Rendering): string
}

const MAX_TEXTS = 2_000
const MAX_CHARACTERS = 10_000_000

export function createCompiler(): Compiler {
  const engines = { plain: createEngine({ isHtml: false }), html: createEngine({ isHtml: true }) }
  const caches = { plain: createCache(), html: createCache() }

  return {
    compile(text, kind) {
      const cache = caches[kind]
      let known = cache.get(text)
      if (!known) {
        known = read(text, kind)
        cache.add(text, known)
      }
      if ('error' in known) throw known.error
      return known
    },
    render: ({ kind, templates }, rendering) => engines[kind].render(templates, rendering),
  }

  function read(text: string, kind: Kind): Entry {
    try {
      return { kind, templates: engines[kind].parse(text) }
    } catch (error) {
      return { error: error instanceof Error ? error : new Error(String(error)) }
    }
  }
}

type Entry = Compiled | { error: Error }

/** Forgets the oldest when there are too many, or they are too long together. */
function createCache() {
  const entries = new Map<string, Entry>()
  let characters = 0
  return {
    get: (text: string): Entry | undefined => entries.get(text),
    add(text: string, entry: Entry): void {
      entries.set(text, entry)
      characters += text.length
      for (const oldest of entries.keys()) {
        if (entries.size <= MAX_TEXTS && characters <= MAX_CHARACTERS) return
        entries.delete(oldest)
        characters -= oldest.length
      }
    },
  }
}
