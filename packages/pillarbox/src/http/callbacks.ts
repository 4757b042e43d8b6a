import { type Static, Type } from 'typebox'
import { Nullable } from '../intake/body-fields.ts'
import { CALLBACK_STATUSES, type ListedCallback } from '../model/callback.ts'
import { found } from '../model/errors.ts'
import { replayCallback } from '../operate/replay-callback.ts'
import { OPS_ONLY, scopeOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import { Exactly, PageSchema, Paging, pageJson, pageOf, TextOrNull, Time, withTimes } from './schemas.ts'

/** As much of a body as is shown. */
const SHOWN_BYTES = 65_536
/** As many are shown with their bodies at once. */
const MOST_WITH_BODY = 20

const Status = Type.Enum([...CALLBACK_STATUSES])

const CallbackJson = Type.Object(
  {
    id: Type.String(),
    source: Type.String({ description: 'The last part of the webhook’s path.' }),
    tenantId: Nullable(Type.String({ description: 'Of the path; null where one path is for all.' })),
    accountIds: Type.Array(Type.String(), { description: 'The accounts it may speak for.' }),
    status: Status,
    attemptCount: Type.Integer(),
    receivedAt: Time,
    result: Nullable(
      Type.Object(
        {
          reports: Type.Integer({ description: 'Reports in it,' }),
          matched: Type.Integer({ description: 'of those, about notifications of ours,' }),
          moved: Type.Integer({ description: 'and of those, that changed where one stands.' }),
          unreadable: Type.Integer({ description: 'Reports that could not be read.' }),
        },
        { description: 'Null until it was read for the first time.' },
      ),
    ),
    note: TextOrNull,
    size: Type.Integer({ description: 'Of the body, in bytes.' }),
    body: Type.Optional(Type.String({ description: 'With ?withBody=true: its first 64 KiB.' })),
  },
  { title: 'Callback' },
)

const RefusedJson = Type.Object(
  {
    source: Type.String(),
    tenantId: Nullable(Type.String({ description: 'Null where the path names none, or one that does not exist.' })),
    why: Type.String({ description: 'signature_wrong, token_wrong, replayed, no_account, …' }),
    count: Type.Integer(),
    lastAt: Time,
  },
  { title: 'RefusedCallbacks' },
)

const Source = Exactly(40, 'The last part of the webhook’s path.')

const operation = operationsOf('Operations', 'any')

/** `/ops/callbacks`: what vendors called back with, and what became of it. */
export function callbackRoutes(app: App, context: Context): void {
  const { store, refusals } = context

  app.get(
    '/ops/callbacks',
    operation(OPS_ONLY, 'List vendors’ callbacks, newest first', {
      operationId: 'listCallbacks',
      query: {
        source: Source,
        status: Type.Optional(Type.Enum([...CALLBACK_STATUSES], { description: 'Only those that stand there.' })),
        withBody: Type.Boolean({ default: false, description: 'With their bodies, at most 20 at a time.' }),
        ...Paging,
      },
      response: { 200: PageSchema(CallbackJson) },
    }),
    async ({ query }) => {
      const { withBody, limit } = query
      const page = { ...query, limit: withBody ? Math.min(limit, MOST_WITH_BODY) : limit }
      const callbacks = await store.receipts.callbacks(query, page, withBody ? SHOWN_BYTES : 0)
      return pageJson(callbacks, (callback) => callbackJson(callback, withBody))
    },
  )

  app.post(
    '/ops/callbacks/:id/replay',
    operationsOf('Operations', 'none')(OPS_ONLY, 'Read a callback again', {
      operationId: 'replayCallback',
      description: 'What it already did is not done twice.',
      response: { 202: Type.Object({ id: Type.String(), status: Status }) },
    }),
    async (request, reply) => {
      const { id: given } = request.params as { id: string }
      const id = Number(found(/^\d{1,15}$/.test(given) && given))
      await replayCallback(context, { id, actor: request.actor })
      return reply.status(202).send({ id: String(id), status: 'pending' as const })
    },
  )

  app.get(
    '/ops/callbacks/refused',
    operation(OPS_ONLY, 'Count the callbacks that were not believed', {
      operationId: 'listRefusedCallbacks',
      description: 'By source, tenant and cause, in this order.',
      query: { source: Source, ...Paging },
      response: { 200: PageSchema(RefusedJson) },
    }),
    async (request) => {
      const { source } = request.query
      const tenantId = scopeOf(request)
      await refusals.flush()
      const all = (await store.receipts.refused())
        .filter((refused) => source === undefined || refused.source === source)
        .filter((refused) => tenantId === null || refused.tenantId === tenantId)
        // Not by time: what is counted again between two pages would move to one that was read already.
        .map((refused) => ({ ...refused, id: `${refused.source} ${refused.tenantId ?? ''} ${refused.why}` }))
      const page = pageOf(all, request.query, (a, b) => a < b)
      return pageJson(page, (refused) => withTimes(refused, 'lastAt'))
    },
  )
}

function callbackJson(callback: ListedCallback, withBody: boolean): Static<typeof CallbackJson> {
  const { id, body, note = null, ...rest } = withTimes(callback, 'receivedAt')
  return {
    ...rest,
    note,
    id: String(id),
    accountIds: [...rest.accountIds],
    ...(withBody && { body: body.toString('utf8') }),
  }
}
