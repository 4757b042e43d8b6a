import { Type } from 'typebox'
import { createHasuraSources, HasuraBody, hasuraForm } from '../intake/hasura.ts'
import { PillarboxError } from '../model/errors.ts'
import { TO_PUBLISH, traceOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import { Exactly } from './schemas.ts'
import { bodyCheck, withBodyCheck } from './validation.ts'

const TakenJson = Type.Object({ id: Type.String(), duplicate: Type.Boolean() }, { title: 'AcceptedHasuraEvent' })

/** By the one that it is meant to be, so that its faults are told, and not those of both. */
const checks = HasuraBody.anyOf.map(bodyCheck)

const operation = operationsOf('Intake')

/** `/api/sources`: events from systems that call in a form of their own. */
export function sourceRoutes(app: App, { store, events, clock, untrusted, config }: Context): void {
  const { entityType } = events
  const hasura = createHasuraSources({ store, clock, untrusted, entityType })

  app.post(
    '/api/sources/hasura',
    operation(
      TO_PUBLISH,
      'Take what a Hasura trigger calls with',
      {
        operationId: 'takeHasuraEvent',
        description:
          'An event trigger, a cron trigger or a one-off scheduled event, mapped by `sources.hasura` of the catalogue. 202, or 200 where its `id` is known. The key may also come in the header that the tenant’s `hasuraSecretHeader` names.',
        query: { trigger: Exactly(200, 'For what names no trigger itself, such as a one-off scheduled event.') },
        body: HasuraBody,
        problems: ['unknown_event_type'],
        response: { 202: TakenJson, 200: TakenJson },
      },
      {
        bodyLimit: config.batchBodyLimitBytes,
        validatorCompiler: withBodyCheck((body) => checks[hasuraForm(body)]?.(body) ?? null),
        config: { judgesJson: true, takesKeyInHeader: true },
      },
    ),
    async (request, reply) => {
      const { body, actor, tenantId, query } = request
      const event = await hasura.eventOf(tenantId, body, query.trigger ?? null)
      const from = { tenantId, actor, traceparent: traceOf(request), way: 'hasura' as const }
      const [answer] = await events.publish(from, [event])
      if (!answer) throw new PillarboxError('internal', 'the intake gave no answer')
      if ('problem' in answer) throw answer.problem
      return reply.status(answer.duplicate ? 200 : 202).send(answer)
    },
  )
}
