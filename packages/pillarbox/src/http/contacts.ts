import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { Line, LocaleTag, Nullable } from '../intake/body-fields.ts'
import type { Contact, NewContact } from '../model/contact.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import { normalised, regionOf } from '../operate/people.ts'
import { callerOf, TO_ADMINISTER, TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { asSeenBy } from './masking.ts'
import {
  changedMeanwhile,
  ForOps,
  Id,
  idParameter,
  invalidBody,
  notFound,
  PageSchema,
  Paging,
  Query,
  ReadVersion,
} from './schemas.ts'

const ContactFields = {
  profileId: Type.Optional(Nullable(Line(1, 200, 'The person’s id in your application.'))),
  userId: Type.Optional(Nullable(Line(1, 200, 'The id that in_app notifications go to.'))),
  name: Type.Optional(Nullable(Line(1, 200))),
  phone: Type.Optional(
    Nullable(Line(1, 60, 'Kept in E.164 form; without a country code it is one of the tenant’s region.')),
  ),
  email: Type.Optional(Nullable(Line(1, 320))),
  locale: Type.Optional(Nullable(LocaleTag)),
}

const ContactBody = Type.Object(ContactFields, { additionalProperties: false })
const ContactReplacement = Type.Object({ ...ContactFields, ...ReadVersion }, { additionalProperties: false })
const ContactChanges = Type.Object(
  { ...ContactFields, ...ReadVersion },
  { additionalProperties: false, minProperties: 1 },
)
type ContactBody = Static<typeof ContactBody>

const text = Nullable(Type.String())

const ContactJson = Type.Object({
  id: Id,
  tenantId: Type.String(),
  profileId: text,
  userId: text,
  name: text,
  phone: text,
  email: text,
  locale: text,
  version: Type.Integer({ description: 'One more with every change.' }),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  links: Type.Object({ notifications: Type.String(), conversations: Type.String() }),
})

const IDENTIFIERS = ['profileId', 'userId', 'phone', 'email'] as const

/** `/api/contacts`: who recipients are. Planning finds and makes them by itself; this is for correcting them. */
export function contactRoutes(app: App, { store, ids }: Context): void {
  const { people } = store

  app.route({
    method: 'GET',
    url: '/api/contacts',
    config: { access: TO_READ },
    schema: {
      tags: ['People'],
      summary: 'List contacts, newest first',
      description: 'A viewer sees them masked.',
      querystring: Query({
        q: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 320,
            description: 'Exactly a profile id, user id, telephone number or email, or the beginning of a name.',
          }),
        ),
        ...ForOps,
        ...Paging,
      }),
      response: { 200: PageSchema(ContactJson) },
    },
    async handler(request) {
      const { q, limit, cursor } = request.query
      const tenantId = await tenantOf(request, store)
      const asked = { limit, ...(cursor !== undefined && { cursor }) }
      let page = await people.listContacts(tenantId, q === undefined ? {} : { q }, asked)
      const kept = page.items.length === 0 && q !== undefined ? await asKept(tenantId, q) : null
      if (kept !== null) page = await people.listContacts(tenantId, { q: kept }, asked)
      return { items: page.items.map((contact) => contactJson(contact, request)), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/contacts/:id',
    config: { access: TO_READ },
    schema: {
      tags: ['People'],
      summary: 'One contact',
      description: 'A viewer sees it masked.',
      querystring: Query(ForOps),
      response: { 200: ContactJson },
    },
    async handler(request) {
      const id = idParameter(request)
      return contactJson(await found(await tenantOf(request, store), id), request)
    },
  })

  app.route({
    method: 'POST',
    url: '/api/contacts',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['People'],
      summary: 'Make a contact',
      description: 'With at least one of profileId, userId, phone and email, none of which another contact may have.',
      querystring: Query(ForOps),
      body: ContactBody,
      response: { 201: ContactJson },
    },
    async handler(request, reply) {
      const tenantId = await tenantOf(request, store)
      const fields = whole(await read(tenantId, request.body))
      refuseNameless(fields)
      const contact = await people.insertContact({ id: ids(), tenantId, ...fields }, callerOf(request).actor)
      if (contact === 'taken') throw identifierTaken()
      return reply.status(201).send(contactJson(contact, request))
    },
  })

  app.route({
    method: 'PUT',
    url: '/api/contacts/:id',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['People'],
      summary: 'Replace a contact',
      querystring: Query(ForOps),
      body: ContactReplacement,
      response: { 200: ContactJson },
    },
    async handler(request) {
      const id = idParameter(request)
      const tenantId = await tenantOf(request, store)
      const { version, ...body } = request.body
      return change(request, { tenantId, id, version }, whole(await read(tenantId, body)))
    },
  })

  app.route({
    method: 'PATCH',
    url: '/api/contacts/:id',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['People'],
      summary: 'Change what is named; null removes it',
      querystring: Query(ForOps),
      body: ContactChanges,
      response: { 200: ContactJson },
    },
    async handler(request) {
      const id = idParameter(request)
      const tenantId = await tenantOf(request, store)
      const { version, ...body } = request.body
      return change(request, { tenantId, id, version }, await read(tenantId, body))
    },
  })

  app.route({
    method: 'DELETE',
    url: '/api/contacts/:id',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['People'],
      summary: 'Remove a contact',
      description: 'Its conversations go with it. What was sent stays on record, with the addresses it was sent to.',
      querystring: Query(ForOps),
      response: { 204: Type.Null() },
    },
    async handler(request, reply) {
      const id = idParameter(request)
      const tenantId = await tenantOf(request, store)
      if (!(await people.removeContact(tenantId, id, callerOf(request).actor))) throw notFound()
      return reply.status(204).send(null)
    },
  })

  async function change(
    request: FastifyRequest,
    { tenantId, id, version }: { tenantId: string; id: string; version: number | undefined },
    changes: ContactBody,
  ): Promise<Static<typeof ContactJson>> {
    for (;;) {
      const current = await found(tenantId, id)
      refuseNameless({ ...current, ...changes })
      const { actor } = callerOf(request)
      const contact = await people.updateContact(tenantId, id, changes, actor, version ?? current.version)
      // Whoever names no version wants the change as it is: what was found is judged again, and nobody left nameless.
      if (contact === 'stale' && version === undefined) continue
      if (contact === 'stale') throw changedMeanwhile(version)
      if (contact === 'taken') throw identifierTaken()
      if (!contact) throw notFound()
      return contactJson(contact, request)
    }
  }

  async function found(tenantId: string, id: string): Promise<Contact> {
    const contact = await people.findContact(tenantId, id)
    if (!contact) throw notFound()
    return contact
  }

  async function read(tenantId: string, body: ContactBody): Promise<ContactBody> {
    const problems: FieldError[] = []
    const region = regionOf(await store.tenants.find(tenantId))
    const fields = normalised(body, { region, at: '', problems })
    if (problems.length) throw invalidBody(problems)
    return fields
  }

  /** A telephone number or an email in the form it is kept in, however it is written; null for anything else. */
  async function asKept(tenantId: string, q: string): Promise<string | null> {
    const region = regionOf(await store.tenants.find(tenantId))
    const { phone, email } = normalised<ContactBody>({ phone: q, email: q }, { region, at: '', problems: [] })
    return phone ?? email ?? null
  }
}

/** Everything that is not given is not known. */
function whole(body: ContactBody): Omit<NewContact, 'id' | 'tenantId'> {
  const { profileId = null, userId = null, name = null, phone = null, email = null, locale = null } = body
  return { profileId, userId, name, phone, email, locale }
}

/** Nobody could ever be recognised by a name alone. */
function refuseNameless(contact: ContactBody): void {
  if (IDENTIFIERS.some((field) => contact[field] !== null && contact[field] !== undefined)) return
  throw invalidBody([{ path: '', message: `must have at least one of ${IDENTIFIERS.join(', ')}` }])
}

function identifierTaken(): PillarboxError {
  return new PillarboxError('already_exists', `Another contact has one of these ${IDENTIFIERS.join(', ')}.`)
}

function contactJson(contact: Contact, request: FastifyRequest): Static<typeof ContactJson> {
  const { id, createdAt, updatedAt } = contact
  return {
    ...asSeenBy(request, contact),
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
    links: {
      notifications: `/api/notifications?contactId=${id}`,
      conversations: `/api/conversations?contactId=${id}`,
    },
  }
}
