import { type Static, Type } from 'typebox'
import { Instant, Line } from '../intake/body-fields.ts'
import { found } from '../model/errors.ts'
import { SCHEDULE_STATUSES } from '../model/event.ts'
import { actOnSchedule, SCHEDULE_ACTIONS, SCHEDULE_REFUSALS, type ScheduleAction } from '../operate/act-on-schedule.ts'
import type { ScheduleFilter } from '../operate/schedule-store.ts'
import { scopeOf, TO_OPERATE, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { entityQuery, invalidQuery } from './entity-query.ts'
import { ScheduleJson, scheduleJson } from './notification-json.ts'
import { operationsOf } from './operation.ts'
import { Closed, Exactly, ForOps, idParameter, instantsMs, PageSchema, Paging, pageJson } from './schemas.ts'

const listQuery = entityQuery({
  status: Type.Optional(
    Type.Array(Type.Enum([...SCHEDULE_STATUSES]), {
      maxItems: SCHEDULE_STATUSES.length,
      description: 'Only those that stand there; may be repeated.',
    }),
  ),
  eventType: Exactly(100, 'Only those of this event type.'),
  due: Type.Optional(Type.Enum(['past', 'future'], { description: 'Whether their time has come.' })),
  dueFrom: Type.Optional(Instant('Due at this time or later.')),
  dueTo: Type.Optional(Instant('Due before this time.')),
  ...ForOps,
  ...Paging,
})

const ActionBody = Closed({ reason: Type.Optional(Line(1, 500, 'Kept in the audit.')) })

const listing = operationsOf('Schedules', 'any')
const operation = operationsOf('Schedules')

/** `/api/automation-schedules`: when events are to be turned into notifications, and moving that by hand. */
export function automationScheduleRoutes(app: App, context: Context): void {
  const { store } = context

  app.get(
    '/api/automation-schedules',
    listing(TO_READ, 'List schedules, newest first', {
      operationId: 'listSchedules',
      description: '`<entityType>Id=` finds the schedules of one entity, e.g. `bookingId=12345`.',
      querystring: listQuery.schema,
      response: { 200: PageSchema(ScheduleJson) },
    }),
    async (request) => {
      const tenantId = scopeOf(request)
      const { due, dueFrom, dueTo, ...query } = request.query
      const filter: ScheduleFilter = {
        ...query,
        ...(tenantId !== null && { tenantId }),
        ...(await listQuery.knownEntityOf(query, tenantId, store)),
        ...(due === undefined ? instantsMs({ dueFrom, dueTo }) : await dueBy(due, dueFrom ?? dueTo)),
      }
      return pageJson(await store.schedules.list(filter, query), scheduleJson)
    },
  )

  app.get(
    '/api/automation-schedules/:id',
    operation(TO_READ, 'One schedule', { operationId: 'getSchedule', response: { 200: ScheduleJson } }),
    async (request) => scheduleJson(found(await store.schedules.find(request.tenantId, idParameter(request)))),
  )

  for (const action of SCHEDULE_ACTIONS)
    app.post(
      `/api/automation-schedules/:id/${action}`,
      operation(
        TO_OPERATE,
        SUMMARIES[action],
        {
          operationId: action === 'send-now' ? 'sendScheduleNow' : `${action}Schedule`,
          description: DESCRIPTIONS[action],
          body: ActionBody,
          problems: [SCHEDULE_REFUSALS[action]],
          response: { 200: ScheduleJson },
        },
        { isBodyOptional: true },
      ),
      async (request) => {
        const { tenantId, actor } = request
        const given = (request.body as Static<typeof ActionBody> | null) ?? {}
        return scheduleJson(
          await actOnSchedule(context, { ...given, tenantId, id: idParameter(request), action, actor }),
        )
      },
    )

  async function dueBy(due: 'past' | 'future', another: string | undefined) {
    if (another !== undefined) throw invalidQuery('due', 'cannot be combined with dueFrom or dueTo')
    const now = await store.now()
    return due === 'past' ? { dueTo: now } : { dueFrom: now }
  }
}

const SUMMARIES = {
  cancel: 'Cancel a schedule that is not planned yet',
  replay: 'Plan a failed schedule again',
  approve: 'Let a schedule go ahead',
  reject: 'Cancel a schedule that awaits approval',
  'send-now': 'Plan a schedule now instead of when it is due',
} as const satisfies Record<ScheduleAction, string>

const DESCRIPTIONS = {
  cancel: 'From pending or awaiting_approval, else 409 not_waiting.',
  replay: 'From failed, else 409 not_failed.',
  approve:
    'From awaiting_approval, else 409 not_awaiting_approval. It is planned when it is due; at once if that is past.',
  reject: 'From awaiting_approval, else 409 not_awaiting_approval.',
  'send-now': 'From pending, else 409 not_waiting. It keeps its `dueAt`: the words are those of that time.',
} as const satisfies Record<ScheduleAction, string>
