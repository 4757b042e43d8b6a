import type { EventType } from '../model/catalogue.ts'
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

/**
 * Every path a template may name: those of the payload, and `recipient`, whom the words are for, with the fields of the
 * list's element they were found in. Null without a schema: any may exist.
 */
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
  return [...payload, 'recipient', 'recipient.name', 'recipient.email', 'recipient.phone', ...ofElements]
}

/** The list a path goes through last: `passengers[]` of `passengers[].phone`. */
function listOf(path: string): string {
  return path.slice(0, path.lastIndexOf('[]') + 2)
}
