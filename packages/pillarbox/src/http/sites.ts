import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { Instant, instantMs, Nullable } from '../intake/body-fields.ts'
import type { NotificationAnswer } from '../intake/notifications.ts'
import { bodyOfItem, SiteItem, siteItemProblems } from '../intake/site-items.ts'
import { found, isPassing, notFound, PillarboxError } from '../model/errors.ts'
import type { Site } from '../model/site.ts'
import { callerOf, scopeOf, TO_ADMINISTER, TO_PUBLISH, TO_READ, TO_READ_STATUS, traceOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { itemProblem } from './items.ts'
import { MAX_ITEMS, unfitJson } from './json-body.ts'
import { NotificationStatusJson, statusJson } from './notification-json.ts'
import { operationsOf } from './operation.ts'
import { idParameter, PATTERN_WORDS, PATTERNS, TextOrNull, Time, withTimes } from './schemas.ts'
import { bodyCheck, fieldErrors, withBodyCheck } from './validation.ts'

/** What stands around the items: what the site says of itself. */
const about = {
  incarnation: Type.Optional(
    Nullable(
      Type.String({
        pattern: PATTERNS.incarnation,
        description: 'The id of the site’s buffer, made with it.',
      }),
    ),
  ),
  backlog: Type.Optional(
    Nullable(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'What waits at the site beside these items.',
      }),
    ),
  ),
  at: Type.Optional(Nullable(Instant('What time it is by the clock of the site.'))),
}

const HandOff = Type.Object(
  { items: Type.Array(SiteItem, { maxItems: MAX_ITEMS }), ...about },
  { additionalProperties: false, title: 'SiteHandOff' },
)
/** The items are looked at one by one later: one bad item spoils no other. */
const checkHandOff = bodyCheck(
  Type.Object(
    { items: Type.Array(Type.Unknown(), { maxItems: MAX_ITEMS }), ...about },
    { additionalProperties: false },
  ),
)
const checkItem = bodyCheck(SiteItem)

const Ack = Type.Object(
  {
    notificationId: TextOrNull,
    accepted: Type.Boolean({ description: 'It is on record, now or from before: the site may forget it.' }),
    id: Type.Optional(Type.String({ description: 'The id under which it is on record.' })),
    error: Type.Optional(Type.String()),
    permanent: Type.Optional(
      Type.Boolean({
        description: 'With accepted: false. True: it is refused for good; false: keep it and try again.',
      }),
    ),
  },
  { title: 'SiteAck' },
)

const SiteJson = Type.Object(
  {
    tenantId: Type.String(),
    site: Type.String(),
    backlog: Type.Integer({ description: 'What waits there, as it said last.' }),
    firstContactAt: Time,
    lastContactAt: Time,
    incarnation: Nullable(Type.String({ description: 'Of its buffer; null: it has none.' })),
    sequence: Type.Integer({ description: 'Everything up to this number of its buffer has come.' }),
    missing: Type.Integer({ description: 'Lower numbers than the highest that have not come.' }),
    rewoundAt: Nullable(
      Type.String({ format: 'date-time', description: 'When its buffer was seen to have been restored or cloned.' }),
    ),
    clockAheadMs: Nullable(Type.Integer({ description: 'How far its clock is ahead of ours.' })),
  },
  { title: 'Site' },
)

const operation = operationsOf('Sites')
const listing = operationsOf('Sites', 'any')

