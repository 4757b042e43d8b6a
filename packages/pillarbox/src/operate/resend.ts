import { addressProblems } from '../model/address.ts'
import type { Channel } from '../model/channel.ts'
import { found, invalidBody, PillarboxError } from '../model/errors.ts'
import type { Entity } from '../model/event.ts'
import type { NewNotification } from '../model/notification.ts'
import type { ItemRef } from '../model/operation.ts'
import type { Logger } from '../model/ports.ts'
import type { Address } from '../model/recipient.ts'
import type { StoredSchedule } from '../model/schedule.ts'
import { asSentTo } from '../model/sent-address.ts'
import type { Template } from '../model/template.ts'
import { conversationOf, type DueEvent } from '../plan/due-event.ts'
import type { EventBook } from '../plan/event-book.ts'
import { BEGINNING, PART_RECIPIENTS, takePart } from '../plan/part.ts'
import type { PeopleBook } from '../plan/people.ts'
import { type EventCause, type PlanTools, planNotifications } from '../plan/plan-event.ts'
import { NOBODY } from '../plan/reached.ts'
import { noRecipient, type Recipient } from '../plan/recipients.ts'
import type { Rewrite } from '../plan/rewrite.ts'
import { channelsFor } from '../plan/routes.ts'
import type { SkipReport } from '../plan/skip-report.ts'
import { createTemplateUses } from '../plan/template-uses.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { Store } from '../store/store.ts'
import { unlessProblem } from './act.ts'

/** Sends what an entity was last told once more, on one channel, by hand. */
export interface ResendRequest {
  tenantId: string
  entity: Entity
  channel: Channel
  /** Null: the one that planning would choose. */
  templateId: string | null
  actor: string
  /** To this address in place of what the event says of its one recipient. */
  to?: Address
  /** Why, in the actor's own words; kept in the audit. */
  note?: string
}

export interface Resent {
  /** New for every request; it is in the notifications' idempotency keys. */
  requestId: string
  /** The new notifications' ids. */
  notifications: string[]
}

/**
 * Makes new notifications and leaves the first ones alone. Throws `not_found` where nothing is known of the entity or
 * the template, and `not_plannable` where nothing can be sent, saying why.
 */
export type Resend = (request: ResendRequest) => Promise<Resent>

export interface ResendDeps extends PlanTools {
  store: Pick<Store, 'notifications' | 'schedules' | 'lists' | 'templates'>
  events: EventBook
  people: PeopleBook
  skips: SkipReport
  logger: Logger
  nudge: (topic: WakeTopic) => void
}

/** So many of an entity's schedules are looked through for one that can be told again. */
const MOST_SCHEDULES = 500
const PAGE = 100

/**
 * Tells an entity's recipients once more what its most recent event on that channel told them, as it would be told now.
 * Only what has been told, or tried, is told again: what is yet to come, was called off or failed is left alone.
 */
export function createResend(deps: ResendDeps): Resend {
  const uses = createTemplateUses(deps.store.templates, deps.logger)
  return async (request) => {
    const template = await templateOf(deps, request)
    const { schedule, due } = await lastTold(deps, request, template)
    const requestId = deps.ids()
    const notifications = await retell(deps, request, { schedule, due, requestId })
    const { actor, note } = request
    await deps.store.notifications.insertByHand(notifications, {
      actor,
      action: 'resend',
      ...(note !== undefined && { note }),
    })
    deps.skips.note(notifications)
    deps.nudge('dispatch')
    await uses.note(notifications)
    return { requestId, notifications: notifications.map(({ id }) => id) }
  }
}

export interface ResendOneDeps {
  store: Pick<Store, 'notifications'>
  rewrite: Pick<Rewrite, 'repeat'>
  nudge: (topic: WakeTopic) => void
}

/**
 * Tells the recipient of one notification once more what it told, as an item of an operation: once for each item, however
 * often it is tried.
 */
export async function resendNotification(
  { store, rewrite, nudge }: ResendOneDeps,
  { tenantId, id, actor, note, item }: { tenantId: string; id: string; actor: string; note?: string; item: ItemRef },
): Promise<void> {
  const notification = found(await store.notifications.find(tenantId, id))
  const repeated = unlessProblem(await rewrite.repeat(notification, { requestId: item.operationId, actor }))
  const isWritten = await store.notifications.insertByHand([repeated], {
    actor,
    action: 'resend',
    item: { ...item, notificationId: notification.id },
    ...(note !== undefined && { note }),
  })
  if (isWritten) nudge('dispatch')
}

