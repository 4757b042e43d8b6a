import { type Document, isAlias, isMap, isPair, isScalar, isSeq, Lexer, LineCounter, parseDocument } from 'yaml'
import type { Catalogue } from '../model/catalogue.ts'
import type { FieldError } from '../model/errors.ts'
import { pointerKeys, pointerTo } from '../model/json-pointer.ts'
import { checkSchema } from './check-payload.ts'
import { type CatalogueChecks, parseCatalogue, TOO_MUCH } from './parse.ts'

/** Something to say about a place in a file. */
export interface PlacedError extends FieldError {
  /** Both count from 1; null where the place is the file as a whole. */
  line: number | null
  column: number | null
}

export type FileRead =
  | { catalogue: Catalogue; warnings: PlacedError[] }
  | { problems: PlacedError[]; warnings: PlacedError[] }

const MAX_BYTES = 2 * 1024 * 1024
/** Expansions of `*alias`: plenty for people, too few for a bomb. */
const MAX_ALIASES = 100
const MAX_REPEATED_KEYS = 50
/** A catalogue as large as one may be has about half as many; the parser takes a second for them. */
const MAX_TOKENS = 300_000
/** Brackets within brackets. */
const MAX_BRACKETS = 100

/** Reads a catalogue from the text of a YAML or JSON file. Answers every problem with its line and column. */
export function readCatalogueText(text: string, checks: CatalogueChecks = { schema: checkSchema }): FileRead {
  const refusal = tooMuch(text)
  if (refusal !== null) return refused([whole(refusal)])
  const lines = new LineCounter()
  const read = attempt(() => {
    // JSON is YAML too. Repeated keys are looked for below: the parser would compare every key with every other.
    const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: false } as const
    const document = parseDocument(text.replace(/^\uFEFF/, ''), options)
    const faults = [...document.errors, ...document.warnings].slice(0, 20)
    const problems = faults.map(({ pos, code, message }) => placed(lines, pos[0], '', syntaxWords(code, message)))
    if (problems.length === 0) problems.push(...repeatedKeys(document, lines))
    if (problems.length > 0) return { problems }
    return { document, value: document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown }
  })
  if ('problems' in read) return refused(read.problems)
  const { document, value } = read
  const parsed = parseCatalogue(value, checks)
  const place = (errors: readonly FieldError[]): PlacedError[] =>
    errors.map(({ path, message }) => placed(lines, offsetOf(document, path), path, message)).sort(byPlace)
  return 'catalogue' in parsed
    ? { catalogue: parsed.catalogue, warnings: place(parsed.warnings) }
    : { problems: place(parsed.problems), warnings: place(parsed.warnings) }
}

/** What the parser would need too much time and memory for. The lexer needs little, and stops when told. */
function tooMuch(text: string): string | null {
  const size = Buffer.byteLength(text)
  if (size > MAX_BYTES)
    return `is larger than ${MAX_BYTES / 1024 / 1024} MiB (${size} bytes); a catalogue is one tenant’s`
  let tokens = 0
  let depth = 0
  for (const token of new Lexer().lex(text)) {
    tokens += 1
    if (token === '[' || token === '{') depth += 1
    else if (token === ']' || token === '}') depth -= 1
    if (depth > MAX_BRACKETS) return NESTED
    if (tokens > MAX_TOKENS) return TOO_MUCH
  }
  return null
}

const NESTED = 'is nested too deeply to be read'

/** `busflow.yaml:12:7  eventTypes.X.timing.after: must be … (got "24h"; write PT24H)` */
export function describePlaced(file: string, { line, column, path, message }: PlacedError): string {
  const where = line === null ? file : `${file}:${line}:${column}`
  return path === '' ? `${where}  ${message}` : `${where}  ${pointerKeys(path).join('.')}: ${message}`
}

function refused(problems: PlacedError[]): FileRead {
  return { problems, warnings: [] }
}

function whole(message: string): PlacedError {
  return { line: null, column: null, path: '', message }
}

function placed(lines: LineCounter, offset: number | null, path: string, message: string): PlacedError {
  if (offset === null) return { ...whole(message), path }
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(1, line), column: Math.max(1, col), path, message }
}

function byPlace(a: PlacedError, b: PlacedError): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)
}

/** The parser recurses: text that is nested without end runs out of stack, which is the text's fault. */
function attempt<T>(work: () => T | { problems: PlacedError[] }): T | { problems: PlacedError[] } {
  try {
    return work()
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    const isBomb = error instanceof ReferenceError && /alias/i.test(text)
    const bomb = `repeats itself through aliases (*name) more than ${MAX_ALIASES} times; write it out`
    return { problems: [whole(isBomb ? bomb : error instanceof RangeError ? NESTED : `cannot be read: ${text}`)] }
  }
}

/** What the parser says, with what to do about the most common slips. */
function syntaxWords(code: string, message: string): string {
  const [first = message] = message.split('\n')
  if (first.includes('call stack')) return NESTED
  switch (code) {
    case 'TAB_AS_INDENT':
      return 'has a tab where YAML wants spaces; indent with spaces only'
    case 'MULTIPLE_DOCS':
      return 'holds several documents; a catalogue is one: take the lines with --- out'
    case 'TAG_RESOLVE_FAILED':
      return `${first}; plain YAML has no tags such as !ruby or !!set, take it out`
    default:
      return `is not valid YAML or JSON: ${first}`
  }
}

function repeatedKeys(document: Document, lines: LineCounter): PlacedError[] {
  const found: PlacedError[] = []
  const waiting: { node: unknown; path: string }[] = [{ node: document.contents, path: '' }]
  for (let next = waiting.pop(); next && found.length < MAX_REPEATED_KEYS; next = waiting.pop()) {
    const { node, path } = next
    if (isSeq(node)) for (const [i, item] of node.items.entries()) waiting.push({ node: item, path: `${path}/${i}` })
    if (!isMap(node)) continue
    const seen = new Set<string>()
    for (const { key, value } of node.items) {
      const offset = startOf(key) ?? startOf(node)
      const name = nameOf(key)
      if (name === null) {
        found.push(placed(lines, offset, path, 'has a field without a name; names are plain text'))
        continue
      }
      const at = pointerTo(path, name.slice(0, 200))
      if (seen.has(name)) found.push(placed(lines, offset, at, 'stands here a second time; keep one of the two'))
      seen.add(name)
      waiting.push({ node: value, path: at })
    }
  }
  return found.sort(byPlace)
}

/** Where a JSON pointer leads in the text: the key, or the item; what is missing is looked for where it should stand. */
function offsetOf(document: Document, pointer: string): number | null {
  let node: unknown = document.contents
  let offset = startOf(node)
  for (const step of pointerKeys(pointer)) {
    if (isAlias(node)) node = node.resolve(document)
    if (isSeq(node)) {
      node = node.items[Number(step)]
      offset = startOf(node) ?? offset
    } else if (isMap(node)) {
      const pair = node.items.find(({ key }) => nameOf(key) === step)
      if (!isPair(pair)) return offset
      offset = startOf(pair.key) ?? offset
      node = pair.value
    } else return offset
  }
  return offset
}

/** A key as the text it becomes; null for one that is none. */
function nameOf(key: unknown): string | null {
  const value = isScalar(key) ? key.value : null
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

function startOf(node: unknown): number | null {
  return (node as { range?: [number, number, number] | null } | null | undefined)?.range?.[0] ?? null
}