/** `/api/sites`: what sites hand off, and when each was heard of. */
export function siteRoutes(app: App, { store, notifications, clock, logger, config }: Context): void {
  app.post(
    '/api/sites/:site/notifications',
    operation(
      TO_PUBLISH,
      'Hand off notifications that were sent at a site',
      {
        operationId: 'handOffNotifications',
        description:
          'Each item is acknowledged once it is on record, a repeat too. What is not accepted and not permanent is kept and handed off again. Without items it says that the site is there.',
        body: HandOff,
        response: {
          200: Type.Object({
            acks: Type.Array(Ack),
            rewound: Type.Boolean({
              description:
                'A number of the buffer came twice: it was restored or cloned, and should begin a new incarnation.',
            }),
          }),
        },
      },
      {
        bodyLimit: config.batchBodyLimitBytes,
        validatorCompiler: withBodyCheck(checkHandOff),
        config: { judgesJson: true, forSites: true },
      },
    ),
    async (request) => {
      const site = ownSite(request)
      const { items, incarnation = null, backlog, at } = request.body
      const { tenantId, actor } = request
      const siteNow = instantMs(at)
      const clockAheadMs = siteNow === null ? null : siteNow - clock.now()
      const acks: Static<typeof Ack>[] = []
      const good: { index: number; item: SiteItem }[] = []
      const refused: number[] = []
      for (const [index, item] of (items as unknown[]).entries()) {
        const wrong = problemsOf(item)
        if (wrong.length === 0) good.push({ index, item: item as SiteItem })
        else {
          acks[index] = refusal(namedId(item), itemProblem(index, wrong).detail ?? 'The item is wrong.', true)
          refused.push(...sequenceOf(item))
        }
      }
      const bodies = good.map(({ item }) => bodyOfItem(item, clockAheadMs))
      const contact = { incarnation, backlog: backlog ?? 0, clockAheadMs, refused }
      const caller = { tenantId, actor, site, traceparent: traceOf(request) }
      try {
        const { answers, isRewound } = await notifications.handOff(caller, bodies, contact)
        for (const [i, { index, item }] of good.entries()) acks[index] = ackOf(item.notificationId, answers[i])
        if (isRewound)
          logger.warn(
            { tenantId, site, incarnation },
            'the buffer of a site was restored or cloned: a number came twice',
          )
        return { acks, rewound: isRewound }
      } catch (error) {
        if (!isPassing(error)) throw error
        for (const { index, item } of good)
          acks[index] = ackOf(item.notificationId, { problem: error as PillarboxError })
        return { acks, rewound: false }
      }
    },
  )

  app.get(
    '/api/sites/:site/notifications/:id/status',
    operation(
      TO_READ_STATUS,
      'Where a notification stands that a site handed off',
      {
        operationId: 'getSiteNotificationStatus',
        description:
          'By the id it was given at the site. What is not known here may still be on its way. A publisher that is bound to no site finds what its own key handed off.',
        problems: ['forbidden'],
        response: { 200: NotificationStatusJson },
      },
      { config: { forSites: true } },
    ),
    async (request) => {
      const site = ownSite(request)
      const { key, actor } = callerOf(request)
      const notificationId = idParameter(request)
      const id = found(await store.sites.find(request.tenantId, site, notificationId))
      const view = found(await store.notifications.find(request.tenantId, id))
      if (key.role === 'publisher' && key.site === null && view.triggeredBy !== actor) throw notFound()
      return { ...statusJson(view), notificationId }
    },
  )

  app.get(
    '/api/sites',
    listing(
      TO_READ,
      'List sites by name',
      { operationId: 'listSites', response: { 200: Type.Object({ items: Type.Array(SiteJson) }) } },
      { config: { readsMuch: true } },
    ),
    async (request) => ({ items: (await store.sites.list(scopeOf(request))).map(siteJson) }),
  )

  app.delete(
    '/api/sites/:site',
    operation(TO_ADMINISTER, 'Forget a site that is gone', {
      operationId: 'forgetSite',
      description: 'What it handed off stays. A site that is heard of again is there again.',
      response: { 204: Type.Null() },
    }),
    async (request, reply) => {
      const { tenantId, actor } = request
      found(await store.sites.forget(tenantId, siteParameter(request), actor))
      return reply.status(204).send(null)
    },
  )
}

const SITE = new RegExp(PATTERNS.site)

/** A site that cannot be is simply not found, unless somebody wants to be one. */
function siteParameter({ params, method }: FastifyRequest): string {
  const { site } = params as { site: string }
  if (SITE.test(site)) return site
  if (method !== 'POST') throw notFound()
  throw new PillarboxError('bad_request', `A site’s name ${PATTERN_WORDS[PATTERNS.site]}.`)
}

/** The site that the path names. A key that is bound to a site is bound to that one, whatever the path says. */
function ownSite(request: FastifyRequest): string {
  const { key } = callerOf(request)
  const site = siteParameter(request)
  if (key.site !== null && key.site !== site)
    throw new PillarboxError('forbidden', 'The key is bound to another site, and may only hand off for that one.')
  return site
}

function problemsOf(item: unknown) {
  const unfit = unfitJson(item)
  if (unfit.length > 0) return unfit
  const wrong = fieldErrors(checkItem(item) ?? [], 'body')
  return wrong.length > 0 ? wrong : siteItemProblems(item as SiteItem)
}

const MOST_ID_CHARACTERS = 100

/** As far as an item that is wrong says it. */
function namedId(item: unknown): string | null {
  const { notificationId } = (item ?? {}) as { notificationId?: unknown }
  return typeof notificationId === 'string' ? notificationId.slice(0, MOST_ID_CHARACTERS) : null
}

function sequenceOf(item: unknown): number[] {
  const { sequence } = (item ?? {}) as { sequence?: unknown }
  return typeof sequence === 'number' && Number.isSafeInteger(sequence) && sequence >= 1 ? [sequence] : []
}

function ackOf(notificationId: string, answer: NotificationAnswer | undefined): Static<typeof Ack> {
  if (!answer) return refusal(notificationId, 'It was not looked at. Hand it off again.', false)
  if ('problem' in answer) return refusal(notificationId, answer.problem.message, !isPassing(answer.problem))
  return { notificationId, accepted: true, id: answer.id }
}

function refusal(notificationId: string | null, error: string, permanent: boolean): Static<typeof Ack> {
  return { notificationId, accepted: false, error, permanent }
}

function siteJson(site: Site): Static<typeof SiteJson> {
  return withTimes(site, 'firstContactAt', 'lastContactAt', 'rewoundAt')
}
