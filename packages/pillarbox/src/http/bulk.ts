import { type Static, Type } from 'typebox'
import { invalidBody } from '../model/errors.ts'
import { BULK_ACTIONS } from '../model/operation.ts'
import {
  DEFAULT_CANARY,
  MOST_CHOSEN,
  type PreviewRequest,
  previewBulk,
  type StartBulk,
  startBulk,
} from '../operate/bulk.ts'
import { TO_OPERATE } from './auth.ts'
import type { App, Context } from './context.ts'
import { MAX_ITEMS } from './json-body.ts'
import { filterBody, filterOf } from './notification-filter.ts'
import { operationsOf } from './operation.ts'
import { Closed, type DurationBounds, durationField, Id, iso, Note, Time } from './schemas.ts'
import { bodyCheck, withBodyCheck } from './validation.ts'

const PreviewBody = Closed({
  action: Type.Enum([...BULK_ACTIONS]),
  filter: Type.Optional({ ...filterBody.schema, description: 'The filters of the list of notifications. Or `ids`.' }),
  ids: Type.Optional(Type.Array(Type.String({ maxLength: 36 }), { minItems: 1, maxItems: MAX_ITEMS })),
  options: Type.Optional(
    Closed({
      rerender: Type.Optional(
        Type.Boolean({ description: 'For retry: in the words their events would be told in now.' }),
      ),
    }),
  ),
})

const Counts = Type.Record(Type.String(), Type.Integer())

const PreviewJson = Type.Object({
  token: Type.String({ description: 'Starts it: POST /api/notifications/bulk. The id of the operation, then.' }),
  expiresAt: Time,
  count: Type.Integer({ description: 'How many would be moved.' }),
  possibleDuplicates: Type.Integer({ description: 'Of those, how many may have arrived before.' }),
  skipped: Type.Array(Type.Object({ why: Type.String(), count: Type.Integer() }), {
    description: 'Those that were selected and cannot be moved.',
  }),
  by: Type.Object(
    { channel: Counts, accountId: Counts, fingerprint: Counts },
    { description: 'The same by channel, account and cause; `others` are all beyond the commonest 200.' },
  ),
  estimatedSeconds: Type.Integer({ description: 'How long sending them takes at the pace of their accounts.' }),
})

const GRACE: DurationBounds = { least: 'PT0S', most: 'PT1H' }
const DEFAULT_GRACE = 'PT10S'

const StartBody = Closed({
  token: Type.String({ minLength: 1, maxLength: 36 }),
  note: Note,
  pace: Type.Optional(
    Closed(
      { perSecond: Type.Number({ minimum: 0.01, maximum: 100_000 }) },
      { description: 'At most so many are moved in a second. Sending keeps to the pace of the accounts anyway.' },
    ),
  ),
  canary: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000,
      description: `So many go first, and the rest only once all of them were sent. Default: ${DEFAULT_CANARY} for retry and resend, none for others.`,
    }),
  ),
  grace: Type.Optional(
    Type.String({ maxLength: 40, description: `Nothing is done before. PT0S to PT1H, default ${DEFAULT_GRACE}.` }),
  ),
})

const operation = operationsOf('Bulk')

/** `/api/notifications/bulk`: choosing very many notifications, and starting what is done to them. */
export function bulkRoutes(app: App, context: Context): void {
  const checkPreview = bodyCheck(PreviewBody)

  app.post(
    '/api/notifications/bulk/preview',
    operation(
      TO_OPERATE,
      'Choose notifications for a bulk action, and see what it would do',
      {
        operationId: 'previewBulk',
        description: `What the filter finds is written down, at most ${MOST_CHOSEN.toLocaleString('en')} of them; nothing is moved. One that moves afterwards is left alone.`,
        body: PreviewBody,
        response: { 200: PreviewJson },
      },
      { validatorCompiler: withBodyCheck((body) => checkPreview(withStatusList(body))) },
    ),
    async (request) => {
      const { tenantId, actor } = request
      const { action, filter, ids, options = {} } = request.body
      if ((filter === undefined) === (ids === undefined))
        throw invalidBody([{ path: '', message: 'must have either a filter or ids' }])
      if (options.rerender && action !== 'retry')
        throw invalidBody([{ path: '/options/rerender', message: 'is for retry; a resend has today’s words anyway' }])
      const preview: PreviewRequest = { tenantId, actor, action, options }
      if (ids) preview.ids = ids.map((id) => id.toLowerCase())
      else preview.filter = await filterOf(filter as Static<typeof filterBody.schema>, tenantId, context)
      const { expiresAt, ...answer } = await previewBulk(context, preview)
      return { ...answer, expiresAt: iso(expiresAt) }
    },
  )

  app.post(
    '/api/notifications/bulk',
    operation(TO_OPERATE, 'Start what was previewed', {
      operationId: 'startBulk',
      description: 'The same token again answers the same operation. A preview can be started for 15 minutes.',
      body: StartBody,
      problems: ['not_found', 'preview_expired'],
      response: { 202: Type.Object({ operationId: Id }) },
    }),
    async (request, reply) => {
      const { tenantId, actor } = request
      const { pace, grace = DEFAULT_GRACE, ...given } = request.body
      const graceMs = durationField('/grace', grace, GRACE)
      const start: StartBulk = { ...given, tenantId, actor, graceMs, ...(pace && { perSecond: pace.perSecond }) }
      const { id } = await startBulk(context, start)
      return reply.status(202).send({ operationId: id })
    },
  )
}

/** One status may stand without the list around it, as in a query. */
function withStatusList(body: unknown): unknown {
  const filter = (body as { filter?: { status?: unknown } } | null)?.filter
  if (typeof filter === 'object' && typeof filter?.status === 'string') filter.status = [filter.status]
  return body
}
