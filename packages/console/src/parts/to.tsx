import type { AddressView } from '@pillarbox/client'

/** Which of somebody's addresses a channel uses. */
const USED_BY: Record<string, keyof AddressView> = {
  email: 'email',
  sms: 'phone',
  whatsapp: 'phone',
  push: 'deviceToken',
  in_app: 'userId',
  webhook: 'url',
}

/** Whom something goes to on this channel, as far as the server shows it: in lists addresses come masked. */
export function addressOf(to: AddressView, channel: string): string {
  const used = to[USED_BY[channel] ?? 'name'] ?? (to.list ? `list ${to.list}` : undefined)
  return used ?? to.email ?? to.phone ?? to.deviceToken ?? to.userId ?? to.url ?? to.name ?? '–'
}

const CHANNELS: Record<string, string> = {
  email: 'email',
  sms: 'SMS',
  whatsapp: 'WhatsApp',
  push: 'push',
  in_app: 'in-app',
  webhook: 'webhook',
}

export const CHANNEL_NAMES = Object.keys(CHANNELS)

export function channelWord(channel: string): string {
  return CHANNELS[channel] ?? channel
}
