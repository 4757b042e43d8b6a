import type { CommandCall } from '../call.ts'
import { jsonLine, onOneLine, widthOf } from '../words.ts'
import { colourOf, entityText, isTime, painted, type ServerRow, type Shown, shownTo, textOf } from './table.ts'

/** Prints one thing: as JSON, or each of its fields with its name. `words`: what comes after the fields. */
export function printRecord(
  call: CommandCall,
  row: ServerRow,
  { fields = Object.keys(row), words }: { fields?: readonly string[]; words?: (show: Shown) => string } = {},
): void {
  const show = shownTo(call)
  if (show.isJson) call.stdout.write(jsonLine(row))
  else call.stdout.write(recordText(row, fields, show) + (words?.(show) ?? ''))
}

function recordText(row: ServerRow, fields: readonly string[], show: Shown): string {
  const shownFields = fields.filter((name) => row[name] !== null && row[name] !== undefined && !isEmptyList(row[name]))
  const width = Math.max(0, ...shownFields.map((name) => widthOf(name)))
  return shownFields.map((name) => `${onOneLine(name).padEnd(width)}  ${valueText(name, row[name], show)}\n`).join('')
}

function valueText(name: string, value: unknown, show: Shown): string {
  if (typeof value === 'string' && isTime(value)) return `${show.time(value)} ${show.zone}`
  const text = name === 'entity' ? entityText({ entity: value }) : textOf(value)
  return name === 'status' ? painted(text, colourOf(text), show) : text
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Says that something was done; JSON shows what it is now. */
export function printDone(call: CommandCall, row: ServerRow, words: string): void {
  const show = shownTo(call)
  call.stdout.write(show.isJson ? jsonLine(row) : `${onOneLine(words)}\n`)
}
