import { Type } from 'typebox'
import { ChannelName, instantMs } from '../intake/body-fields.ts'
import { isPushBody, MAX_IDEMPOTENCY_KEY, NotificationBody, PushBody } from '../intake/notifications.ts'
import type { Channel } from '../model/channel.ts'
import { ERRORS, PillarboxError } from '../model/errors.ts'
import { ACTIONS, type Action, NOTIFICATION_STATUSES, type NotificationStatus } from '../model/notification.ts'
import { REASONS } from '../model/reason.ts'
import { actOnNotification } from '../operate/act.ts'
import type { NotificationFilter, NotificationView } from '../store/store.ts'
import { callerOf, scopeOf, TO_OPERATE, TO_PUBLISH, TO_READ, TO_READ_STATUS, tenantOf } from './auth.ts'
import type { App, Context, HttpConfig } from './context.ts'
import { type ItemAnswer, itemProblem } from './items.ts'
import {
  attemptJson,
  auditJson,
  eventDetailJson,
  NotificationDetailJson,
  NotificationJson,
  NotificationStatusJson,
  notificationJson,
  receiptJson,
  scheduleJson,
  statusJson,
} from './notification-json.ts'
import { ForOps, Id, ItemResult, idParameter, notFound, PageSchema, Paging, Query } from './schemas.ts'
import { bodyCheck, fieldErrors, withBodyCheck } from './validation.ts'

const MAX_BATCH = 1_000

const SubmittedJson = Type.Object({
  id: Id,
  status: Type.Enum([...NOTIFICATION_STATUSES]),
  links: Type.Object({ self: Type.String(), status: Type.String() }),
})

const checkNotification = bodyCheck(NotificationBody)
const checkPush = bodyCheck(PushBody)
const checkBody = (body: unknown) => (isPushBody(body) ? checkPush(body) : checkNotification(body))

const Batch = Type.Object(
  { items: Type.Array(Type.Union([NotificationBody, PushBody]), { minItems: 1, maxItems: MAX_BATCH }) },
  { additionalProperties: false },
)
/** The items are looked at one by one later: one bad item spoils no other. */
const checkBatch = bodyCheck(
  Type.Object(
    { items: Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_BATCH }) },
    { additionalProperties: false },
  ),
)

