import {
  CHANNELS,
  LATEST_MS,
  MAX_ID_LENGTH,
  MAX_JSON_DEPTH,
  MAX_PAYLOAD_BYTES,
  MAX_RECIPIENTS,
  MAX_SCHEMA_VERSION,
  RECIPIENT_LENGTHS,
} from '@pillarbox/client/contract'

/** An event as every way in takes it, without its tenant. */
export const GOOD_EVENT = {
  type: 'booking.confirmed',
  entity: { type: 'booking', id: '1' },
  payload: { bookingId: 1, note: 'Zoë’s "room"' } as unknown,
}

/** The ways that cannot be given a case at all: JSON has no dates and no NaN, SQL no argument for the schema's version. */
export type Kind =
  /** Every way in can be given it. */
  | 'any'
  /** Only `publish()` can: it is no JSON. */
  | 'javascript'
  /** Only HTTP and SQL can: JavaScript values cannot hold it. `payloadText` is the payload. */
  | 'json'
  /** The SQL function has no argument, or another type of argument, for it. */
  | 'not sql'
  /** Over HTTP the key says which tenant it is. */
  | 'not http'

export interface EventCase {
  name: string
  kind: Kind
  /** What the case changes in `GOOD_EVENT`; undefined leaves a field out. */
  changes: Record<string, unknown>
  payloadText?: string
  /** Where `publish()` and HTTP find the fault and the beginning of what they say; null where the event is taken. */
  refused: { path: string; words: string } | null
  /** What the SQL function says where it does not know the place as exactly; default: the same. */
  sqlWords?: string
  /** The rule is one that JSON Schema cannot state. */
  isBeyondSchema?: boolean
}

const LONGEST_ID = 'é'.repeat(MAX_ID_LENGTH - 1)
const LINE = (most: number): string => `must be one line of 1 to ${most} characters without control characters`
const ENTITY = 'must be 1 to 63 letters, digits, "_" and "-", a letter first'
const LOCALE = 'must be a locale such as de-DE'
const TOPIC = 'must be 1 to 200 letters, digits, ".", "_" and "-", a letter or digit first'
const TRACEPARENT =
  'must be a traceparent by W3C Trace Context, such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const TIME = 'must be a time of the years 1970 to 9998 with its zone, such as 2026-03-15T09:00:00Z'
const RECIPIENT_FIELDS = 'profileId, userId, name, phone, email, locale'

function nested(levels: number): object {
  let value: object = {}
  for (let level = 1; level < levels; level += 1) value = { inner: value }
  return value
}

type Options = Partial<Pick<EventCase, 'kind' | 'payloadText' | 'sqlWords' | 'isBeyondSchema'>>

const taken = (name: string, changes: Record<string, unknown>, options: Options = {}): EventCase => ({
  name,
  kind: 'any',
  changes,
  refused: null,
  ...options,
})

const refused = (
  name: string,
  changes: Record<string, unknown>,
  path: string,
  words: string,
  options: Options = {},
): EventCase => ({ name, kind: 'any', changes, refused: { path, words }, ...options })

/** A line of text in a field of its own, at its limits; `make` puts the text in its place. */
function lines(path: string, most: number, make: (text: string) => Record<string, unknown>): EventCase[] {
  const words = LINE(most)
  return [
    taken(`${path} of ${most} characters`, make('x'.repeat(most))),
    taken(`${path} of ${most} characters beyond the basic plane`, make('🎉'.repeat(most))),
    refused(`${path} of ${most + 1} characters`, make('x'.repeat(most + 1)), path, words),
    ...['a\nb', 'a\tb', 'a\u007fb', 'a\u0085b', 'a\u2028b', 'a\u2029b'].map((text) =>
      refused(`${path} with ${JSON.stringify(text)}`, make(text), path, words),
    ),
  ]
}

const ids: EventCase[] = [
  ...lines('/id', MAX_ID_LENGTH, (id) => ({ id })),
  refused('an empty id', { id: '' }, '/id', LINE(200)),
  refused('an id that is a number', { id: 7 }, '/id', LINE(200), { kind: 'not sql' }),
  ...lines('/entity/id', MAX_ID_LENGTH, (id) => ({ entity: { type: 'booking', id } })),
  refused('an empty id of the entity', { entity: { type: 'booking', id: '' } }, '/entity/id', LINE(200)),
  refused('null for the id of the entity', { entity: { type: 'booking', id: null } }, '/entity/id', LINE(200)),
  ...lines('/correlationId', MAX_ID_LENGTH, (correlationId) => ({ correlationId })),
  refused('an empty correlation id', { correlationId: '' }, '/correlationId', LINE(200)),
]

