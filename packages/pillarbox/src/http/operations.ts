import { Type } from 'typebox'
import { Nullable } from '../intake/body-fields.ts'
import { found } from '../model/errors.ts'
import { BULK_ACTIONS, ITEM_OUTCOMES, OPERATION_STATUSES, type Operation } from '../model/operation.ts'
import { steerOperation } from '../operate/bulk.ts'
import type { SteerAction } from '../operate/operation-store.ts'
import { TO_OPERATE, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import { Id, idParameter, PageSchema, Paging, pageJson, TextOrNull, Time, TimeOrNull, withTimes } from './schemas.ts'

const OperationJson = Type.Object(
  {
    id: Id,
    tenantId: Type.String(),
    action: Type.Enum([...BULK_ACTIONS]),
    options: Type.Object({ rerender: Type.Optional(Type.Boolean()) }),
    status: Type.Enum([...OPERATION_STATUSES]),
    total: Type.Integer(),
    done: Type.Integer(),
    leftAlone: Type.Integer({ description: 'They had moved since they were chosen.' }),
    failed: Type.Integer({ description: 'They could not be moved; `/items?outcome=failed` says why.' }),
    startedAt: Time,
    by: Type.String({ description: 'Who started it.' }),
    note: TextOrNull,
    pace: Nullable(Type.Object({ perSecond: Type.Number() })),
    canary: Type.Integer(),
    graceUntil: TimeOrNull,
    endedAt: TimeOrNull,
    problem: Nullable(Type.String({ description: 'Why it failed, or was given up.' })),
  },
  { title: 'Operation' },
)

const ItemJson = Type.Object(
  {
    place: Type.Integer(),
    notificationId: Id,
    outcome: Nullable(Type.Enum([...ITEM_OUTCOMES])),
    why: TextOrNull,
    resultId: Nullable(Type.String({ description: 'Of a resend: the notification that was sent.' })),
  },
  { title: 'OperationItem' },
)

const STEERING: Record<SteerAction, string> = {
  pause: 'Stop an operation until it is resumed',
  resume: 'Go on with an operation that was paused',
  cancel: 'Stop an operation for good',
  undo: 'Take an operation back before it has begun',
}

const DESCRIPTIONS: Record<SteerAction, string> = {
  pause: 'Once it is answered nothing moves. 409 operation_over where it has ended.',
  resume: 'From paused, else 409 operation_over.',
  cancel: 'What is done stays done. 409 operation_over where it has ended.',
  undo: 'In its grace, as long as nothing was done; afterwards 409 operation_over: what was sent cannot be taken back.',
}

const operation = operationsOf('Bulk')

/** `/api/operations`: watching and steering what is done to very many notifications. */
export function operationRoutes(app: App, context: Context): void {
  const { operations } = context.store

  app.get(
    '/api/operations',
    operation(TO_READ, 'List operations, newest first', {
      operationId: 'listOperations',
      query: {
        status: Type.Optional(
          Type.Array(Type.Enum([...OPERATION_STATUSES]), {
            maxItems: OPERATION_STATUSES.length,
            description: 'Only those that stand there; may be repeated.',
          }),
        ),
        ...Paging,
      },
      response: { 200: PageSchema(OperationJson) },
    }),
    async (request) => {
      const { status } = request.query
      return pageJson(await operations.list(request.tenantId, status ? { status } : {}, request.query), operationJson)
    },
  )

  app.get(
    '/api/operations/:id',
    operation(TO_READ, 'One operation', { operationId: 'getOperation', response: { 200: OperationJson } }),
    async (request) => operationJson(await find(request)),
  )

  app.get(
    '/api/operations/:id/items',
    operation(TO_READ, 'What became of the notifications of an operation', {
      operationId: 'listOperationItems',
      query: {
        outcome: Type.Optional(Type.Enum([...ITEM_OUTCOMES], { description: 'Only those that came to this.' })),
        ...Paging,
      },
      response: { 200: PageSchema(ItemJson) },
    }),
    async (request) => {
      const { id } = await find(request)
      const { outcome } = request.query
      return pageJson(await operations.items(id, outcome ? { outcome } : {}, request.query), (item) => item)
    },
  )

  for (const action of Object.keys(STEERING) as SteerAction[])
    app.post(
      `/api/operations/:id/${action}`,
      operation(TO_OPERATE, STEERING[action], {
        operationId: `${action}Operation`,
        description: DESCRIPTIONS[action],
        problems: ['operation_over'],
        response: { 200: OperationJson },
      }),
      async (request) => {
        const { tenantId, actor } = request
        return operationJson(await steerOperation(context, { tenantId, id: idParameter(request), action, actor }))
      },
    )

  async function find(request: { tenantId: string; params: unknown }): Promise<Operation> {
    return found(await operations.find(request.tenantId, idParameter(request)))
  }
}

function operationJson({ startedBy: by, perSecond, ...operation }: Operation) {
  const times = withTimes(operation, 'startedAt', 'graceUntil', 'endedAt')
  return { ...times, by, pace: perSecond === null ? null : { perSecond } }
}
