import { Type } from 'typebox'
import { type EventAnswer, EventBody } from '../intake/events.ts'
import { PillarboxError } from '../model/errors.ts'
import { TO_PUBLISH, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { type ItemAnswer, itemProblem } from './items.ts'
import { MAX_ITEMS } from './json-body.ts'
import { ForOps, ItemResult, Query } from './schemas.ts'
import { bodyCheck, withBodyCheck } from './validation.ts'

const PublishedJson = Type.Object({ id: Type.String(), duplicate: Type.Boolean() })

/** The intake judges events one by one: one bad event of a list spoils no other. */
const checkList = bodyCheck(Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_ITEMS }))

/** `/api/events`: facts in, durable when answered. */
export function eventRoutes(app: App, { store, events, config }: Context): void {
  app.route({
    method: 'POST',
    url: '/api/events',
    config: { access: TO_PUBLISH, judgesJson: true },
    bodyLimit: config.batchBodyLimitBytes,
    validatorCompiler: withBodyCheck((body) => (body === undefined || Array.isArray(body) ? checkList(body) : null)),
    schema: {
      tags: ['Intake'],
      summary: 'Publish one event, or up to 1,000',
      description:
        'One event answers 202, or 200 where its id is known. A list answers 200 with a result for each: 202, 200 or 422.',
      querystring: Query(ForOps),
      body: Type.Union([EventBody, Type.Array(EventBody, { minItems: 1, maxItems: MAX_ITEMS })]),
      response: {
        202: PublishedJson,
        200: Type.Union([PublishedJson, Type.Object({ results: Type.Array(ItemResult) })]),
      },
    },
    async handler(request, reply) {
      const tenantId = await tenantOf(request, store)
      const { body, actor } = request
      const from = { tenantId, actor }
      if (Array.isArray(body)) {
        const answers = await events.publish(from, body)
        return reply.status(200).send({ results: answers.map(itemAnswer) })
      }
      const [answer] = await events.publish(from, [body])
      if (!answer) throw new PillarboxError('internal', 'the intake gave no answer')
      if ('problem' in answer) throw answer.problem
      return reply.status(answer.duplicate ? 200 : 202).send(answer)
    },
  })
}

function itemAnswer(answer: EventAnswer, index: number): ItemAnswer {
  if ('problem' in answer) return itemProblem(index, answer.problem)
  return { index, id: answer.id, status: answer.duplicate ? 200 : 202 }
}
