import type { ServerResponse } from 'node:http'
import type { InboxStore } from '../channels/in_app/inbox-store.ts'
import { PillarboxError } from '../model/errors.ts'
import type { InboxChange, InboxMessage } from '../model/inbox.ts'
import type { Clock, Logger } from '../model/ports.ts'
import type { UserToken } from '../security/user-token.ts'
import type { InboxFeed, InboxOwner } from './inbox-feed.ts'

/**
 * Server-sent events of users' inboxes. A stream sends what it finds in the store after the last revision it sent, so a
 * hint that is lost costs a second and nothing else, and a stream that breaks goes on where it was (`Last-Event-ID`).
 */
export interface InboxStreams {
  /** Takes a place for one more, or refuses: 429 for too many of one user or tenant, 503 for too many in all. */
  reserve(owner: InboxOwner): StreamPlace
  /** Ends all streams; resolves when they are gone. */
  close(): Promise<void>
}

export interface StreamPlace {
  release(): void
  /** Writes events until the client leaves, the token expires or the server stops; then the place is free again. Never rejects. */
  run(stream: StreamRequest): Promise<void>
}

export interface StreamRequest {
  response: ServerResponse
  token: UserToken
  /** The revision after which to begin. */
  after: number
}

export interface StreamDeps {
  inbox: Pick<InboxStore, 'since' | 'countUnread' | 'mark'>
  feed: InboxFeed
  /** A message as clients get it. */
  shown: (message: InboxMessage) => object
  clock: Clock
  logger: Logger
  limits: StreamLimits
}

export interface StreamLimits {
  /** Streams at the same time in this process. */
  most: number
  mostPerUser: number
  /** A stream with nothing to say says so this often. */
  beatMs: number
  /** A client that takes nothing for so long is let go. */
  slowReaderMs: number
}

/** A tenant has at most so many times the places that are still free, so that there are always some for others. */
const SHARE_OF_FREE = 4
/** Messages read from the store, and held for a client, at once. */
const BATCH = 20
/** How long a client waits before it comes again. */
const COME_AGAIN_MS = 3_000
/** After a store that could not be asked. */
const PAUSE_MS = 1_000
/** How long the end of a stream may take to reach its client when the server stops. */
const GOODBYE_MS = 500

export function createInboxStreams(deps: StreamDeps): InboxStreams {
  const { clock, limits } = deps
  const perUser = createTally()
  const perTenant = createTally()
  const running = new Set<Promise<void>>()
  const closing = new AbortController()
  let count = 0

  return {
    reserve({ tenantId, userId }) {
      const key = `${tenantId} ${userId}`
      const ofUser = perUser.of(key)
      const ofTenant = perTenant.of(tenantId)
      if (ofUser >= limits.mostPerUser)
        throw new PillarboxError('rate_limited', `This user has ${ofUser} streams open; close one first.`, {
          retryAfterSeconds: 10,
        })
      if (count >= limits.most || closing.signal.aborted)
        throw new PillarboxError('overloaded', 'Too many streams are open. Try again shortly.', {
          retryAfterSeconds: 10,
        })
      if (ofTenant >= SHARE_OF_FREE * (limits.most - count))
        throw new PillarboxError(
          'rate_limited',
          `This tenant has ${ofTenant} streams open, and others need some too.`,
          {
            retryAfterSeconds: 10,
          },
        )
      perUser.add(key, 1)
      perTenant.add(tenantId, 1)
      count += 1
      let isHeld = true
      const release = (): void => {
        if (!isHeld) return
        isHeld = false
        count -= 1
        perUser.add(key, -1)
        perTenant.add(tenantId, -1)
      }
      return {
        release,
        run(stream) {
          const done = runStream(deps, stream, closing.signal)
            .catch((error: unknown) => deps.logger.error({ error: String(error) }, 'a stream broke'))
            .finally(() => {
              release()
              running.delete(done)
            })
          running.add(done)
          return done
        },
      }
    },

    async close() {
      closing.abort()
      const over = new AbortController()
      await Promise.race([Promise.all(running), clock.sleep(GOODBYE_MS, over.signal)])
      over.abort()
    },
  }
}