/** `/api/notifications`: the ledger's way in, its lists and detail, and what an operator may do to a row. */
export function notificationRoutes(app: App, context: Context): void {
  const { store, clock, config } = context

  app.route({
    method: 'POST',
    url: '/api/notifications',
    config: { access: TO_PUBLISH },
    validatorCompiler: withBodyCheck(checkBody),
    schema: {
      tags: ['Intake'],
      summary: 'Send one notification',
      description: 'A repeated idempotency key answers 409 with the first notification’s id, whatever the body.',
      headers: Type.Object({ 'idempotency-key': Type.Optional(Type.String({ maxLength: MAX_IDEMPOTENCY_KEY })) }),
      querystring: Query(ForOps),
      body: Type.Union([NotificationBody, PushBody]),
      response: { 202: SubmittedJson },
    },
    async handler(request, reply) {
      const tenantId = await tenantOf(request, store)
      const body = withHeaderKey(request.body, request.headers['idempotency-key'])
      const [answer] = await context.notifications.submit({ tenantId, actor: callerOf(request).actor }, [body])
      if (!answer) throw new PillarboxError('internal', 'the intake gave no answer')
      if ('problem' in answer) throw answer.problem
      if (answer.duplicate)
        throw new PillarboxError('duplicate_notification', 'A notification with this idempotency key exists.', {
          notificationId: answer.id,
        })
      const self = `/api/notifications/${answer.id}`
      return reply.status(202).send({ id: answer.id, status: answer.status, links: { self, status: `${self}/status` } })
    },
  })

  app.route({
    method: 'POST',
    url: '/api/notifications/batch',
    config: { access: TO_PUBLISH },
    bodyLimit: config.batchBodyLimitBytes,
    validatorCompiler: withBodyCheck(checkBatch),
    schema: {
      tags: ['Intake'],
      summary: 'Send up to 1,000 notifications',
      description: 'Each item is answered by itself with 202, 409 or 422.',
      querystring: Query(ForOps),
      body: Batch,
      response: { 200: Type.Object({ results: Type.Array(ItemResult) }) },
    },
    async handler(request) {
      if (request.headers['idempotency-key'] !== undefined)
        throw new PillarboxError(
          'bad_request',
          'Give each item its own idempotencyKey; one header cannot name them all.',
        )
      const tenantId = await tenantOf(request, store)
      const results: ItemAnswer[] = []
      const good: { body: NotificationBody | PushBody; index: number }[] = []
      for (const [index, body] of request.body.items.entries()) {
        const wrong = checkBody(body)
        if (wrong) results[index] = itemProblem(index, fieldErrors(wrong, 'body'))
        else good.push({ body, index })
      }
      const answers = await context.notifications.submit(
        { tenantId, actor: callerOf(request).actor },
        good.map(({ body }) => body),
      )
      for (const [i, { index }] of good.entries()) {
        const answer = answers[i]
        if (!answer) continue
        if ('problem' in answer) results[index] = itemProblem(index, answer.problem)
        else if (answer.duplicate)
          results[index] = {
            index,
            id: answer.id,
            status: ERRORS.duplicate_notification.status,
            code: 'duplicate_notification',
          }
        else results[index] = { index, id: answer.id, status: 202 }
      }
      return { results }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/notifications',
    config: { access: TO_READ },
    schema: {
      tags: ['Notifications'],
      summary: 'List notifications, newest first',
      description:
        'Beside the named filters, `<entityType>Id=` finds the notifications of one entity, e.g. `bookingId=12345`.',
      querystring: ListQuery,
      response: { 200: PageSchema(NotificationJson) },
    },
    async handler(request) {
      const { limit, cursor } = request.query
      const filter = filterOf(request.query, scopeOf(request), config)
      const page = await store.notifications.list(filter, { limit, ...(cursor !== undefined && { cursor }) })
      const now = clock.now()
      return { items: page.items.map((view) => notificationJson(view, { now, config })), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/notifications/:id',
    config: { access: TO_READ },
    schema: {
      tags: ['Notifications'],
      summary: 'One notification with its whole history',
      description: 'A viewer sees addresses masked.',
      querystring: Query(ForOps),
      response: { 200: NotificationDetailJson },
    },
    async handler(request) {
      const view = await find(request)
      const reveal = callerOf(request).key.role !== 'viewer'
      const [attempts, receipts, audit, event, schedule] = await Promise.all([
        store.notifications.attempts(view.id),
        store.receipts.list(view.id),
        store.notifications.audit(view.id),
        view.eventId === null ? null : store.events.find(view.tenantId, view.eventId),
        view.scheduleId === null ? null : store.notifications.schedule(view.tenantId, view.scheduleId),
      ])
      return {
        ...notificationJson(view, { now: clock.now(), config, reveal }),
        content: view.content,
        attempts: attempts.map(attemptJson),
        receipts: receipts.map(receiptJson),
        audit: audit.map((row) => auditJson(row, view)),
        event: event && eventDetailJson(event, reveal),
        schedule: schedule && scheduleJson(schedule),
      }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/notifications/:id/status',
    config: { access: TO_READ_STATUS, forSites: true },
    schema: {
      tags: ['Notifications'],
      summary: 'Where a notification stands',
      description: 'A publisher finds what its own key sent, and nothing else.',
      querystring: Query(ForOps),
      response: { 200: NotificationStatusJson },
    },
    async handler(request) {
      const view = await find(request)
      const { key, actor } = callerOf(request)
      if (key.role === 'publisher' && view.triggeredBy !== actor) throw notFound()
      return statusJson(view)
    },
  })

  for (const action of Object.keys(ACTIONS) as Action[])
    app.route({
      method: 'POST',
      url: `/api/notifications/:id/${action}`,
      config: { access: TO_OPERATE },
      schema: {
        tags: ['Notifications'],
        summary: SUMMARIES[action],
        querystring: Query(ForOps),
        response: { 200: NotificationJson },
      },
      async handler(request) {
        const moved = await actOnNotification(context, {
          tenantId: scopeOf(request),
          id: idParameter(request),
          action,
          actor: callerOf(request).actor,
        })
        return notificationJson(moved, { now: clock.now(), config })
      },
    })

  async function find(request: Parameters<typeof scopeOf>[0]): Promise<NotificationView> {
    const view = await store.notifications.find(scopeOf(request), idParameter(request))
    if (!view) throw notFound()
    return view
  }
}

const SUMMARIES = {
  retry: 'Send a parked or uncertain notification again',
  discard: 'Give a parked or uncertain notification up',
  cancel: 'Cancel a notification that still waits',
  park: 'Set a notification aside that still waits',
} as const satisfies Record<Action, string>

/** The key may come in the header instead; if it comes both ways it must be the same. */
function withHeaderKey<T extends NotificationBody | PushBody>(body: T, header: string | undefined): T {
  if (header === undefined) return body
  if (header.length === 0 || header.length > MAX_IDEMPOTENCY_KEY || /\p{Cc}/u.test(header)) {
    const message = `must be 1 to ${MAX_IDEMPOTENCY_KEY} characters`
    throw new PillarboxError('invalid_body', `The Idempotency-Key header ${message}.`, {
      errors: [{ path: 'Idempotency-Key', message }],
    })
  }
  if (body.idempotencyKey !== undefined && body.idempotencyKey !== null && body.idempotencyKey !== header)
    throw new PillarboxError('idempotency_key_mismatch', 'The header and the body name different idempotency keys.')
  return { ...body, idempotencyKey: header }
}

/** Filters of their own that end in Id. */
const NAMED_IDS = ['entity', 'account', 'tenant']

/** Fields of a notification that are no filters; as `<entityType>Id` they would silently find nothing. */
const NOT_ENTITIES = [
  'correlation',
  'execution',
  'parentExecution',
  'template',
  'event',
  'providerMessage',
  'notification',
]

const ENTITY_FILTER = `^(?!(?:${[...NAMED_IDS, ...NOT_ENTITIES].join('|')})Id$)[A-Za-z][\\w-]{0,62}Id$`

/** `?stuck=true` narrows the list; there is no asking for the others. */
function OnlyTrue(description: string) {
  return Type.Unsafe<true>({ type: 'boolean', const: true, description })
}

const listParameters = {
  status: Type.Optional(Type.Array(Type.Enum([...NOTIFICATION_STATUSES]), { maxItems: NOTIFICATION_STATUSES.length })),
  channel: Type.Optional(ChannelName),
  eventType: Type.Optional(Type.String({ maxLength: 100 })),
  entityType: Type.Optional(Type.String({ maxLength: 63 })),
  entityId: Type.Optional(Type.String({ maxLength: 200 })),
  site: Type.Optional(Type.String({ maxLength: 100 })),
  accountId: Type.Optional(Type.String({ maxLength: 36 })),
  reason: Type.Optional(
    Type.String({ pattern: `^(?:${Object.keys(REASONS).join('|')}|fallback_triggered:[a-z_]{1,20})$` }),
  ),
  possibleDuplicate: Type.Optional(Type.Boolean()),
  stuck: Type.Optional(OnlyTrue('Live, and due for longer than the server’s stuckAfter.')),
  stale: Type.Optional(OnlyTrue('Sent longer ago than the server’s staleAfter, without a receipt since.')),
  from: Type.Optional(Type.String({ format: 'date-time' })),
  to: Type.Optional(Type.String({ format: 'date-time' })),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 300,
      description: 'Exactly an id, an idempotency key, a provider’s id or an address.',
    }),
  ),
}

const ListQuery = Type.Object(
  { ...listParameters, ...ForOps, ...Paging },
  { additionalProperties: false, patternProperties: { [ENTITY_FILTER]: { type: 'string', maxLength: 200 } } },
)

interface ListQuery {
  status?: NotificationStatus[]
  channel?: Channel
  eventType?: string
  entityType?: string
  entityId?: string
  site?: string
  accountId?: string
  reason?: string
  possibleDuplicate?: boolean
  stuck?: true
  stale?: true
  from?: string
  to?: string
  q?: string
}

function filterOf(query: ListQuery, tenantId: string | null, config: HttpConfig): NotificationFilter {
  const filter: NotificationFilter = {}
  if (query.stuck) filter.stuckForMs = config.stuckAfterMs
  if (query.stale) filter.staleForMs = config.staleAfterMs
  if (tenantId !== null) filter.tenantId = tenantId
  for (const name of [
    'status',
    'channel',
    'eventType',
    'entityType',
    'entityId',
    'site',
    'accountId',
    'reason',
    'possibleDuplicate',
    'q',
  ] as const)
    if (query[name] !== undefined) Object.assign(filter, { [name]: query[name] })
  const from = instantMs(query.from)
  const to = instantMs(query.to)
  if (from !== null) filter.from = from
  if (to !== null) filter.to = to
  for (const [name, value] of Object.entries(query)) {
    if (!name.endsWith('Id') || NAMED_IDS.includes(name.slice(0, -2))) continue
    if (filter.entityId !== undefined || filter.entityType !== undefined)
      throw new PillarboxError('invalid_query', `${name} cannot be combined with another entity.`, {
        errors: [{ path: name, message: 'cannot be combined with another entity' }],
      })
    filter.entityType = name.slice(0, -2)
    filter.entityId = String(value)
  }
  return filter
}
