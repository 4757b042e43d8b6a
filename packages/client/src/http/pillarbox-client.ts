import { sendableEvents } from '../check-event.ts'
import type { AnyEventTypes, EntityRef, EventBody, EventTypes, Instant } from '../event.ts'
import type { Channel } from '../event-rules.ts'
import { newUuidV7 } from '../uuid-v7.ts'
import { type Calls, callsOf, isoText, type Page, type PageOptions, path, type Query } from './calls.ts'
import { eventStream } from './event-stream.ts'
import { type Inbox, inboxOf } from './inbox.ts'
import { type Contacts, contactsOf, listsOf, type RecipientLists } from './people.ts'
import { type Schedules, schedulesOf } from './schedules.ts'
import { type Suppressions, suppressionsOf } from './suppressions.ts'
import { type Templates, templatesOf } from './templates.ts'
import { type CallOptions, type Transport, type TransportOptions, transport } from './transport.ts'
import type {
  AcceptedEvent,
  AcceptedNotification,
  BatchResult,
  CommunicationLog,
  ExpandedNotifications,
  Health,
  NewNotification,
  NewPush,
  NotificationDetail,
  NotificationStatus,
  NotificationStatusView,
  NotificationView,
  ResendRequest,
  Resent,
  RetryRequest,
} from './wire.ts'

export interface PillarboxClientOptions extends TransportOptions {
  /** Makes the id of an event that has none. Default: UUIDv7. */
  newId?: () => string
}

export interface NotificationFilter {
  status?: NotificationStatus | readonly NotificationStatus[]
  channel?: Channel
  eventId?: string
  eventType?: string
  entityType?: string
  entityId?: string
  contactId?: string
  conversationId?: string
  site?: string
  accountId?: string
  reason?: string
  stuck?: boolean
  stale?: boolean
  possibleDuplicate?: boolean
  from?: Instant
  to?: Instant
  /** An id, an idempotency key, a provider's message id, or an exact address. */
  q?: string
}

export interface RequestOptions extends CallOptions {
  /** One name may have several values. */
  query?: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Sent as JSON. */
  body?: unknown
}

interface NoteOptions extends CallOptions {
  /** Why, in your own words. Kept in the audit. */
  note?: string
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
  readonly templates: Templates
  readonly contacts: Contacts
  readonly lists: RecipientLists
  readonly suppressions: Suppressions
  readonly inbox: Inbox
  readonly schedules: Schedules
  readonly #transport: Transport
  readonly #calls: Calls
  readonly #newId: () => string

