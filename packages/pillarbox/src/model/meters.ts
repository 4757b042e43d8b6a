import { ACCOUNT_STATUSES } from './account.ts'
import { ALERT_NEWS, ALERT_RULES } from './alert.ts'
import { CHANNELS } from './channel.ts'
import { ATTEMPT_OUTCOMES } from './outcome.ts'
import { REASONS, SKIP_REASONS } from './reason.ts'
import { RECEIPT_KINDS } from './receipt.ts'

/**
 * Everything that is counted and measured, for Prometheus: one entry is one metric, one line of
 * `docs/reference/metrics.md` and, through its type, the only way to count it.
 *
 * A label has few values: a closed set, or, where it says so in words, what this version or its operator brings, such as the
 * names of providers. Never an id, an address, a tenant or anything else that grows with what is sent.
 */
interface MetricEntry {
  /** What it counts or measures, as a sentence. */
  words: string
  labels: Readonly<Record<string, LabelValues>>
}

/** All there are, or what they are in words. */
export type LabelValues = readonly string[] | string

const PROVIDER = 'the name of a provider'
const EVERY_REASON = Object.keys(REASONS)

/** In the page as `pillarbox_<name>_total`. */
export const COUNTERS = {
  intake: {
    words: 'Events and single notifications that were handed in over HTTP, each item of a list for itself.',
    labels: {
      way: ['events', 'hasura', 'notification_requests', 'notifications', 'sites'],
      result: ['accepted', 'duplicate', 'refused'],
    },
  },
  rows_planned: {
    words:
      'Events and schedules that planning has decided about, those written in an application’s own transaction included.',
    labels: {
      kind: ['event', 'schedule'],
      result: ['notifications', 'part', 'schedule', 'derive', 'cancelled', 'failed'],
    },
  },
  planning_failures: {
    words:
      'Events and schedules that failed in planning, by why. `poisoned` are those that ended a process twice and are not tried again.',
    labels: { reason: EVERY_REASON },
  },
  rows_set_back: {
    words: 'Events and schedules that could not be planned and wait to be tried again, or were given up.',
    labels: { kind: ['event', 'schedule'] },
  },
  planning_crashes: {
    words: 'Events and schedules that were being planned when their process died.',
    labels: {},
  },
  notifications_planned: {
    words: 'Notifications that planning has made to be sent.',
    labels: { channel: CHANNELS },
  },
  notifications_skipped: {
    words: 'Notifications that were not sent though nothing failed, by why.',
    labels: { reason: SKIP_REASONS },
  },
  placeholders_missing: {
    words: 'Notifications with a placeholder that had no value.',
    labels: {},
  },
  attempts: {
    words:
      'Provider calls, by what they came to. `unknown`: the request left and no usable answer came, or the worker died over it.',
    labels: { channel: CHANNELS, provider: PROVIDER, outcome: ATTEMPT_OUTCOMES },
  },
  possible_duplicates: {
    words:
      'Provider calls that were or may have been accepted though an earlier one for the same notification may have been, too: its recipient may have it twice.',
    labels: { channel: CHANNELS },
  },
  retries: {
    words: 'Results after which a notification waits to be tried again, with another account included.',
    labels: { channel: CHANNELS, provider: PROVIDER },
  },
  notifications_settled: {
    words:
      'Notifications that dispatch or a receipt brought to where they rest. One that bounces counts as sent and then as parked.',
    labels: {
      channel: CHANNELS,
      to: ['sent', 'delivered', 'read', 'parked', 'uncertain', 'failed', 'cancelled'],
    },
  },
  notifications_stopped: {
    words:
      'Of those, the ones that were parked, failed, cancelled or left uncertain, by why. `fallback_triggered`: another channel took over.',
    labels: { reason: EVERY_REASON },
  },
  late_results: {
    words:
      'Results that came after their claim had been taken over: they changed nothing and are kept as late attempts.',
    labels: {},
  },
  claims_rescued: {
    words: 'Notifications that were taken over from workers that died over them.',
    labels: {},
  },
  breaker_openings: {
    words:
      'Times that the breaker of an account opened because its calls failed in a row, probes that failed included.',
    labels: { channel: CHANNELS },
  },
  account_pauses: {
    words: 'Times that an account was paused because the vendor refused its credentials.',
    labels: { channel: CHANNELS },
  },
  receipts: {
    words:
      'Reports of vendors about a message, by what they say and what came of it. `unmatched`: no notification is known by it, yet or at all.',
    labels: {
      provider: PROVIDER,
      kind: RECEIPT_KINDS,
      effect: ['moved', 'kept', 'repeated', 'waiting', 'unmatched'],
    },
  },
  callbacks: {
    words: 'Requests of vendors to webhooks that were kept to be applied.',
    labels: { source: 'the last part of a webhook’s path before the tenant' },
  },
  callbacks_refused: {
    words: 'Requests to webhooks that were not believed, not taken or a repetition, by why.',
    labels: { source: 'as above', why: 'a word of a closed set, such as `signature_wrong`' },
  },
  operations_ended: {
    words: 'Operations on very many notifications that have ended. `failed`: the first few did not arrive.',
    labels: { status: ['done', 'failed'] },
  },
  scan_found: {
    words: 'Notifications that a scan for stuck or stale ones has warned of.',
    labels: { scan: ['stuck', 'stale'] },
  },
  parked_retried: {
    words: 'Parked notifications that were retried by themselves, as their account says (`parkedRetryAfter`).',
    labels: {},
  },
  alerts: {
    words: 'Alerts that Pillarbox itself raised, repeated and cleared.',
    labels: { rule: ALERT_RULES, news: ALERT_NEWS },
  },
  untrusted_starts: {
    words: 'Processes that were started to work on what strangers wrote: templates, schemas, HTML.',
    labels: {},
  },
  untrusted_deaths: {
    words:
      'Such processes that were killed or ended by themselves. `time` and `memory`: what a tenant wrote took more than its limit.',
    labels: { death: ['time', 'memory', 'silence', 'crash', 'unready'] },
  },
  http_requests: {
    words: 'Requests that were answered.',
    labels: {
      method: 'GET, POST, …',
      route: 'a route with its parameters’ names, or `none`',
      status: ['1xx', '2xx', '3xx', '4xx', '5xx'],
    },
  },
  http_requests_refused: {
    words: 'Requests that were turned away because there were too many (429) or the server could not take them (503).',
    labels: { status: ['429', '503'] },
  },
} as const satisfies Record<string, MetricEntry>

