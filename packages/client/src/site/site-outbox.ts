import { monotonicClock, random, randomBytes, rest, wallClock } from '../host-process.ts'
import { uuidV7Source } from '../uuid-v7.ts'
import { type BufferTotals, openBuffer, type RefusedNotification, type SiteBuffer } from './buffer.ts'
import { type Central, openCentral } from './central.ts'
import { createForwarder, type Forwarder } from './forwarder.ts'
import { checkNotification, type SiteNotification } from './site-notification.ts'

export interface SiteOutboxOptions {
  /** The SQLite file that the site's notifications wait in. It is made where it is not there. */
  path: string
  /** Where the server is, e.g. `https://pillarbox.example.com`. */
  central: string
  /** A publisher's key, bound to the site. */
  key: string
  /** The site's name: 1 to 100 letters, digits, dots, `_` or `-`. One buffer each. */
  site: string
  /** How many may wait, those that were refused included. Default: 1 000 000. */
  maxItems?: number
  /** How many bytes they may have. Default: 1 GiB. */
  maxBytes?: number
  /** How many are handed off with one request, up to 1 000. Default: 200. */
  batchItems?: number
  /** How long one request may take, until the whole answer is there. Default: 30 000. */
  timeoutMs?: number
  /** How often the server hears of the site while nothing waits. Default: 60 000. */
  heartbeatMs?: number
  /** False: only keeps what is sent; another process with the same file hands it off. Default: true. */
  forwards?: boolean
  /** Hears, in words, why something does not go on, or was refused. Default: nobody does. */
  onTrouble?: (message: string) => void
  /** Default: the platform's. */
  fetch?: typeof fetch
  /** For tests. Default: the host's clock, timer and random source. */
  sources?: Partial<SiteSources>
}

export interface SiteSources {
  now: () => number
  monotonic: () => number
  random: () => number
  rest: (ms: number, signal: AbortSignal) => Promise<void>
}

export interface SentAtSite {
  notificationId: string
  status: 'forwarding'
}

/** Where a notification stands: `forwarding`, `expired` or `refused` while it is here, then what the server says. */
export interface SiteNotificationStatus {
  notificationId: string
  status: string
  lastError: string | null
  retryCount?: number
  nextAttemptAt?: string | null
  deliveredAt?: string | null
}

export interface SiteHealth extends BufferTotals {
  site: string
  incarnation: string
  /** Nothing more can be sent until something is handed off, or discarded. */
  isFull: boolean
  lastContactAt: string | null
  /** Why it does not go on, in words; null: all is well. */
  trouble: string | null
}

const SITE = /^[A-Za-z0-9][\w.-]{0,99}$/
const MOST_BATCH_ITEMS = 1_000
const BATCH_BYTES = 1_048_576
const FLUSH_POLL_MS = 20

/**
 * Notifications of a site that cannot always reach the server. What `send` has answered is on the disk; it is handed off in
 * order until the server acknowledges it, however long that takes, and the server knows repeats by their ids.
 */
export class SiteOutbox {
  readonly #options: SiteOutboxOptions
  readonly #sources: SiteSources
  readonly #buffer: SiteBuffer
  readonly #central: Central
  readonly #forwarder: Forwarder
  readonly #newId: () => string
  readonly #stop = new AbortController()
  readonly #running: Promise<void>

