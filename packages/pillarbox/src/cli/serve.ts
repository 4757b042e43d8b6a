import type { Config } from '../config/config.ts'
import { errorText, SetupError } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
import type { ScopedLogger } from '../runtime/logger.ts'
import { announce } from './announce.ts'
import type { CommandCall, ProcessEvents } from './call.ts'
import type { EngineModule, Parts, Pillarbox, Started } from './engine.ts'

export interface ServeDeps {
  config: Config
  parts: Parts
  logger: ScopedLogger
  createPillarbox: EngineModule['createPillarbox']
  /** Tells the user that it runs, and where. */
  announce(started: Started): void
  /** Tells the user that it could not start. */
  explain(error: unknown): void
  events: ProcessEvents
  clock: Clock
  /** Leaves at once, without waiting for anything. */
  exitNow(code: number): void
}

/** `start`, `api` and `worker`: runs these parts until somebody stops them. */
export async function runServer(call: CommandCall, parts: Parts): Promise<number> {
  const { config, warnings, logger } = await call.settle()
  for (const warning of warnings) logger.warn({}, warning)
  const { createPillarbox } = await call.loadEngine()
  const { stdout, clock, events, exitNow } = call
  return await serve({
    config,
    parts: { ...parts, ...(stdout.isTerminal && { offersLink: true }) },
    logger,
    createPillarbox,
    events,
    clock,
    exitNow,
    announce: (started) =>
      announce(started, { config, parts, logger, isTerminal: stdout.isTerminal, write: stdout.write }),
    explain: (error) => {
      const hint = hintFor(error, config)
      logger.error(hint === null ? { error } : { reason: errorText(error), hint }, 'could not start')
    },
  })
}

/** What to do about an error whose cause is known; null for one that nobody expected, which is shown whole. */
function hintFor(error: unknown, { host, port, metricsPort }: Config): string | null {
  if (error instanceof SetupError) return error.advice
  const isMetrics = metricsPort !== null && metricsPort === (error as { port?: unknown } | null)?.port
  switch ((error as { code?: unknown } | null)?.code) {
    case 'EADDRINUSE':
      if (isMetrics) return `port ${metricsPort} of ${host} is taken: choose another with --metrics-port`
      return `port ${port} of ${host} is taken: choose another with --port`
    case 'EACCES':
      return `this user may not use port ${port}, or may not write to the data folder`
    case 'EADDRNOTAVAIL':
      return `this machine has no address ${host}: choose another with --host`
    case 'store_unavailable':
    case 'ECONNREFUSED':
      return 'run "pillarbox doctor" to see what is wrong with the database'
    default:
      return null
  }
}

const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const

/** npm passes Ctrl-C on to what it runs, which has already had it from the terminal: so close, it is one signal. */
const ECHO_MS = 200

/** How long past the grace the engine may take to write and sign off before it is left behind. */
const AFTER_GRACE_MS = 5_000

/**
 * Runs until a signal or a fatal error, and answers the exit code: 0 after a clean stop, 1 otherwise. The first signal
 * stops gracefully, also while starting; the second leaves at once with 128 + its number, and what was under way is
 * rescued by another worker. An error that nobody handled stops it too: its state can no longer be trusted.
 */
export async function serve(deps: ServeDeps): Promise<number> {
  const { config, parts, logger, events, clock } = deps
  const asked = Promise.withResolvers<void>()
  let signal: string | null = null
  let signalledAt = 0
  let code = 0

  const listeners: [string, (error: unknown) => void][] = Object.entries(SIGNALS).map(([name, number]) => [
    name,
    () => {
      if (signal !== null) {
        if (clock.monotonic() - signalledAt >= ECHO_MS) deps.exitNow(128 + number)
        return
      }
      signal = name
      signalledAt = clock.monotonic()
      logger.info({ signal }, 'stopping')
      asked.resolve()
    },
  ])
  const onFatal = (error: unknown): void => {
    logger.error({ error }, 'nobody handled this error; stopping')
    code = 1
    asked.resolve()
  }
  listeners.push(['uncaughtException', onFatal], ['unhandledRejection', onFatal])
  for (const [event, listener] of listeners) events.on(event, listener)

  let pillarbox: Pillarbox | null = null
  const starting = (async () => {
    pillarbox = await deps.createPillarbox(config, { logger })
    if (signal !== null || code !== 0) return
    const started = await pillarbox.start(parts)
    if (signal === null && code === 0) deps.announce(started)
  })()
  starting.catch((error: unknown) => {
    // What fails because it is being stopped is no failure to start.
    if (signal !== null || code !== 0) return
    code = 1
    deps.explain(error)
    asked.resolve()
  })

  await asked.promise
  const isStopped = await within(config.shutdownGraceMs + AFTER_GRACE_MS, clock, async () => {
    // Still being made: there is nothing to stop yet. Starting: `stop` ends the start.
    if (pillarbox === null) await starting.catch(() => {})
    await pillarbox?.stop()
  }).catch((error: unknown) => {
    logger.error({ error }, 'stopping failed')
    return false
  })
  if (!isStopped) code = 1
  if (code === 0) logger.info({}, 'stopped')
  for (const [event, listener] of listeners) events.off(event, listener)
  return code

  async function within(ms: number, clock: Clock, work: () => Promise<void>): Promise<boolean> {
    const over = new AbortController()
    const late = clock.sleep(ms, over.signal).then(() => {
      if (!over.signal.aborted) logger.error({}, 'stopping takes too long; leaving what is under way to be rescued')
      return false
    })
    const done = work().then(() => true)
    return await Promise.race([done, late]).finally(() => over.abort())
  }
}
