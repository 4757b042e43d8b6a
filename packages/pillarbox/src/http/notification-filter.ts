import { type Static, Type } from 'typebox'
import { NOTIFICATION_STATUSES } from '../model/notification.ts'
import type { NotificationFilter } from '../plan/notification-store.ts'
import type { Context } from './context.ts'
import { entityQuery } from './entity-query.ts'
import { Exactly, ForOps, instantsMs, MadeBetween, OnChannel, PATTERNS, Paging } from './schemas.ts'

/** Fields of a notification that are no filters. */
const NOT_FILTERS = ['correlation', 'execution', 'parentExecution', 'template', 'providerMessage', 'notification']

/** `?stuck=true` narrows the list; there is no asking for the others. */
function OnlyTrue(description: string) {
  return Type.Unsafe<true>({ type: 'boolean', const: true, description })
}

/** What narrows a list of notifications, in a query and in a body alike. */
const FILTERS = {
  status: Type.Optional(
    Type.Array(Type.Enum([...NOTIFICATION_STATUSES]), {
      maxItems: NOTIFICATION_STATUSES.length,
      description: 'Only those that stand there; may be repeated.',
    }),
  ),
  ...OnChannel,
  eventId: Exactly(200, 'Only those that this event led to.'),
  eventType: Exactly(100, 'Only those of this event type.'),
  contactId: Exactly(36, 'Only those to this contact.'),
  conversationId: Exactly(36, 'Only those of this conversation.'),
  site: Exactly(100, 'Only those that this site handed off.'),
  accountId: Exactly(36, 'Only those that go through this account.'),
  reason: Type.Optional(Type.String({ pattern: PATTERNS.reason, description: 'Only those stopped for this reason.' })),
  fingerprint: Type.Optional(
    Type.String({
      pattern: PATTERNS.fingerprint,
      description: 'Only those that stopped by this cause, from /api/notifications/causes.',
    }),
  ),
  possibleDuplicate: Type.Optional(
    Type.Boolean({ description: 'Only those that the recipient may have got twice, or only the others.' }),
  ),
  stuck: Type.Optional(OnlyTrue('Live, and due for longer than the server’s stuckAfter.')),
  stale: Type.Optional(
    OnlyTrue('Sent longer ago than the server’s staleAfter, and nobody has said since what became of it.'),
  ),
  ...MadeBetween,
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 300,
      description: 'Exactly an id, an idempotency key, a provider’s id or an address.',
    }),
  ),
}

export const listQuery = entityQuery({ ...FILTERS, ...ForOps, ...Paging }, NOT_FILTERS)
/** The same without pages, for what is asked about all that it finds. */
export const causesQuery = entityQuery({ ...FILTERS, ...ForOps }, NOT_FILTERS)
/** Whose they are is said by the key, or beside the body. */
export const filterBody = entityQuery(FILTERS, [...NOT_FILTERS, 'tenant'])

/** The filter that a query or a body asks for. */
export async function filterOf(
  { stuck, stale, from, to, ...query }: Static<typeof filterBody.schema>,
  tenantId: string | null,
  { store, config }: Pick<Context, 'store' | 'config'>,
): Promise<NotificationFilter> {
  const { eventId, ...others } = query
  // `eventId` is our event, unless the tenant's catalogue has entities of the type `event`: then it is theirs.
  const isEntity =
    tenantId !== null && eventId !== undefined && Object.hasOwn(await store.catalogue.entities(tenantId), 'event')
  const wanted = isEntity ? { ...others, entityType: 'event', entityId: eventId } : query
  return {
    ...wanted,
    ...(await listQuery.knownEntityOf(wanted, tenantId, store)),
    ...(stuck && { stuckForMs: config.stuckAfterMs }),
    ...(stale && { staleForMs: config.staleAfterMs }),
    ...(tenantId !== null && { tenantId }),
    ...instantsMs({ from, to }),
  }
}
