import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { errorText, SetupError } from '../../model/errors.ts'
import type { CommandCall } from '../call.ts'
import type { CommandEntry, CommandOption } from '../command.ts'
import { helpText } from './listing.ts'
import { printDone, printRecord } from './print.ts'
import { OUTPUT_OPTIONS, SERVER_OPTIONS, type ServerSession, withServer } from './server.ts'
import type { ServerRow, Shown } from './table.ts'

interface ServerCommand {
  name: string
  description: string
  about?: string
  examples: readonly string[]
  argument?: [string, string]
  options?: readonly CommandOption[]
}

/** A command that asks a server, whatever it does with the answer. */
export function serverCommand(
  spec: ServerCommand & { work(call: CommandCall, server: ServerSession): Promise<number> },
): CommandEntry {
  const { name, description, argument, options = [], work } = spec
  return {
    name,
    description,
    ...(argument && { argument }),
    options: [...options, ...OUTPUT_OPTIONS, ...SERVER_OPTIONS],
    help: helpText(spec),
    run: (call) => withServer(call, (server) => work(call, server)),
  }
}

/** A command that shows one thing. `words`: what is said below its fields. */
export function showCommand(
  spec: ServerCommand & {
    fetch(server: ServerSession, id: string, call: CommandCall): Promise<object>
    fields?: readonly string[]
    words?(row: ServerRow, show: Shown): string
  },
): CommandEntry {
  const { fetch, fields, words } = spec
  return serverCommand({
    ...spec,
    async work(call, server) {
      const row = (await fetch(server, call.argument ?? '', call)) as ServerRow
      printRecord(call, row, { ...(fields && { fields }), ...(words && { words: (show) => words(row, show) }) })
      return 0
    },
  })
}

/** A command that does something to one thing, and says so. */
export function actCommand(
  spec: ServerCommand & {
    act(server: ServerSession, id: string, call: CommandCall): Promise<object | null>
    done(row: ServerRow, id: string): string
  },
): CommandEntry {
  const { act, done } = spec
  return serverCommand({
    ...spec,
    async work(call, server) {
      const id = call.argument ?? ''
      const row = ((await act(server, id, call)) ?? { id }) as ServerRow
      printDone(call, row, done(row, id))
      return 0
    },
  })
}

/** The group of commands about one noun. */
export function groupOf(name: string, description: string, examples: readonly string[]): CommandEntry {
  return { name, description, help: helpText({ examples }) }
}

/** What a body may have at most. */
const MOST_BYTES = 4 * 1024 * 1024

/** A file, or what is piped in where its name is "-". */
export async function readInput({ cwd, stdin }: CommandCall, file: string): Promise<string> {
  if (file === '-') {
    if (stdin.isTerminal) throw new SetupError('nothing is piped in', 'name a file, or pipe something into the command')
    return await stdin.read(MOST_BYTES)
  }
  const path = resolve(cwd, file)
  try {
    const { size } = await stat(path)
    if (size > MOST_BYTES) throw new Error(`it has ${size} bytes, and may have ${MOST_BYTES}`)
    return await readFile(path, 'utf8')
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new SetupError(
      `${file} cannot be read: ${isMissing ? 'there is no such file' : errorText(error)}`,
      'name a file, or - for what is piped in',
    )
  }
}

/** The same, as JSON. */
export async function readJsonInput(call: CommandCall, file: string): Promise<unknown> {
  const text = await readInput(call, file)
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    // The message quotes the text, which may hold secrets.
    const place = /position (\d+)/.exec(errorText(error))?.[1]
    const where = place === undefined ? '' : ` (at character ${place})`
    throw new SetupError(
      `${file === '-' ? 'the input' : file} is not JSON${where}`,
      'correct it; see the examples of --help',
    )
  }
}

export async function readObject(call: CommandCall, file: string): Promise<Record<string, unknown>> {
  const value = await readJsonInput(call, file)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new SetupError(`${file === '-' ? 'the input' : file} is not a JSON object`, 'write { … }')
}

export const FILE: CommandOption = {
  flags: '--file <path>',
  description: 'the body, as JSON in a file; - is the input',
}
export const NOTE: CommandOption = { flags: '--note <text>', description: 'why; kept in the audit' }

/** The given texts of some options, as fields of a body. */
export function givenTexts(call: CommandCall, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (typeof call.options[name] === 'string' ? [[name, call.options[name]]] : [])),
  )
}

export function pathOf(parts: TemplateStringsArray, ...ids: string[]): string {
  return parts.reduce((text, part, i) => `${text}${encodeURIComponent(ids[i - 1] ?? '')}${part}`)
}
