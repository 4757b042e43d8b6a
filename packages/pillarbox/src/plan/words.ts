import type { StoredAccount } from '../model/account.ts'
import { chooseAccount, withOwnUrl } from '../model/account-choice.ts'
import { isDeliverable } from '../model/address.ts'
import { CHANNELS, type Channel } from '../model/channel.ts'
import { bestByLocale } from '../model/locale.ts'
import type { Content, SealedContent, Warning } from '../model/notification.ts'
import { textOf, valueAt } from '../model/path.ts'
import type { Clock } from '../model/ports.ts'
import type { Reason } from '../model/reason.ts'
import { type Address, addressOf } from '../model/recipient.ts'
import type { Template } from '../model/template.ts'
import type { Renderer } from '../render/render.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import { redact } from '../security/redact.ts'
import type { DueEvent } from './due-event.ts'
import type { Addressee } from './people.ts'

/** One way to tell somebody: a channel, with the template and the account to do it. */
export interface Way {
  channel: Channel
  template: Template
  account: StoredAccount
}

export type Ways =
  | {
      /** Those that can be used now, in order. */
      usable: Way[]
      /** Those whose address has not the form its channel needs. */
      unusable: Channel[]
    }
  | Obstacle

/** Why somebody cannot be told. */
export interface Obstacle {
  reason: Reason
  error: string
}

/** What narrows the choice: a retry of one channel, a resend by hand. */
export interface Wish {
  channels?: readonly Channel[]
  templateId?: string
}

/**
 * The channels an event may be told on, in order, whoever it is for. A channel has to have a template only when it is
 * used: what is missing is said then.
 */
export function channelsFor({ event, type, context }: DueEvent): readonly Channel[] {
  if (event.channels) return event.channels
  if (type.delivery.kind === 'none') return []
  if (type.delivery.kind !== 'all') return type.delivery.channels
  const withTemplate = new Set(context.templates.map((template) => template.channel))
  return CHANNELS.filter((channel) => withTemplate.has(channel))
}

/** The first that works, and the next when it fails for good; or each of them. */
export function isChain({ event, type }: DueEvent): boolean {
  return type.delivery.kind === 'fallback' && !event.channels
}

/** Somebody with all the addresses there are for them: where webhooks go may be the account's to say. */
export function atEveryAddress(due: DueEvent, addressee: Addressee): Addressee {
  if (addressee.address.url !== undefined || !channelsFor(due).includes('webhook')) return addressee
  const account = chooseAccount(due.context.accounts, 'webhook', addressee.address)
  return { ...addressee, address: withOwnUrl(addressee.address, account) }
}

/** How somebody can be told of an event: templates, then accounts, then addresses are looked for. */
export function waysTo(due: DueEvent, addressee: Addressee, wish: Wish = {}): Ways {
  const { event, context } = due
  const allowed = wish.channels ?? channelsFor(due)
  const withTemplate = allowed.flatMap((channel) => {
    const template = templateFor(due, channel, addressee, wish)
    return template ? [{ channel, template }] : []
  })
  if (withTemplate.length === 0)
    return {
      reason: 'no_templates_found',
      error: `no active template for ${event.type} on ${allowed.join(', ') || 'any channel'}`,
    }

  const withAccount = withTemplate.flatMap((option) => {
    const account = chooseAccount(context.accounts, option.channel, addressee.address)
    return account ? [{ ...option, account }] : []
  })
  if (withAccount.length === 0)
    return { reason: 'no_active_channels', error: `no active account for ${listed(withTemplate)}` }

  const reachable = withAccount.filter(({ channel }) => targetOf(channel, addressee.address) !== null)
  if (reachable.length === 0) return { reason: 'no_recipient', error: noAddress(addressee.address, withAccount) }
  const usable = reachable.filter(({ channel }) => isUsable(channel, addressee.address))
  const unusable = reachable.filter((way) => !usable.includes(way)).map(({ channel }) => channel)
  // One channel is enough for a chain: it does not wait for a paused account while another can send.
  const active = usable.filter(({ account }) => account.status === 'active')
  return { usable: isChain(due) && active.length > 0 ? active : usable, unusable }
}

