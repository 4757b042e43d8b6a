import { textProblem } from '@pillarbox/client/contract'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { Line, Nullable } from '../intake/body-fields.ts'
import { PillarboxError } from '../model/errors.ts'
import type { ListMember, RecipientList } from '../model/recipient-list.ts'
import { readMembers, regionOf } from '../operate/people.ts'
import { callerOf, TO_ADMINISTER, TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { asSeenBy } from './masking.ts'
import { ForOps, Id, invalidBody, isId, notFound, PageSchema, Paging, Query } from './schemas.ts'

/** In one call; the body may have 4 MiB. */
const MAX_MEMBERS_PER_CALL = 10_000
/** A list that has more takes no more. Whether members are new is known only afterwards, so one call may go beyond. */
const FULL_AT = 100_000
/** A list of no more members is answered whole. */
const SHOWN_WHOLE = 200

const Name = Line(1, 200, 'Unique in the tenant; `to.list` and the catalogue name a list by it.')

const Member = Type.Object(
  {
    name: Type.Optional(Nullable(Line(0, 200))),
    email: Type.Optional(Nullable(Line(1, 320))),
    phone: Type.Optional(Nullable(Line(1, 60, 'Without a country code it is one of the tenant’s region.'))),
  },
  { additionalProperties: false, description: 'With an email, a phone, or both.' },
)

const Members = Type.Array(Member, { maxItems: MAX_MEMBERS_PER_CALL })

const ListBody = Type.Object({ name: Name, members: Members }, { additionalProperties: false })

const MemberJson = Type.Object({
  name: Nullable(Type.String()),
  email: Nullable(Type.String()),
  phone: Nullable(Type.String()),
})

const fields = {
  id: Id,
  tenantId: Type.String(),
  name: Type.String(),
  memberCount: Type.Integer(),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  links: Type.Object({ self: Type.String(), members: Type.String() }),
}

const ListJson = Type.Object(fields)
const duplicates = Type.Integer({ description: 'Members that were given twice, and are on the list once.' })
const WrittenListJson = Type.Object({ ...fields, duplicates })
const ListDetailJson = Type.Object({
  ...fields,
  members: Nullable(
    Type.Array(MemberJson, { description: `Null where there are more than ${SHOWN_WHOLE}: page through /members.` }),
  ),
})

/** `/api/recipient-lists`: named lists, resolved when they are sent to. A path names one by its id or its name. */
export function recipientListRoutes(app: App, { store, ids, config }: Context): void {
  const { lists } = store

  app.route({
    method: 'GET',
    url: '/api/recipient-lists',
    config: { access: TO_READ },
    schema: {
      tags: ['People'],
      summary: 'List recipient lists, newest first',
      querystring: Query({ ...ForOps, ...Paging }),
      response: { 200: PageSchema(ListJson) },
    },
    async handler(request) {
      const { limit, cursor } = request.query
      const page = await lists.list(await tenantOf(request, store), {
        limit,
        ...(cursor !== undefined && { cursor }),
      })
      return { items: page.items.map(listJson), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/recipient-lists',
    config: { access: TO_ADMINISTER },
    bodyLimit: config.batchBodyLimitBytes,
    schema: {
      tags: ['People'],
      summary: 'Make a recipient list',
      description: 'With up to 10,000 members; more are added afterwards.',
      querystring: Query(ForOps),
      body: ListBody,
      response: { 201: WrittenListJson },
    },
    async handler(request, reply) {
      const tenantId = await tenantOf(request, store)
      const { members } = await read(tenantId, request.body.members)
      const id = ids()
      const { name } = request.body
      if (!(await lists.insert({ id, tenantId, name, members }, callerOf(request).actor))) throw nameTaken()
      return reply.status(201).send(written(await found(tenantId, id), request.body.members.length))
    },
  })

  app.route({
    method: 'GET',
    url: '/api/recipient-lists/:id',
    config: { access: TO_READ },
    schema: {
      tags: ['People'],
      summary: 'One recipient list, by id or by name',
      description: 'A viewer sees its members masked.',
      querystring: Query(ForOps),
      response: { 200: ListDetailJson },
    },
    async handler(request) {
      const tenantId = await tenantOf(request, store)
      const list = await listOf(request, tenantId)
      const { members, next } = await lists.members(tenantId, list.id, null, SHOWN_WHOLE)
      return { ...listJson(list), members: next === null ? members.map((member) => memberJson(member, request)) : null }
    },
  })

  app.route({
    method: 'PUT',
    url: '/api/recipient-lists/:id',
    config: { access: TO_ADMINISTER },
    bodyLimit: config.batchBodyLimitBytes,
    schema: {
      tags: ['People'],
      summary: 'Replace a recipient list',
      querystring: Query(ForOps),
      body: ListBody,
      response: { 200: WrittenListJson },
    },
    async handler(request) {
      const tenantId = await tenantOf(request, store)
      const { id } = await listOf(request, tenantId)
      const { members } = await read(tenantId, request.body.members)
      const list = await update(request, tenantId, id, { name: request.body.name, members })
      return written(list, request.body.members.length)
    },
  })

  app.route({
    method: 'PATCH',
    url: '/api/recipient-lists/:id',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['People'],
      summary: 'Rename a recipient list',
      querystring: Query(ForOps),
      body: Type.Object({ name: Name }, { additionalProperties: false }),
      response: { 200: ListJson },
    },
    async handler(request) {
      const tenantId = await tenantOf(request, store)
      const { id } = await listOf(request, tenantId)
      return listJson(await update(request, tenantId, id, { name: request.body.name }))
    },
  })

  app.route({
    method: 'DELETE',
    url: '/api/recipient-lists/:id',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['People'],
      summary: 'Remove a recipient list',
      description: 'A notification that still waits to be sent to it will be parked with list_not_found.',
      querystring: Query(ForOps),
      response: { 204: Type.Null() },
    },
    async handler(request, reply) {
      const tenantId = await tenantOf(request, store)
      const { id } = await listOf(request, tenantId)
      if (!(await lists.remove(tenantId, id, callerOf(request).actor))) throw notFound()
      return reply.status(204).send(null)
    },
  })

  app.route({
    method: 'GET',
    url: '/api/recipient-lists/:id/members',
    config: { access: TO_READ },
    schema: {
      tags: ['People'],
      summary: 'A list’s members, in the order they were added',
      description: 'A viewer sees them masked.',
      querystring: Query({ ...ForOps, ...Paging }),
      response: { 200: PageSchema(MemberJson) },
    },
    async handler(request) {
      const { limit, cursor } = request.query
      const tenantId = await tenantOf(request, store)
      const { id } = await listOf(request, tenantId)
      const { members, next } = await lists.members(tenantId, id, cursor ?? null, limit)
      return { items: members.map((member) => memberJson(member, request)), nextCursor: next }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/recipient-lists/:id/members',
    config: { access: TO_ADMINISTER },
    bodyLimit: config.batchBodyLimitBytes,
    schema: {
      tags: ['People'],
      summary: 'Add up to 10,000 members to a list',
      description:
        'Those that are on it already are counted and change nothing, so the call can be repeated. A list takes 100,000.',
      querystring: Query(ForOps),
      body: Type.Object({ members: Members }, { additionalProperties: false }),
      response: {
        200: Type.Object({
          added: Type.Integer(),
          duplicates: Type.Integer({ description: 'Given twice, or on the list already.' }),
          memberCount: Type.Integer(),
        }),
      },
    },
    async handler(request) {
      const tenantId = await tenantOf(request, store)
      const { id, memberCount } = await listOf(request, tenantId)
      const { members } = await read(tenantId, request.body.members)
      if (memberCount > FULL_AT)
        throw invalidBody([{ path: '/members', message: `is too much: the list has ${memberCount} members already` }])
      const added = await lists.addMembers(tenantId, id, members, callerOf(request).actor)
      if (added === null) throw notFound()
      const list = await found(tenantId, id)
      return { added, duplicates: request.body.members.length - added, memberCount: list.memberCount }
    },
  })

  async function update(
    request: FastifyRequest,
    tenantId: string,
    id: string,
    changes: { name: string; members?: ListMember[] },
  ): Promise<RecipientList> {
    const list = await lists.update(tenantId, id, changes, callerOf(request).actor)
    if (list === 'taken') throw nameTaken()
    if (!list) throw notFound()
    return list
  }

  async function listOf(request: FastifyRequest, tenantId: string): Promise<RecipientList> {
    const { id: given } = request.params as { id: string }
    const byId = isId(given) ? await lists.find(tenantId, given.toLowerCase()) : null
    const list = byId ?? (textProblem(given) ? null : await lists.findByName(tenantId, given))
    if (!list) throw notFound()
    return list
  }

  async function found(tenantId: string, id: string): Promise<RecipientList> {
    const list = await lists.find(tenantId, id)
    if (!list) throw notFound()
    return list
  }

  async function read(tenantId: string, given: Static<typeof Members>): Promise<{ members: ListMember[] }> {
    const { members, problems } = readMembers(given, regionOf(await store.tenants.find(tenantId)))
    if (problems.length) throw invalidBody(problems)
    return { members }
  }
}

function listJson(list: RecipientList): Static<typeof ListJson> {
  const self = `/api/recipient-lists/${list.id}`
  return {
    ...list,
    createdAt: new Date(list.createdAt).toISOString(),
    updatedAt: new Date(list.updatedAt).toISOString(),
    links: { self, members: `${self}/members` },
  }
}

/** Of a list that was just given all its members: those it does not count were given twice. */
function written(list: RecipientList, given: number): Static<typeof WrittenListJson> {
  return { ...listJson(list), duplicates: given - list.memberCount }
}

function memberJson({ name, email, phone }: ListMember, request: FastifyRequest): Static<typeof MemberJson> {
  return asSeenBy(request, { name, email, phone })
}

function nameTaken(): PillarboxError {
  return new PillarboxError('already_exists', 'Another recipient list has that name.')
}
