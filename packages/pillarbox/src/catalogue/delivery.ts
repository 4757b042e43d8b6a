import type { Delivery, Timing } from '../model/catalogue.ts'
import { CHANNELS, type Channel, isChannel } from '../model/channel.ts'
import { isTimeOfDay } from '../model/timing.ts'
import { asPath, durationOf, fieldsOf, got, itemsOf, oneOf, type Report } from './fields.ts'

const DELIVERY_FORMS = '{ all: true }, { channels: [sms] }, { fallback: [whatsapp, sms] } or { none: true }'

export function deliveryOf(report: Report, value: unknown, path: string): Delivery {
  const all: Delivery = { kind: 'all' }
  if (value === undefined) return all
  const json = fieldsOf(report, value, path, {
    known: ['all', 'channels', 'fallback', 'none'],
    what: `one of ${DELIVERY_FORMS}`,
  })
  if (!json) return all
  const keys = Object.keys(json)
  if (keys.length !== 1) {
    report.wrong(path, `must be exactly one of ${DELIVERY_FORMS}`)
    return all
  }
  for (const kind of ['all', 'none'] as const)
    if (kind in json) {
      if (json[kind] !== true) report.wrong(`${path}/${kind}`, `must be true, or be left out ${got(json[kind])}`)
      return { kind }
    }
  for (const kind of ['channels', 'fallback'] as const)
    if (kind in json) return { kind, channels: channelsOf(report, json[kind], `${path}/${kind}`) }
  return all
}

function channelsOf(report: Report, value: unknown, path: string): Channel[] {
  const channels: Channel[] = []
  for (const [i, given] of itemsOf(report, value, path, { min: 1, max: 20 }).entries()) {
    const channel = channelOf(report, given, `${path}/${i}`)
    if (channel === null) continue
    if (channels.includes(channel)) report.wrong(`${path}/${i}`, `names ${channel} a second time; leave it out`)
    channels.push(channel)
  }
  return channels
}

export function channelOf(report: Report, value: unknown, path: string): Channel | null {
  if (isChannel(value)) return value
  report.wrong(path, `must be one of ${CHANNELS.join(', ')} ${got(value, report.meant(value, CHANNELS))}`)
  return null
}

const TIMING_FORMS =
  '{ after: PT24H }, { before: PT24H, field: departureDate }, { after: PT2H, field: … } or { at: "09:00", … }'

/** At once unless it says otherwise. */
export function timingOf(report: Report, value: unknown, path: string): Timing {
  const timing: Timing = { offsetMs: 0, field: null, at: null, ifPast: 'send' }
  if (value === undefined) return timing
  const json = fieldsOf(report, value, path, {
    known: ['after', 'before', 'field', 'at', 'ifPast'],
    what: `one of ${TIMING_FORMS}`,
  })
  if (!json) return timing
  const { after, before, field, at } = json
  if (after === undefined && before === undefined && at === undefined)
    report.wrong(path, `must have after, before or at: ${TIMING_FORMS}`)
  if (after !== undefined && before !== undefined)
    report.wrong(path, 'cannot be after and before at once; leave one of them out')
  if (before !== undefined && field === undefined)
    report.wrong(path, 'must say before which date: add field, such as { before: PT24H, field: departureDate }')
  const afterMs = durationOf(report, after, `${path}/after`, { minMs: 0 })
  const beforeMs = durationOf(report, before, `${path}/before`, { minMs: 0 })
  const isTime = typeof at === 'string' && isTimeOfDay(at)
  if (at !== undefined && !isTime)
    report.wrong(`${path}/at`, `must be a local time such as "09:00" ${got(at, timeMeant(at))}`)
  return {
    offsetMs: afterMs ?? (beforeMs === null ? 0 : 0 - beforeMs),
    field: asPath(report, field, `${path}/field`),
    at: isTime ? at : null,
    ifPast: oneOf(report, json['ifPast'], `${path}/ifPast`, ['send', 'skip'] as const) ?? 'send',
  }
}

/** 9:00 → "09:00"; 9.30 am and the like are left to the writer. */
function timeMeant(value: unknown): string {
  const [, hours = '', minutes = ''] =
    /^(\d{1,2}):(\d\d)(?::00)?$/.exec((typeof value === 'string' ? value : '').slice(0, 20)) ?? []
  const meant = `${hours.padStart(2, '0')}:${minutes}`
  return isTimeOfDay(meant) ? `write "${meant}"` : ''
}