const names: EventCase[] = [
  taken('a type of 100 characters', { type: `0${'A._-'.repeat(24)}abc` }),
  refused('a type of 101 characters', { type: `0${'A._-'.repeat(25)}` }, '/type', 'must be 1 to 100 letters, digits'),
  refused('an empty type', { type: '' }, '/type', 'must be 1 to 100 letters'),
  refused('null for a type', { type: null }, '/type', 'must be 1 to 100 letters'),
  refused('a type with a space', { type: 'booking confirmed' }, '/type', 'must be 1 to 100 letters'),
  refused('a type that ends with a line break', { type: 'booking.confirmed\n' }, '/type', 'must be 1 to 100 letters'),
  refused('a type that begins with a dot', { type: '.confirmed' }, '/type', 'must be 1 to 100 letters'),
  taken('an entity type of 63 characters', {
    type: 'long.entity',
    entity: { type: `A${'_-9'.repeat(20)}xy`, id: '1' },
  }),
  refused('an entity type of 64 characters', { entity: { type: 'a'.repeat(64), id: '1' } }, '/entity/type', ENTITY),
  refused('an entity type that begins with a digit', { entity: { type: '1', id: '1' } }, '/entity/type', ENTITY),
  refused(
    'an entity with more fields',
    { entity: { type: 'booking', id: '1', name: 'x' } },
    '/entity/name',
    'is not one',
    {
      kind: 'not sql',
    },
  ),
  refused('no entity', { entity: undefined }, '/entity', 'must be { type, id }', { kind: 'not sql' }),
  taken('a tenant of 63 characters', { tenantId: 'a'.repeat(63) }, { kind: 'not http' }),
  ...['a'.repeat(64), '', 'Atlas Homes', null].map((tenantId) =>
    refused(`the tenant ${JSON.stringify(tenantId).slice(0, 20)}`, { tenantId }, '/tenantId', 'must be 1 to 63 of', {
      kind: 'not http',
    }),
  ),
  refused('a field that no event has', { due_at: null }, '/due_at', 'is not one of', { kind: 'not sql' }),
  ...['booking.events', 'A', '0_-.', 't'.repeat(200)].map((topic) => taken(`the topic ${topic}`, { topic })),
  ...['', '.events', 'a b', 'a/b', 'a\n', 'é', 't'.repeat(201)].map((topic) =>
    refused(`the topic ${JSON.stringify(topic)}`, { topic }, '/topic', TOPIC),
  ),
  refused('a topic that is a number', { topic: 1 }, '/topic', TOPIC, { kind: 'not sql' }),
  ...['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', `fe-${'1'.repeat(32)}-${'f'.repeat(16)}-00`].map(
    (traceparent) => taken(`the trace ${traceparent}`, { traceparent }),
  ),
  ...[
    '',
    '00',
    '00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more',
    'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`,
  ].map((traceparent) =>
    refused(`the trace ${JSON.stringify(traceparent)}`, { traceparent }, '/traceparent', TRACEPARENT),
  ),
  refused('a trace that is a number', { traceparent: 1 }, '/traceparent', TRACEPARENT, { kind: 'not sql' }),
  ...['zh-Hant-TW', 'de', 'gsw-CH', `en${'-variant1'.repeat(3)}-abcde`].map((locale) =>
    taken(`the locale ${locale}`, { locale }),
  ),
  ...['German', 'd', 'DE', 'de_DE', 'de-', `en${'-variant1'.repeat(3)}-abcdef`, ''].map((locale) =>
    refused(`the locale ${JSON.stringify(locale)}`, { locale }, '/locale', LOCALE),
  ),
]

