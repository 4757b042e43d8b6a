import { type ServerRow, type Shown, textOf } from './table.ts'
import { contentText } from './templates.ts'

interface ToldMoment {
  at: string
  text: string
}

/** All that happened to a notification, oldest first, in words; and what it says, where that may be seen. */
export function timelineText(row: ServerRow, show: Shown): string {
  const attempts = listOf(row, 'attempts')
  const moments = [
    ...listOf(row, 'audit').map((entry) => auditMoment(entry, attempts)),
    ...listOf(row, 'receipts').map(receiptMoment),
  ].toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
  const lines = moments.map(({ at, text }) => `  ${show.time(at)}  ${text}\n`)
  const content = row['content']
  const said =
    typeof content === 'object' && content !== null ? `\nwhat it says\n${contentText(content as ServerRow, show)}` : ''
  return `\nwhat happened (${show.zone})\n${lines.join('')}${said}`
}

function listOf(row: ServerRow, name: string): ServerRow[] {
  return Array.isArray(row[name]) ? (row[name] as ServerRow[]) : []
}

function auditMoment(entry: ServerRow, attempts: readonly ServerRow[]): ToldMoment {
  const { action, from, to, reason, note, actor, attempt, durationMs } = entry
  const at = String(entry['at'])
  const made = attempts.find(({ number }) => number === attempt)
  if (action === 'attempt' && made) {
    const error = made['error'] === null ? '' : `: ${textOf(made['error'])}`
    const code = made['code'] === null ? '' : ` (${textOf(made['code'])})`
    const took = `${Math.round(Number(made['durationMs']))} ms`
    return {
      at,
      text: `attempt ${textOf(attempt)} through ${textOf(made['provider'])}: ${textOf(made['outcome'])}${code}${error}, after ${took}`,
    }
  }
  const moved =
    from === null || from === to ? (to === null ? '' : `, is ${textOf(to)}`) : `, ${textOf(from)} → ${textOf(to)}`
  const why = reason === null ? '' : ` (${textOf(reason)})`
  const who = actor === 'system' ? '' : ` by ${textOf(actor)}`
  const took = typeof durationMs === 'number' ? `, after ${Math.round(durationMs)} ms` : ''
  const words = note === null || note === undefined ? '' : `: ${textOf(note)}`
  return { at, text: `${textOf(action)}${who}${moved}${why}${took}${words}` }
}

function receiptMoment(receipt: ServerRow): ToldMoment {
  const error = receipt['error'] === null ? '' : `: ${textOf(receipt['error'])}`
  const code = receipt['code'] === null ? '' : ` (${textOf(receipt['code'])})`
  return {
    at: String(receipt['at']),
    text: `${textOf(receipt['provider'])} reports ${textOf(receipt['kind'])}${code}${error}`,
  }
}
