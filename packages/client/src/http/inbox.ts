import { type Calls, type PageOptions, path } from './calls.ts'
import type { EventStream, StreamOptions } from './event-stream.ts'
import type { CallOptions } from './transport.ts'
import type { InboxMessage } from './wire.ts'

/** What happens in an inbox. `eventId`: where a later stream goes on (`lastEventId`). */
export type InboxEvent =
  | { type: 'message'; eventId: string; message: InboxMessage }
  | { type: 'read'; eventId: string; id: string; readAt: string }
  | { type: 'removed'; eventId: string; id: string }
  /** At the beginning, and after every change. */
  | { type: 'unread'; eventId: string; count: number }

/**
 * `/api/inbox`: what in_app notifications have put before a user. With a publisher's key, or with the token of that user in
 * place of a key; `stream` takes a token only, and `issueToken` a key only, also an admin's.
 */
export interface Inbox {
  /** Newest first, fetched page by page as they are consumed, and thereby marked as seen. */
  list(
    userId: string,
    filter?: { isUnread?: boolean },
    options?: PageOptions & CallOptions,
  ): AsyncGenerator<InboxMessage, void, undefined>
  unreadCount(userId: string, options?: CallOptions): Promise<number>
  /** The notification becomes `read`. Safe to repeat. */
  markRead(userId: string, messageId: string, options?: CallOptions): Promise<InboxMessage>
  /** Repeat it while `unreadCount` is not 0: a very large inbox takes several calls. */
  markAllRead(userId: string, options?: CallOptions): Promise<{ marked: number; unreadCount: number }>
  remove(userId: string, messageId: string, options?: CallOptions): Promise<void>
  /**
   * What happens from now on, or after `lastEventId`, for as long as one asks for it. Connections that end or break are made
   * anew and nothing is lost or told twice; an expired token rejects with 401 `unauthorized`.
   */
  stream(userId: string, options?: StreamOptions): AsyncGenerator<InboxEvent, void, undefined>
  /** A token that opens this user's inbox and nothing else, e.g. for his browser. `expiresIn`: PT1M to P1D. Default: PT1H. */
  issueToken(
    userId: string,
    token?: { expiresIn?: string },
    options?: CallOptions,
  ): Promise<{ token: string; userId: string; expiresAt: string }>
}

export function inboxOf(calls: Calls, events: EventStream): Inbox {
  const repeatable = { isRepeatable: true }
  return {
    list: (userId, { isUnread } = {}, options = {}) =>
      calls.all(path`/api/inbox/${userId}/messages`, { isUnread: isUnread?.toString() }, options),
    unreadCount: async (userId, options = {}) => {
      const { count } = await calls.get<{ count: number }>(path`/api/inbox/${userId}/unread-count`, {}, options)
      return count
    },
    markRead: (userId, id, options = {}) =>
      calls.send('POST', path`/api/inbox/${userId}/messages/${id}/read`, undefined, { ...options, ...repeatable }),
    markAllRead: (userId, options = {}) =>
      calls.send('POST', path`/api/inbox/${userId}/read-all`, undefined, { ...options, ...repeatable }),
    remove: async (userId, id, options = {}) => {
      await calls.send('DELETE', path`/api/inbox/${userId}/messages/${id}`, undefined, options)
    },
    async *stream(userId, options = {}) {
      for await (const { id: eventId, name, data } of events(path`/api/inbox/${userId}/stream`, options)) {
        const told = JSON.parse(data) as never
        if (name === 'message') yield { type: name, eventId, message: told }
        // A newer server may tell of things that this client does not know.
        else if (name === 'read' || name === 'removed' || name === 'unread')
          yield { ...(told as object), type: name, eventId } as InboxEvent
      }
    },
    issueToken: (userId, token = {}, options = {}) =>
      calls.send('POST', path`/api/inbox/${userId}/tokens`, token, { ...options, ...repeatable }),
  }
}
