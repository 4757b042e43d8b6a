import { Type } from 'typebox'
import { ChannelName } from '../intake/body-fields.ts'
import { type EventAnswer, EventBody } from '../intake/events.ts'
import { eventOfRequest, inRequestsNames, NotificationRequest } from '../intake/notification-requests.ts'
import { found, notFound, PillarboxError } from '../model/errors.ts'
import { EVENT_STATUSES } from '../model/event.ts'
import { NOTIFICATION_STATUSES } from '../model/notification.ts'
import { storyOf } from '../operate/event-story.ts'
import { replayEvent } from '../operate/replay-event.ts'
import { callerOf, TO_OPERATE, TO_PUBLISH, TO_READ_STATUS, traceOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { entityQuery } from './entity-query.ts'
import { type ItemAnswer, itemProblem } from './items.ts'
import { MAX_ITEMS } from './json-body.ts'
import {
  EventDetailJson,
  EventJson,
  eventDetailJson,
  eventJson,
  NotificationJson,
  notificationJson,
  ScheduleJson,
  scheduleJson,
} from './notification-json.ts'
import { operationsOf } from './operation.ts'
import {
  Exactly,
  eventIdParameter,
  ForOps,
  ItemResult,
  instantsMs,
  MadeBetween,
  PageSchema,
  Paging,
  Time,
  WarningSchema,
  withTimes,
} from './schemas.ts'
import { bodyCheck, withBodyCheck } from './validation.ts'

const PublishedJson = Type.Object({ id: Type.String(), duplicate: Type.Boolean() }, { title: 'AcceptedEvent' })

const PublishedRequestJson = Type.Object(
  {
    ...PublishedJson.properties,
    warnings: Type.Optional(Type.Array(WarningSchema, { description: 'What is taken, and probably not meant.' })),
  },
  { title: 'AcceptedNotificationRequest' },
)

/** The intake judges events one by one: one bad event of a list spoils no other. */
const checkList = bodyCheck(Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_ITEMS }))

const counts = Type.Object(Object.fromEntries(NOTIFICATION_STATUSES.map((status) => [status, Type.Integer()])), {
  description: 'How many of its notifications stand where.',
})

const EventItemJson = Type.Object({ ...EventJson.properties, counts }, { title: 'EventView' })

const EventStoryJson = Type.Object(
  {
    ...EventDetailJson.properties,
    counts,
    schedules: Type.Array(ScheduleJson),
    derived: Type.Array(EventJson, { description: 'Of a domain event: the events that it became.' }),
    notifications: Type.Array(NotificationJson, {
      description: 'The newest 200; all of them are at /api/notifications?eventId=.',
    }),
    explanation: Type.Array(
      Type.Object({
        at: Time,
        code: Type.String({ description: 'What was decided; of a notification that stopped, its reason.' }),
        text: Type.String(),
        notificationId: Type.Optional(Type.String()),
        channel: Type.Optional(ChannelName),
        recipient: Type.Optional(Type.String({ description: 'Masked.' })),
      }),
      { description: 'What was decided about it, oldest first, in words.' },
    ),
  },
  { title: 'EventDetail' },
)

const listQuery = entityQuery({
  type: Exactly(100, 'Only those of this event type.'),
  status: Type.Optional(Type.Enum([...EVENT_STATUSES], { description: 'Only those that stand there.' })),
  ...MadeBetween,
  ...ForOps,
  ...Paging,
})

const operation = operationsOf('Events')
const intake = operationsOf('Intake')

