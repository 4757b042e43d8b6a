import { type Static, Type } from 'typebox'
import {
  BodyFormatName,
  ChannelName,
  EntityType,
  JsonObject,
  Line,
  LocaleTag,
  Nullable,
} from '../intake/body-fields.ts'
import { EVENT_TYPE_NAME } from '../model/catalogue.ts'
import type { Warning } from '../model/notification.ts'
import type { Template } from '../model/template.ts'
import { Closed, Id, ReadVersion, TextOrNull, Time, WarningSchema, withTimes } from './schemas.ts'

/** Templates as callers write and read them. */

export const EventTypeName = Type.String({
  pattern: EVENT_TYPE_NAME.source,
  description: 'One of the tenant’s catalogue.',
})

export const templateWords = {
  subject: Type.Optional(Nullable(Line(0, 998, 'Liquid.'))),
  body: Type.String({ minLength: 1, maxLength: 100_000, description: 'Liquid.' }),
  format: Type.Optional(Nullable(BodyFormatName)),
  providerTemplate: Type.Optional(
    Nullable(
      Type.Unsafe<Record<string, unknown>>({
        ...JsonObject,
        description:
          'WhatsApp: name, language, components. SMS: dltTemplateId, dltEntityId, flowId. Text in it is Liquid.',
      }),
    ),
  ),
}

const place = {
  eventType: EventTypeName,
  channel: ChannelName,
  locale: Type.Optional({ ...LocaleTag, description: 'Absent: the tenant’s default.' }),
  scopeType: Type.Optional(Nullable(EntityType)),
  scopeId: Type.Optional(Nullable(Line(1, 200))),
}

export const templateFields = { ...place, ...templateWords, isActive: Type.Optional(Type.Boolean()) }
export const TemplateBody = Closed(templateFields, {
  title: 'NewTemplate',
  examples: [
    {
      eventType: 'booking.confirmed',
      channel: 'email',
      locale: 'en-IN',
      subject: 'Booking {{bookingId}}',
      body: 'Hi {{guestName}}, see you on {{checkinDate}}.',
    },
  ],
})
export type TemplateBody = Static<typeof TemplateBody>

export const TemplateChanges = Closed(
  {
    ...templateFields,
    eventType: Type.Optional(place.eventType),
    channel: Type.Optional(place.channel),
    body: Type.Optional(templateWords.body),
    ...ReadVersion,
  },
  { minProperties: 1 },
)
export type TemplateChanges = Static<typeof TemplateChanges>

export const TemplateJson = Type.Object(
  {
    id: Id,
    tenantId: Type.String(),
    eventType: Type.String(),
    channel: ChannelName,
    locale: Type.String(),
    scopeType: TextOrNull,
    scopeId: TextOrNull,
    subject: TextOrNull,
    body: Type.String(),
    format: Nullable(BodyFormatName),
    providerTemplate: Nullable(JsonObject),
    version: Type.Integer(),
    isActive: Type.Boolean(),
    isEdited: Type.Boolean({ description: 'Changed since the catalogue gave it: an import keeps it.' }),
    warnings: Type.Array(WarningSchema),
    createdAt: Time,
    updatedAt: Time,
    updatedBy: Type.String(),
  },
  { title: 'Template' },
)

export const TemplateVersionJson = Type.Object(
  {
    version: Type.Integer(),
    subject: TextOrNull,
    body: Type.String(),
    format: Nullable(BodyFormatName),
    providerTemplate: Nullable(JsonObject),
    isActive: Type.Boolean(),
    changedAt: Time,
    changedBy: Type.String(),
  },
  { title: 'TemplateVersion' },
)

export const TemplatePreviewJson = Type.Object(
  {
    subject: TextOrNull,
    body: Type.String(),
    providerTemplate: Nullable(JsonObject),
    isHtml: Type.Boolean(),
    missing: Type.Array(Type.String(), { description: 'Keys that the context does not have.' }),
    unknown: Type.Array(Type.String(), { description: 'Keys that no payload of the event type has.' }),
    segments: Type.Optional(
      Type.Object(
        {
          encoding: Type.Enum(['GSM-7', 'UCS-2']),
          units: Type.Integer(),
          segments: Type.Integer(),
          remaining: Type.Integer(),
          forcedBy: Type.Array(Type.String()),
        },
        { description: 'How an SMS is cut, and which characters make it long.' },
      ),
    ),
    warnings: Type.Array(WarningSchema),
  },
  { title: 'TemplatePreview' },
)

export const contextFields = {
  context: { ...JsonObject, description: 'What a payload would be.' } as typeof JsonObject,
  locale: Type.Optional(LocaleTag),
}

export const TestAddress = Closed(
  {
    name: Type.Optional(Line(0, 200)),
    email: Type.Optional(Line(1, 320)),
    phone: Type.Optional(Line(1, 60)),
    deviceToken: Type.Optional(Line(1, 4_096)),
    platform: Type.Optional(Type.Enum(['fcm', 'wns'])),
    userId: Type.Optional(Line(1, 200)),
    url: Type.Optional(Line(1, 2_048)),
  },
  { description: 'What the template’s channel needs.' },
)

export function templateJson(template: Template, warnings: Warning[]): Static<typeof TemplateJson> {
  return {
    ...withTimes(template, 'createdAt', 'updatedAt'),
    scopeType: template.scope?.type ?? null,
    scopeId: template.scope?.id ?? null,
    warnings,
  }
}
