import type { StoredAccount } from '../model/account.ts'
import { chooseAccount, withOwnUrl } from '../model/account-choice.ts'
import { ADDRESS_FORMS, isDeliverable } from '../model/address.ts'
import { CHANNELS, type Channel } from '../model/channel.ts'
import { type Address, addressField, addressOf, maskAddress } from '../model/recipient.ts'
import type { Template } from '../model/template.ts'
import type { Obstacle } from './compose.ts'
import type { DueEvent } from './due-event.ts'
import { templateFor } from './message.ts'
import type { Recipient } from './recipients.ts'

/** A channel somebody can be told on, with the template and the account to do it. */
export interface Route {
  channel: Channel
  template: Template
  account: StoredAccount
}

export interface Routes {
  /** Those that can be used now, in order. */
  usable: Route[]
  /** Channels for which the recipient has an address that the channel cannot send to. */
  malformed: Channel[]
}

/** What narrows the choice of routes: a retry of one channel, a resend by hand. */
export interface RouteLimits {
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

/** A recipient with all the addresses there are for them: where webhooks go may be the account's to say. */
export function atEveryAddress(due: DueEvent, recipient: Recipient): Recipient {
  if (recipient.address.url !== undefined || !channelsFor(due).includes('webhook')) return recipient
  const account = chooseAccount(due.context.accounts, 'webhook', recipient.address)
  return { ...recipient, address: withOwnUrl(recipient.address, account) }
}

/** How a recipient can be told of an event: templates, then accounts, then addresses are looked for. */
export function routesTo(due: DueEvent, { address, locale }: Recipient, limits: RouteLimits = {}): Routes | Obstacle {
  const { event, context } = due
  const allowed = limits.channels ?? channelsFor(due)
  const withTemplate = allowed.flatMap((channel) => {
    const template =
      limits.templateId === undefined
        ? templateFor(due, channel, locale)
        : context.templates.find(({ id, channel: of }) => id === limits.templateId && of === channel)
    return template ? [{ channel, template }] : []
  })
  if (withTemplate.length === 0)
    return {
      reason: 'no_templates_found',
      error: `no active template for ${event.type} on ${allowed.join(', ') || 'any channel'}`,
    }

  const withAccount = withTemplate.flatMap((option) => {
    const account = chooseAccount(context.accounts, option.channel, address)
    return account ? [{ ...option, account }] : []
  })
  if (withAccount.length === 0)
    return { reason: 'no_active_channels', error: `no active account for ${listed(withTemplate)}` }

  const withAddress = withAccount.filter(({ channel }) => targetOf(channel, address) !== null)
  if (withAddress.length === 0) return { reason: 'no_recipient', error: noAddress(address, withAccount) }
  const usable = withAddress.filter(({ channel }) => isUsable(channel, address))
  const malformed = withAddress.filter((route) => !usable.includes(route)).map(({ channel }) => channel)
  // One channel is enough for a chain: it does not wait for a paused account while another can send.
  const active = usable.filter(({ account }) => account.status === 'active')
  return { usable: isChain(due) && active.length > 0 ? active : usable, malformed }
}

/** What the channel sends to; a list as a whole is sent to by email only. Null where there is nothing for it. */
export function targetOf(channel: Channel, address: Address): string | null {
  if (address.list !== undefined) return channel === 'email' ? `list:${address.list}` : null
  return addressOf(channel, address)
}

/** The address is masked, as it is for whoever may only look. */
export function malformedAddress(channel: Channel, address: Address): Obstacle {
  const field = addressField(channel)
  const error = `${channel} needs ${ADDRESS_FORMS[field]}; the recipient's is "${maskAddress(address)[field]}"`
  return { reason: 'invalid_recipient', error }
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
