import { type Static, Type } from 'typebox'
import { instantMs, Line } from '../intake/body-fields.ts'
import { SCHEDULE_STATUSES } from '../model/event.ts'
import type { ScheduleFilter } from '../operate/schedule-store.ts'
import { actOnSchedule, SCHEDULE_ACTIONS, type ScheduleAction } from '../operate/schedules.ts'
import { callerOf, scopeOf, TO_OPERATE, TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { entityQuery, invalidQuery } from './entity-query.ts'
import { ScheduleJson, scheduleJson } from './notification-json.ts'
import { ForOps, idParameter, notFound, PageSchema, Paging, Query } from './schemas.ts'
import { bodyCheck, withBodyCheck } from './validation.ts'

const listQuery = entityQuery({
  status: Type.Optional(Type.Array(Type.Enum([...SCHEDULE_STATUSES]), { maxItems: SCHEDULE_STATUSES.length })),
  eventType: Type.Optional(Type.String({ maxLength: 100 })),
  due: Type.Optional(Type.Enum(['past', 'future'], { description: 'Whether their time has come.' })),
  dueFrom: Type.Optional(Type.String({ format: 'date-time' })),
  dueTo: Type.Optional(Type.String({ format: 'date-time' })),
  ...ForOps,
  ...Paging,
})

const ActionBody = Type.Object(
  { reason: Type.Optional(Line(1, 500, 'Kept in the audit.')) },
  { additionalProperties: false },
)
const checkAction = bodyCheck(ActionBody)

/** `/api/automation-schedules`: when events are to be turned into notifications, and moving that by hand. */
export function automationScheduleRoutes(app: App, context: Context): void {
  const { store } = context

  app.route({
    method: 'GET',
    url: '/api/automation-schedules',
    config: { access: TO_READ },
    schema: {
      tags: ['Schedules'],
      summary: 'List schedules, newest first',
      description: '`<entityType>Id=` finds the schedules of one entity, e.g. `bookingId=12345`.',
      querystring: listQuery.schema,
      response: { 200: PageSchema(ScheduleJson) },
    },
    async handler(request) {
      const { limit, cursor, status, eventType } = request.query
      const tenantId = scopeOf(request)
      const filter: ScheduleFilter = {
        ...(tenantId !== null && { tenantId }),
        ...(tenantId === null
          ? listQuery.entityOf(request.query)
          : await listQuery.knownEntityOf(request.query, tenantId, store)),
        ...(status !== undefined && { status }),
        ...(eventType !== undefined && { eventType }),
        ...(await dueFilter(request.query)),
      }
      const page = await store.schedules.list(filter, { limit, ...(cursor !== undefined && { cursor }) })
      return { items: page.items.map(scheduleJson), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/automation-schedules/:id',
    config: { access: TO_READ },
    schema: {
      tags: ['Schedules'],
      summary: 'One schedule',
      querystring: Query(ForOps),
      response: { 200: ScheduleJson },
    },
    async handler(request) {
      const id = idParameter(request)
      const schedule = await store.schedules.find(await tenantOf(request, store), id)
      if (!schedule) throw notFound()
      return scheduleJson(schedule)
    },
  })

  for (const action of SCHEDULE_ACTIONS)
    app.route({
      method: 'POST',
      url: `/api/automation-schedules/:id/${action}`,
      config: { access: TO_OPERATE },
      // The body may be left out: that is null here.
      validatorCompiler: withBodyCheck((body) => (body === null ? null : checkAction(body))),
      schema: {
        tags: ['Schedules'],
        ...DESCRIPTIONS[action],
        querystring: Query(ForOps),
        body: ActionBody,
        response: { 200: ScheduleJson },
      },
      async handler(request) {
        const id = idParameter(request)
        const tenantId = await tenantOf(request, store)
        const { reason } = (request.body as Static<typeof ActionBody> | null | undefined) ?? {}
        const schedule = await actOnSchedule(context, {
          tenantId,
          id,
          action,
          actor: callerOf(request).actor,
          ...(reason !== undefined && { reason }),
        })
        return scheduleJson(schedule)
      },
    })

  async function dueFilter(query: {
    due?: 'past' | 'future'
    dueFrom?: string
    dueTo?: string
  }): Promise<Pick<ScheduleFilter, 'dueFrom' | 'dueTo'>> {
    const [dueFrom, dueTo] = [instantMs(query.dueFrom), instantMs(query.dueTo)]
    if (query.due === undefined) return { ...(dueFrom !== null && { dueFrom }), ...(dueTo !== null && { dueTo }) }
    if (dueFrom !== null || dueTo !== null) throw invalidQuery('due', 'cannot be combined with dueFrom or dueTo')
    const now = await store.now()
    return query.due === 'past' ? { dueTo: now } : { dueFrom: now }
  }
}

const DESCRIPTIONS = {
  cancel: {
    summary: 'Cancel a schedule that is not planned yet',
    description: 'From pending or awaiting_approval, else 409 not_waiting.',
  },
  replay: { summary: 'Plan a failed schedule again', description: 'From failed, else 409 not_failed.' },
  approve: {
    summary: 'Let a schedule go ahead',
    description:
      'From awaiting_approval, else 409 not_awaiting_approval. It is planned when it is due; at once if that is past.',
  },
  reject: {
    summary: 'Cancel a schedule that awaits approval',
    description: 'From awaiting_approval, else 409 not_awaiting_approval.',
  },
} as const satisfies Record<ScheduleAction, { summary: string; description: string }>