/** What the channel sends to; a list as a whole is sent to by email only. Null where there is nothing for it. */
export function targetOf(channel: Channel, address: Address): string | null {
  if (address.list !== undefined) return channel === 'email' ? `list:${address.list}` : null
  return addressOf(channel, address)
}

function isUsable(channel: Channel, address: Address): boolean {
  return address.list !== undefined || isDeliverable(channel, addressOf(channel, address) ?? '')
}

function noAddress({ list, contactId }: Address, options: readonly { channel: Channel }[]): string {
  if (list !== undefined)
    return `the list "${list}" can be told by email only, not by ${listed(options)}; expand: true tells each member`
  return `no address for ${listed(options)}${contactId === undefined ? '' : ` of contact ${contactId}`}`
}

function listed(options: readonly { channel: Channel }[]): string {
  return options.map(({ channel }) => channel).join(', ')
}

/**
 * The template for somebody on a channel. One whose scope fits, the narrowest first, comes before those for everybody;
 * then the locales decide: the recipient's, the event's, the tenant's, the catalogue's.
 */
function templateFor(
  { event, type, tenant, context, payload }: DueEvent,
  channel: Channel,
  { locale }: Pick<Addressee, 'locale'>,
  { templateId }: Wish = {},
): Template | null {
  const candidates = context.templates.filter((template) => template.channel === channel)
  if (templateId !== undefined) return candidates.find(({ id }) => id === templateId) ?? null
  const locales = [locale, event.locale, tenant.defaultLocale, context.catalogueLocale]
  for (const scope of type.scopes) {
    const id = textOf(valueAt(payload, scope.path))
    const inScope = candidates.filter((template) => template.scope?.type === scope.type && template.scope.id === id)
    if (inScope.length > 0) return bestByLocale(inScope, locales)
  }
  return bestByLocale(
    candidates.filter((template) => template.scope === null),
    locales,
  )
}

export interface Words {
  content: Content | SealedContent
  warnings: Warning[]
}

export interface WordsDeps {
  renderer: Pick<Renderer, 'render'>
  sealing: Pick<PayloadSeal, 'sealContent'>
  clock: Pick<Clock, 'now'>
}

/** A template's words for somebody, sealed where they may hold a secret. Never throws. */
export function wordsFor(
  { renderer, sealing, clock }: WordsDeps,
  due: DueEvent,
  addressee: Addressee,
  { channel, template }: Pick<Way, 'channel' | 'template'>,
  notificationId: string,
): Words | { error: string } {
  const { rendering } = due.context
  if (!rendering) return { error: 'the tenant is gone' }
  const rendered = renderer.render(template, channel, withRecipient(due.payload, addressee), {
    ...rendering,
    locale: template.locale,
    now: clock.now(),
  })
  if ('error' in rendered) return { error: redact(rendered.error, due.secrets) }
  const { subject, body, isHtml, providerTemplate, warnings } = rendered
  const content: Content = {
    subject,
    body,
    data: channel === 'push' ? dataOf(due.payload) : {},
    ...(isHtml && { isHtml }),
    ...(providerTemplate && { providerTemplate }),
  }
  const place = { tenantId: due.event.tenantId, notificationId }
  return {
    content: due.isSecret ? sealing.sealContent(content, due.secrets, place) : content,
    warnings: [...due.warnings, ...warnings],
  }
}

/** A push message carries the payload's `data` to the application on the device, beside its words. */
function dataOf({ data }: Record<string, unknown>): Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as Record<string, unknown>) : {}
}

/**
 * The payload, and under `recipient` who the words are for: the element of the list they were found in, with their name
 * and addresses. A payload that has a field of that name keeps it.
 */
function withRecipient(payload: Record<string, unknown>, { address, element }: Addressee): Record<string, unknown> {
  if (Object.hasOwn(payload, 'recipient')) return payload
  const { name, email, phone } = address
  return {
    ...payload,
    recipient: { ...element, ...(name && { name }), ...(email && { email }), ...(phone && { phone }) },
  }
}
