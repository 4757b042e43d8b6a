import { type Static, type TSchema, type TUnsafe, Type } from 'typebox'
import { EVENT_TYPE_NAME } from '../model/catalogue.ts'
import { ChannelName, JsonObject, Nullable } from '../model/schema-pieces.ts'
import { PATTERNS } from './text-forms.ts'

/**
 * The form of a catalogue file, declared once: form.ts checks files by it, the types below are read off it, and the
 * OpenAPI document shows it. A `title` completes "must be …" for the author of a file that is refused; a `description`
 * is for readers of the API's documentation. What a schema cannot say is checked afterwards, in parse.ts.
 */

export const MAX_TEMPLATES = 5_000
export const MAX_TEXT = 100_000

const CLOSED = { additionalProperties: false } as const

/** A field that a file may leave out, or leave empty (`templates:` with nothing behind it). */
const MayBeEmpty = <T extends TSchema>(schema: T) => Type.Optional(Nullable(schema))

/** An object whose keys are the author's own. */
function Named<T extends TSchema>(
  name: TSchema,
  value: T,
  options: { title: string; maxProperties: number; minProperties?: number; description?: string },
): TUnsafe<Record<string, Static<T>>> {
  return Type.Unsafe({ type: 'object', propertyNames: name, additionalProperties: value, ...options })
}

const Word = (example: string, pattern = '^[A-Za-z][\\w-]{0,62}$') =>
  Type.String({ pattern, title: `a word of letters, digits, "_" and "-", such as ${example}` })

const Locale = Type.String({
  pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$',
  title: 'a locale, such as de-DE',
  description: 'Absent: the catalogue’s default; for the catalogue itself: en.',
})

const Path = (into = 'the payload', example = 'guest.phone') =>
  Type.String({ pattern: PATTERNS.path, title: `a dot path into ${into}, such as ${example}` })

const LIST_PATH = 'a dot path into the payload, such as guest.phone or passengers[].phone'

const RecipientPath = MayBeEmpty(
  Type.String({
    pattern: PATTERNS.recipientPath,
    title: LIST_PATH,
    description: 'Dot path into the payload; passengers[].phone makes one recipient of each element.',
  }),
)

const Duration = (description: string) =>
  Type.String({
    format: 'duration',
    title: 'an ISO 8601 duration such as PT24H',
    description: `ISO 8601. ${description}`,
  })

const RecipientDocument = Type.Object(
  {
    phone: RecipientPath,
    email: RecipientPath,
    name: RecipientPath,
    locale: RecipientPath,
    profileId: RecipientPath,
    userId: RecipientPath,
    deviceToken: RecipientPath,
    platform: RecipientPath,
    url: RecipientPath,
    list: Type.Optional(
      Type.String({ pattern: '^\\P{Cc}{1,200}$', title: 'the name of a recipient list, such as ops-team' }),
    ),
    expand: MayBeEmpty(Type.Boolean({ description: 'One notification per member of the list.' })),
  },
  { ...CLOSED, title: 'an object of dot paths into the payload, such as { email: guestEmail }' },
)

const Only = Type.Optional(Type.Unsafe<true>({ const: true, title: 'true, or be left out' }))
const Channels = Type.Optional(Type.Array(ChannelName, { minItems: 1, maxItems: 20, uniqueItems: true }))

const DeliveryDocument = Type.Object(
  { all: Only, channels: Channels, fallback: Channels, none: Only },
  {
    ...CLOSED,
    minProperties: 1,
    maxProperties: 1,
    title: 'exactly one of { all: true }, { channels: [sms] }, { fallback: [whatsapp, sms] } and { none: true }',
  },
)

export const TIMING_FORMS =
  '{ after: PT24H }, { before: PT24H, field: departureDate }, { after: PT2H, field: … } or { at: "09:00", … }'

const TimingDocument = Type.Object(
  {
    after: Type.Optional(Duration('After the event, or after the date in field.')),
    before: Type.Optional(Duration('Before the date in field.')),
    field: Type.Optional(Path('the payload', 'departureDate')),
    at: Type.Optional(
      Type.String({
        pattern: PATTERNS.timeOfDay,
        title: 'a local time such as "09:00"',
        description: 'A local time of the tenant’s zone.',
      }),
    ),
    ifPast: MayBeEmpty(Type.Enum(['send', 'skip'])),
  },
  { ...CLOSED, title: `one of ${TIMING_FORMS}` },
)

const ConversationDocument = Type.Object({ type: Word('trip'), id: Path('the payload', 'tripId') }, CLOSED)

const TemplateDocument = Type.Object(
  {
    channel: ChannelName,
    locale: Type.Optional(Locale),
    scope: MayBeEmpty(
      Type.Object(
        {
          type: Word('listing'),
          id: Type.Unsafe<string | number>({
            type: ['string', 'integer'],
            maxLength: 200,
            minimum: Number.MIN_SAFE_INTEGER,
            maximum: Number.MAX_SAFE_INTEGER,
          }),
        },
        { ...CLOSED, title: 'an object such as { type: listing, id: "10" }' },
      ),
    ),
    subject: Type.Optional(Type.String({ maxLength: 998 })),
    body: Type.String({ maxLength: MAX_TEXT, description: 'Liquid.' }),
    providerTemplate: MayBeEmpty(
      Type.Unsafe<Record<string, unknown>>({
        ...JsonObject,
        title: 'an object, such as { name: booking_confirmed, language: en }',
      }),
    ),
  },
  { ...CLOSED, title: 'an object with channel and body' },
)

