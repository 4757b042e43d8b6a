import { createRequire } from 'node:module'
import { pino } from 'pino'
import type { Clock, Logger } from '../model/ports.ts'

/** A logger that can be given fields for all its lines, such as a correlation id. */
export interface ScopedLogger extends Logger {
  child(fields: Record<string, unknown>): ScopedLogger
}

export interface LoggerDeps {
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  clock: Pick<Clock, 'now'>
  /** Takes credentials and addresses out of text; every text of every line goes through it. */
  scrub(text: string): string
  /** Takes whole lines, one or several. */
  write(text: string): void
  /** Does something a little later. Lines that come often are gathered until then, and go out in one piece. */
  defer(run: () => void): void
  /** `plain` and `coloured` are for people; `json` is for machines: one JSON object each line. */
  style: 'json' | 'plain' | 'coloured'
}

/**
 * Writes one line per call: JSON, or something to read where a person is looking. Fields that are known to be secret
 * are replaced whatever they hold, and all text goes through `scrub`, so that a careless call leaks nothing (P10).
 * Never throws: a field that cannot be written is described instead.
 */
export function createLogger({ level, clock, scrub, write, defer, style }: LoggerDeps): ScopedLogger {
  const outlet = createOutlet(write, defer)
  const root = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: style === 'json' ? outlet.now : readably(outlet.now, style === 'coloured') },
  )
  // People who look on can do without the last microsecond.
  return wrap(root, scrub, style === 'json' ? { clock, write: outlet.soon } : null)
}

const MOST_GATHERED = 65_536

/** What is written `soon` waits for the next thing that is written `now`, for a turn of the event loop, or for company. */
function createOutlet(write: LoggerDeps['write'], defer: LoggerDeps['defer']) {
  let gathered = ''
  function flush(): void {
    if (gathered === '') return
    const text = gathered
    gathered = ''
    write(text)
  }
  return {
    now(text: string): void {
      flush()
      write(text)
    },
    soon(text: string): void {
      if (gathered === '') defer(flush)
      gathered += text
      if (gathered.length >= MOST_GATHERED) flush()
    },
  }
}

/**
 * Each line is made readable as it is written, not by a stream or a worker thread: the last lines before an exit are not
 * lost. pino-pretty is loaded here, because it takes 25 ms and 4 MB, which a server that logs JSON need not spend.
 */
function readably(write: LoggerDeps['write'], colorize: boolean): LoggerDeps['write'] {
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  const options = { colorize, errorLikeObjectKeys: ['error'], singleLine: true, translateTime: 'UTC:HH:MM:ss.l' }
  const readable = prettyFactory(options)
  return (line) => write(readable(line))
}

interface Sink {
  isLevelEnabled(level: string): boolean
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child(fields: object): Sink
}

interface Frequent {
  clock: LoggerDeps['clock']
  write(text: string): void
}

function wrap(sink: Sink, scrub: LoggerDeps['scrub'], frequent: Frequent | null, bound = ''): ScopedLogger {
  const clean = (fields: Record<string, unknown>): Record<string, unknown> => cleanFields(fields, scrub, 0)
  /** What is not written is not searched either. */
  const at = (level: 'debug' | 'info' | 'warn' | 'error'): Logger['info'] =>
    sink.isLevelEnabled(level) ? (fields, message) => sink[level](clean(fields), scrub(message)) : () => undefined
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    ...(frequent && { often: sink.isLevelEnabled('info') ? frequentLines(frequent, scrub, bound) : () => undefined }),
    child(fields) {
      const own = clean(fields)
      return wrap(sink.child(own), scrub, frequent, `${bound}${membersOf(own)}`)
    },
  }
}