/** `/api/events`: facts in, durable when answered; and what became of them. */
export function eventRoutes(app: App, context: Context): void {
  const { store, events, clock, config } = context

  app.get(
    '/api/events',
    operation(TO_READ_STATUS, 'List events, newest first', {
      operationId: 'listEvents',
      description:
        '`<entityType>Id=` finds the events of one entity, e.g. `bookingId=12345`. A publisher finds what its own key published, and nothing else.',
      querystring: listQuery.schema,
      response: { 200: PageSchema(EventItemJson) },
    }),
    async (request) => {
      const { tenantId } = request
      const { from, to, ...query } = request.query
      const page = await store.events.list(
        {
          ...query,
          tenantId,
          ...(await listQuery.knownEntityOf(query, tenantId, store)),
          ...instantsMs({ from, to }),
          ...onlyOwn(request),
        },
        query,
      )
      const counted = await store.events.counts(tenantId, page.items)
      const items = page.items.map((event, i) => ({ ...eventJson(event), counts: found(counted[i]) }))
      return { ...page, items }
    },
  )

  app.get(
    '/api/events/:id',
    operation(
      TO_READ_STATUS,
      'One event, what it led to, and why',
      {
        operationId: 'getEvent',
        description:
          'A viewer sees addresses masked, nobody sees sealed fields. A publisher finds what its own key published, and nothing else.',
        response: { 200: EventStoryJson },
      },
      { config: { masksAddresses: true } },
    ),
    async (request) => {
      const event = found(await store.events.find(request.tenantId, eventIdParameter(request)))
      const { publishedBy } = onlyOwn(request)
      if (publishedBy !== undefined && event.publishedBy !== publishedBy) throw notFound()
      const story = await storyOf(store, event)
      return {
        ...eventDetailJson(event),
        counts: story.counts,
        schedules: story.schedules.map(scheduleJson),
        derived: story.derived.map(eventJson),
        notifications: story.notifications.map((view) => notificationJson(view, { now: clock.now(), config })),
        explanation: story.explanation.map((line) => withTimes(line, 'at')),
      }
    },
  )

  app.post(
    '/api/events/:id/replay',
    operation(TO_OPERATE, 'Plan a failed event again', {
      operationId: 'replayEvent',
      description: 'From failed, else 409 not_failed.',
      problems: ['not_failed'],
      response: { 200: EventJson },
    }),
    async (request) => {
      const { tenantId, actor } = request
      return eventJson(await replayEvent(context, { tenantId, id: eventIdParameter(request), actor }))
    },
  )

  app.post(
    '/api/events',
    intake(
      TO_PUBLISH,
      'Publish one event, or up to 1,000',
      {
        operationId: 'publishEvents',
        description:
          'One event answers 202, or 200 where its id is known. A list answers 200 with a result for each: 202, 200 or 422.',
        body: Type.Union([EventBody, Type.Array(EventBody, { minItems: 1, maxItems: MAX_ITEMS })]),
        problems: ['unknown_event_type'],
        response: {
          202: PublishedJson,
          200: Type.Union([PublishedJson, Type.Object({ results: Type.Array(ItemResult) })]),
        },
      },
      {
        bodyLimit: config.batchBodyLimitBytes,
        validatorCompiler: withBodyCheck((body) =>
          body === undefined || Array.isArray(body) ? checkList(body) : null,
        ),
        config: { judgesJson: true },
      },
    ),
    async (request, reply) => {
      const { body, actor, tenantId } = request
      const from = { tenantId, actor, traceparent: traceOf(request) }
      if (Array.isArray(body)) {
        const answers = await events.publish(from, body)
        return reply.status(200).send({ results: answers.map(itemAnswer) })
      }
      const [answer] = await events.publish(from, [body])
      if (!answer) throw new PillarboxError('internal', 'the intake gave no answer')
      if ('problem' in answer) throw answer.problem
      return reply.status(answer.duplicate ? 200 : 202).send(answer)
    },
  )
}

/** `/api/notification-requests`: an event whose recipients are worked out already, in the words of such a pipeline. */
export function notificationRequestRoutes(app: App, { events, config }: Context): void {
  app.post(
    '/api/notification-requests',
    intake(
      TO_PUBLISH,
      'Publish an event as a NotificationRequest',
      {
        operationId: 'publishNotificationRequest',
        description:
          'Taken as an event is: 202, or 200 where its `event_id` is known. `tenant_id` is the key’s tenant, else 404. It is about the entity that `conversation_context` or `context` names (`booking_id`), where that is what the event type is about; where neither does, about its own `event_id`, and `warnings` say so.',
        body: NotificationRequest,
        problems: ['not_found', 'unknown_event_type'],
        response: { 202: PublishedRequestJson, 200: PublishedRequestJson },
      },
      { bodyLimit: config.batchBodyLimitBytes },
    ),
    async (request, reply) => {
      const { body, actor, tenantId } = request
      if (body.tenant_id !== tenantId) throw notFound()
      const entityType = await events.entityType(tenantId, body.trigger_event)
      const { event, warnings } = eventOfRequest(body, entityType)
      const from = { tenantId, actor, traceparent: traceOf(request), way: 'notification_requests' as const }
      const [answer] = await events.publish(from, [event])
      if (!answer) throw new PillarboxError('internal', 'the intake gave no answer')
      if ('problem' in answer) throw inRequestsNames(answer.problem)
      const said = warnings.length > 0 ? { ...answer, warnings } : answer
      return reply.status(answer.duplicate ? 200 : 202).send(said)
    },
  )
}

/** A publisher finds what its own key published. */
function onlyOwn(request: Parameters<typeof callerOf>[0]): { publishedBy?: string } {
  const { key, actor } = callerOf(request)
  return key.role === 'publisher' ? { publishedBy: actor } : {}
}

function itemAnswer(answer: EventAnswer, index: number): ItemAnswer {
  if ('problem' in answer) return itemProblem(index, answer.problem)
  return { index, id: answer.id, status: answer.duplicate ? 200 : 202 }
}
