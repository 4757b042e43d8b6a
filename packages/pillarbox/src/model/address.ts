import type { Channel } from './channel.ts'

/** Whether an address has the form its channel needs. What has not would be refused, or worse, read differently. */
export function isDeliverable(channel: Channel, address: string): boolean {
  switch (channel) {
    case 'whatsapp':
    case 'sms':
      return isPhone(address)
    case 'email':
      return isEmail(address)
    case 'webhook':
      return isWebhookUrl(address)
    case 'push':
    case 'in_app':
      return address.length <= 4_096 && !/\p{Cc}/u.test(address)
  }
}

/**
 * What tells whether two addresses of a channel are one. Servers that give `Ada@` and `ada@` to two people are as good
 * as extinct; of every other address each character counts.
 */
export function addressIdentity(channel: Channel, address: string): string {
  return channel === 'email' ? address.toLowerCase() : address
}

/** E.164 in ASCII digits. Given on to the provider exactly as it stands. */
export function isPhone(text: string): boolean {
  return /^\+[1-9][0-9]{6,14}$/.test(text)
}

const LOCAL = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const DOMAIN = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/

/**
 * One plain mailbox. Quoted local parts, comments, groups, lists and source routes are refused: mail systems read them
 * in different ways. An international domain is written in its `xn--` form.
 */
export function isEmail(text: string): boolean {
  if (text.length > 254) return false
  const at = text.indexOf('@')
  return at > 0 && at <= 64 && LOCAL.test(text.slice(0, at)) && DOMAIN.test(text.slice(at + 1))
}

/** Whether the host may be reached is judged when it is dialled, not by its spelling. */
export function isWebhookUrl(text: string): boolean {
  if (text.length > 2_048 || /\s/.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === ''
}
