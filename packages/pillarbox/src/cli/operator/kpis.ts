import type { CommandCall } from '../call.ts'
import type { CommandEntry } from '../command.ts'
import { jsonLine } from '../words.ts'
import { serverCommand } from './acts.ts'
import { type ListFilter, queryOf } from './listing.ts'
import type { ServerSession } from './server.ts'
import { createTable, fieldOf, type ServerRow, type Shown, shownTo, type TableColumn, textOf } from './table.ts'

interface KpisAnswer {
  at: string
  range?: { from: string; to: string }
  total: ServerRow
  groups?: ServerRow[]
}

const FILTERS: readonly ListFilter[] = [
  { flags: '--by <what>', description: 'also each channel, accountId, eventType, site; with an ops key also tenantId' },
  {
    flags: '--from <time>',
    description: 'also what happened from this time on; or since so long ago, such as P1D',
    as: 'time',
  },
  { flags: '--to <time>', description: 'before this time', as: 'time' },
  { flags: '--step <duration>', description: 'in steps of whole minutes, such as PT1H' },
]

const NOW: readonly TableColumn[] = [
  { title: 'queued', of: 'queueDepth', as: 'number' },
  { title: 'scheduled', of: 'scheduledDepth', as: 'number' },
  { title: 'stuck', of: 'stuckCount', as: 'number' },
  { title: 'parked', of: 'parkedCount', as: 'number' },
  { title: 'uncertain', of: 'uncertainCount', as: 'number' },
  { title: 'skipped', of: 'skippedCount', as: 'number' },
  { title: 'sent', of: 'sentLastInterval', as: 'number' },
  { title: 'delivered', of: 'deliveredLastInterval', as: 'number' },
  { title: 'oldest', of: (row) => ageText(row['oldestPendingAgeSeconds']), as: 'number' },
  { title: 'to sent p95', of: (row) => msText(fieldOf(row, 'latency.eventToSent.p95')), as: 'number' },
]

function ageText(seconds: unknown): string {
  return typeof seconds === 'number' ? `${seconds} s` : '–'
}

function msText(ms: unknown): string {
  return typeof ms === 'number' ? `${ms} ms` : '–'
}

/** What was counted in a range, or in one step of it: whichever numbers there are. */
function countColumns(rows: readonly ServerRow[]): TableColumn[] {
  const names = new Set(rows.flatMap((row) => Object.keys(row['counts'] ?? {})))
  return [...names].map((name) => ({ title: wordsOf(name), of: `counts.${name}`, as: 'number' }))
}

/** `sentPerSecond` is `sent per second`. */
function wordsOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

async function printKpis(call: CommandCall, server: ServerSession): Promise<number> {
  const answer = await server.getOwnOrAll<KpisAnswer>('/api/kpis', '/ops/kpis', queryOf(call, FILTERS))
  const show = shownTo(call)
  call.stdout.write(show.isJson ? jsonLine(answer) : kpisText(answer, String(call.options['by'] ?? ''), show))
  return 0
}

function kpisText({ at, range, total, groups = [] }: KpisAnswer, by: string, show: Shown): string {
  const named: TableColumn = { title: by === '' ? '' : by, of: (row) => nameOf(row, by) }
  const rows = [total, ...groups]
  const parts = [`as of ${show.time(at)} ${show.zone}\n`, createTable([named, ...NOW], show)(rows)]
  if (range) {
    parts.push(`\nfrom ${show.time(range.from)} to ${show.time(range.to)} ${show.zone}\n`)
    parts.push(createTable([named, ...countColumns(rows)], show)(rows))
  }
  for (const row of rows) {
    const series = row['series']
    if (!Array.isArray(series)) continue
    const steps = series as ServerRow[]
    parts.push(`\n${nameOf(row, by)}\n`)
    parts.push(createTable([{ title: 'from', of: 'at', as: 'time' }, ...countColumns(steps)], show)(steps))
  }
  return parts.join('')
}

function nameOf(row: ServerRow, by: string): string {
  if (by === '' || !(by in row)) return 'total'
  return row[by] === null ? '(none)' : textOf(row[by])
}

export const KPI_COMMANDS: readonly CommandEntry[] = [
  serverCommand({
    name: 'kpis',
    description: 'Show the numbers: what waits, what is stopped, what was sent, how long it took.',
    options: FILTERS,
    about:
      'Of the key’s tenant; with an ops key of all tenants together, or of --tenant. "sent" and "delivered" are of the last minute\n(PILLARBOX_KPI_WINDOW of the server).',
    examples: ['kpis', 'kpis --by channel', 'kpis --by tenantId --from P1D', 'kpis --from P1D --step PT1H --json'],
    work: printKpis,
  }),
]
