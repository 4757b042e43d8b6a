import type { Page } from '@pillarbox/client'
import { ENTITY_TYPE } from '@pillarbox/client/contract'
import { isChannel } from '../model/channel.ts'
import { closest } from '../model/closest.ts'
import { type Entity, topicOf } from '../model/event.ts'
import { type EventStory, storyOf } from '../operate/event-story.ts'
import type { Store } from '../store/store.ts'
import { type CommandCall, refuseUnknownTenant, withStore } from './call.ts'
import { namedServer, type ServerSession, withServer } from './operator/server.ts'
import { onOneLine } from './words.ts'

/** Nobody reads more; those before are in the API. */
const MOST_EVENTS = 100

/** Says what became of every event about one entity, oldest first. Exit code 1 where there is none, with what to look at. */
export function explainEntity(call: CommandCall): Promise<number> {
  const { options, stdout, stderr } = call
  const entity = entityOf(call, String(options['entity']))
  const channel = options['channel']
  if (channel !== undefined && !isChannel(channel)) call.refuse(`there is no channel "${channel}"`)
  if (namedServer(call) !== null) return withServer(call, (server) => askServer(call, server, entity))
  if (options['tenant'] === undefined) call.refuse('name the tenant with --tenant, or a server with --url')
  const tenantId = String(options['tenant'])
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
    stdout.write(said(call, stories.map(storyJson)))
    stderr.write(more)
    return 0
  })
}

type ToldEvent = ReturnType<typeof storyJson>

/** The same from a server, which tells it in the same words. */
async function askServer(call: CommandCall, server: ServerSession, { type, id }: Entity): Promise<number> {
  const { options, stdout, stderr } = call
  const query = { entityType: type, entityId: id, limit: String(MOST_EVENTS) }
  const { items, nextCursor } = await server.get<Page<{ id: string }>>('/api/events', query)
  if (items.length === 0) {
    stderr.write(`pillarbox: no event about ${onOneLine(`${type}:${id}`)} is known: did the application publish it?\n`)
    return 1
  }
  const told: ToldEvent[] = []
  for (const event of items.toReversed()) {
    const { explanation, ...story } = await server.get<ToldEvent>(`/api/events/${encodeURIComponent(event.id)}`)
    const wanted = explanation.filter((line) => !line.channel || line.channel === (options['channel'] ?? line.channel))
    told.push({ ...story, explanation: wanted })
  }
  stdout.write(said(call, told))
  if (nextCursor !== null) stderr.write(`Only the newest ${MOST_EVENTS} events are told of here.\n`)
  return 0
}

function said({ options }: CommandCall, told: readonly ToldEvent[]): string {
  return options['json'] ? `${JSON.stringify(told, null, 2)}\n` : told.map(inWords).join('\n')
}

/** `booking:42`; the id may have colons itself. */
function entityOf(call: CommandCall, text: string): Entity {
  const [type = '', ...rest] = text.split(':')
  const id = rest.join(':')
  if (!ENTITY_TYPE.pattern.test(type) || id === '')
    call.refuse(`--entity must be a type and an id, such as booking:42, not "${text}"`)
  return { type, id }
}

function inWords({ type, id, status, explanation }: ToldEvent): string {
  const lines = explanation.map(({ at, text }) => `  ${at.slice(0, 19)}Z  ${text}`)
  return [`${type} ${id}: ${status}`, ...lines].map((line) => `${onOneLine(line)}\n`).join('')
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
