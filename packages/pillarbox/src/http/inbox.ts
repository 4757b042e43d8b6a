import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { InboxWords } from '../channels/in_app/inbox.ts'
import { JsonObject, Nullable } from '../intake/body-fields.ts'
import { found } from '../model/errors.ts'
import type { InboxMessage } from '../model/inbox.ts'
import { isUserId } from '../model/recipient.ts'
import { type Access, TO_PUBLISH } from './auth.ts'
import type { App, Context } from './context.ts'
import { beginStream, createEventStreams, lastEventId } from './event-streams.ts'
import type { InboxOwner } from './inbox-feed.ts'
import { inboxSource } from './inbox-stream.ts'
import { operationsOf } from './operation.ts'
import {
  Closed,
  durationField,
  idParameter,
  iso,
  isoOrNull,
  PageSchema,
  Paging,
  pageJson,
  TextOrNull,
  Time,
  TimeOrNull,
} from './schemas.ts'

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

const MessageJson = Type.Object(
  {
    id: Type.String({ description: 'The notification’s.' }),
    subject: TextOrNull,
    text: Type.String({ description: 'Plain text: show it as text. Made from the body where that is HTML.' }),
    html: Nullable(
      Type.String({
        description: 'The body where it is HTML. Not sanitised: show it in a sandboxed frame, or not at all.',
      }),
    ),
    data: JsonObject,
    createdAt: Time,
    seenAt: Nullable(Type.String({ format: 'date-time', description: 'When it was first given to the user.' })),
    readAt: TimeOrNull,
  },
  { title: 'InboxMessage' },
)

const NewToken = Closed({
  expiresIn: Type.Optional(
    Type.String({ maxLength: 40, description: 'An ISO 8601 duration from PT1M to P1D. Default: PT1H.' }),
  ),
})

const DEFAULT_TOKEN_MS = 3_600_000
const TOKEN_LIFE = { least: 'PT1M', most: 'P1D' }
/** Marking a very large inbox as read goes on for so long; the rest is for another call. */
const MARKING_MS = 10_000

const operation = operationsOf('Inbox', 'own')