const times: EventCase[] = [
  taken('the first instant of 1970', { dueAt: '1970-01-01T00:00:00Z', occurredAt: '1970-01-01T05:30:00+05:30' }),
  taken('the last instant of 9998', { dueAt: '9998-12-31T23:59:59.999Z', occurredAt: '2026-03-15T09:00:00.5-09:30' }),
  // Which the format date-time of RFC 3339 does not know.
  taken('a time without seconds', { dueAt: '2026-03-15T09:00Z' }, { isBeyondSchema: true }),
  taken('a time as a Date', { dueAt: new Date(LATEST_MS) }, { kind: 'javascript' }),
  refused('a Date that is none', { dueAt: new Date(Number.NaN) }, '/dueAt', TIME, { kind: 'javascript' }),
  ...['1969-12-31T23:59:59Z', '1970-01-01T00:00:00+05:00', '9999-01-01T00:00:00Z'].flatMap((time) => [
    refused(`due at ${time}`, { dueAt: time }, '/dueAt', TIME, { isBeyondSchema: true }),
    refused(`occurred at ${time}`, { occurredAt: time }, '/occurredAt', TIME, { isBeyondSchema: true }),
  ]),
  ...['infinity', '-infinity', '294276-01-01T00:00:00Z'].map((dueAt) =>
    refused(`due at ${dueAt}`, { dueAt }, '/dueAt', TIME),
  ),
  // PostgreSQL reads the text of a timestamptz itself, and reads more forms than these.
  ...['2026-03-15', '2026-03-15T09:00:00', '2026-02-30T09:00:00Z', '2026-03-15T24:00:00Z', 'soon', ''].map((dueAt) =>
    refused(`due at ${JSON.stringify(dueAt)}`, { dueAt }, '/dueAt', TIME, { kind: 'not sql' }),
  ),
  refused('due at a number', { dueAt: 1_800_000_000_000 }, '/dueAt', TIME, { kind: 'not sql' }),
]

const TOO_LARGE = `must not be larger than 1 MiB (1048576 bytes) as JSON, and has 1048577 bytes`
const OBJECT = 'must be an object such as {"bookingId": 1}'
const beyond = { isBeyondSchema: true }
const NUL = 'must not hold the NUL character'
const HALF = 'must not hold half of a surrogate pair'
const room = MAX_PAYLOAD_BYTES - '{"text":""}'.length