/** Puts lines together by hand: with all that is done for any other line, a drain of SQLite took a third longer. */
function frequentLines(
  { clock, write }: Frequent,
  scrub: LoggerDeps['scrub'],
  bound: string,
): NonNullable<Logger['often']> {
  let at = 0
  let time = ''
  return (fields, message) => {
    const now = clock.now()
    if (now !== at) time = new Date(now).toISOString()
    at = now
    const { correlationId } = fields
    const searched = correlationId && scrub(correlationId)
    const shown = searched === correlationId ? fields : { ...fields, correlationId: searched }
    write(`{"level":"info","time":"${time}"${bound}${membersOf(shown)},"msg":${JSON.stringify(message)}}\n`)
  }
}

/** `,"a":1,"b":2` */
function membersOf(fields: object): string {
  const members = JSON.stringify(fields).slice(1, -1)
  return members === '' ? '' : `,${members}`
}

const REDACTED = '[redacted]'
const MAX_DEPTH = 6
const MAX_ITEMS = 100

/** Names whose values are secret, compared without case and punctuation: `access_token` is `accesstoken`. */
const SECRET_NAME =
  /(password|passwd|passphrase|secret|token|apikey|authkey|accesskey|masterkey|opskey|privatekey|signingkey|authorization|cookie|credential|connectionstring|serviceaccount|databaseurl|setcookie)/

/** Ids and counts that merely sound secret, and that lines are searched by. */
const HARMLESS = new Set(['token', 'tokens', 'idempotencykey', 'secretnames'])

function isSecret(name: string, value: unknown): boolean {
  if (COMMON.has(name)) return false
  const plain = name.toLowerCase().replaceAll(/[^a-z]/g, '')
  // A lease token is a number; a token in words is a credential.
  if (HARMLESS.has(plain) && (typeof value !== 'string' || plain === 'idempotencykey')) return false
  return SECRET_NAME.test(plain)
}

/** Names that most lines have. */
const COMMON = new Set([
  'tenantId',
  'notificationId',
  'correlationId',
  'accountId',
  'channel',
  'provider',
  'attempt',
  'outcome',
  'durationMs',
  'to',
  'code',
  'reason',
  'error',
])

/** `level`, `time` and `msg` are the line's own. */
const RESERVED = new Set(['level', 'time', 'msg'])

function cleanFields(fields: object, scrub: LoggerDeps['scrub'], depth: number): Record<string, unknown> {
  const cleaned: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    const key = depth === 0 && RESERVED.has(name) ? `${name}_` : name
    cleaned[key] = isSecret(name, value) ? REDACTED : cleanValue(value, scrub, depth)
  }
  return cleaned
}

function cleanValue(value: unknown, scrub: LoggerDeps['scrub'], depth: number): unknown {
  if (typeof value === 'string') return scrub(value)
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value)
  if (typeof value === 'function') return '[function]'
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return '[deep]'
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (value instanceof Error) return cleanError(value, scrub, depth)
  if (value instanceof Map || value instanceof Set) return cleanValue([...value], scrub, depth)
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_ITEMS).map((item) => cleanValue(item, scrub, depth + 1))
    return value.length > MAX_ITEMS ? [...items, `[${value.length - MAX_ITEMS} more]`] : items
  }
  return cleanFields(value, scrub, depth + 1)
}

/** Other fields of an error, such as a request or its configuration, are left out: they are where secrets hide. */
function cleanError(error: Error, scrub: LoggerDeps['scrub'], depth: number): Record<string, unknown> {
  const { code } = error as { code?: unknown }
  return {
    type: error.name,
    message: scrub(error.message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    stack: frames(error),
    ...(error.cause === undefined ? {} : { cause: cleanValue(error.cause, scrub, depth + 1) }),
  }
}

/** The places only. They hold nothing but code, so they stay as they are; the message, which comes first, does not. */
function frames({ stack = '', message }: Error): string[] {
  const head = stack.indexOf(message)
  return (head < 0 ? stack : stack.slice(head + message.length))
    .split('\n')
    .filter((line) => /^ +at .*(?::\d+:\d+\)?|<anonymous>\)?)$/.test(line))
    .slice(0, 12)
    .map((line) => line.trim())
}