  constructor({ newId = newUuidV7, ...options }: PillarboxClientOptions) {
    this.#transport = transport(options)
    this.#calls = callsOf(this.#transport)
    this.#newId = newId
    this.templates = templatesOf(this.#calls)
    this.contacts = contactsOf(this.#calls)
    this.lists = listsOf(this.#calls)
    this.suppressions = suppressionsOf(this.#calls)
    this.inbox = inboxOf(this.#calls, eventStream(options))
    this.schedules = schedulesOf(this.#calls)
  }

  /**
   * Hands over one event. A known id is no error: `duplicate` tells, and nothing was written. A payload that JSON cannot
   * carry as it is rejects with `InvalidEventError` before anything is sent.
   */
  async publish<Types extends EventTypes<Types> = AnyEventTypes>(
    event: EventBody<Types>,
    options: CallOptions = {},
  ): Promise<AcceptedEvent> {
    const [body] = sendableEvents([{ ...event, id: event.id ?? this.#newId() }], false)
    return await this.#post('/api/events', body, true, options)
  }

  /**
   * Hands over up to 1,000 events; a bad one spoils no other, and its result says what is wrong. Nothing is sent where
   * one has a payload that JSON cannot carry as it is: that rejects with `InvalidEventError`.
   */
  async publishMany<Types extends EventTypes<Types> = AnyEventTypes>(
    events: readonly EventBody<Types>[],
    options: CallOptions = {},
  ): Promise<BatchResult[]> {
    if (events.length === 0) return []
    const withIds = events.map((event) => ({ ...event, id: event.id ?? this.#newId() }))
    const body = sendableEvents(withIds, true)
    const { results } = await this.#post<{ results: BatchResult[] }>('/api/events', body, true, options)
    return results
  }

  /**
   * Queues one notification. A known idempotency key is refused with 409 `duplicate_notification`, and the error's
   * `notificationId` is the first one's; with `retries` on, that may be this very call's first try.
   */
  async send(notification: NewNotification | NewPush, options: CallOptions = {}): Promise<AcceptedNotification> {
    const isRepeatable = typeof notification.idempotencyKey === 'string'
    return await this.#post('/api/notifications', notification, isRepeatable, options)
  }

  /**
   * Queues one notification for each member of the recipient list `to.list`, at most 10,000. Repeating it with the same
   * key makes what is missing; when nothing is, it is refused with 409 `duplicate_notification`.
   */
  async sendToEach(
    notification: NewNotification & { idempotencyKey: string; to: { list: string } },
    options: CallOptions = {},
  ): Promise<ExpandedNotifications> {
    return await this.#post('/api/notifications', { ...notification, expand: true }, true, options)
  }

  /** Queues up to 1,000 notifications; a bad one spoils no other. Repeatable if every one has an idempotency key. */
  async sendMany(
    notifications: readonly (NewNotification | NewPush)[],
    options: CallOptions = {},
  ): Promise<BatchResult[]> {
    if (notifications.length === 0) return []
    const isRepeatable = notifications.every(({ idempotencyKey }) => typeof idempotencyKey === 'string')
    const body = { items: notifications }
    const path = '/api/notifications/batch'
    const { results } = await this.#post<{ results: BatchResult[] }>(path, body, isRepeatable, options)
    return results
  }

  /** A notification with its content, attempts, receipts and audit. */
  async notification(id: string, options: CallOptions = {}): Promise<NotificationDetail> {
    return await this.#calls.get(path`/api/notifications/${id}`, {}, options)
  }

  /** Where a notification stands, in short. */
  async status(id: string, options: CallOptions = {}): Promise<NotificationStatusView> {
    return await this.#calls.get(path`/api/notifications/${id}/status`, {}, options)
  }

  /** One page of notifications, newest first. */
  async notificationPage(
    filter: NotificationFilter = {},
    options: PageOptions & CallOptions = {},
  ): Promise<Page<NotificationView>> {
    return await this.#calls.page('/api/notifications', queryOf(filter), options)
  }

  /** All notifications that match, newest first, fetched page by page as they are consumed. */
  notifications(
    filter: NotificationFilter = {},
    options: PageOptions & CallOptions = {},
  ): AsyncGenerator<NotificationView, void, undefined> {
    return this.#calls.all('/api/notifications', queryOf(filter), options)
  }

  /** Everything that was sent about one entity, newest first: what its panel shows. */
  communicationLogs(
    entity: EntityRef,
    options: PageOptions & CallOptions = {},
  ): AsyncGenerator<CommunicationLog, void, undefined> {
    return this.#calls.all('/api/communication-logs', { entityType: entity.type, entityId: entity.id }, options)
  }

  /**
   * Tells an entity's recipients again, on one channel: `resend('bookings', '12345', { channel: 'sms' })`, with the
   * plural that the catalogue gives the entity type. The first notifications stay as they are. Never repeated.
   */
  async resend(plural: string, entityId: string, what: ResendRequest, options: CallOptions = {}): Promise<Resent> {
    return await this.#calls.send('POST', path`/api/${plural}/${entityId}/resend-notification`, what, options)
  }

  /**
   * Queues a parked or uncertain notification again; else 409 `not_parked`. `rerender`: in today's words. `to`: another
   * one is sent to the corrected address, and answered. A suppressed address is refused (409 `address_suppressed`) unless
   * `override` says otherwise.
   */
  async retry(id: string, options: RetryRequest & CallOptions = {}): Promise<NotificationView> {
    return await this.#act(id, 'retry', options)
  }

  /** Gives up a parked or uncertain notification; else 409 `not_parked`. */
  async discard(id: string, options: NoteOptions = {}): Promise<NotificationView> {
    return await this.#act(id, 'discard', options)
  }

  /** Takes back a notification that is queued or retrying; else 409. */
  async cancel(id: string, options: NoteOptions = {}): Promise<NotificationView> {
    return await this.#act(id, 'cancel', options)
  }

  /** Sets a queued, retrying or uncertain notification aside for an operator; else 409. */
  async park(id: string, options: NoteOptions = {}): Promise<NotificationView> {
    return await this.#act(id, 'park', options)
  }

  /** Takes back that a notification was discarded: it is parked again; else 409 `not_discarded`. */
  async restore(id: string, options: NoteOptions = {}): Promise<NotificationView> {
    return await this.#act(id, 'restore', options)
  }

  /** The public key for `sealWith`. It changes only with the server's master key. */
  async sealingKey(options: CallOptions = {}): Promise<string> {
    const { sealingKey } = await this.#calls.get<{ sealingKey: string }>('/api/sealing-key', {}, options)
    return sealingKey
  }

  /** The server's own account of its health. A server that is `down` but says so is an answer, not an error. */
  async health(options: CallOptions = {}): Promise<Health> {
    const request = { method: 'GET', path: '/health', isRepeatable: false, alsoOk: 503 } as const
    return (await this.#transport(request, options)) as Health
  }

  /**
   * Calls a route that has no method of its own here, such as `GET /ops/workers`: the page `docs/reference/http.md` lists
   * them, and says what they answer. It is not checked. Only reads are repeated, where `retries` says so.
   */
  async request<T = unknown>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    to: string,
    { query, body, ...options }: RequestOptions = {},
  ): Promise<T> {
    // Read as an address of its own, it would take the key elsewhere.
    if (!/^\/[\w.-]+(?:[/?#]|$)/.test(to))
      throw new TypeError('the path must be one of the server, such as /ops/workers')
    const isRepeatable = method === 'GET'
    return (await this.#transport({ method, path: to, isRepeatable, ...(query && { query }), body }, options)) as T
  }

  #post<T>(to: string, body: unknown, isRepeatable: boolean, options: CallOptions): Promise<T> {
    return this.#calls.send('POST', to, body, { ...options, isRepeatable })
  }

  #act(
    id: string,
    action: 'retry' | 'discard' | 'cancel' | 'park' | 'restore',
    { note, rerender, to, override, ...options }: RetryRequest & CallOptions,
  ): Promise<NotificationView> {
    const said = Object.entries({ note, rerender, to, override }).filter(([, value]) => value !== undefined)
    const body = said.length > 0 ? Object.fromEntries(said) : undefined
    return this.#calls.send('POST', path`/api/notifications/${id}/${action}`, body, options)
  }
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
