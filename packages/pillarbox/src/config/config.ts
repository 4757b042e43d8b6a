import { join, resolve } from 'node:path'
import { closest } from '../model/closest.ts'
import {
  baseUrl,
  type Check,
  channelList,
  databaseUrl,
  duration,
  hostList,
  keyBytes,
  keyList,
  oneOf,
  originList,
  proxyTrust,
  switchable,
  text,
  wholeNumber,
} from './check.ts'

/** Where a setting comes in, and what it may be. One entry here is one line in the help, the example file and the docs. */
export interface Option<T> {
  /** What it is for, when to change it, what special values mean. */
  doc: string
  /** Its name in the config file. */
  key: string
  env: string
  /** Null for secrets: a command line can be read by everybody on the machine. */
  flag: string | null
  /** Which processes it concerns. */
  part: 'any' | 'api' | 'worker'
  /** Never echoed. */
  isSecret?: true
  default: T
  /** How the default reads where it is worked out at start. */
  defaultText?: string
  check: Check<T>
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const option = <T>(entry: Option<T>): Option<T> => entry

/** Everything that can be set. Flags win over the environment, the environment over the file, the file over defaults. */
export const OPTIONS = {
  port: option({
    doc: 'TCP port of the HTTP API. 0 lets the system choose a free one.',
    key: 'port',
    env: 'PILLARBOX_PORT',
    flag: '--port <number>',
    part: 'api',
    default: 4400,
    check: wholeNumber(0, 65_535),
  }),
  host: option({
    doc: 'Address to listen on. 0.0.0.0 makes the API reachable from other machines: put TLS in front of it then.',
    key: 'host',
    env: 'PILLARBOX_HOST',
    flag: '--host <address>',
    part: 'api',
    default: '127.0.0.1',
    check: text({ expected: 'a host name or IP address', pattern: /^[\w.:-]{1,255}$/ }),
  }),
  publicUrl: option<string | null>({
    doc: 'What the API is reached at from outside, such as https://notify.example.com, with a path in front of ours where a proxy adds one. The addresses of webhooks, which vendors are given, begin with it.',
    key: 'publicUrl',
    env: 'PILLARBOX_PUBLIC_URL',
    flag: '--public-url <url>',
    part: 'api',
    default: null,
    defaultText: 'where it listens',
    check: baseUrl(),
  }),
  trustedProxies: option<number | string[]>({
    doc: 'Proxies in front whose word is taken (X-Forwarded-For) on which address a request came from: how many there are, or better, their addresses and ranges. Without it everybody behind a proxy shares one address and its limits, so that a flood of unknown keys or forged callbacks keeps others away. A number is safe only where nobody can reach the server past the proxies.',
    key: 'trustedProxies',
    env: 'PILLARBOX_TRUSTED_PROXIES',
    flag: '--trusted-proxies <list>',
    part: 'api',
    default: [],
    defaultText: 'none',
    check: proxyTrust(),
  }),
  inboxOrigins: option<string[]>({
    doc: 'Origins whose pages may call users’ inboxes from the browser, such as https://app.example.com; * lets every page. A page still needs a user’s token. Not needed where a proxy serves pages and API from one origin.',
    key: 'inboxOrigins',
    env: 'PILLARBOX_INBOX_ORIGINS',
    flag: '--inbox-origins <list>',
    part: 'api',
    default: [],
    defaultText: 'none',
    check: originList(),
  }),
  databaseUrl: option<string | null>({
    doc: 'Where everything is kept: postgres://user:password@host/database, or sqlite:PATH for one process on one machine. Give a URL with a password by the environment or the file, where other users cannot read it.',
    key: 'databaseUrl',
    env: 'DATABASE_URL',
    flag: '--database-url <url>',
    part: 'any',
    default: null,
    defaultText: 'sqlite:<dataDir>/pillarbox.db',
    check: databaseUrl(),
  }),
  dataDir: option({
    doc: 'Folder for what is not in the database: the master key, the sandbox inbox, and the SQLite file unless another is named. Relative to the working directory. Made if it does not exist.',
    key: 'dataDir',
    env: 'PILLARBOX_DATA_DIR',
    flag: '--data-dir <folder>',
    part: 'any',
    default: './.pillarbox',
    check: text({ expected: 'the path of a folder', pattern: /^[^\0]{1,4096}$/ }),
  }),
  masterKey: option<Buffer | null>({
    doc: 'Key under which secrets are sealed: 32 random bytes in base64 (openssl rand -base64 32). Without it one is made on first start and kept in the data folder, readable by its owner only. Every process on one database needs the same.',
    key: 'masterKey',
    env: 'PILLARBOX_MASTER_KEY',
    flag: null,
    part: 'any',
    isSecret: true,
    default: null,
    defaultText: 'made on first start, kept in <dataDir>/master.key',
    check: keyBytes(32),
  }),
  formerMasterKeys: option<Buffer[]>({
    doc: 'Master keys that were replaced, and that some secrets may still be sealed under, comma-separated. What is in the data folder as former-….key counts as well. Needed until “pillarbox keys retire” says that they may go.',
    key: 'formerMasterKeys',
    env: 'PILLARBOX_FORMER_MASTER_KEYS',
    flag: null,
    part: 'any',
    isSecret: true,
    default: [],
    defaultText: 'none',
    check: keyList(32),
  }),
  opsKey: option<string | null>({
    doc: 'The first ops key, which may do everything. Without it one is made on first start and printed once.',
    key: 'opsKey',
    env: 'PILLARBOX_OPS_KEY',
    flag: null,
    part: 'api',
    isSecret: true,
    default: null,
    defaultText: 'made on first start, printed once',
    check: text({ expected: '8 to 512 printable ASCII characters without spaces', pattern: /^[\x21-\x7e]{8,512}$/ }),
  }),
  allowPrivateEndpoints: option({
    doc: 'Lets accounts and webhooks aim at loopback and private addresses. For development and tests: with it, whoever may edit an account can make this server call others in its network.',
    key: 'allowPrivateEndpoints',
    env: 'PILLARBOX_ALLOW_PRIVATE_ENDPOINTS',
    flag: '--allow-private-endpoints',
    part: 'any',
    default: false,
    check: switchable(),
  }),
  snsCertHosts: option<string[]>({
    doc: 'Hosts beside Amazon’s own that the certificates of SNS messages may come from, over http as well, and subscriptions be confirmed at. For tests: whoever runs one of these hosts can sign receipts.',
    key: 'snsCertHosts',
    env: 'PILLARBOX_SNS_CERT_HOSTS',
    flag: '--sns-cert-hosts <list>',
    part: 'api',
    default: [],
    defaultText: 'none',
    check: hostList(),
  }),
  demo: option({
    doc: 'On first start, makes a tenant called demo with sandbox accounts, to try things out. Switch it off in production.',
    key: 'demo',
    env: 'PILLARBOX_DEMO',
    flag: '--demo',
    part: 'api',
    default: true,
    check: switchable(),
  }),
  logLevel: option<LogLevel>({
    doc: 'The least important lines still written.',
    key: 'logLevel',
    env: 'PILLARBOX_LOG_LEVEL',
    flag: '--log-level <level>',
    part: 'any',
    default: 'info',
    check: oneOf(LOG_LEVELS),
  }),
  stuckAfterMs: option({
    doc: 'A notification that was due so long ago and still is not sent counts as stuck.',
    key: 'stuckAfter',
    env: 'PILLARBOX_STUCK_AFTER',
    flag: '--stuck-after <duration>',
    part: 'any',
    default: 600_000,
    check: duration('PT1S', 'P30D'),
  }),
  staleAfterMs: option({
    doc: 'A notification that was sent so long ago, and of which no receipt has said since what became of it, counts as stale.',
    key: 'staleAfter',
    env: 'PILLARBOX_STALE_AFTER',
    flag: '--stale-after <duration>',
    part: 'any',
    default: 24 * 3_600_000,
    check: duration('PT1S', 'P365D'),
  }),
  workerTtlMs: option({
    doc: 'A worker silent for so long is taken for dead and its work is taken over. Must cover the provider timeout and the flush; every process needs the same.',
    key: 'workerTtl',
    env: 'PILLARBOX_WORKER_TTL',
    flag: '--worker-ttl <duration>',
    part: 'worker',
    default: 30_000,
    check: duration('PT1S', 'PT1H'),
  }),
  shutdownGraceMs: option({
    doc: 'How long calls under way may go on after SIGTERM before they are cut off. Give the process manager a little more than this before it kills.',
    key: 'shutdownGrace',
    env: 'PILLARBOX_SHUTDOWN_GRACE',
    flag: '--shutdown-grace <duration>',
    part: 'any',
    default: 10_000,
    check: duration('PT0S', 'PT10M'),
  }),
  providerTimeoutMs: option<number | null>({
    doc: 'How long one provider call may take. What has not answered by then has an unknown outcome. Must fit into three quarters of the worker TTL.',
    key: 'providerTimeout',
    env: 'PILLARBOX_PROVIDER_TIMEOUT',
    flag: '--provider-timeout <duration>',
    part: 'worker',
    default: null,
    defaultText: 'PT10S, or a third of the worker TTL where that is shorter',
    check: duration('PT0.1S', 'PT5M'),
  }),
  concurrency: option({
    doc: 'Provider calls one worker makes at the same time on each channel, over all its accounts.',
    key: 'concurrency',
    env: 'PILLARBOX_CONCURRENCY',
    flag: '--concurrency <number>',
    part: 'worker',
    default: 256,
    check: wholeNumber(1, 10_000),
  }),
  channels: option({
    doc: 'Channels this worker sends on, e.g. sms,whatsapp. Every channel needs some worker.',
    key: 'channels',
    env: 'PILLARBOX_CHANNELS',
    flag: '--channels <list>',
    part: 'worker',
    default: null,
    defaultText: 'all',
    check: channelList(),
  }),
  planBatch: option({
    doc: 'Events turned into notifications in one transaction.',
    key: 'planBatch',
    env: 'PILLARBOX_PLAN_BATCH',
    flag: '--plan-batch <number>',
    part: 'worker',
    default: 200,
    check: wholeNumber(1, 5_000),
  }),
  claimBatch: option({
    doc: 'Notifications claimed in one statement. A worker never claims more than it has free calls for.',
    key: 'claimBatch',
    env: 'PILLARBOX_CLAIM_BATCH',
    flag: '--claim-batch <number>',
    part: 'worker',
    default: 256,
    check: wholeNumber(1, 5_000),
  }),
  flushMs: option({
    doc: 'How many milliseconds a result waits for others to be written with it.',
    key: 'flushMs',
    env: 'PILLARBOX_FLUSH_MS',
    flag: '--flush-ms <number>',
    part: 'worker',
    default: 5,
    check: wholeNumber(0, 1_000),
  }),
  databasePoolSize: option({
    doc: 'Connections to PostgreSQL that one process keeps at most. SQLite has no use for it.',
    key: 'databasePoolSize',
    env: 'PILLARBOX_DATABASE_POOL_SIZE',
    flag: '--database-pool-size <number>',
    part: 'any',
    default: 10,
    check: wholeNumber(2, 500),
  }),
  pollMaxMs: option({
    doc: 'The longest an idle worker waits before it looks for work again. Work that this process knows of is taken up at once.',
    key: 'pollMax',
    env: 'PILLARBOX_POLL_MAX',
    flag: '--poll-max <duration>',
    part: 'worker',
    default: 1_000,
    check: duration('PT0.01S', 'PT1M'),
  }),
}

export type OptionName = keyof typeof OPTIONS

type Settings = { [K in OptionName]: (typeof OPTIONS)[K] extends Option<infer T> ? T : never }

/** Every setting, checked. Durations are milliseconds; paths are absolute. */
export interface Config extends Omit<Settings, 'databaseUrl' | 'providerTimeoutMs'> {
  databaseUrl: string
  providerTimeoutMs: number
  /** A call that ignores its timeout is given up this much later. Not a setting: it follows the worker TTL. */
  callGraceMs: number
}

export type ConfigOrigin = 'flag' | 'environment' | 'file' | 'default'

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
}

