import { textProblem } from '@pillarbox/client/contract'
import { Type } from 'typebox'
import { ChannelName, Nullable, withoutNulls } from '../intake/body-fields.ts'
import { notFound } from '../model/errors.ts'
import { callerOf, TO_OPERATE } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import { CorrectedAddress, Id, Note } from './schemas.ts'

const MAX_ENTITY_ID = 200

/** `POST /api/bookings/{id}/resend-notification`, for the plural of every entity type in the tenant's catalogue. */
export function resendRoutes(app: App, { store, resend }: Context): void {
  app.post(
    '/api/:plural/:id/resend-notification',
    operationsOf('Notifications')(TO_OPERATE, 'Tell an entity’s recipients again, on one channel', {
      operationId: 'resendNotification',
      description:
        'The path begins with the plural of an entity type of the catalogue, e.g. /api/bookings/12345/resend-notification. New notifications are made; the first ones stay as they are.',
      body: Type.Object(
        {
          channel: ChannelName,
          templateId: Type.Optional(Nullable({ ...Id, description: 'Absent: the one that planning would choose.' })),
          to: Type.Optional(CorrectedAddress),
          rerender: Type.Optional(
            Type.Literal(true, { description: 'Understood as for a retry; a resend always has today’s words.' }),
          ),
          note: Note,
        },
        { additionalProperties: false },
      ),
      problems: ['not_plannable', 'address_suppressed', 'invalid_template'],
      response: { 202: Type.Object({ requestId: Id, notifications: Type.Array(Id) }) },
    }),
    async (request, reply) => {
      const { plural, id } = request.params as { plural: string; id: string }
      const { tenantId } = request
      const entities = Object.entries(await store.catalogue.entities(tenantId))
      const type = entities.find(([, name]) => name === plural)?.[0]
      if (type === undefined || id.length > MAX_ENTITY_ID || textProblem(id)) throw notFound()
      const { channel, templateId = null, to, note } = request.body
      const resent = await resend({
        tenantId,
        entity: { type, id },
        channel,
        templateId,
        actor: callerOf(request).actor,
        ...(to && { to: withoutNulls(to) }),
        ...(note !== undefined && { note }),
      })
      return reply.status(202).send(resent)
    },
  )
}
