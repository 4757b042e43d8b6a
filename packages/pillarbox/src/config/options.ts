import { ALERT_RULES, type AlertRule } from '../model/alert.ts'
import { PLAN_RETRY_DELAYS_MS } from '../model/retry.ts'
import {
  addressList,
  alertRuleList,
  baseUrl,
  channelList,
  databaseUrl,
  duration,
  durationList,
  hookUrl,
  hostList,
  keyBytes,
  keyList,
  oneOf,
  originList,
  proxyTrust,
  randomText,
  type SettingCheck,
  signingSecret,
  sinkUrl,
  switchable,
  text,
  wholeNumber,
} from './check.ts'

interface OptionEntry<T> {
  /** What it is for, when to change it, what special values mean. */
  doc: string
  /** Which processes it concerns. */
  part: 'any' | 'server' | 'api' | 'worker'
  /** Never echoed, and never a flag. */
  isSecret?: true
  /** May hold a password, and may be a flag all the same. */
  holdsSecret?: true
  default: T
  /** How the default reads where it is worked out at start. */
  defaultText?: string
  check: SettingCheck<T>
  /** Where it is not PILLARBOX_ and the key. */
  env?: string
}

/** Where a setting comes in, and what it may be. One of these is one line in the help, the example file and the docs. */
export interface Option<T> extends OptionEntry<T> {
  /** Its name in the config file. */
  key: string
  env: string
  /** Null for secrets: a command line can be read by everybody on the machine. */
  flag: string | null
  /** For secrets: the variables that name a file which holds it, or a command which prints it. */
  from: { file: string; command: string } | null
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const option = <T>(entry: OptionEntry<T>): OptionEntry<T> => entry

/**
 * Everything that can be set. Flags win over the environment, the environment over the file, the file over defaults. An
 * option is named once: `stuckAfterMs`, a duration, is `stuckAfter` in the file, `PILLARBOX_STUCK_AFTER` in the environment
 * and `--stuck-after <duration>` as a flag.
 */
const TABLE = {
  port: option({
    doc: 'TCP port of the HTTP API. 0 lets the system choose a free one.',
    part: 'api',
    default: 4400,
    check: wholeNumber(0, 65_535),
  }),
  host: option({
    doc: 'Address to listen on. 0.0.0.0 makes the API reachable from other machines: put TLS in front of it then.',
    part: 'any',
    default: '127.0.0.1',
    check: text('address', 'a host name or IP address', /^[\w.:-]{1,255}$/),
  }),
  metricsPort: option<number | null>({
    doc: 'TCP port, at the same address, where GET /metrics is answered without a key, for Prometheus; the only way to read a worker’s. Let nobody else reach it. Every process on one machine needs its own; 0 lets the system choose a free one.',
    part: 'any',
    default: null,
    defaultText: 'none: only the API answers /metrics, for an ops key',
    check: wholeNumber(0, 65_535),
  }),
  publicUrl: option<string | null>({
    doc: 'What the API is reached at from outside, such as https://notify.example.com, with a path in front of ours where a proxy adds one. The addresses of webhooks, which vendors are given, begin with it.',
    part: 'api',
    default: null,
    defaultText: 'where it listens',
    check: baseUrl(),
  }),
  trustedProxies: option<number | string[]>({
    doc: 'Proxies in front whose word is taken (X-Forwarded-For) on which address a request came from: how many there are, or better, their addresses and ranges. Without it everybody behind a proxy shares one address and its limits, so that a flood of unknown keys or forged callbacks keeps others away. A number is safe only where nobody can reach the server past the proxies.',
    part: 'api',
    default: [],
    defaultText: 'none',
    check: proxyTrust(),
  }),
  inboxOrigins: option<string[]>({
    doc: 'Origins whose pages may call users’ inboxes from the browser, such as https://app.example.com; * lets every page. A page still needs a user’s token. Not needed where a proxy serves pages and API from one origin.',
    part: 'api',
    default: [],
    defaultText: 'none',
    check: originList(),
  }),
  consoleFrames: option<string[]>({
    doc: 'Origins whose pages may show an entity’s panel of the console (/entities/TYPE/ID?embed=1) in a frame, such as https://desk.example.com. The browser sends the session along only where they are of the same site as the console.',
    part: 'api',
    default: [],
    defaultText: 'none',
    check: originList(),
  }),
  databaseUrl: option<string | null>({
    doc: 'Where everything is kept: postgres://user:password@host/database, or sqlite:PATH for one process on one machine. Give a URL with a password by the environment or a file, where other users cannot read it.',
    env: 'DATABASE_URL',
    part: 'any',
    holdsSecret: true,
    default: null,
    defaultText: 'sqlite:<dataDir>/pillarbox.db',
    check: databaseUrl(),
  }),
  dataDir: option({
    doc: 'Folder for what is not in the database: the master key, the sandbox inbox, and the SQLite file unless another is named. Relative to the working directory. Made if it does not exist.',
    part: 'any',
    default: './.pillarbox',
    check: text('folder', 'the path of a folder', /^[^\0]{1,4096}$/),
  }),
  masterKey: option<Buffer | null>({
    doc: 'Key under which secrets are sealed: 32 random bytes in base64 (openssl rand -base64 32). Without it one is made on first start and kept in the data folder, readable by its owner only. Every process on one database needs the same.',
    part: 'any',
    isSecret: true,
    default: null,
    defaultText: 'made on first start, kept in <dataDir>/master.key',
    check: keyBytes(32),
  }),
  formerMasterKeys: option<Buffer[]>({
    doc: 'Master keys that were replaced, and that some secrets may still be sealed under, comma-separated. What is in the data folder as former-….key counts as well. Needed until “pillarbox keys retire” says that they may go.',
    part: 'any',
    isSecret: true,
    default: [],
    defaultText: 'none',
    check: keyList(32),
  }),
  opsKey: option<string | null>({
    doc: 'The first ops key, which may do everything. Without it one is made on first start: printed once in a terminal, elsewhere written to a file that the log names. “pillarbox keys ops” makes another.',
    part: 'api',
    isSecret: true,
    default: null,
    defaultText: 'made on first start',
    check: randomText(128, 'openssl rand -hex 32'),
  }),
  allowPrivateEndpoints: option({
    doc: 'Lets accounts and webhooks aim at loopback and private addresses. For development and tests: with it, whoever may edit an account can make this server call others in its network.',
    part: 'any',
    default: false,
    check: switchable(),
  }),
  snsCertHosts: option<string[]>({
    doc: 'Hosts beside Amazon’s own that the certificates of SNS messages may come from, over http as well, and subscriptions be confirmed at. For tests: whoever runs one of these hosts can sign receipts.',
    part: 'api',
    default: [],
    defaultText: 'none',
    check: hostList(),
  }),
  demo: option({
    doc: 'On first start, makes a tenant called demo with sandbox accounts, to try things out. Switch it off in production.',
    part: 'api',
    default: true,
    check: switchable(),
  }),
  logLevel: option<LogLevel>({
    doc: 'The least important lines still written.',
    part: 'any',
    default: 'info',
    check: oneOf('level', LOG_LEVELS),
  }),
  auditSink: option<string | null>({
    doc: 'Where the audit is copied to as well, outside of the database: file:PATH for JSON lines, or an https URL that gets signed requests. Its trouble changes nothing else; /health says so.',
    part: 'worker',
    default: null,
    defaultText: 'nowhere',
    check: sinkUrl(),
  }),
  auditSinkSecret: option<string | null>({
    doc: 'What requests to the audit sink are signed with: whsec_ and base64 of 24 to 64 random bytes, as Standard Webhooks has it; or several, separated by spaces, while one is changed for another.',
    part: 'worker',
    isSecret: true,
    default: null,
    defaultText: 'none',
    check: signingSecret(),
  }),
  stuckAfterMs: option({
    doc: 'A notification that was due so long ago and still is not sent counts as stuck.',
    part: 'any',
    default: 600_000,
    check: duration('PT1S', 'P30D'),
  }),
  stuckScanEveryMs: option({
    doc: 'How often the log warns, once for each tenant, of what is stuck. One worker looks for all; what it looks at are sums, so it costs little.',
    part: 'worker',
    default: 300_000,
    check: duration('PT10S', 'P1D'),
  }),
  staleAfterMs: option({
    doc: 'A notification that was sent so long ago, and of which no receipt has said since what became of it, counts as stale; not where its provider sends none.',
    part: 'any',
    default: 24 * 3_600_000,
    check: duration('PT1S', 'P365D'),
  }),
  kpiWindowMs: option({
    doc: 'What “in the last interval” means among the numbers of /api/kpis and /ops/kpis, in whole seconds.',
    part: 'api',
    default: 60_000,
    check: duration('PT1S', 'PT1H'),
  }),
  retentionMs: option({
    doc: 'How long a tenant keeps what is over, unless its own retention says otherwise: notifications that are final, with their attempts, receipts and inbox messages, events, callbacks, audit. What waits for an operator is never removed.',
    part: 'any',
    default: 365 * 24 * 3_600_000,
    check: duration('PT1H', 'P36500D'),
  }),
  purgeEveryMs: option({
    doc: 'How often what is past its retention is removed, by one worker for all.',
    part: 'worker',
    default: 24 * 3_600_000,
    check: duration('PT1M', 'P30D'),
  }),
  alertTo: option<string[]>({
    doc: 'Who is told of alerts: email addresses and phone numbers. Alerts are sent from the tenant ops, which is made for it; give it accounts as any other.',
    part: 'server',
    default: [],
    defaultText: 'nobody',
    check: addressList(),
  }),
  alertWebhook: option<string | null>({
    doc: 'Where alerts are posted to as well, signed as Standard Webhooks has it. This needs no worker and no account.',
    part: 'server',
    default: null,
    defaultText: 'nowhere',
    check: hookUrl(),
  }),
  alertWebhookSecret: option<string | null>({
    doc: 'What requests to the alert webhook are signed with: whsec_ and base64 of 24 to 64 random bytes; or several, separated by spaces, while one is changed for another.',
    part: 'server',
    isSecret: true,
    default: null,
    defaultText: 'none',
    check: signingSecret(),
  }),
  alertRules: option<AlertRule[]>({
    doc: 'The rules that alerts are raised by; none switches them off. Every process needs the same alert settings: whichever looks first looks for all.',
    part: 'server',
    default: [...ALERT_RULES],
    check: alertRuleList(),
  }),
  alertEveryMs: option({
    doc: 'How often somebody looks whether an alert is to be raised or cleared: one process for all.',
    part: 'server',
    default: 15_000,
    check: duration('PT0.1S', 'PT10M'),
  }),
  alertClearAfterMs: option({
    doc: 'How long what was wrong has to be well before its alert is cleared.',
    part: 'server',
    default: 300_000,
    check: duration('PT0S', 'P1D'),
  }),
  alertRepeatEveryMs: option<number | null>({
    doc: 'After which time an alert that is open, and that nobody has acknowledged, is told again, and again after as long.',
    part: 'server',
    default: null,
    defaultText: 'never',
    check: duration('PT1M', 'P30D'),
  }),
  alertStuckMost: option({
    doc: 'The alert “stuck” is raised where a tenant has more stuck notifications than this.',
    part: 'server',
    default: 0,
    check: wholeNumber(0, 1_000_000_000),
  }),
  alertStuckForMs: option({
    doc: 'How long a tenant has to have that many stuck notifications before the alert “stuck” is raised.',
    part: 'server',
    default: 300_000,
    check: duration('PT0S', 'P1D'),
  }),
  alertOldestMs: option({
    doc: 'The alert “oldest_pending” is raised where something has been due for longer than this.',
    part: 'server',
    default: 300_000,
    check: duration('PT1S', 'P30D'),
  }),
  alertParkedRate: option({
    doc: 'The alert “parked_rate” is raised where more than this many percent of a tenant’s outcomes (sent, parked, failed) were parked lately.',
    part: 'server',
    default: 5,
    check: wholeNumber(0, 99),
  }),
  alertParkedLeast: option({
    doc: 'And at least so many were.',
    part: 'server',
    default: 10,
    check: wholeNumber(1, 1_000_000_000),
  }),
  alertParkedOverMs: option({
    doc: 'What “lately” means for the alert “parked_rate”.',
    part: 'server',
    default: 900_000,
    check: duration('PT1M', 'PT2H'),
  }),
  alertBreakerForMs: option({
    doc: 'How long an account’s breaker has to be open before the alert “breaker_open” is raised.',
    part: 'server',
    default: 60_000,
    check: duration('PT0S', 'P1D'),
  }),
  alertNoWorkerMs: option({
    doc: 'How long no worker has to be alive before the alert “no_worker” is raised.',
    part: 'server',
    default: 60_000,
    check: duration('PT0S', 'P1D'),
  }),
  alertSiteSilentMs: option({
    doc: 'A site that has not been heard of for longer raises the alert “site_silent”. A site with a buffer is heard of every minute.',
    part: 'server',
    default: 900_000,
    check: duration('PT1M', 'P30D'),
  }),
  workerTtlMs: option({
    doc: 'A worker silent for so long is taken for dead and its work is taken over. Must cover the provider timeout and the flush; every process needs the same.',
    part: 'worker',
    default: 30_000,
    check: duration('PT1S', 'PT1H'),
  }),
  shutdownGraceMs: option({
    doc: 'How long calls under way may go on after SIGTERM before they are cut off. Give the process manager a little more than this before it kills.',
    part: 'any',
    default: 10_000,
    check: duration('PT0S', 'PT10M'),
  }),
  providerTimeoutMs: option<number | null>({
    doc: 'How long one provider call may take. What has not answered by then has an unknown outcome. Must fit into three quarters of the worker TTL.',
    part: 'worker',
    default: null,
    defaultText: 'PT10S, or a third of the worker TTL where that is shorter',
    check: duration('PT0.1S', 'PT5M'),
  }),
  concurrency: option({
    doc: 'Provider calls one worker makes at the same time on each channel, over all its accounts.',
    part: 'worker',
    default: 256,
    check: wholeNumber(1, 10_000),
  }),
  channels: option({
    doc: 'Channels this worker sends on, e.g. sms,whatsapp. Every channel needs some worker.',
    part: 'worker',
    default: null,
    defaultText: 'all',
    check: channelList(),
  }),
  planRetryDelaysMs: option({
    doc: 'How long planning waits before it tries an event or schedule again that could not be planned; one try more than there are delays, then it is failed.',
    part: 'worker',
    default: [...PLAN_RETRY_DELAYS_MS],
    check: durationList('PT1S', 'P1D', 20),
  }),
  planBatch: option({
    doc: 'Events turned into notifications in one transaction.',
    part: 'worker',
    default: 200,
    check: wholeNumber(1, 5_000),
  }),
  claimBatch: option({
    doc: 'Notifications claimed in one statement. A worker never claims more than it has free calls for.',
    part: 'worker',
    default: 256,
    check: wholeNumber(1, 5_000),
  }),
  flushMs: option({
    doc: 'How many milliseconds a result waits for others to be written with it.',
    part: 'worker',
    default: 5,
    check: wholeNumber(0, 1_000),
  }),
  databasePoolSize: option({
    doc: 'Connections to PostgreSQL that one process keeps at most. SQLite has no use for it.',
    part: 'any',
    default: 10,
    check: wholeNumber(2, 500),
  }),
  pollMaxMs: option({
    doc: 'The longest an idle worker waits before it looks for work again. Work that this process knows of is taken up at once.',
    part: 'worker',
    default: 1_000,
    check: duration('PT0.01S', 'PT1M'),
  }),
}

export type OptionName = keyof typeof TABLE
export type Settings = { [K in OptionName]: (typeof TABLE)[K] extends OptionEntry<infer T> ? T : never }

/** The table with every option's three names. */
export const OPTIONS = Object.fromEntries(
  (Object.entries(TABLE) as [string, OptionEntry<unknown>][]).map(([name, entry]) => [name, withNames(name, entry)]),
) as unknown as { [K in OptionName]: Option<Settings[K]> }

function withNames<T>(name: string, entry: OptionEntry<T>): Option<T> {
  const { placeholder } = entry.check
  const key = placeholder === 'duration' || placeholder === 'durations' ? name.replace(/Ms$/, '') : name
  const words = key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`)
  const flag = `--${words.toLowerCase().replaceAll('_', '-')}${placeholder === null ? '' : ` <${placeholder}>`}`
  const { env = `PILLARBOX_${words.toUpperCase()}`, isSecret, holdsSecret } = entry
  const from = isSecret || holdsSecret ? { file: `${env}_FILE`, command: `${env}_COMMAND` } : null
  return { ...entry, env, key, flag: isSecret ? null : flag, from }
}

/** The table as a list that can be walked without knowing each option's type. */
export function optionEntries(): [OptionName, Option<unknown>][] {
  return Object.entries(OPTIONS) as [OptionName, Option<unknown>][]
}

/** The default as one would write it in a file, or as a remark where it is made at start. */
export function defaultOf(entry: Option<unknown>): { text: string; isRemark: boolean } {
  if (entry.defaultText !== undefined) return { text: entry.defaultText, isRemark: true }
  return { text: entry.check.write(entry.default), isRemark: false }
}

/** `--port` of `--port <number>`. */
export function flagName(flag: string): string {
  return flag.split(' ')[0] ?? flag
}

export const CONFIG_FILE_ENV = 'PILLARBOX_CONFIG'
export const CONFIG_FILE_FLAG = '--config <file>'
