import type { Catalogue, EventType, HasuraSource } from '../model/catalogue.ts'
import { asPath, type Form, fieldsOf, got, type Report, recordOf, step } from './fields.ts'

const TRIGGER: Form = { pattern: /^[A-Za-z_][\w-]{0,99}$/, what: 'a Hasura trigger’s name', such: 'booking_confirmed' }

export function sourcesOf(report: Report, value: unknown, eventTypes: readonly EventType[]): Catalogue['sources'] {
  const hasura: Record<string, HasuraSource> = {}
  if (value === undefined || value === null) return { hasura }
  const json = fieldsOf(report, value, '/sources', { known: ['hasura'], what: 'an object such as { hasura: { … } }' })
  const names = eventTypes.map((type) => type.name)
  const triggers = recordOf(report, json?.['hasura'], '/sources/hasura', 'an object of sources by trigger name', 100)
  for (const [trigger, entry] of Object.entries(triggers)) {
    const path = step('/sources/hasura', trigger)
    if (!TRIGGER.pattern.test(trigger)) report.wrong(path, `must be named as ${TRIGGER.what}, such as ${TRIGGER.such}`)
    const source = fieldsOf(report, entry, path, {
      known: ['eventType', 'entityId', 'payload'],
      needed: ['eventType', 'entityId'],
      what: 'an object such as { eventType: booking.confirmed, entityId: new.id, payload: { bookingId: new.id } }',
    })
    if (!source) continue
    const { eventType } = source
    const isKnown = typeof eventType === 'string' && names.includes(eventType)
    if (eventType !== undefined && !isKnown)
      report.wrong(
        `${path}/eventType`,
        `must be an event type of this catalogue ${got(eventType, report.meant(eventType, names))}`,
      )
    const payload: Record<string, string> = {}
    const given = recordOf(
      report,
      source['payload'],
      `${path}/payload`,
      'an object of field: path into event.data',
      200,
    )
    for (const [field, from] of Object.entries(given)) {
      const found = asPath(report, from, step(`${path}/payload`, field))
      if (found !== null) payload[field] = found
    }
    hasura[trigger] = {
      eventType: isKnown ? eventType : '',
      entityId: asPath(report, source['entityId'], `${path}/entityId`) ?? '',
      payload,
    }
  }
  return { hasura }
}
