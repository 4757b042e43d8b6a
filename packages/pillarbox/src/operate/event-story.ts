import type { EventType } from '../model/catalogue.ts'
import { found } from '../model/errors.ts'
import type { ListedEvent, StoredEvent } from '../model/event.ts'
import type { ListedNotification, NotificationStatus } from '../model/notification.ts'
import type { StoredSchedule } from '../model/schedule.ts'
import type { Store } from '../store/store.ts'
import { type ExplanationLine, explain } from './explain.ts'

/** What became of an event: the rows, and in words. */
export interface EventStory {
  event: StoredEvent
  counts: Record<NotificationStatus, number>
  /** Newest first, as `notifications`. */
  schedules: StoredSchedule[]
  /** The newest of them; `counts` has all. */
  notifications: ListedNotification[]
  /** Of a domain event: the events that it became. */
  derived: ListedEvent[]
  explanation: ExplanationLine[]
}

type StoryStore = Pick<Store, 'events' | 'tenants' | 'catalogue' | 'schedules' | 'notifications' | 'now'>

/** Nobody reads more; a mass send may have made a hundred thousand. */
const MOST = { limit: 200 }

/** Reads what there is about an event and says it in words, for HTTP and the command line alike. */
export async function storyOf(store: StoryStore, event: StoredEvent): Promise<EventStory> {
  const { tenantId, id: eventId } = event
  const [tenant, type, [counts], schedules, notifications, derived, now] = await Promise.all([
    store.tenants.find(tenantId),
    store.catalogue.eventType(tenantId, event.type),
    store.events.counts(tenantId, [event]),
    store.schedules.list({ tenantId, eventId }, MOST),
    store.notifications.list({ tenantId, eventId }, MOST),
    store.events.list({ tenantId, derivedFrom: eventId }, MOST),
    store.now(),
  ])
  const rows = { schedules: schedules.items, notifications: notifications.items, derived: derived.items }
  const acts = await store.events.acts(tenantId, {
    eventId,
    scheduleIds: rows.schedules.map(({ id }) => id),
    notificationIds: rows.notifications.map(({ id }) => id),
  })
  const story = { event, counts: found(counts), ...rows }
  const notificationCount = Object.values(story.counts).reduce((sum, count) => sum + count, 0)
  const known: { type: EventType | null; now: number } = { type, now }
  return {
    ...story,
    explanation: explain({ ...rows, ...known, acts, event, tenant: found(tenant), notificationCount }),
  }
}
