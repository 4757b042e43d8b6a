import { instantMs } from '@pillarbox/client/contract'
import { type Static, Type } from 'typebox'
import type { Catalogue, HasuraSource } from '../model/catalogue.ts'
import { type FieldError, invalidBody, PillarboxError } from '../model/errors.ts'
import { valueAt } from '../model/path.ts'
import type { Clock } from '../model/ports.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import type { Store } from '../store/store.ts'
import { answerOf, type Untrusted } from '../untrusted/untrusted.ts'
import { Line } from './body-fields.ts'

const NAME = Line(1, 200)
const Anything = Type.Unsafe<unknown>({})

/** What Hasura calls an event trigger's webhook with. Only what is needed is looked at: Hasura may say more. */
const RowChange = Type.Object(
  {
    id: NAME,
    created_at: Type.Optional(Anything),
    trigger: Type.Object({ name: NAME }),
    event: Type.Object({ data: Type.Unsafe<object>({ type: 'object', additionalProperties: true }) }),
  },
  { title: 'HasuraEvent', additionalProperties: true },
)

/** The same of a cron trigger, or of a one-off scheduled event, which has no name. */
const ScheduledEvent = Type.Object(
  {
    id: NAME,
    name: Type.Optional(NAME),
    scheduled_time: NAME,
    payload: Type.Optional(Anything),
  },
  { title: 'HasuraScheduledEvent', additionalProperties: true },
)

export const HasuraBody = Type.Union([RowChange, ScheduledEvent])
/** Which of the two a body is meant to be. */
export const hasuraForm = (body: unknown): 0 | 1 => (isObject(body) && 'scheduled_time' in body ? 1 : 0)
export type HasuraBody = Static<typeof HasuraBody>

/** What there is to be mapped: what paths lead into, and what the payload is where the catalogue names no fields. */
interface HasuraCall {
  id: string
  trigger: string | null
  data: object
  whole: unknown
  occurredAt: string | null
}

export interface HasuraSources {
  /**
   * The event that a call is, by the catalogue's `sources.hasura`. `trigger`: what it is mapped by where the call names
   * none. Throws `invalid_body` for a trigger that the catalogue does not have.
   */
  eventOf(tenantId: string, body: HasuraBody, trigger: string | null): Promise<Record<string, unknown>>
}

const MAX_AGE_MS = 1_000

export function createHasuraSources(deps: {
  store: Pick<Store, 'catalogue'>
  clock: Clock
  untrusted: Untrusted
  /** What events of this name are about; null where the catalogue does not say. */
  entityType(tenantId: string, name: string): Promise<string | null>
}): HasuraSources {
  const { store, clock, untrusted, entityType } = deps
  const cache = createTimedCache({ clock, maxAgeMs: MAX_AGE_MS, read })

  async function read(tenantId: string): Promise<Catalogue['sources']> {
    return (await store.catalogue.sources(tenantId)) ?? (await readDocument(tenantId))
  }

  /** Of a catalogue that was imported before its sources were kept beside it. */
  async function readDocument(tenantId: string): Promise<Catalogue['sources']> {
    const nothing = { hasura: {} }
    const current = await store.catalogue.current(tenantId)
    if (!current) return nothing
    const [result] = await untrusted.run('readCatalogueText', [{ tenantId, text: current.document }], tenantId)
    const document = answerOf(result, () => ({ problems: [], warnings: [] }))
    return 'catalogue' in document ? document.catalogue.sources : nothing
  }

  async function sourceOf(tenantId: string, trigger: string): Promise<HasuraSource | undefined> {
    const known = (await cache.get(tenantId)).hasura
    if (Object.hasOwn(known, trigger)) return known[trigger]
    // One that has just been added must not be refused for a second.
    cache.outdate(tenantId)
    const { hasura } = await cache.get(tenantId)
    return Object.hasOwn(hasura, trigger) ? hasura[trigger] : undefined
  }

  return {
    async eventOf(tenantId, body, named) {
      const call = callOf(body)
      const trigger = call.trigger ?? named
      const source = trigger === null ? undefined : await sourceOf(tenantId, trigger)
      if (!source) throw unknownTrigger(body, trigger)
      const type = (await entityType(tenantId, source.eventType)) ?? 'event'
      return eventOfCall(call, source, type)
    },
  }
}

function callOf(body: HasuraBody): HasuraCall {
  if (hasuraForm(body) === 0) {
    const { id, trigger, event, created_at: createdAt } = body as Static<typeof RowChange>
    const { new: after, old: before } = event.data as { new?: unknown; old?: unknown }
    return { id, trigger: trigger.name, data: event.data, whole: after ?? before, occurredAt: instantOf(createdAt) }
  }
  const { id, name = null, scheduled_time: scheduledTime, payload = null } = body as Static<typeof ScheduledEvent>
  const data = { id, name, scheduled_time: scheduledTime, payload }
  return { id, trigger: name, data, whole: payload, occurredAt: instantOf(scheduledTime) }
}

/** What is wrong with it beyond this is for the intake of events to say. */
function eventOfCall(call: HasuraCall, source: HasuraSource, entityType: string): Record<string, unknown> {
  const entityId = idText(valueAt(call.data, source.entityId))
  if (entityId === null)
    throw invalidBody([{ path: '/event/data', message: `has no id at ${source.entityId}, where sources.hasura says` }])
  return {
    id: call.id,
    type: source.eventType,
    entity: { type: entityType, id: entityId },
    payload: payloadOf(call, source),
    ...(call.occurredAt !== null && { occurredAt: call.occurredAt }),
  }
}

/** The fields that the catalogue names; where it names none, the whole row, or the payload of a schedule. */
function payloadOf({ data, whole }: HasuraCall, { payload }: HasuraSource): Record<string, unknown> {
  const named = Object.entries(payload)
  const fields: [string, unknown][] =
    named.length > 0
      ? named.map(([field, path]) => [field, valueAt(data, path)])
      : Object.entries(isObject(whole) ? whole : {})
  // A column without a value is a field that is not given.
  const given = fields.filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(given.map(([field, value]) => [field, withoutBigints(value)]))
}

/** Whole numbers that a double cannot hold become their digits. */
function withoutBigints(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return value.map(withoutBigints)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutBigints(each)]))
}

function idText(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : value
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : null
}

/** A time with a zone; any other is left out. */
function instantOf(value: unknown): string | null {
  return typeof value === 'string' && instantMs(value) !== null ? value : null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unknownTrigger(body: HasuraBody, trigger: string | null): PillarboxError {
  const path = 'trigger' in body ? '/trigger/name' : '/name'
  const message =
    trigger === null
      ? 'is missing: name a trigger of sources.hasura with ?trigger='
      : 'is not among sources.hasura of the catalogue'
  const error: FieldError = { path, message }
  return new PillarboxError('invalid_body', `${path} ${message}.`, { errors: [error] })
}
