import { Type } from 'typebox'
import { EVENT_STATUSES } from '../model/event.ts'
import { replayEvent } from '../operate/replay-event.ts'
import { OPS_ONLY, scopeOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { EventJson, eventJson } from './notification-json.ts'
import { operationsOf } from './operation.ts'
import { eventIdParameter, instantsMs, MadeBetween, PageSchema, Paging, pageJson } from './schemas.ts'

const operation = operationsOf('Operations', 'any')

/** `/ops/outbox`: the events of every tenant, and replay of those that failed. */
export function outboxRoutes(app: App, context: Context): void {
  app.get(
    '/ops/outbox',
    operation(OPS_ONLY, 'List events, newest first', {
      operationId: 'listOutboxEvents',
      query: {
        status: Type.Optional(Type.Enum([...EVENT_STATUSES], { description: 'Only those that stand there.' })),
        ...MadeBetween,
        ...Paging,
      },
      response: { 200: PageSchema(EventJson) },
    }),
    async (request) => {
      const { from, to, ...filter } = request.query
      return pageJson(await context.store.events.list({ ...filter, ...instantsMs({ from, to }) }, filter), eventJson)
    },
  )

  app.post(
    '/ops/outbox/:id/replay',
    operation(OPS_ONLY, 'Plan a failed event again', {
      operationId: 'replayOutboxEvent',
      description: 'Event ids are unique per tenant: name the tenant with ?tenantId= where several have this one.',
      problems: ['not_failed'],
      response: { 200: EventJson },
    }),
    async (request) => {
      const replayed = { tenantId: scopeOf(request), id: eventIdParameter(request), actor: request.actor }
      return eventJson(await replayEvent(context, replayed))
    },
  )
}
