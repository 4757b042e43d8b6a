import { type Static, Type } from 'typebox'
import { ChannelName, Nullable } from '../intake/body-fields.ts'
import { type ListedNotification, NOTIFICATION_STATUSES } from '../model/notification.ts'
import { addressOf, maskAddress } from '../model/recipient.ts'
import { TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { entityQuery, invalidQuery } from './entity-query.ts'
import { operationsOf } from './operation.ts'
import { ForOps, Id, iso, isoOrNull, PageSchema, Paging, pageJson, TextOrNull, Time, TimeOrNull } from './schemas.ts'

const LogJson = Type.Object(
  {
    id: Id,
    channel: ChannelName,
    eventType: TextOrNull,
    templateId: TextOrNull,
    templateVersion: Nullable(Type.Integer()),
    toAddress: Nullable(Type.String({ description: 'Masked; a recipient list’s name where one was addressed.' })),
    status: Type.Enum([...NOTIFICATION_STATUSES]),
    provider: TextOrNull,
    providerMessageId: TextOrNull,
    sentAtUtc: TimeOrNull,
    attemptCount: Type.Integer(),
    lastError: TextOrNull,
    idempotencyKey: Type.String(),
    correlationId: TextOrNull,
    createdAtUtc: Time,
    triggeredBy: Type.String(),
  },
  { title: 'CommunicationLog' },
)

const logQuery = entityQuery({ ...ForOps, ...Paging })

const operation = operationsOf('Notifications')

/** `/api/communication-logs`: the panel of one entity, everything it was ever told. */
export function communicationLogRoutes(app: App, { store }: Context): void {
  app.get(
    '/api/communication-logs',
    operation(TO_READ, 'What was sent about one entity, newest first', {
      operationId: 'listCommunicationLogs',
      description: 'Name it by `<entityType>Id=`, e.g. `bookingId=12345`, or by `entityType` and `entityId`.',
      querystring: logQuery.schema,
      response: { 200: PageSchema(LogJson) },
    }),
    async (request) => {
      const { tenantId, query } = request
      const { entityType, entityId } = await logQuery.knownEntityOf(query, tenantId, store)
      if (!entityType || !entityId)
        throw invalidQuery(
          entityId ? 'entityType' : 'entityId',
          'is required: name one entity, e.g. with bookingId=12345',
        )
      const page = await store.notifications.list({ tenantId, entityType, entityId }, query)
      return pageJson(page, logJson)
    },
  )
}

function logJson(view: ListedNotification): Static<typeof LogJson> {
  return {
    ...view,
    toAddress: addressOf(view.channel, maskAddress(view.to)) ?? view.to.list ?? null,
    sentAtUtc: isoOrNull(view.sentAt),
    createdAtUtc: iso(view.createdAt),
  }
}
