import { join, resolve } from 'node:path'
import { closest } from '../model/closest.ts'
import { CONFIG_FILE_ENV, flagName, OPTIONS, type Option, optionEntries, type Settings } from './options.ts'

/** Every setting, checked. Durations are milliseconds; paths are absolute. */
export interface Config extends Omit<Settings, 'databaseUrl' | 'providerTimeoutMs'> {
  databaseUrl: string
  providerTimeoutMs: number
  /** A call that ignores its timeout is given up this much later. Not a setting: it follows the worker TTL. */
  callGraceMs: number
}

export interface ConfigProblem {
  /** As the user gave it: `--port`, `PILLARBOX_PORT`, or `port in pillarbox.yaml`. */
  option: string
  expected: string
  /** What was found instead; for secrets only that it is wrong. */
  got: string
}

export interface ConfigInput {
  /** By flag, e.g. `--port`; only those that were given. A switch is `true` or `false`. */
  flags: Readonly<Record<string, string | boolean>>
  env: Readonly<Record<string, string | undefined>>
  /** What the config file holds; null: there is none. */
  file: { path: string; content: Readonly<Record<string, unknown>> } | null
  /** What relative paths start from. */
  cwd: string
  /** What was read from the files and commands that the environment names for secrets. */
  secrets?: GivenSecrets
}

/** By the variable that would hold the secret itself. */
export type GivenSecrets = Readonly<Record<string, { as: string; raw: string }>>

export type ConfigAnswer = { config: Config; warnings: string[] } | { problems: ConfigProblem[] }

/** Settles every setting, or names every problem at once. Reads nothing but its input. */
export function resolveConfig(input: ConfigInput): ConfigAnswer {
  const problems: ConfigProblem[] = [...unknownKeys(input), ...unreadSecrets(input)]
  const values: Record<string, unknown> = {}
  const givenAs: Record<string, string> = {}

  for (const [name, entry] of optionEntries()) {
    const given = find(entry, input)
    givenAs[name] = given?.as ?? entry.env
    if (!given) continue
    const value = entry.check.read(given.raw)
    if (value === undefined)
      problems.push({ option: given.as, expected: entry.check.expected, got: show(entry, given.raw) })
    else values[name] = value
  }

  for (const [name, entry] of optionEntries()) values[name] ??= entry.default
  const settings = values as Settings
  const dataDir = resolve(input.cwd, settings.dataDir)
  const url = settings.databaseUrl ?? `sqlite:${join(dataDir, 'pillarbox.db')}`
  const config: Config = {
    ...settings,
    dataDir,
    databaseUrl: absoluteDatabaseUrl(url, input.cwd),
    auditSink: absoluteSink(settings.auditSink, input.cwd),
    providerTimeoutMs: settings.providerTimeoutMs ?? Math.min(10_000, Math.floor(settings.workerTtlMs / 3)),
    callGraceMs: Math.min(500, Math.floor(settings.workerTtlMs / 20)),
  }
  problems.push(...conflicts(config, givenAs), ...unsigned(config, givenAs))
  if (problems.length) return { problems }
  return { config, warnings: doubts(config, givenAs, input.env) }
}

function absoluteSink(sink: string | null, cwd: string): string | null {
  return sink?.startsWith('file:') ? `file:${resolve(cwd, sink.slice('file:'.length))}` : sink
}

/** Whoever receives the audit or alerts must be able to tell whose they are. */
function unsigned(config: Config, givenAs: Record<string, string>): ConfigProblem[] {
  const { auditSink, auditSinkSecret, alertWebhook, alertWebhookSecret } = config
  const missing = (name: 'auditSinkSecret' | 'alertWebhookSecret', got: string): ConfigProblem => {
    const { env, check } = OPTIONS[name]
    return { option: givenAs[name] ?? env, expected: check.expected, got }
  }
  const problems: ConfigProblem[] = []
  if (auditSink !== null && !auditSink.startsWith('file:') && auditSinkSecret === null)
    problems.push(missing('auditSinkSecret', 'nothing, with a URL as sink'))
  if (alertWebhook !== null && alertWebhookSecret === null)
    problems.push(missing('alertWebhookSecret', 'nothing, with a URL to post alerts to'))
  return problems
}

/** One sentence per problem. */
export function describeProblem({ option: name, expected, got }: ConfigProblem): string {
  return `${name}: expected ${expected}, got ${got}`
}