/** Counts by key; those at none are forgotten. */
function createTally() {
  const counts = new Map<string, number>()
  const of = (key: string): number => counts.get(key) ?? 0
  return {
    of,
    add(key: string, change: number): void {
      const count = of(key) + change
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}

async function runStream(deps: StreamDeps, stream: StreamRequest, stop: AbortSignal): Promise<void> {
  const { feed, clock, logger, limits } = deps
  const { response, token } = stream
  const gone = new AbortController()
  const leave = (): void => gone.abort()
  response.once('close', leave)
  // A connection that breaks while something is written to it is a client that has left.
  response.on('error', leave)
  stop.addEventListener('abort', leave, { once: true })
  const over = gone.signal
  const send = (text: string): Promise<boolean> => write(deps, response, text, over)
  const watch = feed.watch(token)
  const begunAt = clock.monotonic()
  let after = stream.after
  let beatAt = begunAt + limits.beatMs

  try {
    await send(`retry: ${COME_AGAIN_MS}\n\n`)
    let isTold = false
    while (!over.aborted && clock.now() < token.expiresAt) {
      const told = await tellNews(deps, token, { after, isFirst: !isTold, send }).catch((error: unknown) => {
        logger.debug({ error: String(error) }, 'a stream could not be continued yet; trying again')
        return null
      })
      if (told) {
        isTold = true
        after = told.after
        if (told.isSent) beatAt = clock.monotonic() + limits.beatMs
        if (told.isMore) continue
      }
      if (clock.monotonic() >= beatAt) {
        await send(': still here\n\n')
        beatAt = clock.monotonic() + limits.beatMs
      }
      const waitMs = Math.min(beatAt - clock.monotonic(), token.expiresAt - clock.now())
      if (told) await watch.past(after, Math.max(0, waitMs), over)
      else await clock.sleep(Math.max(0, Math.min(PAUSE_MS, waitMs)), over)
    }
  } finally {
    watch.close()
    stop.removeEventListener('abort', leave)
    await end(clock, response)
    const durationMs = Math.round(clock.monotonic() - begunAt)
    logger.info({ tenantId: token.tenantId, durationMs }, 'stream ended')
  }
}

interface Telling {
  after: number
  /** Nothing was sent on this stream yet: it begins with how many are unread. */
  isFirst: boolean
  /** False where the client has left. */
  send(text: string): Promise<boolean>
}

/** Sends what has changed, as far as one batch goes, and how many are unread then. */
async function tellNews(
  { inbox, shown, logger }: StreamDeps,
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
    await send(event('unread', { count }, last))
  }
  return { after: last, isSent: changes.length > 0 || isFirst, isMore }
}

/** Null where there is nothing to say: the client never had a message that came and went meanwhile. */
function eventOf(change: InboxChange, after: number, shown: StreamDeps['shown']): string | null {
  const { id, sealed, arrival, revision, readAt } = change
  const isNew = arrival > after
  if (sealed === null) return isNew ? null : event('removed', { id }, revision)
  if (isNew) return event('message', shown({ ...change, sealed }), revision)
  return event('read', { id, readAt: readAt === null ? null : new Date(readAt).toISOString() }, revision)
}

/** JSON has no line breaks of its own, so one line of data is enough. */
function event(name: string, data: object, id: number): string {
  return `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
}

/** Waits until the client has room again, so that no more than one event is ever held for it; a slow one is let go. */
async function write(
  { clock, limits }: StreamDeps,
  response: ServerResponse,
  text: string,
  over: AbortSignal,
): Promise<boolean> {
  if (over.aborted || response.destroyed) return false
  if (response.write(text)) return true
  const waited = new AbortController()
  const end = (): void => waited.abort()
  let isDrained = false
  const drained = (): void => {
    isDrained = true
    end()
  }
  response.once('drain', drained)
  over.addEventListener('abort', end, { once: true })
  await clock.sleep(limits.slowReaderMs, waited.signal)
  response.off('drain', drained)
  over.removeEventListener('abort', end)
  if (!isDrained) response.destroy()
  return isDrained
}

/** A client that does not take the end either must not hold the server up. */
async function end(clock: Clock, response: ServerResponse): Promise<void> {
  if (response.destroyed || response.writableFinished) return
  const over = new AbortController()
  response.once('close', () => over.abort())
  response.end()
  await clock.sleep(GOODBYE_MS, over.signal)
  if (!response.destroyed) response.destroy()
}