/** The fields of an event type in a catalogue file, without its templates. */
export const EVENT_TYPE_FIELDS = {
  description: Type.Optional(Type.String({ maxLength: 1_000 })),
  entity: Type.Optional(Word('booking')),
  once: MayBeEmpty(Type.Enum(['per-entity', 'per-event'])),
  payload: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      ...JsonObject,
      title: 'a JSON Schema, such as { type: object, properties: { … } }',
      description: 'JSON Schema: 2020-12, or draft-07.',
    }),
  ),
  recipients: Type.Optional(
    Type.Array(RecipientDocument, {
      maxItems: 20,
      title: 'a list such as [{ email: guestEmail }], or [] where every event names its own recipients',
    }),
  ),
  delivery: Type.Optional(DeliveryDocument),
  timing: Type.Optional(TimingDocument),
  replaces: MayBeEmpty(Type.Boolean()),
  cancelledBy: MayBeEmpty(Type.Array(Type.String({ title: 'an event type of this catalogue' }), { maxItems: 100 })),
  approval: MayBeEmpty(Type.Boolean()),
  secrets: MayBeEmpty(Type.Array(Type.String({ pattern: PATTERNS.secretPath, title: LIST_PATH }), { maxItems: 50 })),
  scopes: MayBeEmpty(
    Named(Word('listing'), Path('the payload', 'listingId'), {
      maxProperties: 10,
      title: 'an object of scope: path, such as { listing: listingId }',
    }),
  ),
  conversation: Type.Optional(
    Type.Unsafe<'entity' | Static<typeof ConversationDocument> | null>({
      anyOf: [{ const: 'entity' }, ConversationDocument, { type: 'null' }],
      title: 'entity, or { type: trip, id: <path into the payload> }',
    }),
  ),
  expiresAfter: MayBeEmpty(Duration('Cancelled if not sent this long after it was due.')),
  retry: MayBeEmpty(Type.Unsafe<unknown>({ ...JsonObject, title: 'an object such as { delays: [PT1M] }' })),
  onUndeliverable: MayBeEmpty(Type.Enum(['fail', 'park'])),
}

const EventTypeDefinitionSchema = Type.Object(EVENT_TYPE_FIELDS, CLOSED)
export type EventTypeDefinition = Static<typeof EventTypeDefinitionSchema>

const EventTypeDocument = Type.Object(
  { ...EVENT_TYPE_FIELDS, templates: MayBeEmpty(Type.Array(TemplateDocument, { maxItems: MAX_TEMPLATES })) },
  CLOSED,
)

const HasuraDocument = Type.Object(
  {
    eventType: Type.String({ title: 'an event type of this catalogue' }),
    entityId: Path('event.data', 'new.id'),
    payload: MayBeEmpty(
      Named(Type.String(), Path('event.data', 'new.id'), {
        maxProperties: 200,
        title: 'an object of field: path into event.data, such as { bookingId: new.id }',
      }),
    ),
  },
  { ...CLOSED, title: 'an object such as { eventType: booking.confirmed, entityId: new.id }' },
)

export const CatalogueSchema = Type.Object(
  {
    name: Type.Optional(Word('atlas', '^[\\w-]{1,63}$')),
    defaultLocale: Type.Optional(Locale),
    entities: MayBeEmpty(
      Named(
        Word('booking'),
        Type.String({
          pattern: '^[a-z][a-z0-9-]{0,62}$',
          title: 'a word of lower-case letters, digits and "-", such as bookings',
        }),
        {
          maxProperties: 100,
          title: 'an object of singular: plural, such as { booking: bookings }',
          description: 'Singular: plural.',
        },
      ),
    ),
    eventTypes: Named(
      Type.String({
        pattern: EVENT_TYPE_NAME.source,
        title: 'up to 100 letters, digits, ".", "_" and "-", such as booking.confirmed',
      }),
      EventTypeDocument,
      { minProperties: 1, maxProperties: 500, title: 'an object with at least one event type, by name' },
    ),
    sources: MayBeEmpty(
      Type.Object(
        {
          hasura: MayBeEmpty(
            Named(Word('booking_confirmed', '^[A-Za-z_][\\w-]{0,99}$'), HasuraDocument, {
              maxProperties: 100,
              title: 'an object of sources by trigger name',
            }),
          ),
        },
        { ...CLOSED, title: 'an object such as { hasura: { … } }' },
      ),
    ),
  },
  { ...CLOSED, title: 'an object with eventTypes' },
)

/**
 * What is left of a value that should have had a form, after everything of another form was taken out: in place of any
 * field, and of any item of a list, there may be nothing.
 */
type Remains<T> = T extends readonly (infer Item)[]
  ? (Remains<Item> | undefined)[]
  : T extends object
    ? { [Field in keyof T]?: Remains<T[Field]> }
    : T

export type CatalogueRemains = Remains<Static<typeof CatalogueSchema>>
export type EventTypeRemains = Remains<Static<typeof EventTypeDocument>>
