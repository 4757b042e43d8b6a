import type { StoredAccount } from '../model/account.ts'
import { chooseAccount, withOwnUrl } from '../model/account-choice.ts'
import { ADDRESS_FORMS, isDeliverable } from '../model/address.ts'
import { CHANNELS, type Channel } from '../model/channel.ts'
import type { Reason } from '../model/reason.ts'
import { type Address, addressField, addressOf, maskAddress } from '../model/recipient.ts'
import type { Template } from '../model/template.ts'
import type { Obstacle } from './compose.ts'
import type { PlanContext } from './context-book.ts'
import type { DueEvent } from './due-event.ts'
import { templateFor } from './message.ts'
import { ELEMENT, type Recipient } from './recipients.ts'

/** A channel somebody can be told on, with the template and the account to do it. */
export interface Route {
  channel: Channel
  template: Template
  account: StoredAccount
  /** Channels that a chain goes on with should this one fail for good. */
  fallback: readonly Channel[]
}

/** A channel somebody cannot be told on, and why. */
export interface BlockedChannel {
  channel: Channel
  obstacle: Obstacle
}

/** What narrows the choice of routes: a retry of one channel, a resend by hand. */
export interface RouteLimits {
  channels?: readonly Channel[]
  templateId?: string
  bans?: Bans
}

/** Addresses that are suppressed, as `<channel> <address>`, each with what to do about it. */
export type Bans = ReadonlyMap<string, string>

/**
 * The channels an event asks for, in order, whoever it is for. Named ones need not have a template: what is missing is
 * said when they are used.
 */
export function channelsFor(due: DueEvent): readonly Channel[] {
  const { event, type } = due
  if (event.channels) return event.channels
  if (type.delivery.kind === 'none') return []
  if (type.delivery.kind !== 'all') return type.delivery.channels
  return channelsWithTemplate(due)
}

/** Where no template is for some scope only, they are the same for every event of the type, and looked for once. */
function channelsWithTemplate(due: DueEvent): readonly Channel[] {
  const { context } = due
  const known = unscopedChannels.get(context)
  if (known) return known
  const channels = CHANNELS.filter((channel) => templateFor(due, channel, null) !== null)
  if (context.templates.every(({ scope }) => scope === null)) unscopedChannels.set(context, channels)
  return channels
}

const unscopedChannels = new WeakMap<PlanContext, readonly Channel[]>()

/** The first that works, and the next when it fails for good; or each of them. */
export function isChain({ event, type }: DueEvent): boolean {
  return type.delivery.kind === 'fallback' && !event.channels
}

/** A recipient with all the addresses there are for them: where webhooks go may be the account's to say. */
export function atEveryAddress(due: DueEvent, recipient: Recipient): Recipient {
  if (recipient.address.url !== undefined || !channelsFor(due).includes('webhook')) return recipient
  const account = chooseAccount(due.context.accounts, 'webhook', recipient.address)
  return { ...recipient, address: withOwnUrl(recipient.address, account) }
}

/**
 * What an event comes to for a recipient: a route or an obstacle for each of its channels, in order. A chain goes no
 * further than the first channel that can be used and keeps the rest in hand; the channels it passed over are blocked.
 */
export function routesTo(due: DueEvent, recipient: Recipient, limits: RouteLimits = {}): (Route | BlockedChannel)[] {
  const all = eachChannel(due, recipient, limits)
  if (!isChain(due)) return all
  const isRoute = (one: Route | BlockedChannel): one is Route => 'template' in one
  const usable = all.filter(isRoute)
  // A chain does not wait for a paused account while another can send.
  const start = usable.find(({ account }) => account.status === 'active') ?? usable[0]
  if (!start) return all
  const place = all.indexOf(start)
  const fallback = all.slice(place + 1).map(({ channel }) => channel)
  return [...all.slice(0, place).map(passedOver), { ...start, fallback }]
}

/** Nobody has to look at a channel that another one took the place of. */
export function passedOver(one: Route | BlockedChannel): BlockedChannel {
  const { channel } = one
  if ('template' in one)
    return { channel, obstacle: { reason: 'no_active_account', error: `the account ${one.account.name} is paused` } }
  const { reason, error } = one.obstacle
  return reason === 'invalid_recipient' ? { channel, obstacle: { reason: 'no_address', error } } : one
}

/** Each channel for itself: its template, then its account, then an address that may be used are looked for. */
export function eachChannel(
  due: DueEvent,
  recipient: Recipient,
  { channels = channelsFor(due), ...limits }: RouteLimits = {},
): (Route | BlockedChannel)[] {
  return channels.map((channel) => routeOn(due, recipient, channel, limits))
}

function routeOn(
  due: DueEvent,
  recipient: Recipient,
  channel: Channel,
  { templateId, bans }: Pick<RouteLimits, 'templateId' | 'bans'>,
): Route | BlockedChannel {
  const { event, context } = due
  const { address, locale } = recipient
  const blocked = (reason: Reason, error: string): BlockedChannel => ({ channel, obstacle: { reason, error } })
  const template =
    templateId === undefined
      ? templateFor(due, channel, locale)
      : context.templates.find(({ id, channel: of }) => id === templateId && of === channel)
  if (!template) return blocked('no_template', `no active template for ${event.type} on ${channel}`)
  const account = chooseAccount(context.accounts, channel, address)
  if (!account) return blocked('no_active_account', `no active account for ${channel}`)
  const target = targetOf(channel, address)
  if (target === null) return blocked('no_address', noAddress(recipient, channel))
  const ban = bans?.get(`${channel} ${target}`)
  if (ban !== undefined) return blocked('suppressed', ban)
  if (!isUsable(channel, address)) return { channel, obstacle: malformedAddress(channel, address) }
  return { channel, template, account, fallback: [] }
}

/** What the channel sends to; a list as a whole is sent to by email only. Null where there is nothing for it. */
export function targetOf(channel: Channel, address: Address): string | null {
  if (address.list !== undefined) return channel === 'email' ? `list:${address.list}` : null
  return addressOf(channel, address)
}

/** The address is masked, as it is for whoever may only look. */
function malformedAddress(channel: Channel, address: Address): Obstacle {
  const field = addressField(channel)
  const error = `${channel} needs ${ADDRESS_FORMS[field]}; the recipient's is "${maskAddress(address)[field]}"`
  return { reason: 'invalid_recipient', error }
}

function isUsable(channel: Channel, address: Address): boolean {
  return address.list !== undefined || isDeliverable(channel, addressOf(channel, address) ?? '')
}

function noAddress({ address: { list, contactId }, key }: Recipient, channel: Channel): string {
  if (list !== undefined)
    return `the list "${list}" can be told by email only, not by ${channel}; expand: true tells each member`
  if (key.startsWith(ELEMENT)) return `${key.slice(ELEMENT.length)} has no address for ${channel}`
  return `no address for ${channel}${contactId === undefined ? '' : ` of contact ${contactId}`}`
}
