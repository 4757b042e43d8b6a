import { type Static, type TSchema, Type } from 'typebox'
import { withoutNulls } from '../intake/body-fields.ts'
import { found, notFound } from '../model/errors.ts'
import { ACTIONS, type Action, NOTIFICATION_STATUSES, type NotificationView } from '../model/notification.ts'
import { ACT_REFUSALS, actOnNotification } from '../operate/act.ts'
import type { NotificationFilter } from '../plan/notification-store.ts'
import { callerOf, scopeOf, TO_OPERATE, TO_READ, TO_READ_STATUS } from './auth.ts'
import type { App, Context } from './context.ts'
import { entityQuery } from './entity-query.ts'
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
  Exactly,
  ForOps,
  idParameter,
  instantsMs,
  MadeBetween,
  Note,
  OnChannel,
  PATTERNS,
  PageSchema,
  Paging,
  pageJson,
} from './schemas.ts'

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

/** A retry may also be refused for what it would send, and where to. */
const RETRY_REFUSALS = ['not_plannable', 'address_suppressed', 'invalid_template'] as const

const operation = operationsOf('Notifications', 'any')

/** `/api/notifications`: the ledger's lists and detail, and what an operator may do to a row. */
export function notificationRoutes(app: App, context: Context): void {
  const { store, clock, config } = context

  app.get(
    '/api/notifications',
    operation(
      TO_READ,
      'List notifications, newest first',
      {
        operationId: 'listNotifications',
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
      operationId: 'getNotification',
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
        operationId: 'getNotificationStatus',
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
        {
          operationId: `${action}Notification`,
          ...DESCRIPTIONS[action],
          body: ACT_BODIES[action],
          problems: [ACT_REFUSALS[action], ...(action === 'retry' ? RETRY_REFUSALS : [])],
          response: { 200: NotificationJson },
        },
        { isBodyOptional: true, config: { masksAddresses: true } },
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

/** Fields of a notification that are no filters. */
const NOT_FILTERS = ['correlation', 'execution', 'parentExecution', 'template', 'providerMessage', 'notification']

/** `?stuck=true` narrows the list; there is no asking for the others. */
function OnlyTrue(description: string) {
  return Type.Unsafe<true>({ type: 'boolean', const: true, description })
}

const listQuery = entityQuery(
  {
    status: Type.Optional(
      Type.Array(Type.Enum([...NOTIFICATION_STATUSES]), {
        maxItems: NOTIFICATION_STATUSES.length,
        description: 'Only those that stand there; may be repeated.',
      }),
    ),
    ...OnChannel,
    eventId: Exactly(200, 'Only those that this event led to.'),
    eventType: Exactly(100, 'Only those of this event type.'),
    contactId: Exactly(36, 'Only those to this contact.'),
    conversationId: Exactly(36, 'Only those of this conversation.'),
    site: Exactly(100, 'Only those that this site handed off.'),
    accountId: Exactly(36, 'Only those that go through this account.'),
    reason: Type.Optional(
      Type.String({ pattern: PATTERNS.reason, description: 'Only those stopped for this reason.' }),
    ),
    possibleDuplicate: Type.Optional(
      Type.Boolean({ description: 'Only those that the recipient may have got twice, or only the others.' }),
    ),
    stuck: Type.Optional(OnlyTrue('Live, and due for longer than the server’s stuckAfter.')),
    stale: Type.Optional(
      OnlyTrue('Sent longer ago than the server’s staleAfter, and nobody has said since what became of it.'),
    ),
    ...MadeBetween,
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
