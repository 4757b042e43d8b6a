import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { InboxWords } from '../channels/in_app/inbox.ts'
import { JsonObject, Nullable } from '../intake/body-fields.ts'
import { parseDuration } from '../model/duration.ts'
import { PillarboxError } from '../model/errors.ts'
import type { InboxMessage } from '../model/inbox.ts'
import { isUserId } from '../model/recipient.ts'
import { type Access, TO_PUBLISH, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import type { InboxOwner } from './inbox-feed.ts'
import { createInboxStreams } from './inbox-stream.ts'
import { ForOps, idParameter, invalidBody, isoOrNull, notFound, PageSchema, Paging, Query } from './schemas.ts'
import { bodyCheck, withBodyCheck } from './validation.ts'

/**
 * The user, with a token, or the application that writes to him and shows him what he gets. Nobody else: the words may be
 * made from secrets, which no operator gets to see.
 */
const TO_USE = ['user', 'publisher'] as const satisfies Access
const USER_ONLY = ['user'] as const satisfies Access

const ByToken = {
  token: Type.Optional(
    Type.String({ maxLength: 512, description: 'A user’s token, where no Authorization header can be sent.' }),
  ),
}

const MessageJson = Type.Object({
  id: Type.String({ description: 'The notification’s.' }),
  subject: Nullable(Type.String()),
  text: Type.String({ description: 'Plain text: show it as text. Made from the body where that is HTML.' }),
  html: Nullable(
    Type.String({
      description: 'The body where it is HTML. Not sanitised: show it in a sandboxed frame, or not at all.',
    }),
  ),
  data: JsonObject,
  createdAt: Type.String({ format: 'date-time' }),
  seenAt: Nullable(Type.String({ format: 'date-time', description: 'When it was first given to the user.' })),
  readAt: Nullable(Type.String({ format: 'date-time' })),
})

const NewToken = Type.Object(
  {
    expiresIn: Type.Optional(
      Type.String({ maxLength: 40, description: 'An ISO 8601 duration from PT1M to P1D. Default: PT1H.' }),
    ),
  },
  { additionalProperties: false },
)

const checkNewToken = bodyCheck(NewToken)

const MINUTE_MS = 60_000
const DEFAULT_TOKEN_MS = 60 * MINUTE_MS
const LONGEST_TOKEN_MS = 24 * 60 * MINUTE_MS
/** Marking a very large inbox as read goes on for so long; the rest is for another call. */
const MARKING_MS = 10_000

/** `/api/inbox/{userId}`: what in_app notifications have put before a user, live if wanted. */
export function inboxRoutes(app: App, context: Context): void {
  const { store, clock, logger, seal, config, inboxFeed, userTokens } = context
  const { inbox } = store
  const streams = createInboxStreams({
    inbox,
    feed: inboxFeed,
    shown,
    clock,
    logger,
    limits: {
      most: config.maxInboxStreams,
      mostPerUser: config.maxInboxStreamsPerUser,
      beatMs: config.inboxBeatMs,
      slowReaderMs: config.slowReaderMs,
    },
  })
  // Before the server waits for connections to end: these would not by themselves.
  app.addHook('preClose', streams.close)

  app.route({
    method: 'GET',
    url: '/api/inbox/:userId/messages',
    config: { access: TO_USE },
    schema: {
      tags: ['Inbox'],
      summary: 'A user’s messages, newest first',
      description:
        'Marks them as seen, and their notifications as delivered. Nobody’s inbox is unknown: one without messages is empty.',
      querystring: Query({
        isUnread: Type.Optional(Type.Boolean({ description: 'Only unread ones, or only read ones.' })),
        ...ByToken,
        ...Paging,
      }),
      response: { 200: PageSchema(MessageJson) },
    },
    async handler(request) {
      const owner = await ownerOf(request)
      const { tenantId, userId } = owner
      const { isUnread, limit, cursor } = request.query
      const filter = isUnread === undefined ? {} : { isUnread }
      const page = await inbox.list(tenantId, userId, filter, { limit, ...(cursor !== undefined && { cursor }) })
      await see(owner, page.items)
      return { items: page.items.map(shown), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/inbox/:userId/unread-count',
    config: { access: TO_USE },
    schema: {
      tags: ['Inbox'],
      summary: 'How many messages a user has not read',
      querystring: Query(ByToken),
      response: { 200: Type.Object({ count: Type.Integer() }) },
    },
    async handler(request) {
      const { tenantId, userId } = await ownerOf(request)
      return { count: await inbox.countUnread(tenantId, userId) }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/inbox/:userId/messages/:id/read',
    config: { access: TO_USE },
    schema: {
      tags: ['Inbox'],
      summary: 'Mark a message as read',
      description: 'Its notification becomes read. Repeating it changes nothing.',
      querystring: Query(ByToken),
      response: { 200: MessageJson },
    },
    async handler(request) {
      const owner = await ownerOf(request)
      const { tenantId, userId } = owner
      const id = idParameter(request)
      const marked = await inbox.mark(tenantId, userId, 'read', [id])
      if (marked.length > 0) inboxFeed.changed(owner)
      const message = await inbox.find(tenantId, userId, id)
      if (!message) throw notFound()
      return shown(message)
    },
  })

  app.route({
    method: 'POST',
    url: '/api/inbox/:userId/read-all',
    config: { access: TO_USE },
    schema: {
      tags: ['Inbox'],
      summary: 'Mark all of a user’s messages as read',
      description: 'Of a very large inbox perhaps not all at once: repeat it while unreadCount is not 0.',
      querystring: Query(ByToken),
      response: { 200: Type.Object({ marked: Type.Integer(), unreadCount: Type.Integer() }) },
    },
    async handler(request) {
      const owner = await ownerOf(request)
      const { tenantId, userId } = owner
      const until = clock.monotonic() + MARKING_MS
      let marked = 0
      for (let isDone = false; !isDone; ) {
        const { length } = await inbox.mark(tenantId, userId, 'read', 'oldest')
        marked += length
        isDone = length === 0 || clock.monotonic() >= until
      }
      if (marked > 0) inboxFeed.changed(owner)
      return { marked, unreadCount: await inbox.countUnread(tenantId, userId) }
    },
  })

  app.route({
    method: 'DELETE',
    url: '/api/inbox/:userId/messages/:id',
    config: { access: TO_USE },
    schema: {
      tags: ['Inbox'],
      summary: 'Remove a message from the inbox',
      description: 'Its words are deleted; its notification stays as it is.',
      querystring: Query(ByToken),
      response: { 204: Type.Null({ description: 'Removed.' }) },
    },
    async handler(request, reply) {
      const owner = await ownerOf(request)
      const { tenantId, userId } = owner
      if (!(await inbox.remove(tenantId, userId, idParameter(request)))) throw notFound()
      inboxFeed.changed(owner)
      return reply.status(204).send(null)
    },
  })

  app.route({
    method: 'GET',
    url: '/api/inbox/:userId/stream',
    config: { access: USER_ONLY, isStream: true },
    schema: {
      tags: ['Inbox'],
      summary: 'What happens in a user’s inbox, live',
      description:
        'Server-sent events: message, read, removed and unread. Begins with the events after Last-Event-ID, else with now. Ends when the token expires.',
      querystring: Query({
        lastEventId: Type.Optional(
          Type.String({ maxLength: 20, description: 'Where the header Last-Event-ID cannot be sent.' }),
        ),
        ...ByToken,
      }),
      response: {
        200: {
          description: 'Events, until one side ends it.',
          content: { 'text/event-stream': { schema: Type.String() } },
        },
      },
    },
    async handler(request, reply) {
      const token = request.user
      if (!token) throw notFound()
      const asked = lastEventId(request.headers['last-event-id'], request.query.lastEventId)
      const place = streams.reserve(token)
      try {
        const [revision = 0] = await inbox.revisions([token])
        // What a database that was brought back from a copy does not have yet cannot be waited for.
        const after = asked === null ? revision : Math.min(asked, revision)
        const headers = reply.getHeaders() as OutgoingHttpHeaders
        reply.hijack()
        reply.raw.writeHead(200, {
          ...headers,
          'content-type': 'text/event-stream; charset=utf-8',
          // Proxies that gather an answer before they pass it on would defeat the purpose.
          'x-accel-buffering': 'no',
          // Nothing else comes on this connection; one that stayed open would hold a stop up.
          connection: 'close',
        })
        void place.run({ response: reply.raw, token, after })
      } catch (error) {
        place.release()
        throw error
      }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/inbox/:userId/tokens',
    config: { access: TO_PUBLISH },
    // The body may be left out: that is null here.
    validatorCompiler: withBodyCheck((body) => (body === null ? null : checkNewToken(body))),
    schema: {
      tags: ['Inbox'],
      summary: 'Make a token for a user’s own browser',
      description:
        'It opens this user’s inbox and nothing else, until it expires. It cannot be taken back: keep it short.',
      querystring: Query(ForOps),
      body: NewToken,
      response: {
        201: Type.Object({
          token: Type.String(),
          userId: Type.String(),
          expiresAt: Type.String({ format: 'date-time' }),
        }),
      },
    },
    async handler(request, reply) {
      const { tenantId, userId } = await ownerOf(request)
      const { expiresIn } = (request.body as Static<typeof NewToken> | null | undefined) ?? {}
      const lifeMs = tokenLife(expiresIn)
      const expiresAt = clock.now() + lifeMs
      const token = userTokens.issue({ tenantId, userId, expiresAt })
      return reply.status(201).send({ token, userId, expiresAt: new Date(expiresAt).toISOString() })
    },
  })

  /** The user of the token, or the one that the path names in the key's tenant. */
  async function ownerOf(request: FastifyRequest): Promise<InboxOwner> {
    if (request.user) return request.user
    const userId = userParameter(request)
    return { tenantId: await tenantOf(request, store), userId }
  }

  /** Reading goes before bookkeeping: what could not be marked is marked the next time. */
  async function see({ tenantId, userId }: InboxOwner, messages: readonly InboxMessage[]): Promise<void> {
    const unseen = messages.filter(({ seenAt }) => seenAt === null).map(({ id }) => id)
    if (unseen.length === 0) return
    await inbox.mark(tenantId, userId, 'seen', unseen).catch((error: unknown) => {
      logger.warn({ error: String(error) }, 'messages could not be marked as seen')
    })
  }

  function shown(message: InboxMessage): Static<typeof MessageJson> {
    const { id, createdAt, seenAt, readAt } = message
    return {
      id,
      ...wordsOf(message),
      createdAt: new Date(createdAt).toISOString(),
      seenAt: isoOrNull(seenAt),
      readAt: isoOrNull(readAt),
    }
  }

  /** One message that cannot be opened must not hide the others. */
  function wordsOf({ id, tenantId, sealed }: InboxMessage): InboxWords {
    try {
      return JSON.parse(seal.open(sealed, { tenantId, table: 'inbox_messages', rowId: id })) as InboxWords
    } catch (error) {
      logger.error({ notificationId: id, error: String(error) }, 'the words of an inbox message cannot be opened')
      return { subject: null, text: '', html: null, data: {} }
    }
  }
}

/** One that no notification could be addressed to is not found. */
function userParameter(request: { params: unknown }): string {
  const { userId } = request.params as { userId: string }
  if (!isUserId(userId)) throw notFound()
  return userId
}

function lastEventId(header: string | string[] | undefined, parameter: string | undefined): number | null {
  const given = [header].flat()[0] || parameter
  if (given === undefined || given === '') return null
  if (/^\d{1,15}$/.test(given)) return Number(given)
  throw new PillarboxError('invalid_query', 'Last-Event-ID is not the id of an event of this stream.', {
    errors: [{ path: 'lastEventId', message: 'must be the id of an event of this stream' }],
  })
}

function tokenLife(expiresIn: string | undefined): number {
  if (expiresIn === undefined) return DEFAULT_TOKEN_MS
  const ms = parseDuration(expiresIn)
  if (ms === null || ms < MINUTE_MS || ms > LONGEST_TOKEN_MS)
    throw invalidBody([{ path: '/expiresIn', message: 'must be an ISO 8601 duration from PT1M to P1D' }])
  return ms
}
