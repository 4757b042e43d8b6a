import { type Static, type TSchema, Type } from 'typebox'
import { ChannelName, withoutNulls } from '../intake/body-fields.ts'
import { isPushBody, MAX_IDEMPOTENCY_KEY, NotificationBody, PushBody } from '../intake/notification-body.ts'
import { ERRORS, found, notFound, PillarboxError } from '../model/errors.ts'
import { ACTIONS, type Action, NOTIFICATION_STATUSES, type NotificationView } from '../model/notification.ts'
import { actOnNotification } from '../operate/act.ts'
import type { NotificationFilter } from '../plan/notification-store.ts'
import { callerOf, scopeOf, TO_OPERATE, TO_PUBLISH, TO_READ, TO_READ_STATUS, tenantOf, traceOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { entityQuery } from './entity-query.ts'
import { type ItemAnswer, itemProblem } from './items.ts'
import { MAX_ITEMS, unfitJson } from './json-body.ts'
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
  waitingForJson,
} from './notification-json.ts'
import { operationsOf } from './operation.ts'
import {
  Closed,
  CorrectedAddress,
  ForOps,
  Id,
  ItemResult,
  idParameter,
  instantsMs,
  Note,
  PATTERNS,
  PageSchema,
  Paging,
  pageJson,
  Query,
  Time,
} from './schemas.ts'
import { bodyCheck, fieldErrors, optionalBody, withBodyCheck } from './validation.ts'

const SubmittedJson = Type.Object({
  id: Id,
  notificationId: Type.String({ description: 'The same id, by the name that the status has for it.' }),
  status: Type.Enum([...NOTIFICATION_STATUSES]),
  links: Type.Object({ self: Type.String(), status: Type.String() }),
})

/** What `expand` made of a recipient list. */
const ExpandedJson = Type.Object({
  ids: Type.Array(Id, { description: 'One per member, in the order of the list.' }),
  count: Type.Integer(),
  duplicates: Type.Integer({ description: 'How many of them an earlier call with the same key had made.' }),
  skipped: Type.Integer({ description: 'Members without an address for any of the channels.' }),
})

const checkNotification = bodyCheck(NotificationBody)
const checkPush = bodyCheck(PushBody)
const checkBody = (body: unknown) => (isPushBody(body) ? checkPush(body) : checkNotification(body))

const Batch = Type.Object(
  { items: Type.Array(Type.Union([NotificationBody, PushBody]), { minItems: 1, maxItems: MAX_ITEMS }) },
  { additionalProperties: false },
)
/** The items are looked at one by one later: one bad item spoils no other. */
const checkBatch = bodyCheck(
  Type.Object(
    { items: Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_ITEMS }) },
    { additionalProperties: false },
  ),
)

const ActBody = Closed({ note: Note })
const RetryBody = Closed({
  note: Note,
  rerender: Type.Optional(Type.Boolean({ description: 'In the words its event would be told in now.' })),
  to: Type.Optional(CorrectedAddress),
  override: Type.Optional(
    Type.Enum(['suppression'], { description: 'Send it though its address is suppressed. The audit keeps who did.' }),
  ),
})
/** What each act takes; nobody needs to send a body. */
const ACT_BODIES = {
  retry: RetryBody,
  discard: ActBody,
  cancel: ActBody,
  park: ActBody,
  restore: ActBody,
} as const satisfies Record<Action, TSchema>

