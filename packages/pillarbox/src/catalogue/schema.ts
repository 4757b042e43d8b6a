import { type Static, type TProperties, type TSchema, type TUnsafe, Type } from 'typebox'
import { EVENT_TYPE_NAME, ONCE_PER } from '../model/catalogue.ts'
import { BodyFormatName, ChannelName, JsonObject, Nullable } from '../model/schema-pieces.ts'
import { PATTERNS } from './text-forms.ts'

/**
 * The form of a catalogue file, declared once: form.ts checks files by it, the types below are read off it, and the
 * OpenAPI document shows it. A `title` completes "must be …" for the author of a file that is refused; a `description`
 * is for readers of the API's documentation. What a schema cannot say is checked afterwards, in parse.ts.
 */

export const MAX_TEMPLATES = 5_000
export const MAX_TEXT = 100_000

/** A field that a file may leave out, or leave empty (`templates:` with nothing behind it). */
const MayBeEmpty = <T extends TSchema>(schema: T) => Type.Optional(Nullable(schema))

/** An object with known fields, and no others. */
const Fields = <T extends TProperties>(title: string, fields: T, options: object = {}) =>
  Type.Object(fields, { title, additionalProperties: false, ...options })

/** An object whose keys are the author's own. */
function Named<T extends TSchema>(
  title: string,
  name: TSchema,
  value: T,
  options: { maxProperties: number; minProperties?: number; description?: string },
): TUnsafe<Record<string, Static<T>>> {
  return Type.Unsafe({ title, type: 'object', propertyNames: name, additionalProperties: value, ...options })
}

/** An object whose fields are not known here. */
const AnyObject = <T = Record<string, unknown>>(title: string, description?: string) =>
  Type.Unsafe<T>({ ...JsonObject, title, ...(description !== undefined && { description }) })

const Text = (title: string, pattern: string, description?: string) =>
  Type.String({ title, pattern, ...(description !== undefined && { description }) })

const Word = (example: string, pattern = '^[A-Za-z][\\w-]{0,62}$') =>
  Text(`a word of letters, digits, "_" and "-", such as ${example}`, pattern)

const Locale = Text('a locale, such as de-DE', '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$')

const Path = (example: string, into = 'the payload') =>
  Text(`a dot path into ${into}, such as ${example}`, PATTERNS.path)

const LIST_PATH = 'a dot path into the payload, such as guest.phone or passengers[].phone'

const RecipientPath = MayBeEmpty(
  Text(LIST_PATH, PATTERNS.recipientPath, 'Dot path; passengers[].phone makes one recipient of each element.'),
)

const Duration = (description: string) =>
  Type.String({ format: 'duration', title: 'an ISO 8601 duration such as PT24H', description })

const EventTypeRef = Type.String({ title: 'an event type of this catalogue' })

const RecipientForm = Fields('an object of dot paths into the payload, such as { email: guestEmail }', {
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
    Text('the name of a recipient list, such as ops-team', '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,200}$'),
  ),
  expand: MayBeEmpty(Type.Boolean({ description: 'One notification per member of the list.' })),
})

const Only = Type.Optional(Type.Unsafe<true>({ const: true, title: 'true, or be left out' }))
const ChannelsForm = Type.Optional(Type.Array(ChannelName, { minItems: 1, maxItems: 20, uniqueItems: true }))

const DeliveryForm = Fields(
  'exactly one of { all: true }, { channels: [sms] }, { fallback: [whatsapp, sms] } and { none: true }',
  { all: Only, channels: ChannelsForm, fallback: ChannelsForm, none: Only },
  { minProperties: 1, maxProperties: 1 },
)

export const TIMING_FORMS =
  '{ after: PT24H }, { before: PT24H, field: departureDate }, { after: PT2H, field: … } or { at: "09:00", … }'

const TimingForm = Fields(`one of ${TIMING_FORMS}`, {
  after: Type.Optional(Duration('After the event, or after the date in field.')),
  before: Type.Optional(Duration('Before the date in field.')),
  field: Type.Optional(Path('departureDate')),
  at: Type.Optional(Text('a local time such as "09:00"', PATTERNS.timeOfDay, 'In the tenant’s zone.')),
  ifPast: MayBeEmpty(Type.Enum(['send', 'skip'])),
})

const ConversationForm = Fields('entity, or { type: trip, id: <path into the payload> }', {
  type: Word('trip'),
  id: Path('tripId'),
})

const ScopeForm = Fields('an object such as { type: listing, id: "10" }', {
  type: Word('listing'),
  id: Type.Unsafe<string | number>({
    type: ['string', 'integer'],
    maxLength: 200,
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
  }),
})

const TemplateForm = Fields('an object with channel and body', {
  channel: ChannelName,
  locale: Type.Optional(Locale),
  scope: MayBeEmpty(ScopeForm),
  subject: Type.Optional(Type.String({ maxLength: 998 })),
  body: Type.String({ maxLength: MAX_TEXT, description: 'Liquid.' }),
  format: MayBeEmpty(BodyFormatName),
  providerTemplate: MayBeEmpty(AnyObject('an object, such as { name: booking_confirmed, language: en }')),
})

