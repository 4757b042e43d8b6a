import { ENTITY_TYPE } from '@pillarbox/client/contract'
import { isChannel } from '../model/channel.ts'
import { closest } from '../model/closest.ts'
import { type Entity, topicOf } from '../model/event.ts'
import { type EventStory, storyOf } from '../operate/event-story.ts'
import type { Store } from '../store/store.ts'
import { type CommandCall, refuseUnknownTenant, withStore } from './call.ts'

/** Nobody reads more; those before are in the API. */
const MOST_EVENTS = 100

/** Says what became of every event about one entity, oldest first. Exit code 1 where there is none, with what to look at. */
export function explainEntity(call: CommandCall): Promise<number> {
  const { options, stdout, stderr } = call
  const tenantId = String(options['tenant'])
  const entity = entityOf(call, String(options['entity']))
  const channel = options['channel']
  if (channel !== undefined && !isChannel(channel)) call.refuse(`there is no channel "${channel}"`)
  return withStore(call, async (store) => {
    await refuseUnknownTenant(store, tenantId)
    const about = { tenantId, entityType: entity.type, entityId: entity.id }
    const { items: events, nextCursor } = await store.events.list(about, { limit: MOST_EVENTS })
    if (events.length === 0) {
      stderr.write(await nothingFound(store, tenantId, entity))
      return 1
    }
    const stories: EventStory[] = []
    for (const { id } of events.toReversed()) {
      const event = await store.events.find(tenantId, id)
      // Gone since it was listed.
      if (!event) continue
      const story = await storyOf(store, event)
      const explanation = story.explanation.filter((line) => !channel || !line.channel || line.channel === channel)
      stories.push({ ...story, explanation })
    }
    const more = nextCursor === null ? '' : `Only the newest ${MOST_EVENTS} events are told of here.\n`
    stdout.write(
      options['json'] ? `${JSON.stringify(stories.map(storyJson), null, 2)}\n` : stories.map(inWords).join('\n'),
    )
    stderr.write(more)
    return 0
  })
}

/** `booking:42`; the id may have colons itself. */
function entityOf(call: CommandCall, text: string): Entity {
  const [type = '', ...rest] = text.split(':')
  const id = rest.join(':')
  if (!ENTITY_TYPE.pattern.test(type) || id === '')
    call.refuse(`--entity must be a type and an id, such as booking:42, not "${text}"`)
  return { type, id }
}

function inWords({ event, explanation }: EventStory): string {
  const lines = explanation.map(({ at, text }) => `  ${iso(at).slice(0, 19)}Z  ${text}`)
  return [`${event.type} ${event.id}: ${event.status}`, ...lines].map((line) => `${onOneLine(line)}\n`).join('')
}

/** What vendors and applications wrote must not move the cursor of somebody's terminal. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
}

function storyJson({ event, counts, explanation }: EventStory) {
  const { id, type, entity, status, attemptCount, lastError, correlationId } = event
  const times = {
    createdAt: iso(event.createdAt),
    publishedAt: event.publishedAt === null ? null : iso(event.publishedAt),
  }
  return {
    id,
    type,
    entity,
    status,
    ...times,
    attemptCount,
    lastError,
    correlationId,
    topic: topicOf(event),
    counts,
    explanation: explanation.map((line) => ({ ...line, at: iso(line.at) })),
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}

/** That there is no event, and what to look at next. */
async function nothingFound(store: Store, tenantId: string, { type, id }: Entity): Promise<string> {
  const known = await store.catalogue.entityTypes(tenantId)
  const advice: string[] = []
  if (!known.includes(type)) {
    const meant = closest(type, known)
    const has = known.length === 0 ? 'It has no catalogue yet.' : `Its catalogue has ${known.join(', ')}.`
    advice.push(
      `The tenant has no entities of the type ${type}. ${meant === null ? '' : `Did you mean ${meant}:${id}? `}${has}`,
    )
  } else {
    const [other] = (await store.events.list({ tenantId, entityType: type }, { limit: 1 })).items
    advice.push(
      other
        ? `The newest event about a ${type} is of ${iso(other.createdAt)}, about ${type}:${other.entity.id}.`
        : `There is no event about any ${type}: does the application publish into this database?`,
    )
  }
  advice.push(
    `Did the application publish it? publish() belongs in the transaction that changes the ${type}, and that has to commit.`,
  )
  const direct = await store.notifications.list({ tenantId, entityType: type, entityId: id }, { limit: 1 })
  if (direct.items.length > 0)
    advice.push(
      `Notifications were sent about it without an event: GET /api/notifications?entityType=${type}&entityId=${encodeURIComponent(id)}`,
    )
  const lines = [`no event about ${type}:${id} reached the tenant ${tenantId}`, ...advice.map((line) => `  ${line}`)]
  return `pillarbox: ${lines.map(onOneLine).join('\n')}\n`
}
