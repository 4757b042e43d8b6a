import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Clock, Logger, Meters } from '../model/ports.ts'
import type { ChildMessage } from './child.ts'
import { HEAP_MB, SILENCE_MS } from './limits.ts'
import type { WorkMessage } from './message.ts'
import type { WorkResult } from './untrusted.ts'

/** How a message ended: with results, or with the end of the child that had it. */
export type MessageEnd =
  | { results: WorkResult[]; took: Extract<ChildMessage, { kind: 'done' }>['took'] }
  | { death: Death; part: string | null }

/** `crash`: it ended in another way; `unready`: before it had begun. */
export type Death = 'time' | 'memory' | 'silence' | 'crash' | 'unready'

export interface PoolChild {
  /** One message at a time. */
  send(message: WorkMessage): Promise<MessageEnd>
  isAlive(): boolean
  /** Lets it end by itself; then makes it. */
  close(): Promise<void>
}

export interface ChildDeps {
  clock: Clock
  logger: Logger
  meters: Meters
}

const OUTPUT_KEPT = 2_000
const CLOSE_MS = 2_000

export function startChild({ clock, logger, meters }: ChildDeps): PoolChild {
  meters.count('untrusted_starts', {})
  const extension = import.meta.filename.slice(import.meta.filename.lastIndexOf('.'))
  const child = fork(new URL(`./child${extension}`, import.meta.url), {
    // Takes maps, and texts as they are.
    serialization: 'advanced',
    execArgv: [
      `--max-old-space-size=${HEAP_MB}`,
      // As the main process has it: by default a heap this small has a young generation that is full after a few items.
      '--max-semi-space-size=8',
      // How the packages of a workspace are found where they are not built.
      ...process.execArgv.filter((flag) => flag.startsWith('--conditions=')),
    ],
    // Nothing of the environment is any of its business; the cache spares it half of its start.
    env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let output = ''
  child.stderr?.on('data', (piece: Buffer) => {
    output = (output + piece.toString()).slice(-OUTPUT_KEPT)
  })
  const ended = new AbortController()
  let isReady = false
  let isSilent = false
  let isClosing = false
  let part: string | null = null
  let onReady = (): void => {}
  let onDone: (end: MessageEnd) => void = () => {}
  const ready = new Promise<void>((resolve) => (onReady = resolve))

  child.on('message', (message: ChildMessage) => {
    if (message.kind === 'part') part = message.part
    else if (message.kind === 'done')
      onDone({ results: JSON.parse(message.results) as WorkResult[], took: message.took })
    else {
      isReady = true
      onReady()
    }
  })
  // A message that could not be written any more: its child has ended, or is about to.
  child.on('error', (error) => {
    output = (output + String(error)).slice(-OUTPUT_KEPT)
    if (child.pid === undefined) end(null, null)
  })
  child.on('exit', end)

  function end(code: number | null, signal: NodeJS.Signals | null): void {
    ended.abort()
    const death = deathOf(code, signal)
    if (!isClosing) meters.count('untrusted_deaths', { death })
    if (code !== 0 && (death === 'crash' || death === 'unready'))
      logger.error({ code, signal, output }, 'a process for templates and schemas ended by itself')
    onReady()
    onDone({ death, part })
  }

  function deathOf(code: number | null, signal: NodeJS.Signals | null): Death {
    if (isSilent) return 'silence'
    if (!isReady) return 'unready'
    if (signal === 'SIGKILL') return 'time'
    // V8 aborts when its heap is exhausted; by way of a shell or on another system that is a code.
    return signal === 'SIGABRT' || signal === 'SIGTRAP' || (code !== null && code > 128) ? 'memory' : 'crash'
  }

  return {
    isAlive: () => !ended.signal.aborted,
    async send(message) {
      part = null
      const done = new Promise<MessageEnd>((resolve) => (onDone = resolve))
      await ready
      if (ended.signal.aborted) return { death: deathOf(child.exitCode, child.signalCode), part }
      child.send(message, (error) => {
        // What cannot be written as a message is our mistake; what a dead child was sent is told by its end.
        if (error && !ended.signal.aborted) child.kill('SIGKILL')
      })
      const answered = new AbortController()
      void watchSilence(answered.signal)
      const result = await done
      answered.abort()
      return result
    },
    async close() {
      if (ended.signal.aborted) return
      isClosing = true
      const exit = once(child, 'exit')
      if (child.connected) child.disconnect()
      const gone = new AbortController()
      void exit.then(() => gone.abort())
      await clock.sleep(CLOSE_MS, gone.signal)
      if (!gone.signal.aborted) child.kill('SIGKILL')
      await exit
    },
  }

  async function watchSilence(answered: AbortSignal): Promise<void> {
    await clock.sleep(SILENCE_MS, answered)
    // We may have been the one who slept: then its answer has been here for long, and is read first.
    await clock.sleep(100, answered)
    if (answered.aborted) return
    isSilent = true
    child.kill('SIGKILL')
  }
}
