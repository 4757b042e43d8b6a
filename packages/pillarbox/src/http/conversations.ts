import { type Static, Type } from 'typebox'
import { EntityRef } from '../intake/body-fields.ts'
import { CONVERSATION_STATUSES, type Conversation } from '../model/conversation.ts'
import { callerOf, TO_OPERATE, TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { invalidQuery } from './entity-query.ts'
import { ForOps, Id, idParameter, notFound, PageSchema, Paging, Query } from './schemas.ts'

const ConversationJson = Type.Object({
  id: Id,
  tenantId: Type.String(),
  contactId: Id,
  context: EntityRef,
  status: Type.Enum([...CONVERSATION_STATUSES]),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  links: Type.Object({ contact: Type.String(), notifications: Type.String() }),
})

/** `/api/conversations`: what an exchange with a contact is about. Planning opens them; people snooze and close them. */
export function conversationRoutes(app: App, { store }: Context): void {
  app.route({
    method: 'GET',
    url: '/api/conversations',
    config: { access: TO_READ },
    schema: {
      tags: ['People'],
      summary: 'List conversations, newest first',
      querystring: Query({
        contactId: Type.Optional(Type.String({ maxLength: 36 })),
        status: Type.Optional(Type.Enum([...CONVERSATION_STATUSES])),
        contextType: Type.Optional(Type.String({ minLength: 1, maxLength: 63 })),
        contextId: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
        ...ForOps,
        ...Paging,
      }),
      response: { 200: PageSchema(ConversationJson) },
    },
    async handler(request) {
      const { contactId, status, contextType, contextId, limit, cursor } = request.query
      const tenantId = await tenantOf(request, store)
      if ((contextType === undefined) !== (contextId === undefined))
        throw invalidQuery(
          contextType === undefined ? 'contextType' : 'contextId',
          'is required: contextType and contextId name a context together',
        )
      const page = await store.people.listConversations(
        tenantId,
        {
          ...(contactId !== undefined && { contactId }),
          ...(status !== undefined && { status }),
          ...(contextType !== undefined &&
            contextId !== undefined && { context: { type: contextType, id: contextId } }),
        },
        { limit, ...(cursor !== undefined && { cursor }) },
      )
      return { items: page.items.map(conversationJson), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/conversations/:id',
    config: { access: TO_READ },
    schema: {
      tags: ['People'],
      summary: 'One conversation',
      querystring: Query(ForOps),
      response: { 200: ConversationJson },
    },
    async handler(request) {
      const id = idParameter(request)
      const conversation = await store.people.findConversation(await tenantOf(request, store), id)
      if (!conversation) throw notFound()
      return conversationJson(conversation)
    },
  })

  app.route({
    method: 'PATCH',
    url: '/api/conversations/:id',
    config: { access: TO_OPERATE },
    schema: {
      tags: ['People'],
      summary: 'Open, snooze or close a conversation',
      description:
        'An open or snoozed one is reused by later notifications; after it is closed, the next one opens another. 409 already_exists where that has happened and the closed one is to be opened again.',
      querystring: Query(ForOps),
      body: Type.Object({ status: Type.Enum([...CONVERSATION_STATUSES]) }, { additionalProperties: false }),
      response: { 200: ConversationJson },
    },
    async handler(request) {
      const id = idParameter(request)
      const tenantId = await tenantOf(request, store)
      const { actor } = callerOf(request)
      const conversation = await store.people.setConversationStatus(tenantId, id, request.body.status, actor)
      if (!conversation) throw notFound()
      return conversationJson(conversation)
    },
  })
}

function conversationJson(conversation: Conversation): Static<typeof ConversationJson> {
  const { id, contactId, createdAt, updatedAt } = conversation
  return {
    ...conversation,
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
    links: { contact: `/api/contacts/${contactId}`, notifications: `/api/notifications?conversationId=${id}` },
  }
}
