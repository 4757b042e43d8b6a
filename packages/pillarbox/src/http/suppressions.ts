import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { ChannelName, Line, Nullable } from '../intake/body-fields.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import type { PageOf } from '../model/page.ts'
import { SUPPRESSION_CAUSES, type Suppression } from '../model/suppression.ts'
import { regionOf } from '../operate/people.ts'
import { addressesToLookFor, addressToSuppress } from '../operate/suppressions.ts'
import { callerOf, TO_ADMINISTER, TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { addressSeenBy } from './masking.ts'
import { ForOps, Id, idParameter, invalidBody, notFound, PageSchema, Paging, Query } from './schemas.ts'

const address = Line(
  1,
  4_096,
  'What the channel sends to: a telephone number, an email, a device token, a user id or a URL.',
)

const SuppressionBody = Type.Object({ channel: ChannelName, address }, { additionalProperties: false })

const SuppressionJson = Type.Object({
  id: Id,
  tenantId: Type.String(),
  channel: ChannelName,
  address: Type.String(),
  cause: Type.Enum([...SUPPRESSION_CAUSES], {
    description:
      'dead_address: a provider said that the address is no good; bounced, complained: a receipt did; operator: by hand.',
  }),
  error: Nullable(Type.String({ description: 'The provider’s words.' })),
  notificationId: Nullable(Type.String({ description: 'The notification that taught us.' })),
  createdBy: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
})

/** `/api/suppressions`: addresses that are not used any more, learnt from providers or named by hand. */
export function suppressionRoutes(app: App, { store, ids }: Context): void {
  const { suppressions } = store

  app.route({
    method: 'GET',
    url: '/api/suppressions',
    config: { access: TO_READ },
    schema: {
      tags: ['People'],
      summary: 'List suppressed addresses, newest first',
      description: 'A viewer sees them masked.',
      querystring: Query({
        channel: Type.Optional(ChannelName),
        address: Type.Optional(Line(1, 4_096, 'Exactly; telephone numbers and emails however they are written.')),
        ...ForOps,
        ...Paging,
      }),
      response: { 200: PageSchema(SuppressionJson) },
    },
    async handler(request) {
      const { channel, address: wanted, limit, cursor } = request.query
      const tenantId = await tenantOf(request, store)
      const asked = { limit, ...(cursor !== undefined && { cursor }) }
      const filter = channel === undefined ? {} : { channel }
      const filters =
        wanted === undefined
          ? [filter]
          : // A plus sign that was not escaped arrives as a space, and no address begins with one.
            addressesToLookFor(wanted.replace(/^ (?=\d)/, '+'), await region(tenantId)).map((each) => ({
              ...filter,
              address: each,
            }))
      let page: PageOf<Suppression> = { items: [], nextCursor: null }
      for (const each of filters) {
        page = await suppressions.list(tenantId, each, asked)
        if (page.items.length > 0) break
      }
      return { items: page.items.map((each) => suppressionJson(each, request)), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/suppressions/:id',
    config: { access: TO_READ },
    schema: {
      tags: ['People'],
      summary: 'One suppressed address',
      description: 'A viewer sees it masked.',
      querystring: Query(ForOps),
      response: { 200: SuppressionJson },
    },
    async handler(request) {
      const id = idParameter(request)
      return suppressionJson(await found(await tenantOf(request, store), id), request)
    },
  })

  app.route({
    method: 'POST',
    url: '/api/suppressions',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['People'],
      summary: 'Suppress an address by hand',
      description:
        'Nothing is sent to it on this channel until it is lifted. One that is suppressed on the channel already is 409.',
      querystring: Query(ForOps),
      body: SuppressionBody,
      response: { 201: SuppressionJson },
    },
    async handler(request, reply) {
      const tenantId = await tenantOf(request, store)
      const { channel } = request.body
      const problems: FieldError[] = []
      const read = addressToSuppress(channel, request.body.address, { region: await region(tenantId), problems })
      if (read === null) throw invalidBody(problems)
      const id = ids()
      const by = { cause: 'operator', error: null, notificationId: null, createdBy: callerOf(request).actor } as const
      if (!(await suppressions.insert({ id, tenantId, channel, address: read, ...by })))
        throw new PillarboxError('already_exists', `The address is suppressed on ${channel} already.`)
      return reply.status(201).send(suppressionJson(await found(tenantId, id), request))
    },
  })

  app.route({
    method: 'DELETE',
    url: '/api/suppressions/:id',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['People'],
      summary: 'Lift a suppression',
      description: 'The address is used again. What was stopped because of it stays parked: retry it.',
      querystring: Query(ForOps),
      response: { 204: Type.Null() },
    },
    async handler(request, reply) {
      const id = idParameter(request)
      const tenantId = await tenantOf(request, store)
      if (!(await suppressions.remove(tenantId, id, callerOf(request).actor))) throw notFound()
      return reply.status(204).send(null)
    },
  })

  async function found(tenantId: string, id: string): Promise<Suppression> {
    const suppression = await suppressions.find(tenantId, id)
    if (!suppression) throw notFound()
    return suppression
  }

  async function region(tenantId: string): Promise<string | null> {
    return regionOf(await store.tenants.find(tenantId))
  }
}

function suppressionJson(suppression: Suppression, request: FastifyRequest): Static<typeof SuppressionJson> {
  return {
    ...addressSeenBy(request, suppression),
    createdAt: new Date(suppression.createdAt).toISOString(),
  }
}
