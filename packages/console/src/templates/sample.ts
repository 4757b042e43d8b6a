import type { EventDetail, EventType, EventView } from '@pillarbox/client'
import { get, type PageOf } from '../app/api.ts'
import type { Scope } from '../app/session.ts'

/** A part of a JSON Schema, as far as examples and names can be told from it. */
interface SchemaPart {
  type?: string | string[]
  format?: string
  properties?: Record<string, SchemaPart>
  items?: SchemaPart
  enum?: unknown[]
  examples?: unknown[]
  default?: unknown
}

const DEEPEST = 6

/** The names a template may use: what the payload has, whom it is for, what it is about. */
export function knownNames({ payload, recipients = [], entity }: EventType): string[] {
  const ofPayload = namesIn(payload ?? {}, '', 0)
  const ofRecipients = recipients.flatMap((each) =>
    Object.entries(each).flatMap(([field, path]) => (field !== 'list' && typeof path === 'string' ? [path] : [])),
  )
  const plain = ofRecipients.filter((path) => !path.includes('[]') && !path.includes(' '))
  const supplied = ['recipient.name', 'recipient.email', 'recipient.phone', ...(entity ? [`${entity}Id`] : [])]
  return [...new Set([...ofPayload, ...(payload ? [] : plain), ...supplied])]
}

function namesIn({ properties = {} }: SchemaPart, before: string, depth: number): string[] {
  if (depth > DEEPEST) return []
  return Object.entries(properties).flatMap(([name, part]) => {
    const path = before === '' ? name : `${before}.${name}`
    return part.properties ? namesIn(part, path, depth + 1) : [path]
  })
}

/** A payload as it could be. */
export function exampleOf(eventType: EventType): Record<string, unknown> {
  const made = exampleIn(eventType.payload ?? {}, '', 0)
  const payload = typeof made === 'object' && made !== null ? (made as Record<string, unknown>) : {}
  const { entity } = eventType
  return {
    ...(entity && { [`${entity}Id`]: '12345' }),
    ...payload,
    recipient: { name: 'Ada Lovelace', email: 'ada@example.com', phone: '+12025550100' },
  }
}

const TEXTS: Record<string, string> = {
  date: '2026-12-24',
  'date-time': '2026-12-24T18:30:00Z',
  email: 'ada@example.com',
  uri: 'https://example.com/12345',
}

function exampleIn(part: SchemaPart, name: string, depth: number): unknown {
  const { type, format, properties, items, enum: values, examples, default: byDefault } = part
  const given = byDefault ?? examples?.[0] ?? values?.[0]
  if (given !== undefined) return given
  if (depth > DEEPEST) return null
  const [kind] = [type].flat().filter((each) => each !== 'null')
  if (properties || kind === 'object')
    return Object.fromEntries(
      Object.entries(properties ?? {}).map(([key, each]) => [key, exampleIn(each, key, depth + 1)]),
    )
  if (kind === 'array') return [exampleIn(items ?? {}, name, depth + 1)]
  if (kind === 'integer') return 3
  if (kind === 'number') return 129.5
  if (kind === 'boolean') return true
  return TEXTS[format ?? ''] ?? wordFor(name)
}

function wordFor(name: string): string {
  if (/name$/i.test(name)) return 'Ada'
  if (/email/i.test(name)) return 'ada@example.com'
  if (/phone/i.test(name)) return '+12025550100'
  if (/date$/i.test(name)) return '2026-12-24'
  return /id$/i.test(name) ? '12345' : name
}

/** What the newest event of this type said; null where there is none. */
export async function newestPayload(scope: Scope, type: string): Promise<unknown> {
  const { items } = await get<PageOf<EventView>>('/api/events', { ...scope.query, type, limit: 1 })
  const [newest] = items
  if (!newest) return null
  const { payload } = await get<EventDetail>(`/api/events/${encodeURIComponent(newest.id)}`, scope.query)
  return payload ?? {}
}