/** `/api/inbox/{userId}`: what in_app notifications have put before a user, live if wanted. */
export function inboxRoutes(app: App, context: Context): void {
  const { store, clock, logger, seal, config, inboxFeed, userTokens } = context
  const { inbox } = store
  const streams = createEventStreams({
    clock,
    logger,
    holder: 'user',
    limits: {
      most: config.maxInboxStreams,
      mostPerHolder: config.maxInboxStreamsPerUser,
      beatMs: config.streamBeatMs,
      slowReaderMs: config.slowReaderMs,
    },
  })
  // Before the server waits for connections to end: these would not by themselves.
  app.addHook('preClose', streams.close)

  app.get(
    '/api/inbox/:userId/messages',
    operation(TO_USE, 'A user’s messages, newest first', {
      operationId: 'listInboxMessages',
      description:
        'Marks them as seen, and their notifications as delivered. Nobody’s inbox is unknown: one without messages is empty.',
      query: {
        isUnread: Type.Optional(Type.Boolean({ description: 'Only unread ones, or only read ones.' })),
        ...ByToken,
        ...Paging,
      },
      response: { 200: PageSchema(MessageJson) },
    }),
    async (request) => {
      const owner = ownerOf(request)
      const page = await inbox.list(owner.tenantId, owner.userId, request.query, request.query)
      await see(owner, page.items)
      return pageJson(page, shown)
    },
  )

  app.get(
    '/api/inbox/:userId/unread-count',
    operation(TO_USE, 'How many messages a user has not read', {
      operationId: 'countUnreadInboxMessages',
      query: ByToken,
      response: { 200: Type.Object({ count: Type.Integer() }) },
    }),
    async (request) => {
      const { tenantId, userId } = ownerOf(request)
      return { count: await inbox.countUnread(tenantId, userId) }
    },
  )

  app.post(
    '/api/inbox/:userId/messages/:id/read',
    operation(TO_USE, 'Mark a message as read', {
      operationId: 'markInboxMessageRead',
      description: 'Its notification becomes read. Repeating it changes nothing.',
      query: ByToken,
      response: { 200: MessageJson },
    }),
    async (request) => {
      const owner = ownerOf(request)
      const { tenantId, userId } = owner
      const id = idParameter(request)
      const marked = await inbox.mark(tenantId, userId, 'read', [id])
      if (marked.length > 0) inboxFeed.changed(owner)
      return shown(found(await inbox.find(tenantId, userId, id)))
    },
  )

  app.post(
    '/api/inbox/:userId/read-all',
    operation(TO_USE, 'Mark all of a user’s messages as read', {
      operationId: 'markAllInboxMessagesRead',
      description: 'Of a very large inbox perhaps not all at once: repeat it while unreadCount is not 0.',
      query: ByToken,
      response: { 200: Type.Object({ marked: Type.Integer(), unreadCount: Type.Integer() }) },
    }),
    async (request) => {
      const owner = ownerOf(request)
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
  )

  app.delete(
    '/api/inbox/:userId/messages/:id',
    operation(TO_USE, 'Remove a message from the inbox', {
      operationId: 'deleteInboxMessage',
      description: 'Its words are deleted; its notification stays as it is.',
      query: ByToken,
      response: { 204: Type.Null({ description: 'Removed.' }) },
    }),
    async (request, reply) => {
      const owner = ownerOf(request)
      found(await inbox.remove(owner.tenantId, owner.userId, idParameter(request)))
      inboxFeed.changed(owner)
      return reply.status(204).send(null)
    },
  )

  app.get(
    '/api/inbox/:userId/stream',
    operation(
      USER_ONLY,
      'What happens in a user’s inbox, live',
      {
        operationId: 'streamInbox',
        description:
          'Server-sent events: message, read, removed and unread. Begins with the events after Last-Event-ID, else with now. Ends when the token expires.',
        query: {
          lastEventId: Type.Optional(
            Type.String({ maxLength: 20, description: 'Where the header Last-Event-ID cannot be sent.' }),
          ),
          ...ByToken,
        },
        response: {
          200: {
            description: 'Events, until one side ends it.',
            content: { 'text/event-stream': { schema: Type.String() } },
          },
        },
      },
      { config: { isStream: true } },
    ),
    async (request, reply) => {
      const token = found(request.user)
      const asked = lastEventId(request.headers['last-event-id'], request.query.lastEventId)
      const place = streams.reserve({ tenantId: token.tenantId, name: token.userId })
      try {
        const [revision = 0] = await inbox.revisions([token])
        // What a database that was brought back from a copy does not have yet cannot be waited for.
        const after = asked === null ? revision : Math.min(asked, revision)
        const response = beginStream(reply)
        void place.run(response, inboxSource({ inbox, feed: inboxFeed, shown, logger }, token, after))
      } catch (error) {
        place.release()
        throw error
      }
    },
  )

  app.post(
    '/api/inbox/:userId/tokens',
    operationsOf('Inbox')(
      TO_PUBLISH,
      'Make a token for a user’s own browser',
      {
        operationId: 'createInboxToken',
        description:
          'It opens this user’s inbox and nothing else, until it expires. It cannot be taken back: keep it short.',
        body: NewToken,
        response: { 201: Type.Object({ token: Type.String(), userId: Type.String(), expiresAt: Time }) },
      },
      { isBodyOptional: true },
    ),
    async (request, reply) => {
      const { tenantId, userId } = ownerOf(request)
      const { expiresIn } = (request.body as Static<typeof NewToken> | null | undefined) ?? {}
      const expiresAt = clock.now() + tokenLife(expiresIn)
      const token = userTokens.issue({ tenantId, userId, expiresAt })
      return reply.status(201).send({ token, userId, expiresAt: iso(expiresAt) })
    },
  )

  /** The user of the token, or the one that the path names in the key's tenant; who cannot be addressed is not found. */
  function ownerOf({ user, params, tenantId }: FastifyRequest): InboxOwner {
    if (user) return user
    const { userId } = params as { userId: string }
    return { tenantId, userId: found(isUserId(userId) && userId) }
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
      createdAt: iso(createdAt),
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

function tokenLife(expiresIn: string | undefined): number {
  return expiresIn === undefined ? DEFAULT_TOKEN_MS : durationField('/expiresIn', expiresIn, TOKEN_LIFE)
}
