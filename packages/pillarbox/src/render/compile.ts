import {
  type Emitter,
  ForTag,
  Liquid,
  LiquidError,
  ParseError,
  Parser,
  RenderError,
  Tag,
  type TagToken,
  type Template,
  Tokenizer,
  type TopLevelToken,
  TypeGuards,
  toValueSync,
  Value,
} from 'liquidjs'
import { escapeHtml } from '../model/html.ts'
import { Filling, type RenderState } from './filling.ts'
import { filtersFor } from './filters.ts'
import { COST, MAX_NESTING, MAX_PART_CHARACTERS, MAX_TEMPLATE_CHARACTERS, MAX_TEMPLATE_PARTS } from './limits.ts'
import { createPlaceholder } from './placeholder.ts'
import { refuseIncomplete, refuseUnclosed } from './syntax.ts'

/** How what is filled in is treated. */
export type Kind = 'plain' | 'html'

/** A text that was read once, to be rendered often. */
export interface CompiledTemplate {
  kind: Kind
  templates: Template[]
}

export interface Compiler {
  /** Reads a text once, however often it is asked for. Throws where it is no template, each time the same. */
  compile(text: string, kind: Kind): CompiledTemplate
  render(compiled: CompiledTemplate, rendering: RenderState): string
}

/** Liquid, bounded, and the texts it has read. */
export function createCompiler(): Compiler {
  const engines = { plain: createLiquid({ isHtml: false }), html: createLiquid({ isHtml: true }) }
  const caches = { plain: createCache(), html: createCache() }

  function read(text: string, kind: Kind): CacheEntry {
    try {
      return { kind, templates: parse(engines[kind], text) }
    } catch (error) {
      return { error: errorOf(error) }
    }
  }

  return {
    compile(text, kind) {
      const known = caches[kind].get(text) ?? read(text, kind)
      caches[kind].add(text, known)
      if ('error' in known) throw known.error
      return known
    },
    render({ kind, templates }, rendering) {
      const filling = new Filling(rendering, engines[kind], kind === 'html')
      const emitter = filling.emitter()
      renderTemplates(templates, filling, emitter)
      return emitter.buffer
    },
  }
}

type CacheEntry = CompiledTemplate | { error: Error }

const MAX_TEXTS = 2_000
const MAX_CHARACTERS = 10_000_000

