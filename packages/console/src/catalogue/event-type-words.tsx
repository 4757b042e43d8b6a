import type { EventType } from '@pillarbox/client'
import { durationWords, isNothing } from '../parts/duration.ts'
import { channelWord } from '../parts/to.tsx'

/** On which channels it is told, and in which order. */
export function deliveryWords({ delivery = {} }: EventType): string {
  const { all, channels, fallback, none } = delivery
  if (none) return 'nobody is told'
  if (fallback) return fallback.map(channelWord).join(' → ')
  if (channels) return channels.map(channelWord).join(' and ')
  return all ? 'every channel that has words' : '–'
}

export function deliveryMeaning({ delivery = {} }: EventType): string {
  if (delivery.fallback) return 'the next one only where the one before did not work'
  return delivery.channels ? 'each of them' : ''
}

const ONCE: Record<string, string> = {
  'per-entity': 'once for each entity',
  'per-event': 'once for each event',
  'per-occurrence': 'once for each entity and due time',
}

export function onceWords({ once }: EventType): string {
  return ONCE[once ?? ''] ?? 'once for each event'
}

export function recipientWords({ recipients = [] }: EventType): string {
  if (recipients.length === 0) return 'whom the event names'
  return recipients
    .map(({ list, expand, ...paths }) => {
      if (list !== undefined) return expand ? `each member of the list ${list}` : `the list ${list}`
      return Object.entries(paths)
        .filter(([, path]) => typeof path === 'string')
        .map(([field, path]) => `${field} from ${String(path)}`)
        .join(', ')
    })
    .join('; ')
}

interface Moment {
  words: string
  isTelling?: boolean
}

/** What happens in which order from the event to the message. */
function momentsOf({ timing = {}, approval }: EventType): Moment[] {
  const { after, before, field, at, ifPast } = timing
  const clock = at === undefined ? '' : `, at ${at}`
  const tell: Moment = { words: `told${clock}`, isTelling: true }
  const asked: Moment[] = approval ? [{ words: 'somebody approves' }] : []
  if (before !== undefined) {
    const late = ifPast === 'skip' ? ' (not told if that is past)' : ''
    return [
      { words: 'event' },
      ...asked,
      { words: `told ${durationWords(before)} before${clock}${late}`, isTelling: true },
      { words: field ?? 'the date' },
    ]
  }
  if (field !== undefined)
    return [
      { words: 'event' },
      ...asked,
      { words: field },
      { words: `told ${durationWords(after ?? 'PT0S')} after${clock}`, isTelling: true },
    ]
  if (after === undefined || isNothing(after)) return [{ words: 'event' }, ...asked, tell]
  return [{ words: 'event' }, ...asked, { words: `told ${durationWords(after)} after${clock}`, isTelling: true }]
}

/** When it is told, drawn as a line from the event on. */
export function TimingLine({ eventType }: { eventType: EventType }) {
  return (
    <ol className="timing" aria-label="Timing">
      {momentsOf(eventType).map(({ words, isTelling }) => (
        <li key={words} data-tells={isTelling ? '' : undefined}>
          <span className="dot" aria-hidden="true" />
          {words}
        </li>
      ))}
    </ol>
  )
}
