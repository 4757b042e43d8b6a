import {
  checkEvent,
  EVENT_TYPE,
  MAX_ID_LENGTH,
  MAX_RECIPIENTS,
  MAX_SCHEMA_VERSION,
  RECIPIENT_LENGTHS,
  TOPIC,
  TRACEPARENT,
} from '@pillarbox/client/contract'
import { Type } from 'typebox'
import type { EventType } from '../model/catalogue.ts'
import { CHANNELS } from '../model/channel.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import type { NewEvent } from '../model/event.ts'
import type { Clock, IdSource, Meters, Tracing } from '../model/ports.ts'
import { readWord } from '../model/words.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import { checkPayloads } from '../untrusted/payloads.ts'
import { REFUSED, type Untrusted } from '../untrusted/untrusted.ts'
import { ChannelName, EntityRef, FormOf, Instant, JsonObject, Line, LocaleTag, Nullable } from './body-fields.ts'
import { measureIntake } from './measure-intake.ts'

/**
 * An event as callers write it, for the OpenAPI document; `checkEvent` is what refuses. Who is reached, when and how is the
 * catalogue's; the last fields override it.
 */
export const EventBody = Type.Object(
  {
    id: Type.Optional(
      Nullable(
        Line(1, MAX_ID_LENGTH, 'Unique per tenant; repeating it changes nothing. Made by the server where absent.'),
      ),
    ),
    type: FormOf(EVENT_TYPE, 'An event type or a domain event of the tenant’s catalogue.'),
    entity: EntityRef,
    payload: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        ...JsonObject,
        description: 'At most 1 MiB as JSON and 32 levels deep. Absent: an empty one.',
      }),
    ),
    occurredAt: Type.Optional(Nullable(Instant())),
    dueAt: Type.Optional(Nullable(Instant('Not before this time; absent: the catalogue’s timing decides.'))),
    correlationId: Type.Optional(Nullable(Line(1, MAX_ID_LENGTH))),
    schemaVersion: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: MAX_SCHEMA_VERSION }))),
    topic: Type.Optional(
      Nullable(FormOf(TOPIC, 'Under which subject subscribers find it; absent: booking.events for booking.confirmed.')),
    ),
    traceparent: Type.Optional(
      Nullable(FormOf(TRACEPARENT, 'The trace it belongs to; absent: the one that the request’s header names.')),
    ),
    locale: Type.Optional(Nullable(LocaleTag)),
    recipients: Type.Optional(
      Nullable(
        Type.Array(
          Type.Object(
            {
              profileId: Type.Optional(Nullable(Line(1, RECIPIENT_LENGTHS.profileId))),
              userId: Type.Optional(Nullable(Line(1, RECIPIENT_LENGTHS.userId))),
              name: Type.Optional(Nullable(Line(0, RECIPIENT_LENGTHS.name))),
              phone: Type.Optional(Nullable(Line(1, RECIPIENT_LENGTHS.phone))),
              email: Type.Optional(Nullable(Line(1, RECIPIENT_LENGTHS.email))),
              locale: Type.Optional(Nullable(LocaleTag)),
            },
            { additionalProperties: false },
          ),
          { minItems: 1, maxItems: MAX_RECIPIENTS },
        ),
      ),
    ),
    channels: Type.Optional(Nullable(Type.Array(ChannelName, { minItems: 1 }))),
    conversation: Type.Optional(Nullable(EntityRef)),
  },
  {
    additionalProperties: false,
    title: 'NewEvent',
    examples: [
      {
        id: 'booking-12345-confirmed',
        type: 'booking.confirmed',
        entity: { type: 'booking', id: '12345' },
        payload: { guestName: 'Ada', guestEmail: 'ada@example.com', guestPhone: '+4915112345678' },
      },
    ],
  },
)

