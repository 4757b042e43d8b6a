import type { Delivery, EventType, RecipientPaths, Timing } from '../model/catalogue.ts'
import { formatDuration, parseDuration } from '../model/duration.ts'
import { pointerTo } from '../model/json-pointer.ts'
import { parseRetry } from '../model/retry.ts'
import { mayHavePath } from '../model/schema-paths.ts'
import { RECIPIENT_PATHS, recipientsOf } from './recipients.ts'
import { type CatalogueReport, got } from './report.ts'
import { type EventTypeRemains, TIMING_FORMS } from './schema.ts'

/** Where an event type stands, and what else the catalogue has. */
interface EventTypePlace {
  path: string
  names: readonly string[]
  entities: Record<string, string>
}

/** What an event type's document means; reports where its parts contradict each other or the catalogue. */
export function eventTypeOf(
  report: CatalogueReport,
  name: string,
  json: EventTypeRemains,
  { path, names, entities }: EventTypePlace,
): EventType {
  const type: EventType = {
    name,
    description: json.description ?? null,
    entity: json.entity ?? 'entity',
    once: json.once ?? 'per-entity',
    payload: json.payload ?? null,
    recipients: recipientsOf(report, json.recipients ?? [], `${path}/recipients`),
    // Of a delivery with a fault nobody knows which channels it should name.
    delivery: deliveryOf(report.isFaulty(`${path}/delivery`) ? {} : (json.delivery ?? {})),
    timing: timingOf(report, json.timing, `${path}/timing`),
    replaces: json.replaces ?? false,
    cancelledBy: cancelledByOf(report, json.cancelledBy ?? [], `${path}/cancelledBy`, names),
    approval: json.approval ?? false,
    secrets: present(json.secrets),
    scopes: Object.entries(json.scopes ?? {}).flatMap(([scope, at]) => (at ? [{ type: scope, path: at }] : [])),
    conversation: conversationOf(json.conversation ?? null),
    expiresAfterMs: durationOf(report, json.expiresAfter, `${path}/expiresAfter`, 1),
    retry: retryOf(report, json.retry ?? null, `${path}/retry`),
    onUndeliverable: json.onUndeliverable ?? null,
  }
  adviseOnEntity(report, json.entity, path, entities)
  adviseOnOnce(report, type, path)
  const isGiven = json.recipients !== undefined || report.isFaulty(`${path}/recipients`)
  if (!isGiven && type.delivery.kind !== 'none' && !report.isFaulty(`${path}/delivery`))
    report.odd(
      `${path}/recipients`,
      'is missing: say where the recipients are in the payload, such as [{ email: guestEmail }], or [] where every event names its own',
    )
  checkPayloadPaths(report, type, json, path)
  return type
}

/** The items of a list that had the right form. */
function present<T>(items: readonly (T | undefined)[] | null | undefined): T[] {
  return (items ?? []).filter((item) => item !== undefined)
}

function deliveryOf({ none, channels, fallback }: NonNullable<EventTypeRemains['delivery']>): Delivery {
  if (channels) return { kind: 'channels', channels: present(channels) }
  if (fallback) return { kind: 'fallback', channels: present(fallback) }
  return { kind: none ? 'none' : 'all' }
}

/** At once unless it says otherwise. */
function timingOf(report: CatalogueReport, json: EventTypeRemains['timing'], path: string): Timing {
  const { after, before, field, at, ifPast } = json ?? {}
  if (json && !report.isFaulty(path)) {
    if (after === undefined && before === undefined && at === undefined)
      report.wrong(path, `must have after, before or at: ${TIMING_FORMS}`)
    if (after !== undefined && before !== undefined)
      report.wrong(path, 'cannot be after and before at once; leave one of them out')
    if (before !== undefined && field === undefined)
      report.wrong(path, 'must say before which date: add field, such as { before: PT24H, field: departureDate }')
  }
  const beforeMs = durationOf(report, before, `${path}/before`, 0) ?? 0
  const afterMs = durationOf(report, after, `${path}/after`, 0)
  return { offsetMs: afterMs ?? 0 - beforeMs, field: field ?? null, at: at ?? null, ifPast: ifPast ?? 'send' }
}

/** Ten years: more is a slip. */
const MAX_MS = 3_650 * 86_400_000

