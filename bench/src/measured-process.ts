import { type ChildProcess, fork } from 'node:child_process'
import { flushCompileCache } from 'node:module'
import path from 'node:path'
import type { Entry } from './entries.ts'
import { COMPILE_CACHE, ROOT } from './environment.ts'
import type { Message, Report, Role, Task } from './task.ts'
import type { VendorAddress } from './vendor.ts'

const LIMIT_MS = 300_000

/** A fresh process for one part of a sample, so that nothing warm or leaked carries over. */
export class MeasuredProcess {
  handled = 0
  finished = 0
  first = 0
  onCount: () => void = () => {}
  readonly exited: Promise<void>
  readonly #process: ChildProcess
  readonly #seen = new Map<Message['type'], Message>()
  #heard: () => void = () => {}

  constructor(role: Role, entry: Entry, store: string, task: Partial<Task> = {}) {
    const whole: Task = {
      role,
      peer: entry.peer,
      store,
      settings: entry.settings,
      count: 0,
      connections: 1,
      batch: 1_000,
      gapMs: 20,
      maxMs: 60_000,
      countStatements: false,
      ...task,
    }
    // As in a built package: what has been stripped of its types once is not stripped again in every process.
    flushCompileCache()
    this.#process = fork(path.join(ROOT, 'src/child.ts'), [JSON.stringify(whole)], {
      execArgv: [
        '--conditions=source',
        '--disable-warning=ExperimentalWarning',
        ...(entry.nodeFlags ?? []),
        ...profileFlags(role),
      ],
      env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
    })
    const limit = setTimeout(() => {
      console.error(`time limit: ${entry.id} ${role}`)
      this.#process.kill('SIGKILL')
    }, LIMIT_MS)
    this.#process.on('message', (message) => this.#hear(message as Message))
    this.exited = new Promise((resolve) => {
      this.#process.on('exit', () => {
        clearTimeout(limit)
        this.#heard()
        resolve()
      })
    })
  }

  #hear(message: Message): void {
    if (message.type !== 'count') {
      this.#seen.set(message.type, message)
      this.#heard()
      return
    }
    this.handled = message.handled
    this.finished = message.finished
    this.first = message.first
    this.onCount()
  }

  /** Resolves once it is connected and waits for `go`. */
  async ready(): Promise<void> {
    await this.#message('ready')
  }

  /** Of a vendor: where it listens. */
  async address(): Promise<VendorAddress> {
    const { address } = (await this.#message('ready')) as Message & { type: 'ready' }
    if (!address) throw new Error('only a vendor has an address')
    return address
  }

  async report(): Promise<Report> {
    return (await this.#message('report')) as Report & Message
  }

  async #message(type: Message['type']): Promise<Message> {
    for (;;) {
      const message = this.#seen.get(type)
      if (message) return message
      if (this.#process.exitCode !== null || this.#process.signalCode !== null)
        throw new Error(`the measured process ended before "${type}"`)
      await new Promise<void>((resolve) => {
        this.#heard = resolve
      })
    }
  }

  send(type: 'go' | 'stop'): void {
    this.#process.send(type)
  }
}

/** `BENCH_PROFILE=drain npm run bench …` leaves a CPU profile of every process with that role in results/. */
function profileFlags(role: Role): string[] {
  return process.env['BENCH_PROFILE'] === role ? ['--cpu-prof', `--cpu-prof-dir=${path.join(ROOT, 'results')}`] : []
}