/** The fields of an event type in a catalogue file, without its templates. */
export const EVENT_TYPE_FIELDS = {
  description: Type.Optional(Type.String({ maxLength: 1_000 })),
  entity: Type.Optional(Word('booking')),
  once: MayBeEmpty(Type.Enum([...ONCE_PER])),
  payload: Type.Optional(
    AnyObject('a JSON Schema, such as { type: object, properties: { … } }', 'JSON Schema: 2020-12, or draft-07.'),
  ),
  recipients: Type.Optional(
    Type.Array(RecipientForm, {
      maxItems: 20,
      title: 'a list such as [{ email: guestEmail }], or [] where every event names its own recipients',
    }),
  ),
  delivery: Type.Optional(DeliveryForm),
  timing: Type.Optional(TimingForm),
  replaces: MayBeEmpty(Type.Boolean()),
  cancelledBy: MayBeEmpty(Type.Array(EventTypeRef, { maxItems: 100 })),
  approval: MayBeEmpty(Type.Boolean()),
  secrets: MayBeEmpty(Type.Array(Text(LIST_PATH, PATTERNS.secretPath), { maxItems: 50 })),
  scopes: MayBeEmpty(
    Named('an object of scope: path, such as { listing: listingId }', Word('listing'), Path('listingId'), {
      maxProperties: 10,
    }),
  ),
  conversation: Type.Optional(
    // No anyOf: keywords of texts look at texts only, those of objects at objects, and each says what it misses.
    Type.Unsafe<'entity' | Static<typeof ConversationForm> | null>({
      ...ConversationForm,
      type: ['string', 'object', 'null'],
      pattern: '^entity$',
    }),
  ),
  expiresAfter: MayBeEmpty(Duration('Cancelled if not sent this long after it was due.')),
  retry: MayBeEmpty(AnyObject<unknown>('an object such as { delays: [PT1M] }')),
  onUndeliverable: MayBeEmpty(Type.Enum(['fail', 'park'])),
}

const EventTypeForm = Fields('an object such as { entity: booking, recipients: [], templates: [] }', {
  ...EVENT_TYPE_FIELDS,
  templates: MayBeEmpty(Type.Array(TemplateForm, { maxItems: MAX_TEMPLATES })),
})

const HasuraSourceForm = Fields('an object such as { eventType: booking.confirmed, entityId: new.id }', {
  eventType: EventTypeRef,
  entityId: Path('new.id', 'event.data'),
  payload: MayBeEmpty(
    Named(
      'an object of field: path into event.data, such as { bookingId: new.id }',
      Type.String(),
      Path('new.id', 'event.data'),
      { maxProperties: 200 },
    ),
  ),
})

const EntitiesForm = Named(
  'an object of singular: plural, such as { booking: bookings }',
  Word('booking'),
  Text('a word of lower-case letters, digits and "-", such as bookings', '^[a-z][a-z0-9-]{0,62}$'),
  { maxProperties: 100, description: 'Singular: plural.' },
)

const EventTypeName = Text(
  'up to 100 letters, digits, ".", "_" and "-", such as booking.confirmed',
  EVENT_TYPE_NAME.source,
)

const DomainEventsForm = Named(
  'an object of name: event types, such as { CheckoutAbandoned: [checkout.mail, checkout.whatsapp], LedgerClosed: [] }',
  EventTypeName,
  Type.Array(EventTypeRef, { maxItems: 20, uniqueItems: true, title: 'a list of event types; [] for none' }),
  { maxProperties: 500, description: 'What a name may be published for that is no event type.' },
)

const TriggerName = Word('booking_confirmed', '^[A-Za-z_][\\w-]{0,99}$')

export const CatalogueSchema = Fields('an object with eventTypes', {
  name: Type.Optional(Word('atlas', '^[\\w-]{1,63}$')),
  defaultLocale: Type.Optional(Locale),
  timeZone: MayBeEmpty(Type.String({ maxLength: 64, title: 'an IANA time zone, such as Asia/Kolkata' })),
  region: MayBeEmpty(Type.String({ maxLength: 2, title: 'the two letters of a country (ISO 3166), such as IN' })),
  currency: MayBeEmpty(Type.String({ maxLength: 3, title: 'the three letters of a currency (ISO 4217), such as INR' })),
  dateFormat: MayBeEmpty(Type.String({ maxLength: 60, title: 'short, medium, long, full, iso, or a pattern' })),
  entities: MayBeEmpty(EntitiesForm),
  eventTypes: Named('an object with at least one event type, by name', EventTypeName, EventTypeForm, {
    minProperties: 1,
    maxProperties: 500,
  }),
  domainEvents: MayBeEmpty(DomainEventsForm),
  sources: MayBeEmpty(
    Fields('an object such as { hasura: { … } }', {
      hasura: MayBeEmpty(
        Named('an object of sources by trigger name', TriggerName, HasuraSourceForm, { maxProperties: 100 }),
      ),
    }),
  ),
})

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
export type EventTypeRemains = Remains<Static<typeof EventTypeForm>>

/** An event type as a catalogue file has it, without its templates. */
export type EventTypeDefinition = Omit<Static<typeof EventTypeForm>, 'templates'>
