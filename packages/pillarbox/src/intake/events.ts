import {
  checkEvent,
  EVENT_TYPE,
  MAX_ID_LENGTH,
  MAX_RECIPIENTS,
  MAX_SCHEMA_VERSION,
  RECIPIENT_LENGTHS,
  TOPIC,
} from '@pillarbox/client/contract'
import { Type } from 'typebox'
import type { EventType } from '../model/catalogue.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import type { NewEvent } from '../model/event.ts'
import type { Clock, IdSource } from '../model/ports.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import { checkPayloads, type GivenPayload } from '../untrusted/payloads.ts'
import type { Untrusted } from '../untrusted/untrusted.ts'
import { ChannelName, EntityRef, FormOf, Instant, JsonObject, Line, LocaleTag, Nullable } from './body-fields.ts'

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
    type: FormOf(EVENT_TYPE, 'A type of the tenant’s catalogue.'),
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
  { additionalProperties: false, title: 'Event' },
)

export interface EventIntake {
  /**
   * Takes events that may hold anything; answers in the given order. What is answered without a problem is durable.
   * An event that breaks a rule, whose type the catalogue does not know, or whose entity or payload the catalogue refuses
   * is answered with a problem and spoils no other. Secret fields are sealed before anything is written.
   */
  publish(from: EventSource, bodies: readonly unknown[]): Promise<EventAnswer[]>
  /** After the tenant's catalogue was replaced here. */
  forget(tenantId: string): void
}

/** Whose events they are, and with which API key they came (`key:<name>`). */
export interface EventSource {
  tenantId: string
  actor: string
}

export type EventAnswer = { id: string; duplicate: boolean } | EventProblem

interface EventProblem {
  problem: PillarboxError
}

interface OpenedEvent extends GivenPayload {
  event: NewEvent
  type: EventType
}

const CATALOGUE_MAX_AGE_MS = 1_000

export function createEventIntake(deps: {
  store: Pick<Store, 'events' | 'catalogue'>
  payloadSeal: PayloadSeal
  ids: IdSource
  clock: Clock
  nudge: (topic: WakeTopic) => void
  untrusted: Untrusted
}): EventIntake {
  const { store, payloadSeal, ids, clock, nudge, untrusted } = deps
  const types = createTimedCache({
    clock,
    maxAgeMs: CATALOGUE_MAX_AGE_MS,
    async read(tenantId) {
      const known = await store.catalogue.eventTypes(tenantId)
      return new Map(known.map((type) => [type.name, type]))
    },
  })

  async function typeOf(tenantId: string, name: string): Promise<EventType | null> {
    const known = (await types.get(tenantId)).get(name)
    // A type that has just been added elsewhere must not be refused for a second.
    return known ?? (await store.catalogue.eventType(tenantId, name))
  }

  /** The event with its type, and its payload in clear, which nobody has looked at yet. */
  async function open({ tenantId, actor }: EventSource, body: unknown): Promise<OpenedEvent | EventProblem> {
    const checked = checkEvent(body, { newId: ids, tenantId })
    if ('problems' in checked) return { problem: invalidEvent(checked.problems) }
    const { payloadText: _, ...given } = checked.event
    const event = { ...given, publishedBy: actor }
    const type = await typeOf(tenantId, event.type)
    if (type === null) return { problem: unknownType(event.type) }
    if (event.entity.type !== type.entity) return { problem: wrongEntity(type) }
    if (payloadSeal.hasSealedToken(event.payload))
      return { problem: invalidEvent([{ path: '/payload', message: 'must not hold a device token that is sealed' }]) }
    const opened = payloadSeal.openPayload(event, type.secrets)
    if ('problem' in opened) return { problem: invalidPayload([opened.problem]) }
    return { tenantId, event, type, payload: opened.payload }
  }

  /** Each event as it is to be written: its payload checked in clear, for all of them at once, then sealed. */
  async function accept(
    from: EventSource,
    bodies: readonly unknown[],
  ): Promise<({ event: NewEvent } | EventProblem)[]> {
    const taken: (OpenedEvent | EventProblem)[] = []
    for (const body of bodies) taken.push(await open(from, body))
    const opened = taken.flatMap((each) => ('event' in each ? [each] : []))
    const faults = await checkPayloads(untrusted, opened, from.tenantId)
    const faultsOf = new Map(opened.map((each, i) => [each, faults[i] ?? []]))
    return taken.map((each) => {
      if ('problem' in each) return each
      const { event, type } = each
      const wrong = faultsOf.get(each) ?? []
      if (wrong.length > 0) return { problem: invalidPayload(wrong) }
      return { event: sealed(event, type) }
    })
  }

  function sealed(event: NewEvent, { secrets, recipients }: EventType): NewEvent {
    const withSecrets = secrets.length ? { ...event, payload: payloadSeal.sealFields(event, secrets) } : event
    const tokens = recipients.flatMap(({ deviceToken }) => deviceToken ?? [])
    return tokens.length ? { ...withSecrets, payload: payloadSeal.sealTokens(withSecrets, tokens) } : withSecrets
  }

  return {
    async publish(from, bodies) {
      const answers: EventAnswer[] = []
      const accepted: { event: NewEvent; index: number }[] = []
      for (const [index, taken] of (await accept(from, bodies)).entries()) {
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
    forget: types.outdate,
  }
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

function invalidPayload(faults: readonly FieldError[]): PillarboxError {
  return invalidEvent(faults.map(({ path, message }) => ({ path: `/payload${path}`, message })))
}

/** Its words name fields and never repeat what stands in them. */
function invalidEvent(errors: FieldError[]): PillarboxError {
  const [first] = errors
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  return new PillarboxError('invalid_body', `${first?.path || 'The event'} ${first?.message}${more}.`, { errors })
}
