import { isDeliverable } from '../model/address.ts'
import type { EventType } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import type { StoredEvent } from '../model/event.ts'
import { perEntityKey, perEventKey } from '../model/idempotency.ts'
import type { IdSource } from '../model/ports.ts'
import type { Reason } from '../model/reason.ts'
import { addressOf } from '../model/recipient.ts'
import type { Renderer } from '../render/render.ts'
import type { Content, NewNotification, StoredAccount, Template } from '../store/store.ts'
import type { PlanContext } from './context-book.ts'
import { type Recipient, recipientsOf } from './recipients.ts'

export interface PlanTools {
  ids: IdSource
  renderer: Renderer
}

/** When the event's notifications are due: its own time, or the catalogue's delay after it happened. */
export function dueAt(event: StoredEvent, type: EventType): number {
  return event.dueAt ?? (event.occurredAt ?? event.createdAt) + type.afterMs
}

/**
 * An event that is due, as notifications: recipients × channels × templates, rendered. Pure but for new ids.
 * What cannot be sent becomes a parked notification that says why, so that nothing vanishes.
 */
export function planNotifications(
  event: StoredEvent,
  type: EventType,
  context: PlanContext,
  scheduleId: string,
  tools: PlanTools,
): NewNotification[] {
  const planned: NewNotification[] = []
  const recipients = recipientsOf(event.payload, type.recipients, event.recipients)
  const base = { event, type, context, scheduleId, tools, several: recipients.length > 1 }
  if (recipients.length === 0)
    return [parkedFor(base, null, 'no_recipient', 'the event names no recipient with an address')]
  for (const recipient of recipients) planned.push(...planRecipient(base, recipient))
  return planned
}

interface Base {
  event: StoredEvent
  type: EventType
  context: PlanContext
  scheduleId: string
  tools: PlanTools
  several: boolean
}

function planRecipient(base: Base, recipient: Recipient): NewNotification[] {
  const { event, type, context } = base
  const chain = event.channels ?? (type.delivery.kind === 'all' ? null : type.delivery.channels)
  const locales = localesOf(base, recipient)
  const withTemplate = (chain ?? channelsOf(context.templates)).flatMap((channel) => {
    const template = templateFor(context.templates, channel, locales)
    return template ? [{ channel, template }] : []
  })
  if (withTemplate.length === 0)
    return [
      parkedFor(
        base,
        recipient,
        'no_templates_found',
        `no active template for ${event.type} on ${chain?.join(', ') ?? 'any channel'}`,
      ),
    ]

  const withAccount = withTemplate.flatMap((option) => {
    const account = context.accounts.find((candidate) => candidate.channel === option.channel)
    return account ? [{ ...option, account }] : []
  })
  if (withAccount.length === 0)
    return [
      parkedFor(
        base,
        recipient,
        'no_active_channels',
        `no active account for ${withTemplate.map((o) => o.channel).join(', ')}`,
      ),
    ]

  const reachable = withAccount.filter(({ channel }) => addressOf(channel, recipient.address) !== null)
  if (reachable.length === 0)
    return [
      parkedFor(base, recipient, 'no_recipient', `no address for ${withAccount.map((o) => o.channel).join(', ')}`),
    ]

  // A chain starts with its first channel that can be used and carries the rest; otherwise every channel is sent.
  const isChain = type.delivery.kind === 'fallback' && !event.channels
  const usable = reachable.filter(({ channel }) => isDeliverable(channel, addressOf(channel, recipient.address) ?? ''))
  const unusable = isChain && usable.length > 0 ? [] : reachable.filter((option) => !usable.includes(option))
  const starts = isChain ? usable.slice(0, 1) : usable
  const rest = isChain ? usable.slice(1).map(({ channel }) => channel) : []
  return [
    ...starts.map((option) => notificationFor(base, recipient, option, rest)),
    ...unusable.map(({ channel }) =>
      parkedFor(
        base,
        recipient,
        'invalid_recipient',
        `the recipient's address for ${channel} has not the form it needs`,
        channel,
      ),
    ),
  ]
}

interface Option {
  channel: Channel
  template: Template
  account: StoredAccount
}

function notificationFor(base: Base, recipient: Recipient, option: Option, fallback: Channel[]): NewNotification {
  const { channel, template, account } = option
  const content = renderFor(base.tools.renderer, template, channel, base.event)
  return {
    ...shared(base, recipient, channel, template.id),
    accountId: account.id,
    provider: account.provider,
    content: 'error' in content ? null : content,
    templateId: template.id,
    templateVersion: template.version,
    locale: template.locale,
    fallback,
    parked: 'error' in content ? { reason: 'render_failed', error: content.error } : null,
  }
}

function parkedFor(
  base: Base,
  recipient: Recipient | null,
  reason: Reason,
  error: string,
  on?: Channel,
): NewNotification {
  const { type, event } = base
  const channel =
    on ?? event.channels?.[0] ?? (type.delivery.kind === 'all' ? undefined : type.delivery.channels[0]) ?? 'email'
  return {
    ...shared(base, recipient, channel, reason),
    accountId: null,
    provider: null,
    content: null,
    templateId: null,
    templateVersion: null,
    locale: null,
    fallback: [],
    parked: { reason, error },
  }
}

function shared(base: Base, recipient: Recipient | null, channel: Channel, templateId: string) {
  const { event, type, scheduleId, tools } = base
  const parts = {
    channel,
    templateId,
    eventType: event.type,
    ...(base.several && recipient ? { recipient: recipient.key } : {}),
  }
  return {
    id: tools.ids(),
    tenantId: event.tenantId,
    idempotencyKey:
      type.once === 'per-entity'
        ? perEntityKey({ ...parts, entityId: event.entity.id })
        : perEventKey({ ...parts, eventId: event.id }),
    channel,
    to: recipient?.address ?? {},
    eventId: event.id,
    eventType: event.type,
    scheduleId,
    entity: event.entity,
    correlationId: event.correlationId,
    executionId: null,
    parentExecutionId: null,
    site: null,
    triggeredBy: 'system',
    fallbackOf: null,
    warnings: [],
    dueAt: null,
    expiresAt: null,
  }
}

/** The words of a template for an event. */
export function renderFor(
  renderer: Renderer,
  template: Template,
  channel: Channel,
  event: StoredEvent,
): Content | { error: string } {
  const rendered = renderer.render(template, channel, event.payload)
  return 'error' in rendered ? rendered : { ...rendered, data: {} }
}

/** The first locale of the chain that has a template wins; failing that, whatever the channel has. */
export function templateFor(
  templates: readonly Template[],
  channel: Channel,
  locales: readonly string[],
): Template | null {
  const candidates = templates.filter((template) => template.channel === channel)
  for (const locale of locales) {
    const match = candidates.find((template) => template.locale === locale)
    if (match) return match
  }
  return candidates[0] ?? null
}

function localesOf({ event, context }: Base, recipient: Recipient): string[] {
  return [recipient.locale, event.locale, context.tenant?.defaultLocale].filter((locale) => typeof locale === 'string')
}

function channelsOf(templates: readonly Template[]): Channel[] {
  return [...new Set(templates.map((template) => template.channel))]
}
