import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { run } from '../../packages/pillarbox/src/cli/run.ts'
import { systemClock } from '../../packages/pillarbox/src/runtime/system.ts'
import { OPS_KEY } from './api.ts'
import type { World } from './world.ts'

export interface SaidByCommand {
  code: number
  stdout: string
  stderr: string
  /** The JSON objects of stdout, a line each. */
  rows: Record<string, unknown>[]
}

export interface CommandSetting {
  /** Default: the ops key. Null: none. */
  key?: string | null
  isTerminal?: boolean
  hasColours?: boolean
  columns?: number
  /** What is piped in. */
  input?: string
  /** What somebody answers when asked. */
  answer?: string
  env?: Record<string, string>
  /** Signals, and what somebody sees while it runs. */
  events?: EventEmitter
  onOutput?(text: string): void
}

/** The `pillarbox` command of somebody who has a key for a running product, within this process. */
export async function operatorCommand(
  world: Pick<World, 'url' | 'dataDir'>,
  args: readonly string[],
  setting: CommandSetting = {},
): Promise<SaidByCommand> {
  const { key = OPS_KEY, isTerminal = false, hasColours = false, columns, input, answer, events, onOutput } = setting
  const said = { stdout: '', stderr: '' }
  const writer = (stream: keyof typeof said) => (text: string) => {
    said[stream] += text
    onOutput?.(text)
  }
  const code = await run(args, {
    version: '1.2.3',
    env: { PILLARBOX_URL: world.url, ...(key !== null && { PILLARBOX_KEY: key }), ...setting.env },
    cwd: world.dataDir,
    nodeVersion: process.version,
    stdout: { write: writer('stdout'), isTerminal, hasColours, columns },
    stderr: { write: writer('stderr') },
    stdin: {
      isTerminal: input === undefined && isTerminal,
      ask: async () => answer ?? assert.fail('asked'),
      read: async () => input ?? assert.fail('read'),
    },
    clock: systemClock,
    events: events ?? new EventEmitter(),
    exitNow: () => assert.fail('left at once'),
    loadEngine: () => assert.fail('opened the database'),
  })
  return { code, ...said, rows: rowsIn(said.stdout) }
}

function rowsIn(text: string): Record<string, unknown>[] {
  return text.startsWith('{')
    ? text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    : []
}
