import { type Static, Type } from 'typebox'
import { EntityRef } from '../intake/body-fields.ts'
import { CONVERSATION_STATUSES, type Conversation } from '../model/conversation.ts'
import { found } from '../model/errors.ts'
import { setConversationStatus } from '../operate/conversations.ts'
import { TO_OPERATE, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { invalidQuery } from './entity-query.ts'
import { operationsOf } from './operation.ts'
import { Closed, Exactly, Id, idParameter, PageSchema, Paging, pageJson, Time, withTimes } from './schemas.ts'

const Status = Type.Enum([...CONVERSATION_STATUSES])

const ConversationJson = Type.Object(
  {
    id: Id,
    tenantId: Type.String(),
    contactId: Id,
    context: EntityRef,
    status: Status,
    createdAt: Time,
    updatedAt: Time,
    links: Type.Object({ contact: Type.String(), notifications: Type.String() }),
  },
  { title: 'Conversation' },
)

const operation = operationsOf('People')

/** `/api/conversations`: what an exchange with a contact is about. Planning opens them; people snooze and close them. */
export function conversationRoutes(app: App, { store }: Context): void {
  const { people } = store

  app.get(
    '/api/conversations',
    operation(TO_READ, 'List conversations, newest first', {
      operationId: 'listConversations',
      query: {
        contactId: Exactly(36, 'Only those with this contact.'),
        status: Type.Optional(Type.Enum([...CONVERSATION_STATUSES], { description: 'Only those that stand there.' })),
        contextType: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 63,
            description: 'What they are about, such as booking; with contextId.',
          }),
        ),
        contextId: Type.Optional(
          Type.String({ minLength: 1, maxLength: 200, description: 'Which one of those; with contextType.' }),
        ),
        ...Paging,
      },
      response: { 200: PageSchema(ConversationJson) },
    }),
    async ({ query, tenantId }) => {
      const { contextType: type, contextId: id } = query
      if ((type === undefined) !== (id === undefined))
        throw invalidQuery(
          type === undefined ? 'contextType' : 'contextId',
          'is required: contextType and contextId name a context together',
        )
      const filter = { ...query, ...(type !== undefined && id !== undefined && { context: { type, id } }) }
      return pageJson(await people.listConversations(tenantId, filter, query), conversationJson)
    },
  )

  app.get(
    '/api/conversations/:id',
    operation(TO_READ, 'One conversation', { operationId: 'getConversation', response: { 200: ConversationJson } }),
    async (request) => conversationJson(found(await people.findConversation(request.tenantId, idParameter(request)))),
  )

  app.patch(
    '/api/conversations/:id',
    operation(TO_OPERATE, 'Open, snooze or close a conversation', {
      operationId: 'updateConversation',
      description:
        'An open or snoozed one is reused by later notifications; after it is closed, the next one opens another. 409 already_exists where that has happened and the closed one is to be opened again.',
      body: Closed({ status: Status }),
      problems: ['already_exists'],
      response: { 200: ConversationJson },
    }),
    async (request) =>
      conversationJson(await setConversationStatus(store, request, idParameter(request), request.body.status)),
  )
}

function conversationJson(conversation: Conversation): Static<typeof ConversationJson> {
  const { id, contactId } = conversation
  return {
    ...withTimes(conversation, 'createdAt', 'updatedAt'),
    links: { contact: `/api/contacts/${contactId}`, notifications: `/api/notifications?conversationId=${id}` },
  }
}
