import { styleText } from 'node:util'
import type { CommandCall } from '../call.ts'
import { cut, onOneLine, widthOf } from '../words.ts'

/** A row as a server answered it. What it holds is shown, never trusted. */
export type ServerRow = Readonly<Record<string, unknown>>

export interface TableColumn {
  title: string
  /** The field, with dots for one within another; or how to tell. */
  of: string | ((row: ServerRow, show: Shown) => string)
  /** How its text is read; `time`: in the zone that is wanted; `id`: never cut, because somebody copies it. */
  as?: 'time' | 'id' | 'number' | 'status'
  /** In a narrow terminal it is left out, the lowest first. */
  goes?: number
}

/** How things are written for whoever looks. */
export interface Shown {
  isJson: boolean
  hasColours: boolean
  /** Null: as wide as it gets. */
  width: number | null
  zone: string
  time(value: unknown): string
}

export function shownTo({ stdout, options, env }: CommandCall): Shown {
  const isTable = options['table'] === true || (stdout.isTerminal && options['json'] !== true)
  const zone = options['utc'] === true ? 'UTC' : new Intl.DateTimeFormat().resolvedOptions().timeZone
  const format = timeFormat(zone)
  return {
    isJson: !isTable,
    hasColours: stdout.hasColours && !env['NO_COLOR'],
    width: stdout.isTerminal ? (stdout.columns ?? 80) : null,
    zone,
    time: (value) => (typeof value === 'string' && isTime(value) ? format.format(new Date(value)) : textOf(value)),
  }
}

/** Swedish writes dates as ISO 8601 does. */
function timeFormat(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
}

export function isTime(value: string): boolean {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) && !Number.isNaN(Date.parse(value))
}

/** A field of a row, with dots for one within another. */
export function fieldOf(row: ServerRow, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (value as ServerRow | null | undefined)?.[name], row)
}

/** Any value on one line. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '–'
  return onOneLine(typeof value === 'string' ? value : JSON.stringify(value))
}

/** `booking:42`. */
export function entityText(row: ServerRow): string {
  const { type, id } = (row['entity'] ?? {}) as ServerRow
  return type === undefined ? '–' : `${textOf(type)}:${textOf(id)}`
}

const ADDRESSES: Readonly<Record<string, string>> = {
  whatsapp: 'phone',
  sms: 'phone',
  email: 'email',
  push: 'deviceToken',
  in_app: 'userId',
  webhook: 'url',
}

/** Where a notification goes on its channel, as far as it is shown. */
export function addressText(row: ServerRow): string {
  const to = (row['to'] ?? {}) as ServerRow
  const names = [ADDRESSES[String(row['channel'])] ?? '', 'list', 'contactId', ...Object.values(ADDRESSES), 'name']
  return textOf(names.map((name) => to[name]).find((value) => typeof value === 'string') ?? null)
}

const GAP = '  '
/** What is narrower cannot be told from its like. */
const READABLE_WIDTH = 14
const LEAST_WIDTH = 8

/** Writes rows under their titles, page after page in columns of the same width. What does not fit is said once. */
export function createTable(
  all: readonly TableColumn[],
  show: Shown,
  sayMissing: (words: string) => void = () => {},
): (rows: readonly ServerRow[]) => string {
  let layout: TableLayout | null = null
  return (rows) => {
    const isFirst = layout === null
    layout ??= layoutOf(all, rows, show)
    const { columns, widths, missing } = layout
    if (isFirst && missing.length > 0)
      sayMissing(`the terminal is too narrow for ${missing.join(', ')}; --json has all\n`)
    const write = (line: readonly string[], paint: (text: string, i: number) => string): string =>
      `${line
        .map((cell, i) => paint(placed(cell, widths[i] ?? 0, columns[i]), i))
        .join(GAP)
        .trimEnd()}\n`
    const titles = columns.map((column) => titleOf(column, show))
    const head = isFirst ? write(titles, (text) => painted(text, 'bold', show)) : ''
    const lines = rows.map((row) => {
      const cells = columns.map((column) => cellOf(column, row, show))
      return write(cells, (text, i) =>
        columns[i]?.as === 'status' ? painted(text, colourOf(cells[i] ?? ''), show) : text,
      )
    })
    return head + lines.join('')
  }
}