/** What belongs together but does not fit. */
function conflicts(config: Config, givenAs: Record<string, string>): ConfigProblem[] {
  const { workerTtlMs, providerTimeoutMs, flushMs, callGraceMs } = config
  // A worker beats four times per TTL, and starts no call that its lease would not outlast: with less than this it
  // could be taken for dead, and its messages sent again, while a call it made is still within its time.
  if (workerTtlMs * 0.75 >= providerTimeoutMs + callGraceMs + flushMs) return []
  const { write } = OPTIONS.workerTtlMs.check
  return [
    {
      option: givenAs['workerTtlMs'] ?? OPTIONS.workerTtlMs.env,
      expected: `at least four thirds of the provider timeout plus the flush time (${givenAs['providerTimeoutMs']} is ${write(providerTimeoutMs)}, ${givenAs['flushMs']} is ${flushMs} ms)`,
      got: write(workerTtlMs),
    },
  ]
}

/** What works, but is probably not meant. */
function doubts(config: Config, givenAs: Record<string, string>, env: ConfigInput['env']): string[] {
  const warnings: string[] = []
  const { providerTimeoutMs, shutdownGraceMs, masterKey, formerMasterKeys } = config
  if (shutdownGraceMs < providerTimeoutMs)
    warnings.push(
      `${givenAs['shutdownGraceMs']} is shorter than the provider timeout: calls under way at a stop may be cut off with an unknown outcome`,
    )
  if (masterKey !== null && formerMasterKeys.some((key) => key.equals(masterKey)))
    warnings.push(
      `${givenAs['formerMasterKeys']} has the master key itself in it: for a rotation, ${givenAs['masterKey']} must be the new key`,
    )
  const known = optionEntries().flatMap(([, { env: name, from }]) => [name, ...(from ? [from.file, from.command] : [])])
  // Others may have variables of their own here, so only what looks like a slip is spoken of.
  const withoutPrefix = (name: string): string => name.replace(/^PILLARBOX_/, '')
  for (const name of Object.keys(env)) {
    if (!name.startsWith('PILLARBOX_') || name === CONFIG_FILE_ENV || known.includes(name)) continue
    const meant = closest(withoutPrefix(name), known.map(withoutPrefix))
    if (meant !== null) warnings.push(`the environment variable ${name} is not known: did you mean PILLARBOX_${meant}?`)
  }
  return warnings
}

function unknownKeys({ file }: ConfigInput): ConfigProblem[] {
  const known = optionEntries().map(([, entry]) => entry.key)
  return Object.keys(file?.content ?? {})
    .filter((key) => !known.includes(key))
    .map((key) => {
      const meant = closest(key, known)
      const expected = meant === null ? `one of ${known.join(', ')}` : `a known setting; did you mean ${meant}?`
      return { option: `${key} in ${file?.path}`, expected, got: 'an unknown one' }
    })
}

/** Where a file or a command is named for a secret, and nobody has read it: its setting would silently be the default. */
function unreadSecrets({ env, secrets = {} }: ConfigInput): ConfigProblem[] {
  return optionEntries().flatMap(([, entry]) => {
    const named = [entry.from?.file, entry.from?.command].filter((name) => name !== undefined && Boolean(env[name]))
    const expected = `${entry.env}: files and commands are read by the pillarbox command alone`
    return secrets[entry.env] ? [] : named.map((name) => ({ option: String(name), expected, got: 'where to get it' }))
  })
}

function find(entry: Option<unknown>, { flags, env, file, secrets = {} }: ConfigInput) {
  const flag = entry.flag === null ? null : flagName(entry.flag)
  if (flag !== null && flags[flag] !== undefined) return { as: flag, raw: flags[flag] }
  // Compose files and shells pass variables that are "not set" as empty ones.
  const fromEnv = env[entry.env]
  if (fromEnv !== undefined && fromEnv !== '') return { as: entry.env, raw: fromEnv }
  const given = secrets[entry.env]
  if (given) return given
  const fromFile = file?.content[entry.key]
  return fromFile === undefined || fromFile === null ? null : { as: `${entry.key} in ${file?.path}`, raw: fromFile }
}

function show(entry: Option<unknown>, raw: unknown): string {
  if (entry.isSecret) return 'something else (not shown: it is secret)'
  const shown = JSON.stringify(raw) ?? String(raw)
  const hidden = shown
    .replace(/(:\/\/[^\s/@:"]*):[^"]*@/, '$1:***@')
    .replace(/([?&](?:password|sslpassword)=)[^&"]*/gi, '$1***')
  const hint = /^"tcp:\/\/[\d.]+:\d+"$/.test(shown) ? ' (a Kubernetes service link; set enableServiceLinks: false)' : ''
  return `${hidden.length > 200 ? `${hidden.slice(0, 200)}…` : hidden}${hint}`
}

function absoluteDatabaseUrl(url: string, cwd: string): string {
  const path = /^sqlite:(.+)$/s.exec(url)?.[1]
  return path === undefined || path === ':memory:' ? url : `sqlite:${resolve(cwd, path)}`
}
