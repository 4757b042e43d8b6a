import { textProblem } from '@pillarbox/client/contract'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { ChannelName, Line, Nullable } from '../intake/body-fields.ts'
import { found } from '../model/errors.ts'
import type { RecipientList } from '../model/recipient-list.ts'
import { type ListReach, MOST_UNREACHABLE, reachOf } from '../operate/list-reach.ts'
import {
  addMembers,
  changeList,
  makeList,
  removeList,
  replaceList,
  tryMembers,
  type WrittenList,
} from '../operate/recipient-lists.ts'
import { TO_ADMINISTER, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { MASKED_AT_CONSOLE } from './masking.ts'
import { operationsOf } from './operation.ts'
import { Closed, Id, isId, PageSchema, Paging, pageJson, TextOrNull, Time, withTimes } from './schemas.ts'

/** In one call; the body may have 4 MiB. */
const MAX_MEMBERS_PER_CALL = 10_000
/** A list of no more members is answered whole. */
const SHOWN_WHOLE = 200

const Name = Line(1, 200, 'Unique in the tenant; `to.list` and the catalogue name a list by it.')

const Member = Closed(
  {
    name: Type.Optional(Nullable(Line(0, 200))),
    email: Type.Optional(Nullable(Line(1, 320))),
    phone: Type.Optional(Nullable(Line(1, 60, 'Without a country code it is one of the tenant’s region.'))),
  },
  { title: 'ListMember', description: 'With an email, a phone, or both.' },
)

/** A row of somebody’s file, in whatever state. */
const LooseMember = Closed({
  name: Type.Optional(Nullable(Type.String({ maxLength: 1_000 }))),
  email: Type.Optional(Nullable(Type.String({ maxLength: 1_000 }))),
  phone: Type.Optional(Nullable(Type.String({ maxLength: 1_000 }))),
})

const Members = Type.Array(Member, { maxItems: MAX_MEMBERS_PER_CALL })
const ListBody = Closed({ name: Name, members: Members })

const MemberJson = Type.Object({ name: TextOrNull, email: TextOrNull, phone: TextOrNull })

const fields = {
  id: Id,
  tenantId: Type.String(),
  name: Type.String(),
  memberCount: Type.Integer(),
  createdAt: Time,
  updatedAt: Time,
  links: Type.Object({ self: Type.String(), members: Type.String() }),
}

const ListJson = Type.Object(fields, { title: 'RecipientList' })
const duplicates = Type.Integer({ description: 'Members that were given twice, and are on the list once.' })
const WrittenListJson = Type.Object({ ...fields, duplicates }, { title: 'WrittenRecipientList' })
const ListDetailJson = Type.Object(
  {
    ...fields,
    members: Nullable(
      Type.Array(MemberJson, { description: `Null where there are more than ${SHOWN_WHOLE}: page through /members.` }),
    ),
  },
  { title: 'RecipientListDetail' },
)
const AddedJson = Type.Object({
  added: Type.Integer(),
  duplicates: Type.Integer({ description: 'Given twice, or on the list already.' }),
  memberCount: Type.Integer(),
})

const TriedJson = Type.Object(
  {
    added: Type.Integer({ description: 'Would be added.' }),
    duplicates: Type.Integer({ description: 'Given twice, or on the list already.' }),
    bad: Type.Array(
      Type.Object({ index: Type.Integer({ description: 'Of the member as given, from 0.' }), message: Type.String() }),
      { description: 'Members that cannot be added, and why.' },
    ),
  },
  { title: 'TriedMembers' },
)

const reach = {
  reachable: Type.Integer(),
  suppressed: Type.Integer({ description: 'Their address is suppressed on the channel.' }),
  missing: Type.Integer({ description: 'They have no address for it.' }),
}
const ReachJson = Type.Object(
  {
    members: Type.Integer(),
    channels: Type.Array(Type.Object({ channel: ChannelName, hasAccount: Type.Boolean(), ...reach })),
    unreachable: Type.Array(
      Type.Object({
        name: TextOrNull,
        email: TextOrNull,
        phone: TextOrNull,
        channel: ChannelName,
        cause: Type.String({ description: 'Why the address is suppressed.' }),
        error: Nullable(Type.String({ description: 'The provider’s words.' })),
        suppressionId: Id,
      }),
      { description: `The first ${MOST_UNREACHABLE} whose address is suppressed.` },
    ),
  },
  { title: 'ListReach' },
)

const operation = operationsOf('People')

/** `/api/recipient-lists`: named lists, resolved when they are sent to. A path names one by its id or its name. */
export function recipientListRoutes(app: App, context: Context): void {
  const { store, config } = context
  const { lists } = store
  const bodyLimit = config.batchBodyLimitBytes

  app.get(
    '/api/recipient-lists',
    operation(TO_READ, 'List recipient lists, newest first', {
      operationId: 'listRecipientLists',
      query: Paging,
      response: { 200: PageSchema(ListJson) },
    }),
    async ({ tenantId, query }) => pageJson(await lists.list(tenantId, query), listJson),
  )

  app.post(
    '/api/recipient-lists',
    operation(
      TO_ADMINISTER,
      'Make a recipient list',
      {
        operationId: 'createRecipientList',
        description: 'With up to 10,000 members; more are added afterwards.',
        body: ListBody,
        problems: ['already_exists'],
        response: { 201: WrittenListJson },
      },
      { bodyLimit },
    ),
    async (request, reply) => reply.status(201).send(writtenJson(await makeList(context, request, request.body))),
  )

  app.get(
    '/api/recipient-lists/:id',
    operation(
      TO_READ,
      'One recipient list, by id or by name',
      {
        operationId: 'getRecipientList',
        description: 'A viewer sees its members masked, and so does everybody at the console.',
        response: { 200: ListDetailJson },
      },
      MASKED_AT_CONSOLE,
    ),
    async (request) => {
      const list = await listOf(request)
      const { members, next } = await lists.members(request.tenantId, list.id, null, SHOWN_WHOLE)
      return { ...listJson(list), members: next === null ? members : null }
    },
  )

  app.put(
    '/api/recipient-lists/:id',
    operation(
      TO_ADMINISTER,
      'Replace a recipient list',
      {
        operationId: 'replaceRecipientList',
        body: ListBody,
        problems: ['already_exists'],
        response: { 200: WrittenListJson },
      },
      { bodyLimit },
    ),
    async (request) => {
      const { id } = await listOf(request)
      return writtenJson(await replaceList(store, request, id, request.body))
    },
  )

  app.patch(
    '/api/recipient-lists/:id',
    operation(TO_ADMINISTER, 'Rename a recipient list', {
      operationId: 'renameRecipientList',
      body: Closed({ name: Name }),
      problems: ['already_exists'],
      response: { 200: ListJson },
    }),
    async (request) => {
      const { id } = await listOf(request)
      return listJson(await changeList(store, request, id, request.body))
    },
  )

  app.delete(
    '/api/recipient-lists/:id',
    operation(TO_ADMINISTER, 'Remove a recipient list', {
      operationId: 'deleteRecipientList',
      description: 'A notification that still waits to be sent to it will be parked with list_not_found.',
      response: { 204: Type.Null() },
    }),
    async (request, reply) => {
      const { id } = await listOf(request)
      await removeList(store, request, id)
      return reply.status(204).send(null)
    },
  )

  app.get(
    '/api/recipient-lists/:id/members',
    operation(
      TO_READ,
      'A list’s members, in the order they were added',
      {
        operationId: 'listRecipientListMembers',
        description: 'A viewer sees them masked, and so does everybody at the console.',
        query: Paging,
        response: { 200: PageSchema(MemberJson) },
      },
      MASKED_AT_CONSOLE,
    ),
    async (request) => {
      const { limit, cursor = null } = request.query
      const { id } = await listOf(request)
      const { members, next } = await lists.members(request.tenantId, id, cursor, limit)
      return { items: members, nextCursor: next }
    },
  )

  app.post(
    '/api/recipient-lists/:id/members',
    operation(
      TO_ADMINISTER,
      'Add up to 10,000 members to a list',
      {
        operationId: 'addRecipientListMembers',
        description:
          'Those that are on it already are counted and change nothing, so the call can be repeated. A list takes 100,000.',
        body: Closed({ members: Members }),
        response: { 200: AddedJson },
      },
      { bodyLimit },
    ),
    async (request) => {
      const { list, ...counts } = await addMembers(store, request, await listOf(request), request.body.members)
      return { ...counts, memberCount: list.memberCount }
    },
  )

  app.post(
    '/api/recipient-lists/:id/members/try',
    operation(
      TO_ADMINISTER,
      'What adding these members would do',
      {
        operationId: 'tryRecipientListMembers',
        description: 'Nothing is written. Bad members are named one by one, so that the others can be added.',
        body: Closed({ members: Type.Array(LooseMember, { maxItems: MAX_MEMBERS_PER_CALL }) }),
        response: { 200: TriedJson },
      },
      { bodyLimit },
    ),
    async (request) => tryMembers(context, request.tenantId, await listOf(request), request.body.members),
  )

  app.get(
    '/api/recipient-lists/:id/reach',
    operation(
      TO_READ,
      'Whom of a list each channel reaches',
      {
        operationId: 'getRecipientListReach',
        description:
          'Members with an address that is not suppressed, by channel. A viewer and the console see people masked.',
        response: { 200: ReachJson },
      },
      { config: { ...MASKED_AT_CONSOLE.config, readsMuch: true } },
    ),
    async (request): Promise<ListReach> => reachOf(context, await listOf(request)),
  )

  async function listOf({ params, tenantId }: FastifyRequest): Promise<RecipientList> {
    const { id: given } = params as { id: string }
    const byId = isId(given) ? await lists.find(tenantId, given.toLowerCase()) : null
    return found(byId ?? (textProblem(given) ? null : await lists.findByName(tenantId, given)))
  }
}

function listJson(list: RecipientList): Static<typeof ListJson> {
  const self = `/api/recipient-lists/${list.id}`
  return { ...withTimes(list, 'createdAt', 'updatedAt'), links: { self, members: `${self}/members` } }
}

function writtenJson({ list, duplicates }: WrittenList): Static<typeof WrittenListJson> {
  return { ...listJson(list), duplicates }
}