/** In the page as `pillarbox_<name>_seconds`. */
export const HISTOGRAMS = {
  planning_batch_duration: {
    words: 'How long it took to take, prepare, plan and write a batch that was not empty.',
    labels: { kind: ['event', 'schedule'] },
  },
  attempt_duration: {
    words: 'How long provider calls took.',
    labels: { channel: CHANNELS, provider: PROVIDER },
  },
  event_to_sent: {
    words: 'How long it took from when a notification was wanted until its provider had it, retries included.',
    labels: { channel: CHANNELS },
  },
  http_request_duration: {
    words: 'How long answering took; streams are left out.',
    labels: {},
  },
} as const satisfies Record<string, MetricEntry>

/** In the page as `pillarbox_<name>`. `scope`: of the whole installation, the same from every process, or of this process. */
export const GAUGES = {
  queue_depth: {
    words: 'Notifications that are due and not sent.',
    labels: { channel: CHANNELS },
    scope: 'all',
  },
  scheduled_depth: {
    words: 'Notifications that are not due yet, retries included.',
    labels: { channel: CHANNELS },
    scope: 'all',
  },
  stuck_notifications: {
    words: 'Notifications that have been due for longer than `PILLARBOX_STUCK_AFTER`.',
    labels: { channel: CHANNELS },
    scope: 'all',
  },
  parked_notifications: {
    words: 'Notifications that wait for an operator to retry or discard them.',
    labels: { channel: CHANNELS },
    scope: 'all',
  },
  uncertain_notifications: {
    words: 'Notifications that may have been sent and wait for a receipt or an operator to say.',
    labels: { channel: CHANNELS },
    scope: 'all',
  },
  oldest_pending_age_seconds: {
    words: 'For how long the oldest event or notification that is due has been waiting; 0 where none is.',
    labels: {},
    scope: 'all',
  },
  workers: {
    words: 'Workers, by whether they were heard of within `PILLARBOX_WORKER_TTL`.',
    labels: { state: ['alive', 'silent'] },
    scope: 'all',
  },
  accounts: {
    words: 'Accounts by their status. `paused`: the vendor refused their credentials.',
    labels: { channel: CHANNELS, status: ACCOUNT_STATUSES },
    scope: 'all',
  },
  sites: {
    words: 'Sites that buffer and hand off, by whether they were heard of within `PILLARBOX_ALERT_SITE_SILENT`.',
    labels: { state: ['heard', 'silent'] },
    scope: 'all',
  },
  site_backlog: {
    words: 'Notifications that wait at sites to be handed off, as the sites said last.',
    labels: {},
    scope: 'all',
  },
  breakers_open: {
    words: 'Accounts whose breaker is open or half open: nothing is sent but probes.',
    labels: { channel: CHANNELS },
    scope: 'all',
  },
  store_up: {
    words: 'Whether the database answered in time; while it is 0, the numbers of the whole installation are left out.',
    labels: {},
    scope: 'process',
  },
  store_round_trip_seconds: {
    words: 'How long the database took to tell the time, when it was last asked.',
    labels: {},
    scope: 'process',
  },
  store_calls: {
    words:
      'Calls that hold a connection to the database or wait for one, by what the connection is for; on SQLite what waits to be written.',
    labels: { role: 'a connection’s role, such as `claim`, or `writer` on SQLite' },
    scope: 'process',
  },
  calls_in_flight: {
    words: 'Provider calls under way.',
    labels: {},
    scope: 'process',
  },
  results_unwritten: {
    words: 'Results of provider calls that are not committed yet: what would be unknown if the process died now.',
    labels: {},
    scope: 'process',
  },
  build_info: {
    words: 'Always 1; its labels say what runs.',
    labels: { version: 'the version', engine: ['sqlite', 'postgres'], part: ['start', 'api', 'worker'] },
    scope: 'process',
  },
} as const satisfies Record<string, MetricEntry & { scope: 'all' | 'process' }>

export type CounterName = keyof typeof COUNTERS
export type HistogramName = keyof typeof HISTOGRAMS
export type GaugeName = keyof typeof GAUGES

type LabelsOf<Entry extends MetricEntry> = Readonly<Record<keyof Entry['labels'] & string, string>>
export type CounterLabels<N extends CounterName> = LabelsOf<(typeof COUNTERS)[N]>
export type HistogramLabels<N extends HistogramName> = LabelsOf<(typeof HISTOGRAMS)[N]>

/** What a gauge says at this moment. */
export interface GaugeReading {
  name: GaugeName
  labels: Readonly<Record<string, string>>
  value: number
}

/** Seconds. Fine where a provider call or a batch usually ends, coarse up to what a retry policy may take. */
export const HISTOGRAM_BUCKETS: Readonly<Record<HistogramName, readonly number[]>> = {
  planning_batch_duration: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
  attempt_duration: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  event_to_sent: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600],
  http_request_duration: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
}