const payloads: EventCase[] = [
  taken('a payload that is left out', { payload: undefined }),
  taken('an empty payload', { payload: {} }),
  ...[null, [], 5, 'text', true].map((payload) =>
    refused(`the payload ${JSON.stringify(payload)}`, { payload }, '/payload', OBJECT),
  ),
  taken('a payload of 1 MiB', { payload: { text: 'x'.repeat(room) } }),
  refused('a payload of 1 MiB and a byte', { payload: { text: 'x'.repeat(room + 1) } }, '/payload', TOO_LARGE, beyond),
  refused(
    'a payload of 1 MiB and a byte in two-byte characters',
    { payload: { text: `x${'é'.repeat(room / 2)}x` } },
    '/payload',
    TOO_LARGE,
    beyond,
  ),
  taken(`a payload of ${MAX_JSON_DEPTH} levels`, { payload: nested(MAX_JSON_DEPTH) }),
  taken('brackets in texts, which are no levels', { payload: { text: '[{'.repeat(100) } }),
  taken('many brackets on few levels', { payload: { list: Array.from({ length: 100 }, () => [{}]) } }),
  refused(
    `a payload of ${MAX_JSON_DEPTH + 1} levels`,
    { payload: nested(MAX_JSON_DEPTH + 1) },
    `/payload${'/inner'.repeat(MAX_JSON_DEPTH)}`,
    'is nested deeper than 32 levels',
    beyond,
  ),
  refused('NUL in a text', { payload: { text: 'a\0b' } }, '/payload/text', NUL, beyond),
  refused('NUL in a key', { payload: { 'a\0': 1 } }, '/payload/a\0', NUL, beyond),
  refused('half a surrogate pair', { payload: { text: '\\\ud800' } }, '/payload/text', HALF, beyond),
  refused('a reversed surrogate pair', { payload: { text: '\udc00\ud800' } }, '/payload/text', HALF, beyond),
  taken('texts that look like escapes', { payload: { text: '\\u0000 \\ud800 \\\\ud800 🎉 \u0001 \\', '\\u0000': 1 } }),
  taken('keys that every object inherits', {
    payload: { constructor: { prototype: { a: 1 } }, prototype: 1, toString: 'x', hasOwnProperty: null },
  }),
  taken('keys that are empty, long and odd', { payload: { '': 1, [`${'k'.repeat(5_000)}`]: 2, ' a.b/c~d[0]"': 3 } }),
  refused(
    'a key __proto__',
    { payload: JSON.parse('{"a":[{"__proto__":{"x":1}}]}') },
    '/payload/a/0/__proto__',
    'is a name that readers of JSON may take for a prototype',
    { ...beyond, sqlWords: 'must not have a key __proto__' },
  ),
  taken('__proto__ as a text', { payload: { text: '__proto__', more: ['__proto__', { a: '"__proto__":' }] } }),
  taken('numbers at the edge of what is exact', {
    payload: {
      a: 9_007_199_254_740_991,
      b: -9_007_199_254_740_991,
      c: 2 ** 60,
      d: 1e20,
      e: 1e21,
      f: 0.1,
      g: 1.7e308,
      h: 5e-324,
    },
  }),
  ...['9007199254740993', '-9007199254740993', '12345678901234567890', '1152921504606846976', `1${'0'.repeat(21)}`].map(
    (number) =>
      refused(
        `the number ${number}`,
        {},
        '/payload/a/0',
        'is a whole number that a reader of JSON may not keep exactly',
        {
          ...beyond,
          kind: 'json',
          payloadText: `{"a":[${number}]}`,
          sqlWords: 'must not hold a number that a reader of JSON may not keep exactly',
        },
      ),
  ),
  ...['1e400', '-1E+309', '1e99999'].map((number) =>
    refused(`the number ${number}`, {}, '/payload/a', `is ${Number(number)}, which JSON cannot hold`, {
      ...beyond,
      kind: 'json',
      payloadText: `{"a":${number}}`,
      sqlWords: 'must not hold a number that a reader of JSON may not keep exactly',
    }),
  ),
  taken(
    'numbers in other spellings',
    {},
    { kind: 'json', payloadText: '{"a":1E3,"b":-0.50,"c":1e-7,"d":100000000000000000000}' },
  ),
  taken('long numbers in texts', { payload: { id: '9007199254740993', more: ['1e400 12345678901234567890'] } }),
  taken('a key that stands in two objects', { payload: { a: { b: 1 }, c: { b: 1 } } }),
  ...['{"a":1,"a":2}', '{"x":[{"a":1,"b":{},"\\u0061":1}]}'].map((payloadText) =>
    refused(`a key twice in ${payloadText}`, {}, '', 'The body has the key "a" twice in one object', {
      ...beyond,
      kind: 'json',
      payloadText,
      sqlWords: 'must not have a key twice in one object',
    }),
  ),
  ...(
    [
      ['NaN', Number.NaN, 'is NaN, which JSON cannot hold'],
      ['Infinity', Number.POSITIVE_INFINITY, 'is Infinity, which JSON cannot hold'],
      ['a bigint', 1n, 'is a bigint'],
      ['a large bigint', 2n ** 60n, 'is a whole number that a reader of JSON may not keep exactly'],
      ['a function', () => 1, 'is a function, which JSON would drop'],
      ['a symbol', Symbol('x'), 'is a symbol, which JSON would drop'],
      ['a Map', new Map(), 'is an instance of Map'],
      ['an invalid Date', new Date(Number.NaN), 'is an invalid Date'],
      ['undefined in a list', undefined, 'is undefined inside a list'],
      ['a symbol for a key', { [Symbol('x')]: 1 }, 'has the key Symbol(x)'],
    ] as const
  ).map(([name, value, words]) =>
    refused(`${name} in the payload`, { payload: { list: [value] } }, '/payload/list/0', words, { kind: 'javascript' }),
  ),
  taken('dates and undefined', { payload: { at: new Date(0), none: undefined } }, { kind: 'javascript' }),
]

