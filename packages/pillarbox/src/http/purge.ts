import { type Static, Type } from 'typebox'
import { Nullable } from '../intake/body-fields.ts'
import { invalidBody } from '../model/errors.ts'
import { parseRetention, RETENTION_RULE } from '../model/retention.ts'
import { PURGE_STEPS, type PurgePlace, purgeByHand } from '../operate/purge.ts'
import { PURGED_NOUNS } from '../operate/retention-store.ts'
import { OPS_ONLY } from './auth.ts'
import type { App, Context } from './context.ts'
import { BodyCursor, bodyCursors, foreignBodyCursor } from './cursors.ts'
import { operationsOf } from './operation.ts'
import { Closed, PATTERNS } from './schemas.ts'

const Counts = Type.Object(
  Object.fromEntries(
    [...PURGED_NOUNS, 'sandboxMessages' as const].map((noun) => [noun, Type.Integer({ minimum: 0 })]),
  ) as Record<(typeof PURGED_NOUNS)[number] | 'sandboxMessages', ReturnType<typeof Type.Integer>>,
)

const Report = Type.Object({
  deleted: Type.Object({ ...Counts.properties }, { description: 'With dryRun: what would be.' }),
  more: Type.Boolean({ description: 'The time of one answer was over before everything was looked at.' }),
  nextCursor: Nullable(
    Type.String({ description: 'Ask the same again with it, until it is null. Each answer counts its own part.' }),
  ),
  dryRun: Type.Boolean(),
})

const operation = operationsOf('Operations', 'none')

/** Of the time that an answer may take, this much is worked. */
const WORKED = 2 / 3
/** Whoever asks for it waits: half of the time is theirs. */
const SHARE = 0.5

/** `/ops/purge`: removes what is over and older than the retention, or than the caller says. */
export function purgeRoutes(app: App, context: Context): void {
  const { store, clock, ids, config } = context
  const cursors = bodyCursors(context.seal)

  app.post(
    '/ops/purge',
    operation(OPS_ONLY, 'Remove what is over and old', {
      operationId: 'purgeHistory',
      problems: ['purge_running', 'not_found'],
      description:
        'Final notifications with all that belongs to them, events and schedules without any left, callbacks, audit. What waits, is being sent, is parked or uncertain is never removed. The same is done by itself once a day, by each tenant’s retention.',
      body: Closed({
        olderThan: Type.Optional(
          Type.String({
            maxLength: 40,
            description:
              'An ISO 8601 duration of an hour or more, such as P365D. Without it, each tenant’s own retention.',
          }),
        ),
        tenantId: Type.Optional(Type.String({ pattern: PATTERNS.tenantSlug, description: 'Only this tenant’s.' })),
        dryRun: Type.Optional(Type.Boolean({ description: 'Count, and remove nothing.' })),
        cursor: BodyCursor,
      }),
      response: { 200: Report },
    }),
    async (request): Promise<Static<typeof Report>> => {
      const { body, actor } = request
      const from = readPlace(cursors.open(request, body.cursor))
      const { olderThan, tenantId = null, dryRun = false } = body
      const olderThanMs = olderThan === undefined ? null : parseRetention(olderThan)
      if (olderThan !== undefined && olderThanMs === null)
        throw invalidBody([{ path: '/olderThan', message: RETENTION_RULE }])
      const timeIsOver = new AbortController()
      const answered = new AbortController()
      void clock.sleep(config.handlerTimeoutMs * WORKED, answered.signal).then(() => timeIsOver.abort())
      try {
        const { counts, next } = await purgeByHand(
          {
            store,
            clock,
            ids,
            retentionMs: config.retentionMs,
            ...(context.sandboxRows && { sandbox: context.sandboxRows }),
          },
          { olderThanMs, tenantId, isDryRun: dryRun, actor, share: SHARE, from, stop: timeIsOver.signal },
        )
        const nextCursor = cursors.seal(request, next && JSON.stringify(next))
        return { deleted: counts, more: next !== null, nextCursor, dryRun }
      } finally {
        answered.abort()
      }
    },
  )
}

/** A cursor that was opened is one that was sealed here, maybe by another version with other steps. */
function readPlace(cursor: string | undefined): PurgePlace | null {
  if (cursor === undefined) return null
  const place = JSON.parse(cursor) as PurgePlace
  if (!PURGE_STEPS.includes(place.step)) throw foreignBodyCursor()
  return place
}