/** Milliseconds; null where there is none, or one that is too short or too long. */
function durationOf(
  report: CatalogueReport,
  text: string | null | undefined,
  path: string,
  minMs: number,
): number | null {
  const ms = parseDuration(text ?? '')
  if (ms === null || (ms >= minMs && ms <= MAX_MS)) return ms
  report.wrong(path, `must be between ${formatDuration(minMs)} and ${formatDuration(MAX_MS)} ${got(text)}`)
  return null
}

function cancelledByOf(
  report: CatalogueReport,
  given: readonly (string | undefined)[],
  path: string,
  names: readonly string[],
): string[] {
  const known = new Set(names)
  for (const [i, name] of given.entries())
    if (name !== undefined && !known.has(name)) {
      const advice = report.meant(name, names) || 'add it; with delivery: { none: true } it says nothing itself'
      report.wrong(`${path}/${i}`, `must be an event type of this catalogue ${got(name, advice)}`)
    }
  return [...new Set(present(given))]
}

function conversationOf(json: EventTypeRemains['conversation'] | null): EventType['conversation'] {
  if (!json || json === 'entity') return json ?? null
  return json.type === undefined || json.id === undefined ? null : { type: json.type, path: json.id }
}

function retryOf(report: CatalogueReport, value: unknown, path: string): unknown {
  const read = value === null ? { problems: [] } : parseRetry(value)
  if ('problems' in read)
    for (const problem of read.problems)
      report.wrong(problem.path === '' ? path : `${path}/${problem.path}`, problem.message)
  return value
}

function adviseOnEntity(
  report: CatalogueReport,
  entity: string | undefined,
  path: string,
  entities: Record<string, string>,
): void {
  if (entity === undefined) {
    if (!report.isFaulty(`${path}/entity`))
      report.odd(path, 'does not say its entity: the kind of thing it is about, such as booking')
  } else if (!Object.hasOwn(entities, entity) && !report.isFaulty('/entities'))
    report.odd(
      `${path}/entity`,
      `has no plural under entities, so that there is no /api/<plural>/{id} for it; add { ${entity}: ${entity}s }`,
    )
}

/** Once per entity is once for ever: what follows a date, or replaces itself, is then silent after the first time. */
function adviseOnOnce(report: CatalogueReport, { once, timing, replaces, delivery }: EventType, path: string): void {
  if (once !== 'per-entity' || delivery.kind === 'none' || report.isFaulty(`${path}/once`)) return
  const why = replaces ? 'replaces' : timing.field === null ? null : `timing by ${timing.field}`
  if (why !== null)
    report.odd(
      `${path}/once`,
      `is per-entity beside ${why}: once it was sent, a later date for the same entity is not told; write once: per-occurrence`,
    )
}

/** What paths into the payload lead to: they must not be secret, and should be in its schema. */
function checkPayloadPaths(report: CatalogueReport, type: EventType, json: EventTypeRemains, path: string): void {
  const uses: [string, string][] = []
  for (const [i, recipient] of (json.recipients ?? []).entries())
    for (const field of RECIPIENT_PATHS) {
      const used = (recipient as RecipientPaths | undefined)?.[field]
      if (used) uses.push([`${path}/recipients/${i}/${field}`, used])
    }
  if (type.timing.field !== null) uses.push([`${path}/timing/field`, type.timing.field])
  for (const scope of type.scopes) uses.push([pointerTo(`${path}/scopes`, scope.type), scope.path])
  if (type.conversation !== null && type.conversation !== 'entity')
    uses.push([`${path}/conversation/id`, type.conversation.path])
  // A device token is sealed in the ledger, too.
  for (const [at, used] of uses)
    if (!at.endsWith('/deviceToken') && type.secrets.some((secret) => leadsInto(used, secret)))
      report.wrong(at, `is secret: "${used}" is sealed and can only be used in templates`)
  if (report.isFaulty(`${path}/payload`)) return
  for (const [i, secret] of (json.secrets ?? []).entries()) if (secret) uses.push([`${path}/secrets/${i}`, secret])
  for (const [at, used] of uses)
    if (!mayHavePath(type.payload, used)) report.odd(at, `leads nowhere: the payload’s schema has no "${used}"`)
}

function leadsInto(path: string, secret: string): boolean {
  const plain = (text: string): string => `${text.replaceAll('[]', '').toLowerCase()}.`
  return plain(path).startsWith(plain(secret))
}
