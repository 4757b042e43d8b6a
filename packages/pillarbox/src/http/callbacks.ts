import { type Static, Type } from 'typebox'
import { Nullable } from '../intake/body-fields.ts'
import { CALLBACK_STATUSES, type ListedCallback } from '../model/callback.ts'
import type { CallbackFilter } from '../receipts/receipt-store.ts'
import { callerOf, OPS_ONLY, scopeOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { ForOps, notFound, PageSchema, Paging, pageOf, Query } from './schemas.ts'

/** As much of a body as is shown. */
const SHOWN_BYTES = 65_536
/** As many are shown with their bodies at once. */
const MOST_WITH_BODY = 20

const CallbackJson = Type.Object({
  id: Type.String(),
  source: Type.String({ description: 'The last part of the webhook’s path.' }),
  tenantId: Nullable(Type.String({ description: 'Of the path; null where one path is for all.' })),
  accountIds: Type.Array(Type.String(), { description: 'The accounts it may speak for.' }),
  status: Type.Enum([...CALLBACK_STATUSES]),
  attemptCount: Type.Integer(),
  receivedAt: Type.String({ format: 'date-time' }),
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
  size: Type.Integer({ description: 'Of the body, in bytes.' }),
  body: Type.Optional(Type.String({ description: 'With ?withBody=true: its first 64 KiB.' })),
})

const RefusedJson = Type.Object({
  source: Type.String(),
  tenantId: Nullable(Type.String({ description: 'Null where the path names none, or one that does not exist.' })),
  why: Type.String({ description: 'signature_wrong, token_wrong, replayed, no_account, …' }),
  count: Type.Integer(),
  lastAt: Type.String({ format: 'date-time' }),
})

const Source = Type.Optional(Type.String({ maxLength: 40 }))

/** `/ops/callbacks`: what vendors called back with, and what became of it. */
export function callbackRoutes(app: App, { store, refusals, nudge }: Context): void {
  app.route({
    method: 'GET',
    url: '/ops/callbacks',
    config: { access: OPS_ONLY },
    schema: {
      tags: ['Operations'],
      summary: 'List vendors’ callbacks, newest first',
      querystring: Query({
        source: Source,
        status: Type.Optional(Type.Enum([...CALLBACK_STATUSES])),
        withBody: Type.Boolean({ default: false, description: 'With their bodies, at most 20 at a time.' }),
        ...ForOps,
        ...Paging,
      }),
      response: { 200: PageSchema(CallbackJson) },
    },
    async handler(request) {
      const { source, status, withBody, limit, cursor } = request.query
      const tenantId = scopeOf(request)
      const filter: CallbackFilter = {
        ...(source !== undefined && { source }),
        ...(status !== undefined && { status }),
        ...(tenantId !== null && { tenantId }),
      }
      const page = await store.receipts.callbacks(
        filter,
        { limit: withBody ? Math.min(limit, MOST_WITH_BODY) : limit, ...(cursor !== undefined && { cursor }) },
        withBody ? SHOWN_BYTES : 0,
      )
      return { items: page.items.map((callback) => callbackJson(callback, withBody)), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'POST',
    url: '/ops/callbacks/:id/replay',
    config: { access: OPS_ONLY },
    schema: {
      tags: ['Operations'],
      summary: 'Read a callback again',
      description: 'What it already did is not done twice.',
      response: { 202: Type.Object({ id: Type.String(), status: Type.Enum([...CALLBACK_STATUSES]) }) },
    },
    async handler(request, reply) {
      const { id } = request.params as { id: string }
      if (!/^\d{1,15}$/.test(id)) throw notFound()
      if (!(await store.receipts.replay(Number(id), callerOf(request).actor))) throw notFound()
      nudge('receipts')
      return reply.status(202).send({ id: String(Number(id)), status: 'pending' as const })
    },
  })

  app.route({
    method: 'GET',
    url: '/ops/callbacks/refused',
    config: { access: OPS_ONLY },
    schema: {
      tags: ['Operations'],
      summary: 'Count the callbacks that were not believed',
      description: 'By source, tenant and cause, the latest first.',
      querystring: Query({ source: Source, ...ForOps, ...Paging }),
      response: { 200: PageSchema(RefusedJson) },
    },
    async handler(request) {
      const { source, limit, cursor } = request.query
      const tenantId = scopeOf(request)
      await refusals.flush()
      const all = (await store.receipts.refused())
        .filter((refused) => source === undefined || refused.source === source)
        .filter((refused) => tenantId === null || refused.tenantId === tenantId)
        .map((refused) => {
          const lastAt = new Date(refused.lastAt).toISOString()
          // Sorts by time, and tells apart what was last seen at the same one.
          const id = `${lastAt} ${refused.source} ${refused.tenantId ?? ''} ${refused.why}`
          return { id, json: { ...refused, lastAt } }
        })
      const page = pageOf(all, { limit, ...(cursor !== undefined && { cursor }) })
      return { items: page.items.map(({ json }) => json), nextCursor: page.nextCursor }
    },
  })
}

function callbackJson(callback: ListedCallback, withBody: boolean): Static<typeof CallbackJson> {
  const { id, source, tenantId, accountIds, status, attemptCount, receivedAt, result, size, body } = callback
  return {
    id: String(id),
    source,
    tenantId,
    accountIds: [...accountIds],
    status,
    attemptCount,
    receivedAt: new Date(receivedAt).toISOString(),
    result,
    size,
    ...(withBody && { body: body.toString('utf8') }),
  }
}