  constructor(options: SiteOutboxOptions) {
    checkOptions(options)
    const sources = { now: wallClock, monotonic: monotonicClock, random, rest, ...options.sources }
    const { timeoutMs = 30_000, fetch: send } = options
    const newId = uuidV7Source({ now: sources.now, randomBytes })
    const newIncarnation = newId
    this.#options = options
    this.#sources = sources
    this.#newId = newId
    this.#central = openCentral({ ...options, timeoutMs, now: sources.now, ...(send && { fetch: send }) })
    this.#buffer = openBuffer({ path: options.path, ...limitsOf(options), newIncarnation })
    this.#forwarder = createForwarder({
      ...sources,
      buffer: this.#buffer,
      central: this.#central,
      newIncarnation,
      batchItems: options.batchItems ?? 200,
      batchBytes: BATCH_BYTES,
      heartbeatMs: options.heartbeatMs ?? 60_000,
      onTrouble: options.onTrouble ?? (() => {}),
    })
    this.#running = options.forwards === false ? Promise.resolve() : this.#forwarder.run(this.#stop.signal)
  }

  /**
   * Keeps a notification, and answers at once: from here on it will be handed off. Throws `InvalidSiteNotificationError` for
   * one that can be seen to be wrong, and `SiteBufferFullError` where there is no room.
   */
  send(notification: SiteNotification): SentAtSite {
    this.#stop.signal.throwIfAborted()
    const checked = checkNotification(notification, this.#newId)
    this.#buffer.put(checked, this.#sources.now())
    this.#forwarder.ring()
    return { notificationId: checked.notificationId, status: 'forwarding' }
  }

  /** Answered here while it waits here; afterwards the server is asked, which may fail. Null: nobody knows it. */
  async status(notificationId: string): Promise<SiteNotificationStatus | null> {
    const id = notificationId.toLowerCase()
    const found = this.#buffer.find(id)
    if (found) {
      const status = found.state === 'waiting' ? 'forwarding' : found.state
      return { notificationId: id, status, lastError: found.error }
    }
    const answer = await this.#central.status(id, this.#stop.signal)
    return answer && readStatus(id, answer)
  }

  /** What the server refused for good, with its words, oldest first. */
  refused(limit = 100): RefusedNotification[] {
    return this.#buffer.refused(limit)
  }

  /** Hands off once more what was refused. False: there is no such thing. */
  retry(notificationId: string): boolean {
    const isThere = this.#buffer.retry(notificationId.toLowerCase())
    if (isThere) this.#forwarder.ring()
    return isThere
  }

  /** Forgets what was refused. False: there is no such thing. */
  discard(notificationId: string): boolean {
    return this.#buffer.discard(notificationId.toLowerCase())
  }

  health(): SiteHealth {
    const totals = this.#buffer.totals()
    const { maxItems, maxBytes } = limitsOf(this.#options)
    const { lastContactAt, trouble } = this.#forwarder.state()
    return {
      site: this.#options.site,
      incarnation: this.#buffer.incarnation(),
      ...totals,
      isFull: totals.waiting + totals.expired + totals.refused >= maxItems || totals.bytes >= maxBytes,
      lastContactAt: lastContactAt === null ? null : new Date(lastContactAt).toISOString(),
      trouble,
    }
  }

  /** Waits until nothing waits any more, at most for so long. False: something still does. */
  async flush(timeoutMs = 10_000): Promise<boolean> {
    for (let waitedMs = 0; ; waitedMs += FLUSH_POLL_MS) {
      const { waiting, expired } = this.#buffer.totals()
      if (waiting + expired === 0) return true
      if (waitedMs >= timeoutMs || this.#stop.signal.aborted) return false
      await this.#sources.rest(FLUSH_POLL_MS, this.#stop.signal)
    }
  }

  /** Stops handing off. What waits stays in the file. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the outbox of this site is closed'))
    await this.#running
    this.#buffer.close()
  }
}

function limitsOf({ maxItems = 1_000_000, maxBytes = 1_073_741_824 }: SiteOutboxOptions) {
  return { maxItems, maxBytes }
}

function checkOptions({ site, key, ...options }: SiteOutboxOptions): void {
  if (!SITE.test(site))
    throw new TypeError('site must be 1 to 100 letters, digits, dots, _ or -, and begin with a letter or digit')
  if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError('key must be an API key: visible ASCII characters, no spaces')
  const { maxItems = 1, maxBytes = 1, batchItems = 1, timeoutMs = 1, heartbeatMs = 1 } = options
  for (const [name, value] of Object.entries({ maxItems, maxBytes, batchItems, timeoutMs, heartbeatMs }))
    if (!Number.isSafeInteger(value) || value < 1) throw new TypeError(`${name} must be a whole number of 1 or more`)
  if (batchItems > MOST_BATCH_ITEMS) throw new TypeError(`batchItems must be at most ${MOST_BATCH_ITEMS}`)
}

/** What the server says, as far as it has the form it should have. */
function readStatus(notificationId: string, answer: Record<string, unknown>): SiteNotificationStatus {
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  const { status, lastError, retryCount, nextAttemptAt, deliveredAt } = answer
  return {
    notificationId,
    status: String(status),
    lastError: text(lastError),
    ...(typeof retryCount === 'number' && { retryCount }),
    nextAttemptAt: text(nextAttemptAt),
    deliveredAt: text(deliveredAt),
  }
}
