import { Type } from 'typebox'
import type { Target } from '../channels/channel.ts'
import { ChannelName, JsonObject, Nullable } from '../intake/body-fields.ts'
import { PillarboxError } from '../model/errors.ts'
import { maskAddress } from '../model/recipient.ts'
import { callerOf, scopeOf, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { foreignCursor } from './cursors.ts'
import { ForOps, PageSchema, Paging, Query } from './schemas.ts'

const MessageJson = Type.Object({
  id: Type.String(),
  tenantId: Type.String(),
  accountId: Type.String(),
  channel: ChannelName,
  key: Type.String({ description: 'The idempotency key the vendor was given.' }),
  notificationId: Type.String(),
  attempt: Type.Integer(),
  to: JsonObject,
  subject: Nullable(Type.String()),
  body: Type.String(),
  data: JsonObject,
  providerTemplate: Nullable(JsonObject),
  correlationId: Nullable(Type.String()),
  acceptedAt: Type.String({ format: 'date-time' }),
  duplicateOf: Nullable(Type.String({ description: 'The first message with the same key.' })),
})

function masked({ bcc, ...to }: Target): Target {
  const one = (email: string): string => maskAddress({ email }).email ?? '***'
  return { ...maskAddress(to), ...(bcc && { bcc: bcc.map(one) }) }
}

/** `/api/sandbox/messages`: what the pretend vendor took, as its recipients would see it. */
export function sandboxRoutes(app: App, { sandbox }: Context): void {
  app.route({
    method: 'GET',
    url: '/api/sandbox/messages',
    config: { access: TO_READ },
    schema: {
      tags: ['Sandbox'],
      summary: 'What the sandbox took, newest first',
      description: 'A viewer sees addresses masked. 404 on a server without a sandbox.',
      querystring: Query({
        channel: Type.Optional(ChannelName),
        to: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096, description: 'The exact address.' })),
        notificationId: Type.Optional(Type.String({ maxLength: 36 })),
        ...ForOps,
        ...Paging,
      }),
      response: { 200: PageSchema(MessageJson) },
    },
    async handler(request) {
      if (!sandbox) throw new PillarboxError('not_found', 'This server has no sandbox.')
      const { channel, to, notificationId, limit, cursor } = request.query
      if (cursor !== undefined && !/^sbx-[0-9]{1,15}$/.test(cursor)) throw foreignCursor()
      const found = sandbox({
        tenantId: scopeOf(request),
        limit: limit + 1,
        ...(channel !== undefined && { channel }),
        ...(to !== undefined && { to }),
        ...(notificationId !== undefined && { notificationId }),
        ...(cursor !== undefined && { before: cursor }),
      })
      const reveal = callerOf(request).key.role !== 'viewer'
      const items = found.slice(0, limit)
      return {
        items: items.map((message) => ({
          ...message,
          to: { ...(reveal ? message.to : masked(message.to)) },
          acceptedAt: new Date(message.acceptedAt).toISOString(),
        })),
        nextCursor: found.length > limit ? (items.at(-1)?.id ?? null) : null,
      }
    },
  })
}
