import { type Static, Type } from 'typebox'
import { EVENT_TYPE_NAME } from '../model/catalogue.ts'
import { CHANNELS, type Channel } from '../model/channel.ts'
import type { FieldError } from '../model/errors.ts'
import {
  BodyFormatName,
  ChannelName,
  EntityRef,
  Instant,
  instantMs,
  JsonObject,
  Line,
  LocaleTag,
  Nullable,
  withoutNulls,
} from './body-fields.ts'

export const MAX_IDEMPOTENCY_KEY = 255

const idempotencyKey = Type.Optional(
  Nullable(Line(1, MAX_IDEMPOTENCY_KEY, 'Unique per tenant; a repeat is refused. Absent: the notification’s own id.')),
)

/** Fields of an address that a caller may give. */
export const AddressFields = {
  name: Type.Optional(Nullable(Line(0, 200))),
  email: Type.Optional(Nullable(Line(1, 254))),
  phone: Type.Optional(Nullable(Line(1, 40, 'E.164'))),
  deviceToken: Type.Optional(Nullable(Line(1, 4_096))),
  platform: Type.Optional(Nullable(Type.Enum(['fcm', 'wns']))),
  userId: Type.Optional(Nullable(Line(1, 200))),
  url: Type.Optional(Nullable(Line(1, 2_048))),
}

/** One notification, straight to the ledger. */
export const NotificationBody = Type.Object(
  {
    idempotencyKey,
    channel: ChannelName,
    to: Type.Object(
      {
        ...AddressFields,
        contactId: Type.Optional(Nullable(Line(1, 36, 'A contact: its addresses are used where none is given here.'))),
        list: Type.Optional(
          Nullable(Line(1, 200, 'A recipient list by name, resolved when it is sent: one email, everybody in BCC.')),
        ),
      },
      { additionalProperties: false, description: 'What the channel needs, and what its fallbacks need.' },
    ),
    expand: Type.Optional(
      Nullable(Type.Boolean({ description: 'For to.list: one notification per member, made now.' })),
    ),
    subject: Type.Optional(Nullable(Line(0, 998))),
    body: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 1_000_000 }))),
    format: Type.Optional(
      Nullable({
        ...BodyFormatName,
        description: 'What body is. Absent: HTML where it is a mail and has an element of HTML.',
      }),
    ),
    data: Type.Optional(Nullable(JsonObject)),
    templateId: Type.Optional(Nullable(Line(1, 36, 'In place of subject and body: this template of the channel.'))),
    eventType: Type.Optional(
      Nullable(
        Type.String({
          pattern: EVENT_TYPE_NAME.source,
          description: 'In place of subject and body: the template that planning would choose.',
        }),
      ),
    ),
    context: Type.Optional(Nullable(JsonObject)),
    locale: Type.Optional(Nullable(LocaleTag)),
    entity: Type.Optional(Nullable(EntityRef)),
    dueAt: Type.Optional(Nullable(Instant('Not before this time.'))),
    expiresAt: Type.Optional(Nullable(Instant('Cancelled if not sent by then.'))),
    fallback: Type.Optional(Nullable(Type.Array(ChannelName, { maxItems: CHANNELS.length }))),
    correlationId: Type.Optional(Nullable(Line(1, 200))),
    executionId: Type.Optional(Nullable(Line(1, 200))),
    parentExecutionId: Type.Optional(Nullable(Line(1, 200))),
  },
  {
    additionalProperties: false,
    title: 'NewNotification',
    examples: [
      {
        idempotencyKey: 'order-123-paid',
        channel: 'email',
        to: { email: 'ada@example.com', name: 'Ada' },
        subject: 'Paid',
        body: 'Thank you for your order.',
        fallback: ['sms'],
      },
    ],
  },
)
export type NotificationBody = Static<typeof NotificationBody>

/** The flat form of push senders, taken as it stands. */
export const PushBody = Type.Object(
  {
    idempotencyKey,
    targetPlatform: Type.Enum(['FCM', 'WNS']),
    deviceToken: Line(1, 4_096),
    title: Line(1, 998),
    body: Type.String({ minLength: 1, maxLength: 100_000 }),
    data: Type.Optional(Nullable(JsonObject)),
  },
  {
    additionalProperties: false,
    title: 'NewPush',
    examples: [
      {
        idempotencyKey: 'order-123-paid',
        targetPlatform: 'FCM',
        deviceToken: 'a-device-token',
        title: 'Paid',
        body: 'Thank you for your order.',
        data: { orderId: '123' },
      },
    ],
  },
)
export type PushBody = Static<typeof PushBody>

/** Told by the fields that only the flat form has. */
export function isPushBody(body: unknown): body is PushBody {
  return (
    typeof body === 'object' && body !== null && ('targetPlatform' in body || 'deviceToken' in body || 'title' in body)
  )
}

/** A key leaves room for the member's id behind it. */
const MAX_EXPANDED_KEY = 200

export function fromPush(body: PushBody): NotificationBody {
  return {
    idempotencyKey: body.idempotencyKey ?? null,
    channel: 'push',
    to: { deviceToken: body.deviceToken, platform: body.targetPlatform === 'FCM' ? 'fcm' : 'wns' },
    subject: body.title,
    body: body.body,
    data: body.data ?? {},
  }
}

/** The channels to try, in order. */
export function chainOf({ channel, fallback }: NotificationBody): Channel[] {
  return [...new Set([channel, ...(fallback ?? [])])]
}

export function bodyProblems(body: NotificationBody): FieldError[] {
  const problems: FieldError[] = []
  if (body.to.list && body.fallback?.length && !body.expand)
    problems.push({ path: '/fallback', message: 'cannot be used with to.list, unless with expand: true' })
  if (body.expand && !body.to.list) problems.push({ path: '/expand', message: 'needs to.list' })
  const dueAt = instantMs(body.dueAt)
  const expiresAt = instantMs(body.expiresAt)
  if (expiresAt !== null && dueAt !== null && expiresAt <= dueAt)
    problems.push({ path: '/expiresAt', message: 'must be after dueAt' })
  if (body.fallback?.includes(body.channel))
    problems.push({ path: '/fallback', message: 'must not name the channel itself' })
  return problems
}

export function expandProblems({ to, channel, idempotencyKey: key }: NotificationBody): FieldError[] {
  const problems: FieldError[] = []
  for (const field of Object.keys(withoutNulls(to)))
    if (field !== 'list') problems.push({ path: `/to/${field}`, message: 'cannot stand beside list' })
  if (!['email', 'sms', 'whatsapp'].includes(channel))
    problems.push({
      path: '/channel',
      message: 'must be email, sms or whatsapp: members of a list have no other address',
    })
  if (!key)
    problems.push({ path: '/idempotencyKey', message: 'is required with expand, so that it can be repeated safely' })
  else if (key.length > MAX_EXPANDED_KEY)
    problems.push({ path: '/idempotencyKey', message: `must have at most ${MAX_EXPANDED_KEY} characters with expand` })
  return problems
}
