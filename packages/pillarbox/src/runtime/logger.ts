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
  /** Takes whole lines. */
  write(text: string): void
  /** `plain` and `coloured` are for people; `json` is for machines: one JSON object each line. */
  style: 'json' | 'plain' | 'coloured'
}

/**
 * Writes one line per call: JSON, or something to read where a person is looking. Fields that are known to be secret
 * are replaced whatever they hold, and all text goes through `scrub`, so that a careless call leaks nothing (P10).
 * Never throws: a field that cannot be written is described instead.
 */
export function createLogger({ level, clock, scrub, write, style }: LoggerDeps): ScopedLogger {
  const root = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: style === 'json' ? write : readably(write, style === 'coloured') },
  )
  return wrap(root, scrub)
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
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child(fields: object): Sink
}

function wrap(sink: Sink, scrub: LoggerDeps['scrub']): ScopedLogger {
  const clean = (fields: Record<string, unknown>): Record<string, unknown> => cleanFields(fields, scrub, 0)
  return {
    debug: (fields, message) => sink.debug(clean(fields), scrub(message)),
    info: (fields, message) => sink.info(clean(fields), scrub(message)),
    warn: (fields, message) => sink.warn(clean(fields), scrub(message)),
    error: (fields, message) => sink.error(clean(fields), scrub(message)),
    child: (fields) => wrap(sink.child(clean(fields)), scrub),
  }
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
  const plain = name.toLowerCase().replaceAll(/[^a-z]/g, '')
  // A lease token is a number; a token in words is a credential.
  if (HARMLESS.has(plain) && (typeof value !== 'string' || plain === 'idempotencykey')) return false
  return SECRET_NAME.test(plain)
}

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