const operation = operationsOf('Notifications', 'any')

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
      description:
        'A repeated idempotency key answers 409 with the first notification’s id, whatever the body. With `expand` the answer has the ids of one notification per member, at most 10,000; a call that was cut short is repeated with the same key and makes what is missing.',
      headers: Type.Object({ 'idempotency-key': Type.Optional(Type.String({ maxLength: MAX_IDEMPOTENCY_KEY })) }),
      querystring: Query(ForOps),
      body: Type.Union([NotificationBody, PushBody]),
      response: { 202: Type.Union([SubmittedJson, ExpandedJson]) },
    },
    async handler(request, reply) {
      const tenantId = await tenantOf(request, store)
      const body = withHeaderKey(request.body, request.headers['idempotency-key'])
      const caller = { tenantId, actor: callerOf(request).actor, traceparent: traceOf(request) }
      if (!isPushBody(body) && body.expand) {
        const { ids, duplicates, skipped } = await context.notifications.expand(caller, body)
        if (duplicates === ids.length) throw duplicateNotification(ids[0] ?? '')
        return reply.status(202).send({ ids, count: ids.length, duplicates, skipped })
      }
      const [answer] = await context.notifications.submit(caller, [body])
      if (!answer) throw new PillarboxError('internal', 'the intake gave no answer')
      if ('problem' in answer) throw answer.problem
      if (answer.duplicate) throw duplicateNotification(answer.id)
      const self = `/api/notifications/${answer.id}`
      const { id, status } = answer
      return reply.status(202).send({ id, notificationId: id, status, links: { self, status: `${self}/status` } })
    },
  })

  app.route({
    method: 'POST',
    url: '/api/notifications/batch',
    config: { access: TO_PUBLISH, judgesJson: true },
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
        const unfit = unfitJson(body)
        const wrong = unfit.length > 0 ? unfit : fieldErrors(checkBody(body) ?? [], 'body')
        if (wrong.length > 0) results[index] = itemProblem(index, wrong)
        else good.push({ body, index })
      }
      const answers = await context.notifications.submit(
        { tenantId, actor: callerOf(request).actor, traceparent: traceOf(request) },
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

  app.get(
    '/api/notifications',
    operation(
      TO_READ,
      'List notifications, newest first',
      {
        description:
          'Beside the named filters, `<entityType>Id=` finds the notifications of one entity, e.g. `bookingId=12345`.',
        querystring: listQuery.schema,
        response: { 200: PageSchema(NotificationJson) },
      },
      { config: { masksAddresses: true } },
    ),
    async (request) => {
      const filter = await filterOf(request.query, scopeOf(request), context)
      const now = clock.now()
      return pageJson(await store.notifications.list(filter, request.query), (view) =>
        notificationJson(view, { now, config }),
      )
    },
  )

  app.get(
    '/api/notifications/:id',
    operation(TO_READ, 'One notification with its whole history', {
      description: 'A viewer sees addresses and names masked, and neither words nor facts.',
      response: { 200: NotificationDetailJson },
    }),
    async (request) => {
      const view = await find(request)
      const waitsFor = view.status === 'queued' || view.status === 'retrying' ? view.accountId : null
      const [attempts, receipts, audit, event, schedule, account, lanes] = await Promise.all([
        store.notifications.attempts(view.id),
        store.receipts.list(view.id),
        store.notifications.audit(view.id),
        view.eventId === null ? null : store.events.find(view.tenantId, view.eventId),
        view.scheduleId === null ? null : store.schedules.find(view.tenantId, view.scheduleId),
        waitsFor === null ? null : store.accounts.find(view.tenantId, waitsFor),
        waitsFor === null ? [] : store.lanes.list(view.tenantId),
      ])
      const lane = lanes.find(({ accountId }) => accountId === waitsFor)
      return {
        ...notificationJson(view, { now: clock.now(), config }),
        waitingFor: waitingForJson(account, lane, clock.now()),
        content: view.content === null || 'sealed' in view.content ? null : view.content,
        attempts: attempts.map(attemptJson),
        receipts: receipts.map(receiptJson),
        audit: audit.map((row) => auditJson(row, view)),
        event: event && eventDetailJson(event),
        schedule: schedule && scheduleJson(schedule),
      }
    },
  )

  app.get(
    '/api/notifications/:id/status',
    operation(
      TO_READ_STATUS,
      'Where a notification stands',
      {
        description: 'A publisher finds what its own key sent, and nothing else.',
        response: { 200: NotificationStatusJson },
      },
      { config: { forSites: true } },
    ),
    async (request) => {
      const view = await find(request)
      const { key, actor } = callerOf(request)
      if (key.role === 'publisher' && view.triggeredBy !== actor) throw notFound()
      return statusJson(view)
    },
  )

  for (const action of Object.keys(ACTIONS) as Action[])
    app.post(
      `/api/notifications/:id/${action}`,
      operation(
        TO_OPERATE,
        SUMMARIES[action],
        { ...DESCRIPTIONS[action], body: ACT_BODIES[action], response: { 200: NotificationJson } },
        { validatorCompiler: optionalBody(ACT_BODIES[action]), config: { masksAddresses: true } },
      ),
      async (request) => {
        const { to, ...given } = (request.body as Static<typeof RetryBody> | null) ?? {}
        const corrected = to && { to: withoutNulls(to) }
        const act = {
          ...given,
          ...corrected,
          tenantId: scopeOf(request),
          id: idParameter(request),
          action,
          actor: request.actor,
        }
        return notificationJson(await actOnNotification(context, act), { now: clock.now(), config })
      },
    )

  async function find(request: Parameters<typeof scopeOf>[0]): Promise<NotificationView> {
    return found(await store.notifications.find(scopeOf(request), idParameter(request)))
  }
}

const SUMMARIES = {
  retry: 'Send a parked or uncertain notification again',
  discard: 'Give a parked or uncertain notification up',
  cancel: 'Cancel a notification that still waits',
  park: 'Set a notification aside that still waits',
  restore: 'Take back that a notification was discarded',
} as const satisfies Record<Action, string>

const DESCRIPTIONS: { [A in Action]?: { description: string } } = {
  retry: {
    description:
      'With `to`, the answer is a new notification (`correctedFrom`) that goes to the corrected address; the one that was named is discarded (`correctedTo`). A suppressed address is refused (409 `address_suppressed`) unless `override` says otherwise.',
  },
}

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

function duplicateNotification(notificationId: string): PillarboxError {
  return new PillarboxError('duplicate_notification', 'A notification with this idempotency key exists.', {
    notificationId,
  })
}

/** Fields of a notification that are no filters. */
const NOT_FILTERS = ['correlation', 'execution', 'parentExecution', 'template', 'providerMessage', 'notification']

/** `?stuck=true` narrows the list; there is no asking for the others. */
function OnlyTrue(description: string) {
  return Type.Unsafe<true>({ type: 'boolean', const: true, description })
}

const listQuery = entityQuery(
  {
    status: Type.Optional(
      Type.Array(Type.Enum([...NOTIFICATION_STATUSES]), { maxItems: NOTIFICATION_STATUSES.length }),
    ),
    channel: Type.Optional(ChannelName),
    eventId: Type.Optional(Type.String({ maxLength: 200 })),
    eventType: Type.Optional(Type.String({ maxLength: 100 })),
    contactId: Type.Optional(Type.String({ maxLength: 36 })),
    conversationId: Type.Optional(Type.String({ maxLength: 36 })),
    site: Type.Optional(Type.String({ maxLength: 100 })),
    accountId: Type.Optional(Type.String({ maxLength: 36 })),
    reason: Type.Optional(Type.String({ pattern: PATTERNS.reason })),
    possibleDuplicate: Type.Optional(Type.Boolean()),
    stuck: Type.Optional(OnlyTrue('Live, and due for longer than the server’s stuckAfter.')),
    stale: Type.Optional(
      OnlyTrue('Sent longer ago than the server’s staleAfter, and nobody has said since what became of it.'),
    ),
    from: Type.Optional(Time),
    to: Type.Optional(Time),
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 300,
        description: 'Exactly an id, an idempotency key, a provider’s id or an address.',
      }),
    ),
    ...ForOps,
    ...Paging,
  },
  NOT_FILTERS,
)

/** The filter of a list. */
async function filterOf(
  { stuck, stale, from, to, ...query }: Static<typeof listQuery.schema>,
  tenantId: string | null,
  { store, config }: Pick<Context, 'store' | 'config'>,
): Promise<NotificationFilter> {
  const { eventId, ...others } = query
  // `eventId` is our event, unless the tenant's catalogue has entities of the type `event`: then it is theirs.
  const isEntity =
    tenantId !== null && eventId !== undefined && Object.hasOwn(await store.catalogue.entities(tenantId), 'event')
  const wanted = isEntity ? { ...others, entityType: 'event', entityId: eventId } : query
  return {
    ...wanted,
    ...(await listQuery.knownEntityOf(wanted, tenantId, store)),
    ...(stuck && { stuckForMs: config.stuckAfterMs }),
    ...(stale && { staleForMs: config.staleAfterMs }),
    ...(tenantId !== null && { tenantId }),
    ...instantsMs({ from, to }),
  }
}
