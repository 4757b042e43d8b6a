import { type Static, Type } from 'typebox'
import { checkPayload } from '../catalogue/check-payload.ts'
import { EVENT_TYPE_NAME, type EventType } from '../model/catalogue.ts'
import { CHANNELS } from '../model/channel.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import { type EventRecipient, MAX_PAYLOAD_BYTES, type NewEvent } from '../model/event.ts'
import type { Clock, IdSource } from '../model/ports.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import {
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
import { createTenantCache } from './tenant-cache.ts'

/** An event as callers write it. Who is reached, when and how is the catalogue's; the last fields override it. */
export const EventBody = Type.Object(
  {
    id: Type.Optional(
      Nullable(Line(1, 200, 'Unique per tenant; repeating it changes nothing. Made by the server where absent.')),
    ),
    type: Type.String({ pattern: EVENT_TYPE_NAME.source, description: 'A type of the tenant’s catalogue.' }),
    entity: EntityRef,
    payload: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({ ...JsonObject, description: 'At most 1 MiB as JSON.' }),
    ),
    occurredAt: Type.Optional(Nullable(Instant())),
    dueAt: Type.Optional(Nullable(Instant('Not before this time; absent: the catalogue’s timing decides.'))),
    correlationId: Type.Optional(Nullable(Line(1, 200))),
    schemaVersion: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    locale: Type.Optional(Nullable(LocaleTag)),
    recipients: Type.Optional(
      Nullable(
        Type.Array(
          Type.Object(
            {
              profileId: Type.Optional(Nullable(Line(1, 200))),
              userId: Type.Optional(Nullable(Line(1, 200))),
              name: Type.Optional(Nullable(Line(0, 200))),
              phone: Type.Optional(Nullable(Line(1, 40))),
              email: Type.Optional(Nullable(Line(1, 254))),
              locale: Type.Optional(Nullable(LocaleTag)),
            },
            { additionalProperties: false },
          ),
          { minItems: 1, maxItems: 10_000 },
        ),
      ),
    ),
    channels: Type.Optional(Nullable(Type.Array(ChannelName, { minItems: 1, maxItems: CHANNELS.length }))),
    conversation: Type.Optional(Nullable(EntityRef)),
  },
  { additionalProperties: false, title: 'Event' },
)
export type EventBody = Static<typeof EventBody>

export interface EventIntake {
  /**
   * Takes events that have the schema's form; answers in the given order. What is answered without a problem is durable.
   * One that the catalogue does not know, whose entity or payload it refuses, or whose payload is too large is answered
   * with a problem and spoils no other.
   * Secret fields are sealed before anything is written.
   */
  publish(tenantId: string, bodies: readonly EventBody[]): Promise<EventAnswer[]>
  /** After the tenant's catalogue was replaced here. */
  forget(tenantId: string): void
}

export type EventAnswer = { id: string; duplicate: boolean } | { problem: PillarboxError }

const CATALOGUE_MAX_AGE_MS = 1_000

export function createEventIntake(deps: {
  store: Pick<Store, 'events' | 'catalogue'>
  payloadSeal: PayloadSeal
  ids: IdSource
  clock: Clock
  nudge: (topic: WakeTopic) => void
}): EventIntake {
  const { store, payloadSeal, ids, clock, nudge } = deps
  const types = createTenantCache(clock, CATALOGUE_MAX_AGE_MS, async (tenantId) => {
    const known = await store.catalogue.eventTypes(tenantId)
    return new Map(known.map((type) => [type.name, type]))
  })

  async function typeOf(tenantId: string, name: string): Promise<EventType | null> {
    const known = (await types.get(tenantId)).get(name)
    // A type that has just been added elsewhere must not be refused for a second.
    return known ?? (await store.catalogue.eventType(tenantId, name))
  }

  /** The event as it is to be written: checked in clear, then sealed. */
  function accept(
    tenantId: string,
    type: EventType,
    body: EventBody,
  ): { event: NewEvent } | { problem: PillarboxError } {
    const event = newEvent(tenantId, body, ids)
    if (event.entity.type !== type.entity) return { problem: wrongEntity(type) }
    const size = sizeProblem(event.payload)
    if (size !== null) return { problem: invalidPayload([size]) }
    const opened = payloadSeal.openPayload(event, type.secrets)
    const wrong = 'problem' in opened ? [opened.problem] : checkPayload(type, opened.payload)
    if (wrong.length) return { problem: invalidPayload(wrong) }
    return { event: type.secrets.length ? { ...event, payload: payloadSeal.sealFields(event, type.secrets) } : event }
  }

  return {
    async publish(tenantId, bodies) {
      const answers: EventAnswer[] = []
      const accepted: { event: NewEvent; index: number }[] = []
      for (const [index, body] of bodies.entries()) {
        const type = await typeOf(tenantId, body.type)
        const taken = type ? accept(tenantId, type, body) : { problem: unknownType(body.type) }
        if ('problem' in taken) answers[index] = taken
        else accepted.push({ event: taken.event, index })
      }
      if (accepted.length) {
        const written = await store.events.insert(accepted.map(({ event }) => event))
        for (const [i, { index }] of accepted.entries()) {
          const answer = written[i]
          if (answer) answers[index] = answer
        }
        if (written.some(({ duplicate }) => !duplicate)) nudge('events')
      }
      return answers
    },
    forget: types.forget,
  }
}

/** Of UTF-8, for a unit of UTF-16. */
const MAX_BYTES_PER_UNIT = 3

/** The same limit and the same words as of the client package, which writes past this intake. */
function sizeProblem(payload: NewEvent['payload']): FieldError | null {
  const text = JSON.stringify(payload)
  if (text.length <= MAX_PAYLOAD_BYTES / MAX_BYTES_PER_UNIT) return null
  const bytes = Buffer.byteLength(text)
  if (bytes <= MAX_PAYLOAD_BYTES) return null
  const limit = `${MAX_PAYLOAD_BYTES / 1024 ** 2} MiB (${MAX_PAYLOAD_BYTES} bytes)`
  return { path: '', message: `must not be larger than ${limit} as JSON, and has ${bytes} bytes` }
}

function unknownType(type: string): PillarboxError {
  return new PillarboxError('unknown_event_type', `The catalogue has no event type "${type}".`, {
    errors: [{ path: '/type', message: 'is not an event type of the catalogue' }],
  })
}

function wrongEntity({ name, entity }: EventType): PillarboxError {
  const message = `must be "${entity}": that is what events of the type ${name} are about`
  return new PillarboxError('invalid_body', `/entity/type ${message}.`, { errors: [{ path: '/entity/type', message }] })
}

/** Its words name fields and never repeat what stands in them. */
function invalidPayload(wrong: readonly FieldError[]): PillarboxError {
  const errors = wrong.map(({ path, message }) => ({ path: `/payload${path}`, message }))
  return new PillarboxError('invalid_body', `${errors[0]?.path} ${errors[0]?.message}.`, { errors })
}

function newEvent(tenantId: string, body: EventBody, ids: IdSource): NewEvent {
  return {
    id: body.id ?? ids(),
    tenantId,
    type: body.type,
    entity: body.entity,
    payload: body.payload ?? {},
    occurredAt: instantMs(body.occurredAt),
    dueAt: instantMs(body.dueAt),
    correlationId: body.correlationId ?? null,
    locale: body.locale ?? null,
    recipients: body.recipients?.map((recipient): EventRecipient => withoutNulls(recipient)) ?? null,
    channels: body.channels ? [...new Set(body.channels)] : null,
    conversation: body.conversation ?? null,
    schemaVersion: body.schemaVersion ?? 1,
  }
}
