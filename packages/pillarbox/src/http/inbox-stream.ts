import type { InboxStore } from '../channels/in_app/inbox-store.ts'
import type { InboxChange, InboxMessage } from '../model/inbox.ts'
import type { Logger } from '../model/ports.ts'
import type { UserToken } from '../security/user-token.ts'
import { type Send, type StreamSource, streamEvent } from './event-streams.ts'
import type { InboxFeed, InboxOwner } from './inbox-feed.ts'

export interface InboxSourceDeps {
  inbox: Pick<InboxStore, 'since' | 'countUnread' | 'mark'>
  feed: InboxFeed
  /** A message as clients get it. */
  shown: (message: InboxMessage) => object
  logger: Logger
}

/** Messages read from the store, and held for a client, at once. */
const BATCH = 20

/**
 * What happens in a user's inbox, as a stream. It tells what it finds in the store after the last revision it told, so a hint
 * that is lost costs a second and nothing else, and a stream that breaks goes on where it was (`Last-Event-ID`).
 */
export function inboxSource(deps: InboxSourceDeps, token: UserToken, begin: number): StreamSource {
  const watch = deps.feed.watch(token)
  let after = begin
  let isFirst = true
  return {
    expiresAt: token.expiresAt,
    async tell(send) {
      const told = await tellNews(deps, token, { after, isFirst, send })
      isFirst = false
      after = told.after
      return told
    },
    wait: (ms, over) => watch.past(after, ms, over),
    close: watch.close,
  }
}

interface Telling {
  after: number
  /** Nothing was sent on this stream yet: it begins with how many are unread. */
  isFirst: boolean
  send: Send
}

/** Sends what has changed, as far as one batch goes, and how many are unread then. */
async function tellNews(
  { inbox, shown, logger }: InboxSourceDeps,
  { tenantId, userId }: InboxOwner,
  { after, isFirst, send }: Telling,
): Promise<{ after: number; isSent: boolean; isMore: boolean }> {
  const changes = await inbox.since(tenantId, userId, after, BATCH)
  const isMore = changes.length === BATCH
  let last = after
  const unseen: string[] = []
  for (const change of changes) {
    const text = eventOf(change, after, shown)
    if (text !== null && !(await send(text))) return { after: last, isSent: true, isMore: false }
    last = change.revision
    if (text !== null && change.arrival > after && change.seenAt === null) unseen.push(change.id)
  }
  if (unseen.length > 0)
    await inbox.mark(tenantId, userId, 'seen', unseen).catch((error: unknown) => {
      logger.debug({ error: String(error) }, 'messages could not be marked as seen')
    })
  if ((changes.length > 0 && !isMore) || isFirst) {
    const count = await inbox.countUnread(tenantId, userId)
    // With an id, so that a client which hears nothing else goes on from here.
    await send(streamEvent('unread', { count }, last))
  }
  return { after: last, isSent: changes.length > 0 || isFirst, isMore }
}

/** Null where there is nothing to say: the client never had a message that came and went meanwhile. */
function eventOf(change: InboxChange, after: number, shown: InboxSourceDeps['shown']): string | null {
  const { id, sealed, arrival, revision, readAt } = change
  const isNew = arrival > after
  if (sealed === null) return isNew ? null : streamEvent('removed', { id }, revision)
  if (isNew) return streamEvent('message', shown({ ...change, sealed }), revision)
  return streamEvent('read', { id, readAt: readAt === null ? null : new Date(readAt).toISOString() }, revision)
}
