import { type Static, Type } from 'typebox'
import { ChannelName, Nullable } from '../intake/body-fields.ts'
import type { NotificationView } from '../model/notification.ts'
import { NOTIFICATION_STATUSES } from '../model/notification.ts'
import { addressOf, maskAddress } from '../model/recipient.ts'
import { TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { entityQuery, invalidQuery } from './entity-query.ts'
import { keySeenBy } from './masking.ts'
import { ForOps, Id, isoOrNull, PageSchema, Paging } from './schemas.ts'

const text = Nullable(Type.String())

const LogJson = Type.Object({
  id: Id,
  channel: ChannelName,
  eventType: text,
  templateId: text,
  templateVersion: Nullable(Type.Integer()),
  toAddress: Nullable(Type.String({ description: 'Masked; a recipient list’s name where one was addressed.' })),
  status: Type.Enum([...NOTIFICATION_STATUSES]),
  provider: text,
  providerMessageId: text,
  sentAtUtc: Nullable(Type.String({ format: 'date-time' })),
  attemptCount: Type.Integer(),
  lastError: text,
  idempotencyKey: Type.String(),
  correlationId: text,
  createdAtUtc: Type.String({ format: 'date-time' }),
  triggeredBy: Type.String(),
})

const logQuery = entityQuery({ ...ForOps, ...Paging })

/** `/api/communication-logs`: the panel of one entity, everything it was ever told. */
export function communicationLogRoutes(app: App, { store }: Context): void {
  app.route({
    method: 'GET',
    url: '/api/communication-logs',
    config: { access: TO_READ },
    schema: {
      tags: ['Notifications'],
      summary: 'What was sent about one entity, newest first',
      description: 'Name it by `<entityType>Id=`, e.g. `bookingId=12345`, or by `entityType` and `entityId`.',
      querystring: logQuery.schema,
      response: { 200: PageSchema(LogJson) },
    },
    async handler(request) {
      const { limit, cursor } = request.query
      const tenantId = await tenantOf(request, store)
      const { entityType, entityId } = await logQuery.knownEntityOf(request.query, tenantId, store)
      if (!entityType || !entityId)
        throw invalidQuery(
          entityId ? 'entityType' : 'entityId',
          'is required: name one entity, e.g. with bookingId=12345',
        )
      const page = await store.notifications.list(
        { tenantId, entityType, entityId },
        { limit, ...(cursor !== undefined && { cursor }) },
      )
      return { items: page.items.map((view) => logJson(view, keySeenBy(request, view))), nextCursor: page.nextCursor }
    },
  })
}

function logJson(view: NotificationView, idempotencyKey: string): Static<typeof LogJson> {
  return {
    id: view.id,
    channel: view.channel,
    eventType: view.eventType,
    templateId: view.templateId,
    templateVersion: view.templateVersion,
    toAddress: addressOf(view.channel, maskAddress(view.to)) ?? view.to.list ?? null,
    status: view.status,
    provider: view.provider,
    providerMessageId: view.providerMessageId,
    sentAtUtc: isoOrNull(view.sentAt),
    attemptCount: view.attemptCount,
    lastError: view.lastError,
    idempotencyKey,
    correlationId: view.correlationId,
    createdAtUtc: new Date(view.createdAt).toISOString(),
    triggeredBy: view.triggeredBy,
  }
}