export interface EventIntake {
  /**
   * Takes events that may hold anything; answers in the given order. What is answered without a problem is durable.
   * An event that breaks a rule, whose type the catalogue does not know, or whose entity or payload the catalogue refuses
   * is answered with a problem and spoils no other. Secret fields are sealed before anything is written.
   */
  publish(from: EventSource, bodies: readonly unknown[]): Promise<EventAnswer[]>
  /** What events of this name are about; null where the catalogue does not say. */
  entityType(tenantId: string, name: string): Promise<string | null>
  /** After the tenant's catalogue was replaced here. */
  forget(tenantId: string): void
}

/** Whose events they are, and with which API key they came (`key:<name>`). */
export interface EventSource {
  tenantId: string
  actor: string
  /** The trace of the request, by W3C Trace Context. */
  traceparent?: string | null
  /** What it is counted as; events, unless it says otherwise. */
  way?: 'events' | 'notification_requests' | 'hasura'
}

export type EventAnswer = { id: string; duplicate: boolean } | EventProblem

interface EventProblem {
  problem: PillarboxError
}

interface OpenedEvent {
  event: NewEvent
  /** Its own, or those that it becomes. */
  types: readonly EventType[]
  payload: Record<string, unknown>
}

const CATALOGUE_MAX_AGE_MS = 1_000

