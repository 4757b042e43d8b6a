import type { Account } from './account.ts'
import type { Channel } from './channel.ts'
import type { Address } from './recipient.ts'

/** Vendors whose device tokens only they understand: a device of one is never sent to through the other. */
const PLATFORM_PROVIDERS: readonly string[] = ['fcm', 'wns']

/** Whether an account can send to the devices of a vendor; every account can send to what are no devices. */
export function knowsDevicesOf({ channel, provider }: Pick<Account, 'channel' | 'provider'>, vendor: string): boolean {
  if (channel !== 'push' || !PLATFORM_PROVIDERS.includes(vendor)) return true
  return !PLATFORM_PROVIDERS.includes(provider) || provider === vendor
}

/**
 * The account that a new notification goes through: the first active one of the channel, in the given order. Where there
 * is none, the first that is paused: what is sent through it waits until its credentials are mended, and is not lost.
 */
export function chooseAccount<A extends Pick<Account, 'channel' | 'provider' | 'status'>>(
  accounts: readonly A[],
  channel: Channel,
  to: Address,
): A | null {
  const fit = accounts.filter((account) => account.channel === channel && knowsDevicesOf(account, to.platform ?? ''))
  return fit.find(({ status }) => status === 'active') ?? fit.find(({ status }) => status === 'paused') ?? null
}

/** The address with the webhook account's own URL, where it names none; a list has none of its own either. */
export function withOwnUrl(
  to: Address,
  account: { channel: Channel; settings: Record<string, unknown> } | null | undefined,
): Address {
  const url = account?.channel === 'webhook' ? account.settings['url'] : undefined
  return to.url !== undefined || to.list !== undefined || typeof url !== 'string' ? to : { ...to, url }
}
