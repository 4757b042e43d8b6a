import { type Static, Type } from 'typebox'
import { ChannelName, Line, Nullable } from '../intake/body-fields.ts'
import { found } from '../model/errors.ts'
import { SUPPRESSION_CAUSES, type Suppression } from '../model/suppression.ts'
import { findSuppressions, liftSuppression, suppressAddress } from '../operate/suppressions.ts'
import { TO_ADMINISTER, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { MASKED_AT_CONSOLE } from './masking.ts'
import { operationsOf } from './operation.ts'
import { Closed, Id, idParameter, OnChannel, PageSchema, Paging, pageJson, Time, withTimes } from './schemas.ts'

const address = Line(
  1,
  4_096,
  'What the channel sends to: a telephone number, an email, a device token, a user id or a URL.',
)

const SuppressionJson = Type.Object(
  {
    id: Id,
    tenantId: Type.String(),
    channel: ChannelName,
    address: Type.String(),
    cause: Type.Enum([...SUPPRESSION_CAUSES], {
      description:
        'dead_address: a provider said that the address is no good; bounced, complained: a receipt did; operator: by hand.',
    }),
    error: Nullable(Type.String({ description: 'The provider’s words.' })),
    notificationId: Nullable(Type.String({ description: 'The notification that taught us.' })),
    createdBy: Type.String(),
    createdAt: Time,
  },
  { title: 'Suppression' },
)

const operation = operationsOf('People')

/** `/api/suppressions`: addresses that are not used any more, learnt from providers or named by hand. */
export function suppressionRoutes(app: App, context: Context): void {
  const { store } = context
  const { suppressions } = store

  app.get(
    '/api/suppressions',
    operation(
      TO_READ,
      'List suppressed addresses, newest first',
      {
        operationId: 'listSuppressions',
        description: 'A viewer sees them masked, and so does everybody at the console.',
        query: {
          ...OnChannel,
          address: Type.Optional(Line(1, 4_096, 'Exactly; telephone numbers and emails however they are written.')),
          ...Paging,
        },
        response: { 200: PageSchema(SuppressionJson) },
      },
      MASKED_AT_CONSOLE,
    ),
    async (request) => pageJson(await findSuppressions(store, request.tenantId, request.query), suppressionJson),
  )

  app.get(
    '/api/suppressions/:id',
    operation(
      TO_READ,
      'One suppressed address',
      {
        operationId: 'getSuppression',
        description: 'A viewer sees it masked, and so does everybody at the console.',
        response: { 200: SuppressionJson },
      },
      MASKED_AT_CONSOLE,
    ),
    async (request) => suppressionJson(found(await suppressions.find(request.tenantId, idParameter(request)))),
  )

  app.post(
    '/api/suppressions',
    operation(TO_ADMINISTER, 'Suppress an address by hand', {
      operationId: 'createSuppression',
      description:
        'Nothing is sent to it on this channel until it is lifted. One that is suppressed on the channel already is 409.',
      body: Closed({ channel: ChannelName, address }),
      problems: ['already_exists'],
      response: { 201: SuppressionJson },
    }),
    async (request, reply) =>
      reply.status(201).send(suppressionJson(await suppressAddress(context, request, request.body))),
  )

  app.post(
    '/api/suppressions/:id/lift',
    operation(TO_ADMINISTER, 'Lift a suppression, and say why', {
      operationId: 'liftSuppression',
      description: 'As DELETE does, with a note for the audit.',
      body: Closed({ note: Line(1, 1_000, 'Why, in your own words. Kept in the audit.') }),
      response: { 204: Type.Null() },
    }),
    async (request, reply) => {
      await liftSuppression(store, request, idParameter(request), request.body.note)
      return reply.status(204).send(null)
    },
  )

  app.delete(
    '/api/suppressions/:id',
    operation(TO_ADMINISTER, 'Lift a suppression', {
      operationId: 'deleteSuppression',
      description: 'The address is used again. What was stopped because of it stays parked: retry it.',
      response: { 204: Type.Null() },
    }),
    async (request, reply) => {
      await liftSuppression(store, request, idParameter(request))
      return reply.status(204).send(null)
    },
  )
}

function suppressionJson(suppression: Suppression): Static<typeof SuppressionJson> {
  return withTimes(suppression, 'createdAt')
}
