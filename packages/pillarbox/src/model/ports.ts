import type { CounterLabels, CounterName, HistogramLabels, HistogramName } from './meters.ts'

/**
 * What the engine takes from the outside world. Only the composition root (`pillarbox.ts`) makes the real ones, so the
 * whole engine runs in a deterministic simulation.
 */
export interface Clock {
  /** Wall time in ms since 1970. May jump; never used to judge a lease. */
  now(): number
  /** Milliseconds that only go forward, for deadlines and leases. */
  monotonic(): number
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Uniform in [0, 1). */
export type Random = () => number

/** A new UUIDv7; each one sorts after the one before it. */
export type IdSource = () => string

/** Where something is counted or measured, for whoever reads the numbers; `meters.ts` has everything that is. */
export interface Meters {
  /** `labels` have few values each: a reason, never an id. */
  count<N extends CounterName>(name: N, labels: CounterLabels<N>, by?: number): void
  /** How long several things took that share their labels. What comes in batches is told in batches. */
  observe<N extends HistogramName>(name: N, labels: HistogramLabels<N>, seconds: readonly number[]): void
}

/** For whoever reads none. */
export const noMeters: Meters = { count() {}, observe() {} }

/** Where work is shown as part of a trace, by W3C Trace Context. */
export interface Tracing {
  /** Whether somebody records traces. Where nobody does, a traceparent is handed on as it came. */
  isOn(): boolean
  /** Begins a span under the one that `parent` names, a traceparent; null: it begins a trace. Null where tracing is off. */
  begin(name: SpanName, parent: string | null, attributes: SpanAttributes): TraceSpan | null
}

export const SPANS = ['pillarbox.publish', 'pillarbox.plan', 'pillarbox.attempt', 'pillarbox.receipt'] as const
export type SpanName = (typeof SPANS)[number]

/** Ids, numbers and words of closed sets: no address, no content, no error text. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | null>>

export interface TraceSpan {
  /** Names this span, for whatever is done because of it. */
  readonly traceparent: string
  /** Does work as part of it: what libraries trace by themselves belongs to it then. */
  within<T>(work: () => T): T
  /** `isFailed`: it shows as an error. */
  end(attributes?: SpanAttributes, isFailed?: boolean): void
}

/** For whoever records none. */
export const noTracing: Tracing = { isOn: () => false, begin: () => null }

export interface Logger {
  debug(fields: Record<string, unknown>, message: string): void
  info(fields: Record<string, unknown>, message: string): void
  warn(fields: Record<string, unknown>, message: string): void
  error(fields: Record<string, unknown>, message: string): void
  /**
   * `info` for a line that comes with every message. Its fields are ids, numbers and words of ours, in which nothing is
   * searched for secrets but the `correlationId`, which is the caller's. Absent: `info` writes it.
   */
  often?(fields: FrequentFields, message: string): void
}

export interface FrequentFields extends Record<string, string | number | null> {
  correlationId: string | null
}