export type ConfigAnswer =
  | { config: Config; origins: Record<OptionName, ConfigOrigin>; warnings: string[] }
  | { problems: ConfigProblem[] }

/** Settles every setting, or names every problem at once. Reads nothing but its input. */
export function resolveConfig(input: ConfigInput): ConfigAnswer {
  const problems: ConfigProblem[] = unknownKeys(input)
  const values: Record<string, unknown> = {}
  const origins = {} as Record<OptionName, ConfigOrigin>
  const givenAs: Record<string, string> = {}

  for (const [name, entry] of optionEntries()) {
    const given = find(entry, input)
    origins[name] = given?.origin ?? 'default'
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
    providerTimeoutMs: settings.providerTimeoutMs ?? Math.min(10_000, Math.floor(settings.workerTtlMs / 3)),
    callGraceMs: Math.min(500, Math.floor(settings.workerTtlMs / 20)),
  }
  problems.push(...conflicts(config, givenAs))
  if (problems.length) return { problems }
  return { config, origins, warnings: doubts(config, givenAs, input.env) }
}

/** One sentence per problem. */
export function describeProblem({ option: name, expected, got }: ConfigProblem): string {
  return `${name}: expected ${expected}, got ${got}`
}

/** The table as a list that can be walked without knowing each option's type. */
export function optionEntries(): [OptionName, Option<unknown>][] {
  return Object.entries(OPTIONS) as [OptionName, Option<unknown>][]
}

