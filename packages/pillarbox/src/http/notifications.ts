import { type Static, type TSchema, Type } from 'typebox'
import { withoutNulls } from '../intake/body-fields.ts'
import { found, notFound } from '../model/errors.ts'
import { ACTIONS, type Action, type NotificationView } from '../model/notification.ts'
import { ACT_REFUSALS, actOnNotification } from '../operate/act.ts'
import { callerOf, scopeOf, TO_OPERATE, TO_READ, TO_READ_STATUS } from './auth.ts'
import type { App, Context } from './context.ts'
import { filterOf, listQuery } from './notification-filter.ts'
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
import { Closed, CorrectedAddress, idParameter, Note, PageSchema, pageJson } from './schemas.ts'

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
  retry: 'Send a parked, uncertain or skipped notification again',
  discard: 'Give a parked, uncertain or skipped notification up',
  cancel: 'Cancel a notification that still waits',
  park: 'Set a notification aside that still waits',
  restore: 'Take back that a notification was discarded',
} as const satisfies Record<Action, string>

const DESCRIPTIONS: { [A in Action]?: { description: string } } = {
  retry: {
    description:
      'With `to`, the answer is a new notification (`correctedFrom`) that goes to the corrected address; the one that was named is discarded (`correctedTo`). A suppressed address is refused (409 `address_suppressed`) unless `override` says otherwise. One that is skipped and still cannot be sent is refused (409 `not_plannable`), and stays skipped for the reason that stands in the way now.',
  },
}
