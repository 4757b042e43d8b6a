import { Type } from 'typebox'
import { isPushBody, MAX_IDEMPOTENCY_KEY, NotificationBody, PushBody } from '../intake/notification-body.ts'
import { ERRORS, PillarboxError } from '../model/errors.ts'
import { NOTIFICATION_STATUSES } from '../model/notification.ts'
import { TO_PUBLISH, traceOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { type ItemAnswer, itemProblem } from './items.ts'
import { MAX_ITEMS, unfitJson } from './json-body.ts'
import { operationsOf } from './operation.ts'
import { Id, ItemResult } from './schemas.ts'
import { bodyCheck, fieldErrors, withBodyCheck } from './validation.ts'

const SubmittedJson = Type.Object(
  {
    id: Id,
    notificationId: Type.String({ description: 'The same id, by the name that the status has for it.' }),
    status: Type.Enum([...NOTIFICATION_STATUSES]),
    links: Type.Object({ self: Type.String(), status: Type.String() }),
  },
  { title: 'AcceptedNotification' },
)

/** What `expand` made of a recipient list. */
const ExpandedJson = Type.Object(
  {
    ids: Type.Array(Id, { description: 'One per member, in the order of the list.' }),
    count: Type.Integer(),
    duplicates: Type.Integer({ description: 'How many of them an earlier call with the same key had made.' }),
    skipped: Type.Integer({ description: 'Members without an address for any of the channels.' }),
  },
  { title: 'ExpandedNotifications' },
)

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

const operation = operationsOf('Intake')

/** `POST /api/notifications`: the ledger's way in for what needs no event. */
export function notificationIntakeRoutes(app: App, { notifications, config }: Context): void {
  app.post(
    '/api/notifications',
    operation(
      TO_PUBLISH,
      'Send one notification',
      {
        operationId: 'sendNotification',
        description:
          'A repeated idempotency key answers 409 with the first notification’s id, whatever the body. With `expand` the answer has the ids of one notification per member, at most 10,000; a call that was cut short is repeated with the same key and makes what is missing.',
        headers: Type.Object({
          'idempotency-key': Type.Optional(
            Type.String({ maxLength: MAX_IDEMPOTENCY_KEY, description: 'The same as idempotencyKey in the body.' }),
          ),
        }),
        body: Type.Union([NotificationBody, PushBody]),
        problems: ['duplicate_notification', 'idempotency_key_mismatch', 'unknown_event_type', 'invalid_template'],
        response: { 202: Type.Union([SubmittedJson, ExpandedJson]) },
      },
      { validatorCompiler: withBodyCheck(checkBody) },
    ),
    async (request, reply) => {
      const { tenantId, actor } = request
      const body = withHeaderKey(request.body, request.headers['idempotency-key'])
      const caller = { tenantId, actor, traceparent: traceOf(request) }
      if (!isPushBody(body) && body.expand) {
        const { ids, duplicates, skipped } = await notifications.expand(caller, body)
        if (duplicates === ids.length) throw duplicateNotification(ids[0] ?? '')
        return reply.status(202).send({ ids, count: ids.length, duplicates, skipped })
      }
      const [answer] = await notifications.submit(caller, [body])
      if (!answer) throw new PillarboxError('internal', 'the intake gave no answer')
      if ('problem' in answer) throw answer.problem
      if (answer.duplicate) throw duplicateNotification(answer.id)
      const self = `/api/notifications/${answer.id}`
      const { id, status } = answer
      return reply.status(202).send({ id, notificationId: id, status, links: { self, status: `${self}/status` } })
    },
  )

  app.post(
    '/api/notifications/batch',
    operation(
      TO_PUBLISH,
      'Send up to 1,000 notifications',
      {
        operationId: 'sendNotifications',
        description: 'Each item is answered by itself with 202, 409 or 422.',
        body: Batch,
        response: { 200: Type.Object({ results: Type.Array(ItemResult) }) },
      },
      {
        bodyLimit: config.batchBodyLimitBytes,
        validatorCompiler: withBodyCheck(checkBatch),
        config: { judgesJson: true },
      },
    ),
    async (request) => {
      if (request.headers['idempotency-key'] !== undefined)
        throw new PillarboxError(
          'bad_request',
          'Give each item its own idempotencyKey; one header cannot name them all.',
        )
      const { tenantId, actor } = request
      const results: ItemAnswer[] = []
      const good: { body: NotificationBody | PushBody; index: number }[] = []
      for (const [index, body] of request.body.items.entries()) {
        const unfit = unfitJson(body)
        const wrong = unfit.length > 0 ? unfit : fieldErrors(checkBody(body) ?? [], 'body')
        if (wrong.length > 0) results[index] = itemProblem(index, wrong)
        else good.push({ body, index })
      }
      const answers = await notifications.submit(
        { tenantId, actor, traceparent: traceOf(request) },
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
  )
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
