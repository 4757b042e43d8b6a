import type { AnyEventTypes, EventBody, EventTypes, Instant } from '../event.ts'
import { newUuidV7 } from '../uuid-v7.ts'
import type {
  AcceptedEvent,
  AcceptedNotification,
  BatchResult,
  Health,
  NewNotification,
  NewPush,
  NotificationDetail,
  NotificationFilter,
  NotificationStatusView,
  NotificationView,
  Page,
} from './resources.ts'
import { type CallOptions, type Request, type Transport, type TransportOptions, transport } from './transport.ts'

export interface PillarboxClientOptions extends TransportOptions {
  /** Makes the id of an event that has none. Default: UUIDv7. */
  newId?: () => string
}

export interface PageOptions {
  /** 1 to 200. Default: 50. */
  limit?: number
  cursor?: string
}

/**
 * The HTTP API, typed. Every method resolves with what a 2xx answered, and rejects with `PillarboxHttpError` for the
 * server's refusal or `PillarboxConnectionError` where there was no answer: then it is unknown whether the server acted.
 *
 * Repeating a request is safe where it carries an id (events always do: one is made if none is given) or an idempotency
 * key: the server writes at most one row for it. Nothing is repeated unless `retries` says so, and then only such
 * requests and reads.
 */
export class PillarboxClient {
  readonly #call: Transport
  readonly #newId: () => string

  constructor({ newId = newUuidV7, ...options }: PillarboxClientOptions) {
    this.#call = transport(options)
    this.#newId = newId
  }

  /** Hands over one event. A known id is no error: `duplicate` tells, and nothing was written. */
  async publish<Types extends EventTypes<Types> = AnyEventTypes>(
    event: EventBody<Types>,
    options: CallOptions = {},
  ): Promise<AcceptedEvent> {
    return await this.#post('/api/events', { ...event, id: event.id ?? this.#newId() }, true, options)
  }

  /** Hands over up to 1,000 events; a bad one spoils no other, and its result says what is wrong. */
  async publishMany<Types extends EventTypes<Types> = AnyEventTypes>(
    events: readonly EventBody<Types>[],
    options: CallOptions = {},
  ): Promise<BatchResult[]> {
    if (events.length === 0) return []
    const body = events.map((event) => ({ ...event, id: event.id ?? this.#newId() }))
    const { results } = await this.#post<{ results: BatchResult[] }>('/api/events', body, true, options)
    return results
  }

  /**
   * Queues one notification. A known idempotency key is refused with 409 `duplicate_notification`, and the error's
   * `notificationId` is the first one's; with `retries` on, that may be this very call's first try.
   */
  async send(notification: NewNotification | NewPush, options: CallOptions = {}): Promise<AcceptedNotification> {
    const isRepeatable = notification.idempotencyKey !== undefined
    return await this.#post('/api/notifications', notification, isRepeatable, options)
  }

  /** Queues up to 1,000 notifications; a bad one spoils no other. Repeatable if every one has an idempotency key. */
  async sendMany(
    notifications: readonly (NewNotification | NewPush)[],
    options: CallOptions = {},
  ): Promise<BatchResult[]> {
    if (notifications.length === 0) return []
    const isRepeatable = notifications.every(({ idempotencyKey }) => idempotencyKey !== undefined)
    const body = { items: notifications }
    const path = '/api/notifications/batch'
    const { results } = await this.#post<{ results: BatchResult[] }>(path, body, isRepeatable, options)
    return results
  }

  /** A notification with its content, attempts, receipts and audit. */
  async notification(id: string, options: CallOptions = {}): Promise<NotificationDetail> {
    return await this.#get(notificationPath(id), {}, options)
  }

  /** Where a notification stands, in short. */
  async status(id: string, options: CallOptions = {}): Promise<NotificationStatusView> {
    return await this.#get(`${notificationPath(id)}/status`, {}, options)
  }

  /** One page of notifications, newest first. */
  async notificationPage(
    filter: NotificationFilter = {},
    { limit, cursor, ...options }: PageOptions & CallOptions = {},
  ): Promise<Page<NotificationView>> {
    const query = { ...queryOf(filter), limit: limit?.toString(), cursor }
    return await this.#get('/api/notifications', query, options)
  }

  /** All notifications that match, newest first, fetched page by page as they are consumed. */
  async *notifications(
    filter: NotificationFilter = {},
    { limit, cursor, ...options }: PageOptions & CallOptions = {},
  ): AsyncGenerator<NotificationView, void, undefined> {
    const size = limit === undefined ? {} : { limit }
    let next: string | null = cursor ?? null
    do {
      const page: Page<NotificationView> = await this.notificationPage(filter, {
        ...options,
        ...size,
        ...(next === null ? {} : { cursor: next }),
      })
      yield* page.items
      next = page.nextCursor
    } while (next !== null)
  }

  /** Queues a parked or uncertain notification again; else 409 `not_parked`. */
  async retry(id: string, options: CallOptions = {}): Promise<NotificationView> {
    return await this.#act(id, 'retry', options)
  }

  /** Gives up a parked or uncertain notification; else 409 `not_parked`. */
  async discard(id: string, options: CallOptions = {}): Promise<NotificationView> {
    return await this.#act(id, 'discard', options)
  }

  /** Takes back a notification that is queued or retrying; else 409. */
  async cancel(id: string, options: CallOptions = {}): Promise<NotificationView> {
    return await this.#act(id, 'cancel', options)
  }

  /** Sets a queued, retrying or uncertain notification aside for an operator; else 409. */
  async park(id: string, options: CallOptions = {}): Promise<NotificationView> {
    return await this.#act(id, 'park', options)
  }

  /** The server's own account of its health. A server that is `down` but says so is an answer, not an error. */
  async health(options: CallOptions = {}): Promise<Health> {
    return await this.#request({ method: 'GET', path: '/health', isRepeatable: false, alsoOk: 503 }, options)
  }

  #get<T>(path: string, query: Query, options: CallOptions): Promise<T> {
    return this.#request({ method: 'GET', path, query, isRepeatable: true }, options)
  }

  #post<T>(path: string, body: unknown, isRepeatable: boolean, options: CallOptions): Promise<T> {
    return this.#request({ method: 'POST', path, body, isRepeatable }, options)
  }

  #act(id: string, action: 'retry' | 'discard' | 'cancel' | 'park', options: CallOptions): Promise<NotificationView> {
    return this.#request({ method: 'POST', path: `${notificationPath(id)}/${action}`, isRepeatable: false }, options)
  }

  /** The contract gives an answer its shape; it is not checked again here. */
  async #request<T>(request: Request, options: CallOptions): Promise<T> {
    return (await this.#call(request, options)) as T
  }
}

type Query = Request['query'] & object

function notificationPath(id: string): string {
  return `/api/notifications/${encodeURIComponent(id)}`
}

function queryOf(filter: NotificationFilter): Query {
  const { stuck, stale, possibleDuplicate, from, to, ...texts } = filter
  return {
    ...texts,
    stuck: stuck?.toString(),
    stale: stale?.toString(),
    possibleDuplicate: possibleDuplicate?.toString(),
    from: isoText(from),
    to: isoText(to),
  }
}

function isoText(instant: Instant | undefined): string | undefined {
  return instant instanceof Date ? instant.toISOString() : instant
}