interface TableLayout {
  columns: readonly TableColumn[]
  widths: number[]
  /** The titles of those that are left out. */
  missing: string[]
}

/** As many columns as have room enough to be read, and of those the widest give way until the line fits. */
function layoutOf(all: readonly TableColumn[], rows: readonly ServerRow[], show: Shown): TableLayout {
  const natural = new Map(
    all.map((column) => [
      column,
      Math.max(widthOf(titleOf(column, show)), ...rows.map((row) => widthOf(cellOf(column, row, show)))),
    ]),
  )
  const least = (column: TableColumn): number => {
    const width = natural.get(column) ?? 0
    return column.as === undefined ? Math.min(READABLE_WIDTH, width) : width
  }
  let columns = [...all]
  const isTooWide = (): boolean =>
    show.width !== null && lineWidth(columns.map(least)) > show.width && columns.some(({ goes }) => goes !== undefined)
  while (isTooWide()) {
    const [first] = columns.filter(({ goes }) => goes !== undefined).toSorted((a, b) => (a.goes ?? 0) - (b.goes ?? 0))
    columns = columns.filter((column) => column !== first)
  }
  const widths = fitted(
    columns.map((column) => natural.get(column) ?? 0),
    columns,
    show.width,
  )
  return { columns, widths, missing: all.filter((column) => !columns.includes(column)).map(({ title }) => title) }
}

function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, each) => sum + each, GAP.length * (widths.length - 1))
}

function titleOf({ title, as }: TableColumn, { zone }: Shown): string {
  return as === 'time' ? `${title.toUpperCase()} (${zone})` : title.toUpperCase()
}

function cellOf({ of, as }: TableColumn, row: ServerRow, show: Shown): string {
  if (typeof of === 'function') return onOneLine(of(row, show))
  const value = fieldOf(row, of)
  return as === 'time' ? show.time(value) : textOf(value)
}

function placed(cell: string, width: number, column: TableColumn | undefined): string {
  const text = column?.as === undefined ? cut(cell, width) : cell
  const rest = ' '.repeat(Math.max(0, width - widthOf(text)))
  return column?.as === 'number' ? rest + text : text + rest
}

/** The widest give way until the line fits; ids, times and numbers never do. */
function fitted(natural: readonly number[], columns: readonly TableColumn[], width: number | null): number[] {
  const widths = [...natural]
  if (width === null) return widths
  const mayShrink = (i: number): boolean => columns[i]?.as === undefined && (widths[i] ?? 0) > LEAST_WIDTH
  let over = lineWidth(widths) - width
  while (over > 0) {
    const candidates = widths.map((_, i) => i).filter(mayShrink)
    const widest = candidates.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0]
    if (widest === undefined) break
    widths[widest] = (widths[widest] ?? 0) - 1
    over -= 1
  }
  return widths
}

type Paint = 'bold' | 'dim' | 'green' | 'yellow' | 'red'

export function painted(text: string, colour: Paint | null, { hasColours }: Shown): string {
  return colour === null || !hasColours ? text : styleText(colour, text, { validateStream: false })
}

const COLOURS: Readonly<Record<string, Paint>> = {
  sent: 'green',
  delivered: 'green',
  read: 'green',
  published: 'green',
  completed: 'green',
  active: 'green',
  done: 'green',
  alive: 'green',
  ok: 'green',
  queued: 'yellow',
  sending: 'yellow',
  retrying: 'yellow',
  pending: 'yellow',
  awaiting_approval: 'yellow',
  uncertain: 'yellow',
  grace: 'yellow',
  canary: 'yellow',
  running: 'yellow',
  paused: 'yellow',
  degraded: 'yellow',
  parked: 'red',
  failed: 'red',
  suspended: 'red',
  silent: 'red',
  down: 'red',
}

export function colourOf(status: string): Paint | null {
  return COLOURS[status.trim()] ?? null
}