const recipients: EventCase[] = [
  taken('a recipient with all fields', {
    recipients: [{ profileId: 'p', userId: 'u', name: 'N', phone: '+1', email: 'e@x', locale: 'de' }, {}],
  }),
  taken('a recipient with nulls and an empty name', {
    recipients: [{ name: '', phone: null, email: 'a@b' }, { name: null }],
  }),
  taken('null for all that may be left out', {
    id: null,
    dueAt: null,
    occurredAt: null,
    correlationId: null,
    topic: null,
    traceparent: null,
    locale: null,
    recipients: null,
    channels: null,
    conversation: null,
  }),
  taken(`${MAX_RECIPIENTS} recipients`, { recipients: Array.from({ length: MAX_RECIPIENTS }, () => ({ phone: '1' })) }),
  refused(
    `${MAX_RECIPIENTS + 1} recipients`,
    { recipients: Array.from({ length: MAX_RECIPIENTS + 1 }, () => ({})) },
    '/recipients',
    'must be a list of 1 to 10000 recipients',
  ),
  refused('no recipient', { recipients: [] }, '/recipients', 'must be a list of 1 to 10000 recipients'),
  refused('an object for recipients', { recipients: {} }, '/recipients', 'must be a list of 1 to 10000 recipients'),
  refused(
    'a recipient that is a text',
    { recipients: [{}, 'guest'] },
    '/recipients/1',
    `must be an object with some of ${RECIPIENT_FIELDS}`,
  ),
  refused(
    'an unknown field of a recipient',
    { recipients: [{ fax: null }] },
    '/recipients/0/fax',
    `is not one of ${RECIPIENT_FIELDS}`,
  ),
  refused(
    'a contact for a recipient',
    { recipients: [{ contactId: 'c' }] },
    '/recipients/0/contactId',
    'is not one of',
  ),
  refused('a number for a phone', { recipients: [{ phone: 7 }] }, '/recipients/0/phone', LINE(40)),
  refused('an empty phone', { recipients: [{}, { phone: '' }] }, '/recipients/1/phone', LINE(40)),
  refused('a locale of a recipient', { recipients: [{ locale: 'German' }] }, '/recipients/0/locale', LOCALE),
  refused('half a surrogate pair in a name', { recipients: [{ name: '\ud800' }] }, '/recipients/0/name', HALF, beyond),
  ...Object.entries(RECIPIENT_LENGTHS).flatMap(([field, most]) =>
    lines(`/recipients/0/${field}`, most, (text) => ({ recipients: [{ [field]: text }] })),
  ),
]

const rest: EventCase[] = [
  taken('every channel, some twice', { channels: [...CHANNELS.toReversed(), ...CHANNELS] }),
  refused('no channel', { channels: [] }, '/channels', 'must be a list of at least one channel'),
  refused('a text for channels', { channels: 'sms' }, '/channels', 'must be a list of at least one channel'),
  refused('an unknown channel', { channels: ['sms', 'pigeon'] }, '/channels/1', 'must be one of whatsapp, sms, email'),
  refused('null for a channel', { channels: [null] }, '/channels/0', 'must be one of whatsapp, sms, email'),
  taken('a conversation', { conversation: { id: LONGEST_ID, type: 'trip' } }),
  refused('a text for a conversation', { conversation: 'booking' }, '/conversation', 'must be { type, id }'),
  refused('a conversation without an id', { conversation: { type: 'booking' } }, '/conversation/id', LINE(200)),
  refused('a conversation with a bad type', { conversation: { type: 1, id: '1' } }, '/conversation/type', ENTITY),
  refused(
    'a conversation with more',
    { conversation: { type: 'a', id: '1', x: 1 } },
    '/conversation/x',
    'is not one of type, id',
  ),
  ...lines('/conversation/id', MAX_ID_LENGTH, (id) => ({ conversation: { type: 'trip', id } })),
  taken('a version of the schema', { schemaVersion: MAX_SCHEMA_VERSION }, { kind: 'not sql' }),
  taken('null for the version of the schema', { schemaVersion: null }, { kind: 'not sql' }),
  ...[0, 1.5, MAX_SCHEMA_VERSION + 1, '1'].map((schemaVersion) =>
    refused(
      `the version ${JSON.stringify(schemaVersion)}`,
      { schemaVersion },
      '/schemaVersion',
      'must be a whole number from 1',
      {
        kind: 'not sql',
      },
    ),
  ),
]

/** Good and bad events. Every way in must answer each of them alike, and store alike what it takes. */
export const CORPUS: readonly EventCase[] = [...ids, ...names, ...times, ...payloads, ...recipients, ...rest]