/** Forgets the oldest when there are too many, or they are too long together. */
function createCache() {
  const entries = new Map<string, CacheEntry>()
  let characters = 0
  return {
    get: (text: string): CacheEntry | undefined => entries.get(text),
    add(text: string, entry: CacheEntry): void {
      if (entries.has(text)) return
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

/** The only tags there are, with `echo`: none reads a file, or another template. */
const TAGS = 'assign break capture case comment continue cycle decrement for if increment liquid raw tablerow unless #'

/** liquidjs with our own placeholders, filters, variables and limits. `isHtml`: what is filled in is escaped. */
function createLiquid({ isHtml }: { isHtml: boolean }): Liquid {
  const liquid = new Liquid({
    // No partials instead of the file system, should a tag ever ask for one.
    templates: {},
    relativeReference: false,
    ownPropertyOnly: true,
    strictFilters: true,
    // Nothing here asks for it, and left to itself the engine would load the whole of ICU to find one.
    locale: 'en',
    // Of `cycle`; placeholders see to it themselves.
    ...(isHtml && { outputEscape: (value: unknown) => escapeHtml(String(value)) }),
  })
  const tags = new Set(TAGS.split(' '))
  for (const name of Object.keys(liquid.tags)) if (!tags.has(name)) Reflect.deleteProperty(liquid.tags, name)
  liquid.registerTag('echo', Echo)
  for (const name of Object.keys(liquid.filters)) liquid.unregisterFilter(name)
  for (const [name, filter] of Object.entries(filtersFor({ isHtml }))) liquid.registerFilter(name, filter)
  Object.assign(liquid.renderer, { renderTemplates })

  return liquid
}

/** Throws where the text is no template. */
function parse(liquid: Liquid, text: string): Template[] {
  if (text.length > MAX_TEMPLATE_CHARACTERS)
    throw new Error(`limit exceeded: it is longer than ${MAX_TEMPLATE_CHARACTERS} characters`)
  // Counted by the parser as well, but only once all of it is in pieces.
  if (text.split(/\{[{%]/, MAX_TEMPLATE_PARTS + 2).length > MAX_TEMPLATE_PARTS + 1) throw tooManyParts()
  return new BoundedParser(liquid).parse(text)
}

/** A part of a template with what it costs to work out, apart from the parts within. */
interface Weighed {
  units?: number
}

/** In place of the one of liquidjs, which looks at the clock before every part. */
function renderTemplates(templates: readonly (Template & Weighed)[], filling: Filling, given?: Emitter): unknown {
  const { work } = filling.rendering
  const emitter = given ?? filling.emitter()
  work.use(COST.part)
  for (const template of templates) {
    try {
      work.use(template.units ?? COST.part)
      const text: unknown = toValueSync(template.render(filling, emitter) as never)
      if (text) emitter.write(text)
    } catch (error) {
      throw LiquidError.is(error) ? error : new RenderError(errorOf(error), template)
    }
    if (filling.breakCalled || filling.continueCalled) break
  }
  return given ? undefined : filling.captured(emitter.buffer)
}

type TemplatePart = ReturnType<Parser['parseToken']>

class BoundedParser extends Parser {
  readonly #liquid: Liquid
  #parts = 0
  #depth = 0

  constructor(liquid: Liquid) {
    super(liquid)
    this.#liquid = liquid
  }

  override parseToken(token: TopLevelToken, rest: TopLevelToken[]): TemplatePart {
    this.#depth += 1
    try {
      this.#refuseTooMuch(token)
      refuseUnclosed(token)
      const part = this.#part(token, rest)
      refuseIncomplete(part)
      return Object.assign(part, { units: unitsOf(part, token) })
    } catch (error) {
      throw LiquidError.is(error) ? error : new ParseError(errorOf(error), token)
    } finally {
      this.#depth -= 1
    }
  }

  #part(token: TopLevelToken, rest: TopLevelToken[]): TemplatePart {
    // What stands in for the classes of liquidjs needs no more of them than `Template` has.
    if (TypeGuards.isHTMLToken(token)) return staticText(token, token.getContent()) as TemplatePart
    if (!TypeGuards.isOutputToken(token)) return super.parseToken(token, rest)
    const { operators } = this.#liquid.options
    const tokenizer = new Tokenizer(token.input, operators, token.file, token.contentRange)
    const value = new Value(tokenizer.readFilteredValue(), this.#liquid)
    if (!tokenizer.end()) throw tokenizer.error(`unexpected ${tokenizer.snapshot()}`)
    return createPlaceholder(token, value) as TemplatePart
  }

  #refuseTooMuch(token: TopLevelToken): void {
    // The text between placeholders is a part, too; the lines of a liquid tag are seen only here.
    this.#parts += 1
    if (this.#parts > 2 * MAX_TEMPLATE_PARTS) throw tooManyParts()
    if (this.#depth > MAX_NESTING) throw new Error(`limit exceeded: blocks are nested more than ${MAX_NESTING} deep`)
    // A liquid tag holds further tags, each of which comes by here; a comment is not worked out.
    const isLong = !TypeGuards.isHTMLToken(token) && token.end - token.begin > MAX_PART_CHARACTERS
    if (isLong && !(TypeGuards.isTagToken(token) && ['liquid', 'comment', '#'].includes(token.name)))
      throw new Error(`limit exceeded: a placeholder or tag is longer than ${MAX_PART_CHARACTERS} characters`)
  }
}

function tooManyParts(): Error {
  return new Error(`limit exceeded: it has more than ${MAX_TEMPLATE_PARTS} placeholders and tags`)
}

function staticText(token: TopLevelToken, text: string): Template {
  return { token, render: (_filling, emitter) => emitter.write(text) }
}

/** By how many values, operators and filters it works out at most; a loop also makes a name of its own words. */
function unitsOf(part: Template, token: TopLevelToken): number {
  let tokens = 0
  for (const argument of part.arguments?.() ?? []) tokens += tokensIn(argument)
  return COST.part + tokens * COST.token + (part instanceof ForTag ? token.end - token.begin : 0)
}

function tokensIn(argument: unknown): number {
  if (argument instanceof Value || TypeGuards.isFilteredValueToken(argument))
    return (
      argument.initial.postfix.reduce((sum, token) => sum + tokensIn(token), 0) +
      argument.filters.reduce((sum, filter) => sum + 1 + filter.args.length, 0)
    )
  return TypeGuards.isPropertyAccessToken(argument) ? argument.props.length : 1
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

class Echo extends Tag {
  readonly #placeholder: Template | null

  constructor(token: TagToken, rest: TopLevelToken[], liquid: Liquid) {
    super(token, rest, liquid)
    this.tokenizer.skipBlank()
    this.#placeholder = this.tokenizer.end()
      ? null
      : createPlaceholder(token, new Value(this.tokenizer.readFilteredValue(), liquid))
  }

  override render(filling: Filling, emitter: Emitter): unknown {
    return this.#placeholder?.render(filling, emitter) as unknown
  }

  arguments(): Value[] {
    return [...(this.#placeholder?.arguments?.() ?? [])] as Value[]
  }
}
