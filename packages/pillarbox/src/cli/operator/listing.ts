import { parseDuration } from '../../model/duration.ts'
import { SetupError } from '../../model/errors.ts'
import type { CommandCall } from '../call.ts'
import type { CommandEntry, CommandOption } from '../command.ts'
import { jsonLine, onOneLine } from '../words.ts'
import { OUTPUT_OPTIONS, type QueryTexts, SERVER_OPTIONS, type ServerSession, withServer } from './server.ts'
import { createTable, painted, type ServerRow, shownTo, type TableColumn } from './table.ts'

/** A flag that narrows a list. It has the name of its query parameter, unless `query` says otherwise. */
export interface ListFilter extends CommandOption {
  /** `list`: several, with commas between; `time`: an instant, or how long ago. */
  as?: 'list' | 'time'
  /** What a switch asks for. */
  query?: readonly [string, string]
}

export const PERIOD: readonly ListFilter[] = [
  { flags: '--from <time>', description: 'made at this time or later; or so long ago, such as PT1H', as: 'time' },
  { flags: '--to <time>', description: 'made before this time; or so long ago', as: 'time' },
]

const PAGING: readonly CommandOption[] = [
  { flags: '--limit <n>', description: 'at most so many (default 50)' },
  { flags: '--all', description: 'all of them, page by page' },
  { flags: '--cursor <text>', description: 'go on where an earlier list ended' },
]

export interface ListSpec {
  name: string
  description: string
  /** What is to be said beside the examples. */
  about?: string
  examples: readonly string[]
  argument?: [string, string]
  /** Those that narrow nothing. */
  options?: readonly CommandOption[]
  path: string | ((id: string, call: CommandCall) => string)
  /** Where an ops key that names no tenant finds those of all. */
  all?: string
  /** The whole of it is one page. */
  isUnpaged?: true
  filters?: readonly ListFilter[]
  columns: readonly TableColumn[]
}

/** A command that shows a list: a table in a terminal, a JSON object a line elsewhere. */
export function listCommand(spec: ListSpec): CommandEntry {
  const { name, description, argument, options = [], filters = [], isUnpaged } = spec
  return {
    name,
    description,
    ...(argument && { argument }),
    options: [...options, ...filters, ...(isUnpaged ? [] : PAGING), ...OUTPUT_OPTIONS, ...SERVER_OPTIONS],
    help: helpText(spec),
    run: (call) => withServer(call, (server) => printList(call, server, spec)),
  }
}

export function helpText({ about, examples }: Pick<ListSpec, 'about' | 'examples'>): string {
  const shown = examples.map((example) => `  $ pillarbox ${example}`).join('\n')
  return `${about === undefined ? '' : `\n${about}\n`}\nExamples:\n${shown}`
}

interface ListPage {
  items: ServerRow[]
  nextCursor?: string | null
}

const MOST_OF_A_PAGE = 200
const DEFAULT_LIMIT = 50

async function printList(call: CommandCall, server: ServerSession, spec: ListSpec): Promise<number> {
  const { stdout, stderr, options, argument = '' } = call
  const show = shownTo(call)
  const most = mostOf(call)
  const table = createTable(spec.columns, show, stderr.write)
  const filter = queryOf(call, spec.filters ?? [])
  const path = typeof spec.path === 'string' ? spec.path : spec.path(argument, call)
  let cursor = typeof options['cursor'] === 'string' ? options['cursor'] : undefined
  let count = 0
  for (;;) {
    const limit = Math.min(MOST_OF_A_PAGE, most - count)
    const paging = spec.isUnpaged ? {} : { limit: String(limit), cursor }
    const { items, nextCursor } = await ask(server, spec, path, { ...filter, ...paging })
    count += items.length
    if (show.isJson) for (const item of items) stdout.write(jsonLine(item))
    else if (items.length > 0) stdout.write(table(items))
    if (nextCursor === null || nextCursor === undefined) break
    if (count >= most) {
      stderr.write(`there are more: add --all, or --cursor ${onOneLine(nextCursor)}\n`)
      return 0
    }
    // Whoever read it has left.
    if (stdout.isClosed) return 0
    if (nextCursor === cursor)
      throw new SetupError(
        'the server answers the same page again and again',
        'is it a Pillarbox server? --url says which one is asked',
      )
    cursor = nextCursor
  }
  if (count === 0 && !show.isJson) stdout.write(`${painted('nothing found', 'dim', show)}\n`)
  return 0
}

function ask(server: ServerSession, spec: ListSpec, path: string, query: QueryTexts): Promise<ListPage> {
  return spec.all === undefined ? server.get(path, query) : server.getOwnOrAll(path, spec.all, query)
}

function mostOf(call: CommandCall): number {
  const { limit, all } = call.options
  if (limit !== undefined && all !== undefined) call.refuse('--limit and --all do not go together')
  if (all !== undefined) return Number.POSITIVE_INFINITY
  return limit === undefined ? DEFAULT_LIMIT : wholeNumber(call, '--limit', String(limit))
}

export function wholeNumber(call: CommandCall, flag: string, text: string, least = 1): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < least)
    call.refuse(`${flag} must be a whole number from ${least} on, not "${text}"`)
  return Number(text)
}

/** The query that the given filters ask for. */
export function queryOf(call: CommandCall, filters: readonly ListFilter[]): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {}
  for (const { flags, as, query: asked } of filters) {
    const given = call.options[attributeOf(flags)]
    if (given === undefined) continue
    const [name, value] = asked ?? [attributeOf(flags), String(given)]
    if (as === 'list') query[name] = value.split(',').map((each) => each.trim())
    else query[name] = as === 'time' ? timeOf(call, flagOf(flags), value) : value
  }
  return query
}

function flagOf(flags: string): string {
  return flags.split(' ')[0] ?? flags
}

/** `--event-type <name>` is `eventType`. */
function attributeOf(flags: string): string {
  return flagOf(flags)
    .slice(2)
    .replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** An instant, or how long ago it was. */
function timeOf(call: CommandCall, flag: string, text: string): string {
  const ago = parseDuration(text)
  if (ago !== null) return new Date(call.clock.now() - ago).toISOString()
  const isDate = /^\d{4}-\d\d-\d\d$/.test(text)
  const hasZone = /T.*(?:Z|[+-]\d\d:?\d\d)$/.test(text)
  const at = Date.parse(text)
  if ((!isDate && !hasZone) || Number.isNaN(at))
    call.refuse(
      `${flag} must be a time with its zone (2026-03-15T09:30:00Z), a date, or how long ago (PT1H, P2D), not "${text}"`,
    )
  return new Date(at).toISOString()
}
