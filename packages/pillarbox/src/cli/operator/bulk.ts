import { SetupError } from '../../model/errors.ts'
import { BULK_ACTIONS } from '../../model/operation.ts'
import { type CommandCall, stopOnSignal } from '../call.ts'
import type { CommandEntry, CommandOption } from '../command.ts'
import { progressBar, progressLines } from '../progress.ts'
import { jsonLine, onOneLine } from '../words.ts'
import { actCommand, givenTexts, groupOf, NOTE, pathOf, readInput, serverCommand } from './acts.ts'
import { queryOf, wholeNumber } from './listing.ts'
import { NOTIFICATION_FILTERS } from './notifications.ts'
import type { ServerSession } from './server.ts'
import { shownTo, textOf } from './table.ts'

interface ShownPreview {
  token: string
  expiresAt: string
  count: number
  possibleDuplicates: number
  skipped: { why: string; count: number }[]
  by: Record<'channel' | 'accountId' | 'fingerprint', Record<string, number>>
  estimatedSeconds: number
}

/** As much of an operation as is watched. */
interface WatchedOperation {
  id: string
  action: string
  status: string
  total: number
  done: number
  leftAlone: number
  failed: number
  graceUntil: string | null
  problem: string | null
}

const ACTION: [string, string] = ['<action>', BULK_ACTIONS.join(', ')]
const OPERATION: [string, string] = ['<operation>', 'an operation, of "pillarbox operations list"']

const SELECTION: readonly CommandOption[] = [
  ...NOTIFICATION_FILTERS,
  {
    flags: '--ids <path>',
    description:
      'these instead of a filter: a file of ids, or of JSON objects that have one, a line each; - is the input',
  },
  { flags: '--rerender', description: 'for retry: in the words their events would be told in now' },
]

async function previewOf(call: CommandCall, server: ServerSession): Promise<ShownPreview> {
  const action = call.argument ?? ''
  if (!(BULK_ACTIONS as readonly string[]).includes(action))
    call.refuse(`there is no action "${action}": choose one of ${BULK_ACTIONS.join(', ')}`)
  const { ids, rerender } = call.options
  const filter = filterOf(call)
  if (typeof ids === 'string' ? Object.keys(filter).length > 0 : Object.keys(filter).length === 0)
    call.refuse('choose which, either by filters, such as --status parked, or by --ids')
  const chosen = typeof ids === 'string' ? { ids: await readIds(call, ids) } : { filter }
  const body = { action, ...chosen, ...(rerender === true && { options: { rerender: true } }) }
  return await server.post('/api/notifications/bulk/preview', body)
}

/** The same filters as for a list, of which switches are truths here. */
function filterOf(call: CommandCall): Record<string, unknown> {
  const isSwitch = (name: string): boolean => ['stuck', 'stale', 'possibleDuplicate'].includes(name)
  const query = Object.entries(queryOf(call, NOTIFICATION_FILTERS))
  return Object.fromEntries(query.map(([name, value]) => [name, isSwitch(name) ? true : value]))
}

async function readIds(call: CommandCall, file: string): Promise<string[]> {
  const lines = (await readInput(call, file)).split(/\r?\n/).filter((line) => line.trim() !== '')
  const ids = lines.map((line, i) => {
    const id = line.trim().startsWith('{') ? idIn(line) : line.trim()
    if (id === null)
      throw new SetupError(`line ${i + 1} has no id`, 'write an id on each line, or a JSON object that has one')
    return id
  })
  if (ids.length === 0) throw new SetupError('there are no ids', 'write an id on each line')
  return ids
}

function idIn(line: string): string | null {
  try {
    const { id } = JSON.parse(line) as { id?: unknown }
    return typeof id === 'string' ? id : null
  } catch {
    return null
  }
}

function previewText(action: string, preview: ShownPreview): string {
  const { count, possibleDuplicates, skipped, by, estimatedSeconds } = preview
  const lines = [
    `${action} would move ${count} ${count === 1 ? 'notification' : 'notifications'}`,
    ...Object.entries(by).flatMap(([name, counts]) => splitLines(name, counts)),
    ...(possibleDuplicates > 0 ? [`  ${possibleDuplicates} of them may have arrived before`] : []),
    ...skipped.map(({ why, count: left }) => `  ${left} are left out: ${why}`),
    ...(estimatedSeconds > 0 ? [`  about ${estimatedSeconds} s at the pace of their accounts`] : []),
  ]
  return lines.map((line) => `${onOneLine(line)}\n`).join('')
}