export function createEventIntake(deps: {
  store: Pick<Store, 'events' | 'catalogue'>
  payloadSeal: PayloadSeal
  ids: IdSource
  clock: Clock
  nudge: (topic: WakeTopic) => void
  untrusted: Untrusted
  meters: Meters
  tracing: Tracing
}): EventIntake {
  const { store, payloadSeal, ids, clock, nudge, untrusted, meters, tracing } = deps
  const published = createTimedCache({ clock, maxAgeMs: CATALOGUE_MAX_AGE_MS, read: readPublished })

  /** The event types that each name stands for which may be published: itself, or those of a domain event. */
  async function readPublished(tenantId: string): Promise<Map<string, EventType[]>> {
    const { catalogue } = store
    const [types, domainEvents] = await Promise.all([catalogue.eventTypes(tenantId), catalogue.domainEvents(tenantId)])
    const known = new Map(types.map((type) => [type.name, [type]]))
    for (const [name, becomes] of Object.entries(domainEvents))
      known.set(
        name,
        becomes.flatMap((type) => known.get(type) ?? []),
      )
    return known
  }

  async function typesOf(tenantId: string, name: string): Promise<EventType[] | null> {
    const known = (await published.get(tenantId)).get(name)
    if (known) return known
    // A name that has just been added elsewhere must not be refused for a second.
    const added = await store.catalogue.eventType(tenantId, name)
    if (added) return [added]
    const isDomainEvent = Object.hasOwn(await store.catalogue.domainEvents(tenantId), name)
    return isDomainEvent ? ((await readPublished(tenantId)).get(name) ?? null) : null
  }

  /** The event with its types, and its payload in clear, which nobody has looked at yet. */
  async function open(
    { tenantId, actor, traceparent = null }: EventSource,
    body: unknown,
  ): Promise<OpenedEvent | EventProblem> {
    const checked = checkEvent(withOurChannels(body), { newId: ids, tenantId })
    if ('problems' in checked) return { problem: invalidEvent(checked.problems) }
    const { payloadText: _, ...given } = checked.event
    const event = { ...given, publishedBy: actor, traceparent: given.traceparent ?? traceparent }
    const types = await typesOf(tenantId, event.type)
    if (types === null) return { problem: unknownType(event.type) }
    const other = types.find(({ entity }) => entity !== event.entity.type)
    if (other) return { problem: wrongEntity(other) }
    if (payloadSeal.hasSealedToken(event.payload))
      return { problem: invalidEvent([{ path: '/payload', message: 'must not hold a device token that is sealed' }]) }
    const opened = payloadSeal.openPayload(event, secretsOf(types))
    if ('problem' in opened) return { problem: invalidPayload([opened.problem]) }
    return { event, types, payload: opened.payload }
  }

  /** Each event as it is to be written: its payload checked in clear, for all of them at once, then sealed. */
  async function accept(
    from: EventSource,
    bodies: readonly unknown[],
  ): Promise<({ event: NewEvent } | EventProblem)[]> {
    const { tenantId } = from
    const read: (OpenedEvent | EventProblem)[] = []
    for (const body of bodies) read.push(await open(from, body))
    const opened = read.flatMap((each) => ('event' in each ? [each] : []))
    const asked = opened.flatMap((each) => each.types.map((type) => ({ tenantId, type, payload: each.payload, each })))
    const found = await checkPayloads(untrusted, asked, tenantId)
    // Each said once, however many of the types find it.
    const faults = new Map(opened.map((each) => [each, new Map<string, FieldError>()]))
    const unjudged = new Set<OpenedEvent>()
    for (const [i, { each }] of asked.entries()) {
      const verdict = found[i]
      if (!verdict || 'unjudged' in verdict) unjudged.add(each)
      else for (const fault of verdict.faults) faults.get(each)?.set(JSON.stringify(fault), fault)
    }
    return read.map((each) => {
      if ('problem' in each) return each
      if (unjudged.has(each)) return { problem: unjudgedPayload() }
      const wrong = [...(faults.get(each)?.values() ?? [])]
      if (wrong.length > 0) return { problem: invalidPayload(wrong) }
      return { event: sealed(each.event, each.types) }
    })
  }

  function sealed(event: NewEvent, types: readonly EventType[]): NewEvent {
    const secrets = secretsOf(types)
    const withSecrets = secrets.length ? { ...event, payload: payloadSeal.sealFields(event, secrets) } : event
    const tokens = types.flatMap(({ recipients }) => recipients.flatMap(({ deviceToken }) => deviceToken ?? []))
    return tokens.length ? { ...withSecrets, payload: payloadSeal.sealTokens(withSecrets, tokens) } : withSecrets
  }

  async function publish(from: EventSource, bodies: readonly unknown[]): Promise<EventAnswer[]> {
    const answers: EventAnswer[] = []
    const accepted: { event: NewEvent; index: number }[] = []
    for (const [index, each] of (await accept(from, bodies)).entries()) {
      if ('problem' in each) answers[index] = each
      else accepted.push({ event: each.event, index })
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
  }

  return {
    publish: (from, bodies) =>
      measureIntake({ meters, tracing }, { from, way: from.way ?? 'events', items: bodies.length }, (own) =>
        publish(own, bodies),
      ),
    entityType: async (tenantId, name) => (await typesOf(tenantId, name))?.[0]?.entity ?? null,
    forget: published.outdate,
  }
}

function secretsOf(types: readonly EventType[]): string[] {
  return [...new Set(types.flatMap((type) => type.secrets))]
}

/** Channels in any case, as everywhere over HTTP. Whatever else it is, the check says what is wrong with it. */
function withOurChannels(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('channels' in body) || !Array.isArray(body.channels)) return body
  const channels = body.channels.map((one: unknown) => (typeof one === 'string' ? readWord(one, CHANNELS) : one))
  return { ...body, channels }
}

function unknownType(type: string): PillarboxError {
  return new PillarboxError('unknown_event_type', `The catalogue has no event type "${type}".`, {
    errors: [{ path: '/type', message: 'is not an event type of the catalogue' }],
  })
}

function wrongEntity({ name, entity }: EventType): PillarboxError {
  const message = `must be "${entity}": that is what events of the type ${name} are about`
  return invalidEvent([{ path: '/entity/type', message }])
}

/** Whether it is as its schema says, nobody knows: that is not the caller's fault. */
function unjudgedPayload(): PillarboxError {
  const detail = `The payload cannot be checked by its schema for now: ${REFUSED.stopped}.`
  return new PillarboxError('overloaded', detail, { retryAfterSeconds: 60 })
}

function invalidPayload(faults: readonly FieldError[]): PillarboxError {
  return invalidEvent(faults.map(({ path, message }) => ({ path: `/payload${path}`, message })))
}

/** Its words name fields and never repeat what stands in them. */
function invalidEvent(errors: FieldError[]): PillarboxError {
  const [first] = errors
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  return new PillarboxError('invalid_body', `${first?.path || 'The event'} ${first?.message}${more}.`, { errors })
}
