import { Type } from 'typebox'
import { ChannelName, JsonObject, Nullable } from '../intake/body-fields.ts'
import { PillarboxError } from '../model/errors.ts'
import { scopeOf, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { foreignCursor } from './cursors.ts'
import { operationsOf } from './operation.ts'
import { Exactly, OnChannel, PageSchema, Paging, pageJson, TextOrNull, Time, withTimes } from './schemas.ts'

const MessageJson = Type.Object(
  {
    id: Type.String(),
    tenantId: Type.String(),
    accountId: Type.String(),
    channel: ChannelName,
    key: Type.String({ description: 'The idempotency key the vendor was given.' }),
    notificationId: Type.String(),
    attempt: Type.Integer(),
    to: JsonObject,
    subject: TextOrNull,
    body: Type.String(),
    data: JsonObject,
    providerTemplate: Nullable(JsonObject),
    correlationId: TextOrNull,
    acceptedAt: Time,
    duplicateOf: Nullable(Type.String({ description: 'The first message with the same key.' })),
  },
  { title: 'SandboxMessage' },
)

const operation = operationsOf('Sandbox', 'any')

/** `/api/sandbox/messages`: what the pretend vendor took, as its recipients would see it. */
export function sandboxRoutes(app: App, { sandbox }: Context): void {
  app.get(
    '/api/sandbox/messages',
    operation(TO_READ, 'What the sandbox took, newest first', {
      operationId: 'listSandboxMessages',
      description: 'A viewer sees neither addresses nor words. 404 on a server without a sandbox.',
      query: {
        ...OnChannel,
        to: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096, description: 'The exact address.' })),
        notificationId: Exactly(36, 'Only those of this notification.'),
        ...Paging,
      },
      problems: ['not_found'],
      response: { 200: PageSchema(MessageJson) },
    }),
    async (request) => {
      if (!sandbox) throw new PillarboxError('not_found', 'This server has no sandbox.')
      const { limit, cursor, ...filter } = request.query
      if (cursor !== undefined && !/^sbx-[0-9]{1,15}$/.test(cursor)) throw foreignCursor()
      const after = cursor === undefined ? {} : { before: cursor }
      const messages = sandbox({ ...filter, ...after, tenantId: scopeOf(request), limit: limit + 1 })
      const items = messages.slice(0, limit)
      const page = { items, nextCursor: messages.length > limit ? (items.at(-1)?.id ?? null) : null }
      return pageJson(page, (message) => ({ ...withTimes(message, 'acceptedAt'), to: { ...message.to } }))
    },
  )
}
