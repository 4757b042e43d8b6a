import type { EventType } from '../model/catalogue.ts'
import type { Entity } from '../model/event.ts'
import type { Address } from '../model/recipient.ts'
import { dateFieldsOf, pathsOf } from '../model/schema-paths.ts'
import type { Tenant } from '../model/tenant.ts'
import type { RenderOptions } from './render.ts'

/** How words are rendered for a tenant. `eventType` null: without a payload schema. */
export function renderOptions(tenant: Tenant, eventType: EventType | null, locale: string): RenderOptions {
  const { settings, timeZone } = tenant
  const text = (name: string): string | undefined => {
    const value = settings[name]
    return typeof value === 'string' ? value : undefined
  }
  const currency = text('currency')
  return {
    locale,
    timeZone,
    dateFormat: text('dateFormat') ?? 'medium',
    missing: text('missingPlaceholder') === 'keep' ? 'keep' : 'empty',
    dateFields: eventType && dateFieldsOf(eventType.payload),
    ...(currency !== undefined && { currency }),
    ...(eventType && { secrets: eventType.secrets }),
  }
}

/** Of whom and what a template may speak, whatever the payload has. */
interface SuppliedFacts {
  recipient: { address: Address; element: Record<string, unknown> | null } | null
  entity: Entity | null
}

/**
 * What a template finds beside the payload: `recipient`, whom the words are for, with the fields of the list's element
 * they were found in; `entity`, and its id under its own name (`bookingId`). Where an event type has one kind of
 * recipient, they are also found where it expects them in the payload: an event that names its own has them elsewhere.
 */
export function suppliedFields(
  eventType: Pick<EventType, 'recipients'> | null,
  { recipient, entity }: SuppliedFacts,
): Record<string, unknown> {
  const address = recipient?.address ?? {}
  const known = SUPPLIED_ADDRESSES.filter((field) => address[field])
  return {
    ...Object.fromEntries(pathsOfOnly(eventType, known).map(([field, path]) => [path, address[field]])),
    ...(entity && { entity: { type: entity.type, id: entity.id }, [`${entity.type}Id`]: entity.id }),
    recipient: { ...recipient?.element, ...Object.fromEntries(known.map((field) => [field, address[field]])) },
  }
}

const SUPPLIED_ADDRESSES = ['name', 'email', 'phone'] as const
type SuppliedAddress = (typeof SUPPLIED_ADDRESSES)[number]

/** Where the only kind of recipient that an event type has is expected in the payload. */
function pathsOfOnly(
  eventType: Pick<EventType, 'recipients'> | null,
  fields: readonly SuppliedAddress[],
): [SuppliedAddress, string][] {
  const [only, ...others] = eventType?.recipients ?? []
  if (!only || others.length > 0) return []
  return fields.flatMap((field): [SuppliedAddress, string][] => {
    const path = only[field]
    return path === undefined || path.includes('[]') ? [] : [[field, path]]
  })
}

/** Every path a template may name: those of the payload and of `suppliedFields`. Null without a schema: any may exist. */
export function knownPaths(eventType: EventType): string[] | null {
  const payload = pathsOf(eventType.payload)
  if (payload === null) return null
  const lists = new Set(
    eventType.recipients.flatMap((paths) =>
      Object.values(paths).flatMap((path) => (typeof path === 'string' && path.includes('[]') ? listOf(path) : [])),
    ),
  )
  const ofElements = [...lists].flatMap((list) =>
    payload.filter((path) => path.startsWith(`${list}.`)).map((path) => `recipient${path.slice(list.length)}`),
  )
  const ofRecipient = SUPPLIED_ADDRESSES.map((field) => `recipient.${field}`)
  const expected = pathsOfOnly(eventType, SUPPLIED_ADDRESSES).map(([, path]) => path)
  const ofEntity = ['entity.type', 'entity.id', `${eventType.entity}Id`]
  return [...payload, ...expected, ...ofEntity, ...ofRecipient, ...ofElements]
}

/** The list a path goes through last: `passengers[]` of `passengers[].phone`. */
function listOf(path: string): string {
  return path.slice(0, path.lastIndexOf('[]') + 2)
}