async function templateOf({ store }: ResendDeps, request: ResendRequest): Promise<Template | null> {
  const { tenantId, templateId, channel } = request
  if (templateId === null) return null
  const template = await store.templates.find(tenantId, templateId)
  if (!template) throw new PillarboxError('not_found', 'There is no template with this id.')
  if (template.channel !== channel)
    throw refusal(`The template is for ${template.channel}, not for ${channel}; name one of that channel, or none.`)
  if (!template.isActive) throw refusal('The template is not active; activate it, or name another.')
  return template
}

/** The entity's most recent event that is told on the channel. */
async function lastTold(
  deps: ResendDeps,
  { tenantId, entity, channel }: ResendRequest,
  template: Template | null,
): Promise<{ schedule: StoredSchedule; due: DueEvent }> {
  const filter = { tenantId, entityType: entity.type, entityId: entity.id }
  const untold = new Set<string>()
  let trouble: string | null = null
  let seen = 0
  let cursor: string | null = null
  do {
    const page = await deps.store.schedules.list(filter, { limit: PAGE, ...(cursor !== null && { cursor }) })
    for (const schedule of page.items) {
      seen += 1
      if (schedule.status !== 'completed') untold.add(`${schedule.eventType} is ${schedule.status}`)
      if (schedule.status !== 'completed' || (template && template.eventType !== schedule.eventType)) continue
      const due = await deps.events.open(tenantId, schedule.eventId)
      if ('kind' in due) trouble ??= `${due.reason}: ${due.error}`
      // A template that was asked for by name is reason enough to use its channel.
      else if (template || channelsFor(due).includes(channel)) return { schedule, due }
    }
    cursor = seen < MOST_SCHEDULES ? page.nextCursor : null
  } while (cursor !== null)
  const what = `${entity.type} ${entity.id}`
  if (seen === 0) throw new PillarboxError('not_found', `Nothing was ever published about ${what}.`)
  if (trouble) throw refusal(`${trouble}.`)
  if (untold.size === seen) throw refusal(`Nothing about ${what} has been told yet: ${[...untold].join(', ')}.`)
  throw refusal(
    template
      ? `Nothing about ${what} is of the template’s event type, ${template.eventType}.`
      : `no_templates_found: nothing about ${what} is told on ${channel}.`,
  )
}

async function retell(
  deps: ResendDeps,
  { tenantId, channel, templateId, actor, to }: ResendRequest,
  { schedule, due, requestId }: { schedule: StoredSchedule; due: DueEvent; requestId: string },
): Promise<NewNotification[]> {
  const part = await takePart(due, BEGINNING, PART_RECIPIENTS, deps.store.lists)
  if (!part.isLast)
    throw refusal(`It has ${part.total} recipients, too many to be told again by hand; publish a new event.`)
  const group = { tenantId, conversation: conversationOf(due), recipients: part.recipients }
  const [recipients = []] = await deps.people.recognise([group])
  const cause: EventCause = {
    due,
    scheduleId: schedule.id,
    dueAt: deps.clock.now(),
    manual: { requestId, actor },
    limits: { channels: [channel], ...(templateId !== null && { templateId }) },
  }
  const told = to ? [corrected(recipients, asSentTo(to, due.context.region), channel)] : recipients
  const planned = await planNotifications(deps, cause, { recipients: told, stopped: to ? [] : part.stopped })
  // The operator is here and can be told: nothing is parked that nobody waits for.
  const sendable = planned.filter(({ stopped }) => stopped === null)
  if (sendable.length > 0) return sendable
  const why = planned[0]?.stopped ?? NOBODY
  throw refusal(`${why.reason}: ${why.error}.`)
}

/** The one recipient, at the corrected address. Whose address it would be is not known where there are several. */
function corrected(recipients: readonly Recipient[], to: Address, channel: Channel): Recipient {
  const [recipient, ...others] = recipients
  if (others.length > 0 || recipient?.address.list !== undefined)
    throw refusal('The event has several recipients; retry the notification of the one who is meant, with `to`.')
  const known = recipient ?? noRecipient
  const address = { ...known.address, ...to }
  const problems = addressProblems(channel, address)
  if (problems.length > 0) throw invalidBody(problems)
  return { ...known, address }
}

function refusal(detail: string): PillarboxError {
  return new PillarboxError('not_plannable', detail)
}