const MOST_SPLIT = 10

function splitLines(name: string, counts: Readonly<Record<string, number>>): string[] {
  const sorted = Object.entries(counts).toSorted(([, a], [, b]) => b - a)
  const shown = sorted
    .slice(0, MOST_SPLIT)
    .map(([value, count]) => `  ${name.padEnd(12)}${String(count).padStart(7)}  ${value}`)
  return sorted.length > MOST_SPLIT
    ? [...shown, `  ${name.padEnd(12)}         and ${sorted.length - MOST_SPLIT} more`]
    : shown
}

async function isAllowed({ options, stdin, stderr }: CommandCall, action: string, count: number): Promise<boolean> {
  if (options['yes'] === true) return true
  if (!stdin.isTerminal) {
    stderr.write('pillarbox: nothing was started: nobody is here to be asked; add --yes to start it\n')
    return false
  }
  const answer = (await stdin.ask(`${action} ${count}? [y/N] `)).trim().toLowerCase()
  if (answer === 'y' || answer === 'yes') return true
  stderr.write('nothing was started\n')
  return false
}

async function runBulk(call: CommandCall, server: ServerSession): Promise<number> {
  const { stdout, stderr, options, argument: action = '' } = call
  const { pace, canary } = options
  const start = {
    ...givenTexts(call, ['note', 'grace']),
    ...(pace !== undefined && { pace: { perSecond: paceOf(call, pace) } }),
    ...(canary !== undefined && { canary: wholeNumber(call, '--canary', String(canary), 0) }),
  }
  const preview = await previewOf(call, server)
  stdout.write(shownTo(call).isJson ? jsonLine(preview) : previewText(action, preview))
  if (preview.count === 0) {
    stderr.write('there is nothing to do\n')
    return 0
  }
  if (!(await isAllowed(call, action, preview.count))) return 1
  const { operationId } = await server.post<{ operationId: string }>('/api/notifications/bulk', {
    token: preview.token,
    ...start,
  })
  if (options['detach'] === true) {
    stdout.write(shownTo(call).isJson ? jsonLine({ operationId }) : `started: pillarbox bulk watch ${operationId}\n`)
    return 0
  }
  return await watch(call, server, operationId)
}

function paceOf(call: CommandCall, given: string | true): number {
  const perSecond = Number(given)
  if (!(perSecond > 0)) call.refuse(`--pace must be a number of notifications per second, not "${given}"`)
  return perSecond
}

const LOOK_EVERY_MS = 500
const OVER = ['done', 'failed', 'cancelled']

/** Shows how far an operation is until it has ended, or somebody no longer wants to see it. */
async function watch(call: CommandCall, server: ServerSession, id: string): Promise<number> {
  const { stdout, stderr, clock } = call
  const { isJson } = shownTo(call)
  const stopping = stopOnSignal(call)
  const look = (): Promise<WatchedOperation> => server.get(pathOf`/api/operations/${id}`)
  try {
    let operation = await look()
    if (!isJson) stdout.write(`operation ${onOneLine(operation.id)}: ${onOneLine(operation.action)}\n`)
    const progress =
      stdout.isTerminal && !isJson
        ? progressBar(stdout, operation.total, 'done')
        : progressLines(stderr.write, clock, 'done')
    const show = (): void => progress.at(handled(operation), remarkOn(operation, clock.now()))
    for (show(); !OVER.includes(operation.status) && !stopping.signal.aborted; show()) {
      await clock.sleep(LOOK_EVERY_MS, stopping.signal)
      if (!stopping.signal.aborted) operation = await look()
    }
    progress.end()
    if (!OVER.includes(operation.status)) {
      stderr.write(
        `it goes on without you. Look again with "pillarbox bulk watch ${id}", stop it with "pillarbox bulk pause ${id}" or "cancel"\n`,
      )
      return 0
    }
    stdout.write(isJson ? jsonLine(operation) : `${onOneLine(ending(operation))}\n`)
    return operation.status === 'done' && operation.failed === 0 ? 0 : 1
  } finally {
    stopping.forget()
  }
}

