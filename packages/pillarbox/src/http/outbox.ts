import { textProblem } from '@pillarbox/client/contract'
import { Type } from 'typebox'
import { instantMs } from '../intake/body-fields.ts'
import { EVENT_STATUSES } from '../model/event.ts'
import { replayEvent } from '../operate/outbox.ts'
import type { EventFilter } from '../plan/event-store.ts'
import { callerOf, OPS_ONLY, scopeOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { EventJson, eventJson } from './notification-json.ts'
import { ForOps, notFound, PageSchema, Paging, Query } from './schemas.ts'

const MAX_EVENT_ID = 200

/** `/ops/outbox`: the events of every tenant, and replay of those that failed. */
export function outboxRoutes(app: App, context: Context): void {
  const { store } = context

  app.route({
    method: 'GET',
    url: '/ops/outbox',
    config: { access: OPS_ONLY },
    schema: {
      tags: ['Operations'],
      summary: 'List events, newest first',
      querystring: Query({
        status: Type.Optional(Type.Enum([...EVENT_STATUSES])),
        from: Type.Optional(Type.String({ format: 'date-time' })),
        to: Type.Optional(Type.String({ format: 'date-time' })),
        ...ForOps,
        ...Paging,
      }),
      response: { 200: PageSchema(EventJson) },
    },
    async handler(request) {
      const { status, from, to, limit, cursor } = request.query
      const filter: EventFilter = {}
      const tenantId = scopeOf(request)
      if (tenantId !== null) filter.tenantId = tenantId
      if (status !== undefined) filter.status = status
      const [fromMs, toMs] = [instantMs(from), instantMs(to)]
      if (fromMs !== null) filter.from = fromMs
      if (toMs !== null) filter.to = toMs
      const page = await store.events.list(filter, { limit, ...(cursor !== undefined && { cursor }) })
      return { items: page.items.map(eventJson), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'POST',
    url: '/ops/outbox/:id/replay',
    config: { access: OPS_ONLY },
    schema: {
      tags: ['Operations'],
      summary: 'Plan a failed event again',
      description: 'Event ids are unique per tenant: name the tenant with ?tenantId= where several have this one.',
      querystring: Query(ForOps),
      response: { 200: EventJson },
    },
    async handler(request) {
      const { id } = request.params as { id: string }
      if (id.length > MAX_EVENT_ID || textProblem(id)) throw notFound()
      return eventJson(await replayEvent(context, { tenantId: scopeOf(request), id, actor: callerOf(request).actor }))
    },
  })
}