/** `--port` of `--port <number>`. */
export function flagName(flag: string): string {
  return flag.split(' ')[0] ?? flag
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
  const { providerTimeoutMs, shutdownGraceMs, opsKey, masterKey, formerMasterKeys } = config
  if (shutdownGraceMs < providerTimeoutMs)
    warnings.push(
      `${givenAs['shutdownGraceMs']} is shorter than the provider timeout: calls under way at a stop may be cut off with an unknown outcome`,
    )
  if (opsKey !== null && opsKey.length < 24)
    warnings.push(`${givenAs['opsKey']} is short enough to be guessed: use at least 24 random characters`)
  if (masterKey !== null && formerMasterKeys.some((key) => key.equals(masterKey)))
    warnings.push(
      `${givenAs['formerMasterKeys']} has the master key itself in it: for a rotation, ${givenAs['masterKey']} must be the new key`,
    )
  const known = optionEntries().map(([, entry]) => entry.env)
  // Others may have variables of their own here, so only what looks like a slip is spoken of.
  const withoutPrefix = (name: string): string => name.replace(/^PILLARBOX_/, '')
  for (const name of Object.keys(env)) {
    if (!name.startsWith('PILLARBOX_') || name === CONFIG_FILE_ENV || known.includes(name)) continue
    const meant = closest(withoutPrefix(name), known.map(withoutPrefix))
    if (meant !== null) warnings.push(`the environment variable ${name} is not known: did you mean PILLARBOX_${meant}?`)
  }
  return warnings
}

export const CONFIG_FILE_ENV = 'PILLARBOX_CONFIG'
export const CONFIG_FILE_FLAG = '--config <file>'

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

function find(entry: Option<unknown>, { flags, env, file }: ConfigInput) {
  const flag = entry.flag === null ? null : flagName(entry.flag)
  if (flag !== null && flags[flag] !== undefined) return { origin: 'flag' as const, as: flag, raw: flags[flag] }
  // Compose files and shells pass variables that are "not set" as empty ones.
  const fromEnv = env[entry.env]
  if (fromEnv !== undefined && fromEnv !== '') return { origin: 'environment' as const, as: entry.env, raw: fromEnv }
  const fromFile = file?.content[entry.key]
  if (fromFile !== undefined && fromFile !== null)
    return { origin: 'file' as const, as: `${entry.key} in ${file?.path}`, raw: fromFile }
  return null
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
