import { Type } from 'typebox'
import { ChannelName } from '../intake/body-fields.ts'
import { listCauses, MOST_STOPPED } from '../operate/causes.ts'
import { scopeOf, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { causesQuery, filterOf } from './notification-filter.ts'
import { operationsOf } from './operation.ts'
import { Id, TextOrNull, Time, withTimes } from './schemas.ts'

const CauseJson = Type.Object(
  {
    fingerprint: Type.String({ description: 'Finds them: `fingerprint=` of the list and of a bulk filter.' }),
    reason: Type.String(),
    code: TextOrNull,
    text: Type.String({ description: 'What was said of them, without numbers, ids and addresses.' }),
    accountId: TextOrNull,
    channel: ChannelName,
    count: Type.Integer(),
    firstAt: Time,
    lastAt: Time,
    sampleId: { ...Id, description: 'The newest of them.' },
  },
  { title: 'Cause' },
)

const operation = operationsOf('Bulk', 'any')

/** `/api/notifications/causes`: what stopped notifications have in common. */
export function causeRoutes(app: App, context: Context): void {
  app.get(
    '/api/notifications/causes',
    operation(
      TO_READ,
      'What stopped notifications have in common, the commonest cause first',
      {
        operationId: 'listCauses',
        description: `Takes the filters of the list. What is parked, uncertain, failed, discarded or skipped has a cause; of all that stopped the newest ${MOST_STOPPED.toLocaleString('en')} are looked at.`,
        querystring: causesQuery.schema,
        response: {
          200: Type.Object({
            items: Type.Array(CauseJson),
            complete: Type.Boolean({
              description: 'False: more has stopped, or by more causes, than is counted here.',
            }),
          }),
        },
      },
      { config: { readsMuch: true } },
    ),
    async (request) => {
      const filter = await filterOf(request.query, scopeOf(request), context)
      const { causes, isWhole } = await listCauses(context.store, filter)
      // Whom the sample was for is no part of the answer, and for a viewer covered wherever the text names them.
      const items = causes.map((cause) => ({
        ...withTimes(cause, 'firstAt', 'lastAt'),
        ...(cause.sampleName !== null && { to: { name: cause.sampleName } }),
      }))
      return { items, complete: isWhole }
    },
  )
}
