import { type Static, Type } from 'typebox'
import { Line, LocaleTag, Nullable } from '../intake/body-fields.ts'
import type { Contact } from '../model/contact.ts'
import { found } from '../model/errors.ts'
import {
  changeContact,
  findContacts,
  makeContact,
  removeContact,
  revealContact,
  wholeContact,
} from '../operate/contacts.ts'
import { TO_ADMINISTER, TO_OPERATE, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { isViewer, MASKED_AT_CONSOLE } from './masking.ts'
import { operationsOf } from './operation.ts'
import {
  Closed,
  Id,
  idParameter,
  PageSchema,
  Paging,
  pageJson,
  ReadVersion,
  TextOrNull,
  Time,
  withTimes,
} from './schemas.ts'

const fields = {
  profileId: Type.Optional(Nullable(Line(1, 200, 'The person’s id in your application.'))),
  userId: Type.Optional(Nullable(Line(1, 200, 'The id that in_app notifications go to.'))),
  name: Type.Optional(Nullable(Line(1, 200))),
  phone: Type.Optional(
    Nullable(Line(1, 60, 'Kept in E.164 form; without a country code it is one of the tenant’s region.')),
  ),
  email: Type.Optional(Nullable(Line(1, 320))),
  locale: Type.Optional(Nullable(LocaleTag)),
}

const ContactJson = Type.Object(
  {
    id: Id,
    tenantId: Type.String(),
    profileId: TextOrNull,
    userId: TextOrNull,
    name: TextOrNull,
    phone: TextOrNull,
    email: TextOrNull,
    locale: TextOrNull,
    version: Type.Integer({ description: 'One more with every change.' }),
    createdAt: Time,
    updatedAt: Time,
    links: Type.Object({ notifications: Type.String(), conversations: Type.String() }),
  },
  { title: 'Contact' },
)

const operation = operationsOf('People')

/** `/api/contacts`: who recipients are. Planning finds and makes them by itself; this is for correcting them. */
export function contactRoutes(app: App, context: Context): void {
  const { store } = context

  app.get(
    '/api/contacts',
    operation(
      TO_READ,
      'List contacts, newest first',
      {
        operationId: 'listContacts',
        description: 'A viewer sees them masked, and so does everybody at the console.',
        query: {
          q: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 320,
              description:
                'Exactly a profile id, user id, telephone number or email, or the beginning of a name; for a viewer the whole name.',
            }),
          ),
          ...Paging,
        },
        response: { 200: PageSchema(ContactJson) },
      },
      MASKED_AT_CONSOLE,
    ),
    async (request) =>
      pageJson(
        await findContacts(store, request.tenantId, request.query, { wholeNames: isViewer(request) }),
        contactJson,
      ),
  )

  app.get(
    '/api/contacts/:id',
    operation(
      TO_READ,
      'One contact',
      {
        operationId: 'getContact',
        description: 'A viewer sees it masked, and so does everybody at the console.',
        response: { 200: ContactJson },
      },
      MASKED_AT_CONSOLE,
    ),
    async (request) => contactJson(found(await store.people.findContact(request.tenantId, idParameter(request)))),
  )

  app.post(
    '/api/contacts/:id/reveal',
    operation(TO_OPERATE, 'One contact unmasked, on record', {
      operationId: 'revealContact',
      description: 'What the console masks is shown; the audit says to whom (`reveal`).',
      response: { 200: ContactJson },
    }),
    async (request) => contactJson(await revealContact(store, request, idParameter(request))),
  )

  app.post(
    '/api/contacts',
    operation(TO_ADMINISTER, 'Make a contact', {
      operationId: 'createContact',
      description: 'With at least one of profileId, userId, phone and email, none of which another contact may have.',
      body: Closed(fields),
      problems: ['already_exists'],
      response: { 201: ContactJson },
    }),
    async (request, reply) => reply.status(201).send(contactJson(await makeContact(context, request, request.body))),
  )

  app.put(
    '/api/contacts/:id',
    operation(TO_ADMINISTER, 'Replace a contact', {
      operationId: 'replaceContact',
      body: Closed({ ...fields, ...ReadVersion }),
      problems: ['already_exists', 'changed_meanwhile'],
      response: { 200: ContactJson },
    }),
    async (request) =>
      contactJson(await changeContact(store, request, idParameter(request), wholeContact(request.body))),
  )

  app.patch(
    '/api/contacts/:id',
    operation(TO_ADMINISTER, 'Change what is named; null removes it', {
      operationId: 'updateContact',
      body: Closed({ ...fields, ...ReadVersion }, { minProperties: 1 }),
      problems: ['already_exists', 'changed_meanwhile'],
      response: { 200: ContactJson },
    }),
    async (request) => contactJson(await changeContact(store, request, idParameter(request), request.body)),
  )

  app.delete(
    '/api/contacts/:id',
    operation(TO_ADMINISTER, 'Remove a contact', {
      operationId: 'deleteContact',
      description: 'Its conversations go with it. What was sent stays on record, with the addresses it was sent to.',
      response: { 204: Type.Null() },
    }),
    async (request, reply) => {
      await removeContact(store, request, idParameter(request))
      return reply.status(204).send(null)
    },
  )
}

function contactJson(contact: Contact): Static<typeof ContactJson> {
  return {
    ...withTimes(contact, 'createdAt', 'updatedAt'),
    links: {
      notifications: `/api/notifications?contactId=${contact.id}`,
      conversations: `/api/conversations?contactId=${contact.id}`,
    },
  }
}
