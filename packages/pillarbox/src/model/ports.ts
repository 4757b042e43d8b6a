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

/** Where something is counted, for whoever reads the numbers. */
export interface Meters {
  /** `labels` have few values each: a reason, never an id. */
  count(name: string, labels: Readonly<Record<string, string>>, by?: number): void
}

/** For whoever reads none. */
export const noMeters: Meters = { count() {} }

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