function handled({ done, leftAlone, failed }: WatchedOperation): number {
  return done + leftAlone + failed
}

function remarkOn({ status, graceUntil }: WatchedOperation, now: number): string {
  if (status !== 'grace' || graceUntil === null) return onOneLine(status)
  return `begins in ${Math.max(0, Math.ceil((Date.parse(graceUntil) - now) / 1_000))} s; until then "bulk undo" takes it back`
}

function ending({ status, done, leftAlone, failed, problem }: WatchedOperation): string {
  const parts = [`${done} done`, ...(leftAlone > 0 ? [`${leftAlone} left alone, because they had moved`] : [])]
  if (failed > 0) parts.push(`${failed} could not be moved`)
  return `${status}: ${parts.join(', ')}${problem === null ? '' : `. ${problem}`}`
}

const STEERING = [
  ['pause', 'Stop an operation until it is resumed.'],
  ['resume', 'Go on with an operation that was paused.'],
  ['cancel', 'Stop an operation for good. What is done stays done.'],
  ['undo', 'Take an operation back, in its grace, before anything was done.'],
] as const

export const BULK_COMMANDS: readonly CommandEntry[] = [
  groupOf('bulk', 'Do something to very many notifications: see before what it does, and watch it.', [
    'bulk preview retry --status parked --fingerprint 5f1c…',
    'bulk run retry --status parked --fingerprint 5f1c… --note "the vendor is back"',
    'bulk pause 019b2c7e-…',
  ]),
  serverCommand({
    name: 'bulk preview',
    description: 'Choose notifications and see what an action would do to them. Nothing is moved.',
    argument: ACTION,
    options: SELECTION,
    examples: ['bulk preview retry --status parked', 'bulk preview discard --reason bounced --from P1D'],
    async work(call, server) {
      const preview = await previewOf(call, server)
      const text = previewText(call.argument ?? '', preview)
      call.stdout.write(shownTo(call).isJson ? jsonLine(preview) : text)
      return 0
    },
  }),
  serverCommand({
    name: 'bulk run',
    description: 'Choose notifications, show what would be done, ask, do it, and watch.',
    argument: ACTION,
    options: [
      ...SELECTION,
      NOTE,
      { flags: '--yes', description: 'do not ask' },
      { flags: '--canary <n>', description: 'so many go first, the rest only once those were sent (retry, resend: 5)' },
      { flags: '--grace <duration>', description: 'nothing is done before, and "bulk undo" takes it back (PT10S)' },
      { flags: '--pace <n>', description: 'at most so many a second' },
      { flags: '--detach', description: 'do not watch' },
    ],
    about:
      'What moves between the preview and its turn is left alone, and counted. Ctrl-C ends the watching; the operation goes on.\nExit code 0: done, or no longer watched; 1: refused, not allowed, failed, cancelled, or some could not be moved.',
    examples: [
      'bulk run retry --status parked --fingerprint 5f1c… --note "the vendor is back"',
      'bulk run discard --reason bounced --from P1D --yes --grace PT1M',
      'notifications list --status parked --all --json | pillarbox bulk run retry --ids - --yes',
    ],
    work: runBulk,
  }),
  serverCommand({
    name: 'bulk watch',
    description: 'Show how far an operation is, until it has ended. Ctrl-C ends the watching only.',
    argument: OPERATION,
    examples: ['bulk watch 019b2c7e-…'],
    work: (call, server) => watch(call, server, call.argument ?? ''),
  }),
  ...STEERING.map(([verb, description]) =>
    actCommand({
      name: `bulk ${verb}`,
      description,
      argument: OPERATION,
      examples: [`bulk ${verb} 019b2c7e-…`],
      act: (server, id) => server.post<object>(pathOf`/api/operations/${id}/${verb}`),
      done: (row, id) =>
        `operation ${id} is ${textOf(row['status'])}: ${textOf(row['done'])} of ${textOf(row['total'])} done`,
    }),
  ),
]
